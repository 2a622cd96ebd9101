"""How valid fixes are put before a planner (source text, section 3.4).

Level 2 is one sentence and the fixes as patches; Level 3 shows the request with the fixes already
in it, under the same sentence. Values come from a service and are untrusted: they are written as
JSON on lines of their own and can neither end the block nor start another.

Where no request is given, a fix that holds for some requests only says for which.
"""

from __future__ import annotations

import json
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from lapse.contract.fixes import amend
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lapse.contract.fixes import Fix
    from lapse.ledger import JsonObject

__all__ = ["PATCH_SENTENCE", "Consumption", "word"]

PATCH_SENTENCE = (
    "Merge the suggestion parameters into your next request verbatim; "
    "do not paraphrase or omit fields."
)
"""Level 2's instruction, word for word as the source text gives it, capitalised."""

_ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>`"}
"""What markup and code fences are made of. Beyond these, JSON in ASCII has neither line breaks nor
invisible characters, so what a service sends cannot fake an end of the block."""


class Consumption(IntEnum):
    """How a fix is presented."""

    PATCH = 2
    """As a patch to apply."""
    AMENDED = 3
    """As an amendment already applied to the input."""


def word(
    fixes: Sequence[Fix],
    *,
    request: JsonObject | None = None,
    level: Consumption = Consumption.AMENDED,
) -> str:
    """The memory block for a planner; empty when there is nothing valid to say.

    Args:
        fixes: the fixes that hold, oldest first; a later one overrides an earlier one.
        request: the request about to be made; without it, Level 3 shows the amended fields alone.
        level: how to present them.

    Raises:
        InvalidValue: the request is not JSON.
    """
    if not fixes:
        return ""
    if level is Consumption.PATCH:
        head = "Known fixes for this operation, still valid:"
        lines = [f"- {_json(_patch(fix, told=request is not None))}" for fix in fixes]
    elif request is not None:
        head = "The request, with what is known about this operation already applied:"
        for fix in fixes:
            request = amend(request, fix.parameters)
        lines = [_json(request)]
    else:
        head = "These fields are already part of the request:"
        lines = [_json(fields) for fields in _fields(fixes)]
    return "\n".join([PATCH_SENTENCE, head, *lines])


def _patch(fix: Fix, *, told: bool) -> dict[str, Any]:
    patch: dict[str, Any] = {"type": fix.type, "parameters": fix.parameters}
    return patch if told or not fix.when else {**patch, "when": fix.when}


def _fields(fixes: Sequence[Fix]) -> Iterator[JsonObject]:
    """What the fixes make of any request, and of those that have certain values."""
    alike: dict[str, list[Fix]] = {}
    for fix in fixes:
        alike.setdefault(_json(fix.when or {}), []).append(fix)
    for group in alike.values():
        fields: JsonObject = {}
        for fix in group:
            fields = amend(fields, fix.parameters)
        yield {"when": group[0].when, "fields": fields} if group[0].when else fields


def _json(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=True, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as failure:
        raise InvalidValue("request", value, f"pass plain JSON ({failure})") from None
    return text.translate(_ESCAPED)
