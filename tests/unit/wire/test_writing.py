"""Writing: exactly what a value says, and readable again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from lapse.contract import (
    CacheHint,
    Envelope,
    Registry,
    RowVersion,
    Rule,
    Suggestion,
    Table,
    TableChanges,
    TableVersion,
    is_name,
)
from lapse.wire import (
    JSON,
    PROBLEM_JSON,
    Problem,
    Reading,
    changes_members,
    envelope_members,
    graph_members,
    models,
    preferred_type,
    problem_members,
    read_changes,
    read_response,
    reload_members,
    suggestion_members,
    write_changes,
    write_envelope,
    write_problem,
)

NAMES = st.text(min_size=1, max_size=8).filter(is_name)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=3)
KNOWN = {"type", "parameters", "cache_hint", "table", "tables", "rows", "when", "action"}
SUGGESTIONS = st.builds(
    Suggestion,
    type=NAMES,
    parameters=OBJECTS,
    cache_hint=st.none() | st.sampled_from(CacheHint),
    table=st.none() | NAMES,
    tables=st.lists(st.builds(TableVersion, NAMES, NAMES), max_size=3, unique_by=lambda t: t.table)
    .map(tuple),
    rows=st.lists(
        st.builds(RowVersion, NAMES, NAMES, st.none() | NAMES),
        max_size=3,
        unique_by=lambda r: (r.table, r.key),
    ).map(tuple),
    when=st.none() | OBJECTS,
    more=st.dictionaries(NAMES.filter(lambda n: n not in KNOWN), VALUES, max_size=2),
)  # fmt: skip
ENVELOPES = st.builds(
    Envelope,
    success=st.none() | st.booleans(),
    suggestions=st.lists(SUGGESTIONS, max_size=3).map(tuple),
    table_versions=st.none() | st.dictionaries(NAMES, NAMES, max_size=4),
    rules_version=st.none() | NAMES,
)
CHANGES = st.builds(
    TableChanges,
    table=NAMES,
    since=NAMES,
    version=st.none() | NAMES,
    complete=st.booleans(),
    rows=st.dictionaries(NAMES, st.none() | NAMES, max_size=4),
    downstream=st.lists(st.tuples(NAMES, NAMES), max_size=3).map(tuple),
)


@given(ENVELOPES)
@pytest.mark.requirement("C-ENV-06", "C-ENV-08")
def test_an_envelope_is_read_back_as_it_was(envelope: Envelope) -> None:
    assert read_response({}, write_envelope(envelope)) == Reading(envelope)


@given(ENVELOPES)
@pytest.mark.requirement("C-PRB-01")
def test_a_problem_document_is_an_envelope_too(envelope: Envelope) -> None:
    problem = Problem(type="/p", title="T", status=422, detail="D", instance="/i", more={"x": 1})
    body = write_problem(problem, envelope)
    assert read_response({"content-type": PROBLEM_JSON}, body) == Reading(envelope)
    document = json.loads(body)
    assert {name: document[name] for name in ("type", "title", "status", "detail")} == {
        "type": "/p", "title": "T", "status": 422, "detail": "D"
    }  # fmt: skip
    assert (document["instance"], document["x"]) == ("/i", 1)


@given(CHANGES)
def test_changes_are_read_back_as_they_were(changes: TableChanges) -> None:
    assert read_changes(write_changes(changes)) == changes


@pytest.mark.requirement("C-ENV-08")
def test_what_is_written_is_compact() -> None:
    envelope = Envelope(success=True, table_versions={"é": "1"}, rules_version="r")
    text = '{"success":true,"table_versions":{"é":"1"},"rules_version":"r"}'
    assert write_envelope(envelope) == text.encode()
    assert write_envelope(Envelope()) == b"{}"
    assert len(b'"cache_hint":"cacheable"') == 24  # the source text's own count (section 3.7)


def test_a_member_of_ours_is_not_overwritten_by_one_kept_for_the_round_trip() -> None:
    suggestion = Suggestion(type="A", parameters={}, more={"type": "B", "hint": 1})
    assert suggestion_members(suggestion) == {"type": "A", "hint": 1, "parameters": {}}
    problem = Problem(title="T", status=422, detail="D", more={"title": "U", "success": True})
    members = problem_members(problem, Envelope(success=False))
    assert (members["title"], members["success"]) == ("T", False)


UNKNOWN: dict[str, Any] = {
    "success": False,
    "recovery_feedback": {
        "suggestions": [
            {
                "type": "A",
                "parameters": {"x": 1},
                "tables": [{"table": "t", "version": "1", "epoch": 7}],
                "signature": "…",
            }
        ],
        "level": 9,
    },
    "table_versions": {"t": "1"},
    "stamp": {"root": "abc"},
}


@pytest.mark.requirement("C-ENV-06")
def test_unknown_members_survive_a_round_trip_at_every_depth() -> None:
    message = TypeAdapter(models.Envelope).validate_python(UNKNOWN)
    assert message.model_dump(exclude_unset=True, by_alias=True) == UNKNOWN


def test_a_reload_and_a_graph_as_the_source_text_prints_them() -> None:
    registry = Registry.of(
        [
            Table("active_csm_codes", {"plan_partner_growth": {"code": "SUMMERSALE25"}}, "1.0.0"),
            Table("promo_eligibility", {"SUMMERSALE25": {}}, "1.0.0"),
        ],
        [Rule("active_csm_codes", "promo_eligibility", "requires_recognition", "code")],
    )
    assert graph_members(registry.graph, registry.table_versions) == {
        "nodes": {
            "active_csm_codes:plan_partner_growth": {
                "table": "active_csm_codes",
                "key": "plan_partner_growth",
                "version": "1.0.0",
            },
            "promo_eligibility:SUMMERSALE25": {
                "table": "promo_eligibility",
                "key": "SUMMERSALE25",
                "version": "1.0.0",
            },
        },
        "edges": [
            {
                "from": "active_csm_codes:plan_partner_growth",
                "to": "promo_eligibility:SUMMERSALE25",
                "relation": "requires_recognition",
            }
        ],
    }
    rows = {"plan_partner_growth": {"code": "WINTERLAUNCH26"}}
    _, reload = registry.reload("active_csm_codes", rows, "1.1.0")
    assert reload_members(reload) == {
        "table": "active_csm_codes",
        "old_version": "1.0.0",
        "new_version": "1.1.0",
        "diff": {"added": [], "removed": [], "changed": ["plan_partner_growth"]},
        "affected_downstream": ["promo_eligibility:SUMMERSALE25"],
    }


def test_members_are_values_to_merge() -> None:
    assert envelope_members(Envelope(success=True)) == {"success": True}
    changes = TableChanges(table="t", since="1", version=None, complete=False)
    assert changes_members(changes)["version"] is None


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (None, PROBLEM_JSON),
        ("", PROBLEM_JSON),
        ("*/*", PROBLEM_JSON),
        ("application/*", PROBLEM_JSON),
        ("APPLICATION/PROBLEM+JSON", PROBLEM_JSON),
        ("application/json, */*;q=0.1", PROBLEM_JSON),
        ("application/json", JSON),
        ("text/html", JSON),
        ("application/problem+json;q=0, */*", JSON),
        ("application/*;q=0, */*", JSON),
        ("*/*;q=nonsense", JSON),
        ("application/problem+json; level=1; Q=0.5", PROBLEM_JSON),
    ],
)
@pytest.mark.requirement("C-PRB-04")
def test_the_media_type_of_a_problem(accept: str | None, media_type: str) -> None:
    assert preferred_type(accept) == media_type
