"""The client arms of the source text (section 3.5) as values.

=====  =========================================================================
A0     keeps nothing
A1     keeps everything, append-only; nothing is ever evicted
A2     a table that moved takes every record under it along
A2D    only records whose row changed go; the rest are restamped
A2DC   A2D, and whatever rests on an evicted record goes with it
A2DG   A2D, and so does what rests on a row downstream of a changed one
=====  =========================================================================

A policy looks at the state and at what changed, and names the records that go. It changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from lapse.contract.verdicts import Evict, Moved, Reason
from lapse.ledger import Source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from lapse.contract.messages import TableChanges
    from lapse.ledger import Record, State

__all__ = [
    "A0",
    "A1",
    "A2",
    "A2D",
    "A2DC",
    "A2DG",
    "POLICIES",
    "ByRow",
    "ByTable",
    "EvictionPolicy",
    "KeepAll",
    "KeepNone",
]


class EvictionPolicy(Protocol):
    """Which remembered fixes go when a table or the rules moved."""

    @property
    def name(self) -> str:
        """The arm's name in the source text."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether fixes are kept at all."""
        ...

    @property
    def watches(self) -> bool:
        """Whether versions are compared; a policy that does not watch appends and never evicts."""
        ...

    @property
    def asks(self) -> bool:
        """Whether it needs to know which rows changed."""
        ...

    def evictions(
        self, state: State, moved: Moved, changes: TableChanges | None
    ) -> tuple[Evict, ...]:
        """The records that go.

        Args:
            state: what is remembered.
            moved: what moved.
            changes: the service's answer to what changed in it; None when the policy does not ask.
        """
        ...


@dataclass(frozen=True, slots=True)
class KeepNone:
    """A0: no memory."""

    name: str = "A0"
    remembers: bool = False
    watches: bool = False
    asks: bool = False

    def evictions(
        self, state: State, moved: Moved, changes: TableChanges | None
    ) -> tuple[Evict, ...]:
        """Nothing is there to go."""
        del state, moved, changes
        return ()


@dataclass(frozen=True, slots=True)
class KeepAll:
    """A1: memory without invalidation, the arm that goes wrong silently."""

    name: str = "A1"
    remembers: bool = True
    watches: bool = False
    asks: bool = False

    def evictions(
        self, state: State, moved: Moved, changes: TableChanges | None
    ) -> tuple[Evict, ...]:
        """Nothing goes, whatever moved."""
        del state, moved, changes
        return ()


@dataclass(frozen=True, slots=True)
class ByTable:
    """A2: table granularity."""

    name: str = "A2"
    remembers: bool = True
    watches: bool = True
    asks: bool = False

    def evictions(
        self, state: State, moved: Moved, changes: TableChanges | None
    ) -> tuple[Evict, ...]:
        """Every record under the table."""
        del changes
        if moved.source.kind == "rules":
            return ()
        return tuple(_everything(state, moved, Reason.TABLE_MOVED))


@dataclass(frozen=True, slots=True)
class ByRow:
    """A2D and its two extensions: row granularity."""

    name: str = "A2D"
    consumers: bool = False
    graph: bool = False
    remembers: bool = True
    watches: bool = True
    asks: bool = True

    def evictions(
        self, state: State, moved: Moved, changes: TableChanges | None
    ) -> tuple[Evict, ...]:
        """The records whose row changed, and by configuration those that follow from them."""
        if moved.source.kind == "rules":
            return ()
        found = self._direct(state, moved, changes)
        if len(found) > 1:
            found = _once(found)
        if self.consumers:
            found += _consumers(state, found)
        return tuple(found)

    def _direct(self, state: State, moved: Moved, changes: TableChanges | None) -> list[Evict]:
        if changes is not None and changes.version is None:
            return _everything(state, moved, Reason.TABLE_GONE)
        if changes is None or not changes.complete:
            return _everything(state, moved, Reason.LOG_TOO_SHORT)
        issuer, table = moved.source.issuer, moved.source.name
        found: list[Evict] = []
        for key, version in changes.rows.items():
            row = Source.row(issuer, table, key)
            for was, ids in _seen(state, row):
                if was != version:
                    found.append(Evict(ids, Reason.ROW_MOVED, row, was, version))
        if changes.rows:
            whole = state.index.directly_on(moved.source)
            found += _all(moved, Reason.ROW_UNKNOWN, whole)
        if self.graph:
            for other, key in changes.downstream:
                row = Source.row(issuer, other, key)
                for was, ids in _seen(state, row):
                    found.append(Evict(ids, Reason.DOWNSTREAM, row, was, None))
        return found


def _everything(state: State, moved: Moved, reason: Reason) -> list[Evict]:
    return _all(moved, reason, state.index.on(moved.source))


def _all(moved: Moved, reason: Reason, ids: Collection[str]) -> list[Evict]:
    return [Evict(_ordered(ids), reason, moved.source, moved.was, moved.now)] if ids else []


def _seen(state: State, row: Source) -> Iterable[tuple[str | None, tuple[str, ...]]]:
    """The versions at which a row's records saw it, each with those records."""
    held = state.index.row(row)
    if held is None:
        return ()
    if isinstance(held.ids, tuple):
        return ((held.version, held.ids),)
    by_version: dict[str | None, list[str]] = {}
    for name in sorted(held.ids):
        by_version.setdefault(_stamped(state.record(name), row), []).append(name)
    return [(version, tuple(ids)) for version, ids in by_version.items()]


def _once(evictions: list[Evict]) -> list[Evict]:
    """The same, each record where it is named first."""
    found: list[Evict] = []
    gone: set[str] = set()
    for evict in evictions:
        if found:
            gone.update(found[-1].ids)
        left = evict.besides(gone) if gone else evict
        if left is not None:
            found.append(left)
    return found


def _consumers(state: State, evictions: Sequence[Evict]) -> list[Evict]:
    """What rests on records that go, on what rests on those, and so on."""
    found: list[Evict] = []
    frontier = [name for evict in evictions for name in evict.ids]
    gone = set(frontier)
    while frontier:
        source = Source.record(frontier.pop())
        for name in sorted(state.index.on(source)):
            if name not in gone:
                was = _stamped(state.record(name), source)
                found.append(Evict((name,), Reason.DEPENDENCY_EVICTED, source, was, None))
                gone.add(name)
                frontier.append(name)
    return found


def _ordered(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(ids))  # two clients write the same ledger


def _stamped(record: Record, source: Source) -> str | None:
    # The index found the record under this very source.
    return next(stamp.version for stamp in record.stamps if stamp.source == source)


A0: Final = KeepNone()
A1: Final = KeepAll()
A2: Final = ByTable()
A2D: Final = ByRow()
A2DC: Final = ByRow("A2DC", consumers=True)
A2DG: Final = ByRow("A2DG", graph=True)

POLICIES: Final[dict[str, EvictionPolicy]] = {p.name: p for p in (A0, A1, A2, A2D, A2DC, A2DG)}
"""The policies by the name a user types."""
