"""The index where random histories seldom lead: many records on one row, and doubled stamps."""

from __future__ import annotations

from dataclasses import replace

from lapse.ledger import Index, Source, Stamp
from lapse.testing import sample

ROW = Source.row("i", "t", "k")
TABLE = ROW.container
PREMISE = Source.premise("w", "hotel")


def test_a_row_may_carry_any_number_of_records() -> None:
    index = Index()
    records = [
        replace(sample(f"r{number}"), stamps=(Stamp(ROW, "1"), Stamp(PREMISE, "1")))
        for number in range(40)
    ]
    for count, record in enumerate(records, start=1):
        index.add(record)
        for source in (ROW, TABLE, PREMISE):
            assert len(index.on(source)) == count
            assert set(index.on(source)) == {record.id for record in records[:count]}
    for left, record in enumerate(reversed(records)):
        index.remove(record)
        assert len(index.on(TABLE)) == len(records) - left - 1
    assert list(index) == []


def test_a_doubled_stamp_counts_once() -> None:
    index = Index()
    twice = (Stamp(ROW, "1"), Stamp(ROW, "1"), Stamp(PREMISE, "1"), Stamp(PREMISE, "1"))
    record = replace(sample("a"), stamps=twice)
    other = replace(sample("b"), stamps=twice)
    third = replace(sample("c"), stamps=twice)
    for found in (record, other, third):
        index.add(found)
        assert found.id in index.on(ROW)
    assert [len(index.on(source)) for source in (ROW, TABLE, PREMISE)] == [3, 3, 3]
    index.remove(record)
    assert [set(index.on(source)) for source in (ROW, TABLE, PREMISE)] == [{"b", "c"}] * 3
    index.remove(other)
    index.remove(third)
    assert len(index) == 0
