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

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lapse.errors import IllegalChange, UnknownRecord
from lapse.ledger.changes import Change, ChangeKind, Head, Part
from lapse.ledger.index import Index, Row
from lapse.ledger.marks import Mark, Marks
from lapse.ledger.records import LIVE, Receipt, Record, Status
from lapse.ledger.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from lapse.ledger.sources import Source

__all__ = ["State", "fold"]

_Meaning = Record | Receipt | None
"""What a part says once it is read: a record, a receipt, or nothing beyond the change's kind."""


@dataclass(slots=True)
class _Ahead:
    """What the changes looked at so far would add to a state: statuses and versions."""

    statuses: dict[str, Status]
    versions: dict[Source, str | None]


class State:
    """Records, marks and index as the changes so far leave them; single-owner, not thread-safe."""

    __slots__ = (
        "_by_slot",
        "_by_topic",
        "_ended",
        "_marks",
        "_records",
        "_unswept",
        "head",
        "index",
    )

    def __init__(self, head: Head) -> None:
        self.head = head
        self._records: dict[str, Record] = {}
        self._ended: dict[str, Status] = {}  # of those records that no longer live
        self._unswept: deque[tuple[str, ...]] = deque()  # of the ended, what may lie somewhere
        self._marks = Marks()
        self.index = Index(self._ended)
        self._by_slot = Shelf(self._ended)
        self._by_topic = Shelf(self._ended)

    @classmethod
    def restore(cls, head: Head, records: Iterable[Record], marks: Mapping[Source, Mark]) -> State:
        """The state that a store kept beside its changes."""
        state = cls(head)
        for source, mark in marks.items():
            state._marks.put(source, Mark(mark.reconciled, mark.observed))
        for record in records:
            state._enter(record)
        return state

    # -- reading -----------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many records are live."""
        return len(self._records) - len(self._ended)

    def __iter__(self) -> Iterator[Record]:
        """The live records, in the order in which they were written."""
        ended = self._ended
        return (record for name, record in self._records.items() if name not in ended)

    def records(self) -> Iterator[Record]:
        """Every record, the ended ones and the tombstones too."""
        yield from self
        yield from (self._records[name].with_status(status) for name, status in self._ended.items())

    def record(self, record_id: str) -> Record:
        """One record, whatever its status.

        Raises:
            UnknownRecord: there is none of this id.
        """
        found = self._records.get(record_id)
        if found is None:
            msg = f"no record {record_id!r}; list the ids with 'lapse memory list'"
            raise UnknownRecord(msg)
        status = self._ended.get(record_id)
        return found if status is None else found.with_status(status)

    def live(self, ids: Iterable[str]) -> Iterator[Record]:
        """The records of these ids, which the index gave: they are live."""
        return map(self._records.__getitem__, ids)

    def in_slot(self, issuer: str, slot: str) -> tuple[Record, ...]:
        """The live records of a slot, oldest first."""
        return self._by_slot.at(issuer, slot)

    def on_topic(self, issuer: str, topic: str) -> tuple[Record, ...]:
        """The live records of a topic, oldest first."""
        return self._by_topic.at(issuer, topic)

    def issuers(self) -> Collection[str]:
        """Whose records are live, and perhaps somebody's whose last one has just gone."""
        return self._by_slot.issuers()

    def mark(self, source: Source) -> Mark | None:
        """The mark of a table or rule set; None when no record was ever written under it."""
        return self._marks.held.get(source)

    def marks(self) -> Mapping[Source, Mark]:
        """Every mark: a live view."""
        return self._marks.held

    def usable(self, record: Record) -> bool:
        """Whether a record may be acted on: active, and nothing it rests on has moved unreconciled.

        A record without stamps rests on nothing that could move; its status alone decides.
        """
        if record.status is not Status.ACTIVE:
            return False
        unsettled = self._marks.unsettled
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
        head, ahead = self.head, _Ahead({}, {})
        for change in changes:
            _check_place(change, head)
            self._read(change, ahead)
            head = change.head

    def apply(self, change: Change) -> None:
        """Take one change in.

        Raises:
            IllegalChange: as `check` says; the state is as before.
            InvalidValue: as `check` says; the state is as before.
        """
        _check_place(change, self.head)
        if change.parts:
            rows = self._whole_rows(change) if change.kind is ChangeKind.EVICTED else None
            if rows is None:
                self._apply_parts(change, self._read(change, _Ahead({}, {})))
            else:
                for source, row in rows.items():
                    self.index.drop(source, row)
                    self._ended.update(dict.fromkeys(row.ids, Status.EVICTED))
                    self._unswept.append(tuple(row.ids))
        if change.source is not None:
            reconciles = change.kind is ChangeKind.ADVANCED
            self._marks.move(change.source, change.version, reconciles=reconciles)
        self.head = change.head

    def _whole_rows(self, change: Change) -> dict[Source, Row] | None:
        """The rows that an eviction takes away with all their records; None if it is not that.

        Live records of one row, alike in what they rest on, leave in one step: a diff evicts
        such rows and little else.
        """
        ids = tuple([None if part.body is None else part.record for part in change.parts])
        found: dict[Source, Row] = {}
        start, source = 0, self.index.asked
        while start < len(ids):
            row = None if source is None else self.index.row(source)
            if row is None or ids[start] not in row.ids:  # it was decided on some time ago
                source = self._row_under(ids[start])
                row = None if source is None else self.index.row(source)
            if source is None or row is None or row.others is None or source in found:
                return None
            if ids[start : start + len(row.ids)] != row.ids:
                return None
            found[source] = row
            start, source = start + len(row.ids), None
        return found

    def _row_under(self, record_id: str | None) -> Source | None:
        """The first row that a record rests on."""
        record = None if record_id is None else self._records.get(record_id)
        for stamp in () if record is None else record.stamps:
            if stamp.source.kind == "row":
                return stamp.source
        return None

    def _read(self, change: Change, ahead: _Ahead) -> list[_Meaning]:
        """What each part means, or a refusal; `ahead` moves on, the state does not."""
        if change.source is not None and (
            change.kind is ChangeKind.ADVANCED or change.source not in self._marks.held
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
        status = self._ended.get(record_id)
        if status is not None:
            return status
        record = self._records.get(record_id)
        return None if record is None else record.status

    def _check_marks(self, record: Record, ahead: _Ahead) -> None:
        for source, version in record.rests_on():
            if source in ahead.versions:
                reconciled = ahead.versions[source]
            elif (mark := self._marks.held.get(source)) is not None:
                reconciled = mark.reconciled
            else:
                continue
            if reconciled != version:
                raise IllegalChange(
                    f"record {record.id} is stamped {source} at {version!r}, but the records under "
                    f"it were reconciled with {reconciled!r}; advance the source first"
                )

    def _apply_parts(self, change: Change, meanings: Sequence[_Meaning]) -> None:
        status = change.kind.leads_to or Status.ACTIVE  # unused where a part has a meaning
        for part, meaning in zip(change.parts, meanings, strict=True):
            self._apply_part(part, meaning, status)

    def _apply_part(self, part: Part, meaning: _Meaning, status: Status) -> None:
        record_id = part.record
        if isinstance(meaning, Record):
            self._enter(meaning)
        elif meaning is not None:
            self._replace(self._records[record_id].with_receipt(meaning))
        elif part.body is None or status is Status.PURGED:  # rule 6
            self._leave(record_id)
            self._records[record_id] = Record.purged(record_id)
            self._ended[record_id] = Status.PURGED
        elif status in LIVE:
            self._replace(self._records[record_id].with_status(status))
        else:
            self._leave(record_id)
            self._ended[record_id] = status

    def _enter(self, record: Record) -> None:
        self._records[record.id] = record
        if record.status not in LIVE:
            self._ended[record.id] = record.status
            return
        self._by_slot.put(record.slot, record)
        self._by_topic.put(record.topic, record)
        self.index.add(record)
        self.sweep(_SWEPT)

    def sweep(self, most: int | None = None) -> None:
        """Take out what is left of records that went with their row, as every write does of a few.

        Args:
            most: of how many records; of all when left out.
        """
        waiting = self._unswept
        left = len(self._ended) if most is None else most
        while waiting and left > 0:
            ids = waiting.popleft()
            if len(ids) > left:
                waiting.appendleft(ids[left:])
            for name in ids[:left]:
                self._sweep(name)
            left -= len(ids)

    def _replace(self, record: Record) -> None:
        self._records[record.id] = record
        self._by_slot.put(record.slot, record)
        self._by_topic.put(record.topic, record)

    def _leave(self, record_id: str) -> None:
        record = self._records.get(record_id)
        if record is None:
            return
        if record_id in self._ended:
            self._sweep(record_id)
            return
        self._by_slot.take(record.slot, record)
        self._by_topic.take(record.topic, record)
        self.index.remove(record)

    def _sweep(self, record_id: str) -> None:
        record = self._records[record_id]
        if not self._by_slot.holds(record.slot, record):
            return  # it left by itself, or was purged before its turn came
        self._by_slot.take(record.slot, record)
        self._by_topic.take(record.topic, record)
        self.index.sweep(record)

    def __eq__(self, other: object) -> bool:
        """Equal when head, records, statuses and marks are."""
        if not isinstance(other, State):
            return NotImplemented
        return (
            self.head == other.head
            and self._marks.held == other._marks.held
            and {r.id: r for r in self.records()} == {r.id: r for r in other.records()}
        )

    __hash__ = None  # type: ignore[assignment]  # it changes


_SWEPT = 4
"""Records that ended and are swept as another comes in: more than come in, so it catches up."""

_SAYING = (ChangeKind.WRITTEN, ChangeKind.WITNESSED)
"""The kinds whose parts say more than that the record was concerned."""


def _check_place(change: Change, head: Head) -> None:
    if change.previous != head.digest or change.seq != head.seq + 1:
        raise IllegalChange(
            f"change {change.seq} does not follow change {head.seq}; "
            "read the changes after it first"
        )


def _refused(kind: ChangeKind, record_id: str, before: Status | None) -> IllegalChange:
    status = "not there" if before is None else before.value
    return IllegalChange(f"record {record_id} is {status}: it cannot be {kind}")


def fold(head: Head, changes: Iterable[Change]) -> State:
    """The state after these changes, from an empty chain's head."""
    state = State(head)
    for change in changes:
        state.apply(change)
    return state
