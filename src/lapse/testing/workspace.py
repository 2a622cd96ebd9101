"""Work-state items for tests: short to write, with the receipts that a careful writer gives."""

from __future__ import annotations

from typing import Any

from lapse.admission import (
    Checkpoint,
    Departure,
    Epochs,
    Returning,
    WorkItem,
    capture,
    difference,
    merge,
)
from lapse.ledger import Interval, Kind, Outcome, Receipt, Scope, Source, Stamp, digest

__all__ = ["MEMBER", "OBSERVER", "leaving", "receipt", "resting_on", "returning", "statement"]

MEMBER = Scope(tenant="team", principal="A1", role="planner", task="trip")
"""Who leaves and returns."""

OBSERVER = "booking-desk"
"""Who observed what the statements say."""


def receipt(
    source: Source, seen: str, *, at: int = 0, outcome: Outcome = Outcome.CONFIRMS
) -> Receipt:
    """Evidence of `OBSERVER` that a source showed a text with this digest."""
    return Receipt(observer=OBSERVER, source=source, at=at, digest=seen, outcome=outcome)


def statement(
    item_id: str,
    text: str = "",
    *,
    kind: Kind = Kind.FACT,
    epoch: int = 1,
    confirmed: bool = True,
    rests_on: tuple[WorkItem, ...] = (),
    **more: Any,
) -> WorkItem:
    """An item written in a revision, by the wall clock at the same number.

    Args:
        item_id: its id; it gives text, slot and obligation where they are left out.
        text: what it says.
        kind: what sort of item.
        epoch: the revision, and the instant since when it holds.
        confirmed: whether `OBSERVER` gave receipts for it and for what it rests on.
        rests_on: the items it depends on.
        more: further fields of `WorkItem`.
    """
    said = text or f"what {item_id} says"
    fields: dict[str, Any] = {
        "slot": item_id,
        "writer": "A2",
        "epochs": Epochs(epoch),
        "valid": Interval(epoch),
    }
    if kind in (Kind.OBLIGATION, Kind.FRONTIER):
        fields["obligation"] = item_id
    if confirmed:
        seen = receipt(Source.probe("desk", item_id), digest(said.encode()), at=epoch)
        bound = (receipt(Source.record(i.id), i.digest(), at=epoch) for i in rests_on)
        fields["receipts"] = (seen, *bound)
    fields["stamps"] = resting_on(*rests_on)
    return WorkItem(id=item_id, kind=kind, text=said, **(fields | more))


def resting_on(*items: WorkItem) -> tuple[Stamp, ...]:
    """The stamps of an item that depends on others as they are."""
    return tuple(Stamp(Source.record(item.id), item.digest()) for item in items)


def leaving(*items: WorkItem, epoch: int = 10) -> Departure:
    """`MEMBER` leaves a workspace in a revision, at the instant of the same number."""
    return capture(items, MEMBER, epoch=epoch, at=epoch)


def returning(
    departure: Departure, *items: WorkItem, epoch: int = 20, cycle: str = "return-1"
) -> Checkpoint:
    """`MEMBER` returns, for booking, into a workspace that holds these items."""
    who = Scope(tenant="team", principal="A1", role="planner", task="trip", purpose="booking")
    back = Returning(cycle=cycle, who=who, epoch=epoch, at=epoch)
    return merge(departure, difference(departure, items, epoch=epoch), back)
