"""How a fix changes a request, told from the fix and the request alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import amend
from lapse.judges import Shape, shape_of

names = st.sampled_from("abcd")
flat = st.dictionaries(names, st.integers(0, 3), max_size=4)
nested = st.dictionaries(names, st.integers(0, 3) | flat, max_size=4)


@pytest.mark.parametrize(
    ("parameters", "when", "request_", "shape"),
    [
        ({"code": "A"}, {"plan": "p"}, {"plan": "p"}, Shape.ADD_A_FIELD),
        ({"code": "A"}, {"plan": "p"}, {"plan": "p", "code": "B"}, Shape.REWRITE_A_VALUE),
        (
            {"token": "credit"},
            {"contract": "yearly", "token": "debit"},
            {"contract": "yearly", "token": "debit"},
            Shape.CONDITIONAL_REWRITE,
        ),
        ({"token": "credit"}, {"token": "debit"}, {"token": "debit"}, Shape.REWRITE_A_VALUE),
        ({"token": "credit"}, None, {"token": "debit", "amount": 1}, Shape.CONDITIONAL_REWRITE),
        ({"token": "credit"}, None, {"token": "debit"}, Shape.REWRITE_A_VALUE),
        ({"pay": {"code": 1}}, {}, {"pay": {"amount": 1}}, Shape.ADD_A_FIELD),
        ({"pay": {"amount": 2}}, {}, {"pay": {"amount": 1}}, Shape.REWRITE_A_VALUE),
        (
            {"pay": {"amount": 2}},
            {"pay.amount": 1, "plan": "p"},
            {"pay": {"amount": 1}, "plan": "p"},
            Shape.CONDITIONAL_REWRITE,
        ),
        ({"code": None}, {"code": "B"}, {"code": "B"}, Shape.REWRITE_A_VALUE),
        ({"a": 1, "b": 2}, {"a": 0, "c": 1}, {"a": 0, "c": 1}, Shape.ADD_A_FIELD),
        ({}, {"a": 1}, {"a": 1}, Shape.REWRITE_A_VALUE),
    ],
)
def test_a_shape_is_told_from_the_fix_and_the_request(
    parameters: dict[str, Any], when: dict[str, Any] | None, request_: dict[str, Any], shape: Shape
) -> None:
    assert shape_of(parameters, when, request_) is shape


@given(nested, st.none() | flat, nested)
def test_once_merged_a_fix_adds_nothing_any_more(
    parameters: dict[str, Any], when: dict[str, Any] | None, request_: dict[str, Any]
) -> None:
    assert shape_of(parameters, when, amend(request_, parameters)) is not Shape.ADD_A_FIELD


@given(flat, st.none() | flat, flat)
def test_a_field_is_added_exactly_when_merging_makes_one_more(
    parameters: dict[str, int], when: dict[str, int] | None, request_: dict[str, int]
) -> None:
    grows = set(amend(request_, parameters)) > set(request_)
    assert (shape_of(parameters, when, request_) is Shape.ADD_A_FIELD) is grows
