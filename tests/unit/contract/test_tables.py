"""Tables, diffs and row versions."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import (
    Diff,
    Table,
    check_name,
    diff,
    following_version,
    is_name,
    node_id,
    row_version,
)
from lapse.errors import InvalidValue
from lapse.ledger import canonical

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 0.5, "", "a", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)
ROWS = st.dictionaries(st.sampled_from("abcdef"), VALUES, max_size=6)

KEY = "secret"


@given(VALUES, VALUES)
@pytest.mark.requirement("C-VER-02")
def test_row_versions_are_equal_exactly_when_the_rows_are(one: Any, other: Any) -> None:
    same = canonical(one) == canonical(other)
    assert (row_version("t", "k", one) == row_version("t", "k", other)) is same


@pytest.mark.requirement("C-VER-02")
def test_a_row_version_is_a_digest_that_others_can_compute() -> None:
    message = b'["codes","growth",{"code":"SUMMERSALE25"}]'
    row = {"code": "SUMMERSALE25"}
    assert row_version("codes", "growth", row) == hashlib.sha256(message).hexdigest()[:12]
    keyed = hmac.new(KEY.encode(), message, hashlib.sha256).hexdigest()[:12]
    assert row_version("codes", "growth", row, secret=KEY) == keyed


def test_a_row_version_says_which_row_it_is_of() -> None:
    assert len({row_version("a", "k", 1), row_version("b", "k", 1), row_version("a", "l", 1)}) == 3


@given(ROWS, ROWS)
def test_applying_a_diff_gives_the_new_content(old: dict[str, Any], new: dict[str, Any]) -> None:
    found = diff(old, new)
    patched = {key: row for key, row in old.items() if key not in found.removed}
    patched |= {key: new[key] for key in (*found.added, *found.changed)}
    assert canonical(patched) == canonical(new)
    assert diff(patched, new) == Diff()
    assert bool(found) is (canonical(old) != canonical(new))


@given(ROWS, ROWS)
def test_a_diff_read_backwards_swaps_added_and_removed(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    there, back = diff(old, new), diff(new, old)
    assert (there.added, there.removed, there.changed) == (back.removed, back.added, back.changed)
    assert there.keys == (*there.added, *there.removed, *there.changed)


def test_true_is_not_one_and_one_is_one_point_nought() -> None:
    assert diff({"k": True}, {"k": 1}).changed == ("k",)
    assert not diff({"k": 1}, {"k": 1.0})


@given(ROWS, ROWS)
def test_a_table_with_other_rows_is_the_table_built_from_them(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    replaced = Table("t", old, "1").replaced(new, "2")
    assert canonical(dict(replaced.rows)) == canonical(new)
    assert (replaced.name, replaced.version) == ("t", "2")


def test_a_table_under_another_version_keeps_its_rows() -> None:
    table = Table("t", {"k": [1]}, "1")
    assert table.at("2") == Table("t", {"k": [1]}, "2")


@pytest.mark.parametrize(
    ("name", "rows", "version", "field"),
    [
        ("", {}, "1", "table"),
        ("a:b", {}, "1", "table"),
        ("t", {"": 1}, "1", "key"),
        ("t", {"a\nb": 1}, "1", "key"),
        ("t", {"k": float("nan")}, "1", "value"),
        ("t", {"k": 2**53}, "1", "value"),
        ("t", {"k": {1, 2}}, "1", "value"),
        ("t", {}, "", "version"),
        ("t", {}, "x" * 513, "version"),
    ],
)
@pytest.mark.requirement("C-ENV-09", "C-GRF-02")
def test_a_table_refuses_what_cannot_travel(
    name: str, rows: dict[str, Any], version: str, field: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        Table(name, rows, version)
    assert refused.value.field == field


@pytest.mark.parametrize("row", [object(), float("inf"), {1: 2}, "\ud800"])
def test_rows_that_are_replaced_are_checked_too(row: object) -> None:
    with pytest.raises(InvalidValue):
        Table("t", {}, "1").replaced({"k": row}, "2")


def test_a_row_that_equals_nothing_is_checked_against_its_predecessor() -> None:
    held = [1]
    odd = _EqualsAnything()
    with pytest.raises(InvalidValue):
        Table("t", {"k": held}, "1").replaced({"k": odd}, "2")


class _EqualsAnything:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


@pytest.mark.parametrize("name", ["a", "x" * 512, "ü", "a b", "a/b#c.d", "\U0001f600"])
@pytest.mark.requirement("C-ENV-09")
def test_what_may_be_a_name(name: str) -> None:
    assert is_name(name)
    assert check_name("x", name) == name


@pytest.mark.parametrize(
    "name", ["", "x" * 513, "a\x00", "a\n", "\x7f", "\x85", "\u2028", "\u2029", "\ud800"]
)
@pytest.mark.requirement("C-ENV-09")
def test_what_may_not_be_a_name(name: str) -> None:
    assert not is_name(name)
    with pytest.raises(InvalidValue):
        check_name("x", name)


def test_what_is_no_text_is_no_name() -> None:
    with pytest.raises(InvalidValue, match="x is 3"):
        check_name("x", 3)


@pytest.mark.parametrize(
    ("old", "begins"),
    [
        (None, "1.0.0+"),
        ("1.0.0", "1.0.1+"),
        ("1.0.1+abc", "1.0.2+"),
        ("7.9", "7.10+"),
        ("2024-05", "2024-05+"),
        ("blue", "blue+"),
        ("9" * 30, "9" * 30 + "+"),
        ("x" * 512, "x" * 499 + "+"),
    ],
)
@pytest.mark.requirement("C-VER-04")
def test_a_version_that_follows(old: str | None, begins: str) -> None:
    one, other = following_version(old, {"k": 1}), following_version(old, {"k": 2})
    assert one.startswith(begins)
    assert one != other
    assert is_name(one)
    assert one == following_version(old, {"k": 1})


@pytest.mark.requirement("C-GRF-02")
def test_a_node_id_can_be_taken_apart() -> None:
    assert node_id("t", "a:b").partition(":") == ("t", ":", "a:b")
