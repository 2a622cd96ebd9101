"""Reading what a model wrote. It is untrusted: bounded, parsed as JSON, never run.

A fence around the object is forgiven, because models add them unasked. Prose is not: whoever
guesses which part of an answer was meant, sends something that nobody wrote.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.errors import InvalidValue, NoRequest
from lapse.judges.planning import Move, Tokens, taken_over

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lapse.contract import Fix

__all__ = ["LONGEST", "read_move", "read_request", "same_model", "without"]

LONGEST: Final = 65_536
"""Characters of an answer that are read; no request of ours comes near."""

_DEEPEST = 64
"""Levels of nesting, as `lapse.contract.amend` follows them."""

_SHOWN = 60
"""Characters of an answer that a message repeats."""

_CALLED: dict[type, str] = {list: "an array", str: "a text", bool: "a truth value"}

_FENCE = re.compile(r"\A```[A-Za-z0-9_-]{0,20}[ \t]*\n(.*?)\n?[ \t]*```\Z", re.DOTALL)


def read_request(text: str) -> dict[str, Any]:
    """The JSON object that an answer consists of.

    Args:
        text: the whole answer.

    Raises:
        NoRequest: it is too long, no JSON, no object, ambiguous, or holds what JSON does not.
    """
    if len(text) > LONGEST:
        raise NoRequest(f"it has {len(text):,} characters, over {LONGEST:,}")
    inside = text.strip()
    if fenced := _FENCE.match(inside):
        inside = fenced[1]
    try:
        value = json.loads(
            inside,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_number,
        )
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate parses and cannot be sent
    except (ValueError, RecursionError) as failure:
        why = "it is nested too deeply" if isinstance(failure, RecursionError) else str(failure)
        raise NoRequest(f"{why}; it begins with {inside[:_SHOWN]!r}") from None
    if not isinstance(value, dict):
        raise NoRequest(f"it is {_called(value)}, no JSON object")
    found = cast("dict[str, Any]", value)
    if _depth(found) > _DEEPEST:
        raise NoRequest(f"it is nested deeper than {_DEEPEST} levels")
    return found


def read_move(text: str, fixes: Sequence[Fix], tokens: Tokens) -> Move:
    """An answer as a move.

    Args:
        text: the whole answer.
        fixes: what was shown; those whose values the request has count as followed.
        tokens: what it cost.

    Raises:
        NoRequest: as `read_request`; it carries the cost.
    """
    try:
        request = read_request(text)
    except NoRequest as failure:
        raise without(failure.reason, tokens) from None
    return Move(request, taken_over(fixes, request), tokens)


def without(reason: str, tokens: Tokens) -> NoRequest:
    """The error for an answer that is no request, with what it cost."""
    return NoRequest(
        reason, prompt=tokens.prompt, completion=tokens.completion, memory=tokens.memory
    )


def same_model(asked: str, answered: str) -> None:
    """Let an answer through if it names the model that was asked for.

    Raises:
        InvalidValue: it names another, or none: what is measured would be measured of another.
    """
    if answered != asked:
        raise InvalidValue(
            "model",
            answered,
            f"it answered instead of {asked}; ask for the model by the name that answers, "
            "or for one that this service serves",
        )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has the member {twice[:_SHOWN]!r} twice")
    return found


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:_SHOWN]} is out of range")
    return value


def _called(value: object) -> str:
    if value is None:
        return "nothing"
    return _CALLED.get(type(value), "a number")


def _depth(value: dict[str, Any]) -> int:
    deepest = 0
    level: list[Any] = [value]
    while level:
        deepest += 1
        level = [inner for one in level for inner in _inside(one) if isinstance(inner, dict | list)]
    return deepest


def _inside(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value
