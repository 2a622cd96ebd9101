"""Which records go: the arms of the source text, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from lapse.contract import (
    A0,
    A1,
    A2,
    A2D,
    A2DC,
    A2DG,
    POLICIES,
    EvictionPolicy,
    Moved,
    Reason,
    TableChanges,
)
from lapse.ledger import Interval, Kind, Record, Source, Stamp, State, genesis, seal, writing

HERE = "https://api.example"
CODES = Source.table(HERE, "codes")
MOVED = Moved(CODES, "v1", "v2")


def row(key: str, version: str | None = "x", *, table: str = "codes") -> Stamp:
    return Stamp(Source.row(HERE, table, key), version, "v1")


def on(record_id: str) -> Stamp:
    return Stamp(Source.record(record_id), "1")


def state_of(records: Mapping[str, Iterable[Stamp]]) -> State:
    state = State(genesis("test"))
    for record_id, stamps in records.items():
        record = Record(
            id=record_id,
            kind=Kind.FIX,
            slot=record_id,
            content={},
            valid=Interval(0),
            issuer=HERE,
            stamps=tuple(stamps),
        )
        drafts = writing(state, record, at=0, reason="learned", actor="test", salt="s")
        for change in seal(drafts, state.head):
            state.apply(change)
    return state


def changes(
    rows: Mapping[str, str | None] | None = None,
    *,
    version: str | None = "v2",
    complete: bool = True,
    downstream: tuple[tuple[str, str], ...] = (),
) -> TableChanges:
    return TableChanges(
        table="codes",
        since="v1",
        version=version,
        complete=complete,
        rows=rows or {},
        downstream=downstream,
    )


def gone(
    policy: EvictionPolicy, state: State, answer: TableChanges | None, moved: Moved = MOVED
) -> dict[str, Reason]:
    return {name: e.reason for e in policy.evictions(state, moved, answer) for name in e.ids}


HELD = {
    "a": [row("a")],
    "b": [row("b")],
    "whole": [Stamp(CODES, "v1")],
    "other": [row("a", table="tokens")],
    "ruled": [Stamp(Source.rules(HERE), "r1")],
}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (A0, {}),
        (A1, {}),
        (A2, dict.fromkeys(("a", "b", "whole"), Reason.TABLE_MOVED)),
        (A2D, {"a": Reason.ROW_MOVED, "whole": Reason.ROW_UNKNOWN}),
        (A2DC, {"a": Reason.ROW_MOVED, "whole": Reason.ROW_UNKNOWN}),
        (A2DG, {"a": Reason.ROW_MOVED, "whole": Reason.ROW_UNKNOWN}),
    ],
)
def test_each_arm_lets_go_of_its_own(policy: EvictionPolicy, expected: dict[str, Reason]) -> None:
    assert gone(policy, state_of(HELD), changes({"a": "y"})) == expected


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_no_arm_acts_on_the_rules(policy: EvictionPolicy) -> None:
    moved = Moved(Source.rules(HERE), "r1", "r2")
    assert gone(policy, state_of(HELD), None, moved) == {}


def test_the_arms_are_known_by_name_and_say_what_they_need() -> None:
    assert {
        name: (policy.remembers, policy.watches, policy.asks) for name, policy in POLICIES.items()
    } == {
        "A0": (False, False, False),
        "A1": (True, False, False),
        "A2": (True, True, False),
        "A2D": (True, True, True),
        "A2DC": (True, True, True),
        "A2DG": (True, True, True),
    }


@pytest.mark.parametrize(
    ("stamped", "now", "lapsed"),
    [
        ("x", "x", False),
        ("x", "y", True),
        ("x", None, True),
        (None, "x", True),
        (None, None, False),
    ],
)
def test_a_fix_lapses_when_its_row_is_at_another_version(
    stamped: str | None, now: str | None, *, lapsed: bool
) -> None:
    state = state_of({"a": [row("a", stamped)]})
    assert bool(gone(A2D, state, changes({"a": now}))) is lapsed


def test_a_benign_bump_evicts_nothing() -> None:
    assert gone(A2D, state_of(HELD), changes()) == {}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, Reason.LOG_TOO_SHORT),
        (changes(complete=False), Reason.LOG_TOO_SHORT),
        (changes(version=None, complete=False), Reason.TABLE_GONE),
        (changes({"a": None}, version=None), Reason.TABLE_GONE),
    ],
)
def test_what_says_nothing_about_rows_takes_the_whole_table(
    answer: TableChanges | None, reason: Reason
) -> None:
    assert gone(A2D, state_of(HELD), answer) == dict.fromkeys(("a", "b", "whole"), reason)


def test_a_fix_on_two_changed_rows_goes_once_and_for_the_first() -> None:
    state = state_of({"both": [row("a"), row("b")]})
    (evict,) = A2D.evictions(state, MOVED, changes({"b": "y", "a": "z"}))
    assert (evict.cause, evict.was, evict.now) == (Source.row(HERE, "codes", "b"), "x", "y")


def test_consumers_go_with_what_they_rest_on_through_any_number_of_steps() -> None:
    records = {
        "a": [row("a")],
        "first": [on("a")],
        "second": [on("first")],
        "third": [on("second"), on("bystander")],
        "bystander": [row("b")],
    }
    state = state_of(records)
    assert set(gone(A2D, state, changes({"a": "y"}))) == {"a"}
    assert gone(A2DC, state, changes({"a": "y"})) == {
        "a": Reason.ROW_MOVED,
        **dict.fromkeys(("first", "second", "third"), Reason.DEPENDENCY_EVICTED),
    }


def test_consumers_in_a_circle_go_once_each() -> None:
    state = state_of({"a": [row("a"), on("c")], "b": [on("a")], "c": [on("b"), on("a")]})
    assert set(gone(A2DC, state, changes({"a": "y"}))) == {"a", "b", "c"}


def test_a_long_chain_of_consumers_needs_no_deep_stack() -> None:
    records = {"0": [row("a")], **{str(n): [on(str(n - 1))] for n in range(1, 3_000)}}
    assert len(gone(A2DC, state_of(records), changes({"a": "y"}))) == 3_000


def test_what_rests_on_a_row_downstream_goes_by_the_graph_alone() -> None:
    records = {
        "a": [row("a")],
        "below": [row("t", table="tokens")],
        "else": [row("u", table="tokens")],
    }
    state = state_of(records)
    answer = changes({"a": "y"}, downstream=(("tokens", "t"), ("tokens", "nobody")))
    assert gone(A2D, state, answer) == {"a": Reason.ROW_MOVED}
    assert gone(A2DG, state, answer) == {"a": Reason.ROW_MOVED, "below": Reason.DOWNSTREAM}


def test_records_go_in_an_order_that_does_not_depend_on_the_process() -> None:
    names = [f"r{number:02d}" for number in range(40)]
    state = state_of({name: [row("a")] for name in reversed(names)})
    assert list(gone(A2D, state, changes({"a": "y"}))) == names
