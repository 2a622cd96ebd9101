"""Declarations from plain mappings."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lapse.contract import (
    CacheHint,
    Check,
    Constant,
    Declaration,
    Field,
    Found,
    LookUp,
    Policy,
    Rounded,
    Rule,
    Table,
    Template,
    Test,
    declaration,
)
from lapse.errors import InvalidValue

DECLARED: dict[str, Any] = {
    "tables": {
        "codes": {"version": "1.0.0", "rows": {"growth": {"code": "S25"}}},
        "promo": {"rows": {"S25": {}}},
        "empty": {},
    },
    "rules": [{"from": "codes", "to": "promo", "relation": "needs", "via": "code"}],
    "policies": [
        {
            "id": "assigned",
            "operation": "POST /v1/subscriptions",
            "title": "T",
            "detail": "D",
            "when": [{"field": "plan", "one_of": ["growth", "scale"]}],
            "look_ups": {"row": {"table": "codes", "key": {"field": "plan"}}},
            "require": {"field": "code", "equals": {"look_up": "row", "member": "code"}},
            "suggest": {
                "type": "ADD",
                "parameters": {
                    "code": {"look_up": "row", "member": "code"},
                    "whole": {"look_up": "row"},
                    "amount": {"round": "amount", "decimals": 2},
                    "fixed": {"value": {"a": 1}},
                    "seats": 3,
                },
                "table": "codes",
                "cache_hint": "cacheable",
            },
        },
        {
            "id": "known",
            "operation": "POST /v1/subscriptions",
            "title": "T",
            "detail": "D",
            "look_ups": {"row": {"table": "codes", "key": "growth"}},
            "require": {"look_up": "row", "member": "code", "key_of": "promo"},
        },
    ],
}


def test_everything_that_can_be_declared() -> None:
    declared = declaration(DECLARED)
    assert isinstance(declared, Declaration)
    assert declared.registry.tables["codes"] == Table("codes", {"growth": {"code": "S25"}}, "1.0.0")
    assert declared.registry.tables["promo"].version.startswith("1.0.0+")
    assert declared.registry.rules == (Rule("codes", "promo", "needs", "code"),)
    first, second = declared.policies
    assert first == Policy(
        id="assigned",
        operation="POST /v1/subscriptions",
        title="T",
        detail="D",
        when=(Check(Field("plan"), Test.ONE_OF, Constant(["growth", "scale"])),),
        look_ups={"row": LookUp("codes", Field("plan"))},
        require=Check(Field("code"), Test.EQUALS, Found("row", "code")),
        fix=Template(
            "ADD",
            {
                "code": Found("row", "code"),
                "whole": Found("row"),
                "amount": Rounded("amount", 2),
                "fixed": Constant({"a": 1}),
                "seats": Constant(3),
            },
            table="codes",
            cache_hint=CacheHint.CACHEABLE,
        ),
    )
    assert second.require == Check(Found("row", "code"), Test.KEY_OF, Constant("promo"))
    assert (second.fix, second.look_ups["row"].key) == (None, Constant("growth"))


def test_a_version_that_is_not_declared_follows_from_the_rows() -> None:
    again = declaration(copy.deepcopy(DECLARED))
    assert again.registry.table_versions == declaration(DECLARED).registry.table_versions


def test_nothing_is_a_declaration_too() -> None:
    assert declaration({}).policies == ()
    assert dict(declaration({"tables": {}}).registry.tables) == {}


MISSING = object()


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ((), [], "the file"),
        ((), None, "the file"),
        (("tabels",), {}, "the file.tabels"),
        (("tables",), [], "the file.tables"),
        (("tables", 7), {}, "the file.tables: name"),
        (("tables", "codes"), None, "the file.tables.codes"),
        (("tables", "codes", "version"), 1.0, "the file.tables.codes.version"),
        (("tables", "codes", "rows", 7), {}, "the file.tables.codes.rows: name"),
        (("tables", "codes", "rows", "a\n"), {}, "the file.tables.codes: key"),
        (("tables", "a:b"), {}, "the file.tables.a:b: table"),
        (("rules",), {}, "the file.rules"),
        (("rules", 0, "to"), MISSING, "the file.rules[0].to"),
        (("rules", 0, "relation"), "", "relation"),
        (("policies", 0, "id"), MISSING, "the file.policies[0].id"),
        (("policies", 0, "title"), 3, "the file.policies[0].title"),
        (("policies", 0, "require"), MISSING, "the file.policies[0].require"),
        (("policies", 0, "require", "equals"), MISSING, "the file.policies[0].require"),
        (("policies", 0, "require", "present"), True, "the file.policies[0].require"),
        (("policies", 0, "require", "look_up"), "row", "the file.policies[0].require"),
        (("policies", 0, "require", "field"), MISSING, "the file.policies[0].require"),
        (("policies", 0, "require", "field"), 3, "the file.policies[0].require.field"),
        (
            ("policies", 0, "require"),
            {"field": "x", "decimals": "2"},
            "the file.policies[0].require.decimals",
        ),
        (
            ("policies", 0, "when", 0),
            {"field": "x", "present": 1},
            "the file.policies[0].when[0].present",
        ),
        (
            ("policies", 0, "look_ups", "row", "key"),
            MISSING,
            "the file.policies[0].look_ups.row.key",
        ),
        (("policies", 0, "look_ups", "row", "table"), "gone", "policy assigned: table"),
        (
            ("policies", 0, "suggest", "cache_hint"),
            "often",
            "the file.policies[0].suggest.cache_hint",
        ),
        (
            ("policies", 0, "suggest", "parameters", "code"),
            {},
            "the file.policies[0].suggest.parameters.code",
        ),
        (
            ("policies", 0, "suggest", "parameters", "amount", "decimals"),
            "2",
            "the file.policies[0].suggest.parameters.amount.decimals",
        ),
        (("policies", 1, "require", "key_of"), "gone", "policy known: table"),
        (("policies", 1, "id"), "assigned", "policies"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    path: tuple[Any, ...], value: Any, field: str
) -> None:
    declared: Any = copy.deepcopy(DECLARED)
    if path:
        *outer, last = path
        here = declared
        for step in outer:
            here = here[step]
        if value is MISSING:
            del here[last]
        else:
            here[last] = value
    else:
        declared = value
    with pytest.raises(InvalidValue) as refused:
        declaration(declared)
    assert refused.value.field == field


def test_a_file_without_tables_says_that_there_are_none() -> None:
    policies = [DECLARED["policies"][1]]
    with pytest.raises(InvalidValue, match="none"):
        declaration({"policies": policies})
