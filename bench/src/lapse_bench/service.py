"""A world as an HTTP service: JSON in, 422 with suggestions or 200 out, the contract on both.

One small ASGI application for every world. What a world decides stays in the world; here it is only
read, answered and given its versions.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from lapse.contract import Violation
from lapse.server import ContractMiddleware

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse.contract import Reading
    from lapse.ledger import JsonObject
    from lapse.server import ASGIApp, Contract, Receive, Scope, Send
    from lapse_bench.worlds.objections import OrganicWorld

    Judge = Callable[[str, JsonObject, Reading], Violation | None]

__all__ = ["UnknownOperation", "operation_of", "organic_judge", "service"]

_ACCEPTED = 200
_UNKNOWN = 404
_CALLS = "/call"


class UnknownOperation(Exception):
    """The service does not offer what was asked for."""


def service(contract: Contract, judge: Judge) -> ASGIApp:
    """An application that answers what the world decides, behind the contract's middleware.

    Args:
        contract: holds the tables.
        judge: from operation, request and tables to the violation, if there is one; raises
            `UnknownOperation`.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = await _members(receive)
        operation = f"{scope['method']} {scope['path']}"
        try:
            with contract.reading() as tables:
                violation = judge(operation, request, tables)
        except UnknownOperation:
            await _send_json(send, _UNKNOWN, {"title": "There is no such operation"})
            return
        if violation is None:
            await _send_json(send, _ACCEPTED, {"accepted": True, **contract.envelope_members()})
            return
        answer = contract.problem(violation, registry=tables.registry)
        await _send(send, answer.status, answer.headers, answer.body)

    return ContractMiddleware(app, contract)


async def _members(receive: Receive) -> dict[str, Any]:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    value: Any = json.loads(body) if body else {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


async def _send_json(send: Send, status: int, value: dict[str, Any]) -> None:
    body = json.dumps(value, separators=(",", ":")).encode()
    await _send(send, status, [(b"content-type", b"application/json")], body)


async def _send(
    send: Send, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes
) -> None:
    sized = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": sized})
    await send({"type": "http.response.body", "body": body})


def operation_of(world: OrganicWorld, table: str, subject: str) -> str:
    """The operation that asks a world over a real history for a subject."""
    if world.subject_member is not None:
        return f"POST {_CALLS}/{_segment(table)}"
    return f"POST {_CALLS}/{_segment(table)}/{_segment(subject)}"


def organic_judge(world: OrganicWorld) -> Judge:
    """The judge of a world over a real history; each suggestion rests on the one row behind it."""

    def judge(operation: str, request: JsonObject, tables: Reading) -> Violation | None:
        table, subject = _asked(world, operation, request)
        objections = world.objections(table, subject, request)
        if objections is None:
            raise UnknownOperation
        suggestions: list[Any] = []
        for objection in objections:
            tables.forget()
            tables[table].get(objection.key)
            suggestions.append(
                tables.suggest(objection.type, objection.parameters, when=objection.when)
            )
        if not suggestions:
            return None
        return Violation(
            policy=world.name,
            title="The request is not acceptable as things stand",
            detail="…",  # no word at all: any word could be the value of a real history's row
            suggestions=tuple(suggestions),
        )

    return judge


def _asked(world: OrganicWorld, operation: str, request: JsonObject) -> tuple[str, str]:
    segments = operation.partition(f"{_CALLS}/")[2].split("/")
    if world.subject_member is not None:
        return _text(segments[0]), str(request.get(world.subject_member))
    return _text(segments[0]), _text(segments[-1])


def _segment(text: str) -> str:
    """A text as one path segment that nobody on the way rewrites: ``~`` and hex for the rest."""
    return "".join(chr(byte) if byte in _PLAIN else f"~{byte:02x}" for byte in text.encode())


def _text(segment: str) -> str:
    first, *rest = segment.split("~")
    body = first.encode() + b"".join(bytes.fromhex(part[:2]) + part[2:].encode() for part in rest)
    return body.decode()


_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
