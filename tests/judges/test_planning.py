"""The protocol's own parts: who answers, what was taken over, what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import Fix, amend
from lapse.errors import InvalidValue
from lapse.judges import Move, Probe, Refusal, Task, Tokens, checked, taken_over
from lapse.ledger import Interval, JsonObject, Kind, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

json_objects = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3), max_size=4)


def fix(parameters: JsonObject) -> Fix:
    content = {"type": "ADD", "parameters": dict(parameters), "when": {}, "request": None}
    record = Record(id="r", kind=Kind.FIX, slot="s", content=content, valid=Interval(0))
    return Fix.of(record)


@dataclass(frozen=True)
class Named:
    asked: str
    answered: str

    @property
    def name(self) -> str:
        return self.asked

    def probe(self) -> Probe:
        return Probe(self.asked, self.answered)

    def first(self, task: Task, fixes: Sequence[Fix]) -> Move:
        return Move(dict(task.request), taken_over(fixes, task.request))

    def again(self, task: Task, sent: JsonObject, refusal: Refusal) -> Move:
        del task, refusal
        return Move(dict(sent))


def test_a_planner_that_answers_under_its_own_name_is_let_through() -> None:
    assert checked(Named("small", "small")) == Probe("small", "small")


def test_another_model_that_answers_stops_the_run_before_it_starts() -> None:
    with pytest.raises(InvalidValue, match="answered instead of large"):
        checked(Named("large", "small"))


@given(json_objects, json_objects)
def test_a_fix_is_taken_over_exactly_when_merging_it_again_changes_nothing(
    request: dict[str, int], parameters: dict[str, int]
) -> None:
    the_fix = fix(parameters)
    assert taken_over([the_fix], amend(request, parameters)) == (the_fix,)
    whole = all(name in request and request[name] == value for name, value in parameters.items())
    assert bool(taken_over([the_fix], request)) is whole


def test_costs_add_up_part_by_part() -> None:
    assert Tokens(3, 2, 1) + Tokens(30, 20, 10) == Tokens(33, 22, 11)
