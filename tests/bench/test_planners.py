"""The scripted planner: which entry it believes, and what it merges."""

from __future__ import annotations

import pytest

from lapse.contract import Fix
from lapse.errors import InvalidValue
from lapse.ledger import Interval, Kind, Record
from lapse_bench.planners import Scripted, planner


def fix(number: int, **parameters: str) -> Fix:
    content = {"type": "SET", "parameters": parameters, "when": {}}
    return Fix.of(
        Record(id=str(number), kind=Kind.FIX, slot="s", content=content, valid=Interval(0))
    )


FIXES = [fix(1, code="old"), fix(2, code="new"), fix(3, size="big")]


@pytest.mark.parametrize(("ties", "code"), [("oldest", "old"), ("newest", "new")])
def test_of_several_fixes_for_one_parameter_it_believes_one(ties: str, code: str) -> None:
    move = planner(ties).first({"code": "none", "plan": "a"}, FIXES)
    assert move.request == {"code": code, "plan": "a", "size": "big"}
    assert len(move.followed) == 2


def test_after_a_refusal_it_merges_every_suggestion() -> None:
    move = Scripted("oldest").again({"code": "old"}, [{"code": "new"}, {"size": "big"}])
    assert move.request == {"code": "new", "size": "big"}


def test_an_unknown_planner_is_refused() -> None:
    with pytest.raises(InvalidValue, match="oldest, newest"):
        planner("gpt")
