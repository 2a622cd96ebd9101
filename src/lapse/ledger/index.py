"""From a source to the records that rest on it.

A row's records are found under the row and under its table, so one look-up answers "what does this
row carry?" as well as "what does this table carry?".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from lapse.ledger.records import Record
    from lapse.ledger.sources import Source

__all__ = ["Index"]

_NONE: frozenset[str] = frozenset()


class Index:
    """An inverted index over dependency vectors; single-owner, not thread-safe."""

    __slots__ = ("_records",)

    def __init__(self) -> None:
        self._records: dict[Source, set[str]] = {}

    def add(self, record: Record) -> None:
        """Enter a record under everything it rests on."""
        for source in _places(record):
            self._records.setdefault(source, set()).add(record.id)

    def remove(self, record: Record) -> None:
        """Take a record out again; sources that carry nothing more are forgotten."""
        for source in _places(record):
            held = self._records.get(source)
            if held is None:
                continue
            held.discard(record.id)
            if not held:
                del self._records[source]

    def on(self, source: Source) -> Collection[str]:
        """The ids of the records that rest on a source: a live view, so copy before changing."""
        return self._records.get(source, _NONE)

    def __contains__(self, source: Source) -> bool:
        return source in self._records

    def __iter__(self) -> Iterator[Source]:
        """Every source that carries a record."""
        return iter(self._records)

    def __len__(self) -> int:
        """How many sources carry records."""
        return len(self._records)


def _places(record: Record) -> Iterator[Source]:
    for stamp in record.stamps:
        source = stamp.source
        yield source
        if source.kind == "row":
            yield source.container
