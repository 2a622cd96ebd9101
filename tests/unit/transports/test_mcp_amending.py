"""Merging a fix into a call: what the schema declares and accepts, whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from lapse.contract import Fix
from lapse.testing import sample
from lapse.transports.mcp_proxy.amending import Amended, amended

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "plan": {"type": "string"},
        "code": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "pay": {"$ref": "#/$defs/Pay"},
        "free": {"type": "object"},
    },
    "required": ["plan"],
    "$defs": {
        "Pay": {
            "type": "object",
            "properties": {"token": {"type": "string"}, "n": {"type": "integer"}},
        }
    },
}
ORDER = {"plan": "growth"}


def fix(parameters: dict[str, Any], id_: str = "f") -> Fix:
    return Fix(sample(id_), "ADD", parameters, {"plan": "growth"})


@pytest.mark.requirement("C-MCP-21")
@pytest.mark.parametrize(
    ("parameters", "sent"),
    [
        ({"code": "SUMMER25"}, {"plan": "growth", "code": "SUMMER25"}),
        ({"plan": "scale"}, {"plan": "scale"}),
        ({"pay": {"token": "t"}}, {"plan": "growth", "pay": {"token": "t"}}),
    ],
)
def test_what_the_schema_declares_is_merged(
    parameters: dict[str, Any], sent: dict[str, Any]
) -> None:
    one = fix(parameters)
    assert amended(ORDER, [one], SCHEMA) == Amended(sent, merged=(one,))


@pytest.mark.requirement("C-MCP-21")
@pytest.mark.parametrize(
    "parameters",
    [
        {"coupon": "x"},
        {"code": 7},
        {"code": "SUMMER25", "coupon": "x"},
        {"pay": {"token": "t", "recipient": "x"}},
        {"pay": {"n": "1"}},
        {"pay": "t"},
        {"free": {"anything": 1}},
    ],
)
def test_what_it_does_not_is_left_out_whole(parameters: dict[str, Any]) -> None:
    one = fix(parameters)
    assert amended(ORDER, [one], SCHEMA) == Amended(ORDER, refused=(one,))


@pytest.mark.requirement("C-MCP-21")
@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        {"type": 7},
        {"properties": {"code": {"$ref": "http://192.0.2.1/schema"}}},
        {"properties": {"code": {"$ref": "#/$defs/none"}}},
        {"properties": {"code": {"pattern": "("}}},
    ],
)
def test_a_schema_that_cannot_be_read_lets_nothing_through(schema: dict[str, Any] | None) -> None:
    assert amended(ORDER, [fix({"code": "x"})], schema).arguments == ORDER


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"properties": {"code": {"$ref": "#/properties/code"}}}
    assert amended(ORDER, [fix({"code": {"deep": {"deeper": 1}}})], schema).arguments == ORDER


def test_a_later_fix_counts_over_an_earlier_one_and_one_that_is_there_is_not_merged() -> None:
    old, new, same = fix({"code": "A"}, "a"), fix({"code": "B"}, "b"), fix({"plan": "growth"}, "c")
    assert amended(ORDER, [old, new, same], SCHEMA) == Amended(
        {"plan": "growth", "code": "B"}, merged=(old, new)
    )
