"""OpenAPI documents as tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lapse.errors import InvalidValue
from lapse.server.openapi import read_openapi


def document(
    schema: Any = None,
    *,
    openapi: str = "3.1.0",
    parameters: list[Any] | None = None,
    named: dict[str, Any] | None = None,
) -> str:
    operation: dict[str, Any] = {"parameters": parameters or []}
    if schema is not None:
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return json.dumps(
        {
            "openapi": openapi,
            "info": {"title": "The Shop!", "version": "7"},
            "paths": {"/orders/{id}": {"post": operation}},
            "components": {"schemas": named or {}},
        }
    )


def rows(text: str) -> dict[str, Any]:
    """The rows of the one operation, by place."""
    (table,) = read_openapi(text).tables.values()
    return {key.partition("#")[2]: row for key, row in table.items()}


def body(schema: Any, **options: Any) -> dict[str, Any]:
    return rows(document(schema, **options))


def test_parameters_in_every_place_become_rows() -> None:
    parameters: list[Any] = [
        {"name": "id", "in": "path", "schema": {"type": "string", "pattern": "^O", "maxLength": 9}},
        {"name": "size", "in": "query", "schema": {"type": "integer", "maximum": 5, "default": 2}},
        {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"enum": ["b", "a"]}}},
        {"name": "X-Key", "in": "header", "required": True, "schema": {"type": "string"}},
        {"name": "filter", "in": "query", "content": {"application/json": {}}},
    ]
    assert rows(document(parameters=parameters)) == {
        "path.id": {"type": "string", "required": True, "maxLength": 9, "pattern": "^O"},
        "query.size": {"type": "integer", "maximum": 5, "default": 2},
        "query.tags": {"type": "array"},
        "query.tags[]": {"enum": ["a", "b"]},
        "header.X-Key": {"type": "string", "required": True},
        "query.filter": {},
    }


def test_an_operations_own_parameter_wins_over_its_paths() -> None:
    path_item = {
        "parameters": [{"name": "q", "in": "query", "required": True}],
        "get": {"parameters": [{"name": "q", "in": "query", "schema": {"type": "integer"}}]},
    }
    text = json.dumps({"openapi": "3.0.3", "info": {}, "paths": {"/a": path_item}})
    assert read_openapi(text).tables["api"] == {"GET /a#query.q": {"type": "integer"}}


def test_members_items_and_unnamed_members_follow_their_owner() -> None:
    schema = {
        "type": "object",
        "required": ["lines"],
        "properties": {
            "lines": {
                "type": "array",
                "minItems": 1,
                "items": {"required": ["n"], "properties": {"n": {"type": "integer"}}},
            },
            "notes": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "additionalProperties": False,
    }
    assert body(schema) == {
        "body": {"type": "object", "additionalProperties": False},
        "body.lines": {"type": "array", "required": True, "minItems": 1},
        "body.lines[]": {"type": "object"},
        "body.lines[].n": {"type": "integer", "required": True},
        "body.notes": {"type": "object"},
        "body.notes.*": {"type": "string"},
    }


def test_references_are_followed_wherever_they_stand() -> None:
    found = body(
        {"$ref": "#/components/schemas/Order"},
        named={
            "Order": {"properties": {"to": {"$ref": "#/components/schemas/A~1b%20c"}}},
            "A/b c": {"type": "string", "format": "email"},
        },
    )
    assert found["body.to"] == {"type": "string", "format": "email"}


def test_a_type_that_holds_itself_is_said_once() -> None:
    node = {
        "type": "object",
        "required": ["next"],
        "properties": {"next": {"$ref": "#/components/schemas/Node"}, "n": {"type": "integer"}},
    }
    assert body({"$ref": "#/components/schemas/Node"}, named={"Node": node}) == {
        "body": {"type": "object"},
        "body.next": {"type": "object", "required": True},
        "body.n": {"type": "integer"},
    }


def test_references_in_a_circle_without_a_type_end() -> None:
    one, two = {"$ref": "#/components/schemas/Two"}, {"$ref": "#/components/schemas/One"}
    assert body(one, named={"One": one, "Two": two}) == {"body": {}}


def test_types_that_grow_without_end_are_cut_and_that_is_said() -> None:
    wide = {
        f"T{n}": {
            "type": "object",
            "properties": {f"p{m}": {"$ref": f"#/components/schemas/T{m}"} for m in range(12)},
        }
        for n in range(12)
    }
    described = read_openapi(document({"$ref": "#/components/schemas/T0"}, named=wide))
    assert described.unsaid["depth"] > 0
    assert read_openapi(document({"$ref": "#/components/schemas/T0"}, named=wide)) == described


def test_all_of_is_the_intersection() -> None:
    schema = {
        "allOf": [
            {
                "properties": {"a": {"type": "number", "minimum": 1}, "b": {"enum": ["x", "y"]}},
                "required": ["a"],
            },
            {
                "properties": {"a": {"type": "integer", "minimum": 3}, "b": {"enum": ["y", "z"]}},
                "required": ["b"],
            },
        ]
    }
    assert body(schema) == {
        "body": {"type": "object"},
        "body.a": {"type": "integer", "required": True, "minimum": 3},
        "body.b": {"required": True, "enum": ["y"]},
    }


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_alternatives_are_the_weakest_common_demand(keyword: str) -> None:
    card = {
        "type": "object",
        "required": ["type", "number"],
        "properties": {"type": {"enum": ["card"]}, "number": {"type": "string", "maxLength": 19}},
    }
    bank = {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": ["bank", "giro"]}},
    }
    assert body({keyword: [card, bank]}) == {
        "body": {"type": "object"},
        "body.type": {"required": True, "enum": ["bank", "card", "giro"]},
        "body.number": {"type": "string"},  # the other alternative says nothing of it
    }


def test_null_as_an_alternative_weakens_nothing_else() -> None:
    schema = {"properties": {"a": {"anyOf": [{"type": "integer", "maximum": 3}, {"type": "null"}]}}}
    assert body(schema)["body.a"] == {"type": "integer|null", "maximum": 3}


def test_the_two_versions_say_the_same_in_their_own_ways() -> None:
    old = {"type": "integer", "minimum": 0, "exclusiveMinimum": True, "nullable": True}
    new = {"type": ["integer", "null"], "exclusiveMinimum": 0}
    assert body({"properties": {"a": old}}, openapi="3.0.1")["body.a"] == {
        "type": "integer|null",
        "minimum": 1,
    }
    assert body({"properties": {"a": new}})["body.a"] == {
        "type": "integer|null",
        "exclusiveMinimum": 0,  # of a value that may be null, no whole bound is made
    }
    beside = {"$ref": "#/components/schemas/S", "maxLength": 3}
    short = {"type": "string"}
    assert (
        body({"properties": {"a": beside}}, openapi="3.0.1", named={"S": short})["body.a"] == short
    )
    assert body({"properties": {"a": beside}}, named={"S": short})["body.a"] == {
        **short,
        "maxLength": 3,
    }


def test_a_constant_is_the_only_choice_and_choices_have_an_order_of_their_own() -> None:
    schema = {"properties": {"a": {"const": "x"}, "b": {"enum": [3, 1, 2, 1, True]}}}
    assert body(schema)["body.a"] == {"enum": ["x"]}
    assert body(schema)["body.b"] == {"enum": [True, 1, 2, 3]}


def test_what_only_answers_hold_is_not_demanded() -> None:
    schema = {
        "required": ["id", "name"],
        "properties": {"id": {"type": "string", "readOnly": True}, "name": {"type": "string"}},
    }
    assert set(body(schema)) == {"body", "body.name"}


def test_what_rows_cannot_say_is_counted() -> None:
    schema = {
        "type": "object",
        "not": {"required": ["x"]},
        "properties": {
            "a": {"$ref": "other.json#/A"},
            "b": {"type": "integer", "maximum": 2**63 - 1},
            "c": {"if": {"minLength": 1}, "then": {}},
        },
    }
    described = read_openapi(document(schema))
    assert described.unsaid == {"not": 1, "if": 1, "maximum": 1, "reference to another document": 1}
    (table,) = described.tables.values()
    assert table["POST /orders/{id}#body.b"] == {"type": "integer"}


def test_forms_count_as_bodies_and_other_media_types_do_not() -> None:
    content: dict[str, Any] = {
        "application/x-www-form-urlencoded": {"schema": {"properties": {"a": {}}}},
        "application/xml": {"schema": {"properties": {"b": {}}}},
    }
    paths: Any = {"/a": {"post": {"requestBody": {"required": True, "content": content}}}}
    described = read_openapi(json.dumps({"openapi": "3.0.0", "info": {}, "paths": paths}))
    assert list(described.tables["api"]) == ["POST /a#body", "POST /a#body.a"]
    assert described.tables["api"]["POST /a#body"] == {"type": "object", "required": True}
    assert described.unsaid == {"media type": 1}


def test_one_table_for_the_service_or_one_for_each_tag() -> None:
    query = [{"name": "q", "in": "query"}]
    paths = {
        "/a": {"get": {"tags": ["Big: Things", "x"], "parameters": query}},
        "/b": {"get": {"parameters": query}},
    }
    text = json.dumps({"openapi": "3.0.0", "info": {"title": "The Shop!"}, "paths": paths})
    assert list(read_openapi(text).tables) == ["the-shop"]
    by_tag = read_openapi(text, service="shop", grouping="tag")
    assert {name: list(rows) for name, rows in by_tag.tables.items()} == {
        "shop/big-things": ["GET /a#query.q"],
        "shop": ["GET /b#query.q"],
    }


def test_yaml_says_the_same_as_json() -> None:
    text = document({"properties": {"a": {"type": "string", "enum": ["no", "on"]}}})
    value = json.loads(text)
    lines = "\n".join(f"{name}: {json.dumps(member)}" for name, member in value.items())
    assert read_openapi(lines) == read_openapi(text)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"swagger": "2.0"}', "swagger"),
        ('{"openapi": "3.1.0"}', "openapi"),
        ('{"openapi": "4.0", "paths": {}}', "openapi"),
        ("[1]", "the document"),
        ("{", "the file"),
        ("[" * 100_000, "the document"),
    ],
)
def test_what_is_no_document_is_refused_by_the_field_that_shows_it(text: str, field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        read_openapi(text)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "broken",
    [
        {"paths": {"/a": None, "b": {"get": {}}, "/c": {"get": {"parameters": 7}}}},
        {
            "paths": {
                "/a": {"get": {"parameters": [None, {"in": "query"}, {"in": "x", "name": "y"}]}}
            }
        },
        {"paths": {"/a": {"post": {"requestBody": {"content": {"application/json": None}}}}}},
        {"paths": {"/a": {"post": {"requestBody": {"$ref": "#/nowhere"}}}}},
        {"paths": {"/a": {"get": {"parameters": [{"in": "query", "name": "a\nb"}]}}}},
        {"paths": {}, "servers": [7, {"url": 7}, {"url": "https://x/{v}"}], "info": 7},
    ],
)
def test_a_careless_document_gives_what_can_be_read(broken: dict[str, Any]) -> None:
    described = read_openapi(json.dumps({"openapi": "3.0.0", **broken}))
    assert all(not key.endswith("b") for key in described.tables["api"])


def test_a_service_is_not_named_with_a_colon() -> None:
    with pytest.raises(InvalidValue, match="service"):
        read_openapi(document(), service="a:b")
