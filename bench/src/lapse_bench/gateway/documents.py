"""An OpenAPI document made of a history's rows: the way back from how such rows are read.

A document that is read again gives exactly the rows it was made of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["document", "paths_of", "prefixed"]

_STEP = re.compile(r"\[\]|\.")
_PLACES = ("path", "query", "header", "cookie")


def prefixed(table: str, key: str) -> str:
    """A row's key with its service before the path, so that services can share a document."""
    method, _, rest = key.partition(" ")
    return f"{method} /{table.rpartition('/')[2]}{rest}"


def document(paths: Mapping[str, Any], *, title: str) -> dict[str, Any]:
    """A document of version 3.1 with these paths."""
    return {"openapi": "3.1.0", "info": {"title": title, "version": "0"}, "paths": dict(paths)}


def paths_of(table: str, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The paths of one service's rows; its operations are tagged with the table's name.

    Args:
        table: the table's name; its last part goes before each path.
        rows: by key, as in the history.
    """
    operations: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for key, row in rows.items():
        operation, _, place = prefixed(table, key).partition("#")
        method, _, path = operation.partition(" ")
        operations.setdefault((path, method.lower()), {})[place] = row
    paths: dict[str, dict[str, Any]] = {}
    for (path, method), demands in operations.items():
        paths.setdefault(path, {})[method] = _operation(table, demands)
    return paths


def _operation(table: str, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    inside: dict[str, list[str]] = {}
    for key in rows:
        inside.setdefault(_outer(key, rows), []).append(key)
    operation: dict[str, Any] = {"tags": [table.rpartition("/")[2]], "responses": {}}
    for key in inside.get("", ()):
        place, _, name = key.partition(".")
        required = bool(rows[key].get("required"))
        if place in _PLACES:
            operation.setdefault("parameters", []).append(
                {
                    "in": place,
                    "name": name,
                    "required": required,
                    "schema": _schema(rows, inside, key),
                }
            )
        elif key == "body":
            schema = _schema(rows, inside, key)
            operation["requestBody"] = {
                "required": required,
                "content": {"application/json": {"schema": schema}},
            }
    return operation


def _schema(
    rows: Mapping[str, Mapping[str, Any]], inside: Mapping[str, list[str]], key: str
) -> dict[str, Any]:
    schema: dict[str, Any] = {n: v for n, v in rows[key].items() if n != "required"}
    if isinstance(said := schema.get("type"), str) and "|" in said:
        schema["type"] = said.split("|")
    for inner in inside.get(key, ()):
        name = inner[len(key) :]
        below = _schema(rows, inside, inner)
        if name == "[]":
            schema["items"] = below
        elif name == ".*":
            schema["additionalProperties"] = below
        else:
            schema.setdefault("properties", {})[name[1:]] = below
            if rows[inner].get("required"):
                schema.setdefault("required", []).append(name[1:])
    return schema


def _outer(key: str, rows: Mapping[str, Any]) -> str:
    """The row that a row lies in; empty for one that lies in none."""
    for step in reversed(list(_STEP.finditer(key))):
        if key[: step.start()] in rows:
            return key[: step.start()]
    return ""
