"""What a member knew when it left, made again from the ledger.

A departure is not copied: it is what the chain added up to at the head that the member left with.
That head vouches for everything before it, so a departure cannot be altered without breaking the
chain, and what is kept of one takes the same few bytes whatever the workspace holds.

An item never changes but in status and receipts, so it is enough to take back what happened to
those that were touched since; the rest is what it is now.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lapse.admission import capture
from lapse.errors import LedgerNotTrusted
from lapse.ledger import Break, BreakKind, ChangeKind, State, Status, genesis

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lapse.admission import Departure, WorkItem
    from lapse.ledger import Head, Source, Store
    from lapse.runtime.workspace_forms import Departed
    from lapse.runtime.workstate import Snapshot

__all__ = ["departure_of", "state_at"]


def departure_of(store: Store, state: State, now: Snapshot, departed: Departed) -> Departure:
    """The departure that a record tells of.

    What was purged since is not in it, and is in nothing else either.

    Args:
        store: the ledger.
        state: its state now.
        now: the workspace in that state.
        departed: what was kept.

    Raises:
        LedgerNotTrusted: the ledger does not add up to what the member left with.
        StoreError: the ledger could not be read.
    """
    head = departed.head
    if _link(store, head.seq) != head.digest:
        raise _not_trusted(BreakKind.FORKED, head, "the member left with another change there")
    since = _Since.read(store, head)
    there = (item for item in now.items if item.epochs.since <= departed.epoch)
    then = (since.taken_back(store, state, item) for item in there)
    found = capture(then, departed.member, epoch=departed.epoch, at=departed.at)
    if found.digest() != departed.digest and not since.purged:
        raise _not_trusted(BreakKind.TAMPERED, head, "the items are not what the member left with")
    return found


def state_at(store: Store, head: Head) -> State:
    """The state as it was at a head of the chain; it reads the whole chain up to there.

    Raises:
        LedgerNotTrusted: the chain has another change in this place.
        StoreError: the ledger could not be read.
    """
    state = State(genesis(store.ledger))
    for change in store.changes():
        if change.seq > head.seq:
            break
        state.apply(change)
    if state.head != head:
        raise _not_trusted(BreakKind.FORKED, head, "it was decided on another change there")
    return state


@dataclass(slots=True)
class _Since:
    """What happened after a head.

    Attributes:
        head: which.
        touched: the records that changes are about.
        witnessed: how many receipts each of them got.
        moved: the sources that were observed or advanced.
        purged: whether content went; what had been there cannot be digested again.
    """

    head: Head
    touched: set[str] = field(default_factory=set[str])
    witnessed: Counter[str] = field(default_factory=Counter[str])
    moved: set[Source] = field(default_factory=set["Source"])
    purged: bool = False
    _settled: dict[Source, bool] = field(default_factory=dict["Source", bool])

    @classmethod
    def read(cls, store: Store, head: Head) -> _Since:
        """Read the changes after a head."""
        since = cls(head)
        for change in store.changes(after=head.seq):
            names = [part.record for part in change.parts]
            since.touched.update(names)
            if change.kind is ChangeKind.WITNESSED:
                since.witnessed.update(names)
            if change.source is not None:
                since.moved.add(change.source)
            since.purged = since.purged or change.kind is ChangeKind.PURGED
        return since

    def taken_back(self, store: Store, state: State, item: WorkItem) -> WorkItem:
        """An item as it was at the head."""
        touched = item.id in self.touched
        if not touched and not item.stamps:
            return item
        status = state.record(item.id).status
        if touched:
            status = self._status(store, item.id)
            count = len(item.receipts) - self.witnessed[item.id]
            item = replace(item, receipts=item.receipts[:count])
        places = {stamp.source.container for stamp in item.stamps}
        if status is Status.ACTIVE and not all(self._was_settled(store, state, p) for p in places):
            status = Status.SUSPENDED
        return item.with_status(status)

    def _status(self, store: Store, record_id: str) -> Status:
        status = Status.ACTIVE
        for change in store.changes(record=record_id):
            if change.seq > self.head.seq:
                break
            status = change.kind.leads_to or status
        return status

    def _was_settled(self, store: Store, state: State, source: Source) -> bool:
        """Whether nothing newer was seen of a source than what its records were good at."""
        known = self._settled.get(source)
        if known is None:
            mark = state.mark(source)
            known = mark is None or mark.settled
            if source in self.moved:
                known = self._settled_then(store, source)
            self._settled[source] = known
        return known

    def _settled_then(self, store: Store, source: Source) -> bool:
        reconciled = observed = None
        first = True
        for change in store.changes(sources=[source]):
            if change.seq > self.head.seq:
                break
            observed = change.version
            if first or change.kind is ChangeKind.ADVANCED:
                reconciled = change.version
            first = False
        return reconciled == observed


def _link(store: Store, seq: int) -> str | None:
    """The digest of the change at a place of the chain; None where there is none."""
    if seq == 0:
        return genesis(store.ledger).digest
    found: Iterable[str] = (change.digest for change in store.changes(after=seq - 1))
    return next(iter(found), None)


def _not_trusted(kind: BreakKind, head: Head, detail: str) -> LedgerNotTrusted:
    return LedgerNotTrusted(Break(kind, head.seq, detail))
