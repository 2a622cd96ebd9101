"""What a response means for what is remembered: reconcile, ask, settle, learn, in that order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lapse.contract import (
    A0,
    A1,
    A2,
    A2D,
    A2DC,
    Answers,
    CacheHint,
    Envelope,
    Evict,
    EvictionPolicy,
    Keep,
    Learnt,
    Lesson,
    Moved,
    Reason,
    Reject,
    Restamp,
    RowVersion,
    Settlement,
    Suggestion,
    Supersede,
    Suspend,
    TableChanges,
    TableVersion,
    Write,
    drafts,
    learn,
    moved,
    needs_changes,
    settle,
    unvouched,
)
from lapse.ledger import ChangeKind, Mark, Source, Stamp, State, Status, genesis, seal, writing
from lapse.testing import SequenceIds

HERE = "https://api.example"
CODES = Source.table(HERE, "codes")
TOKENS = Source.table(HERE, "tokens")
RULES = Source.rules(HERE)


def fix(key: str = "a", value: object = "1", row: str | None = "x", **members: Any) -> Suggestion:
    """A suggestion that rests on one row of `codes`, unless a test says otherwise."""
    whole: dict[str, Any] = {
        "type": "SET",
        "parameters": {"value": value},
        "cache_hint": CacheHint.CACHEABLE,
        "table": "codes",
        "rows": () if row is None else (RowVersion("codes", key, row),),
        "when": {"key": key},
    }
    return Suggestion(**{**whole, **members})


def lesson(
    *suggestions: Suggestion,
    versions: Mapping[str, str] | None = None,
    rules: str | None = None,
    issuer: str = HERE,
) -> Lesson:
    envelope = Envelope(suggestions=suggestions, table_versions=versions, rules_version=rules)
    return Lesson(issuer=issuer, operation="POST /x", request=None, envelope=envelope, at=5)


def answer(
    since: str, version: str | None, rows: Mapping[str, str | None] | None = None, **more: Any
) -> dict[tuple[Source, str | None], TableChanges]:
    table = more.pop("table", "codes")
    found = TableChanges(
        table=table,
        since=since,
        version=version,
        complete=more.pop("complete", True),
        rows=rows or {},
    )
    return {(Source.table(HERE, table), since): found}


class Client:
    """The engine in the order that the contract demands, over a state of its own."""

    def __init__(self, policy: EvictionPolicy = A2D) -> None:
        self.policy = policy
        self.state = State(genesis("test"))
        self.ids = SequenceIds("r")
        self.kinds: list[ChangeKind] = []

    def carry_out(self, verdicts: Sequence[Settlement | Learnt], told: Lesson) -> None:
        drafted = drafts(verdicts, self.state, told, new_id=SequenceIds("salt").new)
        changes = seal(drafted, self.state.head)
        self.state.check(changes)
        for change in changes:
            self.state.apply(change)
        self.kinds = [change.kind for change in changes]

    def moves(self, told: Lesson) -> tuple[Moved, ...]:
        return moved(self.state, told.issuer, told.envelope)

    def settle(self, told: Lesson, answers: Answers | None = None) -> tuple[Settlement, ...]:
        verdicts = settle(self.state, self.policy, self.moves(told), answers or {})
        self.carry_out(verdicts, told)
        return verdicts

    def learn(self, told: Lesson, answers: Answers | None = None) -> tuple[Learnt, ...]:
        verdicts = learn(self.state, self.policy, told, answers or {}, new_id=self.ids.new)
        self.carry_out(verdicts, told)
        return verdicts

    def values(self) -> list[object]:
        return [r.content["parameters"]["value"] for r in self.state]

    def serves(self) -> list[object]:
        held = filter(self.state.usable, self.state)
        return [r.content["parameters"]["value"] for r in held]


def taught(
    *suggestions: Suggestion, policy: EvictionPolicy = A2D, rules: str | None = None
) -> Client:
    """A client that learned these at v1, from a service that stands by them."""
    client = Client(policy)
    told = lesson(*suggestions, versions={"codes": "v1", "tokens": "t1"}, rules=rules)
    client.learn(told, answer("v1", "v1") | answer("t1", "t1", table="tokens"))
    return client


# -- what moved ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (lesson(versions={"codes": "v1"}, rules="r1"), ()),
        (lesson(versions={"codes": "v2"}, rules="r1"), (Moved(CODES, "v1", "v2"),)),
        (lesson(versions={}), (Moved(CODES, "v1", None),)),
        (lesson(versions=None, rules="r2"), (Moved(RULES, "r1", "r2"),)),
        (lesson(versions=None), ()),
        (lesson(versions={"codes": "v2"}, issuer="https://other.example"), ()),
        (lesson(versions={"codes": "v1", "tokens": "t9"}), ()),
    ],
)
def test_only_what_carries_fixes_of_the_issuer_moves(
    told: Lesson, expected: tuple[Moved, ...]
) -> None:
    assert set(taught(fix(), rules="r1").moves(told)) == set(expected)


def test_what_was_seen_and_not_explained_still_moves_whatever_the_next_response_says() -> None:
    client = taught(fix())
    client.settle(lesson(versions={"codes": "v2"}))
    assert client.moves(lesson(versions=None, rules="r")) == (Moved(CODES, "v1", "v2"),)
    assert client.moves(lesson(versions={"codes": "v1"})) == (Moved(CODES, "v1", "v1"),)


def test_only_policies_by_row_ask_and_only_about_tables() -> None:
    moves = (Moved(CODES, "v1", "v2"), Moved(RULES, "r1", "r2"), Moved(TOKENS, None, "t1"))
    assert needs_changes(A2D, moves) == moves[:1]
    assert needs_changes(A2, moves) == ()


# -- settling --------------------------------------------------------------------------------------


def test_without_an_answer_what_moved_is_held_and_not_served() -> None:
    client = taught(fix("a"), fix("b"))
    assert client.settle(lesson(versions={"codes": "v2"})) == (
        Suspend(Moved(CODES, "v1", "v2"), 2),
    )
    assert client.kinds == [ChangeKind.OBSERVED]
    assert client.serves() == []
    assert len(client.state) == 2


def test_what_is_held_already_is_not_held_again() -> None:
    client = taught(fix())
    client.settle(lesson(versions={"codes": "v2"}))
    assert client.settle(lesson(versions={"codes": "v2"})) == ()
    assert client.settle(lesson(versions={"codes": "v3"})) == (
        Suspend(Moved(CODES, "v1", "v3"), 1),
    )


def test_an_old_response_does_not_end_an_abeyance() -> None:
    client = taught(fix())
    client.settle(lesson(versions={"codes": "v2"}))
    assert client.settle(lesson(versions={"codes": "v1"})) == ()
    assert client.serves() == []
    assert client.state.mark(CODES) == Mark("v1", "v2")


def test_an_answer_ends_it_though_the_version_is_the_old_one_again() -> None:
    client = taught(fix())
    client.settle(lesson(versions={"codes": "v2"}))
    told = lesson(versions={"codes": "v1"})
    assert client.settle(told, answer("v1", "v1")) == (Restamp(Moved(CODES, "v1", "v1"), 1),)
    assert client.serves() == ["1"]


def test_an_old_response_with_an_answer_that_nothing_moved_changes_nothing() -> None:
    client = taught(fix())
    assert client.settle(lesson(versions={"codes": "v0"}), answer("v1", "v1")) == ()
    assert client.kinds == []


def test_what_changed_goes_and_the_rest_is_restamped_to_the_answers_version() -> None:
    client = taught(fix("a"), fix("b", "2"))
    a, _ = client.state
    verdicts = client.settle(lesson(versions={"codes": "v2"}), answer("v1", "v3", {"a": "y"}))
    cause = Source.row(HERE, "codes", "a")
    assert verdicts == (
        Evict((a.id,), Reason.ROW_MOVED, cause, "x", "y"),
        Restamp(Moved(CODES, "v1", "v3"), 1),
    )
    assert client.state.mark(CODES) == Mark("v3", "v3")
    assert client.serves() == ["2"]


def test_the_table_takes_everything_along_by_table() -> None:
    client = taught(fix("a"), fix("b"), policy=A2)
    verdicts = client.settle(lesson(versions={"codes": "v2"}))
    assert [type(v) for v in verdicts] == [Evict, Restamp]
    assert client.kinds == [ChangeKind.EVICTED, ChangeKind.ADVANCED]
    assert client.values() == []


def test_the_rules_move_on_without_a_question() -> None:
    client = taught(fix(), rules="r1")
    assert client.settle(lesson(rules="r2")) == (
        Restamp(Moved(RULES, "r1", "r2"), 1, Reason.RULES_NOT_WATCHED),
    )
    assert client.serves() == ["1"]


def test_a_record_under_two_tables_goes_once_and_is_counted_once() -> None:
    both = (RowVersion("codes", "a", "x"), RowVersion("tokens", "t", "y"))
    two_rows = (RowVersion("codes", "b", "x"), RowVersion("codes", "c", "x"))
    client = taught(fix("a", rows=both), fix("b", rows=two_rows), fix("d"))
    verdicts = client.settle(
        lesson(versions={"codes": "v2", "tokens": "t2"}),
        answer("v1", "v2", {"a": "z", "b": "z"}) | answer("t1", "t2", {"t": "z"}, table="tokens"),
    )
    gone = [client.state.record(name) for v in verdicts if isinstance(v, Evict) for name in v.ids]
    assert [record.content["when"]["key"] for record in gone] == ["a", "b"]
    assert [(v.moved.source, v.records) for v in verdicts if isinstance(v, Restamp)] == [
        (CODES, 1),
        (TOKENS, 0),
    ]


def test_consumers_that_go_are_counted_where_they_stood() -> None:
    client = taught(fix("a"), fix("b"), fix("c"), policy=A2DC)
    a, b, _ = client.state
    on_a = Stamp(Source.record(a.id), "1")
    for consumer in (
        replace(a, id="elsewhere", slot="1", stamps=(on_a,)),
        replace(b, id="same table", slot="2", stamps=(on_a, *b.stamps)),
    ):
        drafted = writing(client.state, consumer, at=6, reason="r", actor="test", salt="s")
        for change in seal(drafted, client.state.head):
            client.state.apply(change)
    verdicts = client.settle(lesson(versions={"codes": "v2"}), answer("v1", "v2", {"a": "z"}))
    assert [name for v in verdicts if isinstance(v, Evict) for name in v.ids] == [
        a.id,
        "elsewhere",
        "same table",
    ]
    assert [v.records for v in verdicts if isinstance(v, Restamp)] == [2]


def test_moves_that_somebody_else_has_settled_are_passed_over() -> None:
    client = taught(fix())
    moves = client.moves(lesson(versions={"codes": "v2"}))
    client.settle(lesson(versions={"codes": "v2"}), answer("v1", "v2"))
    assert settle(client.state, A2D, moves, answer("v1", "v2")) == ()
    assert settle(State(genesis("other")), A2D, moves, answer("v1", "v2")) == ()


# -- what is not vouched for -----------------------------------------------------------------------


def questions(client: Client, told: Lesson, answers: Answers | None = None) -> list[Moved]:
    return list(unvouched(client.state, client.policy, told, answers or {}))


def test_the_first_fix_under_a_table_asks_whether_its_version_is_current() -> None:
    told = lesson(fix(), fix("b"), fix(cache_hint=None), versions={"codes": "v1"}, rules="r")
    assert questions(Client(), told) == [Moved(CODES, "v1", "v1")]
    assert questions(Client(A2), told) == []


@pytest.mark.parametrize("version", ["v1", "v9"])
def test_a_table_under_fixes_vouches_for_its_own_version_alone(version: str) -> None:
    expected = [] if version == "v1" else [Moved(CODES, "v9", "v9")]
    assert questions(taught(fix()), lesson(fix("b"), versions={"codes": version})) == expected


def test_an_answer_vouches_for_the_version_it_names() -> None:
    told = lesson(fix(), versions={"codes": "v2"})
    assert questions(Client(), told, answer("v1", "v2")) == []
    assert questions(Client(), told, answer("v1", "v3")) == [Moved(CODES, "v2", "v2")]


# -- learning --------------------------------------------------------------------------------------


def reasons(verdicts: Sequence[Learnt]) -> list[Reason]:
    return [verdict.reason for verdict in verdicts]


def test_a_policy_without_memory_learns_nothing() -> None:
    client = Client(A0)
    assert reasons(client.learn(lesson(fix(), versions={"codes": "v1"}))) == [Reason.NO_MEMORY]


def test_memory_without_invalidation_only_ever_grows() -> None:
    client = Client(A1)
    for value in ("1", "1", "2"):
        client.learn(lesson(fix(value=value), versions={"codes": "v1"}))
    assert client.values() == ["1", "1", "2"]
    assert client.settle(lesson(versions={"codes": "v2"})) == ()


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({}, Reason.UNCONFIRMED),
        (answer("v1", None, complete=False), Reason.LATE),
        (answer("v1", "v2", complete=False), Reason.LATE),
        (answer("v1", "v2", {"a": "y"}), Reason.LATE),
        (answer("v1", "v1"), Reason.LEARNED),
        (answer("v1", "v2", {"b": "y"}), Reason.LEARNED),
        (answer("v1", "v2", {"a": "x"}), Reason.LEARNED),
    ],
)
def test_a_first_fix_is_stored_if_its_rows_are_what_they_were(
    answers: Answers, reason: Reason
) -> None:
    client = Client()
    assert reasons(client.learn(lesson(fix(), versions={"codes": "v1"}), answers)) == [reason]


def test_a_first_fix_on_a_whole_table_is_stored_if_no_row_changed() -> None:
    told = lesson(fix(row=None), versions={"codes": "v1"})
    assert reasons(Client().learn(told, answer("v1", "v2"))) == [Reason.LEARNED]
    assert reasons(Client().learn(told, answer("v1", "v2", {"z": "y"}))) == [Reason.LATE]


def test_a_fix_that_was_confirmed_at_a_later_version_is_stamped_with_it() -> None:
    client = Client()
    client.learn(lesson(fix(), versions={"codes": "v1"}), answer("v1", "v2"))
    (record,) = client.state
    assert [(s.version, s.within) for s in record.stamps] == [("x", "v2")]
    assert client.state.mark(CODES) == Mark("v2", "v2")


def test_the_same_answer_is_a_receipt_and_another_one_a_new_version() -> None:
    client = taught(fix())
    told = lesson(fix(), versions={"codes": "v1"})
    assert [type(v) for v in client.learn(told)] == [Keep]
    (record,) = client.state
    assert len(record.receipts) == 2
    newer = lesson(fix(value="2"), versions={"codes": "v1"})
    verdicts = client.learn(newer)
    assert [(type(v), v.reason) for v in verdicts] == [
        (Write, Reason.NEWER_ANSWER),
        (Supersede, Reason.NEWER_ANSWER),
    ]
    assert client.values() == ["2"]
    assert client.state.record(record.id).status is Status.SUPERSEDED


def test_several_fixes_for_one_situation_stand_side_by_side() -> None:
    client = taught(fix(value="1"), fix(value="2"))
    assert client.values() == ["1", "2"]
    again = client.learn(lesson(fix(value="1"), fix(value="2"), versions={"codes": "v1"}))
    assert [type(v) for v in again] == [Keep, Keep]
    client.learn(lesson(fix(value="2"), fix(value="3"), versions={"codes": "v1"}))
    assert client.values() == ["2", "3"]
    client.learn(lesson(fix(value="4"), fix(value="5"), versions={"codes": "v1"}))
    assert client.values() == ["4", "5"]


def test_one_fix_that_is_offered_twice_is_stored_once() -> None:
    client = taught(fix(), fix())
    assert client.values() == ["1"]
    assert client.kinds == [ChangeKind.ADVANCED, ChangeKind.WRITTEN, ChangeKind.WITNESSED]


def test_a_response_that_gives_one_table_two_versions_is_believed_once() -> None:
    one, other = (
        fix(key, row=None, tables=(TableVersion("codes", version),))
        for key, version in (("a", "v1"), ("b", "v2"))
    )
    client = Client(A2)
    verdicts = client.learn(lesson(one, other, versions={}))
    assert reasons(verdicts) == [Reason.LEARNED, Reason.UNKNOWN_VERSION]


def test_a_fix_older_than_what_the_memory_knows_is_late() -> None:
    client = taught(fix("b"), policy=A2)
    late = fix("a", tables=(TableVersion("codes", "v0"),))
    assert reasons(client.learn(lesson(late, versions={"codes": "v1"}))) == [Reason.LATE]


def test_nothing_is_learned_under_a_table_in_abeyance() -> None:
    client = taught(fix("b"))
    told = lesson(fix("a"), versions={"codes": "v2"})
    client.settle(told)
    assert reasons(client.learn(told, answer("v2", "v2"))) == [Reason.LATE]


def test_a_mark_that_no_fix_rests_on_any_more_holds_nothing_up() -> None:
    client = taught(fix(), policy=A2)
    client.settle(lesson(versions={"codes": "v2"}))
    told = lesson(fix(value="2"), versions={"codes": "v3"})
    assert client.settle(told) == ()
    assert reasons(client.learn(told)) == [Reason.LEARNED]
    assert client.serves() == ["2"]


def test_what_was_refused_is_said_with_its_suggestion() -> None:
    refused = fix(cache_hint=CacheHint.RECOMPUTE)
    assert Client().learn(lesson(refused, versions={"codes": "v1"})) == (
        Reject(refused, Reason.NOT_CACHEABLE),
    )


# -- the order that the source text leaves open ----------------------------------------------------


def after_a_rotation(policy: EvictionPolicy, *, reconcile_first: bool) -> list[object]:
    client = taught(fix(value="old"), policy=policy)
    told = lesson(fix(value="new", row="y"), versions={"codes": "v2"})
    known = answer("v1", "v2", {"a": "y"})
    if reconcile_first:
        client.settle(told, known)
        client.learn(told, known)
    else:
        client.learn(told, known)
        client.settle(told, known)
    return client.serves()


@pytest.mark.parametrize("policy", [A2, A2D], ids=str)
def test_reconciling_first_keeps_the_fix_just_learned(policy: EvictionPolicy) -> None:
    assert after_a_rotation(policy, reconcile_first=True) == ["new"]
    assert after_a_rotation(policy, reconcile_first=False) == []
