"""Current state: a fold over the changes.

`State` is what the changes add up to, and nothing else: the same changes give an equal state
wherever they are applied, and the state after a prefix is the state as it was then.

Rules of the fold:

1. A change is applied to the head it names; any other is refused.
2. A record's status moves only along the machine drawn in `lapse.ledger.records`.
3. A *mark* holds, for each table (or rule set) that records rest on, the version up to which they
   were reconciled and the version last observed. While the two differ, those records are in
   abeyance: held, not served.
4. A record is written only under a source whose mark agrees with its stamp; `writing` drafts the
   advance that this takes when nothing else rests on the source.
5. Nothing here makes a record usable because time passed.
6. What was erased from earlier changes is passed over, so a chain folds after a purge as before it,
   but for the purged records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lapse.errors import IllegalChange, UnknownRecord
from lapse.ledger.changes import Change, ChangeKind, Draft, Head, Part
from lapse.ledger.index import Index
from lapse.ledger.records import LIVE, Instant, Receipt, Record, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from lapse.ledger.sources import Source
    from lapse.ledger.stamps import Stamp

__all__ = ["Mark", "State", "fold", "writing"]

_MAY_COME_FROM: dict[ChangeKind, frozenset[Status]] = {
    ChangeKind.WITNESSED: LIVE,
    ChangeKind.SUSPENDED: frozenset({Status.ACTIVE}),
    ChangeKind.REINSTATED: frozenset({Status.SUSPENDED, Status.DISPUTED}),
    ChangeKind.DISPUTED: frozenset({Status.ACTIVE, Status.SUSPENDED}),
    ChangeKind.SUPERSEDED: LIVE,
    ChangeKind.REVOKED: LIVE,
    ChangeKind.EVICTED: LIVE,
    ChangeKind.PURGED: frozenset(Status),
}
"""Which statuses a change may find a record in."""


@dataclass(slots=True)
class Mark:
    """Up to which version the records under a source were reconciled, and which was seen last.

    None stands for a source that is gone. Owned and changed by the state that holds it.
    """

    reconciled: str | None
    observed: str | None

    @property
    def settled(self) -> bool:
        """Whether nothing newer was seen than what the records were reconciled with."""
        return self.reconciled == self.observed


class State:
    """Records, marks and index as the changes so far leave them; single-owner, not thread-safe."""

    __slots__ = ("_by_slot", "_by_topic", "_ended", "_live", "_marks", "head", "index")

    def __init__(self, head: Head) -> None:
        self.head = head
        self.index = Index()
        self._live: dict[str, Record] = {}
        self._ended: dict[str, Record] = {}
        self._marks: dict[Source, Mark] = {}
        self._by_slot: dict[tuple[str, str], dict[str, Record]] = {}
        self._by_topic: dict[tuple[str, str], dict[str, Record]] = {}

    @classmethod
    def restore(cls, head: Head, records: Iterable[Record], marks: Mapping[Source, Mark]) -> State:
        """The state that a store kept beside its changes."""
        state = cls(head)
        for source, mark in marks.items():
            state._marks[source] = Mark(mark.reconciled, mark.observed)
        for record in records:
            state._enter(record)
        return state

    # -- reading -----------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many records are live."""
        return len(self._live)

    def __iter__(self) -> Iterator[Record]:
        """The live records, in the order in which they were written."""
        return iter(self._live.values())

    def records(self) -> Iterator[Record]:
        """Every record, the ended ones and the tombstones too."""
        yield from self._live.values()
        yield from self._ended.values()

    def record(self, record_id: str) -> Record:
        """One record, whatever its status.

        Raises:
            UnknownRecord: there is none of this id.
        """
        found = self._live.get(record_id) or self._ended.get(record_id)
        if found is None:
            msg = f"no record {record_id!r}; list the ids with 'lapse memory list'"
            raise UnknownRecord(msg)
        return found

    def in_slot(self, issuer: str, slot: str) -> Collection[Record]:
        """The live records of a slot, oldest first: a live view."""
        found = self._by_slot.get((issuer, slot))
        return found.values() if found else ()

    def on_topic(self, issuer: str, topic: str) -> Collection[Record]:
        """The live records of a topic, oldest first: a live view."""
        found = self._by_topic.get((issuer, topic))
        return found.values() if found else ()

    def mark(self, source: Source) -> Mark | None:
        """The mark of a table or rule set; None when no record was ever written under it."""
        return self._marks.get(source)

    def marks(self) -> Mapping[Source, Mark]:
        """Every mark: a live view."""
        return self._marks

    def usable(self, record: Record) -> bool:
        """Whether a record may be acted on: active, and nothing it rests on has moved unreconciled.

        A record without stamps rests on nothing that could move; its status alone decides.
        """
        if record.status is not Status.ACTIVE:
            return False
        marks = self._marks
        for stamp in record.stamps:
            source = stamp.source
            mark = marks.get(source if source.kind != "row" else source.container)
            if mark is not None and mark.reconciled != mark.observed:
                return False
        return True

    def first_usable(self, issuer: str, slot: str) -> Record | None:
        """The newest record of a slot that may be acted on: the validated get."""
        found = self._by_slot.get((issuer, slot))
        if found is None:
            return None
        for record in reversed(found.values()):
            if self.usable(record):
                return record
        return None

    # -- applying ----------------------------------------------------------------------------

    def check(self, changes: Iterable[Change]) -> None:
        """Refuse changes that could not be applied in this order; nothing is changed.

        Ask before a store is given them: what a store has acknowledged has to fold.

        Raises:
            IllegalChange: one names another head (rule 1), or a record's status does not allow it
                (rule 2), or a record would be written past its mark (rule 4).
        """
        head = self.head
        statuses: dict[str, Status] = {}
        versions: dict[Source, str | None] = {}
        for change in changes:
            if change.previous != head.digest or change.seq != head.seq + 1:
                msg = f"change {change.seq} does not follow change {head.seq}; read the changes after it first"
                raise IllegalChange(msg)
            head = change.head
            if change.source is not None and (
                change.kind is ChangeKind.ADVANCED or change.source not in self._marks
            ):
                versions[change.source] = change.version
            for part in change.parts:
                self._check_part(change.kind, part, statuses, versions)

    def apply(self, change: Change) -> None:
        """Take one change in.

        Raises:
            IllegalChange: as `check` says; the state is as before.
        """
        self.check((change,))
        if change.source is not None:
            self._move_mark(change.source, change)
        for part in change.parts:
            self._apply_part(change, part)
        self.head = change.head

    def _check_part(
        self, kind: ChangeKind, part: Part, statuses: dict[str, Status], versions: dict[Source, str | None]
    ) -> None:
        known = self._live.get(part.record) or self._ended.get(part.record)
        before = statuses.get(part.record, None if known is None else known.status)
        if kind is ChangeKind.WRITTEN:
            if before is not None:
                msg = f"record {part.record} exists already; a repair writes another record"
                raise IllegalChange(msg)
            self._check_marks(part, versions)
        elif before is None:
            msg = f"no record {part.record!r}: it cannot be {kind}; write it first"
            raise IllegalChange(msg)
        elif before not in _MAY_COME_FROM[kind] and not (part.body is None and before is Status.PURGED):
            msg = f"record {part.record} is {before}: it cannot be {kind}"
            raise IllegalChange(msg)
        after = kind.leads_to or before
        statuses[part.record] = Status.PURGED if part.body is None else after or Status.ACTIVE

    def _check_marks(self, part: Part, versions: Mapping[Source, str | None]) -> None:
        if part.body is None:
            return
        record = Record.from_json(part.record, part.value())
        for source, version in _rests_on(record.stamps):
            if source in versions:
                reconciled = versions[source]
            elif (mark := self._marks.get(source)) is not None:
                reconciled = mark.reconciled
            else:
                continue
            if reconciled != version:
                msg = (
                    f"record {part.record} is stamped {source} at {version!r}, but the records under it were "
                    f"reconciled with {reconciled!r}; advance the source first"
                )
                raise IllegalChange(msg)

    def _move_mark(self, source: Source, change: Change) -> None:
        mark = self._marks.get(source)
        if mark is None:
            self._marks[source] = Mark(change.version, change.version)
            return
        mark.observed = change.version
        if change.kind is ChangeKind.ADVANCED:
            mark.reconciled = change.version

    def _apply_part(self, change: Change, part: Part) -> None:
        if part.body is None:  # rule 6; a PURGED change has no bodies from the start
            self._leave(part.record)
            self._ended[part.record] = Record.purged(part.record)
            return
        status = change.kind.leads_to
        if change.kind is ChangeKind.WRITTEN:
            self._enter(Record.from_json(part.record, part.value()))
        elif status is None:
            record = self._live[part.record]
            self._replace(record.with_receipt(Receipt.from_json(part.value())))
        elif status in LIVE:
            self._replace(self._live[part.record].with_status(status))
        else:
            self._ended[part.record] = self._leave(part.record).with_status(status)

    def _enter(self, record: Record) -> None:
        if record.status not in LIVE:
            self._ended[record.id] = record
            return
        self._live[record.id] = record
        self._by_slot.setdefault((record.issuer, record.slot), {})[record.id] = record
        self._by_topic.setdefault((record.issuer, record.topic), {})[record.id] = record
        self.index.add(record)

    def _replace(self, record: Record) -> None:
        self._live[record.id] = record
        self._by_slot[record.issuer, record.slot][record.id] = record
        self._by_topic[record.issuer, record.topic][record.id] = record

    def _leave(self, record_id: str) -> Record:
        record = self._live.pop(record_id, None)
        if record is None:
            return self._ended.get(record_id) or Record.purged(record_id)
        for shelf, key in (
            (self._by_slot, (record.issuer, record.slot)),
            (self._by_topic, (record.issuer, record.topic)),
        ):
            held = shelf[key]
            del held[record_id]
            if not held:
                del shelf[key]
        self.index.remove(record)
        return record

    def __eq__(self, other: object) -> bool:
        """Equal when head, records, statuses and marks are."""
        if not isinstance(other, State):
            return NotImplemented
        return (
            self.head == other.head
            and self._marks == other._marks
            and {r.id: r for r in self.records()} == {r.id: r for r in other.records()}
        )

    __hash__ = None  # type: ignore[assignment]  # it changes


