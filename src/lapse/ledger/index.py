"""From a source to the records that rest on it.

A row's records are found under the row and under its table, so one look-up answers "what does this
row carry?" as well as "what does this table carry?". A table's records are not listed a second
time: they are counted, and gathered from its rows when somebody wants to see them all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, TypeVar

from lapse.ledger.sources import Source

if TYPE_CHECKING:
    from lapse.ledger.records import Record

__all__ = ["Index"]

_Ids = str | list[str] | set[str]
"""One id, as most rows carry, stands for itself, and a few take a list: sets of them would be most
of the memory of a large index."""

_FEW = 16
"""Ids beyond which a list, which is searched, gives way to a set."""

_K = TypeVar("_K")


class Index:
    """An inverted index over dependency vectors; single-owner, not thread-safe."""

    __slots__ = ("_others", "_tables")

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, _Table]] = {}
        self._others: dict[Source, _Ids] = {}

    def add(self, record: Record) -> None:
        """Enter a record under everything it rests on."""
        under: list[_Table] = []
        for stamp in record.stamps:
            source = stamp.source
            if source.kind not in _TABULAR:
                _put(self._others, source, record.id)
                continue
            tables = self._tables.setdefault(source.issuer, {})
            table = tables.get(source.name)
            if table is None:
                table = tables[source.name] = _Table()
            _put(table.rows if source.kind == "row" else table.whole, source.key, record.id)
            if table not in under:
                under.append(table)
                table.size += 1

    def remove(self, record: Record) -> None:
        """Take a record that was added out again; a source that carries nothing is forgotten."""
        under: dict[_Table, Source] = {}
        for stamp in record.stamps:
            source = stamp.source
            if source.kind not in _TABULAR:
                _take(self._others, source, record.id)
                continue
            table = self._tables[source.issuer][source.name]
            _take(table.rows if source.kind == "row" else table.whole, source.key, record.id)
            under[table] = source
        for table, source in under.items():
            table.size -= 1
            if not table.size:
                self._forget(source)

    def _forget(self, source: Source) -> None:
        tables = self._tables[source.issuer]
        del tables[source.name]
        if not tables:
            del self._tables[source.issuer]

    def on(self, source: Source) -> Collection[str]:
        """The ids of the records that rest on a source: a live view, so copy before changing."""
        if source.kind not in _TABULAR:
            return _ids(self._others.get(source))
        table = self._table(source)
        return table if source.kind == "table" else _ids(table.rows.get(source.key))

    def directly_on(self, source: Source) -> Collection[str]:
        """As `on`, without the records that rest on rows of a table and not on all of it."""
        if source.kind != "table":
            return self.on(source)
        return _ids(self._table(source).whole.get(source.key))

    def _table(self, source: Source) -> _Table:
        return self._tables.get(source.issuer, _NO_TABLES).get(source.name, _EMPTY)

    def __contains__(self, source: Source) -> bool:
        return len(self.on(source)) > 0

    def __iter__(self) -> Iterator[Source]:
        """Every source that carries a record."""
        yield from self._others
        for issuer, tables in self._tables.items():
            for name, table in tables.items():
                yield Source.table(issuer, name)
                yield from (Source.row(issuer, name, key) for key in table.rows)

    def __len__(self) -> int:
        """How many sources carry records."""
        return sum(1 for _ in self)


class _Table(Collection[str]):
    """The records under a table: their number at once, themselves by a walk over its rows.

    Attributes:
        rows: the records on each row.
        whole: those on the table as a whole, under the empty key.
        size: how many records are on either.
    """

    __slots__ = ("rows", "size", "whole")

    def __init__(self) -> None:
        self.rows: dict[str, _Ids] = {}
        self.whole: dict[str, _Ids] = {}
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[str]:
        seen: set[str] = set()
        for held in (*self.whole.values(), *self.rows.values()):
            for record_id in _ids(held):
                if record_id not in seen:  # it may rest on several rows
                    seen.add(record_id)
                    yield record_id

    def __contains__(self, record_id: object) -> bool:
        return any(held == record_id for held in self)


_TABULAR = ("row", "table")
_EMPTY = _Table()
_NO_TABLES: dict[str, _Table] = {}


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
