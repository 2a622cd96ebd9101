"""Replaced, false, over, disputed: told apart in the ledger, carried on to what rests on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest

from lapse.admission import (
    RANKS,
    Captured,
    Ending,
    Policy,
    Reason,
    WorkItem,
    end,
    lift,
    put,
    work_items,
)
from lapse.errors import InvalidValue
from lapse.ledger import (
    Change,
    Draft,
    Interval,
    Kind,
    Outcome,
    Record,
    Source,
    State,
    Status,
    fold,
    genesis,
    seal,
    writing,
)
from lapse.testing.workspace import OBSERVER, leaving, receipt, resting_on, returning, statement

HOTEL = statement("h", slot="hotel")
PICKUP = statement("p", epoch=2, rests_on=(HOTEL,))
SEATS = statement("s", epoch=3, rests_on=(PICKUP,))
POLICY = Policy(observers=frozenset({OBSERVER}), unsafe_without_inference=True)


class Workspace:
    """A ledger in memory, with every change that was carried out."""

    def __init__(self, *items: WorkItem) -> None:
        self.state = State(genesis("w"))
        self.changes: list[Change] = []
        self.salts = map(str, count())
        for item in items:
            self.put(item)

    def carry_out(self, drafts: Sequence[Draft]) -> None:
        sealed = seal(drafts, self.state.head)
        self.state.check(sealed)
        for change in sealed:
            self.state.apply(change)
        self.changes += sealed

    def put(self, item: WorkItem) -> None:
        self.carry_out(put(self.state, item, RANKS, at=9, actor="A2", salt=next(self.salts)))

    def end(self, ending: Ending, *ids: str, by: str = "") -> None:
        salt = next(self.salts)
        self.carry_out(end(self.state, ids, ending, at=9, actor="A2", salt=salt, by=by))

    def lift(self, item_id: str, *, outcome: Outcome = Outcome.CONFIRMS) -> None:
        seen = receipt(Source.probe("desk", item_id), "", at=9, outcome=outcome)
        salt = next(self.salts)
        self.carry_out(lift(self.state, item_id, seen, at=9, actor="A2", salt=salt))

    def statuses(self) -> dict[str, str]:
        assert fold(genesis("w"), self.changes) == self.state
        return {item.id: item.status.value for item in work_items(self.state)}

    def admitted(self) -> set[str]:
        """What passes the gates when everything happened during an absence."""
        checkpoint = returning(leaving(), *work_items(self.state))
        return set(Captured(checkpoint, POLICY).next().next({}, {}).next().digests())


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        (Ending.SUPERSEDED, Status.SUPERSEDED),
        (Ending.REVOKED, Status.REVOKED),
        (Ending.CLOSED, Status.EVICTED),
        (Ending.DISPUTED, Status.DISPUTED),
    ],
)
def test_each_ending_is_told_apart_and_carried_on(ending: Ending, status: Status) -> None:
    here = Workspace(HOTEL, PICKUP, SEATS, statement("x"))
    here.end(ending, "h", by="x")
    resting = {"p": "suspended", "s": "suspended"}
    assert here.statuses() == {"h": status.value, **resting, "x": "active"}
    assert [(c.reason, c.parts[0].value()) for c in here.changes[-2:]] == [
        (ending.value, {"by": "x"}),
        ("dependency_lapsed", {"by": "h"}),
    ]
    assert here.admitted() == {"x"}


def test_what_was_said_again_carries_what_a_receipt_lifts() -> None:
    here = Workspace(HOTEL, PICKUP)
    here.end(Ending.CLOSED, "h")
    here.lift("p")
    assert here.admitted() == set()
    here.put(replace(HOTEL, id="h2", epochs=replace(HOTEL.epochs, since=5), valid=Interval(5)))
    assert here.admitted() == {"h2", "p"}


def test_a_dispute_is_lifted_by_a_receipt_and_by_nothing_else() -> None:
    here = Workspace(HOTEL)
    with pytest.raises(InvalidValue, match="suspended or disputed"):
        here.lift("h")
    here.end(Ending.DISPUTED, "h")
    with pytest.raises(InvalidValue, match="confirms"):
        here.lift("h", outcome=Outcome.CONTRADICTS)
    here.lift("h")
    assert here.admitted() == {"h"}
    with pytest.raises(InvalidValue, match="suspended or disputed"):
        here.lift("nowhere")


def test_writing_ends_what_is_replaced_all_at_once() -> None:
    other = statement("h1", slot="other")
    both = statement("p2", epoch=2, rests_on=(HOTEL, other))
    here = Workspace(HOTEL, other, both)
    here.put(statement("h2", epoch=4, slot="hotel", replaces=("h", "h1", "nowhere")))
    gone = {"h": "superseded", "h1": "superseded"}
    assert here.statuses() == {**gone, "p2": "suspended", "h2": "active"}
    here.put(statement("h3", epoch=5, slot="hotel", replaces=("h",)))
    assert here.statuses()["h3"] == "active"


def test_what_is_said_again_takes_nothing_along() -> None:
    here = Workspace(HOTEL, PICKUP, statement("x"), statement("q", epoch=2, rests_on=(HOTEL,)))
    longer = replace(HOTEL, id="h2", epochs=replace(HOTEL.epochs, since=4), valid=Interval(4))
    here.put(replace(longer, replaces=("h", "x")))
    assert here.statuses() == {
        "h": "superseded",
        "x": "superseded",
        "p": "active",
        "q": "active",
        "h2": "active",
    }
    assert here.admitted() == {"p", "q", "h2"}
    circular = replace(longer, id="h3", stamps=resting_on(longer), replaces=("h2",))
    here.put(circular)
    assert here.statuses()["h2"] == "superseded"
    assert here.admitted() == set()


def test_who_lacks_authority_is_kept_in_dispute() -> None:
    here = Workspace(statement("u", slot="hotel", writer="A1", authority="user"))
    here.put(statement("g", epoch=2, slot="hotel", replaces=("u",), authority="inference"))
    assert here.statuses() == {"u": "active", "g": "disputed"}
    assert here.changes[-1].reason == Reason.LACKS_AUTHORITY.value
    here.end(Ending.REVOKED, "u")
    assert here.admitted() == set()


def test_what_is_suspended_already_is_not_suspended_twice() -> None:
    here = Workspace(HOTEL, PICKUP, SEATS)
    here.end(Ending.DISPUTED, "p")
    here.end(Ending.CLOSED, "h")
    assert here.statuses() == {"h": "evicted", "p": "disputed", "s": "suspended"}


@pytest.mark.parametrize("name", ["nowhere", "fix", "over"])
def test_what_is_no_item_or_has_ended_is_not_ended(name: str) -> None:
    here = Workspace(statement("over"))
    here.end(Ending.CLOSED, "over")
    fix = Record(id="fix", kind=Kind.FIX, slot="s", content={}, valid=Interval(1))
    here.carry_out(writing(here.state, fix, at=1, reason="learned", actor="t", salt="s"))
    with pytest.raises(InvalidValue, match="not ended"):
        here.end(Ending.REVOKED, name)
