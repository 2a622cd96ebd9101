"""Each scripted planner does its one thing, at first and after a refusal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import Fix, amend
from lapse.judges import SCRIPTED, Offer, Refusal, Scripted, Shape, Task, checked
from lapse.ledger import Interval, Kind, Record

objects = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3), max_size=4)


def fix(number: int, when: dict[str, Any] | None = None, **parameters: object) -> Fix:
    content = {"type": "SET", "parameters": parameters, "when": when or {}}
    return Fix.of(
        Record(id=str(number), kind=Kind.FIX, slot="s", content=content, valid=Interval(0))
    )


def task(**request: object) -> Task:
    return Task(operation="POST /v1/things", request=request)


def refused(*parameters: dict[str, Any], attempt: int = 1) -> Refusal:
    offers = tuple(Offer("SET", given) for given in parameters)
    return Refusal(title="No", detail="Not so.", offers=offers, attempt=attempt)


FIXES = [fix(1, code="old"), fix(2, code="new"), fix(3, size="big")]


@pytest.mark.parametrize("name", SCRIPTED)
def test_each_answers_under_the_name_a_user_types(name: str) -> None:
    probe = checked(SCRIPTED[name])
    assert (probe.answered, probe.stand_in) == (name, False)


@pytest.mark.parametrize(("ties", "code"), [("oldest", "old"), ("newest", "new")])
def test_of_several_fixes_for_one_parameter_it_believes_one(ties: str, code: str) -> None:
    move = SCRIPTED[ties].first(task(code="none", plan="a"), FIXES)
    assert move.request == {"code": code, "plan": "a", "size": "big"}
    assert [f.parameters for f in move.followed] == [{"code": code}, {"size": "big"}]


@pytest.mark.parametrize("name", ["oldest", "newest", "conservative"])
def test_after_a_refusal_every_suggestion_is_merged(name: str) -> None:
    move = SCRIPTED[name].again(
        task(code="old"), {"code": "old"}, refused({"code": "new"}, {"s": 1})
    )
    assert move.request == {"code": "new", "s": 1}


def test_the_conservative_one_adds_no_field_and_rewrites_those_there_are() -> None:
    move = SCRIPTED["conservative"].first(task(code="none", plan="a"), FIXES)
    assert move.request == {"code": "new", "plan": "a"}
    assert [f.id for f in move.followed] == ["2"]


def test_what_is_declined_is_a_parameter() -> None:
    planner = Scripted(name="mine", declines=frozenset({Shape.CONDITIONAL_REWRITE}))
    known = [fix(1, {"plan": "a", "code": "x"}, code="y"), fix(2, {"plan": "a"}, size="big")]
    move = planner.first(task(code="x", plan="a"), known)
    assert move.request == {"code": "x", "plan": "a", "size": "big"}


def test_the_paraphrasing_one_is_refused_a_second_time_and_then_copies() -> None:
    planner, asked = SCRIPTED["paraphrasing"], task(plan="a")
    first = planner.first(asked, [fix(1, promotion_code="A", size="b")])
    assert first.request == {"plan": "a", "promotionCode": "A", "sizeValue": "b"}
    assert first.followed == ()
    told = {"promotion_code": "B"}
    second = planner.again(asked, first.request, refused(told, attempt=1))
    assert second.request == {**first.request, "promotionCode": "B"}
    third = planner.again(asked, second.request, refused(told, attempt=2))
    assert third.request == {"plan": "a", "promotion_code": "B", "sizeValue": "b"}


def test_the_forgetful_one_keeps_the_last_field_of_the_last_thing_it_was_told() -> None:
    planner = SCRIPTED["forgetful"]
    move = planner.first(task(plan="a"), [fix(1, code="A"), fix(2, size="b", color="red")])
    assert move.request == {"plan": "a", "color": "red"}
    assert move.followed == ()
    again = planner.again(task(plan="a"), move.request, refused({"code": "A"}, {"size": "b"}))
    assert again.request == {"plan": "a", "color": "red", "size": "b"}


@given(objects, st.lists(objects, max_size=4), st.sampled_from(sorted(SCRIPTED)))
def test_what_is_said_to_be_followed_is_in_the_request_whole(
    request_: dict[str, int], told: list[dict[str, int]], name: str
) -> None:
    fixes = [fix(number, None, **parameters) for number, parameters in enumerate(told)]
    move = SCRIPTED[name].first(task(**request_), fixes)
    assert all(amend(move.request, f.parameters) == move.request for f in move.followed)
    assert set(request_) <= set(move.request)
    if name == "conservative":
        assert set(request_) == set(move.request)
