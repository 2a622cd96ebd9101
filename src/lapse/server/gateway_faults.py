"""Compares a request with the rows of its operation, and says what the rows determine of a cure.

A value is suggested when the document leaves no choice: the only allowed value, the default, the
bound that was passed. Everything else is a fault without a cure, with the reason why. Patterns and
formats are not checked: they never determine a value, and a pattern costs whatever its author and
the client make of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.contract import CacheHint
from lapse.server.gateway_values import (
    Kind,
    NoCure,
    fault_kind,
    from_text,
    right_value,
    scalar,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lapse.ledger import JsonObject
    from lapse.server.gateway_routes import Demands
    from lapse.server.gateway_sent import Sent

__all__ = ["Cure", "Fault", "Kind", "NoCure", "faults"]

_DEPTH: Final = 24
_OBJECTS: Final = 1_000
"""Objects of one body that are looked into."""
_WHEN_BYTES: Final = 1_024
"""The longest value that a condition repeats; a longer one makes no condition."""
_NEVER: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
"""Headers that are nobody's business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cure:
    """The change that the rows determine.

    Attributes:
        action: the suggestion's type.
        parameters: what to merge into the request.
        when: the request fields on which it rests.
        rests_on: the rows it was read from, by ``in.name``.
        hint: recompute for what follows from the request alone, or stands where a memory of
            members does not reach.
        place: `query` or `header` where the value does not belong among the request's members.
    """

    action: str
    parameters: JsonObject
    when: JsonObject
    rests_on: tuple[str, ...]
    hint: CacheHint = CacheHint.CACHEABLE
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """One value that does not satisfy its row.

    Attributes:
        key: the row, by ``in.name``.
        kind: what is wrong.
        cure: what would be right, or why that is not determined.
    """

    key: str
    kind: Kind
    cure: Cure | NoCure


def faults(demands: Demands, sent: Sent) -> Iterator[Fault]:
    """Each value of a request that does not satisfy its row, as far as rows can tell."""
    for key, row in demands.rows.items():
        place, _, name = key.partition(".")
        if place in ("query", "header") and "[]" not in name:
            yield from _parameter_faults(key, row, sent)
    if "body" in demands.rows:
        if sent.body is not None:
            yield from _body_faults(demands, sent)
        elif sent.empty and demands.rows["body"].get("required"):
            yield Fault("body", Kind.MISSING, NoCure.NO_VALUE)


def _parameter_faults(key: str, row: Mapping[str, Any], sent: Sent) -> Iterator[Fault]:
    place, _, name = key.partition(".")
    if place == "query":
        given: Sequence[str] = sent.query.get(name, ())
    else:
        text = sent.headers.get(name.lower())
        given = () if text is None else (text,)
    if place == "header" and name.lower() in _NEVER:
        if row.get("required") and not given:
            yield Fault(key, Kind.MISSING, NoCure.SECRET)
        return
    if not given and not row.get("required"):
        return
    if len(given) > 1 or not scalar(row):
        # A list: which of its values is meant, and how they are joined, a row does not say.
        if not given:
            yield Fault(key, Kind.MISSING, _absent(row))
        return
    value = from_text(row, given[0]) if given else None
    kind = fault_kind(row, value) if given else Kind.MISSING
    if kind is None:
        return
    right = right_value(row, value, kind)
    if isinstance(right, NoCure):
        yield Fault(key, kind, right)
        return
    when = {name: given[0] if given else None}
    yield Fault(key, kind, _cure(kind, {name: right}, when, (key,), _elsewhere(place, sent)))


def _elsewhere(place: str, sent: Sent) -> str | None:
    return None if place == sent.members else place


def _absent(row: Mapping[str, Any]) -> NoCure:
    return NoCure.NO_PLACE if "default" in row else NoCure.NO_VALUE


def _body_faults(demands: Demands, sent: Sent) -> Iterator[Fault]:
    """Walks the body's objects, outermost first; what lies in lists is not looked at."""
    pending: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
        ("body", dict(cast("dict[str, Any]", sent.body)), ())
    ]
    looked = 0
    while pending and looked < _OBJECTS:
        at, members, path = pending.pop(0)
        looked += 1
        known = demands.inside.get(at, ())
        for name, key in known:
            value = members.get(name)
            if isinstance(value, dict) and len(path) < _DEPTH:
                pending.append((key, cast("dict[str, Any]", value), (*path, name)))
            fault = _member_fault(demands, sent, key, (*path, name), present=name in members)
            if fault is not None:
                yield fault
        if demands.rows.get(at, {}).get("additionalProperties") is False:
            names = {name for name, _ in known}
            for name in members.keys() - names:
                yield Fault(f"{at}.{name}"[:500], Kind.UNKNOWN, NoCure.NO_WORD)


def _member_fault(
    demands: Demands, sent: Sent, key: str, path: tuple[str, ...], *, present: bool
) -> Fault | None:
    row = demands.rows[key]
    body = cast("JsonObject", sent.body)
    value: Any = None
    if present:
        value = _at(body, path)
        if sent.form:
            value = from_text(row, value) if scalar(row) and isinstance(value, str) else None
            if value is None:
                return None
        kind = fault_kind(row, value)
    else:
        kind = Kind.MISSING if row.get("required") else None
    if kind is None:
        return None
    right = right_value(row, value, kind)
    if isinstance(right, NoCure):
        return Fault(key, kind, right)
    if any("." in name for name in path) or (sent.form and len(path) > 1):
        return Fault(key, kind, NoCure.NO_PLACE)
    when, keys = _condition(demands, body, key, path, present=present)
    if when is None:
        return Fault(key, kind, NoCure.NO_PLACE)
    parameters = reduce(lambda inner, name: {name: inner}, reversed(path), right)
    return Fault(key, kind, _cure(kind, parameters, when, keys, None))


def _condition(
    demands: Demands, body: JsonObject, key: str, path: tuple[str, ...], *, present: bool
) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """The fields on which a verdict about a member rests, and the rows that say so.

    A member can only be missing where what it lies in is there. Where the operation demands that
    anyway, nothing more has to be said; otherwise the condition repeats it, so that the cure does
    not open an object which a later request leaves out.
    """
    when: dict[str, Any] = {".".join(path): _at(body, path) if present else None}
    keys = [key]
    if not present:
        outer = "body"
        for depth, name in enumerate(path[:-1], 1):
            outer = next(k for n, k in demands.inside[outer] if n == name)
            keys.append(outer)
            if not demands.rows[outer].get("required"):
                when[".".join(path[:depth])] = _at(body, path[:depth])
                break
    small = len(json.dumps(when, ensure_ascii=False)) <= _WHEN_BYTES
    return (when if small else None), tuple(keys)


def _cure(
    kind: Kind,
    parameters: dict[str, Any],
    when: dict[str, Any],
    keys: tuple[str, ...],
    place: str | None,
) -> Cure:
    action = {
        Kind.MISSING: "ADD_REQUIRED",
        Kind.NOT_ALLOWED: "SET_ALLOWED",
        Kind.WRONG_TYPE: "SET_TYPE",
    }.get(kind, "SET_WITHIN_BOUNDS")
    # A type is read off the row, but the value is the request's own, written otherwise.
    own = kind is Kind.WRONG_TYPE or place is not None
    return Cure(
        action=action,
        parameters=parameters,
        when=when,
        rests_on=keys,
        hint=CacheHint.RECOMPUTE if own else CacheHint.CACHEABLE,
        place=place,
    )


def _at(body: JsonObject, path: Sequence[str]) -> Any:
    here: Any = body
    for name in path:
        here = cast("dict[str, Any]", here)[name]
    return here
