"""The fold, rule by rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lapse.errors import IllegalChange, InvalidValue, UnknownRecord
from lapse.ledger import (
    LIVE,
    Change,
    ChangeKind,
    Draft,
    Mark,
    Outcome,
    Part,
    Record,
    Source,
    Stamp,
    State,
    Status,
    fold,
    genesis,
    seal,
    story,
    writing,
)
from lapse.storage import InMemoryStore
from lapse.testing import Scribe, SequenceIds, sample
from lapse.testing.scribe import ISSUER

START = genesis("ledger-1")
TABLE = Source.table(ISSUER, "flow_rules")
LIMITS = Source.table(ISSUER, "limits")
RULES = Source.rules(ISSUER)


@pytest.fixture
def scribe() -> Scribe:
    return Scribe(InMemoryStore(ids=SequenceIds("ledger")))


def unchanged(state: State, call: Callable[[], object], error: type[Exception]) -> str:
    """The refusal's words; the state is as it was."""
    before = State.restore(state.head, state.records(), state.marks())
    with pytest.raises(error) as refusal:
        call()
    assert state == before
    return str(refusal.value)


# -- rule 1 ---------------------------------------------------------------------------------------


def test_a_change_is_applied_to_the_head_it_names(scribe: Scribe) -> None:
    scribe.write(sample("a"))
    state = scribe.expected
    (good,) = scribe.sealed(scribe.moved(ChangeKind.OBSERVED, TABLE, "v2"))
    for wrong in (
        replace(good, previous=START.digest),
        replace(good, seq=9),
        scribe.written[0],
        *seal([scribe.moved(ChangeKind.OBSERVED, TABLE, "v2")], START),
    ):
        words = unchanged(state, lambda w=wrong: state.apply(w), IllegalChange)
        assert "read the changes after it first" in words
        unchanged(state, lambda w=wrong: state.check((w,)), IllegalChange)
    state.check((good,))
    state.apply(good)
    assert state.head == good.head


# -- rule 2 ---------------------------------------------------------------------------------------

REACHED_BY = {
    Status.ACTIVE: (),
    Status.SUSPENDED: (ChangeKind.SUSPENDED,),
    Status.DISPUTED: (ChangeKind.DISPUTED,),
    Status.SUPERSEDED: (ChangeKind.SUPERSEDED,),
    Status.REVOKED: (ChangeKind.REVOKED,),
    Status.EVICTED: (ChangeKind.EVICTED,),
    Status.PURGED: (ChangeKind.PURGED,),
}
ALLOWED = {
    Status.ACTIVE: {
        *("applied", "witnessed", "suspended", "disputed"),
        *("superseded", "revoked", "evicted"),
    },
    Status.SUSPENDED: {"witnessed", "reinstated", "disputed", "superseded", "revoked", "evicted"},
    Status.DISPUTED: {"witnessed", "reinstated", "superseded", "revoked", "evicted"},
    Status.SUPERSEDED: set[str](),
    Status.REVOKED: set[str](),
    Status.EVICTED: set[str](),
    Status.PURGED: set[str](),
}
"""The machine as it is drawn in `lapse.ledger.records`; a purge is allowed everywhere."""


def drafted(scribe: Scribe, kind: ChangeKind, record: str) -> Draft:
    match kind:
        case ChangeKind.WITNESSED:
            return scribe.witnessed(record)
        case ChangeKind.PURGED:
            return scribe.purged(record)
        case ChangeKind.WRITTEN:
            return scribe.written_by(sample(record))[-1]
        case _:
            return scribe.judged(kind, record)


@pytest.mark.parametrize("kind", [k for k in ChangeKind if k not in ("observed", "advanced")])
@pytest.mark.parametrize("status", Status)
def test_a_status_moves_only_as_it_is_drawn(
    scribe: Scribe, status: Status, kind: ChangeKind
) -> None:
    scribe.write(sample("a"))
    for step in REACHED_BY[status]:
        scribe.carry_out(drafted(scribe, step, "a"))
    state = scribe.expected
    assert state.record("a").status is status
    changes = scribe.sealed(drafted(scribe, kind, "a"))
    if kind is ChangeKind.PURGED or kind.value in ALLOWED[status]:
        state.check(changes)
        state.apply(changes[0])
        assert state.record("a").status is (kind.leads_to or status)
        assert (status in kind.may_find) is True
    else:
        words = unchanged(state, lambda: state.apply(changes[0]), IllegalChange)
        assert ("exists already" in words) is (kind is ChangeKind.WRITTEN)
        assert (status in kind.may_find) is False


