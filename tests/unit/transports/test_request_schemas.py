"""Schemas of requests, by operation and from OpenAPI documents; what is not there is unknown."""

from __future__ import annotations

from typing import Any

import pytest

from lapse.contract import Declined
from lapse.errors import InvalidValue
from lapse.ledger import JsonObject
from lapse.transports.http import RequestSchemas


def media(schema: Any, kind: str = "application/json") -> dict[str, Any]:
    return {"requestBody": {"content": {kind: {"schema": schema}}}}


ORDER = {
    "type": "object",
    "properties": {"plan": {"type": "string"}, "ship": {"$ref": "#/components/schemas/Ship"}},
}


def document(version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    return {
        "openapi": version,
        "servers": [{"url": "https://api.example/base/"}, {"url": "https://x.example"}, 7],
        "paths": {
            "/orders": {"post": media({"$ref": "#/components/schemas/Order"})},
            "/orders/{id}": {
                "get": {},
                "put": media({"properties": {"by_id": {}}}),
                "patch": {"$ref": "#/components/odd"},
            },
            "/orders/last": {"put": media({"properties": {"last": {}}})},
            "/a{x}c/é": {"post": media({"properties": {"mixed": {}}}, "Application/JSON; v=1")},
            "/form": {"post": media({"properties": {"f": {}}}, "multipart/form-data")},
            "/shared": {"post": {"requestBody": {"$ref": "#/components/requestBodies/Order"}}},
            "/circle": {"post": {"requestBody": {"$ref": "#/components/requestBodies/Circle"}}},
            "/none": {"post": {}},
        },
        "components": {
            "schemas": {
                "Order": ORDER,
                "Ship": {
                    "type": "object",
                    "properties": {"speed": {"enum": ["slow", "fast"]}},
                    "required": ["speed"],
                },
            },
            "requestBodies": {
                "Order": {"content": {"application/json": {"schema": ORDER}}},
                "Circle": {"$ref": "#/components/requestBodies/Circle"},
            },
            "odd": media({"properties": {"odd": {}}}),
        },
        **more,
    }


def allowed(
    schemas: RequestSchemas, method: str, path: str, parameters: JsonObject
) -> Declined | str | None:
    """What a request's schema has against it; a word when there is no schema."""
    check = schemas.check(f"{method} {path}", method, path)
    return "unknown" if check is None else check(parameters, parameters)


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
@pytest.mark.parametrize(
    ("method", "path", "parameters", "answer"),
    [
        ("POST", "/orders", {"plan": "growth"}, None),
        ("POST", "/base/orders", {"plan": "growth"}, None),
        ("POST", "/other/orders", {"plan": "growth"}, "unknown"),
        ("POST", "/orders", {"ship": {"speed": "fast"}}, None),
        ("POST", "/orders", {"ship": {"speed": "faster"}}, Declined.NOT_ACCEPTED),
        ("POST", "/orders", {"ship": {"to": "me"}}, Declined.NOT_IN_SCHEMA),
        ("POST", "/orders", {"more": 1}, Declined.NOT_IN_SCHEMA),
        ("PUT", "/orders/17", {"by_id": 1}, None),
        ("PUT", "/orders/a%2Fb", {"by_id": 1}, None),
        ("PUT", "/orders/last", {"last": 1}, None),
        ("PUT", "/orders/last", {"by_id": 1}, Declined.NOT_IN_SCHEMA),
        ("PUT", "/orders/", {"by_id": 1}, "unknown"),
        ("PUT", "/orders/17/x", {"by_id": 1}, "unknown"),
        ("PATCH", "/orders/17", {"odd": 1}, None),
        ("GET", "/orders/17", {"by_id": 1}, "unknown"),
        ("POST", "/abc/%C3%A9", {"mixed": 1}, None),
        ("POST", "/form", {"f": 1}, "unknown"),
        ("POST", "/shared", {"plan": "growth"}, None),
        ("POST", "/circle", {"plan": "growth"}, "unknown"),
        ("POST", "/none", {"plan": "growth"}, "unknown"),
    ],
)
def test_a_request_finds_the_schema_of_its_operation(
    version: str, method: str, path: str, parameters: JsonObject, answer: Declined | str | None
) -> None:
    schemas = RequestSchemas.from_openapi(document(version))
    assert allowed(schemas, method, path, parameters) == answer


@pytest.mark.parametrize(
    ("schema", "value", "answer"),
    [
        ({"type": "string", "nullable": True}, None, None),
        ({"type": "string", "enum": ["a"], "nullable": True}, None, None),
        ({"type": "string", "nullable": False}, None, Declined.NOT_ACCEPTED),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, 1, Declined.NOT_ACCEPTED),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, 2, None),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": False}, 1, None),
        ({"type": "number", "exclusiveMaximum": True}, 1, None),
        ({"$ref": "#/components/schemas/T", "nullable": True}, None, Declined.NOT_ACCEPTED),
        ({"nullable": True}, None, None),
        ({"anyOf": [{"type": "string"}]}, "x", None),
    ],
)
def test_the_words_of_3_0_mean_what_they_meant(
    schema: dict[str, Any], value: object, answer: Declined | None
) -> None:
    paths = {"/t": {"post": media({"properties": {"value": schema}})}}
    parts = {"schemas": {"T": {"type": "string"}}}
    schemas = RequestSchemas.from_openapi(document("3.0.0", paths=paths, components=parts))
    assert allowed(schemas, "POST", "/t", {"value": value}) == answer


def test_a_document_that_is_nested_too_deep_allows_nothing_there() -> None:
    deep: dict[str, Any] = {"properties": {"x": {"type": "string"}}}
    for _ in range(100):
        deep = {"allOf": [deep]}
    schemas = RequestSchemas.from_openapi(document("3.0.0", paths={"/t": {"post": media(deep)}}))
    assert allowed(schemas, "POST", "/t", {"x": "y"}) == Declined.NOT_IN_SCHEMA


@pytest.mark.parametrize(
    "given",
    [{}, {"openapi": "2.0", "paths": {}}, {"openapi": "3.1.0"}, {"openapi": "3.2.0", "paths": {}}],
)
def test_what_is_no_such_document_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match=r"3\.0 or 3\.1"):
        RequestSchemas.from_openapi(given)


@pytest.mark.parametrize("given", [{"type": 7}, 7, ["x"], {"$schema": 7}])
def test_what_is_no_schema_is_refused_by_the_operation_that_it_is_for(given: Any) -> None:
    with pytest.raises(InvalidValue, match="POST /order"):
        RequestSchemas.by_operation({"POST /order": given})


def test_operations_are_found_by_the_name_that_the_transport_gives_them() -> None:
    schemas = RequestSchemas.by_operation({"order": {"properties": {"plan": {}}}})
    check = schemas.check("order", "POST", "/anything")
    assert check is not None
    assert check({"plan": 1}, {"plan": 1}) is None
    assert schemas.check("POST /anything", "POST", "/anything") is None
