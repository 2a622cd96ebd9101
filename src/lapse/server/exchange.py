"""The little that is needed to speak ASGI without a framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapse.wire import Problem, preferred_type, problem_document, write

if TYPE_CHECKING:
    from lapse.ledger import JsonObject

__all__ = [
    "ASGIApp",
    "Answer",
    "Disconnected",
    "Message",
    "Receive",
    "Scope",
    "Send",
    "TooLarge",
    "header",
    "json_answer",
    "problem_answer",
    "read_body",
    "respond",
]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]


class Disconnected(Exception):
    """The client went away while its request was read; nobody waits for an answer."""


class TooLarge(Exception):
    """The request's body is longer than is taken in."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes = b""

    def with_headers(self, *headers: tuple[bytes, bytes]) -> Answer:
        """The same answer with more header lines."""
        return Answer(self.status, (*self.headers, *headers), self.body)


def json_answer(value: object, *headers: tuple[bytes, bytes], status: int = 200) -> Answer:
    """A JSON object as an answer."""
    return Answer(status, ((b"content-type", b"application/json"), *headers), write(value))


def problem_answer(
    problem: Problem, members: JsonObject | None = None, *, accept: str | None = None
) -> Answer:
    """A problem document as an answer; never stored by a cache (C-PRB-05).

    Args:
        problem: what went wrong.
        members: the contract members that stand beside it; None: none.
        accept: the request's Accept header.
    """
    headers = (
        (b"content-type", preferred_type(accept).encode()),
        (b"cache-control", b"no-store"),
        (b"vary", b"Accept"),
    )
    return Answer(problem.status, headers, write(problem_document(problem, members or {})))


def header(scope: Scope, name: bytes) -> str | None:
    """A request header, its lines joined; None when it is not there."""
    lines = [value for key, value in scope["headers"] if key == name]
    return b", ".join(lines).decode("latin-1") if lines else None


async def read_body(receive: Receive, scope: Scope, *, limit: int) -> bytes:
    """The request's body.

    Raises:
        TooLarge: it has more than `limit` bytes; what is left is not read.
        Disconnected: the client went away.
    """
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdecimal() and int(declared[:20]) > limit:
        raise TooLarge
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Disconnected
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLarge
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def respond(answer: Answer, scope: Scope, send: Send) -> None:
    """Send an answer; to HEAD without its body, but with its length (RFC 9110, section 9.3.2)."""
    headers = list(answer.headers)
    if answer.status not in (204, 304):
        headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    body = b"" if scope["method"] == "HEAD" else answer.body
    await send({"type": "http.response.body", "body": body})
