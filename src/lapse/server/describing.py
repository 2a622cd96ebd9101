"""Describes a service's contract endpoints in OpenAPI 3.1, at `{location}/openapi.json`.

The document is made from the models that read and write the messages, for the level that the
service speaks, so it cannot promise what is not answered. It names no table, row, policy or value.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.contract import NAME_CHARACTERS, Level
from lapse.wire import JSON, PROBLEM_JSON, schemas

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lapse.server.contract import Contract

__all__ = ["description", "problem_answers", "reload_answers"]

_NAME: Final = {
    "type": "string",
    "minLength": 1,
    "maxLength": NAME_CHARACTERS,
    # C-ENV-09 but for lone surrogates, which percent-encoded UTF-8 cannot hold anyway.
    "pattern": r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]+$",
}
_TOKEN: Final = "operator"  # noqa: S105 - the name of a scheme
_ANY: Final = {"in": "header", "schema": {"type": "string"}}
_OBJECT: Final = {JSON: {"schema": {"type": "object"}}}

_REFUSALS: Final = {
    400: "What was sent cannot be read, or cannot be done.",
    401: "The operator's token is needed.",
    403: "This service was started without an operator's token.",
    412: "The tables moved since If-Match was read.",
    413: "The request is too large.",
    422: "A policy is violated; suggestions say what would pass.",
    503: "It could not be kept, and nothing changed; or a table that decides is not loaded.",
}


def description(
    contract: Contract,
    *,
    operations: Iterable[str] = (),
    paths: Mapping[str, Any] | None = None,
    admin: bool = True,
) -> dict[str, Any]:
    """The OpenAPI document of a contract's endpoints.

    Args:
        contract: the contract.
        operations: method and path of each operation that takes one JSON object and answers with
            nothing but the contract's messages, as `lapse.server.application` does.
        paths: further path items.
        admin: whether the endpoints stand under ``/admin``, too.
    """
    at, level = contract.location, contract.emission.level
    found: dict[str, Any] = {f"{at}/openapi.json": {"get": _get("This document", _OBJECT)}}
    if level >= Level.L1:
        found[f"{at}/versions"] = {"get": _versions()}
        found[f"{at}/changes"] = {"get": _changes()}
    if level >= Level.L5:
        graph = {"get": _get("The knowledge graph", _json("graph"))}
        found[f"{at}/graph"] = graph
        if admin:
            found["/admin/graph"] = graph
    found[f"{at}/reload"] = {"post": _reload()}
    if admin:
        found["/admin/reload-table"] = {"post": _reload()}
    for operation in operations:
        method, _, path = operation.partition(" ")
        found.setdefault(path, {})[method.lower()] = _checked()
    return {
        "openapi": "3.1.0",
        "info": {"title": "Invalidation contract", "version": f"level {level.value}"},
        "paths": {**found, **(paths or {})},
        "components": {
            "schemas": _components(),
            "securitySchemes": {_TOKEN: {"type": "http", "scheme": "bearer"}},
        },
    }


def problem_answers(*statuses: int) -> dict[str, Any]:
    """What OpenAPI says of refusals with these statuses: each is a problem document."""
    content = {**_json("problem"), PROBLEM_JSON: _json("problem")[JSON]}
    return {str(s): {"description": _REFUSALS[s], "content": content} for s in statuses}


def reload_answers(answer: Mapping[str, Any], *refusals: int) -> dict[str, Any]:
    """An operation that needs the operator's token: its security, and its answers."""
    return {
        "security": [{_TOKEN: list[str]()}],
        "responses": {
            "200": {"description": "What the reload did.", "content": dict(answer)},
            **problem_answers(400, 401, 403, *refusals, 413, 503),
        },
    }


def _get(summary: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "summary": summary,
        "responses": {"200": {"description": summary, "content": dict(content)}},
    }


def _versions() -> dict[str, Any]:
    tag = {"ETag": {"required": True, "schema": {"type": "string", "pattern": '^"[^"]+"$'}}}
    asked = _get("Each table's version", _json("versions"))
    asked["parameters"] = [{"name": "If-None-Match", **_ANY}]
    asked["responses"]["200"]["headers"] = tag
    asked["responses"]["304"] = {"description": "The versions are those named.", "headers": tag}
    return asked


def _changes() -> dict[str, Any]:
    asked = _get("What changed in a table since a version", _json("changes"))
    asked["parameters"] = [
        {"name": name, "in": "query", "required": True, "schema": _NAME}
        for name in ("table", "since")
    ]
    asked["responses"].update(problem_answers(400))
    return asked


def _reload() -> dict[str, Any]:
    return {
        "summary": "Replace a table's rows, load a new table, or unload one",
        "parameters": [{"name": "If-Match", **_ANY}],
        "requestBody": {"required": True, "content": _json("reload-request")},
        **reload_answers(_json("reload"), 412),
    }


def _checked() -> dict[str, Any]:
    return {
        "summary": "Whether a request satisfies the policies of this operation",
        "requestBody": {"required": True, "content": _OBJECT},
        "responses": {
            "200": {"description": "It does.", "content": _json("envelope")},
            **problem_answers(400, 413, 422, 503),
        },
    }


def _json(name: str) -> dict[str, Any]:
    return {JSON: {"schema": {"$ref": f"#/components/schemas/{name}"}}}


@cache
def _components() -> dict[str, Any]:
    """The published schemas and their parts, side by side as OpenAPI wants them."""
    found: dict[str, Any] = {}
    for name, schema in schemas().items():
        moved = _moved(schema)
        found.update(moved.pop("$defs", {}))
        found[name] = {key: value for key, value in moved.items() if key != "$schema"}
    return found


def _moved(value: Any) -> Any:
    match value:
        case {"$ref": str(target)}:
            return {"$ref": target.replace("#/$defs/", "#/components/schemas/")}
        case dict():
            return {name: _moved(one) for name, one in cast("dict[str, Any]", value).items()}
        case list():
            return [_moved(one) for one in cast("list[Any]", value)]
        case _:
            return value
