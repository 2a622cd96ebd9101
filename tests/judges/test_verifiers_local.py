"""The model that ships in a package as verifier: one of three words, about one pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lapse.admission import Question
from lapse.errors import InvalidValue, MissingExtra, NoVerdict
from lapse.judges import judge_named
from lapse.judges.local import LocalModel
from lapse.judges.verifying_models import ModelJudge
from lapse.runtime import PairJudge
from lapse.testing.judging_cases import PAIR_JUDGE_CASES
from lapse.testing.workspace import statement

PAIR = Question(
    statement("pickup", "the taxi comes to Sunrise at eight"),
    statement("hotel", "Riverside is booked instead", epoch=12),
)


@pytest.fixture(scope="module")
def judge(*, everything: bool) -> Iterator[ModelJudge]:
    try:
        made = judge_named("local")
    except MissingExtra as missing:
        if everything:
            raise
        pytest.skip(f"{missing}; make test-all sets it up")
    with made:
        yield made


LONG = "it_answers_or_refuses_a_long_text"
"""It would read two thousand tokens, which takes this model a minute; see the last but one test."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [case for case in PAIR_JUDGE_CASES if case.__name__ != LONG],
    ids=lambda case: case.__name__,
)
def test_it_keeps_what_judges_promise(judge: ModelJudge, case: Callable[[PairJudge], None]) -> None:
    case(judge)


@pytest.mark.slow
def test_its_rulings_are_kept_under_the_digest_of_its_weights(judge: ModelJudge) -> None:
    name = judge.name
    assert name.startswith("local:Smollm2 135M")
    assert "sha256:b179c9523d0e6a0f" in name
    assert " pair-1:" in name


@pytest.mark.slow
def test_it_answers_in_one_call_and_alike_each_time(judge: ModelJudge) -> None:
    opinion = judge.verify(PAIR)
    assert opinion.cost.calls == 1
    assert 100 < opinion.cost.prompt < 500
    assert opinion.cost.completion < 20
    assert judge.verify(PAIR) == opinion


@pytest.mark.slow
def test_a_pair_beyond_its_context_is_refused_whole(judge: ModelJudge) -> None:
    long = "\N{SNOWMAN}" * 4096
    pair = Question(statement("a", long), statement("b", long, epoch=12))
    with pytest.raises(InvalidValue, match="ask less"):
        judge.verify(pair)


@pytest.mark.slow
def test_a_short_answer_is_no_verdict(judge: ModelJudge) -> None:
    del judge  # only so that the weights are known to be here
    with LocalModel(answer_tokens=1) as model, pytest.raises(NoVerdict, match="cut off after 1"):
        ModelJudge(model).verify(PAIR)
