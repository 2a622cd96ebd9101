"""Between a world's flat requests and real ones: paths, queries, headers and JSON bodies.

A flat request has one member per parameter, named as in the rows: ``query.PageSize``,
``body.a.b[]``. Lists have one item.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lapse.ledger import JsonObject

__all__ = ["Call", "call_of", "flat_of", "flattened"]

_STEP = re.compile(r"\[\]|[^.\[\]]+")
_HOLE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it is sent.

    Attributes:
        method: in capitals.
        path: with its parameters filled in.
        query: texts by name.
        headers: texts by name.
        body: a JSON body; None: there is none.
    """

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: dict[str, Any] | None

    @property
    def url(self) -> str:
        """Path and query."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def operation(self) -> str:
        """The operation as a memory names it."""
        return f"{self.method} {self.path}"

    @property
    def members(self) -> dict[str, Any]:
        """What a memory takes for the request's members."""
        return dict(self.query) if self.body is None else self.body


def call_of(operation: str, request: JsonObject, *, has_body: bool) -> Call:
    """The call that a flat request makes; null members are left out."""
    method, _, template = operation.partition(" ")
    given = {name: value for name, value in request.items() if value is not None}
    body: dict[str, Any] | None = {} if has_body else None
    query: dict[str, str] = {}
    headers: dict[str, str] = {}
    for name, value in given.items():
        place, _, rest = name.partition(".")
        if place == "query" and rest:
            query[rest.removesuffix("[]")] = _text(value)
        elif place == "header":
            headers[rest] = _text(value)
        elif place == "body" and body is not None and rest:
            _put(body, _STEP.findall(rest), value)

    def filled(hole: re.Match[str]) -> str:
        # A segment is never empty: that would be another path.
        return quote(_text(given.get(f"path.{hole[1]}")) or "x", safe="")

    return Call(method, _HOLE.sub(filled, template), query, headers, body)


def flat_of(
    rows: Iterable[str],
    template: str,
    *,
    path: str,
    query: bytes,
    headers: Mapping[str, str],
    body: bytes,
) -> dict[str, Any]:
    """The flat request behind a call, as the service that has these rows reads it."""
    flat: dict[str, Any] = {}
    pattern = _HOLE.sub("(.+)", re.escape(template).replace(r"\{", "{").replace(r"\}", "}"))
    found = re.fullmatch(pattern, path)
    names = _HOLE.findall(template)
    values = [] if found is None else [unquote(value) for value in found.groups()]
    flat.update({f"path.{n}": v for n, v in zip(names, values, strict=False)})
    texts = dict(parse_qsl(query.decode(), keep_blank_values=True))
    value: Any = json.loads(body) if body else None
    known = set(rows)
    for name in known:
        place, _, rest = name.partition(".")
        if place == "query" and rest.removesuffix("[]") in texts:
            flat[name] = texts.get(rest.removesuffix("[]"))
        elif place == "header" and rest.lower() in headers:
            flat[name] = headers[rest.lower()]
        elif place == "body" and rest:
            inner = _take(value, _STEP.findall(rest))
            if inner is not None:
                flat[name] = inner
    flat.update(
        {f"query.{n}": v for n, v in texts.items() if not {f"query.{n}", f"query.{n}[]"} & known}
    )
    return {name: v for name, v in flat.items() if not _holds_others(name, known) or v in ({}, [])}


def flattened(parameters: JsonObject, *, place: str) -> dict[str, Any]:
    """A suggestion's parameters as members of a flat request."""
    flat: dict[str, Any] = {}
    pending: list[tuple[str, Any]] = [(f"{place}.{name}", v) for name, v in parameters.items()]
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict):
            inner = cast("dict[str, Any]", value)
            pending += [(f"{name}.{n}", v) for n, v in inner.items()]
        else:
            flat[name] = value
    return flat


def _holds_others(name: str, known: set[str]) -> bool:
    return any(other.startswith((f"{name}.", f"{name}[]")) for other in known)


def _put(here: Any, steps: list[str], value: Any) -> None:
    for at, step in enumerate(steps):
        last = at == len(steps) - 1
        below: Any = value if last else [] if steps[at + 1] == "[]" else {}
        if step == "[]":
            if not here:
                here.append(below)
            here = here[0]
        elif not isinstance(here, dict):
            return
        else:
            here = cast("dict[str, Any]", here).setdefault(step, below)


def _take(here: Any, steps: list[str]) -> Any:
    for step in steps:
        if step == "[]":
            here = cast("list[Any]", here)[0] if isinstance(here, list) and here else None
        elif isinstance(here, dict):
            members = cast("dict[str, Any]", here)
            here = next(iter(members.values()), None) if step == "*" else members.get(step)
        else:
            return None
    return here


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
