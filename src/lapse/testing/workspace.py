"""Work-state items for tests: short to write, with the receipts that a careful writer gives.

`WrittenWorkspace` keeps them in a ledger, as whoever runs a workspace would.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from lapse.admission import (
    RANKS,
    Checkpoint,
    Departure,
    Ending,
    Epochs,
    Ground,
    Returning,
    WorkItem,
    capture,
    difference,
    end,
    lapsed,
    lift,
    merge,
    put,
    resolve,
    revive,
    work_items,
)
from lapse.ledger import (
    Change,
    Draft,
    Instant,
    Interval,
    Kind,
    Outcome,
    Receipt,
    Scope,
    Source,
    Stamp,
    State,
    digest,
    genesis,
    seal,
)

__all__ = [
    "MEMBER",
    "OBSERVER",
    "WrittenWorkspace",
    "leaving",
    "receipt",
    "resting_on",
    "returning",
    "statement",
]

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


class WrittenWorkspace:
    """A ledger in memory that is written by the drafts of `lapse.admission`, all at one instant.

    Attributes:
        state: the ledger as it is.
        changes: everything that was carried out.
        at: the instant of every decision; whoever wants another one sets it.
    """

    def __init__(self, *items: WorkItem, at: Instant = 9) -> None:
        self.state = State(genesis("workspace"))
        self.changes: list[Change] = []
        self.at = at
        self._salts = map(str, count())
        for item in items:
            self.put(item)

    def carry_out(self, drafts: Sequence[Draft]) -> None:
        """Seal drafts and apply them, all or none."""
        sealed = seal(drafts, self.state.head)
        self.state.check(sealed)
        for change in sealed:
            self.state.apply(change)
        self.changes += sealed

    def put(self, item: WorkItem) -> None:
        """Write an item, and end what it replaces."""
        self.carry_out(put(self.state, item, RANKS, **self._deciding()))

    def end(self, ending: Ending, *ids: str, by: str = "") -> None:
        """Let items stop standing."""
        self.carry_out(end(self.state, ids, ending, by=by, **self._deciding()))

    def lift(self, item_id: str, *, outcome: Outcome = Outcome.CONFIRMS) -> None:
        """Let a held item stand again, and what fell with it."""
        seen = receipt(Source.probe("desk", item_id), "", at=self.at, outcome=outcome)
        drafts = lift(self.state, item_id, seen, **self._deciding())
        back = WorkItem.of(self.state.record(item_id))
        self.carry_out((*drafts, *revive(self.state, self.held(), back, **self._deciding())))

    def restore(self, again: WorkItem) -> None:
        """Say an ended item again, and let what fell with it stand again."""
        drafts = put(self.state, again, RANKS, **self._deciding())
        self.carry_out((*drafts, *revive(self.state, self.held(), again, **self._deciding())))

    def resolve(self, settled: WorkItem, ground: Ground) -> None:
        """Let a settlement hold."""
        held = self.held()
        self.carry_out(resolve(self.state, settled, ground, held=held, **self._deciding()))

    def held(self) -> frozenset[str]:
        """What is suspended because of what it rests on."""
        return lapsed(self.changes)

    def items(self) -> tuple[WorkItem, ...]:
        """The work state, ended items too."""
        return tuple(work_items(self.state))

    def statuses(self) -> dict[str, str]:
        """The status of each item by id."""
        return {item.id: item.status.value for item in self.items()}

    def _deciding(self) -> dict[str, Any]:
        return {"at": self.at, "actor": "A2", "salt": next(self._salts)}
