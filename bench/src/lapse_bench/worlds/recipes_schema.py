"""What the requests of `recipes-v1` may hold: the JSON Schema of its one operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse.contract import AmendmentRules

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RULES", "SCHEMAS"]

_TEXT: Final[dict[str, Any]] = {"type": "string"}

SCHEMAS: Final[Mapping[str, dict[str, Any]]] = {
    "POST /v1/conversions": {
        "type": "object",
        "properties": dict.fromkeys(
            ("dish", "guest", "base", "beside", "diet", "ingredient"), _TEXT
        ),
        "required": ["ingredient"],
    }
}
"""By operation, as the transport names it."""

RULES: Final = AmendmentRules()
"""What fixes may set here: nothing in a recipe is sensitive."""
