"""Readings, suggestions, violations, and what each level says of them."""

from __future__ import annotations

from typing import Any

import pytest

from lapse.contract import (
    CacheHint,
    Emission,
    Envelope,
    Level,
    Reading,
    Registry,
    RowVersion,
    Suggestion,
    Table,
    TableVersion,
    Violation,
    leaks,
)
from lapse.errors import InvalidValue

REGISTRY = Registry.of(
    [
        Table("codes", {"growth": {"code": "S25"}}, "1.0.0"),
        Table("promo", {"S25": {}, "W26": {}}, "2.0.0"),
    ]
)


def stamp(table: str, key: str) -> RowVersion:
    return RowVersion(table, key, REGISTRY.row_version(table, key))


@pytest.mark.requirement("C-SUG-05", "C-SUG-06")
def test_every_row_that_was_read_becomes_a_stamp() -> None:
    tables = Reading(REGISTRY)
    assert tables["codes"].get("growth") == {"code": "S25"}
    assert "W26" in tables["promo"]
    assert tables["promo"].get("nowhere") is None
    fix = tables.suggest("ADD", {"promotion_code": "S25"}, when={"plan": "growth"})
    assert fix == Suggestion(
        type="ADD",
        parameters={"promotion_code": "S25"},
        cache_hint=CacheHint.CACHEABLE,
        table="promo",
        tables=(TableVersion("codes", "1.0.0"), TableVersion("promo", "2.0.0")),
        rows=(
            stamp("codes", "growth"),
            stamp("promo", "W26"),
            RowVersion("promo", "nowhere", None),
        ),
        when={"plan": "growth"},
    )
    assert tables.suggest("ADD", {}, table="codes").table == "codes"


@pytest.mark.requirement("C-SUG-07")
def test_a_scan_rests_on_the_whole_table() -> None:
    tables = Reading(REGISTRY)
    tables["codes"].get("growth")
    tables["promo"].get("S25")
    assert dict(tables["promo"].scan()) == {"S25": {}, "W26": {}}
    fix = tables.suggest("ADD", {})
    assert fix.rows == (stamp("codes", "growth"),)
    assert [entry.table for entry in fix.tables] == ["codes", "promo"]


def test_a_peek_is_not_a_read() -> None:
    tables = Reading(REGISTRY)
    assert set(tables["promo"].peek()) == {"S25", "W26"}
    assert (tables.rows, tables.tables) == ((), ())


def test_what_was_read_can_be_forgotten() -> None:
    tables = Reading(REGISTRY)
    list(tables["promo"].scan())
    tables.forget()
    tables["promo"].get("S25")
    assert tables.rows == (stamp("promo", "S25"),)


@pytest.mark.requirement("C-SUG-04", "C-SUG-03")
def test_a_fix_that_follows_from_the_request_rests_on_nothing() -> None:
    bare = Suggestion(type="ROUND", parameters={"amount": 1.2}, cache_hint=CacheHint.RECOMPUTE)
    tables = Reading(REGISTRY)
    assert tables.suggest("ROUND", {"amount": 1.2}, when={"x": 1}) == bare
    tables["codes"].get("growth")
    assert tables.suggest("ROUND", {"amount": 1.2}, cache_hint=CacheHint.RECOMPUTE) == bare
    assert tables.suggest("ROUND", {}).cache_hint is CacheHint.CACHEABLE


def test_a_fix_to_remember_must_rest_on_something() -> None:
    tables = Reading(REGISTRY)
    with pytest.raises(InvalidValue, match="read the rows"):
        tables.suggest("ADD", {}, cache_hint=CacheHint.CACHEABLE)
    tables["codes"].get("growth")
    with pytest.raises(InvalidValue, match="was read: codes"):
        tables.suggest("ADD", {}, table="promo")
    with pytest.raises(InvalidValue, match="type"):
        tables.suggest("", {})


def test_a_table_that_is_not_loaded_cannot_be_read() -> None:
    with pytest.raises(InvalidValue, match="codes, promo"):
        Reading(REGISTRY)["plans"]
    with pytest.raises(InvalidValue, match="none"):
        Reading(Registry.of([]))["plans"]


@pytest.mark.parametrize(
    ("detail", "parameters", "leak"),
    [
        ("Use S25 instead.", {"code": "S25"}, "code"),
        ("use s25", {"code": "S25"}, "code"),
        ("At most 12.", {"max": 12}, "max"),
        ("Use S25.", {"a": {"b": ["x", "S25"]}}, "a.b"),
        ("The partner plan.", {"tier": "partner"}, "tier"),
        ("plan_partner_growth is managed.", {"tier": "partner"}, None),
        ("True or false, null or none.", {"flag": True, "none": None}, None),
        ("Anything.", {"empty": "", "blank": " "}, None),
        ("A 125 is not a 12.", {"max": 5}, None),
        ("", {"code": "S25"}, None),
    ],
)
@pytest.mark.requirement("C-PRB-03")
def test_where_a_text_gives_an_answer_away(
    detail: str, parameters: dict[str, Any], leak: str | None
) -> None:
    assert leaks(detail, parameters) == leak


@pytest.mark.requirement("C-PRB-03")
def test_a_violation_does_not_give_the_answer_away() -> None:
    fix = Suggestion(type="ADD", parameters={"code": "S25"})
    with pytest.raises(InvalidValue, match="without the value of 'code'"):
        Violation(policy="p", title="T", detail="Use S25.", suggestions=(fix,))
    said = Violation(policy="p", title="T", detail="A code is missing.", suggestions=(fix,))
    assert said.suggestions == (fix,)
    with pytest.raises(InvalidValue, match="policy"):
        Violation(policy="", title="T", detail="D")


@pytest.mark.parametrize(
    ("level", "members", "of_suggestion"),
    [
        (Level.L0, frozenset[str](), frozenset[str]()),
        (Level.L1, {"table_versions"}, {"rows", "when"}),
        (Level.L4, {"table_versions"}, {"tables", "rows", "when"}),
        (Level.L5, {"table_versions"}, {"tables", "rows", "when"}),
        (Level.L6, {"table_versions", "rules_version"}, {"tables", "rows", "when"}),
    ],
)
@pytest.mark.requirement("C-ENV-10", "C-ENV-01", "C-ENV-04", "C-ENV-05")
def test_each_level_says_its_own(level: Level, members: set[str], of_suggestion: set[str]) -> None:
    tables = Reading(REGISTRY)
    tables["codes"].get("growth")
    fix = tables.suggest("ADD", {"code": "S25"}, when={"plan": "growth"})
    emission = Emission(level=level)
    envelope = emission.envelope(REGISTRY, success=False, suggestions=(fix,), location="/c")
    if level is Level.L0:
        assert envelope == Envelope()
        return
    assert {m for m in ("table_versions", "rules_version") if getattr(envelope, m)} == members
    assert (envelope.success, envelope.location) == (False, "/c")
    (said,) = envelope.suggestions
    assert (said.cache_hint, said.table) == (CacheHint.CACHEABLE, "codes")
    assert {m for m in ("tables", "rows", "when") if getattr(said, m)} == of_suggestion


def test_a_service_can_keep_to_the_members_of_the_source_text() -> None:
    tables = Reading(REGISTRY)
    tables["codes"].get("growth")
    fix = tables.suggest("ADD", {"code": "S25"}, when={"plan": "growth"})
    said = Emission(extensions=False).suggestion(fix)
    assert (said.rows, said.when, said.tables) == ((), None, fix.tables)
