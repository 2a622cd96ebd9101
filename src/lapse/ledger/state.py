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
from lapse.ledger.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from lapse.ledger.sources import Source

__all__ = ["Mark", "State", "fold", "writing"]

_Meaning = Record | Receipt | None
"""What a part says once it is read: a record, a receipt, or nothing beyond the change's kind."""


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


@dataclass(slots=True)
class _Ahead:
    """What the changes looked at so far would add to a state: its head, statuses, versions."""

    head: Head
    statuses: dict[str, Status]
    versions: dict[Source, str | None]


class State:
    """Records, marks and index as the changes so far leave them; single-owner, not thread-safe."""

    __slots__ = (
        "_by_slot",
        "_by_topic",
        "_ended",
        "_live",
        "_marks",
        "_unsettled",
        "head",
        "index",
    )

    def __init__(self, head: Head) -> None:
        self.head = head
        self.index = Index()
        self._live: dict[str, Record] = {}
        self._ended: dict[str, tuple[Record, Status]] = {}
        self._marks: dict[Source, Mark] = {}
        self._unsettled: set[Source] = set()
        self._by_slot = Shelf()
        self._by_topic = Shelf()

    @classmethod
    def restore(cls, head: Head, records: Iterable[Record], marks: Mapping[Source, Mark]) -> State:
        """The state that a store kept beside its changes."""
        state = cls(head)
        for source, mark in marks.items():
            state._set_mark(source, Mark(mark.reconciled, mark.observed))
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
        for record, status in self._ended.values():
            yield record.with_status(status)

    def record(self, record_id: str) -> Record:
        """One record, whatever its status.

        Raises:
            UnknownRecord: there is none of this id.
        """
        found = self._live.get(record_id)
        if found is not None:
            return found
        ended = self._ended.get(record_id)
        if ended is None:
            msg = f"no record {record_id!r}; list the ids with 'lapse memory list'"
            raise UnknownRecord(msg)
        record, status = ended
        return record.with_status(status)

    def in_slot(self, issuer: str, slot: str) -> tuple[Record, ...]:
        """The live records of a slot, oldest first."""
        return self._by_slot.at(issuer, slot)

    def on_topic(self, issuer: str, topic: str) -> tuple[Record, ...]:
        """The live records of a topic, oldest first."""
        return self._by_topic.at(issuer, topic)

    def issuers(self) -> Collection[str]:
        """Whose records are live: a live view."""
        return self._by_slot.issuers()

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
        unsettled = self._unsettled
        if not unsettled:  # nearly always: something has moved and is not reconciled yet
            return True
        return all(stamp.source.container not in unsettled for stamp in record.stamps)

    def first_usable(self, issuer: str, slot: str) -> Record | None:
        """The newest record of a slot that may be acted on: the validated get."""
        for record in reversed(self._by_slot.at(issuer, slot)):
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
            InvalidValue: a body is not what a change of this kind says about a record.
        """
        ahead = _Ahead(self.head, {}, {})
        for change in changes:
            self._read(change, ahead)

    def apply(self, change: Change) -> None:
        """Take one change in.

        Raises:
            IllegalChange: as `check` says; the state is as before.
            InvalidValue: as `check` says; the state is as before.
        """
        meanings = self._read(change, _Ahead(self.head, {}, {}))
        if change.source is not None:
            self._move_mark(change.source, change)
        # Unused where a part has a meaning; what was applied was active, and stays so.
        status = change.kind.leads_to or Status.ACTIVE
        for part, meaning in zip(change.parts, meanings, strict=True):
            self._apply_part(part, meaning, status)
        self.head = change.head

    def _read(self, change: Change, ahead: _Ahead) -> list[_Meaning]:
        """What each part means, or a refusal; `ahead` moves on, the state does not."""
        head = ahead.head
        if change.previous != head.digest or change.seq != head.seq + 1:
            raise IllegalChange(
                f"change {change.seq} does not follow change {head.seq}; "
                "read the changes after it first"
            )
        ahead.head = change.head
        if change.source is not None and (
            change.kind is ChangeKind.ADVANCED or change.source not in self._marks
        ):
            ahead.versions[change.source] = change.version
        kind = change.kind
        if kind in _SAYING:
            return [self._read_part(kind, part, ahead) for part in change.parts]
        allowed, statuses = kind.may_find, ahead.statuses
        for part in change.parts:
            record_id = part.record
            before = statuses.get(record_id) or self._status(record_id)
            if before not in allowed and not (part.body is None and before is Status.PURGED):
                raise _refused(kind, record_id, before)
            if part.body is None:
                statuses[record_id] = Status.PURGED
            elif kind.leads_to is not None:
                statuses[record_id] = kind.leads_to
        return [None] * len(change.parts)

    def _read_part(self, kind: ChangeKind, part: Part, ahead: _Ahead) -> _Meaning:
        record_id = part.record
        before = ahead.statuses.get(record_id) or self._status(record_id)
        if kind is ChangeKind.WRITTEN:
            if before is not None:
                raise IllegalChange(
                    f"record {record_id} exists already; a repair writes another record"
                )
        elif before not in kind.may_find and not (part.body is None and before is Status.PURGED):
            raise _refused(kind, record_id, before)
        if part.body is None:
            ahead.statuses[record_id] = Status.PURGED
            return None
        ahead.statuses[record_id] = kind.leads_to or before or Status.ACTIVE
        if kind is ChangeKind.WITNESSED:
            return Receipt.from_json(part.value())
        record = Record.from_json(record_id, part.value())
        self._check_marks(record, ahead)
        return record

    def _status(self, record_id: str) -> Status | None:
        record = self._live.get(record_id)
        if record is not None:
            return record.status
        ended = self._ended.get(record_id)
        return None if ended is None else ended[1]

    def _check_marks(self, record: Record, ahead: _Ahead) -> None:
        for source, version in record.rests_on():
            if source in ahead.versions:
                reconciled = ahead.versions[source]
            elif (mark := self._marks.get(source)) is not None:
                reconciled = mark.reconciled
            else:
                continue
            if reconciled != version:
                raise IllegalChange(
                    f"record {record.id} is stamped {source} at {version!r}, but the records under "
                    f"it were reconciled with {reconciled!r}; advance the source first"
                )

    def _move_mark(self, source: Source, change: Change) -> None:
        mark = self._marks.get(source)
        if mark is None:
            mark = Mark(change.version, change.version)
        mark.observed = change.version
        if change.kind is ChangeKind.ADVANCED:
            mark.reconciled = change.version
        self._set_mark(source, mark)

    def _set_mark(self, source: Source, mark: Mark) -> None:
        self._marks[source] = mark
        if mark.settled:
            self._unsettled.discard(source)
        else:
            self._unsettled.add(source)

    def _apply_part(self, part: Part, meaning: _Meaning, status: Status) -> None:
        record_id = part.record
        if isinstance(meaning, Record):
            self._enter(meaning)
        elif meaning is not None:
            self._replace(self._live[record_id].with_receipt(meaning))
        elif part.body is None or status is Status.PURGED:  # rule 6
            self._leave(record_id)
            self._ended[record_id] = Record.purged(record_id), Status.PURGED
        elif status in LIVE:
            self._replace(self._live[record_id].with_status(status))
        else:
            self._ended[record_id] = self._leave(record_id), status

    def _enter(self, record: Record) -> None:
        if record.status not in LIVE:
            self._ended[record.id] = record, record.status
            return
        self._live[record.id] = record
        self._by_slot.put(record.slot, record)
        self._by_topic.put(record.topic, record)
        self.index.add(record)

    def _replace(self, record: Record) -> None:
        self._live[record.id] = record
        self._by_slot.put(record.slot, record)
        self._by_topic.put(record.topic, record)

    def _leave(self, record_id: str) -> Record:
        record = self._live.pop(record_id, None)
        if record is None:
            ended = self._ended.get(record_id)  # nowhere yet: written and erased before this fold
            return Record.purged(record_id) if ended is None else ended[0]
        self._by_slot.take(record.slot, record)
        self._by_topic.take(record.topic, record)
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


_SAYING = (ChangeKind.WRITTEN, ChangeKind.WITNESSED)
"""The kinds whose parts say more than that the record was concerned."""


def _refused(kind: ChangeKind, record_id: str, before: Status | None) -> IllegalChange:
    status = "not there" if before is None else before.value
    return IllegalChange(f"record {record_id} is {status}: it cannot be {kind}")


def fold(head: Head, changes: Iterable[Change]) -> State:
    """The state after these changes, from an empty chain's head."""
    state = State(head)
    for change in changes:
        state.apply(change)
    return state


def writing(
    state: State, record: Record, *, at: Instant, reason: str, actor: str, salt: str
) -> tuple[Draft, ...]:
    """The drafts that write a record, and before it a mark for each source that lacks one.

    A source that other records rest on at another version is left alone, and `State.apply` refuses
    the record: reconcile first, store after.
    """
    marks = {
        source: version
        for source, version in record.rests_on()
        if (mark := state.mark(source)) is None
        or (mark.reconciled != version and not state.index.on(source))
    }
    advances = tuple(
        Draft(
            kind=ChangeKind.ADVANCED,
            at=at,
            reason="first_record",
            actor=actor,
            source=source,
            version=version,
        )
        for source, version in marks.items()
    )
    part = Part.of(record.id, record.as_json(), salt=salt)
    return (
        *advances,
        Draft(kind=ChangeKind.WRITTEN, at=at, reason=reason, actor=actor, parts=(part,)),
    )
