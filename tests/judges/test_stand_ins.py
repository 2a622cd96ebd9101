"""A stand-in draws what it follows, the same in every run, with the chances it was given."""

from __future__ import annotations

import pytest

from lapse.contract import Fix
from lapse.errors import InvalidValue
from lapse.judges import STAND_IN, STAND_INS, Offer, Refusal, Shape, StandIn, Task, checked
from lapse.ledger import Interval, Kind, Record

DRAWS = 2_000
# Three standard deviations of a share of DRAWS at its widest. The draws are fixed, so this is no
# bet: it says how far a fair draw may be off before it looks unfair.
WITHIN = 0.034


def fix(number: int, **parameters: str) -> Fix:
    content = {"type": "SET", "parameters": parameters, "when": {"plan": "a"}}
    return Fix.of(
        Record(id=str(number), kind=Kind.FIX, slot="s", content=content, valid=Interval(0))
    )


def task(key: int, **more: str) -> Task:
    return Task(operation="POST /t", request={"plan": "a", **more}, key=str(key))


def share(planner: StandIn) -> float:
    taken = sum(bool(planner.first(task(key), [fix(1, code="A")]).followed) for key in range(DRAWS))
    return taken / DRAWS


@pytest.mark.parametrize("chance", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_it_follows_as_often_as_it_is_said_to(chance: float) -> None:
    found = share(StandIn(name="stand-in:x", follows={"add_a_field": chance}, seed=7))
    assert abs(found - chance) <= (WITHIN if 0 < chance < 1 else 0)


def test_an_action_that_was_measured_apart_counts_before_its_shape() -> None:
    assert share(StandIn(name="stand-in:x", follows={"add_a_field": 0.0, "SET": 1.0})) == 1


def test_a_draw_depends_on_seed_task_and_attempt_alone() -> None:
    def drawn(seed: int) -> list[dict[str, object]]:
        planner = StandIn(name="stand-in:x", follows={"add_a_field": 0.5}, seed=seed)
        return [planner.first(task(key), [fix(1, code="A")]).request for key in range(50)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert len({str(request) for request in drawn(1)}) == 2


@pytest.mark.parametrize(("chance", "code"), [(0.0, "old"), (1.0, "new")])
def test_which_of_two_entries_it_believes_is_a_chance(chance: float, code: str) -> None:
    planner = StandIn(name="stand-in:x", follows={"add_a_field": 1.0}, believes_newest=chance)
    move = planner.first(task(0), [fix(1, code="old"), fix(2, code="new")])
    assert move.request == {"plan": "a", "code": code}


def test_a_refusal_is_followed_unless_the_draw_says_no_and_then_at_a_later_attempt() -> None:
    planner = StandIn(name="stand-in:x", follows={}, retries={"add_a_field": 0.5})
    offers = (Offer("SET", {"code": "A"}),)
    followed = [
        [
            "code"
            in planner.again(task(key), {"plan": "a"}, Refusal(offers=offers, attempt=n)).request
            for n in (1, 2, 3)
        ]
        for key in range(40)
    ]
    assert [True, True, True] in followed
    assert any(not one[0] and one[1] for one in followed)
    certain = StandIn(name="stand-in:x", follows={})
    assert certain.again(task(0), {"plan": "a"}, Refusal(offers=offers)).request["code"] == "A"


def test_what_was_not_measured_is_refused_and_not_made_up() -> None:
    planner = STAND_INS["stand-in:gpt-5-mini"](0)
    with pytest.raises(InvalidValue, match="no rate for rewrite_a_value"):
        planner.first(task(0, code="x"), [fix(1, code="A")])


@pytest.mark.parametrize("name", STAND_INS)
def test_every_one_says_that_it_is_a_stand_in_and_has_chances_between_never_and_always(
    name: str,
) -> None:
    planner = STAND_INS[name](3)
    assert planner.name.startswith(STAND_IN)
    assert checked(planner).stand_in
    assert planner.seed == 3
    chances = [*planner.follows.values(), *planner.retries.values(), planner.believes_newest]
    assert all(0 <= chance <= 1 for chance in chances)
    assert {Shape.ADD_A_FIELD, Shape.CONDITIONAL_REWRITE} <= set(planner.follows)
