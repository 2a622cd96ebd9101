"""What a client does about rules that moved, by what it looks at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lapse.contract import (
    A2,
    A2D,
    A2DO,
    A2DR,
    A2DRC,
    DETECTION,
    LAZY,
    Alert,
    CacheHint,
    Detection,
    DetectionPolicy,
    Envelope,
    Evict,
    EvictionPolicy,
    Keep,
    Learnt,
    Lesson,
    Moved,
    Reason,
    Restamp,
    RowVersion,
    Rule,
    Settlement,
    Suggestion,
    Supersede,
    TableChanges,
    TableVersion,
    Write,
    anchors,
    drafts,
    fingerprint,
    is_confirmed,
    learn,
    moved,
    reachable,
    settle,
    tables_under,
)
from lapse.ledger import Interval, Kind, Record, Source, Stamp, State, genesis, seal
from lapse.testing import SequenceIds

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = "https://api.example"
RULES = Source.rules(HERE)
LEADS = (Rule("codes", "promos", "needs"), Rule("policies", "codes", "names"))
LESS = (Rule("policies", "codes", "names"),)
MORE = (*LEADS, Rule("codes", "plans", "belongs_to"))


def fix(key: str, *tables: str, table: str = "codes", **members: Any) -> Suggestion:
    """A suggestion read from one row of `table`, from which the rules reach `tables`."""
    whole: dict[str, Any] = {
        "type": "SET",
        "parameters": {"value": "1"},
        "cache_hint": CacheHint.CACHEABLE,
        "table": table,
        "tables": tuple(TableVersion(name, "1") for name in (table, *tables)),
        "rows": (RowVersion(table, key, "x"),),
        "when": {"key": key},
    }
    return Suggestion(**{**whole, **members})


class Client:
    """The engine in the order that the contract demands, over a state of its own."""

    def __init__(self, policy: EvictionPolicy, versions: dict[str, str] | None = None) -> None:
        self.policy = policy
        self.state = State(genesis("test"))
        self.ids = SequenceIds("r")
        self.versions = versions or dict.fromkeys(("codes", "promos", "plans", "policies"), "1")

    def hear(self, *suggestions: Suggestion, rules: str | None = "r1", **more: Any) -> list[Any]:
        """Take a response in; the verdicts, in order."""
        envelope = Envelope(
            success=not suggestions,
            suggestions=suggestions,
            table_versions=self.versions,
            rules_version=rules,
        )
        told = Lesson(
            issuer=HERE, operation="POST /x", request=None, envelope=envelope, at=5, **more
        )
        answers: dict[tuple[Source, str | None], TableChanges] = {
            (Source.table(HERE, name), since): TableChanges(
                table=name, since=since, version=version, complete=True
            )
            for name, version in self.versions.items()
            for since in {version, "1"}
        }
        settled = settle(self.state, self.policy, moved(self.state, HERE, envelope), answers)
        self.carry_out(settled, told)
        learnt = learn(self.state, self.policy, told, answers, new_id=self.ids.new)
        self.carry_out(learnt, told)
        return [*settled, *learnt]

    def carry_out(self, verdicts: Sequence[Settlement | Learnt], told: Lesson) -> None:
        for change in seal(
            drafts(verdicts, self.state, told, new_id=SequenceIds("salt").new), self.state.head
        ):
            self.state.apply(change)

    def vectors(self) -> dict[str, set[str]]:
        return {str(r.content["when"]["key"]): set(tables_under(r)) for r in self.state}

    def id_of(self, key: str) -> str:
        return next(r.id for r in self.state if r.content["when"]["key"] == key)


def outcome(verdicts: Sequence[object]) -> list[str]:
    """The kinds of verdict about what was held before, with their reasons."""
    return [
        f"{type(v).__name__} {v.reason}"
        for v in verdicts
        if isinstance(v, Alert | Evict | Supersede)
    ]


# -- vectors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [LAZY, A2DRC])
def test_a_table_that_a_vector_lost_is_dropped_and_the_fix_stands(policy: Detection) -> None:
    client = Client(policy)
    client.hear(fix("a", "promos"), fix("b", "promos"))
    before = {r.id for r in client.state}
    verdicts = client.hear(fix("p", "codes", table="policies"), rules="r2")
    assert outcome(verdicts) == [
        "Alert rules_moved",
        "Supersede table_lost",
        "Supersede table_lost",
    ]
    assert client.vectors() == {"a": {"codes"}, "b": {"codes"}, "p": {"policies", "codes"}}
    assert not before & {r.id for r in client.state}
    assert all(client.state.usable(record) for record in client.state)


@pytest.mark.parametrize("policy", [LAZY, A2DRC])
def test_a_table_that_a_vector_gained_evicts_what_has_the_same_anchors(policy: Detection) -> None:
    client = Client(policy)
    client.hear(fix("a"), fix("p", "codes", table="policies"))
    verdicts = client.hear(fix("b", "plans"), rules="r2")
    assert outcome(verdicts) == ["Alert rules_moved", "Evict table_gained"]
    evicted = next(v for v in verdicts if isinstance(v, Evict))
    assert (evicted.cause, evicted.was, evicted.now) == (RULES, "r1", "r2")
    # What leads to the anchors may have gained it too, and nothing has shown that yet.
    assert client.vectors() == {"p": {"policies", "codes"}, "b": {"codes", "plans"}}


def test_a_fix_that_was_applied_under_the_rules_of_now_is_not_evicted() -> None:
    client = Client(LAZY)
    client.hear(fix("a"), fix("b"))
    verdicts = client.hear(rules="r2", applied=(client.id_of("a"), client.id_of("a"), "nobody"))
    assert [v.reason for v in verdicts if isinstance(v, Keep)] == [Reason.APPLIED]
    assert is_confirmed(client.state.record(client.id_of("a")), "r2")
    again = client.hear(rules="r2", applied=(client.id_of("a"),))
    assert again == []  # one receipt says it
    assert outcome(client.hear(fix("c", "plans"), rules="r2")) == [
        "Alert rules_moved",
        "Evict table_gained",
    ]
    assert client.vectors() == {"a": {"codes"}, "c": {"codes", "plans"}}


@pytest.mark.parametrize(
    ("said", "rules"), [({}, None), ({"success": None}, "r2"), ({"success": False}, "r2")]
)
def test_only_a_response_that_says_success_under_some_rules_confirms(
    said: dict[str, Any], rules: str | None
) -> None:
    client = Client(LAZY)
    client.hear(fix("a"))
    envelope = replace(Envelope(success=True, rules_version=rules), **said)
    told = Lesson(
        issuer=HERE,
        operation="POST /x",
        request=None,
        envelope=envelope,
        at=6,
        applied=(client.id_of("a"),),
    )
    assert told.teaches
    assert learn(client.state, LAZY, told, {}, new_id=client.ids.new) == ()
    assert not is_confirmed(client.state.record(client.id_of("a")), rules)


def test_a_confirmation_counts_for_the_rules_it_was_given_under_and_no_others() -> None:
    client = Client(LAZY)
    client.hear(fix("a"))
    client.hear(applied=(client.id_of("a"),))
    assert outcome(client.hear(fix("b", "plans"), rules="r2"))[1:] == ["Evict table_gained"]


def test_vectors_that_are_as_they_were_move_nothing() -> None:
    client = Client(LAZY)
    client.hear(fix("a", "promos"))
    assert outcome(client.hear(fix("b", "promos"), rules="r2")) == []
    assert client.vectors() == {"a": {"codes", "promos"}, "b": {"codes", "promos"}}


def test_a_suggestion_without_a_vector_shows_nothing() -> None:
    client = Client(LAZY)
    client.hear(fix("a", "promos"))
    assert outcome(client.hear(fix("b", tables=()), rules="r2")) == []
    assert client.vectors()["a"] == {"codes", "promos"}


def test_a_fix_for_the_situation_that_was_answered_gives_way_to_the_answer_alone() -> None:
    client = Client(A2DRC)
    client.hear(fix("a"))
    verdicts = client.hear(fix("a", "plans"), rules="r2")
    assert outcome(verdicts) == ["Alert rules_moved", "Supersede newer_answer"]


def test_a_narrowed_fix_takes_the_versions_up_to_which_it_was_reconciled() -> None:
    client = Client(LAZY)
    client.hear(fix("a", "promos", "plans"))
    client.versions = {**client.versions, "codes": "2", "plans": "2"}
    newer = fix("b", tables=(TableVersion("codes", "2"), TableVersion("plans", "2")))
    client.hear(newer, rules="r2")
    narrowed = client.state.record(client.id_of("a"))
    assert dict(narrowed.rests_on()) == {
        Source.table(HERE, "codes"): "2",
        Source.table(HERE, "plans"): "2",
        RULES: "r2",
    }


def test_a_fix_that_is_held_back_is_not_narrowed() -> None:
    client = Client(A2D)
    client.hear(fix("a", "promos"), fix("b"))
    promos = Moved(Source.table(HERE, "promos"), "1", "2")
    told = Lesson(
        issuer=HERE,
        operation="POST /x",
        request=None,
        envelope=Envelope(table_versions={**client.versions, "promos": "2"}),
        at=6,
    )
    client.carry_out(settle(client.state, A2D, (promos,), {}), told)
    shown = client.state.record(client.id_of("b"))
    lesson = replace(told, envelope=Envelope(rules_version="r2"))
    apart = replace(shown, slot="another")
    assert LAZY.detected(client.state, lesson, [apart], new_id=client.ids.new) == ()


def test_a_fix_that_also_rests_on_a_record_keeps_that_stamp() -> None:
    client = Client(LAZY)
    client.hear(fix("a", "promos"))
    record = client.state.record(client.id_of("a"))
    resting = (*record.stamps, Stamp(Source.record("other"), "1"))
    told = Lesson(
        issuer=HERE, operation="POST /x", request=None, envelope=Envelope(), at=6, declared=()
    )
    twin = replace(record, id="twin", slot="twin", stamps=resting)
    client.carry_out([Write(twin)], told)
    codes = tuple(stamp for stamp in record.stamps if stamp.source.name == "codes")
    shown = replace(record, slot="another", stamps=codes)
    found = LAZY.detected(
        client.state,
        replace(told, envelope=Envelope(rules_version="r1")),
        [shown],
        new_id=client.ids.new,
    )
    written = [v.record for v in found if isinstance(v, Write)]
    assert [Stamp(Source.record("other"), "1") in r.stamps for r in written] == [False, True]


# -- stamps --------------------------------------------------------------------------------------


def test_the_stamp_alone_clears_everything_and_keeps_what_the_same_response_teaches() -> None:
    client = Client(A2DR)
    client.hear(fix("a"), fix("p", "codes", table="policies"))
    verdicts = client.hear(fix("c"), rules="r2")
    assert outcome(verdicts) == ["Evict rules_moved", "Alert rules_moved"]
    assert client.vectors() == {"c": {"codes"}}
    assert outcome(client.hear(rules="r2")) == []


@pytest.mark.parametrize("policy", [A2DRC, A2DO])
def test_a_stamp_tells_at_once_and_evicts_nothing_by_itself(policy: Detection) -> None:
    client = Client(policy)
    client.hear(fix("a"))
    assert client.hear(rules="r2") == [
        Alert(Moved(RULES, "r1", "r2")),
        Restamp(Moved(RULES, "r1", "r2"), 1, Reason.RULES_MOVED),
    ]
    assert client.hear(rules="r2") == []


def test_without_looking_at_stamps_moved_rules_are_passed_over() -> None:
    client = Client(LAZY)
    client.hear(fix("a"))
    assert client.hear(rules="r2") == [
        Restamp(Moved(RULES, "r1", "r2"), 1, Reason.RULES_NOT_WATCHED)
    ]


def test_rules_that_were_seen_to_move_and_are_back_are_no_alert() -> None:
    client = Client(A2DRC)
    client.hear(fix("a"))
    mark = client.state.mark(RULES)
    assert mark is not None
    mark.observed = "r2"  # held back by somebody who bounds what an issuer may move
    back = settle(client.state, A2DRC, (Moved(RULES, "r1", "r1"),), {})
    assert back == (Restamp(Moved(RULES, "r1", "r1"), 1, Reason.RULES_MOVED),)


# -- declarations --------------------------------------------------------------------------------


def test_declared_rules_narrow_and_evict_before_anything_has_failed() -> None:
    client = Client(A2DO)
    client.hear(fix("a", "promos"), fix("p", "codes", "promos", table="policies"))
    lost = client.hear(rules=fingerprint(LESS), declared=LESS)
    assert outcome(lost) == ["Alert rules_moved", "Supersede table_lost", "Supersede table_lost"]
    assert client.vectors() == {"a": {"codes"}, "p": {"policies", "codes"}}
    gained = client.hear(rules=fingerprint(MORE), declared=MORE)
    assert outcome(gained) == ["Alert rules_moved", "Evict table_gained", "Evict table_gained"]
    assert client.vectors() == {}


def test_declared_rules_of_another_fingerprint_say_nothing() -> None:
    client = Client(A2DO)
    client.hear(fix("a", "promos"))
    assert outcome(client.hear(rules="r2", declared=LESS)) == ["Alert rules_moved"]
    assert client.vectors() == {"a": {"codes", "promos"}}


@pytest.mark.parametrize("policy", [LAZY, A2DO])
def test_a_fix_whose_anchors_nobody_knows_is_left_alone(policy: Detection) -> None:
    client = Client(policy)
    client.hear(fix("a", "promos", rows=()))
    told = client.hear(fix("b"), rules=fingerprint(LESS), declared=LESS)
    assert "Supersede table_lost" not in outcome(told)
    assert client.vectors()["a"] == {"codes", "promos"}


# -- words ---------------------------------------------------------------------------------------


def test_tables_are_left_to_the_policy_for_tables() -> None:
    assert {p.name: (p.remembers, p.watches, p.asks) for p in DETECTION.values()} == dict.fromkeys(
        ("LAZY", "A2DR", "A2DRC", "A2DO"), (True, True, True)
    )
    by_table = Detection("mine", vectors=True, tables=A2)
    assert (by_table.asks, isinstance(by_table, DetectionPolicy)) == (False, True)
    assert not isinstance(A2D, DetectionPolicy)
    client = Client(by_table)
    client.hear(fix("a"))
    client.versions = {**client.versions, "codes": "2"}
    assert outcome(client.hear()) == ["Evict table_moved"]


def test_the_anchors_of_a_record_are_where_it_was_read() -> None:
    def record(*stamps: Stamp) -> Record:
        return Record(
            id="r", kind=Kind.FIX, slot="s", content={}, valid=Interval(0), stamps=tuple(stamps)
        )

    row = Stamp(Source.row(HERE, "codes", "a"), "x", "1")
    one, other = (Stamp(Source.table(HERE, name), "1") for name in ("codes", "promos"))
    rules = Stamp(RULES, "r1")
    assert anchors(record(row, other, rules)) == {"codes"}
    assert anchors(record(one, rules)) == {"codes"}
    assert anchors(record(one, other)) == frozenset()
    assert tables_under(record(row, other, rules)) == {"codes", "promos"}


def test_reaching_follows_rules_through_tables_and_around_cycles() -> None:
    around = (*LEADS, Rule("promos", "policies", "returns"))
    assert reachable(["policies"], LEADS) == {"policies", "codes", "promos"}
    assert reachable(["codes"], around) == {"policies", "codes", "promos"}
    assert reachable([], LEADS) == frozenset()
