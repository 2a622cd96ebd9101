"""How a fix changes a request: what a planner may balk at (source text, sections 3.6 and 4).

===================  ===========================================================================
add a field          it sets a member that the request does not have
rewrite a value      it replaces what the request has, whatever stands there
conditional rewrite  it replaces one value by another, under a condition elsewhere in the request
===================  ===========================================================================

A fix that does several of these is named by the first that applies. The columns of Table 7 are
these shapes; what it counts as a plain rewrite because a cook would may read as a conditional one
here, since nothing is looked at but the fix and the request.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse.ledger import JsonObject

__all__ = ["Shape", "shape_of"]


class Shape(StrEnum):
    """How a fix changes a request."""

    ADD_A_FIELD = "add_a_field"
    REWRITE_A_VALUE = "rewrite_a_value"
    CONDITIONAL_REWRITE = "conditional_rewrite"


def shape_of(parameters: JsonObject, when: JsonObject | None, request: JsonObject) -> Shape:
    """The shape of a fix, for one request.

    Args:
        parameters: the values it merges.
        when: the members for which it holds; None: for one exact request, so for all of them.
        request: what it is merged into. It decides: the same fix adds a field to one request and
            rewrites it in another.
    """
    rewritten: set[str] = set()
    for path, present in _leaves(parameters, request):
        if not present:
            return Shape.ADD_A_FIELD
        rewritten.add(path)
    conditions = set(request if when is None else when)
    if conditions & rewritten and conditions - rewritten:
        return Shape.CONDITIONAL_REWRITE
    return Shape.REWRITE_A_VALUE


def _leaves(parameters: JsonObject, request: JsonObject) -> Iterator[tuple[str, bool]]:
    """Each value that merging sets: its dotted path, and whether the request has it."""
    waiting: list[tuple[str, JsonObject, JsonObject]] = [("", parameters, request)]
    while waiting:
        above, given, into = waiting.pop()
        for name, value in given.items():
            path, before = f"{above}{name}", into.get(name)
            if isinstance(value, dict) and isinstance(before, dict):
                members, had = cast("dict[str, Any]", value), cast("dict[str, Any]", before)
                waiting.append((f"{path}.", members, had))
            else:
                yield path, name in into
