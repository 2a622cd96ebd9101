"""How a change lies in a database row, the same in every database.

A row holds the header in columns, the parts as a JSON text and their bodies as one BLOB::

    parts    [[record, digest, salt bytes, body bytes, erased 0|1], …]
    bodies   salt, body, salt, body, …   the exact bytes that were digested

Erasing a body overwrites it with zeros and flips its flag. Neither column changes its length, so a
database that updates rows in place leaves no older copy of the content behind.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, cast

from lapse.errors import InvalidValue, StoreConflict, StoreCorrupt
from lapse.ledger import (
    Change,
    ChangeKind,
    Head,
    Mark,
    Part,
    Receipt,
    Record,
    Source,
    State,
    Status,
)

__all__ = [
    "KeptRows",
    "UnreadableChange",
    "UnreadableRow",
    "UnreadableState",
    "change_from",
    "check_links",
    "conflict",
    "erase",
    "pack",
    "places_from",
    "purged_by",
    "source_from",
    "source_text",
    "text_from",
    "text_of",
    "unpack",
]

_LARGEST_INSTANT = 2**63 - 1
"""What a 64-bit column holds: 292,000 years, in microseconds."""


_FEW = 8
"""Places of a record that are looked through one by one; most records have one or two."""

_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Made once: `json.dumps` makes an encoder for every call with settings of its own."""


class UnreadableRow(StoreCorrupt):
    """A row is not as any store wrote it."""


class UnreadableChange(UnreadableRow):
    """The row of a change is not as any store wrote it."""

    def __init__(self, seq: int, why: object) -> None:
        super().__init__(
            f"change {seq} cannot be read back ({why}); restore the store from a backup"
        )
        self.seq = seq


class UnreadableState(UnreadableRow):
    """A row of the kept state is not as any store wrote it."""

    def __init__(self, what: str, why: object, *, at: int = 0) -> None:
        super().__init__(
            f"the kept state of {what} cannot be read back ({why}); restore the store from a backup"
        )
        self.at = at
        """The place of the last change that the kept rows know of; 0 when that is not known."""


def check_links(changes: Iterable[Change], after: Head) -> None:
    """Refuse what no chain could hold, before anything is locked.

    Raises:
        InvalidValue: the changes do not follow `after` one by one, or an instant has no column.
    """
    seq, digest = after.seq, after.digest
    for change in changes:
        if change.previous != digest or change.seq != seq + 1:
            remedy = f"seal the changes onto {after.seq}, in order"
            raise InvalidValue("changes", f"change {change.seq} after change {seq}", remedy)
        if not -_LARGEST_INSTANT <= change.at <= _LARGEST_INSTANT:
            raise InvalidValue("at", change.at, "pass microseconds since 1970-01-01T00:00:00Z")
        seq, digest = change.seq, change.digest


def conflict(head: Head, after: Head) -> StoreConflict:
    """The refusal of changes that were decided on an older state."""
    return StoreConflict(
        f"the chain ends at change {head.seq}, not at {after.seq}: read the changes after it"
    )


def purged_by(changes: Iterable[Change]) -> frozenset[str]:
    """The ids of the records whose content these changes erase."""
    purges = [change for change in changes if change.kind is ChangeKind.PURGED]
    return frozenset(part.record for change in purges for part in change.parts)


def pack(parts: Sequence[Part]) -> tuple[str, bytes]:
    """The two columns that hold the parts of a change."""
    entries: list[tuple[str, str, int, int, int]] = []
    stored: list[bytes] = []
    for part in parts:
        salt, body = part.salt.encode(), part.body
        if body is None:
            entries.append((part.record, part.digest, 0, 0, 1))
        else:
            entries.append((part.record, part.digest, len(salt), len(body), 0))
            stored += (salt, body)
    return _dump(entries), b"".join(stored)


def unpack(parts: str, bodies: bytes) -> tuple[Part, ...]:
    """What `pack` packed.

    Raises:
        ValueError: the columns are not as `pack` gave them.
    """
    found: list[Part] = []
    start = 0
    for record, digest, salt_size, body_size, erased in _entries(parts):
        middle = start + salt_size
        end = middle + body_size
        if erased:
            found.append(Part(record, digest, None, ""))
        else:
            found.append(Part(record, digest, bodies[middle:end], bodies[start:middle].decode()))
        start = end
    if start != len(bodies):
        msg = f"the bodies have {len(bodies)} bytes, the parts account for {start}"
        raise ValueError(msg)
    return tuple(found)


def erase(seq: int, parts: str, bodies: bytes, records: Collection[str]) -> tuple[str, bytes]:
    """The two columns with the bodies about these records overwritten; both keep their length.

    Raises:
        UnreadableChange: the columns are not as `pack` gave them.
    """
    try:
        entries = _entries(parts)
    except (TypeError, ValueError) as failure:
        raise UnreadableChange(seq, failure) from None
    left = bytearray(bodies)
    start = 0
    for entry in entries:
        end = start + entry[2] + entry[3]
        if entry[0] in records:
            left[start:end] = bytes(end - start)
            entry[4] = 1
        start = end
    return _dump(entries), bytes(left)


