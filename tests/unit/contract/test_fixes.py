"""Suggestions as records, and records as fixes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import (
    CacheHint,
    Envelope,
    Fix,
    Lesson,
    Reason,
    RowVersion,
    Suggestion,
    TableVersion,
    amend,
    fingerprint_of,
    learned,
)
from lapse.contract.fixes import same_fix
from lapse.ledger import Interval, Kind, Outcome, Receipt, Record, Source, Stamp, canonical, digest

HERE = "https://api.example"
BIG = 2**53
SUGGESTION = Suggestion(
    type="SET",
    parameters={"code": "A"},
    cache_hint=CacheHint.CACHEABLE,
    table="codes",
    when={"tier": "gold"},
)


def lesson(*, request: dict[str, Any] | None = None, rules: str | None = None) -> Lesson:
    envelope = Envelope(table_versions={"codes": "v1", "tokens": "t1"}, rules_version=rules)
    return Lesson(issuer=HERE, operation="POST /x", request=request, envelope=envelope, at=7)


def told(suggestion: Suggestion = SUGGESTION, **options: Any) -> Record | Reason:
    return learned(suggestion, lesson(**options), record_id="r", watched=True)


def record(suggestion: Suggestion = SUGGESTION, **options: Any) -> Record:
    found = told(suggestion, **options)
    assert isinstance(found, Record)
    return found


def stamps(found: Record) -> list[tuple[str, str | None, str | None]]:
    return [(str(s.source), s.version, s.within) for s in found.stamps]


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"in": value}
    return value


# -- from a suggestion to a record -----------------------------------------------------------------


def test_a_suggestion_becomes_a_record_that_says_where_it_came_from() -> None:
    assert record(rules="r1") == Record(
        id="r",
        kind=Kind.FIX,
        slot=f"POST /x {digest(canonical(['SET', {'tier': 'gold'}, None]))[:24]}",
        topic="POST /x",
        content={
            "type": "SET",
            "parameters": {"code": "A"},
            "when": {"tier": "gold"},
            "request": None,
        },
        valid=Interval(7),
        issuer=HERE,
        stamps=(Stamp(Source.rules(HERE), "r1"), Stamp(Source.table(HERE, "codes"), "v1")),
        receipts=(
            Receipt(
                observer=HERE,
                source=Source.probe("exchange", "POST /x"),
                at=7,
                digest=digest(canonical(["SET", {"code": "A"}])),
                outcome=Outcome.CONFIRMS,
            ),
        ),
    )


def test_rows_are_stamped_within_their_table_and_cover_it() -> None:
    rows = (RowVersion("codes", "a", "x"), RowVersion("tokens", "t", None))
    assert stamps(record(replace(SUGGESTION, rows=rows))) == [
        (f"{HERE}/codes:a", "x", "v1"),
        (f"{HERE}/tokens:t", None, "t1"),
    ]


def test_the_vector_of_a_suggestion_counts_over_the_map_and_over_table() -> None:
    tables = (TableVersion("tokens", "t0"),)
    rows = (RowVersion("codes", "a", "x"),)
    assert stamps(record(replace(SUGGESTION, tables=tables, rows=rows))) == [
        (f"{HERE}/codes:a", "x", "v1"),
        (f"{HERE}/tokens", "t0", None),
    ]


@pytest.mark.parametrize(
    ("suggestion", "reason"),
    [
        (replace(SUGGESTION, cache_hint=None), Reason.NOT_CACHEABLE),
        (replace(SUGGESTION, cache_hint=CacheHint.RECOMPUTE), Reason.NOT_CACHEABLE),
        (replace(SUGGESTION, table=None), Reason.NO_DEPENDENCY),
        (replace(SUGGESTION, table="unknown"), Reason.UNKNOWN_VERSION),
        (replace(SUGGESTION, rows=(RowVersion("unknown", "a", "x"),)), Reason.UNKNOWN_VERSION),
        (
            replace(
                SUGGESTION, rows=(RowVersion("codes", "a", "x"), RowVersion("codes", "a", "y"))
            ),
            Reason.UNKNOWN_VERSION,
        ),
        (replace(SUGGESTION, when=None), Reason.NO_SITUATION),
        (replace(SUGGESTION, parameters={"n": BIG}), Reason.NOT_JSON),
        (replace(SUGGESTION, when={"n": BIG}), Reason.NOT_JSON),
    ],
)
def test_what_cannot_be_kept_says_why(suggestion: Suggestion, reason: Reason) -> None:
    assert told(suggestion) is reason


def test_a_request_that_has_no_canonical_form_teaches_nothing_by_itself() -> None:
    assert told(replace(SUGGESTION, when=None), request={"n": BIG}) is Reason.NOT_JSON


def test_a_policy_that_does_not_watch_needs_no_dependency() -> None:
    bare = replace(SUGGESTION, table=None)
    found = learned(bare, lesson(), record_id="r", watched=False)
    assert isinstance(found, Record)
    assert found.stamps == ()


# -- which requests a fix is for -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "request_", "holds"),
    [
        ({"a.b": 1}, {"a.b": 1, "a": {"b": 2}}, True),  # the literal name wins
        ({"a.b.c": 1}, {"a": {"b": {"c": 1}}}, True),
        ({"a.b.c": 1}, {"a": {"b.c": 1}}, False),
        ({"a.b": None}, {"a": {}}, True),
        ({"a.b": None}, {"a": "text"}, True),
        ({"a.0": 1}, {"a": [1]}, False),
        ({"a": {"x": 1}}, {"a": {"x": 1.0}}, True),
        ({"a": ""}, {"a": None}, False),
        ({"a": 0}, {"a": False}, False),
        ({"a": BIG}, {"a": BIG}, False),  # equal to nothing, itself included
        ({"a": 1}, {"a": {1, 2}}, False),
        ({"a": 1}, {"a": object()}, False),
        ({"a": {}}, {"a": nested(5_000)}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
    ],
)
def test_when_is_compared_as_json(
    when: dict[str, Any], request_: dict[str, Any], *, holds: bool
) -> None:
    content: dict[str, Any] = {
        "type": "SET",
        "parameters": {},
        "when": json.loads(json.dumps(when)),
        "request": None,
    }
    fix = Fix.of(replace(record(), content=content))
    assert fix.holds_for(request_) is holds


def test_without_when_a_fix_is_for_the_equal_request_alone() -> None:
    fix = Fix.of(record(replace(SUGGESTION, when=None), request={"a": 1, "b": [2]}))
    assert fix.id == "r"
    assert fix.holds_for({"b": [2.0], "a": 1})
    assert not fix.holds_for({"a": True, "b": [2]})
    assert not fix.holds_for({"a": BIG})
    assert not fix.holds_for({"a": object()})


def test_what_has_no_canonical_form_has_no_fingerprint() -> None:
    assert fingerprint_of({"n": BIG}) is None
    assert fingerprint_of({"n": float("nan")}) is None
    assert fingerprint_of({"s": "\ud800"}) is None
    assert fingerprint_of(nested(5_000)) is None
    assert fingerprint_of({"a": 1}) == fingerprint_of({"a": 1.0}) != fingerprint_of({"a": True})


# -- the same fix again ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (SUGGESTION, True),
        (replace(SUGGESTION, parameters={"code": "B"}), False),
        (replace(SUGGESTION, tables=(TableVersion("codes", "v9"),)), True),
        (replace(SUGGESTION, tables=(TableVersion("tokens", "t1"),)), False),
        (replace(SUGGESTION, rows=(RowVersion("codes", "a", "x"),)), False),
    ],
)
def test_a_fix_is_the_same_if_it_says_the_same_on_the_same_ground(
    other: Suggestion, *, same: bool
) -> None:
    assert same_fix(record(), record(other)) is same


def test_another_version_of_the_row_is_another_ground() -> None:
    one = replace(SUGGESTION, rows=(RowVersion("codes", "a", "x"),))
    other = replace(SUGGESTION, rows=(RowVersion("codes", "a", "y"),))
    assert not same_fix(record(one), record(other))


def test_true_is_not_the_same_answer_as_one() -> None:
    one, true = ({"flag": value} for value in (1, True))
    assert not same_fix(
        record(replace(SUGGESTION, parameters=one)), record(replace(SUGGESTION, parameters=true))
    )


# -- amending --------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=4)


def test_objects_are_merged_by_member_and_everything_else_is_replaced() -> None:
    request = {"a": {"x": 1, "y": {"z": 2}}, "list": [1, 2], "keep": True}
    parameters = {"a": {"y": {"z": 3, "new": 4}}, "list": [9], "a2": {"b": 1}}
    assert amend(request, parameters) == {
        "a": {"x": 1, "y": {"z": 3, "new": 4}},
        "list": [9],
        "keep": True,
        "a2": {"b": 1},
    }


@given(json_objects, json_objects)
def test_amending_twice_is_amending_once_and_changes_neither_side(
    request_: dict[str, Any], parameters: dict[str, Any]
) -> None:
    before = json.dumps([request_, parameters])
    once = amend(request_, parameters)
    assert amend(once, parameters) == once
    assert parameters.keys() <= once.keys()
    assert json.dumps([request_, parameters]) == before


def test_who_edits_an_amended_request_does_not_edit_the_memory() -> None:
    fix = Fix.of(record(replace(SUGGESTION, parameters={"list": [1], "a": {"b": 1}})))
    amended = amend({}, fix.parameters)
    amended["list"].append(2)
    amended["a"]["b"] = 2
    assert fix.parameters == {"list": [1], "a": {"b": 1}}


def test_nesting_beyond_any_use_is_replaced_and_not_followed() -> None:
    merged = amend(nested(100), nested(70))
    assert merged == nested(70)
