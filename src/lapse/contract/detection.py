"""Detection policies for rules that move (source text, section 6.3 and Table 5).

======  ==========================================================================
LAZY    the vectors of refused requests alone; the source text's A2DC of Table 5
A2DR    the rules' stamp alone, on every response; everything of the issuer goes
A2DRC   the stamp tells that something moved, the vectors say what
A2DO    the rules as declared, which no failure has to show first: the upper bound
======  ==========================================================================

Rows and tables are left to an eviction policy; these add what is done about rules:

1. A record's *vector* is the tables that it rests on; its *anchors* are those of which it rests on
   rows, or the only one. A service that wants to be compared sends, as `tables`, what its rules
   reach from the anchors (`reachable`).
2. A vector that lost a table is narrowed: the record gives way to one without it. A vector that
   gained a table is evicted: nobody has looked at what it says now.
3. Reaching is transitive, so a vector V shows what is lost to every record whose anchors lie in it:
   whatever is not in V. What is gained it shows to records with the same anchors alone.
4. A record that was applied with success under the rules of now is not evicted by a vector.
5. What the stamp clears is cleared after its response, whose request still had it.

A policy looks and names; it changes nothing. It never asks a service for its rules: whoever does
hands them over as `Lesson.declared`, and they count if their fingerprint is the one that was sent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, runtime_checkable

from lapse.contract.eviction import A2D, EvictionPolicy
from lapse.contract.rules import fingerprint
from lapse.contract.verdicts import Alert, Evict, Keep, Moved, Reason, Supersede, Write
from lapse.ledger import Outcome, Receipt, Source, canonical, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from lapse.contract.fixes import Lesson
    from lapse.contract.messages import TableChanges
    from lapse.contract.rules import Rule
    from lapse.ledger import Record, Stamp, State

__all__ = [
    "A2DO",
    "A2DR",
    "A2DRC",
    "DETECTION",
    "LAZY",
    "Detected",
    "Detection",
    "DetectionPolicy",
    "anchors",
    "is_confirmed",
    "reachable",
    "tables_under",
]

Detected: TypeAlias = Alert | Evict | Keep | Supersede | Write

Compared: TypeAlias = tuple[frozenset[str], frozenset[str]]
"""The tables that a vector gained, and those that it lost."""


@runtime_checkable
class DetectionPolicy(EvictionPolicy, Protocol):
    """An eviction policy that also finds out which rules moved."""

    @property
    def stamps(self) -> bool:
        """Whether a rules version that moved is told as an alert."""
        ...

    def detected(
        self,
        state: State,
        lesson: Lesson,
        shown: Sequence[Record],
        *,
        new_id: Callable[[], str],
    ) -> tuple[Detected, ...]:
        """What a response says about records whose own requests it did not answer.

        Args:
            state: what is remembered, with everything settled that the response moved.
            lesson: the response, the fixes that its request had, and the rules, if they are known.
            shown: its suggestions as records, of those that carry a vector and are current.
            new_id: makes up ids for narrowed records.
        """
        ...


@dataclass(frozen=True, slots=True)
class Detection:
    """A detection policy by what it looks at.

    Attributes:
        name: what a user types.
        stamps: whether it compares the rules version of every response.
        clears: whether everything goes when that moved.
        vectors: whether it compares the vectors of refusals with those it holds.
        declarations: whether it compares them with the rules as declared.
        tables: which records go when a row or a table moves.
    """

    name: str
    stamps: bool = False
    clears: bool = False
    vectors: bool = False
    declarations: bool = False
    tables: EvictionPolicy = A2D

    @property
    def remembers(self) -> bool:
        """As the policy for tables."""
        return self.tables.remembers

    @property
    def watches(self) -> bool:
        """As the policy for tables."""
        return self.tables.watches

    @property
    def asks(self) -> bool:
        """As the policy for tables."""
        return self.tables.asks

    def evictions(
        self, state: State, moved: Moved, changes: TableChanges | None
    ) -> tuple[Evict, ...]:
        """For tables, what their policy says; for rules, everything or nothing."""
        if moved.source.kind != "rules":
            return self.tables.evictions(state, moved, changes)
        if not self.clears:
            return ()
        ids = tuple(sorted(state.index.on(moved.source)))
        return (Evict(ids, Reason.RULES_MOVED, moved.source, moved.was, moved.now),) if ids else ()

    def detected(
        self,
        state: State,
        lesson: Lesson,
        shown: Sequence[Record],
        *,
        new_id: Callable[[], str],
    ) -> tuple[Detected, ...]:
        """Receipts for what was applied, and verdicts about vectors that are not as they were."""
        if not self.vectors and not self.declarations:
            return ()
        witnessed = tuple(_witnessed(state, lesson))
        compare = self._comparison(lesson, shown)
        if compare is None:
            return witnessed
        found = tuple(_disposed(state, lesson, shown, compare, new_id))
        if not found or self.stamps:
            return (*witnessed, *found)
        first = next(verdict for verdict in found if not isinstance(verdict, Write))
        return (_alert(first, lesson), *witnessed, *found)

    def _comparison(
        self, lesson: Lesson, shown: Sequence[Record]
    ) -> Callable[[Record], Compared] | None:
        rules, version = lesson.declared, lesson.envelope.rules_version
        if self.declarations and rules is not None and fingerprint(rules) == version:
            return lambda record: _against_rules(record, rules)
        if self.vectors and shown:
            return lambda record: _against_vectors(record, shown)
        return None


def tables_under(record: Record) -> frozenset[str]:
    """A record's vector: the tables that it rests on."""
    return frozenset(s.source.name for s in record.stamps if s.source.container.kind == "table")


