"""The travel case once more, when the writers said what they take for granted.

Nobody has to infer that the pickup is void: it was stamped on the hotel. It is back by itself when
the hotel is, and out while two desks contradict each other about it.
"""

from __future__ import annotations

from typing import Any

from lapse.admission import (
    RANKS,
    Blocked,
    Captured,
    Evidence,
    Policy,
    Reason,
    Sealed,
    WorkItem,
    admit,
    settlement,
)
from lapse.ledger import Kind, Source
from lapse.signing import HmacKeys
from lapse.testing.workspace import OBSERVER, leaving, receipt, returning, statement

KEYS = HmacKeys({"k1": b"a key of at least 32 random bytes!"}, sign_with="k1")
POLICY = Policy(observers=frozenset({OBSERVER}))
OWED = (
    statement("o", kind=Kind.OBLIGATION, required=("d_h", "d_p"), critical=("d_h", "d_p")),
    statement("f", kind=Kind.FRONTIER, obligation="o"),
)


def hotel(name: str, value: str, *, epoch: int = 1, writer: str = "A2") -> WorkItem:
    """A booking."""
    fields: dict[str, Any] = {"slot": "hotel", "supports": ("d_h",), "writer": writer}
    return statement(name, f"{value} is booked", epoch=epoch, value=value, **fields)


SUNRISE = hotel("h0", "Sunrise")
PICKUP = statement(
    "p0", "Pickup at 8:00", slot="pickup", supports=("d_p",), stamps=(SUNRISE.as_premise(),)
)
BEFORE = (*OWED, SUNRISE, PICKUP)
RIVERSIDE = hotel("h1", "Riverside", epoch=12)


def decided(*items: WorkItem, epoch: int = 20) -> tuple[Sealed | Blocked, set[str]]:
    """The whole cycle with a scanner that suspects nothing, and what it was asked about."""
    captured = Captured(returning(leaving(*BEFORE), *items, epoch=epoch), POLICY)
    asked = {scan.older.id for scan in captured.next().scans}
    scanned = dict.fromkeys(asked, ())
    found = admit(captured.checkpoint, POLICY, scanned=scanned, answers={}, signer=KEYS)
    return found, asked


def shown(found: Sealed | Blocked) -> set[str]:
    """What a view shows."""
    assert isinstance(found, Sealed)
    return {item.id for item in found.view.items}


def test_a_declared_premise_is_found_without_a_question_about_it() -> None:
    found, asked = decided(*BEFORE, RIVERSIDE)
    assert isinstance(found, Blocked)
    fell = {j.item.id: (j.reasons, j.by) for j in found.eligible.judgements if not j.eligible}
    assert fell == {
        "h0": ((Reason.SUPERSEDED,), "h1"),
        "p0": ((Reason.PREMISE_CHANGED,), "h1"),
    }
    assert asked == set()
    assert [one.dependency for one in found.missing] == ["d_p"]
    assert [(one.slot, one.by) for one in found.unknown] == [("pickup", "h1")]


def test_a_later_train_lets_the_pickup_stand() -> None:
    found, asked = decided(*BEFORE, statement("t1", "The train leaves at 9:30", epoch=13))
    assert asked == {"h0", "p0"}
    assert shown(found) == {"o", "f", "h0", "p0"}


def test_the_pickup_is_back_as_soon_as_the_hotel_is() -> None:
    back = hotel("h2", "Sunrise", epoch=15)
    found, asked = decided(*BEFORE, RIVERSIDE, back)
    assert shown(found) == {"o", "f", "h2", "p0"}
    assert asked == {"p0"}


def test_two_desks_that_contradict_each_other_block_the_return_until_one_is_confirmed() -> None:
    other = hotel("h9", "Sunrise", epoch=14, writer="A9")
    items = (*BEFORE, RIVERSIDE, other)
    found, _ = decided(*items)
    assert isinstance(found, Blocked)
    (dispute,) = found.eligible.disputes
    assert (dispute.slot, dispute.sides, dispute.since) == ("hotel", ("h1", "h9"), 14)
    reasons = {j.item.id: j.reasons for j in found.eligible.judgements}
    assert reasons["p0"] == (Reason.UNKNOWN_CURRENT,)

    sides = [item for item in items if item.id in dispute.sides]
    looked = receipt(Source.record("h9"), other.digest(), at=18)
    ground = Evidence(looked, POLICY.observers)
    holds = settlement(sides, "h9", ground, RANKS, item_id="h10", epoch=19, at=19)
    found, _ = decided(*items, holds)
    assert shown(found) == {"o", "f", "h10", "p0"}
    assert isinstance(found, Sealed)
    assert found.eligible.disputes == ()

    away = receipt(Source.record("h1"), RIVERSIDE.digest(), at=18)
    ground = Evidence(away, POLICY.observers)
    holds = settlement(sides, "h1", ground, RANKS, item_id="h10", epoch=19, at=19)
    found, _ = decided(*items, holds)
    assert isinstance(found, Blocked)
    assert [one.dependency for one in found.missing] == ["d_p"]
