"""Runs a proxy between the process's standard input and output and a server."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from lapse.errors import InvalidValue
from lapse.transports.mcp_exchange import issuer_of_command, issuer_of_url
from lapse.transports.mcp_proxy.draining import Draining
from lapse.transports.mcp_proxy.lines import Lines
from lapse.transports.mcp_proxy.proxy import Consume, Proxy
from lapse.transports.mcp_proxy.relay import Relay

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from mcp.client._transport import TransportStreams

    from lapse.contract import AmendmentRules
    from lapse.runtime import Memory

__all__ = ["Behind", "run", "serve"]

_CONNECT_S = 30.0
_SILENCE_S = 300.0
"""How long an HTTP server may say nothing within an answer, as in the SDK's own client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """The server behind a proxy: a command or an address.

    Attributes:
        command: the words that start it; empty: it is at `url`.
        url: its streamable HTTP endpoint; None: it is started by `command`.
        environment: the environment of the command; None: the few harmless variables of the SDK.
        headers: what every request over HTTP carries, such as credentials.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def __post_init__(self) -> None:
        """Refuse two servers, and none."""
        if bool(self.command) == (self.url is not None):
            remedy = "name the server by a command after -- or by --url, one of the two"
            raise InvalidValue("server", self.url or " ".join(self.command), remedy)

    @property
    def issuer(self) -> str:
        """The issuer of its fixes when none is named."""
        return issuer_of_command(self.command) if self.url is None else issuer_of_url(self.url)


async def run(
    memory: Memory,
    behind: Behind,
    *,
    issuer: str | None = None,
    consume: Consume = Consume.BRIEF,
    rules: AmendmentRules | None = None,
) -> bool:
    """Serve the host on standard input and output; returns whether the server went first.

    Args:
        memory: where fixes are kept; it is not closed here.
        behind: the server.
        issuer: the name fixes are bound to; that of `behind` when left out.
        consume: what happens with fixes that hold.
        rules: what may be merged into a call; by default nothing sensitive.

    Raises:
        InvalidValue: the command cannot be started.
    """
    name = behind.issuer if issuer is None else issuer
    async with _connected(behind) as upstream, _standard() as (host, stop):
        gone = await serve(
            memory, host=host, upstream=upstream, issuer=name, consume=consume, rules=rules
        )
        stop()
    return gone


async def serve(
    memory: Memory,
    *,
    host: TransportStreams,
    upstream: TransportStreams,
    issuer: str,
    consume: Consume = Consume.BRIEF,
    rules: AmendmentRules | None = None,
) -> bool:
    """Relay between two ends until one of them goes; returns whether it was the server.

    Args:
        memory: where fixes are kept; it is not closed here.
        host: reads from and writes to the host.
        upstream: reads from and writes to the server.
        issuer: whose fixes.
        consume: what happens with fixes that hold.
        rules: what may be merged into a call; by default nothing sensitive.
    """
    desk = Proxy(memory, issuer=issuer, consume=consume, rules=rules)
    reading, writing = host
    outgoing = Draining(writing)
    relay = Relay(
        JSONRPCDispatcher(reading, outgoing),
        JSONRPCDispatcher(*upstream),
        desk,
        drained=outgoing.drained,
    )
    desk.tell_host = relay.tell_host
    return await relay.run()


@asynccontextmanager
async def _connected(behind: Behind) -> AsyncGenerator[TransportStreams]:
    async with AsyncExitStack() as stack:
        if behind.url is None:
            word, *words = behind.command
            environment = None if behind.environment is None else dict(behind.environment)
            server = StdioServerParameters(command=word, args=words, env=environment)
            try:
                started = await stack.enter_async_context(stdio_client(server, errlog=sys.stderr))
            except OSError as failure:
                remedy = f"name a program that can be started ({failure.strerror})"
                raise InvalidValue("command", word, remedy) from None
            yield started
            return
        limits = httpx2.Timeout(_CONNECT_S, read=_SILENCE_S)
        client = httpx2.AsyncClient(headers=dict(behind.headers), timeout=limits)
        await stack.enter_async_context(client)
        yield await stack.enter_async_context(
            streamable_http_client(behind.url, http_client=client)
        )


@asynccontextmanager
async def _standard() -> AsyncGenerator[tuple[TransportStreams, Callable[[], None]]]:
    lines = Lines(sys.stdin.fileno())
    async with stdio_server(stdin=cast("Any", lines)) as host:
        yield host, lines.stop
