"""YAML, read strictly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.errors import InvalidValue
from lapse.server.strict_yaml import read_yaml

# Python's escapes beyond the first plane are surrogate pairs, which YAML does not read.
TEXT = st.text(st.characters(codec="ascii", exclude_characters="\x7f"), max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_json_is_read_as_json(value: Any) -> None:
    assert read_yaml(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("NO", "NO"),
        ("on", "on"),
        ("True", "True"),
        ("true", True),
        ("2026-11-30", "2026-11-30"),
        ("12:30:00", "12:30:00"),
        ("0x10", "0x10"),
        ("010", "010"),
        ("1_000", "1_000"),
        (".5", ".5"),
        (".inf", ".inf"),
        ("-12", -12),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("~", None),
        ("", None),
        ("a: {b: [1, x]}", {"a": {"b": [1, "x"]}}),
        ("<<: x", {"<<": "x"}),
        ("=", "="),
    ],
)
def test_only_the_scalars_of_json_are_more_than_text(text: str, value: object) -> None:
    read = read_yaml(text)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: 1\na: 2", "given twice"),
        ("{a: {x: 1, x: 2}}", "given twice"),
        ("a: &x [1]\nb: *x", "aliases"),
        ("a: !!python/object:os.system x", "tags"),
        ("!!timestamp 2026-11-30", "tags"),
        ("a: !custom 1", "tags"),
        ("? [1]\n: 2", "unhashable"),
        ("a: [", "write plain YAML"),
        ("a\tb: :\n -", "write plain YAML"),
        ("--- 1\n--- 2", "write plain YAML"),
        ("9" * 5_000, "write plain YAML"),
        ("[" * 3_000, "write plain YAML"),
        ("\x00", "write plain YAML"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        read_yaml(text)
