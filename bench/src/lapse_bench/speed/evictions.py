"""One row changed, a million fixes are remembered, ten of them rest on it.

Durability apart: the entry of the ledger (digests, salts, the link of the chain) is drafted and
sealed outside the measured time, because it exists to be stored. `row_eviction_with_entry` measures
it all.

An eviction leaves its records in places where nothing finds them any more, as the reference leaves
their ids: later writes sweep them, a few each. `row_eviction_swept` sweeps them at once.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lapse.contract import A2D, Envelope, Lesson, Moved, TableChanges, drafts, settle
from lapse.ledger import seal
from lapse.storage import RandomIds
from lapse_bench.speed.memories import memory_over
from lapse_bench.speed.pairs import WARM_UP, Pair
from lapse_bench.speed.records import ISSUER, PER_ROW, TABLES

if TYPE_CHECKING:
    from lapse.ledger import Change, Source, State

__all__ = ["Bare", "row_eviction", "row_eviction_swept", "row_eviction_with_entry"]

_TURNS = 200


@dataclass(slots=True)
class Bare:
    """The least that finds and removes the entries of a row: two dictionaries and a set.

    Attributes:
        index: from a row to the ids on it.
        entries: from an id to what is held.
    """

    index: dict[Source, set[str]] = field(default_factory=dict["Source", "set[str]"])
    entries: dict[str, object] = field(default_factory=dict[str, object])

    @classmethod
    def of(cls, state: State) -> Bare:
        """The same entries as a state's."""
        bare = cls()
        for record in state:
            bare.entries[record.id] = record
            source = next(stamp.source for stamp in record.stamps if stamp.source.kind == "row")
            bare.index.setdefault(source, set()).add(record.id)
        return bare

    def evict(self, source: Source) -> None:
        """Delete what is on a row."""
        for record in self.index.pop(source):
            del self.entries[record]


@dataclass(slots=True)
class _Moves:
    """Rows that change one after the other, and the messages that say so."""

    rows: list[Source]
    versions: dict[str, str]
    turn: int = 0

    def next(self) -> tuple[Moved, TableChanges, Lesson]:
        """The next move, the service's answer, and the response that reported it."""
        source = self.rows[self.turn]
        self.turn += 1
        was = self.versions[source.name]
        now = f"{was}+1"
        self.versions[source.name] = now
        envelope = Envelope(
            success=True, table_versions=dict(self.versions), rules_version="ec524f499ebe"
        )
        lesson = Lesson(
            issuer=ISSUER, operation="GET /", request=None, envelope=envelope, at=self.turn
        )
        changes = TableChanges(
            table=source.name, since=was, version=now, complete=True, rows={source.key: now}
        )
        return Moved(source.container, was, now), changes, lesson


def row_eviction(state: State, bare: Bare) -> Pair:
    """Decide which fixes go and let go of them, against the deletion of their entries."""
    return _row_eviction(state, bare, name="row_eviction")


def row_eviction_swept(state: State, bare: Bare) -> Pair:
    """As `row_eviction`, and everything that it puts off is done as well."""
    return _row_eviction(state, bare, name="row_eviction_swept", swept=True)


def _row_eviction(state: State, bare: Bare, *, name: str, swept: bool = False) -> Pair:
    rows = _spread(bare)
    moves, left, ids = _Moves(rows, _versions(state)), iter(rows), RandomIds()
    ready: list[tuple[Moved, TableChanges, list[Change]]] = []

    def prepare() -> None:
        moved, changes, lesson = moves.next()
        verdicts = settle(state, A2D, [moved], {(moved.source, moved.was): changes})
        drafted = drafts(verdicts, state, lesson, new_id=ids.new)
        ready[:] = [(moved, changes, list(seal(drafted, state.head)))]

    def ours() -> None:
        ((moved, changes, sealed),) = ready
        settle(state, A2D, [moved], {(moved.source, moved.was): changes})
        for change in sealed:
            state.apply(change)
        if swept:
            state.sweep()

    return Pair(
        name=name,
        ours=ours,
        theirs=lambda: bare.evict(next(left)),
        calls=1,
        turns=_TURNS,
        goal=3.0,
        ours_does=f"contract.settle at row granularity (which of {len(state):,} records rest on "
        "the row that changed, and why: "
        f"{PER_ROW}), then State.apply of the eviction and of the table's new version (no "
        "question finds the records any more)"
        + (", then State.sweep (slot, topic, every index)" if swept else ""),
        theirs_does=f"dict.pop of the row's set of ids, then {PER_ROW} dict deletions, among "
        f"{len(state):,} entries",
        prepare=prepare,
    )


def row_eviction_with_entry(state: State, bare: Bare) -> Pair:
    """The whole way of a diff into a memory, but for the store."""
    rows = _spread(bare)
    moves, left = _Moves(rows, _versions(state)), iter(rows)
    memory = memory_over(state)
    ready: list[tuple[TableChanges, Lesson]] = []

    def prepare() -> None:
        _, changes, lesson = moves.next()
        ready[:] = [(changes, lesson)]

    def ours() -> None:
        ((changes, lesson),) = ready
        steps = memory.receive(lesson)
        next(steps)  # it asks what changed in the table that moved
        with suppress(StopIteration):
            steps.send(changes)

    return Pair(
        name="row_eviction_with_entry",
        ours=ours,
        theirs=lambda: bare.evict(next(left)),
        calls=1,
        turns=_TURNS,
        goal=3.0,
        ours_does=f"Memory.receive of a response and a diff: {TABLES} table versions compared, "
        f"{PER_ROW} records evicted, the "
        "ledger's entries drafted, digested and sealed; the store keeps nothing",
        theirs_does="as row_eviction",
        prepare=prepare,
    )


def _versions(state: State) -> dict[str, str]:
    marks = (
        (source, mark.reconciled)
        for source, mark in state.marks().items()
        if source.kind == "table"
    )
    return {source.name: version for source, version in marks if version is not None}


def _spread(bare: Bare) -> list[Source]:
    """As many rows as are needed, from all over."""
    rows, wanted = list(bare.index), _TURNS + WARM_UP
    return [rows[turn * len(rows) // wanted] for turn in range(wanted)]
