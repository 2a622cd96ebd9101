"""From a method and a path to the operation of a document, and to the rows of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lapse.contract import Registry, Table
    from lapse.server.openapi import Described, Operation

__all__ = ["Demands", "Match", "Routes", "RowIndex"]

_STEP = re.compile(r"\[\]|\.")


@dataclass(frozen=True, slots=True)
class Match:
    """The operation that a request is for.

    Attributes:
        operation: which one.
        parameters: what stands where its path has parameters, percent-decoded.
    """

    operation: Operation
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Route:
    operation: Operation
    segments: tuple[re.Pattern[str], ...]
    names: tuple[str, ...]
    literal: tuple[bool, ...]


class Routes:
    """The operations of one document, by method and path. Immutable."""

    def __init__(self, described: Described) -> None:
        self._bases = tuple(sorted(described.bases, key=len, reverse=True))
        routes: dict[tuple[str, int], list[_Route]] = {}
        for operation in described.operations:
            route = _route(operation)
            routes.setdefault((operation.method, len(route.segments)), []).append(route)
        for found in routes.values():
            # The more is literal, and the earlier, the better it fits (OpenAPI, path templating).
            found.sort(key=lambda route: route.literal, reverse=True)
        self._routes = routes

    def match(self, method: str, raw_path: str) -> Match | None:
        """The operation of a path as it was sent, percent-encoded; None when there is none.

        A path is tried as it is, then without the path of a server of the document.
        """
        found = self._match(method, raw_path)
        if found is not None:
            return found
        for base in self._bases:
            if raw_path.startswith(f"{base}/"):
                return self._match(method, raw_path[len(base) :])
        return None

    def _match(self, method: str, raw_path: str) -> Match | None:
        segments = [unquote(segment) for segment in raw_path.split("/")[1:]]
        for route in self._routes.get((method, len(segments)), ()):
            values: list[str] = []
            for pattern, segment in zip(route.segments, segments, strict=True):
                found = pattern.fullmatch(segment)
                if found is None:
                    break
                values += found.groups()
            else:
                return Match(route.operation, dict(zip(route.names, values, strict=True)))
        return None


def _route(operation: Operation) -> _Route:
    names: list[str] = []
    patterns: list[re.Pattern[str]] = []
    literal: list[bool] = []
    for segment in operation.path.split("/")[1:]:
        parts = re.split(r"\{([^{}]*)\}", segment)
        names += parts[1::2]
        literal.append(len(parts) == 1)
        text = "".join("(.+)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
        patterns.append(re.compile(text, re.DOTALL))
    return _Route(operation, tuple(patterns), tuple(names), tuple(literal))


@dataclass(frozen=True, slots=True)
class Demands:
    """The rows of one operation.

    Attributes:
        table: the table they stand in.
        rows: by ``in.name``.
        inside: what lies directly in a row's value: the member's name and its row's key. Items of
            lists and members without names are not among them.
    """

    table: str
    rows: Mapping[str, Mapping[str, Any]]
    inside: Mapping[str, Sequence[tuple[str, str]]]


class RowIndex:
    """Finds the rows of an operation in a registry; made again when a table was reloaded."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Table, dict[str, Demands]]] = {}

    def demands(self, operation: Operation, registry: Registry) -> Demands | None:
        """What an operation demands now; None when its table is not loaded."""
        table = registry.tables.get(operation.table)
        if table is None:
            return None
        known = self._known.get(table.name)
        if known is None or known[0] is not table:
            known = (table, _by_operation(table))
            self._known = {n: k for n, k in self._known.items() if n in registry.tables}
            self._known[table.name] = known
        return known[1].get(operation.name)


def _by_operation(table: Table) -> dict[str, Demands]:
    rows: dict[str, dict[str, Mapping[str, Any]]] = {}
    for key, row in table.rows.items():
        operation, _, place = key.partition("#")
        if isinstance(row, dict):
            rows.setdefault(operation, {})[place] = row
    return {name: Demands(table.name, found, _inside(found)) for name, found in rows.items()}


def _inside(rows: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    known = set(rows)
    inside: dict[str, list[tuple[str, str]]] = {}
    for key in rows:
        outer = _outer(key, known)
        name = key[len(outer) + 1 :]
        # A name may have a dot of its own; a list's items and unnamed members have no name.
        if key[len(outer) : len(outer) + 1] == "." and name != "*":
            inside.setdefault(outer, []).append((name, key))
    return inside


def _outer(key: str, known: set[str]) -> str:
    """The row that a row lies in: `body` or the innermost one; the place itself for parameters."""
    place = key.partition(".")[0]
    for step in reversed(list(_STEP.finditer(key))):
        if key[: step.start()] in known:
            return key[: step.start()]
    return place
