"""What a schema has against a fix: fields it does not declare, values it does not accept."""

from __future__ import annotations

from typing import Any

import pytest

from lapse.contract import Amendment, AmendmentRules, Declined, Fix, amend, amendment
from lapse.testing import sample
from lapse.testing.scribe import ISSUER
from lapse.transports.schema_checking import check_of

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "plan": {"type": "string"},
        "code": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "pay": {"$ref": "#/$defs/Pay"},
        "free": {"type": "object"},
        "speed": {"enum": ["slow", "fast"]},
        "made": {"type": "string", "readOnly": True},
    },
    "required": ["plan"],
    "$defs": {
        "Pay": {
            "type": "object",
            "properties": {"kind": {"type": "string"}, "n": {"type": "integer"}},
        }
    },
}
ORDER = {"plan": "growth"}


def fix(parameters: dict[str, Any]) -> Fix:
    return Fix(sample("f"), "ADD", parameters, {"plan": "growth"})


def merged(parameters: dict[str, Any], schema: dict[str, Any] | None = None) -> Amendment:
    """An order with a fix, under a schema."""
    return amendment(
        ORDER,
        [fix(parameters)],
        issuer=ISSUER,
        operation="place",
        rules=AmendmentRules(),
        check=check_of(SCHEMA if schema is None else schema),
    )


@pytest.mark.requirement("C-MCP-21")
@pytest.mark.requirement("C-CLI-25")
@pytest.mark.parametrize(
    ("parameters", "sent"),
    [
        ({"code": "SUMMER25"}, {"plan": "growth", "code": "SUMMER25"}),
        ({"code": None}, {"plan": "growth", "code": None}),
        ({"plan": "scale"}, {"plan": "scale"}),
        ({"speed": "fast"}, {"plan": "growth", "speed": "fast"}),
        ({"pay": {"kind": "t"}}, {"plan": "growth", "pay": {"kind": "t"}}),
    ],
)
def test_what_the_schema_declares_and_accepts_is_merged(
    parameters: dict[str, Any], sent: dict[str, Any]
) -> None:
    assert merged(parameters).after == sent


@pytest.mark.requirement("C-MCP-21")
@pytest.mark.requirement("C-CLI-25")
@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"coupon": "x"}, Declined.NOT_IN_SCHEMA),
        ({"code": 7}, Declined.NOT_ACCEPTED),
        ({"speed": "faster"}, Declined.NOT_ACCEPTED),
        ({"code": "SUMMER25", "coupon": "x"}, Declined.NOT_IN_SCHEMA),
        ({"pay": {"kind": "t", "more": "x"}}, Declined.NOT_IN_SCHEMA),
        ({"pay": {"n": "1"}}, Declined.NOT_ACCEPTED),
        ({"pay": "t"}, Declined.NOT_ACCEPTED),
        ({"free": {"anything": 1}}, Declined.NOT_IN_SCHEMA),
        ({"made": "now"}, Declined.NOT_IN_SCHEMA),
    ],
)
def test_what_it_does_not_is_left_out_whole(parameters: dict[str, Any], reason: Declined) -> None:
    made = merged(parameters)
    assert made.after == ORDER
    assert [one.reason for one in made.declined] == [reason]


@pytest.mark.requirement("C-MCP-21")
@pytest.mark.requirement("C-CLI-25")
@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": 7},
        {"$schema": 7, "properties": {"code": {}}},
        {"properties": {"code": {"$ref": "http://192.0.2.1/schema"}}},
        {"properties": {"code": {"$ref": "#/$defs/none"}}},
        {"properties": {"code": {"pattern": "("}}},
        {"$ref": "#/properties/x/y", "properties": {"x": 1}},
    ],
)
def test_a_schema_that_cannot_be_read_lets_nothing_through(schema: dict[str, Any]) -> None:
    assert merged({"code": "x"}, schema).after == ORDER


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"properties": {"code": {"$ref": "#/properties/code"}}}
    assert merged({"code": {"deep": {"deeper": 1}}}, schema).after == ORDER


def test_a_check_says_nothing_when_it_has_nothing_against_a_fix() -> None:
    assert check_of(SCHEMA)({"code": "A"}, amend(ORDER, {"code": "A"})) is None