def fold(head: Head, changes: Iterable[Change]) -> State:
    """The state after these changes, from an empty chain's head."""
    state = State(head)
    for change in changes:
        state.apply(change)
    return state


def writing(state: State, record: Record, *, at: Instant, reason: str, actor: str, salt: str) -> tuple[Draft, ...]:
    """The drafts that write a record: the record, and before it a mark for each source that lacks one.

    A source that other records rest on at another version is left alone, and `State.apply` refuses
    the record: reconcile first, store after.
    """
    marks = {
        source: version
        for source, version in _rests_on(record.stamps)
        if (mark := state.mark(source)) is None
        or (mark.reconciled != version and not state.index.on(source))
    }
    advances = tuple(
        Draft(kind=ChangeKind.ADVANCED, at=at, reason="first_record", actor=actor, source=source, version=version)
        for source, version in marks.items()
    )
    part = Part.of(record.id, record.as_json(), salt=salt)
    return (*advances, Draft(kind=ChangeKind.WRITTEN, at=at, reason=reason, actor=actor, parts=(part,)))


def _rests_on(stamps: Iterable[Stamp]) -> Iterator[tuple[Source, str | None]]:
    """The tables and rule sets under a vector, each with the version the stamps saw it at."""
    for stamp in stamps:
        source = stamp.source
        if source.kind == "row":
            if stamp.within is not None:
                yield source.container, stamp.within
        elif source.kind in ("table", "rules"):
            yield source, stamp.version

