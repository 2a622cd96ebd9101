"""What a model wrote is read as JSON or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import Fix
from lapse.errors import InvalidValue, NoRequest
from lapse.judges import Tokens
from lapse.judges.replies import LONGEST, read_move, read_request, same_model
from lapse.ledger import Interval, Kind, Record

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=9)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner)
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=4)


@given(objects, st.sampled_from(["{}", " {}\n", "```json\n{}\n```", "```\n{}\n```", "```\n{}```"]))
def test_an_object_is_read_with_or_without_a_fence(value: dict[str, Any], around: str) -> None:
    text = around.replace("{}", json.dumps(value))
    assert read_request(text) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expecting value"),
        ("Sure! {}", "it begins with 'Sure!"),
        ('{"a": 1', "Expecting"),
        ('{"a": 1} {"a": 2}', "Extra data"),
        ("[1]", "an array, no JSON object"),
        ('"{}"', "a text, no JSON object"),
        ("true", "a truth value"),
        ("null", "nothing"),
        ("3", "a number"),
        ('{"a": NaN}', "NaN is no JSON"),
        ('{"a": 1e999}', "out of range"),
        ('{"a": 1, "a": 2}', "the member 'a' twice"),
        ('{"a": "\\ud800"}', "surrogates not allowed"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", "nested deeper than 64 levels"),
        ("[" * 60_000, "nested too deeply"),
        ("x" * (LONGEST + 1), "65,537 characters, over 65,536"),
        ('{"a": ' + "1" * 5_000 + "}", "4300"),
        ("__import__('os')", "Expecting value"),
    ],
)
def test_what_is_no_request_is_said_to_be_none(text: str, said: str) -> None:
    with pytest.raises(NoRequest, match="wrote no request") as raised:
        read_request(text)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 300


@given(st.text(max_size=400))
def test_whatever_a_model_writes_it_is_an_object_or_an_error_of_ours(text: str) -> None:
    try:
        assert isinstance(read_request(text), dict)
    except NoRequest:
        return


def test_a_move_names_the_fixes_that_the_request_has_in_it() -> None:
    content = {"type": "ADD", "parameters": {"code": "S"}, "when": {}, "request": None}
    fix = Fix.of(Record(id="r", kind=Kind.FIX, slot="s", content=content, valid=Interval(0)))
    assert read_move('{"code": "S"}', [fix], Tokens(5, 2, 1)).followed == (fix,)
    assert read_move('{"code": "T"}', [fix], Tokens(5, 2, 1)).followed == ()


def test_an_answer_in_vain_carries_its_cost() -> None:
    with pytest.raises(NoRequest) as raised:
        read_move("no", (), Tokens(5, 2, 1))
    found = raised.value
    assert Tokens(found.prompt, found.completion, found.memory) == Tokens(5, 2, 1)


def test_another_model_that_answers_is_named() -> None:
    same_model("large", "large")
    with pytest.raises(InvalidValue, match="'small': it answered instead of large"):
        same_model("large", "small")
