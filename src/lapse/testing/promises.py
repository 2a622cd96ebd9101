"""How the suites say which promise was broken: by an AssertionError, which any runner shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["holds", "refuses", "same"]

Failure = TypeVar("Failure", bound=Exception)

_SHOWN = 500
"""Characters of a value that a message repeats."""


def holds(condition: object, promise: str) -> None:
    """Complain when a condition does not hold."""
    if not condition:
        raise AssertionError(f"broken promise: {promise}")


def same(found: object, expected: object, promise: str) -> None:
    """Complain when two values differ."""
    if found != expected:
        shown = f"found {_short(found)}\nexpected {_short(expected)}"
        raise AssertionError(f"broken promise: {promise}\n{shown}")


def refuses(error: type[Failure], call: Callable[[], object], promise: str) -> Failure:
    """Complain when a call does not raise this error; otherwise give the error."""
    try:
        found = call()
    except error as refusal:
        return refusal
    raise AssertionError(
        f"broken promise: {promise}\nfound {_short(found)}\nexpected {error.__name__}"
    )


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
