"""An episode whose planner does not do its part: counted, explained, and not the end of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from lapse.contract import A2D
from lapse.errors import CallerError, InvalidValue, MalformedMessage, NoRequest, PeerError
from lapse.judges import Move, Probe, Refusal, Task, Tokens
from lapse_bench.courses import Course, World
from lapse_bench.reports import problems_of
from lapse_bench.scores import spent, with_savings
from lapse_bench.worlds import acme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.contract import Fix
    from lapse.ledger import JsonObject
    from lapse_bench.episodes import Episode

WORLD = World(issuer="acme", initial=acme.initial, judge=acme.judge, fix_holds=acme.fix_holds)
GOVERNED = "POST /v1/subscriptions", {"plan": "plan_partner_growth"}
RIGHT = {"plan": "plan_partner_growth", "promotion_code": "SUMMERSALE25"}


@dataclass
class Written:
    """Writes what it was given to write, one after the other; notes which call asked for it."""

    moves: list[dict[str, Any] | Exception]
    asked: list[str] = field(default_factory=list[str])
    name: str = "written"

    def probe(self) -> Probe:
        return Probe(self.name, self.name)

    def first(self, task: Task, fixes: Sequence[Fix]) -> Move:
        del fixes
        return self._next(f"first of {task.key}")

    def again(self, task: Task, sent: JsonObject, refusal: Refusal) -> Move:
        del sent
        offered = [offer.type for offer in refusal.offers]
        return self._next(
            f"again of {task.key} after {refusal.attempt}: {refusal.title}, {offered}"
        )

    def _next(self, asked: str) -> Move:
        self.asked.append(asked)
        move = self.moves.pop(0)
        if isinstance(move, Exception):
            raise move
        return Move(move, tokens=Tokens(10, 2, 1))


def episode(planner: Written) -> Episode:
    with Course(planner=planner, policy=A2D).on(WORLD) as running:
        return running.attempt(4, *GOVERNED)


def test_an_attempt_without_a_request_counts_and_the_next_one_may_succeed() -> None:
    planner = Written([NoRequest("prose", prompt=5, completion=3), MalformedMessage("cut"), RIGHT])
    found = episode(planner)
    assert (found.attempts, found.completed, found.first_try) == (3, True, False)
    assert found.failures == ("the model wrote no request: prose", "cut")
    assert found.tokens == Tokens(15, 5, 1)
    assert planner.asked == ["first of 4"] * 3


def test_a_refusal_that_was_not_answered_is_put_again() -> None:
    refused = {"plan": "plan_partner_growth"}
    planner = Written([refused, PeerError("gone"), RIGHT])
    found = episode(planner)
    assert (found.attempts, found.completed) == (3, True)
    told = "again of 4 after 1: The promotion code on file is required, ['ADD_PROMOTION_CODE']"
    assert planner.asked == ["first of 4", told, told]


@pytest.mark.parametrize("wrote", [{"amount": float("nan")}, {"name": "\ud800"}, {"x": {1, 2}}])
def test_what_is_not_json_is_no_request(wrote: dict[str, Any]) -> None:
    found = episode(Written([wrote, RIGHT]))
    assert (found.attempts, found.completed) == (2, True)
    assert "cannot be sent as JSON" in found.failures[0]


@pytest.mark.parametrize(
    ("wrote", "strayed"),
    [
        ([dict[str, Any]()], True),  # nothing is asked for, so nothing is refused
        ([{"plan": "plan_other"}], True),
        ([{"plan": "plan_partner_growth"}, {"promotion_code": "SUMMERSALE25"}], True),
        ([{"plan": "plan_partner_growth"}, {"plan": "plan_other"}], True),
        ([{**RIGHT, "note": "more than was asked for"}], False),
        ([{"plan": "plan_partner_growth"}, RIGHT], False),
    ],
)
def test_an_accepted_request_that_is_not_the_tasks_does_no_task(
    wrote: list[dict[str, Any] | Exception], *, strayed: bool
) -> None:
    number = len(wrote)
    found = episode(Written(wrote))
    assert (found.attempts, found.strayed, found.completed) == (number, strayed, not strayed)
    assert spent([found])["strayed"] == strayed


def test_a_value_may_be_another_where_a_fix_gave_it() -> None:
    task = {"contract": "enterprise_annual", "payment_method_token": "acme_pm_visa_debit"}
    cured = {**task, "payment_method_token": "acme_pm_visa_credit"}
    with Course(planner=Written([task, cured, cured]), policy=A2D).on(WORLD) as running:
        first = running.attempt(0, "POST /v1/payments", task)
        again = running.attempt(1, "POST /v1/payments", task)
    assert (first.strayed, first.attempts, again.strayed, again.attempts) == (False, 2, False, 1)


def test_a_planner_that_never_writes_one_has_five_attempts() -> None:
    found = episode(Written([NoRequest("prose")] * 5))
    assert (found.attempts, found.completed, len(found.failures)) == (5, False, 5)


def test_what_is_wrong_with_the_command_stops_the_run() -> None:
    with pytest.raises(CallerError, match="it answered instead"):
        episode(Written([InvalidValue("planner", "other", "it answered instead of written")]))


def test_attempts_without_a_request_are_problems_of_a_run() -> None:
    found = [episode(Written([NoRequest("prose"), NoRequest("prose"), RIGHT]))]
    scores: dict[str, Any] = {
        "episodes": 1,
        "completed": 1,
        "troubles": dict[str, int](),
        **spent(found),
    }
    assert list(problems_of({"A2D": scores})) == [
        "A2D: 2 attempts without a request: the model wrote no request: prose"
    ]


def test_tasks_that_strayed_are_problems_of_a_run() -> None:
    found = [episode(Written([{}]))]
    scores: dict[str, Any] = {
        "episodes": 1,
        "completed": 0,
        "troubles": dict[str, int](),
        **spent(found),
    }
    starved, strayed = problems_of({"A2D": scores})
    assert starved.startswith("A2D: 1 of 1 episodes were not completed")
    assert strayed.startswith("A2D: 1 requests were accepted that were not what the task asked for")


def test_a_saving_is_a_share_of_what_no_memory_costs() -> None:
    def arm(prompt: int, completion: int) -> dict[str, Any]:
        return {"tokens": {"prompt": prompt, "completion": completion, "memory": 3}}

    found = with_savings({"A0": arm(80, 20), "A2D": arm(50, 17)})
    assert {name: scores["saving_pct"] for name, scores in found.items()} == {"A0": 0, "A2D": 33}
    assert with_savings({"A2D": arm(50, 17)})["A2D"]["saving_pct"] is None
    assert with_savings({"A0": arm(0, 0)})["A0"]["saving_pct"] is None
