"""Reloads and the change log."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import LogBounds, Registry, Rule, Table, diff, row_version
from lapse.errors import InvalidValue

ROWS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2), max_size=4)
STEPS = st.lists(st.none() | ROWS, max_size=8)
BOUNDS = st.builds(LogBounds, reloads=st.integers(0, 4), rows=st.integers(0, 6))

KEY = "s"


def codes(rows: dict[str, Any] | None = None, **options: Any) -> Registry:
    return Registry.of([Table("codes", rows or {"a": 1, "b": 2}, "1.0.0")], **options)


@given(ROWS, STEPS)
@pytest.mark.requirement("C-CHG-02", "C-CHG-04", "C-CHG-06")
def test_changes_since_equal_a_comparison_of_snapshots(
    first: dict[str, int], steps: list[dict[str, int] | None]
) -> None:
    registry = Registry.of([Table("t", first, "0")])
    snapshots = {"0": dict(first)}
    for number, rows in enumerate(steps, 1):
        if rows is None and "t" not in registry.tables:
            continue
        registry, _ = registry.reload("t", rows, None if rows is None else str(number))
        if rows is not None:
            snapshots[str(number)] = dict(rows)
    table = registry.tables.get("t")
    for version, before in snapshots.items():
        changes = registry.changes_since("t", version)
        if table is None:
            assert (changes.version, changes.complete) == (None, False)
            continue
        now = table.rows
        assert (changes.version, changes.complete) == (table.version, True)
        assert dict(changes.rows) == {
            key: row_version("t", key, now[key]) if key in now else None
            for key in diff(before, now).keys
        }


@given(ROWS, st.lists(ROWS, max_size=10), BOUNDS)
@pytest.mark.requirement("C-CHG-05", "C-CHG-07")
def test_a_short_log_says_that_it_is_short(
    first: dict[str, int], steps: list[dict[str, int]], bounds: LogBounds
) -> None:
    registry = Registry.of([Table("t", first, "0")], bounds=bounds)
    versions = ["0"]
    for number, rows in enumerate(steps, 1):
        registry, _ = registry.reload("t", rows, str(number))
        versions.append(str(number))
    entries = registry.log.get("t", ())
    assert len(entries) <= bounds.reloads
    assert sum(len(entry.rows) for entry in entries) <= bounds.rows
    reach = versions[len(versions) - 1 - len(entries) :]
    for version in versions:
        changes = registry.changes_since("t", version)
        assert changes.complete is (version in reach)
        assert changes.complete or not changes.rows


@pytest.mark.parametrize("bound", [{"reloads": -1}, {"rows": -1}])
def test_a_log_reaches_back_no_less_than_nothing(bound: dict[str, int]) -> None:
    with pytest.raises(InvalidValue):
        LogBounds(**bound)


@pytest.mark.requirement("C-CHG-05")
def test_a_version_that_was_never_there_gives_no_rows() -> None:
    changes = codes().changes_since("codes", "nobody's")
    assert (changes.version, changes.complete, dict(changes.rows)) == ("1.0.0", False, {})


@pytest.mark.requirement("C-CHG-03")
def test_downstream_is_the_union_over_the_reloads() -> None:
    registry = Registry.of(
        [Table("codes", {"g": "S"}, "1"), Table("promo", {"S": 1, "W": 1, "X": 1}, "1")],
        [Rule("codes", "promo", "r")],
    )
    registry, _ = registry.reload("codes", {"g": "W"}, "2")
    registry, _ = registry.reload("codes", {"g": "X"}, "3")
    assert registry.changes_since("codes", "1").downstream == (("promo", "S"), ("promo", "W"))
    assert registry.changes_since("codes", "2").downstream == (("promo", "W"),)


@pytest.mark.requirement("C-RLD-05")
def test_a_benign_bump_moves_the_version_and_nothing_else() -> None:
    registry, reload = codes().reload("codes", {"b": 2, "a": 1}, "1.1.0")
    assert (reload.old_version, reload.new_version) == ("1.0.0", "1.1.0")
    assert not reload.diff
    changes = registry.changes_since("codes", "1.0.0")
    assert (changes.version, changes.complete, dict(changes.rows)) == ("1.1.0", True, {})


@pytest.mark.parametrize("version", [None, "1.0.0"])
@pytest.mark.requirement("C-RLD-05")
def test_equal_rows_without_a_new_version_change_nothing(version: str | None) -> None:
    registry = codes()
    after, reload = registry.reload("codes", {"a": 1, "b": 2}, version)
    assert after is registry
    assert (reload.old_version, reload.new_version, bool(reload.diff)) == ("1.0.0", "1.0.0", False)


@pytest.mark.requirement("C-VER-03", "C-VER-01")
def test_a_version_never_names_other_rows_again() -> None:
    registry = codes()
    with pytest.raises(InvalidValue, match="other rows"):
        registry.reload("codes", {"a": 9}, "1.0.0")
    registry, _ = registry.reload("codes", {"a": 9}, "2.0.0")
    with pytest.raises(InvalidValue, match="other rows"):
        registry.reload("codes", {"a": 1, "b": 2}, "1.0.0")
    registry, _ = registry.reload("codes", None)
    with pytest.raises(InvalidValue, match="other rows"):
        registry.reload("codes", {"a": 1}, "2.0.0")


@pytest.mark.requirement("C-VER-04")
def test_a_chosen_version_returns_only_with_its_rows() -> None:
    registry = Registry.of([Table("t", {"k": 1}, "blue")])
    registry, first = registry.reload("t", {"k": 2})
    registry, second = registry.reload("t", {"k": 3})
    registry, third = registry.reload("t", {"k": 2})
    assert first.new_version == third.new_version != second.new_version
    assert registry.changes_since("t", third.new_version or "").complete
    assert dict(registry.changes_since("t", second.new_version or "").rows) != {}
    assert dict(registry.changes_since("t", "blue").rows) == {"k": row_version("t", "k", 2)}


def test_tables_come_and_go() -> None:
    registry, loaded = codes().reload("promo", {"S": {}})
    assert (loaded.old_version, loaded.diff.added) == (None, ("S",))
    assert (loaded.new_version or "").startswith("1.0.0+")
    registry, named = registry.reload("plans", {}, "7")
    assert registry.table_versions == {
        "codes": "1.0.0", "promo": loaded.new_version, "plans": "7"
    }  # fmt: skip
    registry, gone = registry.reload("promo", None)
    assert (gone.new_version, gone.diff.removed) == (None, ("S",))
    assert named.diff.added == ()
    assert "promo" not in registry.table_versions
    with pytest.raises(InvalidValue, match="loaded"):
        registry.reload("promo", None)


def test_the_rules_can_be_declared_anew() -> None:
    registry = codes()
    declared = registry.with_rules([Rule("codes", "codes", "r")])
    assert declared.rules_version != registry.rules_version
    assert declared.table_versions == registry.table_versions


def test_a_row_that_is_not_there_has_no_version() -> None:
    registry = codes(secret=KEY)
    assert registry.row_version("codes", "a") == row_version("codes", "a", 1, secret=KEY)
    assert registry.row_version("codes", "z") is None
    assert registry.row_version("nowhere", "a") is None
    assert "secret" not in repr(registry)


def test_two_tables_may_not_share_a_name() -> None:
    with pytest.raises(InvalidValue, match="own"):
        Registry.of([Table("t", {}, "1"), Table("t", {}, "2")])
