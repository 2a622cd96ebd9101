"""The index where random histories seldom lead: many records on one row, and doubled stamps."""

from __future__ import annotations

from dataclasses import replace

from lapse.ledger import ChangeKind, Index, Row, Source, Stamp
from lapse.storage import InMemoryStore
from lapse.testing import Scribe, SequenceIds, sample

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


def test_records_of_a_row_are_alike_while_they_saw_one_version_and_rest_on_the_same() -> None:
    index = Index()
    for name in ("b", "a"):
        index.add(replace(sample(name), stamps=(Stamp(ROW, "1"), Stamp(PREMISE, "1"))))
    assert index.row(ROW) == Row("1", (PREMISE,), ("a", "b"))
    index.add(replace(sample("c"), stamps=(Stamp(ROW, "2"), Stamp(PREMISE, "1"))))
    index.add(replace(sample("d"), stamps=(Stamp(ROW, "1"), Stamp(PREMISE, "1"))))
    assert index.row(ROW) == Row(None, None, {"a", "b", "c", "d"})


def test_many_ways_to_rest_on_other_things_are_told_apart() -> None:
    index = Index()
    for number in range(3_000):
        row, premise = Source.row("i", "t", str(number // 2)), Source.premise("w", str(number // 2))
        index.add(replace(sample(f"r{number}"), stamps=(Stamp(row, "1"), Stamp(premise, "1"))))
    for number in range(1_500):
        found = index.row(Source.row("i", "t", str(number)))
        assert found is not None
        assert found.others == (Source.premise("w", str(number)),)
        assert len(found.ids) == 2


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


def test_a_part_of_a_row_is_evicted_record_by_record_and_whole_rows_at_once() -> None:
    scribe = Scribe(InMemoryStore(ids=SequenceIds("id")))
    rows = [Source.row("i", "t", key) for key in "xy"]
    for number, row in enumerate((rows[0], rows[0], rows[0], rows[1], rows[1])):
        scribe.write(replace(sample(f"r{number}"), stamps=(Stamp(row, "1"),)))
    state = scribe.expected
    scribe.carry_out(scribe.judged(ChangeKind.EVICTED, "r1"))
    assert state.index.row(rows[0]) == Row("1", (), ("r0", "r2"))
    scribe.carry_out(scribe.judged(ChangeKind.EVICTED, "r0", "r2", "r3", "r4"))
    assert list(state) == []
    assert list(state.index) == []
    assert scribe.store.state() == state


def test_what_was_dropped_with_its_row_is_nowhere_before_it_is_swept() -> None:
    gone: set[str] = set()
    index = Index(gone)
    other_row = Source.row("i", "t", "other")
    rows = {"a": ROW, "b": ROW, "c": other_row}
    records = {
        name: replace(sample(name), stamps=(Stamp(row, "1"), Stamp(PREMISE, "1")))
        for name, row in rows.items()
    }
    for record in records.values():
        index.add(record)
    row = index.row(ROW)
    assert row is not None
    index.drop(ROW, row)
    gone.update(row.ids)
    living = index.on(PREMISE)
    assert (list(living), len(living)) == (["c"], 1)
    assert ("a" in living, "c" in living) == (False, True)
    for name in ("a", "b"):
        index.sweep(records[name])
        gone.remove(name)
    assert list(index.on(PREMISE)) == ["c"]
