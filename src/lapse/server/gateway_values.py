"""What is wrong with one value by its row, and which value the row determines instead."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Kind", "NoCure", "fault_kind", "from_text", "right_value", "scalar"]

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")


class Kind(StrEnum):
    """What is wrong with a value."""

    MISSING = "missing"
    NOT_ALLOWED = "not_allowed"
    WRONG_TYPE = "wrong_type"
    TOO_SMALL = "too_small"
    TOO_LARGE = "too_large"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    NOT_A_MULTIPLE = "not_a_multiple"
    UNKNOWN = "unknown"
    """A member that a closed object does not have."""


class NoCure(StrEnum):
    """Why the document does not say what would be right."""

    NO_VALUE = "no_value"
    """No default, and no or several allowed values."""
    NO_WORD = "no_word"
    """A suggestion sets values; it has no word for this change."""
    NO_PLACE = "no_place"
    """The value stands where a suggestion's members do not reach."""
    OPEN_BOUND = "open_bound"
    """There is no value nearest to a bound that is not allowed itself."""
    SECRET = "secret"  # noqa: S105 - the name of a reason
    """A credential or a password."""


def right_value(row: Mapping[str, Any], value: Any, kind: Kind) -> Any:
    """The value that the row determines, or why there is none."""
    if row.get("format") == "password":
        return NoCure.SECRET
    found: Any = NoCure.NO_VALUE
    if kind in (Kind.MISSING, Kind.NOT_ALLOWED):
        choices = [choice for choice in row.get("enum", ()) if choice is not None]
        if len(choices) == 1:
            found = choices[0]
        elif "default" in row:
            found = row["default"]
    elif kind is Kind.WRONG_TYPE:
        found = _rewritten(row, value)
    elif kind in (Kind.TOO_SMALL, Kind.TOO_LARGE):
        found = _nearest(row, kind)
    if isinstance(found, NoCure):
        return found
    return found if fault_kind(row, found) is None else NoCure.NO_VALUE


def _nearest(row: Mapping[str, Any], kind: Kind) -> Any:
    bound = row.get("minimum" if kind is Kind.TOO_SMALL else "maximum")
    if bound is None:
        return NoCure.OPEN_BOUND
    step = row.get("multipleOf")
    if isinstance(step, int) and isinstance(bound, int) and step > 0:
        return -(-bound // step) * step if kind is Kind.TOO_SMALL else bound // step * step
    return bound


def _rewritten(row: Mapping[str, Any], value: Any) -> Any:
    """The same value in the type of the row, where that loses nothing."""
    kinds = _kinds(row) - {"null"}
    if kinds == {"string"} and isinstance(value, int | float):
        return json.dumps(value)
    if isinstance(value, str):
        text = value.strip()
        if kinds == {"integer"} and _INTEGER.fullmatch(text):
            return int(text)
        if kinds == {"number"} and _NUMBER.fullmatch(text):
            return json.loads(text)
        if kinds == {"boolean"} and text in ("true", "false"):
            return text == "true"
    return NoCure.NO_VALUE


def fault_kind(row: Mapping[str, Any], value: Any) -> Kind | None:
    """What is wrong with a value, by its row; None when nothing is."""
    kinds = _kinds(row)
    if kinds and not any(_is(kind, value) for kind in kinds):
        return Kind.WRONG_TYPE
    choices = row.get("enum")
    if isinstance(choices, list) and not any(_same(value, c) for c in cast("list[Any]", choices)):
        return Kind.NOT_ALLOWED
    if isinstance(value, str):
        return _outside(len(value), row.get("minLength"), row.get("maxLength"), lengths=True)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number_kind(row, value)
    return None


def _number_kind(row: Mapping[str, Any], value: float) -> Kind | None:
    least, most = row.get("exclusiveMinimum"), row.get("exclusiveMaximum")
    if least is not None and value <= least:
        return Kind.TOO_SMALL
    if most is not None and value >= most:
        return Kind.TOO_LARGE
    found = _outside(value, row.get("minimum"), row.get("maximum"), lengths=False)
    step = row.get("multipleOf")
    if found is None and isinstance(step, int) and step > 0 and value % step:
        return Kind.NOT_A_MULTIPLE
    return found


def _outside(
    value: float, least: float | None, most: float | None, *, lengths: bool
) -> Kind | None:
    if least is not None and value < least:
        return Kind.TOO_SHORT if lengths else Kind.TOO_SMALL
    if most is not None and value > most:
        return Kind.TOO_LONG if lengths else Kind.TOO_LARGE
    return None


def _kinds(row: Mapping[str, Any]) -> set[str]:
    said = row.get("type")
    return set(said.split("|")) if isinstance(said, str) else set()


def scalar(row: Mapping[str, Any]) -> bool:
    """Whether a row's value is one value, as against a list or an object."""
    return not _kinds(row) & {"array", "object"}


_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def _is(kind: str, value: Any) -> bool:
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return kind == "number" or isinstance(value, int) or value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def _same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def from_text(row: Mapping[str, Any], text: str) -> Any:
    """A text of a query, a header or a form as the value it stands for; itself if it is none."""
    kinds = _kinds(row)
    if "string" in kinds or not kinds:
        return text
    if "integer" in kinds and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in kinds and _NUMBER.fullmatch(text):
        return json.loads(text)
    if "boolean" in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return text