def test_what_was_never_written_cannot_be_judged(scribe: Scribe) -> None:
    scribe.write(sample("a"))
    for kind in (ChangeKind.SUSPENDED, ChangeKind.WITNESSED, ChangeKind.EVICTED):
        (change,) = scribe.sealed(drafted(scribe, kind, "b"))
        words = unchanged(scribe.expected, lambda c=change: scribe.expected.apply(c), IllegalChange)
        assert words == f"record b is not there: it cannot be {kind}"
    words = unchanged(scribe.expected, lambda: scribe.expected.record("b"), UnknownRecord)
    assert words == "no record 'b'; list the ids with 'lapse memory list'"


def test_a_change_of_a_source_says_nothing_about_records(scribe: Scribe) -> None:
    scribe.write(sample("a"))
    (change,) = scribe.sealed(scribe.moved(ChangeKind.OBSERVED, TABLE, "v2"))
    forged = replace(change, parts=(Part.of("a", {}, salt="s"),))
    unchanged(scribe.expected, lambda: scribe.expected.apply(forged), IllegalChange)


def test_several_changes_are_checked_as_they_will_be_applied(scribe: Scribe) -> None:
    state = scribe.expected
    good = scribe.sealed(
        *scribe.written_by(sample("a")),
        scribe.judged(ChangeKind.SUSPENDED, "a"),
        scribe.witnessed("a"),
        scribe.judged(ChangeKind.REINSTATED, "a"),
        scribe.moved(ChangeKind.ADVANCED, TABLE, "v2"),
        scribe.written_by(sample("b", version="v1"))[-1],
    )
    state.check(good[:-1])
    unchanged(state, lambda: state.check(good), IllegalChange)
    part = Part.of("a", sample("a").as_json(), salt="s")
    twice = Draft(kind=ChangeKind.WRITTEN, at=1, reason="r", actor="a", parts=(part, part))
    unchanged(state, lambda: state.check(scribe.sealed(twice)), IllegalChange)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (ChangeKind.WRITTEN, b"{}"),
        (ChangeKind.WRITTEN, b"not json"),
        (ChangeKind.WITNESSED, b"[]"),
        (ChangeKind.WITNESSED, b"not json"),
    ],
)
def test_a_body_that_says_nothing_of_the_kind_changes_nothing(
    scribe: Scribe, kind: ChangeKind, body: bytes
) -> None:
    scribe.write(sample("a"), sample("b"))
    part = replace(Part.of("z" if kind is ChangeKind.WRITTEN else "b", {}, salt=""), body=body)
    first = drafted(scribe, kind, "z" if kind is ChangeKind.WRITTEN else "a")
    if kind is ChangeKind.WRITTEN:
        first = replace(first, parts=(replace(first.parts[0], record="y"),))
    (change,) = scribe.sealed(replace(first, parts=(*first.parts, part)))
    unchanged(scribe.expected, lambda: scribe.expected.apply(change), InvalidValue)


# -- rules 3 to 5 ---------------------------------------------------------------------------------


def test_a_record_is_held_while_what_it_rests_on_moved_unreconciled(scribe: Scribe) -> None:
    scribe.write(sample("a"), sample("b", row="other"), replace(sample("c"), stamps=()))
    state = scribe.expected

    def usable() -> set[str]:
        return {record.id for record in state if state.usable(record)}

    assert usable() == {"a", "b", "c"}
    assert state.mark(TABLE) == Mark("v1", "v1")
    scribe.carry_out(scribe.moved(ChangeKind.OBSERVED, TABLE, "v2"))
    assert state.mark(TABLE) == Mark("v1", "v2")
    assert usable() == {"c"}
    assert state.first_usable(ISSUER, "payments/a") is None
    scribe.carry_out(scribe.moved(ChangeKind.OBSERVED, TABLE, "v1"))
    assert usable() == {"a", "b", "c"}
    scribe.carry_out(scribe.moved(ChangeKind.OBSERVED, TABLE, None))
    assert state.mark(TABLE) == Mark("v1", None)
    assert usable() == {"c"}
    scribe.carry_out(scribe.moved(ChangeKind.ADVANCED, TABLE, None))
    assert state.mark(TABLE) == Mark(None, None)
    assert usable() == {"a", "b", "c"}
    scribe.carry_out(scribe.judged(ChangeKind.SUSPENDED, "a"))
    assert usable() == {"b", "c"}
    assert state.mark(Source.table("nobody", "t")) is None
    assert set(state.marks()) == {TABLE, LIMITS}


