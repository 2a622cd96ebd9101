"""Puts the contract's headers on every response, and its endpoints beside the application's.

Pure ASGI. Bodies pass through as they are, neither buffered nor rewritten; a response costs one
closure and one list concatenation more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.server.describing import description
from lapse.server.digests import ASKING, asking
from lapse.server.endpoints import RELOAD_BYTES, Endpoints

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lapse.server.contract import Contract
    from lapse.server.exchange import ASGIApp, Message, Receive, Scope, Send

__all__ = ["ContractMiddleware"]


class ContractMiddleware:
    """Wraps an ASGI application.

    Args:
        app: the application.
        contract: the service's contract.
        reload_bytes: the longest reload taken in.
        operations: method and path of each operation of the application that is to stand in the
            contract's OpenAPI document: it takes one JSON object, and answers with nothing but the
            contract's messages.
    """

    def __init__(
        self,
        app: ASGIApp,
        contract: Contract,
        *,
        reload_bytes: int = RELOAD_BYTES,
        operations: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._contract = contract
        described = description(contract, operations=operations)
        self._endpoints = Endpoints(contract, reload_bytes=reload_bytes, described=described)
        self._paths = self._endpoints.paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        contract = self._contract
        asked = asking(contract, scope)

        async def stamped(message: Message) -> None:
            if message["type"] == "http.response.start":
                # A copy: an application may send the same message object again and again.
                if asked is None:
                    message = {**message, "headers": [*message.get("headers", ()), *contract.lines]}
                else:
                    message = asked.stamped(message, scope)
            await send(message)

        if asked is not None:
            receive = asked.hearing(receive, scope)
        token = ASKING.set(asked)
        try:
            await self._route(scope, receive, stamped)
        finally:
            ASKING.reset(token)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if root := scope.get("root_path"):
            path = path.removeprefix(root)
        if path in self._paths:
            await self._endpoints(scope, receive, send, path)
        else:
            await self._app(scope, receive, send)
