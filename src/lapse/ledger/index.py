"""From a source to the records that rest on it.

A row's records are found under the row and under its table, so one look-up answers "what does this
row carry?" as well as "what does this table carry?". A table's records are not listed a second
time: they are counted, and gathered from its rows when somebody wants to see them all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from lapse.ledger.records import Record
    from lapse.ledger.sources import Source

__all__ = ["Index"]

_Ids = str | list[str] | set[str]
"""One id, as most rows carry, stands for itself, and a few take a list: sets of them would be most
of the memory of a large index."""

_FEW = 16
"""Ids beyond which a list, which is searched, gives way to a set."""

_K = TypeVar("_K")


class Index:
    """An inverted index over dependency vectors; single-owner, not thread-safe."""

    __slots__ = ("_direct", "_rows", "_sizes")

    def __init__(self) -> None:
        self._direct: dict[Source, _Ids] = {}
        self._rows: dict[Source, dict[str, _Ids]] = {}
        self._sizes: dict[Source, int] = {}

    def add(self, record: Record) -> None:
        """Enter a record under everything it rests on."""
        tables: list[Source] = []
        for stamp in record.stamps:
            source = stamp.source
            table = source.container
            if source.kind == "row":
                _put(self._rows.setdefault(table, {}), source.key, record.id)
            else:
                _put(self._direct, source, record.id)
            if table.kind == "table" and table not in tables:
                tables.append(table)
                self._sizes[table] = self._sizes.get(table, 0) + 1

    def remove(self, record: Record) -> None:
        """Take a record that was added out again; a source that carries nothing is forgotten."""
        tables: list[Source] = []
        for stamp in record.stamps:
            source = stamp.source
            table = source.container
            if source.kind == "row":
                _take(self._rows[table], source.key, record.id)
            else:
                _take(self._direct, source, record.id)
            if table.kind == "table" and table not in tables:
                tables.append(table)
        for table in tables:
            left = self._sizes[table] = self._sizes[table] - 1
            if not left:
                del self._sizes[table]
                self._rows.pop(table, None)

    def on(self, source: Source) -> Collection[str]:
        """The ids of the records that rest on a source: a live view, so copy before changing."""
        if source.kind == "table":
            return _Under(self, source)
        if source.kind == "row":
            return _ids(self._rows.get(source.container, {}).get(source.key))
        return _ids(self._direct.get(source))

    def directly_on(self, source: Source) -> Collection[str]:
        """As `on`, without the records that rest on rows of a table and not on all of it."""
        return _ids(self._direct.get(source)) if source.kind == "table" else self.on(source)

    def __contains__(self, source: Source) -> bool:
        return len(self.on(source)) > 0

    def __iter__(self) -> Iterator[Source]:
        """Every source that carries a record."""
        yield from self._sizes
        yield from (source for source in self._direct if source.kind != "table")
        for table, rows in self._rows.items():
            yield from (table.row(table.issuer, table.name, key) for key in rows)

    def __len__(self) -> int:
        """How many sources carry records."""
        rows = sum(map(len, self._rows.values()))
        return rows + len(self._sizes) + sum(source.kind != "table" for source in self._direct)

    def size(self, table: Source) -> int:
        """How many records rest on a table, or on rows of it."""
        return self._sizes.get(table, 0)

    def under(self, table: Source) -> Iterator[str]:
        """Their ids, each once."""
        seen: set[str] = set()
        for held in (self._direct.get(table), *self._rows.get(table, {}).values()):
            for record_id in _ids(held):
                if record_id not in seen:  # it may rest on several rows
                    seen.add(record_id)
                    yield record_id


class _Under(Collection[str]):
    """The records under a table: their number at once, themselves by a walk over its rows."""

    __slots__ = ("_index", "_table")

    def __init__(self, index: Index, table: Source) -> None:
        self._index = index
        self._table = table

    def __len__(self) -> int:
        return self._index.size(self._table)

    def __iter__(self) -> Iterator[str]:
        return self._index.under(self._table)

    def __contains__(self, record_id: object) -> bool:
        return any(held == record_id for held in self)


def _ids(held: _Ids | None) -> Collection[str]:
    if held is None:
        return ()
    return (held,) if isinstance(held, str) else held


def _put(places: dict[_K, _Ids], place: _K, record_id: str) -> None:
    held = places.setdefault(place, record_id)
    if isinstance(held, set):
        held.add(record_id)
    elif record_id not in (ids := _ids(held)):
        places[place] = [*ids, record_id] if len(ids) < _FEW else {*ids, record_id}


def _take(places: dict[_K, _Ids], place: _K, record_id: str) -> None:
    held = places.get(place)
    if held is None:  # gone already: a vector that names a source twice
        return
    if not isinstance(held, str):
        if record_id in held:
            held.remove(record_id)
        if held:
            return
    del places[place]
