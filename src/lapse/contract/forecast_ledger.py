"""Reads the looks out of a ledger.

A ledger was not written for this, and says more than it seems to: a record that is written, or
confirmed, shows the version of its tables at that instant; an eviction names the row that moved; a
table that is advanced without one shows that the other rows did not. What was purged says nothing.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# JSON is anything until its shape is matched.

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from lapse.contract.forecast_drift import Drift, Look
from lapse.contract.verdicts import Reason
from lapse.ledger import ChangeKind, Source, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lapse.ledger import Change, Instant, Record

__all__ = ["drift_of", "looks"]

_ENDING = frozenset({Status.EVICTED, Status.SUPERSEDED, Status.REVOKED, Status.PURGED})


def drift_of(changes: Iterable[Change]) -> Drift:
    """The evidence that a ledger's changes hold."""
    drift = Drift()
    for look in looks(changes):
        drift.look(look)
    return drift


def looks(changes: Iterable[Change]) -> Iterator[Look]:
    """The looks in a ledger's changes, in order.

    Two processes may write with clocks that differ; a look is never earlier than the one before it
    at the same table.
    """
    reader = _Reader()
    latest: dict[Source, Instant] = {}
    for change in changes:
        for look in reader.read(change):
            at = max(look.at, latest.get(look.table, look.at))
            latest[look.table] = at
            yield replace(look, at=at)


class _Reader:
    """What has to be known of the changes so far to tell what the next one shows."""

    def __init__(self) -> None:
        self._versions: dict[Source, str | None] = {}
        self._records: dict[str, Record] = {}
        self._under: dict[Source, Counter[str]] = {}
        self._moved: dict[Source, set[str]] = {}
        self._gone: dict[Source, set[str]] = {}
        self._unclear: set[Source] = set()

    def read(self, change: Change) -> Iterator[Look]:
        """The looks that a change is."""
        if change.source is not None:
            yield self._of_source(change, change.source)
        elif change.kind is ChangeKind.WRITTEN:
            for part in change.parts:
                record = change.written_record(part)
                if record is not None:
                    yield from self._written(record, change.at)
        elif change.kind is ChangeKind.WITNESSED and change.reason == Reason.CONFIRMED:
            for part in change.parts:
                yield from self._confirmed(part.record, change.at)
        elif change.kind.leads_to in _ENDING:
            self._ended(change)

    def _of_source(self, change: Change, source: Source) -> Look:
        moved = source in self._versions and self._versions[source] != change.version
        self._versions[source] = change.version
        if change.kind is ChangeKind.OBSERVED:
            return Look(
                source, change.at, moved=moved, rows=None
            )  # the diff comes with the advance
        rows = tuple(sorted(self._moved.pop(source, ())))
        gone = tuple(sorted(self._gone.pop(source, ())))
        if source in self._unclear:
            self._unclear.discard(source)
            return Look(source, change.at, moved=moved, rows=None, gone=gone)
        return Look(source, change.at, moved=moved, rows=rows, gone=gone)

    def _written(self, record: Record, at: Instant) -> Iterator[Look]:
        self._records[record.id] = record
        watched: dict[Source, list[str]] = {}
        for source, version in record.rests_on():
            if self._versions.setdefault(source, version) == version:
                watched[source] = []
        for stamp in record.stamps:
            if stamp.source.kind == "row":
                source, key = stamp.source.container, stamp.source.key
                self._under.setdefault(source, Counter())[key] += 1
                # Nobody looked since its last record went, so nothing was missed.
                self._gone.get(source, set[str]()).discard(key)
                if source in watched:
                    watched[source].append(key)
        for source, keys in watched.items():
            yield Look(source, at, watched=tuple(keys), gone=tuple(self._gone.pop(source, ())))

    def _confirmed(self, record_id: str, at: Instant) -> Iterator[Look]:
        record = self._records.get(record_id)
        for source, _ in () if record is None else record.rests_on():
            yield Look(source, at, gone=tuple(self._gone.pop(source, ())))

    def _ended(self, change: Change) -> None:
        for part in change.parts:
            if change.kind is ChangeKind.EVICTED:
                self._take_cause(change.reason, part.value())
            record = self._records.pop(part.record, None)
            for stamp in () if record is None else record.stamps:
                if stamp.source.kind == "row":
                    source, key = stamp.source.container, stamp.source.key
                    left = self._under[source]
                    left[key] -= 1
                    if not left[key]:
                        self._gone.setdefault(source, set()).add(key)

    def _take_cause(self, reason: str, detail: object) -> None:
        match detail:
            case {"cause": ["row", str(issuer), str(name), str(key)]}:
                if reason == Reason.ROW_MOVED:
                    self._moved.setdefault(Source.table(issuer, name), set()).add(key)
            case {"cause": ["table", str(issuer), str(name), str()]}:
                if reason != Reason.ROW_UNKNOWN:
                    self._unclear.add(Source.table(issuer, name))
            case _:
                pass  # purged, or it went for another reason than a move
