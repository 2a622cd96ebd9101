"""From a source to the records that rest on it.

A row's records are found under the row and under its table, so one look-up answers "what does this
row carry?" as well as "what does this table carry?". A table's records are not listed a second
time: they are counted, and gathered from its rows when somebody wants to see them all.

Records of one row nearly always saw it at one version and rest on the same other things. A `Row`
knows that, so all of them can be judged, and let go of, without a look at any.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lapse.ledger.sources import Source

if TYPE_CHECKING:
    from lapse.ledger.records import Record

__all__ = ["Index", "Row"]

_FEW = 16
"""Ids under a source beyond which a list, which is searched, gives way to a set."""

_MOST_ALIKE = 4096
"""Records of one row beyond which they are no longer kept in order: each addition copies them."""

_MOST_SHARED = 1024
"""Ways to rest on other things that are remembered, so that rows of one way share one object."""

_Ids = str | list[str] | set[str]
"""One id stands for itself, and a few take a list: sets of them would be most of the memory of a
large index."""

_Others = tuple[Source, ...]

_K = TypeVar("_K")


class Row(NamedTuple):
    """The records that rest on a row.

    Attributes:
        version: the version of the row that all of them saw; means nothing when they differ.
        others: what else each of them rests on, no table or row among it; None when they differ in
            that or in the version, or rest on more than one row, and each has to be looked at.
        ids: the records; in order, when they are alike.
    """

    version: str | None
    others: _Others | None
    ids: tuple[str, ...] | set[str]

    def takes(self, version: str | None, others: _Others | None) -> bool:
        """Whether a record like this would be like the others here."""
        alike = others is not None and others == self.others and version == self.version
        return alike and len(self.ids) < _MOST_ALIKE


class Index:
    """An inverted index over dependency vectors; single-owner, not thread-safe.

    Args:
        gone: the ids of records that no longer count; those that were dropped with their row lie
            under other things until they are swept.

    Attributes:
        asked: the row that was asked about last: the likeliest to be dropped next.
    """

    __slots__ = ("_alike", "_gone", "_left", "_others", "_tables", "asked")

    def __init__(self, gone: Collection[str] = ()) -> None:
        self.asked: Source | None = None
        self._gone = gone
        self._tables: dict[str, dict[str, _Table]] = {}
        self._others: dict[Source, _Ids] = {}
        self._left: dict[Source, int] = {}  # how many of a source's ids are gone and not swept
        self._alike: dict[_Others, _Others] = {}  # one object for each, shared by many rows

    def add(self, record: Record) -> None:
        """Enter a record under everything it rests on."""
        under: list[_Table] = []
        others = self._shared_others(record)
        for stamp in record.stamps:
            source = stamp.source
            if source.kind not in _TABULAR:
                _put(self._others, source, record.id)
                continue
            tables = self._tables.setdefault(source.issuer, {})
            table = tables.get(source.name)
            if table is None:
                table = tables[source.name] = _Table()
            if source.kind == "row":
                table.put(source.key, record.id, stamp.version, others)
            else:
                _put(table.whole, source.key, record.id)
            if table not in under:
                under.append(table)
                table.size += 1

    def _shared_others(self, record: Record) -> _Others | None:
        """What a record rests on beside one row; None when it is not one row and no table."""
        others = tuple(s.source for s in record.stamps if s.source.kind not in _TABULAR)
        if len(others) != len(record.stamps) - 1 or len(set(others)) != len(others):
            return None
        if len(self._alike) == _MOST_SHARED:
            self._alike.clear()
        return self._alike.setdefault(others, others)

    def remove(self, record: Record) -> None:
        """Take a record that was added out again; a source that carries nothing is forgotten."""
        under: dict[_Table, Source] = {}
        for stamp in record.stamps:
            source = stamp.source
            if source.kind not in _TABULAR:
                _take(self._others, source, record.id)
                continue
            table = self._tables[source.issuer][source.name]
            if source.kind == "row":
                table.take(source.key, record.id)
            else:
                _take(table.whole, source.key, record.id)
            under[table] = source
        for table, source in under.items():
            self._shrink(table, source, 1)

    def drop(self, source: Source, row: Row) -> None:
        """Let go of all records of a row that are alike; `sweep` each of them later.

        From now on they are nowhere, as long as their ids are among those that are gone.
        """
        table = self._tables[source.issuer][source.name]
        del table.rows[source.key]
        number, left = len(row.ids), self._left
        for other in row.others or ():
            left[other] = left.get(other, 0) + number
        if table.size > number:
            table.size -= number
        else:
            self._shrink(table, source, number)

    def sweep(self, record: Record) -> None:
        """Take out what is left of a record that was dropped with its row."""
        for stamp in record.stamps:
            source = stamp.source
            if source.kind in _TABULAR:
                continue
            _take(self._others, source, record.id)
            self._left[source] -= 1
            if not self._left[source]:
                del self._left[source]

    def _shrink(self, table: _Table, source: Source, number: int) -> None:
        table.size -= number
        if table.size:
            return
        tables = self._tables[source.issuer]
        del tables[source.name]
        if not tables:
            del self._tables[source.issuer]

    def row(self, source: Source) -> Row | None:
        """What rests on a row; None when nothing does."""
        self.asked = source
        # `_table`, without the call: it is asked once for every row of a diff
        named = self._tables.get(source.issuer, _NO_TABLES)
        return named.get(source.name, _EMPTY).rows.get(source.key)

    def on(self, source: Source) -> Collection[str]:
        """The ids of the records that rest on a source: a live view, so copy before changing."""
        if source.kind == "table":
            return self._table(source)
        if source.kind == "row":
            row = self._table(source).rows.get(source.key)
            return () if row is None else row.ids
        ids = _ids(self._others.get(source))
        left = self._left.get(source, 0)
        return _Living(ids, self._gone, len(ids) - left) if left else ids

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
        yield from (source for source in self._others if source in self)
        for issuer, tables in self._tables.items():
            for name, table in tables.items():
                yield Source.table(issuer, name)
                yield from (Source.row(issuer, name, key) for key in table.rows)

    def __len__(self) -> int:
        """How many sources carry records."""
        return sum(1 for _ in self)


class _Living(Collection[str]):
    """The ids under a source without those that are gone."""

    __slots__ = ("_gone", "_ids", "_number")

    def __init__(self, ids: Collection[str], gone: Collection[str], number: int) -> None:
        self._ids = ids
        self._gone = gone
        self._number = number

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._ids if name not in self._gone)

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._ids and record_id not in self._gone


class _Table(Collection[str]):
    """The records under a table: their number at once, themselves by a walk over its rows.

    Attributes:
        rows: the records on each row.
        whole: those on the table as a whole, under the empty key.
        size: how many records are on either.
    """

    __slots__ = ("rows", "size", "whole")

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.whole: dict[str, _Ids] = {}
        self.size = 0

    def put(self, key: str, record_id: str, version: str | None, others: _Others | None) -> None:
        """Add a record to a row."""
        row = self.rows.get(key)
        if row is None:
            row = Row(version, others, (record_id,))
        elif record_id in row.ids:
            return
        elif row.takes(version, others):
            ids = list(row.ids)
            insort(ids, record_id)
            row = Row(version, others, tuple(ids))
        elif isinstance(row.ids, set):
            row.ids.add(record_id)
        else:
            row = Row(None, None, {*row.ids, record_id})
        self.rows[key] = row

    def take(self, key: str, record_id: str) -> None:
        """Take a record from a row; one that is not there was taken before."""
        row = self.rows.get(key)
        if row is None or record_id not in row.ids:
            return
        if isinstance(row.ids, set):
            row.ids.remove(record_id)
        else:
            row = row._replace(ids=tuple(name for name in row.ids if name != record_id))
        self.rows[key] = row
        if not row.ids:
            del self.rows[key]

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[str]:
        seen: set[str] = set()
        for held in (*map(_ids, self.whole.values()), *(row.ids for row in self.rows.values())):
            for record_id in held:
                if record_id not in seen:  # it may rest on several rows
                    seen.add(record_id)
                    yield record_id

    def __contains__(self, record_id: object) -> bool:
        return any(held == record_id for held in self)


_TABULAR = ("row", "table")
_EMPTY = _Table()
_NO_TABLES: Mapping[str, _Table] = {}


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
