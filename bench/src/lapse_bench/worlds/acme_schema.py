"""What the requests of `acme-billing-v1` may hold: a JSON Schema for each operation.

They declare the optional members that a planner leaves out and a fix adds. `RULES` is what an
operator of this shop allows: a payment method's token is a sensitive field, and is allowed by name;
an amount is one, too, and stays refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse.contract import AmendmentRules, FieldRules

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RULES", "SCHEMAS"]

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_TEXT_OR_NULL: Final[dict[str, Any]] = {"type": ["string", "null"]}


def _object(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


SCHEMAS: Final[Mapping[str, dict[str, Any]]] = {
    "POST /v1/subscriptions": _object(
        ["customer", "plan"],
        customer=_TEXT,
        plan=_TEXT,
        program=_TEXT,
        campaign=_TEXT,
        promotion_code=_TEXT_OR_NULL,
    ),
    "POST /v1/payments": _object(
        ["customer", "contract", "payment_method_token", "amount"],
        customer=_TEXT,
        contract=_TEXT,
        payment_method_token=_TEXT,
        amount={"type": ["string", "number"]},
        currency=_TEXT,
    ),
    "POST /v1/customers": _object(["name", "email"], name=_TEXT, email=_TEXT),
}
"""By operation, as the transport names it."""

RULES: Final = AmendmentRules(fields=FieldRules(allowed=frozenset({"payment_method_token"})))
"""What fixes may set here."""
