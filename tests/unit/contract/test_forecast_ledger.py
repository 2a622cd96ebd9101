from collections.abc import Iterable

from lapse.contract import Drift, Look, Reason, drift_of, looks
from lapse.ledger import ChangeKind, Draft, Part, Record, Source, Stamp, State, vector, writing
from lapse.storage import InMemoryStore
from lapse.testing import Scribe, SequenceIds, sample

ISSUER = "https://api.example"
FLOW = Source.table(ISSUER, "flow_rules")
LIMITS = Source.table(ISSUER, "limits")


def scribe() -> Scribe:
    return Scribe(InMemoryStore(ids=SequenceIds("ledger")))


def at_flow(found: Iterable[Look]) -> list[Look]:
    return [look for look in found if look.table == FLOW]


def evicted(record: str, *, cause: Source, reason: Reason, at: int) -> Draft:
    detail = {"cause": list(cause), "was": "a", "now": "b"}
    part = Part.of(record, detail, salt="salt")
    return Draft(
        kind=ChangeKind.EVICTED, at=at, reason=reason.value, actor="contract", parts=(part,)
    )


def of_flow(kind: ChangeKind, version: str | None, at: int) -> Draft:
    return Draft(kind=kind, at=at, reason="diff", actor="contract", source=FLOW, version=version)


def test_a_written_record_shows_its_tables_and_watches_its_rows() -> None:
    pen = scribe()
    pen.write(sample("a"))
    assert at_flow(looks(pen.store.changes())) == [
        Look(FLOW, 1),
        Look(FLOW, 1, watched=("rma",)),
    ]


def test_an_advance_after_an_eviction_shows_which_row_moved() -> None:
    pen = scribe()
    pen.write(sample("a"), sample("b", row="other"))
    row = Source.row(ISSUER, "flow_rules", "rma")
    pen.carry_out(
        evicted("a", cause=row, reason=Reason.ROW_MOVED, at=9),
        of_flow(ChangeKind.ADVANCED, "v2", 9),
    )
    last = at_flow(looks(pen.store.changes()))[-1]
    assert last == Look(FLOW, 9, moved=True, rows=("rma",), gone=("rma",))
    drift = drift_of(pen.store.changes())
    assert moved(drift, row) == 1
    assert moved(drift, Source.row(ISSUER, "flow_rules", "other")) == 0
    assert moved(drift, FLOW) == 1


def moved(drift: Drift, source: Source) -> int:
    number = drift.number(source)
    assert number is not None
    return len(drift.moves_of(number))


def test_a_table_in_abeyance_has_moved_once_and_its_rows_when_that_is_known() -> None:
    pen = scribe()
    pen.write(sample("a"))
    row = Source.row(ISSUER, "flow_rules", "rma")
    pen.carry_out(of_flow(ChangeKind.OBSERVED, "v2", 5))
    assert at_flow(looks(pen.store.changes()))[-1] == Look(FLOW, 5, moved=True, rows=None)
    pen.carry_out(
        evicted("a", cause=row, reason=Reason.ROW_MOVED, at=9),
        of_flow(ChangeKind.ADVANCED, "v2", 9),
    )
    drift = drift_of(pen.store.changes())
    assert moved(drift, FLOW) == 1
    assert moved(drift, row) == 1


def test_evictions_for_the_whole_table_say_nothing_of_a_row() -> None:
    for reason in (Reason.LOG_TOO_SHORT, Reason.TABLE_MOVED, Reason.TABLE_GONE):
        pen = scribe()
        pen.write(sample("a"))
        pen.carry_out(
            evicted("a", cause=FLOW, reason=reason, at=9), of_flow(ChangeKind.ADVANCED, "v2", 9)
        )
        last = at_flow(looks(pen.store.changes()))[-1]
        assert last == Look(FLOW, 9, moved=True, rows=None, gone=("rma",))


def test_a_fix_that_names_no_row_leaves_what_is_known_of_the_others() -> None:
    pen = scribe()
    bare = bare_record("a")
    pen.write(bare, sample("b"))
    pen.carry_out(
        evicted("a", cause=FLOW, reason=Reason.ROW_UNKNOWN, at=9),
        of_flow(ChangeKind.ADVANCED, "v2", 9),
    )
    assert at_flow(looks(pen.store.changes()))[-1] == Look(FLOW, 9, moved=True)


def bare_record(record_id: str) -> Record:
    """A fix that rests on a table as a whole."""
    whole = sample(record_id)
    return Record(
        id=whole.id,
        kind=whole.kind,
        slot=whole.slot,
        content=whole.content,
        valid=whole.valid,
        issuer=whole.issuer,
        stamps=vector([Stamp(FLOW, "v1")]),
    )


