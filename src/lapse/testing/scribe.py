"""Writes through a store as the runtime does, and knows what the store has to say afterwards."""

from __future__ import annotations

from lapse.ledger import (
    Change,
    ChangeKind,
    Draft,
    Ids,
    Interval,
    Kind,
    Outcome,
    Part,
    Receipt,
    Record,
    Source,
    Stamp,
    Store,
    seal,
    vector,
    writing,
)
from lapse.testing.fakes import SequenceIds

__all__ = ["ISSUER", "Scribe", "sample"]

ISSUER = "https://api.example"
"""Who the samples come from."""


def sample(record_id: str, *, row: str = "rma", version: str = "v1") -> Record:
    """A fix that rests on a row of each of two tables.

    Args:
        record_id: its id; its slot is derived from it.
        row: the key of the rows.
        version: the version of both tables at which it was seen.
    """
    tables = ("flow_rules", "limits")
    stamps = (Stamp(Source.row(ISSUER, table, row), f"{row}-1", version) for table in tables)
    return Record(
        id=record_id,
        kind=Kind.FIX,
        slot=f"payments/{record_id}",
        topic="create_payment",
        issuer=ISSUER,
        content={"type": "set", "parameters": {"amount": 12, "currency": "EUR"}},
        valid=Interval(1),
        stamps=vector(stamps),
    )


class Scribe:
    """Carries drafts out on a store, one append at a time.

    Attributes:
        store: where they go.
        expected: the state that the store has to be in.
        written: every change carried out, as sealed.

    Args:
        store: where drafts are carried out.
        ids: makes up salts.
    """

    __slots__ = ("_ids", "_now", "expected", "store", "written")

    def __init__(self, store: Store, *, ids: Ids | None = None) -> None:
        self.store = store
        self.expected = store.state()
        self.written: list[Change] = []
        self._ids = SequenceIds("salt") if ids is None else ids
        self._now = 0

    def sealed(self, *drafts: Draft) -> tuple[Change, ...]:
        """The drafts in their places after the expected head; nothing is carried out."""
        return seal(drafts, self.expected.head)

    def carry_out(self, *drafts: Draft) -> tuple[Change, ...]:
        """Append the drafts as one decision, then expect what they lead to."""
        changes = self.sealed(*drafts)
        self.expected.check(changes)
        self.store.append(changes, after=self.expected.head)
        for change in changes:
            self.expected.apply(change)
        self.written += changes
        return changes

    def write(self, *records: Record) -> tuple[Change, ...]:
        """Write records, each with the marks it needs, each as a decision of its own."""
        return tuple(
            change for record in records for change in self.carry_out(*self.written_by(record))
        )

    def written_by(self, record: Record) -> tuple[Draft, ...]:
        """The drafts that would write a record."""
        return writing(
            self.expected,
            record,
            at=self._tick(),
            reason="learned",
            actor="contract",
            salt=self._ids.new(),
        )

    def judged(self, kind: ChangeKind, *record_ids: str, reason: str = "judged") -> Draft:
        """A change of status of some records."""
        parts = tuple(Part.of(name, {"why": reason}, salt=self._ids.new()) for name in record_ids)
        return Draft(kind=kind, at=self._tick(), reason=reason, actor="contract", parts=parts)

    def witnessed(self, record_id: str, *, outcome: Outcome = Outcome.CONFIRMS) -> Draft:
        """One more receipt for a record."""
        at = self._tick()
        source = Source.probe("http", f"{ISSUER}/limits")
        receipt = Receipt(observer="probe", source=source, at=at, digest="ab", outcome=outcome)
        part = Part.of(record_id, receipt.as_json(), salt=self._ids.new())
        return Draft(
            kind=ChangeKind.WITNESSED, at=at, reason="rechecked", actor="upkeep", parts=(part,)
        )

    def moved(self, kind: ChangeKind, source: Source, version: str | None) -> Draft:
        """An observation or an advance of a source."""
        return Draft(
            kind=kind,
            at=self._tick(),
            reason="diff",
            actor="contract",
            source=source,
            version=version,
        )

    def purged(self, *record_ids: str) -> Draft:
        """A purge, with the tombstones of what was written."""
        first = {part.record: part for change in reversed(self.written) for part in change.parts}
        parts = tuple(first[name].erased() for name in record_ids)
        return Draft(
            kind=ChangeKind.PURGED, at=self._tick(), reason="asked", actor="user", parts=parts
        )

    def _tick(self) -> int:
        self._now += 1
        return self._now