def test_a_new_mark_is_settled_at_what_was_seen(scribe: Scribe) -> None:
    scribe.carry_out(scribe.moved(ChangeKind.OBSERVED, RULES, "f1"))
    assert scribe.expected.mark(RULES) == Mark("f1", "f1")
    assert Mark("f1", "f1").settled
    assert not Mark("f1", None).settled


def test_the_newest_usable_record_of_a_slot_is_served(scribe: Scribe) -> None:
    first, second, third = (replace(sample(name), slot="s", topic="t") for name in "abc")
    scribe.write(first, second, third)
    state = scribe.expected
    assert state.first_usable(ISSUER, "s") == third
    assert state.first_usable("other", "s") is None
    assert state.first_usable(ISSUER, "other") is None
    scribe.carry_out(scribe.judged(ChangeKind.SUSPENDED, "c"), scribe.witnessed("b"))
    served = state.first_usable(ISSUER, "s")
    assert served is not None
    assert (served.id, len(served.receipts)) == ("b", 1)
    assert [record.id for record in state.in_slot(ISSUER, "s")] == ["a", "b", "c"]
    assert [record.id for record in state.on_topic(ISSUER, "t")] == ["a", "b", "c"]
    scribe.carry_out(scribe.judged(ChangeKind.REVOKED, "a", "b"))
    assert [record.id for record in state.in_slot(ISSUER, "s")] == ["c"]
    scribe.carry_out(scribe.judged(ChangeKind.REVOKED, "c"))
    assert list(state.in_slot(ISSUER, "s")) == []
    assert list(state.on_topic(ISSUER, "t")) == []
    assert state.first_usable(ISSUER, "s") is None
    assert len(state) == 0


def test_a_record_is_written_only_at_its_mark(scribe: Scribe) -> None:
    scribe.write(sample("a"))
    state = scribe.expected
    late = scribe.sealed(*scribe.written_by(sample("b", version="v2")))
    assert [change.kind for change in late] == ["written"]
    words = unchanged(state, lambda: state.apply(late[0]), IllegalChange)
    assert "advance the source first" in words
    scribe.carry_out(scribe.judged(ChangeKind.EVICTED, "a"))
    again = scribe.written_by(sample("b", version="v2"))
    assert [(draft.kind.value, draft.source, draft.version) for draft in again] == [
        ("advanced", TABLE, "v2"),
        ("advanced", LIMITS, "v2"),
        ("written", None, None),
    ]
    scribe.carry_out(*again)
    assert state.mark(TABLE) == Mark("v2", "v2")


def test_a_first_record_brings_its_marks_along(scribe: Scribe) -> None:
    record = replace(sample("a"), stamps=(Stamp(RULES, "f1"), *sample("a").stamps))
    drafts = writing(scribe.expected, record, at=7, reason="learned", actor="contract", salt="salt")
    assert [(d.source, d.version, d.reason, d.at) for d in drafts] == [
        (RULES, "f1", "first_record", 7),
        (TABLE, "v1", "first_record", 7),
        (LIMITS, "v1", "first_record", 7),
        (None, None, "learned", 7),
    ]
    (part,) = drafts[-1].parts
    assert (part.record, part.salt) == ("a", "salt")


# -- rule 6 ---------------------------------------------------------------------------------------


def test_a_chain_folds_after_a_purge_but_for_what_was_purged(scribe: Scribe) -> None:
    scribe.write(sample("a"), sample("b"))
    scribe.carry_out(scribe.judged(ChangeKind.SUSPENDED, "a", "b"), scribe.witnessed("a"))
    before = [change.without(["a"]) for change in scribe.written]
    held = fold(START, before)
    assert {record.id: record.status for record in held.records()} == {
        "a": Status.PURGED,
        "b": Status.SUSPENDED,
    }
    scribe.carry_out(scribe.purged("a"))
    assert fold(START, scribe.store.changes()) == scribe.expected
    assert scribe.expected.record("a") == Record.purged("a")
    assert set(scribe.expected.index.on(TABLE)) == {"b"}


