"""Other names on the wire."""

from __future__ import annotations

import pytest

from lapse.contract import (
    Aliases,
    CacheHint,
    Edge,
    Emission,
    Level,
    Node,
    Registry,
    RowVersion,
    Rule,
    Suggestion,
    Table,
    TableChanges,
    TableVersion,
)
from lapse.errors import InvalidValue

SECRET = "a secret of thirty-two characters"  # noqa: S105 - a made-up one
ALIASES = Aliases(secret=SECRET)


@pytest.mark.requirement("C-TRU-23")
def test_the_secret_is_neither_shown_nor_repeated() -> None:
    assert SECRET not in repr(ALIASES)
    with pytest.raises(InvalidValue, match="5 characters") as caught:
        Aliases(secret="short")  # noqa: S106 - a made-up one
    assert "short" not in str(caught.value)


@pytest.mark.requirement("C-TRU-21")
def test_names_are_keyed_stable_and_told_apart() -> None:
    assert ALIASES.table("codes") == Aliases(secret=SECRET).table("codes")
    assert ALIASES.table("codes") != Aliases(secret="x" * 32).table("codes")
    names = {
        ALIASES.table("a"),
        ALIASES.table("b"),
        ALIASES.key("a", "k"),
        ALIASES.key("b", "k"),
        ALIASES.key("ak", ""),
        ALIASES.relation("a"),
        ALIASES.row_version("a"),
        ALIASES.rules_version("a"),
    }
    assert len(names) == 8
    assert ALIASES.row_version(None) is None
    assert ALIASES.rules_version(None) is None


@pytest.mark.requirement("C-TRU-21")
def test_a_suggestion_keeps_what_it_says_and_loses_its_names() -> None:
    plain = Suggestion(
        type="SET",
        parameters={"code": "X"},
        cache_hint=CacheHint.CACHEABLE,
        table="codes",
        tables=(TableVersion("codes", "1"),),
        rows=(RowVersion("codes", "growth", "abc"), RowVersion("codes", "gone", None)),
        when={"plan": "growth"},
    )
    table, key = ALIASES.table("codes"), ALIASES.key("codes", "growth")
    assert ALIASES.suggestion(plain) == Suggestion(
        type="SET",
        parameters={"code": "X"},
        cache_hint=CacheHint.CACHEABLE,
        table=table,
        tables=(TableVersion(table, "1"),),
        rows=(
            RowVersion(table, key, ALIASES.row_version("abc")),
            RowVersion(table, ALIASES.key("codes", "gone"), None),
        ),
        when={"plan": "growth"},
    )
    assert ALIASES.suggestion(Suggestion(type="SET", parameters={})).table is None


@pytest.mark.requirement("C-TRU-21")
def test_changes_and_graph_have_the_names_of_the_wire() -> None:
    asked = ALIASES.table("codes")
    changes = TableChanges(
        table="codes",
        since="1",
        version="2",
        complete=True,
        rows={"growth": "abc", "gone": None},
        downstream=(("plans", "p"),),
    )
    assert ALIASES.changes(changes, asked=asked) == TableChanges(
        table=asked,
        since="1",
        version="2",
        complete=True,
        rows={
            ALIASES.key("codes", "growth"): ALIASES.row_version("abc"),
            ALIASES.key("codes", "gone"): None,
        },
        downstream=((ALIASES.table("plans"), ALIASES.key("plans", "p")),),
    )
    assert ALIASES.named(asked, ["plans", "codes"]) == "codes"
    assert ALIASES.named("codes", ["plans", "codes"]) is None
    edge = ALIASES.edge(Edge(Node("codes", "growth"), Node("plans", "p"), "funds"))
    assert edge == Edge(
        Node(ALIASES.table("codes"), ALIASES.key("codes", "growth")),
        Node(ALIASES.table("plans"), ALIASES.key("plans", "p")),
        ALIASES.relation("funds"),
    )


@pytest.mark.requirement("C-TRU-21")
def test_words_for_people_name_no_table() -> None:
    tables = ("codes", "codes_old")
    said = ALIASES.text("codes and codes_old, not codes2", tables)
    assert said == f"{ALIASES.table('codes')} and {ALIASES.table('codes_old')}, not codes2"
    members = ALIASES.members({"codes": ["in codes", 5], "n": {"codes": None}}, tables)
    assert members == {
        "codes": [f"in {ALIASES.table('codes')}", 5],
        "n": {ALIASES.table("codes"): None},
    }


@pytest.mark.requirement("C-TRU-21")
def test_an_emission_says_the_names_of_the_wire() -> None:
    registry = Registry.of(
        [Table("codes", {"k": 1}, "1"), Table("plans", {"k": 1}, "2")],
        [Rule("codes", "plans", "funds")],
    )
    emission = Emission(aliases=ALIASES)
    fix = Suggestion(type="SET", parameters={}, table="codes")
    envelope = emission.envelope(registry, success=False, suggestions=(fix,))
    assert envelope.table_versions == {ALIASES.table("codes"): "1", ALIASES.table("plans"): "2"}
    assert envelope.rules_version == ALIASES.rules_version(registry.rules_version)
    assert envelope.suggestions[0].table == ALIASES.table("codes")
    below = Emission(level=Level.L1, aliases=ALIASES).envelope(registry, success=True)
    assert below.rules_version is None
