"""Derivation rules and their fingerprint."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import BY_KEY, Registry, Rule, fingerprint, member
from lapse.errors import InvalidValue

NAMES = st.sampled_from(["a", "b", "c"])
RULES = st.lists(st.builds(Rule, NAMES, NAMES, NAMES), max_size=5)


@given(RULES, st.randoms(use_true_random=False))
@pytest.mark.requirement("C-RUL-02")
def test_neither_order_nor_repetition_changes_the_fingerprint(rules: list[Rule], dice: Any) -> None:
    shuffled = [*rules, *rules]
    dice.shuffle(shuffled)
    assert fingerprint(shuffled) == fingerprint(rules)


@given(RULES, RULES)
@pytest.mark.requirement("C-RUL-02")
def test_other_rules_have_another_fingerprint(one: list[Rule], other: list[Rule]) -> None:
    assert (fingerprint(one) == fingerprint(other)) is (set(one) == set(other))


@pytest.mark.requirement("C-RUL-02")
def test_how_a_rule_reads_its_rows_is_not_declared_in_the_fingerprint() -> None:
    assert fingerprint([Rule("a", "b", "r", "x")]) == fingerprint([Rule("a", "b", "r", "y")])


@pytest.mark.requirement("C-RUL-01")
def test_the_fingerprint_is_a_digest_that_others_can_compute() -> None:
    rules = [Rule("codes", "promo", "needs"), Rule("a", "b", "r")]
    text = b'[["a","b","r"],["codes","promo","needs"]]'
    assert fingerprint(rules) == hashlib.sha256(text).hexdigest()[:12]


@pytest.mark.parametrize(
    ("via", "row", "targets"),
    [
        ("code", {"code": "S"}, ["S"]),
        ("codes", {"codes": ["S", "T", 3]}, ["S", "T"]),
        ("a.b", {"a": {"b": "S"}}, ["S"]),
        ("a.b", {"a.b": "T", "a": {"b": "S"}}, ["T"]),
        ("missing", {"code": "S"}, []),
        ("code", "S", []),
        ("", "S", ["S"]),
        ("", ["S", "T"], ["S", "T"]),
        ("", {"code": "S"}, []),
        (BY_KEY, {"code": "S"}, ["key"]),
    ],
)
def test_the_rows_that_a_rule_names(via: str, row: object, targets: list[str]) -> None:
    assert list(Rule("a", "b", "r", via).targets("key", row)) == targets


@pytest.mark.parametrize(
    "parts", [("", "b", "r"), ("a", "\n", "r"), ("a", "b", ""), ("a", "b", "r", "\0")]
)
def test_a_rule_refuses_what_cannot_travel(parts: tuple[str, ...]) -> None:
    with pytest.raises(InvalidValue):
        Rule(*parts)


def test_two_rules_may_not_differ_in_their_via_alone() -> None:
    with pytest.raises(InvalidValue, match="once"):
        Registry.of([], [Rule("a", "b", "r", "x"), Rule("a", "b", "r", "y")])
    assert Registry.of([], [Rule("a", "b", "r"), Rule("a", "b", "r")]).rules == (
        Rule("a", "b", "r"),
    )


def test_an_empty_path_is_the_value_itself() -> None:
    assert member([1], "") == (True, [1])
    assert member({"": 1}, "") == (True, {"": 1})
    assert member({"a": None}, "a") == (True, None)
    assert member({"a": 1}, "a.b") == (False, None)