def test_other_reasons_and_other_writers_name_no_move() -> None:
    pen = scribe()
    pen.write(sample("a"), sample("b"), sample("c", row="kept"))
    row = Source.row(ISSUER, "flow_rules", "rma")
    pen.carry_out(
        evicted("a", cause=row, reason=Reason.DOWNSTREAM, at=8),
        evicted("b", cause=Source.record("a"), reason=Reason.DEPENDENCY_EVICTED, at=8),
        of_flow(ChangeKind.ADVANCED, "v2", 9),
    )
    pen.carry_out(pen.judged(ChangeKind.EVICTED, "c"))
    assert at_flow(looks(pen.store.changes()))[-1] == Look(FLOW, 9, moved=True, gone=("rma",))


def test_a_confirmation_is_a_look_that_saw_no_move() -> None:
    pen = scribe()
    pen.write(sample("a"))
    part = Part.of("a", ["api", ["probe", "exchange", "x", ""], 7, "", "confirms"], salt="salt")
    confirmed = Draft(
        kind=ChangeKind.WITNESSED,
        at=7,
        reason=Reason.CONFIRMED.value,
        actor="contract",
        parts=(part,),
    )
    pen.carry_out(confirmed, pen.witnessed("a"))
    assert at_flow(looks(pen.store.changes()))[-1] == Look(FLOW, 7)


def test_what_ended_and_is_learned_again_was_watched_throughout() -> None:
    pen = scribe()
    pen.write(sample("a"))
    pen.carry_out(pen.judged(ChangeKind.SUPERSEDED, "a"))
    pen.write(sample("b"))
    last = at_flow(looks(pen.store.changes()))[-1]
    assert last.gone == ()
    assert last.watched == ("rma",)


def test_what_nobody_rests_on_any_more_is_watched_no_longer() -> None:
    pen = scribe()
    pen.write(sample("a"), sample("b"), sample("c", row="kept"))
    pen.carry_out(pen.judged(ChangeKind.REVOKED, "a"), pen.judged(ChangeKind.DISPUTED, "b"))
    pen.write(sample("d", row="kept"))
    assert at_flow(looks(pen.store.changes()))[-1].gone == ()
    pen.carry_out(pen.judged(ChangeKind.REVOKED, "b"))
    pen.write(sample("e", row="kept"))
    assert at_flow(looks(pen.store.changes()))[-1].gone == ("rma",)


def test_purged_content_says_nothing() -> None:
    pen = scribe()
    pen.write(sample("a"), sample("b", row="kept"))
    pen.carry_out(pen.purged("a"))
    assert [look.watched for look in at_flow(looks(pen.store.changes()))] == [(), ("kept",)]
    part = Part("a", "0" * 64, None, "")
    gone = Draft(
        kind=ChangeKind.WITNESSED,
        at=9,
        reason=Reason.CONFIRMED.value,
        actor="contract",
        parts=(part,),
    )
    from lapse.ledger import seal  # noqa: PLC0415

    sealed = seal([gone], pen.store.head())
    assert len(list(looks([*pen.store.changes(), *sealed]))) == len(
        list(looks(pen.store.changes()))
    )


def test_a_clock_that_runs_behind_does_not_turn_time_back() -> None:
    pen = scribe()
    pen.write(sample("a"))
    pen.carry_out(of_flow(ChangeKind.ADVANCED, "v2", 90))
    pen.carry_out(of_flow(ChangeKind.ADVANCED, "v3", 80))
    assert [look.at for look in at_flow(looks(pen.store.changes()))][-2:] == [90, 90]
    assert moved(drift_of(pen.store.changes()), FLOW) == 2


def test_a_record_under_another_version_than_was_seen_shows_nothing() -> None:
    pen = scribe()
    pen.write(sample("a"))
    pen.carry_out(of_flow(ChangeKind.OBSERVED, "v2", 5))
    drafts = writing(
        pen.expected, sample("b"), at=6, reason="learned", actor="contract", salt="salt"
    )
    pen.carry_out(*drafts)
    assert at_flow(looks(pen.store.changes()))[-1] == Look(FLOW, 5, moved=True, rows=None)


def test_reading_a_ledger_leaves_its_state_as_it_was() -> None:
    pen = scribe()
    pen.write(sample("a"))
    before: State = pen.store.state()
    drift_of(pen.store.changes())
    assert pen.store.state() == before
