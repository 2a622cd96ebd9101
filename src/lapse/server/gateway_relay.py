"""Passes an upstream's answer on, and gives the answers that are the gateway's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from lapse.server.exchange import header, problem_answer
from lapse.server.gateway_sent import is_json
from lapse.wire import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from lapse.server.digests import Asking
    from lapse.server.exchange import Answer, Message, Receive, Scope, Send

    Lines = list[tuple[bytes, bytes]]

__all__ = ["Relay", "held", "problem", "refuse_websocket", "refused_upgrade", "while_there"]


class Relay:
    """Passes one answer on.

    Attributes:
        status: its status.
        lines: its header lines.
        stamps: the header lines that go along.
        asked: what the client says that it holds, which decides what goes along in their place.
        before: the beginning of its body, where it was read already.
    """

    def __init__(self, scope: Scope, send: Send, status: int, lines: Lines) -> None:
        self.status = status
        self.lines = lines
        self.stamps: tuple[tuple[bytes, bytes], ...] = ()
        self.asked: Asking | None = None
        self.before = b""
        self._scope = scope
        self._head = scope["method"] == "HEAD"
        self._send = send

    @property
    def length(self) -> int | None:
        """How long the answer says its body is."""
        said = next((value for name, value in self.lines if name == b"content-length"), None)
        return int(said) if said is not None and said.isdigit() else None

    @property
    def may_be_mended(self) -> bool:
        """Whether the answer is JSON, or nothing at all: members can be added to both."""
        kind = next((value for name, value in self.lines if name == b"content-type"), b"")
        essence = kind.partition(b";")[0].strip().lower().decode("latin-1")
        return not self._head and (not essence or is_json(essence))

    async def stream(self, parts: AsyncIterator[bytes]) -> None:
        """The answer as it comes: its status at once, each part as soon as it is there."""
        await self._start(self.lines)
        if self.before:
            await self._part(self.before, more=True)
        async for part in parts:
            await self._part(part, more=True)
        await self._part(b"", more=False)

    async def whole(self, lines: Lines, body: bytes) -> None:
        """An answer with another body."""
        await self._start([*lines, (b"content-length", str(len(body)).encode())])
        await self._part(body, more=False)

    async def _start(self, lines: Lines) -> None:
        start: Message = {"type": "http.response.start", "status": self.status}
        if self.asked is None:
            start["headers"] = [*lines, *self.stamps]
        else:
            start = self.asked.stamped({**start, "headers": lines}, self._scope)
        await self._send(start)

    async def _part(self, part: bytes, *, more: bool) -> None:
        await self._send(
            {"type": "http.response.body", "body": b"" if self._head else part, "more_body": more}
        )


async def held(parts: AsyncIterator[bytes], limit: int) -> bytes:
    """The body up to a limit; what is longer than that has one part more."""
    kept = bytearray()
    async for part in parts:
        kept += part
        if len(kept) > limit:
            break
    return bytes(kept)


async def while_there(work: Awaitable[None], receive: Receive) -> None:
    """Do some work until it is done, or until the client went away."""
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch)
        await work
        group.cancel_scope.cancel()


async def refuse_websocket(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the opening of a WebSocket with 501, or close it where that cannot be said."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1003, "reason": "not carried"})
        return
    answer = _not_carried({**scope, "method": "GET"})
    await send(
        {
            "type": "websocket.http.response.start",
            "status": answer.status,
            "headers": list(answer.headers),
        }
    )
    await send({"type": "websocket.http.response.body", "body": answer.body})


def refused_upgrade(scope: Scope) -> Answer | None:
    """The refusal of a request that wants to become a WebSocket; None for any other."""
    upgrade = (header(scope, b"upgrade") or "").lower()
    return _not_carried(scope) if "websocket" in upgrade else None


def _not_carried(scope: Scope) -> Answer:
    detail = "This gateway carries HTTP requests. Connect to the service itself."
    return problem(scope, 501, "WebSockets are not carried", detail)


def problem(scope: Scope, status: int, title: str, detail: str) -> Answer:
    """An answer of the gateway's own."""
    said = Problem(title=title, status=status, detail=detail)
    return problem_answer(said, accept=header(scope, b"accept"))
