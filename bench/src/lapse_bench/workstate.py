"""Work-state items of a trip, short to write, with the receipts that a careful writer gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse.admission import (
    Epochs,
    Returning,
    WorkItem,
    capture,
    difference,
    merge,
)
from lapse.ledger import Interval, Kind, Outcome, Receipt, Scope, Source, Stamp, digest

if TYPE_CHECKING:
    from lapse.admission import Checkpoint, Departure

__all__ = ["MEMBER", "OBSERVER", "leaving", "receipt", "returning", "statement"]

MEMBER: Final = Scope(tenant="team", principal="A1", role="planner", task="trip")
"""Who leaves and returns."""

OBSERVER: Final = "booking-desk"
"""Who observed what the statements say."""


def receipt(source: Source, seen: str, *, at: int) -> Receipt:
    """The desk saw a source show a text with this digest."""
    return Receipt(observer=OBSERVER, source=source, at=at, digest=seen, outcome=Outcome.CONFIRMS)


def statement(
    item_id: str,
    text: str,
    *,
    kind: Kind = Kind.FACT,
    epoch: int = 1,
    confirmed: bool = True,
    rests_on: tuple[WorkItem, ...] = (),
    **more: Any,
) -> WorkItem:
    """An item written in a revision, by the wall clock at the same number.

    Args:
        item_id: its id, and its slot and obligation where they are left out.
        text: what it says.
        kind: what sort of item.
        epoch: the revision, and the instant since when it holds.
        confirmed: whether the desk gave receipts for it and for what it rests on.
        rests_on: the items that it depends on.
        more: further fields of `WorkItem`.
    """
    fields: dict[str, Any] = {
        "slot": item_id,
        "writer": "A2",
        "epochs": Epochs(epoch),
        "valid": Interval(epoch),
        "stamps": tuple(Stamp(Source.record(one.id), one.digest()) for one in rests_on),
    }
    if kind in (Kind.OBLIGATION, Kind.FRONTIER):
        fields["obligation"] = item_id
    if confirmed:
        seen = receipt(Source.probe("desk", item_id), digest(text.encode()), at=epoch)
        bound = (receipt(Source.record(one.id), one.digest(), at=epoch) for one in rests_on)
        fields["receipts"] = (seen, *bound)
    return WorkItem(id=item_id, kind=kind, text=text, **(fields | more))


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
