"""Which operation of a document a request is for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lapse.contract import Registry, Table
from lapse.server.gateway_routes import Routes, RowIndex
from lapse.server.openapi import Operation, read_openapi

PATHS = (
    "/users/{id}",
    "/users/me",
    "/users/{id}/files/{name}.json",
    "/{anything}/me",
    "/odd/a+b",
)


def routes(**more: Any) -> Routes:
    paths: dict[str, Any] = {path: {"get": {}} for path in PATHS}
    return Routes(read_openapi(json.dumps({"openapi": "3.1.0", "paths": paths, **more})))


@pytest.mark.parametrize(
    ("path", "template", "parameters"),
    [
        ("/users/7", "/users/{id}", {"id": "7"}),
        ("/users/me", "/users/me", {}),
        ("/groups/me", "/{anything}/me", {"anything": "groups"}),
        ("/users/a%2Fb", "/users/{id}", {"id": "a/b"}),
        ("/users/7/files/x.y.json", "/users/{id}/files/{name}.json", {"id": "7", "name": "x.y"}),
        ("/odd/a+b", "/odd/a+b", {}),
        ("/odd/a%2Bb", "/odd/a+b", {}),
    ],
)
def test_the_most_literal_template_wins(path: str, template: str, parameters: Any) -> None:
    match = routes().match("GET", path)
    assert match is not None
    assert (match.operation.path, match.parameters) == (template, parameters)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/users/7"),
        ("GET", "/users"),
        ("GET", "/users/"),
        ("GET", "/users/7/"),
        ("GET", "x"),
    ],
)
def test_what_no_template_fits_has_no_operation(method: str, path: str) -> None:
    assert routes().match(method, path) is None


def test_a_path_may_stand_under_a_servers_own() -> None:
    found = routes(servers=[{"url": "https://api.example/v1/"}]).match("GET", "/v1/users/7")
    assert found is not None
    assert found.operation.name == "GET /users/{id}"
    assert routes().match("GET", "/v1/users/7") is None


def test_rows_are_found_by_operation_and_again_after_a_reload() -> None:
    operation, index = Operation("GET", "/a", "t"), RowIndex()
    one = {"GET /a#query.q": {"maximum": 1}, "GET /a/b#query.q": {}, "no": 7}
    registry = Registry.of([Table("t", one, "1")])
    found = index.demands(operation, registry)
    assert found is not None
    assert found.rows == {"query.q": {"maximum": 1}}
    assert index.demands(operation, registry) is found
    registry, _ = registry.reload("t", {"GET /a#query.q": {"maximum": 2}})
    again = index.demands(operation, registry)
    assert again is not None
    assert again.rows == {"query.q": {"maximum": 2}}
    registry, _ = registry.reload("t", None)
    assert index.demands(operation, registry) is None


def test_a_member_knows_what_it_lies_in() -> None:
    names = (
        "body",
        "body.a",
        "body.a.b",
        "body.a.c.d",
        "body.l",
        "body.l[]",
        "body.l[].x",
        "body.*",
    )
    rows: dict[str, Any] = {f"GET /a#{name}": {} for name in names}
    registry = Registry.of([Table("t", rows, "1")])
    found = RowIndex().demands(Operation("GET", "/a", "t"), registry)
    assert found is not None
    assert found.inside == {
        "body": [("a", "body.a"), ("l", "body.l")],
        "body.a": [("b", "body.a.b"), ("c.d", "body.a.c.d")],
        "body.l[]": [("x", "body.l[].x")],
    }
