"""What a document determines of a cure, and what it does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lapse.contract import CacheHint, Registry, Table
from lapse.server.gateway_faults import Cure, Fault, faults
from lapse.server.gateway_routes import RowIndex
from lapse.server.gateway_sent import Sent, sent_of
from lapse.server.gateway_values import Kind, NoCure
from lapse.server.openapi import Operation

OPERATION = Operation("POST", "/a", "t")


def found(rows: dict[str, Any], sent: Sent) -> list[Fault]:
    """The faults of a request by rows that are keyed ``in.name``."""
    registry = Registry.of([Table("t", {f"POST /a#{k}": row for k, row in rows.items()}, "1")])
    demands = RowIndex().demands(OPERATION, registry)
    assert demands is not None
    return list(faults(demands, sent))


def sent(body: Any = None, query: str = "", **headers: str) -> Sent:
    """A request with a JSON body, or without one."""
    lines = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    if body is not None:
        lines.append((b"content-type", b"application/json"))
    scope = {"headers": lines, "query_string": query.encode()}
    return sent_of(scope, b"" if body is None else json.dumps(body).encode())


def form(text: str) -> Sent:
    line = (b"content-type", b"application/x-www-form-urlencoded")
    return sent_of({"headers": [line], "query_string": b""}, text.encode())


def of_one(row: dict[str, Any], body: Any) -> Fault | None:
    """The fault of the member `x` of a body."""
    all_found = found({"body": {"type": "object"}, "body.x": row}, sent(body))
    assert len(all_found) < 2
    return all_found[0] if all_found else None


MISSING: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("row", "body", "action", "value", "when"),
    [
        ({"required": True, "default": 3}, MISSING, "ADD_REQUIRED", 3, None),
        ({"required": True, "enum": ["a"]}, MISSING, "ADD_REQUIRED", "a", None),
        ({"required": True, "enum": ["a", None]}, MISSING, "ADD_REQUIRED", "a", None),
        (
            {"required": True, "enum": ["a", "b"], "default": "b"},
            MISSING,
            "ADD_REQUIRED",
            "b",
            None,
        ),
        ({"enum": ["a"]}, {"x": "z"}, "SET_ALLOWED", "a", "z"),
        ({"enum": ["a", "b"], "default": "b"}, {"x": "z"}, "SET_ALLOWED", "b", "z"),
        ({"type": "integer", "maximum": 5}, {"x": 9}, "SET_WITHIN_BOUNDS", 5, 9),
        ({"type": "number", "minimum": 0.5}, {"x": 0.1}, "SET_WITHIN_BOUNDS", 0.5, 0.1),
        ({"maximum": 10, "multipleOf": 4}, {"x": 11}, "SET_WITHIN_BOUNDS", 8, 11),
        ({"minimum": 5, "multipleOf": 4}, {"x": 1}, "SET_WITHIN_BOUNDS", 8, 1),
    ],
)
def test_what_leaves_no_choice_is_suggested(
    row: dict[str, Any], body: Any, action: str, value: Any, when: Any
) -> None:
    fault = of_one(row, body)
    assert fault is not None
    assert fault.cure == Cure(
        action=action, parameters={"x": value}, when={"x": when}, rests_on=("body.x",)
    )


@pytest.mark.parametrize(
    ("row", "body", "kind", "why"),
    [
        ({"required": True}, MISSING, Kind.MISSING, NoCure.NO_VALUE),
        ({"required": True, "enum": ["a", "b"]}, MISSING, Kind.MISSING, NoCure.NO_VALUE),
        ({"required": True, "enum": ["a"], "type": "integer"}, MISSING, Kind.MISSING, "no_value"),
        ({"enum": ["POST", "GET"]}, {"x": "post"}, Kind.NOT_ALLOWED, NoCure.NO_VALUE),
        ({"enum": ["a", "b"], "default": "c"}, {"x": "z"}, Kind.NOT_ALLOWED, NoCure.NO_VALUE),
        ({"type": "string", "maxLength": 2}, {"x": "abc"}, Kind.TOO_LONG, NoCure.NO_VALUE),
        ({"type": "string", "minLength": 2}, {"x": "a"}, Kind.TOO_SHORT, NoCure.NO_VALUE),
        ({"exclusiveMaximum": 5}, {"x": 5}, Kind.TOO_LARGE, NoCure.OPEN_BOUND),
        ({"exclusiveMinimum": 5}, {"x": 5}, Kind.TOO_SMALL, NoCure.OPEN_BOUND),
        ({"multipleOf": 4}, {"x": 5}, Kind.NOT_A_MULTIPLE, NoCure.NO_VALUE),
        ({"minimum": 5, "maximum": 3}, {"x": 1}, Kind.TOO_SMALL, NoCure.NO_VALUE),
        ({"type": "integer"}, {"x": "many"}, Kind.WRONG_TYPE, NoCure.NO_VALUE),
        ({"type": "integer"}, {"x": 1.5}, Kind.WRONG_TYPE, NoCure.NO_VALUE),
        ({"type": "object"}, {"x": []}, Kind.WRONG_TYPE, NoCure.NO_VALUE),
        ({"enum": ["a"], "format": "password"}, {"x": "z"}, Kind.NOT_ALLOWED, NoCure.SECRET),
    ],
)
def test_what_leaves_a_choice_is_not(row: dict[str, Any], body: Any, kind: Kind, why: str) -> None:
    fault = of_one(row, body)
    assert fault is not None
    assert (fault.kind, fault.cure) == (kind, why)


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ({"type": "string|null"}, None),
        ({"type": "integer"}, 2.0),
        ({"type": "number"}, 2),
        ({"type": "string", "pattern": "^a$", "format": "uri"}, "b"),
        ({"enum": [True]}, True),
        ({}, {"any": "thing"}),
        ({"type": "unheard-of"}, 1),
        ({"type": "array", "maxItems": 1}, [1, 2]),
    ],
)
def test_what_a_row_does_not_forbid_is_no_fault(row: dict[str, Any], value: Any) -> None:
    assert of_one(row, {"x": value}) is None


def test_true_is_not_one() -> None:
    fault = of_one({"enum": [1]}, {"x": True})
    assert fault is not None
    assert fault.kind is Kind.NOT_ALLOWED


@pytest.mark.parametrize(
    ("kind", "given", "right"),
    [
        ("integer", "5", 5),
        ("number", "-2.50", -2.5),
        ("boolean", "true", True),
        ("string", 5, "5"),
        ("string", True, "true"),
    ],
)
def test_the_same_value_in_another_type_follows_from_the_request(
    kind: str, given: Any, right: Any
) -> None:
    fault = of_one({"type": kind}, {"x": given})
    assert fault is not None
    assert isinstance(fault.cure, Cure)
    assert fault.cure.parameters == {"x": right}
    assert fault.cure.hint is CacheHint.RECOMPUTE


def test_a_member_deep_inside_is_cured_where_it_stands() -> None:
    rows = {
        "body": {"type": "object"},
        "body.a": {"type": "object", "required": True},
        "body.a.b": {"type": "object"},
        "body.a.b.c": {"required": True, "default": 1},
    }
    (fault,) = found(rows, sent({"a": {"b": {"d": 2}}}))
    assert fault.cure == Cure(
        action="ADD_REQUIRED",
        parameters={"a": {"b": {"c": 1}}},
        # `b` may be left out, so the cure is for requests that have it as it was.
        when={"a.b.c": None, "a.b": {"d": 2}},
        rests_on=("body.a.b.c", "body.a", "body.a.b"),
    )
    assert found(rows, sent({"a": {}})) == []


def test_where_everything_around_it_is_demanded_the_condition_is_the_member_alone() -> None:
    rows = {
        "body.a": {"type": "object", "required": True},
        "body.a.b": {"required": True, "default": 1},
    }
    (fault,) = found({"body": {}, **rows}, sent({"a": {"z": 1}}))
    assert isinstance(fault.cure, Cure)
    assert fault.cure.when == {"a.b": None}


def test_lists_are_not_looked_into_and_closed_objects_say_what_is_unknown() -> None:
    rows = {
        "body": {"additionalProperties": False},
        "body.l": {"type": "array"},
        "body.l[]": {"type": "object"},
        "body.l[].n": {"type": "integer", "required": True, "default": 1},
    }
    (fault,) = found(rows, sent({"l": [{}], "other": 1}))
    assert (fault.key, fault.kind, fault.cure) == ("body.other", Kind.UNKNOWN, NoCure.NO_WORD)


def test_names_that_a_path_cannot_say_and_long_conditions_get_no_cure() -> None:
    row = {"enum": ["a"]}
    (dotted,) = found({"body": {}, "body.x.y": row}, sent({"x.y": "z"}))
    assert dotted.cure is NoCure.NO_PLACE
    (long,) = found({"body": {}, "body.x": row}, sent({"x": "z" * 2_000}))
    assert long.cure is NoCure.NO_PLACE


def test_a_query_is_made_of_texts_and_its_condition_too() -> None:
    row = {"type": "integer", "maximum": 100}
    (fault,) = found({"query.size": row}, sent(query="size=5000"))
    assert fault.cure == Cure(
        action="SET_WITHIN_BOUNDS",
        parameters={"size": 100},
        when={"size": "5000"},
        rests_on=("query.size",),
    )
    assert found({"query.size": row}, sent(query="size=50")) == []
    assert found({"query.size": row}, sent()) == []


def test_a_query_beside_a_body_is_out_of_a_memorys_reach() -> None:
    (fault,) = found({"query.size": {"maximum": 1, "type": "integer"}}, sent({}, query="size=2"))
    assert isinstance(fault.cure, Cure)
    assert (fault.cure.hint, fault.cure.place) == (CacheHint.RECOMPUTE, "query")


def test_headers_are_cured_for_the_moment_and_credentials_never() -> None:
    rows: dict[str, Any] = {
        "header.X-Mode": {"enum": ["fast"], "required": True},
        "header.Authorization": {"required": True, "default": "Bearer x"},
        "header.Cookie": {"enum": ["a"]},
    }
    mode, credential = found(rows, sent(cookie="b"))
    assert isinstance(mode.cure, Cure)
    assert (mode.cure.parameters, mode.cure.place) == ({"X-Mode": "fast"}, "header")
    assert (credential.kind, credential.cure) == (Kind.MISSING, NoCure.SECRET)


def test_lists_and_repeated_names_in_a_query_are_left_alone() -> None:
    rows: dict[str, Any] = {
        "query.a": {"type": "array", "required": True, "default": ["x"]},
        "query.a[]": {"enum": ["x"]},
        "query.b": {"type": "integer"},
    }
    assert found(rows, sent(query="a=1&a=2&b=1&b=x")) == []
    (absent,) = found(rows, sent())
    assert absent.cure is NoCure.NO_PLACE


def test_a_form_is_made_of_texts() -> None:
    rows: dict[str, Any] = {
        "body": {},
        "body.n": {"type": "integer", "maximum": 5},
        "body.on": {"type": "boolean"},
        "body.k": {"enum": ["a"], "required": True},
        "body.o": {"type": "object"},
    }
    many, kind = found(rows, form("n=9&on=TRUE&o=x"))
    assert isinstance(many.cure, Cure)
    assert (many.cure.parameters, many.cure.when) == ({"n": 5}, {"n": "9"})
    assert isinstance(kind.cure, Cure)
    assert kind.cure.parameters == {"k": "a"}


def test_a_body_that_is_demanded_and_not_there() -> None:
    rows = {"body": {"required": True}, "body.x": {"required": True, "default": 1}}
    (fault,) = found(rows, sent())
    assert (fault.key, fault.kind, fault.cure) == ("body", Kind.MISSING, NoCure.NO_VALUE)


@pytest.mark.parametrize(
    "body", [b"[1]", b"{", b'{"x": NaN}', b'{"x": 1, "x": 2}', b"\xff", b"[" * 99_999]
)
def test_a_body_that_cannot_be_read_for_sure_has_no_faults(body: bytes) -> None:
    line = (b"content-type", b"application/json")
    asked = sent_of({"headers": [line], "query_string": b""}, body)
    assert (
        found({"body": {"required": True}, "body.x": {"required": True, "default": 1}}, asked) == []
    )


def test_objects_beyond_a_bound_are_not_looked_into() -> None:
    rows: dict[str, Any] = {"body": {}}
    body: Any = {}
    inner, key = body, "body"
    for _ in range(60):
        key = f"{key}.a"
        rows[key] = {"type": "object"}
        inner["a"] = {}
        inner = inner["a"]
    rows[f"{key}.x"] = {"required": True, "default": 1}
    assert found(rows, sent(body)) == []
