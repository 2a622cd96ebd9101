"""Services whose answers are as long as answers are: the object that was made, or one word.

How much a few bytes weigh depends on what they are added to. The services of the other benchmarks
acknowledge a request in 17 bytes, as nobody's API does; one that wraps a payment API answers with
the object that it made. Both are measured. The objects have the members that such objects have in
public APIs, and no member for its length.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from lapse.server import ContractMiddleware

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse.contract import Reading, Violation
    from lapse.ledger import JsonObject
    from lapse.server import ASGIApp, Contract, Receive, Scope, Send

    Judge = Callable[[str, JsonObject, Reading], Violation | None]

__all__ = ["Answers", "answering"]

Answers = Literal["object", "word"]

_BEGIN: Final = 1_767_225_600
"""2026-01-01, in seconds: answers are the same in every run."""
_MONTH_S: Final = 31 * 24 * 3600


def answering(contract: Contract, judge: Judge, answers: Answers) -> ASGIApp:
    """An application that answers what a world decides, behind the contract's middleware."""
    numbers = count(1)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = await _members(receive)
        operation = f"{scope['method']} {scope['path']}"
        with contract.reading() as tables:
            violation = judge(operation, request, tables)
        if violation is not None:
            answer = contract.problem(violation, registry=tables.registry)
            await _send(send, answer.status, answer.headers, answer.body)
            return
        made = _object(operation, request, next(numbers)) if answers == "object" else _WORD
        body = _json({**made, **contract.envelope_members()})
        await _send(send, 200, [(b"content-type", b"application/json")], body)

    return ContractMiddleware(app, contract)


_WORD: Final = {"accepted": True}


def _object(operation: str, request: JsonObject, number: int) -> dict[str, Any]:
    kind = operation.rpartition("/")[2]
    made = _MADE[kind](dict(request), number)
    return {**made, **{name: value for name, value in request.items() if name not in made}}


def _subscription(request: dict[str, Any], number: int) -> dict[str, Any]:
    begin = _BEGIN + number * 60
    code = request.pop("promotion_code", None)
    discount = None if code is None else {"object": "discount", "promotion_code": code}
    item = {"id": f"si_{number:06}", "object": "subscription_item", "quantity": 1}
    return {
        "id": f"sub_{number:06}",
        "object": "subscription",
        "status": "active",
        "customer": request.get("customer"),
        "currency": "usd",
        "collection_method": "charge_automatically",
        "created": begin,
        "start_date": begin,
        "current_period_start": begin,
        "current_period_end": begin + _MONTH_S,
        "cancel_at_period_end": False,
        "canceled_at": None,
        "trial_end": None,
        "discount": discount,
        "items": {"object": "list", "data": [{**item, "plan": request.get("plan")}]},
        "latest_invoice": f"in_{number:06}",
        "livemode": False,
        "metadata": {},
    }


def _payment(request: dict[str, Any], number: int) -> dict[str, Any]:
    token = request.pop("payment_method_token", None)
    return {
        "id": f"pay_{number:06}",
        "object": "payment",
        "status": "succeeded",
        "customer": request.get("customer"),
        "amount": request.get("amount"),
        "amount_received": request.get("amount"),
        "amount_refunded": "0.00",
        "currency": "usd",
        "captured": True,
        "created": _BEGIN + number * 60,
        "payment_method": {"object": "payment_method", "token": token, "type": "card"},
        "balance_transaction": f"txn_{number:06}",
        "statement_descriptor": "ACME BILLING",
        "failure_code": None,
        "receipt_number": f"2026-{number:06}",
        "livemode": False,
        "metadata": {},
    }


def _customer(request: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "id": f"cus_{number:06}",
        "object": "customer",
        "name": request.get("name"),
        "email": request.get("email"),
        "phone": None,
        "address": None,
        "balance": 0,
        "created": _BEGIN + number * 60,
        "currency": "usd",
        "default_source": None,
        "delinquent": False,
        "description": None,
        "invoice_prefix": f"{number:08X}",
        "preferred_locales": [],
        "shipping": None,
        "tax_exempt": "none",
        "livemode": False,
        "metadata": {},
    }


def _conversion(request: dict[str, Any], number: int) -> dict[str, Any]:
    ingredient = request.get("ingredient")
    return {
        "id": f"cnv_{number:06}",
        "object": "conversion",
        "created": _BEGIN + number * 60,
        "recipe": f"rec_{number % 40:04}",
        "servings": 4,
        "replaced": {"ingredient": request.get("base"), "by": ingredient},
        "ingredients": [
            {"name": ingredient, "amount": "250", "unit": "g"},
            {"name": "water", "amount": "300", "unit": "ml"},
            {"name": "salt", "amount": "5", "unit": "g"},
        ],
        "warnings": [],
    }


_MADE: Final = {
    "subscriptions": _subscription,
    "payments": _payment,
    "customers": _customer,
    "conversions": _conversion,
}


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


async def _members(receive: Receive) -> dict[str, Any]:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    value: Any = json.loads(body) if body else {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


async def _send(
    send: Send, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes
) -> None:
    sized = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": sized})
    await send({"type": "http.response.body", "body": body})
