"""What holds for every document and every request."""

from __future__ import annotations

import json
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import CacheHint, Registry, Table, amend
from lapse.errors import InvalidValue
from lapse.server.gateway_faults import Cure, Fault, faults
from lapse.server.gateway_routes import RowIndex
from lapse.server.gateway_sent import sent_of
from lapse.server.openapi import Operation, read_openapi

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 9),
    st.sampled_from([0.5, 2.0]),
    st.sampled_from("abc"),
)
NAMES = st.sampled_from(["a", "b", "c"])
BODIES = st.recursive(
    st.dictionaries(NAMES, SCALARS, max_size=3),
    lambda inner: st.dictionaries(NAMES, st.one_of(SCALARS, inner, st.lists(inner)), max_size=3),
    max_leaves=8,
)
ROWS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["string", "integer", "number", "boolean", "object", "null|string"]
        ),
        "required": st.sampled_from([True]),
        "enum": st.lists(SCALARS, min_size=1, max_size=3),
        "default": SCALARS,
        "minimum": st.integers(-5, 5),
        "maximum": st.integers(-5, 5),
        "exclusiveMaximum": st.integers(-5, 5),
        "multipleOf": st.integers(1, 4),
        "maxLength": st.integers(0, 2),
        "additionalProperties": st.sampled_from([False]),
    },
)
PLACES = st.sampled_from(
    ["body", "body.a", "body.b", "body.a.b", "body.a.b.c", "body.c[]", "query.a"]
)
OPERATION = Operation("POST", "/x", "t")
JSON = (b"content-type", b"application/json")


def found(rows: dict[str, Any], body: dict[str, Any], query: bytes = b"") -> list[Fault]:
    registry = Registry.of([Table("t", {f"POST /x#{key}": row for key, row in rows.items()}, "1")])
    demands = RowIndex().demands(OPERATION, registry)
    scope = {"headers": [JSON], "query_string": query}
    return (
        [] if demands is None else list(faults(demands, sent_of(scope, json.dumps(body).encode())))
    )


def member(body: Any, path: str) -> Any:
    for name in path.split("."):
        body = cast("dict[str, Any]", body).get(name) if isinstance(body, dict) else None
    return body


@given(st.dictionaries(PLACES, ROWS, max_size=6), BODIES)
def test_a_cure_removes_its_fault_and_holds_for_the_request_it_was_made_for(
    rows: dict[str, Any], body: dict[str, Any]
) -> None:
    for fault in found(rows, body):
        if not isinstance(fault.cure, Cure) or fault.cure.place is not None:
            continue
        mended = amend(body, fault.cure.parameters)
        assert fault.key not in {one.key for one in found(rows, mended)}
        assert all(member(body, path) == value for path, value in fault.cure.when.items())
        assert fault.cure.hint in CacheHint


@given(st.dictionaries(PLACES, ROWS, max_size=6), BODIES, st.binary(max_size=20))
def test_no_request_breaks_the_comparison(
    rows: dict[str, Any], body: dict[str, Any], query: bytes
) -> None:
    found(rows, body, query)


KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "allOf",
        "oneOf",
        "anyOf",
        "enum",
        "const",
        "required",
        "$ref",
        "minimum",
        "exclusiveMinimum",
        "additionalProperties",
        "default",
        "nullable",
        "not",
        "a",
        "b",
    ]
)
ANYTHING = st.recursive(
    st.one_of(
        SCALARS,
        st.sampled_from(["#/components/schemas/a", "#/components/schemas/b", "#/x", "y", "object"]),
        st.floats(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(KEYWORDS, inner, max_size=4)
    ),
    max_leaves=20,
)


@given(ANYTHING, ANYTHING, ANYTHING, st.sampled_from(["3.0.3", "3.1.0"]))
def test_a_document_is_read_or_refused_whatever_its_schemas_hold(
    schema: Any, one: Any, other: Any, version: str
) -> None:
    content = {"application/json": {"schema": schema}}
    document = {
        "openapi": version,
        "info": {"title": "x"},
        "paths": {"/x": {"post": {"requestBody": {"content": content}}}},
        "components": {"schemas": {"a": one, "b": other}},
    }
    try:
        described = read_openapi(json.dumps(document))
    except InvalidValue:
        return
    # Whatever was read can become a table, and is read the same again.
    for name, rows in described.tables.items():
        Table(name, rows, "1")
    assert read_openapi(json.dumps(document)) == described
