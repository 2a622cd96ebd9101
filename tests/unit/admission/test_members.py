"""Members leave and return in one order, and their records tell it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lapse.admission import Member, Presence
from lapse.errors import IllegalChange, InvalidValue
from lapse.ledger import Scope

WHO = Scope(tenant="t", principal="A1", role="planner", task="trip")
HERE = Member(identity=WHO, presence=Presence.ACTIVE, epoch=1, at=10)
GONE = HERE.depart(epoch=2, at=20)
BACK = GONE.begin_return(cycle="r1", epoch=5, at=50)


def test_a_member_leaves_returns_is_blocked_and_is_admitted_later() -> None:
    blocked = BACK.block(epoch=5, at=51)
    again = blocked.begin_return(cycle="r2", epoch=6, at=60)
    admitted = again.admit(epoch=6, at=61)
    assert [m.presence.value for m in (GONE, BACK, blocked, again, admitted)] == [
        "absent",
        "returning",
        "blocked",
        "returning",
        "admitted",
    ]
    assert (admitted.departed, admitted.cycle, admitted.epoch) == (2, "r2", 6)
    assert admitted.depart(epoch=7, at=70).departed == 7


def test_a_return_that_was_broken_off_is_taken_over_by_another_cycle() -> None:
    taken = BACK.begin_return(cycle="r2", epoch=6, at=60)
    assert (taken.presence, taken.cycle, taken.departed) == (Presence.RETURNING, "r2", 2)
    with pytest.raises(IllegalChange):
        taken.begin_return(cycle="r2", epoch=7, at=70)


@pytest.mark.parametrize(
    "step",
    [
        lambda: GONE.depart(epoch=3, at=30),
        lambda: HERE.begin_return(cycle="r1", epoch=3, at=30),
        lambda: GONE.admit(epoch=3, at=30),
        lambda: GONE.block(epoch=3, at=30),
        lambda: BACK.block(epoch=5, at=5).begin_return(cycle="r1", epoch=6, at=6),
        lambda: GONE.begin_return(cycle="r1", epoch=1, at=30),
    ],
    ids=["absent", "never left", "not back", "not returning", "same cycle", "backwards"],
)
def test_a_step_out_of_order_is_refused(step: Callable[[], Member]) -> None:
    with pytest.raises(IllegalChange):
        step()


@pytest.mark.parametrize("missing", [{"principal": None}, {"role": None}, {"purpose": "p"}])
def test_a_member_has_a_name_and_a_role(missing: dict[str, str | None]) -> None:
    with pytest.raises(InvalidValue):
        replace(HERE, identity=replace(WHO, **missing))


def test_a_record_gives_back_the_member_it_was_written_from() -> None:
    assert [Member.of(member.record("m")) for member in (HERE, GONE, BACK)] == [HERE, GONE, BACK]
    assert HERE.slot == GONE.slot != replace(HERE, identity=replace(WHO, role="r")).slot


def test_a_record_that_holds_something_else_is_not_read() -> None:
    with pytest.raises(InvalidValue):
        Member.of(replace(HERE.record("m"), content={"form": "member"}))
