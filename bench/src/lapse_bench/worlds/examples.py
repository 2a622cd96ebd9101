"""Checks a value against a constraint row, and makes the value that a service would suggest.

A constraint that no example can be made for (an odd pattern, an empty range) is not enforced: a
service that refuses a request without being able to say how to mend it teaches nothing.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import date, datetime, time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lapse.ledger import JsonObject

__all__ = ["accepts", "example_of"]

_INT32: Final = 2**31
_INT64: Final = 2**63

_OTHER_EXAMPLES: Final[Mapping[str, Any]] = {"boolean": True, "array": [], "object": {}}

_FORMAT_EXAMPLES: Final[Mapping[str, str]] = {
    "byte": "ZXhhbXBsZQ==",
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "ada@example.com",
    "http-method": "POST",
    "iso-country-code": "NL",
    "phone-number": "+15005550006",
    "time": "12:00:00",
    "uri": "https://example.com/hook",
    "url": "https://example.com/hook",
}


def example_of(row: JsonObject) -> tuple[bool, Any]:
    """A value that the row accepts, and whether there is one."""
    value = _candidate(row)
    return accepts(row, value), value


def _candidate(row: JsonObject) -> Any:
    choices = row.get("enum")
    if choices:
        default = row.get("default")
        return default if default in choices else next((c for c in choices if c is not None), None)
    kinds = _kinds(row)
    if "string" in kinds or not kinds:
        return _text(row)
    if "integer" in kinds or "number" in kinds:
        return min(max(1, row.get("minimum", 1)), row.get("maximum", _INT64 - 1))
    return _OTHER_EXAMPLES.get(kinds[0])


def _text(row: JsonObject) -> str:
    pattern = row.get("pattern")
    if isinstance(pattern, str):
        return _matching(pattern) or ""
    known = _FORMAT_EXAMPLES.get(row.get("format", ""), "sample")
    longest = row.get("maxLength")
    return known[:longest] if isinstance(longest, int) else known


def accepts(row: JsonObject, value: Any) -> bool:
    """Whether a value satisfies a constraint row."""
    choices = row.get("enum")
    if choices and value not in choices:
        return False
    kinds = _kinds(row)
    if kinds and not any(_is_kind(kind, value) for kind in kinds):
        return False
    if isinstance(value, str):
        return _accepts_text(row, value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _accepts_number(row, value)
    return True


def _kinds(row: JsonObject) -> tuple[str, ...]:
    kind = row.get("type")
    return tuple(kind.split("|")) if isinstance(kind, str) else ()


def _is_kind(kind: str, value: Any) -> bool:  # noqa: PLR0911 - a JSON value, and one line a kind
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:  # "null" is how a member is left out, and an unknown type says nothing
            return kind != "null"


def _accepts_number(row: JsonObject, value: float) -> bool:
    least, most = row.get("minimum"), row.get("maximum")
    if (least is not None and value < least) or (most is not None and value > most):
        return False
    match row.get("format"):
        case "int32":
            return -_INT32 <= value < _INT32
        case "int64":
            return -_INT64 <= value < _INT64
        case _:
            return True


def _accepts_text(row: JsonObject, value: str) -> bool:
    longest = row.get("maxLength")
    if isinstance(longest, int) and len(value) > longest:
        return False
    pattern = row.get("pattern")
    if isinstance(pattern, str):
        compiled = _compiled(pattern)
        if compiled is not None and compiled.search(value) is None:
            return False
    check = _FORMATS.get(row.get("format", ""))
    return check is None or check(value)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:  # a dialect that Python does not read: not enforced
        return None


def _parses(read: Callable[[str], object]) -> Callable[[str], bool]:
    def check(value: str) -> bool:
        try:
            read(value)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "byte": _parses(lambda value: base64.b64decode(value, validate=True)),
    "date": _parses(date.fromisoformat),
    "date-time": _parses(datetime.fromisoformat),
    "email": lambda value: re.fullmatch(r"[^@\s]+@[^@\s]+", value) is not None,
    "http-method": lambda value: value in {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"},
    "iso-country-code": lambda value: re.fullmatch(r"[A-Z]{2}", value) is not None,
    "phone-number": lambda value: re.fullmatch(r"\+[1-9]\d{1,14}", value) is not None,
    "time": _parses(time.fromisoformat),
    "uri": lambda value: re.match(r"[a-z][a-z0-9+.-]*:", value) is not None,
    "url": lambda value: re.match(r"https?:", value) is not None,
}

_PIECE: Final = re.compile(
    r"(?P<set>\[(?P<members>(?:\\.|[^\]\\])+)\])|(?P<escape>\\.)|(?P<any>\.)|(?P<literal>[^\\\[\](){}|*+?^$.])"
)
_TIMES: Final = re.compile(r"\{(\d+)(?:,\d*)?\}|[*+?]")
_ESCAPES: Final = {"d": "0", "w": "a", "s": " ", "S": "a", "D": "a"}


@lru_cache(maxsize=4096)
def _matching(pattern: str) -> str | None:
    """A shortest text for the plain patterns that specifications use; None for any other.

    Literals, sets, escapes and repetitions in a row; of several alternatives, the first.
    """
    rest = pattern.removeprefix("^").removesuffix("$")
    if "(" not in rest:
        rest = rest.split("|")[0]
    made: list[str] = []
    while rest:
        piece = _PIECE.match(rest)
        if piece is None:
            return None
        rest = rest[piece.end() :]
        times = _TIMES.match(rest)
        count = 1
        if times is not None:
            rest = rest[times.end() :]
            count = int(times[1]) if times[1] else {"*": 0, "+": 1, "?": 0}[times[0]]
        made.append(_character(piece) * count)
    text = "".join(made)
    compiled = _compiled(pattern)
    return text if compiled is not None and compiled.search(text) else None


def _character(piece: re.Match[str]) -> str:
    if piece["set"]:
        members = piece["members"]
        if members.startswith("^"):
            return next((c for c in "a0_ " if re.match(piece["set"], c)), "a")
        return _ESCAPES.get(members[1], members[1]) if members.startswith("\\") else members[0]
    if piece["escape"]:
        return _ESCAPES.get(piece["escape"][1], piece["escape"][1])
    return "a" if piece["any"] else piece["literal"]
