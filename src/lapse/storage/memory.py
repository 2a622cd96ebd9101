"""The reference store: a ledger in this process's memory, gone when the process ends."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence

from lapse.errors import StoreClosed
from lapse.ledger import Change, Head, Ids, Source, State, genesis
from lapse.storage.rows import check_links, conflict, purged_by

__all__ = ["InMemoryStore"]


class _Place:
    """What several handles share: the chain, and the state it adds up to."""

    __slots__ = ("changes", "kept", "ledger", "lock")

    def __init__(self, ledger: str) -> None:
        self.ledger = ledger
        self.lock = threading.Lock()
        self.changes: list[Change] = []
        self.kept = State(genesis(ledger))


class InMemoryStore:
    """Implements `lapse.ledger.Store` without a file; as durable as the process.

    Args:
        ids: gives the new ledger its id.
    """

    __slots__ = ("_closed", "_place")

    def __init__(self, *, ids: Ids) -> None:
        self._place = _Place(ids.new())
        self._closed = False

    def again(self) -> InMemoryStore:
        """Another handle on the same ledger, as a second process would hold one."""
        other = object.__new__(InMemoryStore)
        other._place = self._place
        other._closed = False
        return other

    @property
    def ledger(self) -> str:
        """The id of the ledger kept here."""
        return self._place.ledger

    def head(self) -> Head:
        """The end of the chain now."""
        return self._open().kept.head

    def append(self, changes: Sequence[Change], *, after: Head) -> None:
        """Add sealed changes to the chain, and let the kept state follow.

        Raises:
            StoreConflict: the chain's end is no longer `after`; nothing was written.
            IllegalChange: the state does not allow one of them; nothing was written.
            InvalidValue: they do not follow `after`; nothing was written.
        """
        place = self._open()
        check_links(changes, after)
        with place.lock:
            head = place.kept.head
            if head != after:
                raise conflict(head, after)
            place.kept.check(changes)
            for change in changes:
                place.kept.apply(change)
            place.changes += changes
            if purged := purged_by(changes):
                place.changes = [
                    c.without(purged) if _about(c, purged) else c for c in place.changes
                ]

    def changes(
        self, *, after: int = 0, record: str | None = None, sources: Collection[Source] = ()
    ) -> Iterator[Change]:
        """Changes in order, from a place on; with `record` or `sources`, only those about them."""
        place = self._open()
        with place.lock:
            chain = place.changes[max(after, 0) :]
        wanted = frozenset(sources)
        everything = record is None and not wanted
        for change in chain:
            if everything or change.source in wanted or _about(change, (record,)):
                self._open()
                yield change

    def state(self) -> State:
        """The kept current state, as of one moment."""
        place = self._open()
        with place.lock:
            return State.restore(place.kept.head, place.kept.records(), place.kept.marks())

    def close(self) -> None:
        """Forget the ledger, unless another handle holds it."""
        self._closed = True

    def _open(self) -> _Place:
        if self._closed:
            raise StoreClosed("the store was closed; before closing, again() gives another handle")
        return self._place


def _about(change: Change, records: Collection[str | None]) -> bool:
    return any(part.record in records for part in change.parts)
