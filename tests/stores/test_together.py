"""A guard in one ledger with the rest: fixes, work state, diffs, purges and other processes."""

from __future__ import annotations

import threading
from dataclasses import replace

from lapse.admission import Ending, Epochs, WorkItem, put
from lapse.contract import A2DC
from lapse.ledger import ChangeKind, Draft, Interval, Kind, Source, Stamp, Status
from lapse.runtime import Memory, Session
from lapse.storage import InMemoryStore
from lapse.stores import Guarded, Provenance, Sidecar, Standing
from lapse.testing import ManualClock, Notebook, SequenceIds, sample
from lapse.testing.scribe import ISSUER, Scribe

TABLE = Source.table(ISSUER, "flow_rules")


def ledgers() -> tuple[InMemoryStore, SequenceIds, Guarded]:
    ids = SequenceIds("r")
    ledger = InMemoryStore(ids=ids)
    sidecar = Sidecar(ledger.again(), "notebook", clock=ManualClock(5), ids=ids)
    return ledger, ids, Guarded(Notebook(), sidecar)


def found(guarded: Guarded, name: str) -> Standing:
    there = guarded.standing(name)
    assert there is not None
    return there.standing


def test_fixes_are_found_as_before_where_memories_share_their_ledger() -> None:
    ledger, ids, guarded = ledgers()
    content = {"type": "set", "parameters": {"code": "R1"}, "when": {}}
    fix = replace(sample("fix"), content=content)
    Scribe(ledger).write(fix)
    guarded.add("tea")
    memory = Memory(ledger.again(), clock=ManualClock(5), ids=ids, policy=A2DC)
    assert [one.id for one in memory.fixes(fix.topic, {})] == ["fix"]


def test_a_row_that_moves_holds_the_memory_that_rests_on_it() -> None:
    ledger, _, guarded = ledgers()
    row = Stamp(Source.row(ISSUER, "flow_rules", "r1"), "1", within="v1")
    memory = guarded.add("Refunds need code R1", Provenance(stamps=(row,))).memory
    assert found(guarded, memory.external_id) is Standing.ACTIVE
    session = Session(ledger.again())
    moved = Draft(
        kind=ChangeKind.OBSERVED, at=6, reason="seen", actor="t", source=TABLE, version="v2"
    )
    session.write(lambda _: (None, [moved]))
    assert found(guarded, memory.external_id) is Standing.MOVED
    settled = Draft(
        kind=ChangeKind.ADVANCED, at=7, reason="same", actor="t", source=TABLE, version="v2"
    )
    session.write(lambda _: (None, [settled]))
    assert found(guarded, memory.external_id) is Standing.ACTIVE


def test_a_memory_falls_with_the_work_it_was_made_from_and_work_with_a_memory() -> None:
    ledger, ids, guarded = ledgers()
    session = Session(ledger.again())
    memory = guarded.add("The pickup is at Sunrise").memory
    record = guarded.sidecar.history(memory.external_id)[0]
    work = WorkItem(
        id="w",
        kind=Kind.FACT,
        slot="w",
        text="Leave at eight",
        writer="A1",
        epochs=Epochs(0),
        valid=Interval(5),
        stamps=(Stamp(Source.record(record.id), "digest"),),
    )
    session.write(lambda state: (None, put(state, work, {}, at=5, actor="A1", salt=ids.new())))
    guarded.invalidate(memory.external_id, by="test", ending=Ending.CLOSED)
    assert session.catch_up().record("w").status is Status.SUSPENDED


def test_a_purged_memory_is_not_served() -> None:
    ledger, ids, guarded = ledgers()
    memory = guarded.add("Ana's secret").memory
    names = [record.id for record in guarded.sidecar.history(memory.external_id)]
    Memory(ledger.again(), clock=ManualClock(6), ids=ids).purge(names)
    assert found(guarded, memory.external_id) is Standing.PURGED
    later = Guarded(
        guarded.store, Sidecar(ledger.again(), "notebook", clock=ManualClock(6), ids=ids)
    )
    assert found(later, memory.external_id) is Standing.LEGACY
    assert later.get(memory.external_id) is None


def test_two_stores_in_one_ledger_do_not_meet() -> None:
    ledger, ids, guarded = ledgers()
    other = Guarded(
        Notebook("diary"), Sidecar(ledger.again(), "diary", clock=ManualClock(5), ids=ids)
    )
    one, two = guarded.add("tea").memory, other.add("tea").memory
    assert one.external_id == two.external_id
    guarded.invalidate(one.external_id, by="test", ending=Ending.REVOKED)
    assert found(other, two.external_id) is Standing.ACTIVE


def test_writers_at_once_leave_one_live_record_each() -> None:
    ledger, _, guarded = ledgers()
    names = [guarded.add(f"note {number}").memory.external_id for number in range(4)]
    lock, failures = threading.Lock(), list[Exception]()

    def write(writer: str) -> None:
        sidecar = Sidecar(ledger.again(), "notebook", clock=ManualClock(5), ids=SequenceIds(writer))
        try:
            for name in names * 3:
                with lock:  # the notebook belongs to one at a time; the ledgers do not wait
                    memory = guarded.store.update(name, f"{writer} on {name}")
                sidecar.remember(memory, Provenance(writer=writer))
        except Exception as failure:  # noqa: BLE001 - a thread's failure is shown below
            failures.append(failure)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for name in names:
        *earlier, latest = guarded.sidecar.history(name)
        assert latest.status is Status.ACTIVE
        assert {record.status for record in earlier} == {Status.SUPERSEDED}
        versions = [record.content["version"] for record in (*earlier, latest)]
        assert versions == list(range(1, len(versions) + 1))
        assert found(guarded, name) in (Standing.ACTIVE, Standing.DRIFT)
