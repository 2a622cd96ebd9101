"""How valid fixes are put before a planner (source text, section 3.4).

Level 2 is one sentence and the fixes as patches; Level 3 shows the request with the fixes already in
it, under the same sentence. Values come from a service and are untrusted: they are written as JSON
on lines of their own and can neither end the block nor start another.
"""

from __future__ import annotations

import json
from enum import IntEnum
from typing import TYPE_CHECKING

from lapse.contract.fixes import amend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.contract.fixes import Fix
    from lapse.ledger import JsonObject

__all__ = ["PATCH_SENTENCE", "Consumption", "word"]

PATCH_SENTENCE = (
    "Merge the suggestion parameters into your next request verbatim; do not paraphrase or omit fields."
)
"""Level 2's instruction, word for word as the source text gives it, capitalised."""


class Consumption(IntEnum):
    """How a fix is presented."""

    PATCH = 2
    """As a patch to apply."""
    AMENDED = 3
    """As an amendment already applied to the input."""


def word(fixes: Sequence[Fix], *, request: JsonObject | None = None, level: Consumption = Consumption.AMENDED) -> str:
    """The memory block for a planner; empty when there is nothing valid to say.

    Args:
        fixes: the fixes that hold, oldest first; a later one overrides an earlier one.
        request: the request about to be made; without it, Level 3 shows the amended fields alone.
        level: how to present them.
    """
    if not fixes:
        return ""
    if level is Consumption.PATCH:
        lines = ["Known fixes for this operation, still valid:"]
        lines += [f"- {_json({'type': fix.type, 'parameters': fix.parameters})}" for fix in fixes]
        return "\n".join([PATCH_SENTENCE, *lines])
    amended: JsonObject = {} if request is None else request
    for fix in fixes:
        amended = amend(amended, fix.parameters)
    head = "The request, with what is known about this operation already applied:"
    if request is None:
        head = "These fields are already part of the request:"
    return "\n".join([PATCH_SENTENCE, head, _json(amended)])


def _json(value: object) -> str:
    # ASCII only, and no angle brackets: what a service sends cannot fake the markup around the block.
    return json.dumps(value, ensure_ascii=True, sort_keys=True).replace("<", "\\u003c").replace(">", "\\u003e")