def test_a_purge_that_repeats_content_keeps_none_of_it(scribe: Scribe) -> None:
    scribe.write(sample("a"))
    (purge,) = scribe.sealed(scribe.purged("a"))
    forged = replace(purge, parts=(Part.of("a", {"secret": 1}, salt="s"),))
    scribe.expected.apply(forged)
    assert scribe.expected.record("a") == Record.purged("a")


# -- the state as a value -------------------------------------------------------------------------


def test_states_are_equal_when_head_records_and_marks_are(scribe: Scribe) -> None:
    scribe.write(sample("a"), sample("b"))
    scribe.carry_out(scribe.judged(ChangeKind.EVICTED, "b"))
    state = scribe.expected
    same = State.restore(state.head, state.records(), state.marks())
    assert same == state
    assert (same == "state") is False
    assert same != State.restore(START, state.records(), state.marks())
    assert [record.id for record in same] == ["a"]
    assert {record.id for record in same.records()} == {"a", "b"}
    with pytest.raises(TypeError):
        hash(state)


def test_whose_records_are_live(scribe: Scribe) -> None:
    scribe.write(sample("a"), replace(sample("b"), issuer="other", stamps=()))
    assert set(scribe.expected.issuers()) == {ISSUER, "other"}
    scribe.carry_out(scribe.judged(ChangeKind.EVICTED, "b"))
    assert set(scribe.expected.issuers()) == {ISSUER}


# -- the story ------------------------------------------------------------------------------------


def told(record: Record, changes: list[Change]) -> list[tuple[int, str, str | None]]:
    return [(c.seq, c.what.value, c.version) for c in story(record, changes)]


def test_the_story_of_a_record_is_all_that_happened_to_it(scribe: Scribe) -> None:
    scribe.carry_out(scribe.moved(ChangeKind.OBSERVED, TABLE, "v1"))
    scribe.write(sample("a"), sample("b", row="other"))
    scribe.carry_out(scribe.moved(ChangeKind.OBSERVED, TABLE, "v2"))
    scribe.carry_out(scribe.witnessed("a", outcome=Outcome.CONTRADICTS))
    scribe.carry_out(scribe.judged(ChangeKind.SUSPENDED, "a", "b", reason="row_moved"))
    scribe.carry_out(scribe.moved(ChangeKind.OBSERVED, RULES, "f1"))
    scribe.carry_out(scribe.moved(ChangeKind.ADVANCED, TABLE, "v2"))
    scribe.carry_out(scribe.judged(ChangeKind.EVICTED, "a"))
    scribe.carry_out(scribe.moved(ChangeKind.OBSERVED, TABLE, "v3"))
    record = scribe.expected.record("a")
    assert told(record, scribe.written) == [
        (3, "written", None),
        (5, "observed", "v2"),
        (6, "witnessed", None),
        (7, "suspended", None),
        (9, "advanced", "v2"),
        (10, "evicted", None),
    ]
    chapters = story(record, scribe.written)
    assert chapters[3].reason == "row_moved"
    assert chapters[3].detail == {"why": "row_moved"}
    assert chapters[1].detail is None
    assert chapters[0].detail == sample("a").as_json()
    assert (chapters[1].source, chapters[1].actor) == (TABLE, "contract")


def test_the_story_of_a_purged_record_is_told_without_its_content(scribe: Scribe) -> None:
    scribe.write(sample("a"))
    scribe.carry_out(scribe.moved(ChangeKind.OBSERVED, TABLE, "v2"))
    scribe.carry_out(scribe.purged("a"))
    chapters = story(scribe.expected.record("a"), scribe.store.changes())
    assert [(chapter.what.value, chapter.detail) for chapter in chapters] == [
        ("written", None),
        ("purged", None),
    ]


def test_live_statuses_are_those_that_lead_back() -> None:
    assert {Status.ACTIVE, Status.SUSPENDED, Status.DISPUTED} == LIVE