def _entries(parts: str) -> list[list[Any]]:
    entries = json.loads(parts)
    match entries:
        case list() if all(map(_is_entry, cast("list[object]", entries))):
            return cast("list[list[Any]]", entries)
        case _:
            msg = "the list of parts has another shape"
            raise ValueError(msg)


def _is_entry(entry: object) -> bool:
    match entry:
        case [str(), str(), int(salt), int(body), 0 | 1]:
            return salt >= 0 and body >= 0
        case _:
            return False


def source_text(source: Source) -> str:
    """A source as a column holds it: a JSON list, so that no part can pose as another."""
    return _dump(source)


def source_from(text: str) -> Source:
    """What `source_text` wrote.

    Raises:
        ValueError: it is something else.
    """
    return Source.from_parts(json.loads(text))


def text_of(value: str | None) -> str | None:
    """A text for a database that takes no NUL: as a JSON string, which escapes it."""
    return None if value is None else _dump(value)


def text_from(value: str | None) -> str | None:
    """What `text_of` wrote.

    Raises:
        ValueError: it is something else.
    """
    if value is None:
        return None
    match json.loads(value):
        case str(text):
            return text
        case _:
            raise ValueError(f"{value} is not a JSON string")


def change_from(row: Sequence[Any]) -> Change:
    """The change that a row holds; whether it is the one that was sealed is not asked here.

    Args:
        row: seq, kind, at, reason, actor, source, version, previous, digest, parts, bodies.

    Raises:
        UnreadableChange: the row is not as any store wrote it.
    """
    seq, kind, at, reason, actor, source, version, previous, digest, parts, bodies = row
    # A column's declared type binds neither an edited file nor a caster of types.
    texts = (kind, reason, actor, source or "", version or "", previous, digest, parts)
    if not all(isinstance(text, str) for text in texts) or not isinstance(bodies, bytes):
        raise UnreadableChange(seq, "a column holds another type")
    try:
        return Change(
            seq=seq,
            kind=ChangeKind(kind),
            at=at,
            reason=reason,
            actor=actor,
            source=None if source is None else source_from(source),
            version=version,
            parts=unpack(parts, bodies),
            previous=previous,
            digest=digest,
        )
    except (TypeError, ValueError) as failure:
        raise UnreadableChange(seq, failure) from None


def places_from(record: str, history: str) -> list[int]:
    """The places of the changes about a record, from the column that lists them.

    Raises:
        UnreadableState: the column holds something else.
    """
    try:
        return [int(place) for place in history.split(",")[:-1]]
    except (AttributeError, ValueError) as failure:
        raise UnreadableState(f"record {record}", failure) from None


class KeptRows:
    """Puts the kept state together from its rows and the bodies that they point to.

    Args:
        records: id, status and history of every record.
        marks: source, reconciled and observed version, and place of the last move, of every mark.
    """

    __slots__ = ("_found", "_marks", "_places", "_status", "seq")

    def __init__(
        self,
        records: Iterable[tuple[str, str, str]],
        marks: Iterable[tuple[str, str | None, str | None, int]],
    ) -> None:
        self.seq = 0
        self._status: dict[str, Status] = {}
        self._places: dict[str, Collection[int]] = {}
        self._found: dict[str, Record] = {}
        self._marks: dict[Source, Mark] = {}
        for record, status, history in records:
            places = places_from(record, history)
            try:
                self._status[record] = Status(status)
                self.seq = max(self.seq, *places)
            except (TypeError, ValueError) as failure:
                raise UnreadableState(f"record {record}", failure) from None
            self._places[record] = tuple(places) if len(places) < _FEW else frozenset(places)
        for text, reconciled, observed, seq in marks:
            try:
                self._marks[source_from(text)] = Mark(reconciled, observed)
                self.seq = max(self.seq, seq)
            except (TypeError, ValueError) as failure:
                raise UnreadableState(f"source {text}", failure) from None

    def take(self, seq: int, parts: str, bodies: bytes) -> None:
        """Take in one change that writes or witnesses; in order, the records keep theirs."""
        try:
            told = unpack(parts, bodies)
        except (TypeError, ValueError) as failure:
            raise UnreadableChange(seq, failure) from None
        for part in told:
            if seq in self._places.get(part.record, ()):
                try:
                    self._found[part.record] = self._told(part)
                except (TypeError, ValueError) as failure:
                    raise UnreadableState(f"record {part.record}", failure) from None

    def _told(self, part: Part) -> Record:
        record, status = part.record, self._status[part.record]
        if status is Status.PURGED:
            return Record.purged(record)
        known = self._found.get(record)
        if known is None:
            return Record.from_json(record, part.value(), status)
        return known.with_receipt(Receipt.from_json(part.value()))

    def state(self, head: Head) -> State:
        """The state as kept, at the head that it was kept for.

        Raises:
            UnreadableState: nothing was written about a record that is not purged.
        """
        for record, status in self._status.items():
            if record not in self._found:
                if status is not Status.PURGED:
                    why = "nothing was written about it"
                    raise UnreadableState(f"record {record}", why, at=self.seq)
                self._found[record] = Record.purged(record)
        return State.restore(head, self._found.values(), self._marks)
