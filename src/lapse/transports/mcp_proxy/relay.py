"""Two ends of an MCP connection, joined: what one says, the other hears.

Each end is one of the SDK's JSON-RPC dispatchers, which frames, correlates and cancels. The relay
keeps the ids of requests as they are, so that whatever refers to one (progress, cancellation, a
subscription) still does, and it knows no method: a revision of the protocol that adds some needs no
new relay. What a `Desk` wants to see passes over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import anyio
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.shared.dispatcher import CallOptions, DispatchContext
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
    from mcp.shared.transport_context import TransportContext
    from mcp_types import RequestId

    Params = Mapping[str, Any] | None
    Context = DispatchContext[TransportContext]

__all__ = ["Desk", "Relay", "Upstream"]

_UNCANCELLABLE = frozenset({"initialize", "server/discover"})
"""Requests that the protocol forbids cancelling."""

_LAST_WORDS_S = 2.0
"""How long the host's open requests may be answered after the server has gone."""

_ANSWER_S = 10.0
"""How long a question of the proxy's own may take: a tool's result waits for it."""


class Upstream(Protocol):
    """The server's end, as a desk uses it."""

    async def forward(self, method: str, params: Params) -> dict[str, Any]:
        """Pass the host's request on, under its own id, and give the server's result."""
        ...

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        """Ask something in the proxy's own name."""
        ...


class Desk(Protocol):
    """Sees the host's requests on their way. It raises `MCPError` where the answer is an error."""

    def headers(self, method: str, params: Params) -> dict[str, str]:
        """What a message to the server needs over HTTP."""
        ...

    async def answer(self, method: str, params: Params, upstream: Upstream) -> dict[str, Any]:
        """The result of a request of the host."""
        ...


class Relay:
    """Joins a host and a server until one of them goes. Single-use.

    Args:
        host: the end that the agent's host is at.
        server: the end that the server is at.
        desk: sees the requests of the host.
        drained: waits until nothing is being written to the host.
    """

    def __init__(
        self,
        host: JSONRPCDispatcher,
        server: JSONRPCDispatcher,
        desk: Desk,
        *,
        drained: Callable[[], Awaitable[None]],
    ) -> None:
        self._drained = drained
        self._host = host
        self._server = server
        self._desk = desk
        self._of_host: dict[RequestId, anyio.Event] = {}
        self._of_server: set[RequestId] = set()
        self._asked = 0

    async def run(self) -> bool:
        """Relay; returns whether it was the server that went."""
        gone = False

        async def serve_host() -> None:
            await self._host.run(self._from_host, self._host_says, self._settled_by_host)
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve_host)
            await self._server.run(self._from_server, self._server_says, self._settled_by_server)
            gone = True
            with anyio.move_on_after(_LAST_WORDS_S):
                for answered in tuple(self._of_host.values()):
                    await answered.wait()
                await self._drained()
            tasks.cancel_scope.cancel()
        return gone

    async def tell_host(self, method: str) -> None:
        """Send the host a notification of the proxy's own."""
        await self._host.notify(method, None)

    async def send(
        self, method: str, params: Params, number: RequestId, *, answer_s: float | None = None
    ) -> dict[str, Any]:
        """Send the server a request under an id."""
        options: CallOptions = {
            "request_id": number,
            "headers": self._desk.headers(method, params),
            "cancel_on_abandon": method not in _UNCANCELLABLE,
        }
        if answer_s is not None:
            options["timeout"] = answer_s
        return await self._server.send_raw_request(method, params, options)

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        """Ask the server something in the proxy's own name, under an id that no host makes up."""
        self._asked += 1
        return await self.send(method, params, f"lapse-{self._asked}", answer_s=_ANSWER_S)

    async def _from_host(self, context: Context, method: str, params: Params) -> dict[str, Any]:
        number = context.request_id
        assert number is not None  # noqa: S101 - a request has an id
        answered = self._of_host[number] = anyio.Event()
        try:
            return await self._desk.answer(method, params, _Forwarding(self, number))
        finally:
            self._of_host.pop(number, None)
            answered.set()

    async def _host_says(self, context: Context, method: str, params: Params) -> None:
        del context
        headers = self._desk.headers(method, params)
        await self._server.notify(method, params, {"headers": headers})

    async def _from_server(self, context: Context, method: str, params: Params) -> dict[str, Any]:
        number = context.request_id
        assert number is not None  # noqa: S101 - a request has an id
        self._of_server.add(number)
        try:
            return await self._host.send_raw_request(method, params, {"request_id": number})
        finally:
            self._of_server.discard(number)

    async def _server_says(self, context: Context, method: str, params: Params) -> None:
        del context
        await self._host.notify(method, params)

    # A cancellation of a request that is being relayed has been carried out by the dispatcher when
    # it is seen here: it cancelled the relaying, which cancelled the request at the other end.

    def _settled_by_host(self, method: str, params: Params) -> bool:
        return _cancelled(method, params) in self._of_host

    def _settled_by_server(self, method: str, params: Params) -> bool:
        return _cancelled(method, params) in self._of_server


def _cancelled(method: str, params: Params) -> RequestId | None:
    if method != "notifications/cancelled":
        return None
    return cancelled_request_id_from_params(params)


class _Forwarding:
    """The server's end for one request of the host."""

    def __init__(self, relay: Relay, number: RequestId) -> None:
        self._relay = relay
        self._number = number

    async def forward(self, method: str, params: Params) -> dict[str, Any]:
        return await self._relay.send(method, params, self._number)

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        return await self._relay.ask(method, params)