def anchors(record: Record) -> frozenset[str]:
    """The tables that it was read from, as against those that follow; empty when nobody knows."""
    read = frozenset(s.source.name for s in record.stamps if s.source.kind == "row")
    under = tables_under(record)
    return read or (under if len(under) == 1 else frozenset())


def reachable(tables: Iterable[str], rules: Collection[Rule]) -> frozenset[str]:
    """The tables, and every table that the rules lead to from them."""
    found = set(tables)
    pending = list(found)
    while pending:
        here = pending.pop()
        for rule in rules:
            if rule.from_table == here and rule.to_table not in found:
                found.add(rule.to_table)
                pending.append(rule.to_table)
    return frozenset(found)


def is_confirmed(record: Record, rules_version: str | None) -> bool:
    """Whether a request that had the fix was accepted under these rules."""
    if rules_version is None:
        return False
    source, seen = Source.rules(record.issuer), _seen(rules_version)
    return any(r.source == source and r.digest == seen for r in record.receipts)


def _seen(rules_version: str) -> str:
    return digest(canonical([rules_version]))


def _witnessed(state: State, lesson: Lesson) -> Iterator[Keep]:
    """One receipt for a fix and a rules version, however often it is applied."""
    version = lesson.envelope.rules_version
    if version is None or lesson.envelope.success is not True:
        return
    rules = Source.rules(lesson.issuer)
    known = state.index.on(rules)
    for record_id in dict.fromkeys(lesson.applied):
        if record_id in known and not is_confirmed(state.record(record_id), version):
            receipt = Receipt(
                observer=lesson.issuer,
                source=rules,
                at=lesson.at,
                digest=_seen(version),
                outcome=Outcome.CONFIRMS,
            )
            yield Keep(state.record(record_id), receipt, Reason.APPLIED)


def _against_rules(record: Record, rules: Collection[Rule]) -> Compared:
    anchored = anchors(record)
    if not anchored:
        return frozenset(), frozenset()
    held, now = tables_under(record), reachable(anchored, rules)
    return now - held, held - now


def _against_vectors(record: Record, shown: Sequence[Record]) -> Compared:
    anchored, held = anchors(record), tables_under(record)
    gained: set[str] = set()
    lost: set[str] = set()
    for one in shown:
        vector = tables_under(one)
        if anchored and anchored <= vector:
            lost |= held - vector
            if anchored == anchors(one):
                gained |= vector - held
    return frozenset(gained), frozenset(lost)


def _disposed(
    state: State,
    lesson: Lesson,
    shown: Sequence[Record],
    compare: Callable[[Record], Compared],
    new_id: Callable[[], str],
) -> Iterator[Evict | Supersede | Write]:
    rules = Source.rules(lesson.issuer)
    now = lesson.envelope.rules_version
    answered = {one.slot for one in shown}  # these give way to what was answered, or stand with it
    for record_id in sorted(state.index.on(rules)):
        record = state.record(record_id)
        if record.slot in answered:
            continue
        gained, lost = compare(record)
        if gained and not is_confirmed(record, now):
            yield Evict((record.id,), Reason.TABLE_GAINED, rules, _rules_under(record), now)
        elif lost and state.usable(record):
            narrower = replace(record, id=new_id(), stamps=tuple(_without(state, record, lost)))
            yield Write(narrower, Reason.TABLE_LOST)
            yield Supersede(record, narrower.id, Reason.TABLE_LOST)


def _without(state: State, record: Record, lost: Collection[str]) -> Iterator[Stamp]:
    """The stamps that are left, at the versions that the record is known to be good at."""
    for stamp in record.stamps:
        container = stamp.source.container
        if container.kind == "table" and container.name in lost:
            continue
        mark = state.mark(container)
        if mark is None:
            yield stamp
        elif stamp.source.kind == "row":
            yield replace(stamp, within=mark.reconciled)
        else:
            yield replace(stamp, version=mark.reconciled)


def _rules_under(record: Record) -> str | None:
    return next(s.version for s in record.stamps if s.source.kind == "rules")


def _alert(first: Evict | Supersede, lesson: Lesson) -> Alert:
    rules = Source.rules(lesson.issuer)
    was = first.was if isinstance(first, Evict) else _rules_under(first.record)
    return Alert(Moved(rules, was, lesson.envelope.rules_version))


LAZY: Final = Detection("LAZY", vectors=True)
A2DR: Final = Detection("A2DR", stamps=True, clears=True)
A2DRC: Final = Detection("A2DRC", stamps=True, vectors=True)
A2DO: Final = Detection("A2DO", stamps=True, declarations=True)

DETECTION: Final[dict[str, Detection]] = {p.name: p for p in (LAZY, A2DR, A2DRC, A2DO)}
"""The detection policies by the name a user types."""
