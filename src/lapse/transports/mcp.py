"""A client of the official MCP SDK that remembers fixes.

::

    memory = lapse.open("fixes.db")
    async with Client("https://host.example/mcp") as client:
        agent = RememberingClient(memory, client)
        print(agent.brief("place", {"plan": "growth"}))     # what still holds, for the planner
        result = await agent.call_tool("place", {"plan": "growth"})

Every result passes through as it is; what it says of the contract is taken in before the caller has
it. Whatever goes wrong on the way is counted and told to the memory's observers.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any, cast

from lapse.contract import Consumption
from lapse.errors import InvalidValue, MissingExtra
from lapse.transports.digests import sent_of
from lapse.transports.mcp_digests import announced
from lapse.transports.mcp_exchange import (
    Called,
    NotOffered,
    issuer_of_command,
    issuer_of_url,
    refresh,
    take_in,
)

try:
    from mcp import Client, ClientSession, MCPError, StdioServerParameters
    from mcp_types import (
        INVALID_PARAMS,
        METHOD_NOT_FOUND,
        CallToolResult,
        ReadResourceResult,
        TextContent,
        TextResourceContents,
    )
except ImportError:  # pragma: no cover - the extra is there in the tests
    feature = "lapse.transports.mcp"
    raise MissingExtra(feature, "mcp") from None

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lapse.contract import Fix
    from lapse.ledger import JsonObject
    from lapse.runtime import Memory

    Prepare = Callable[[str, JsonObject], JsonObject | Awaitable[JsonObject]]
    """From a tool and its arguments to the arguments that are sent."""

__all__ = ["NOT_FOUND", "RememberingClient", "text_of_resource"]

NOT_FOUND = frozenset({METHOD_NOT_FOUND, INVALID_PARAMS, -32002})
"""Error codes that say there is no such resource; -32002 is how revisions before 2026 say it."""


class RememberingClient:
    """Calls tools through a client and takes in what their results say of the fixes given.

    Args:
        memory: where fixes are kept; it is not closed here.
        client: a connected `Client` or `ClientSession`.
        issuer: the name fixes are bound to. Left out, it is the endpoint of a `Client`: the address
            without credentials and query, or the command by name and digest.
        prepare: gives the arguments that are sent; as they come when left out.

    Raises:
        InvalidValue: no issuer was named, and the client does not tell whom it talks to.
    """

    def __init__(
        self,
        memory: Memory,
        client: Client | ClientSession,
        *,
        issuer: str | None = None,
        prepare: Prepare | None = None,
    ) -> None:
        self._memory = memory
        self._client = client
        self._prepare = prepare
        self.issuer = _issuer_of(client) if issuer is None else issuer

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None, **options: Any
    ) -> CallToolResult:
        """Call a tool, and take its result in.

        Args:
            name: the tool.
            arguments: its arguments.
            options: passed to the client's own `call_tool` as they are.
        """
        sent = dict(arguments or {})
        if self._prepare is not None:
            prepared = self._prepare(name, sent)
            sent = dict(await prepared if isawaitable(prepared) else prepared)
        said = sent_of(self._memory, self.issuer)
        told = announced(options, said)
        result = cast("object", await self._client.call_tool(name, sent, **told))
        # A request for more input, which only a session hands out, answers nothing yet.
        if isinstance(result, CallToolResult):
            called = Called(self.issuer, name, sent, sent=said)
            await take_in(self._memory, called, _as_sent(result), self._read)
        return cast("CallToolResult", result)

    def fixes(self, name: str, arguments: JsonObject | None = None) -> tuple[Fix, ...]:
        """The fixes that hold now for a tool, oldest first; with arguments, those for the call."""
        return self._memory.fixes(name, arguments, issuer=self.issuer)

    def brief(
        self,
        name: str,
        arguments: JsonObject | None = None,
        *,
        level: Consumption = Consumption.AMENDED,
    ) -> str:
        """The fixes that hold now, worded for a planner; empty when there are none."""
        return self._memory.brief(name, arguments, issuer=self.issuer, level=level)

    async def refresh(self) -> bool:
        """Ask the server for its versions now and reconcile; False when it did not say them."""
        return await refresh(self._memory, self.issuer, self._read)

    async def _read(self, uri: str) -> bytes:
        # Past the client's own cache: an answer of a minute ago says nothing about now.
        session = self._client.session if isinstance(self._client, Client) else self._client
        try:
            return text_of_resource(await session.read_resource(uri))
        except MCPError as error:
            if error.code in NOT_FOUND:
                raise NotOffered(uri) from error
            raise


def text_of_resource(result: ReadResourceResult) -> bytes:
    """The first text of a resource.

    Raises:
        NotOffered: it has none.
    """
    for content in result.contents:
        if isinstance(content, TextResourceContents):
            return content.text.encode(errors="surrogatepass")
    raise NotOffered


def _as_sent(result: CallToolResult) -> dict[str, Any]:
    """The parts of a result that may speak of the contract, as they stood on the wire."""
    return {
        "isError": result.is_error,
        "_meta": result.meta,
        "structuredContent": result.structured_content,
        "content": [
            {"type": "text", "text": block.text}
            for block in result.content
            if result.is_error and isinstance(block, TextContent)
        ],
    }


def _issuer_of(client: Client | ClientSession) -> str:
    server = client.server if isinstance(client, Client) else None
    match server:
        case str():
            return issuer_of_url(server)
        case StdioServerParameters():
            return issuer_of_command([server.command, *server.args])
        case _:
            remedy = "name the server: this client does not tell its address or command"
            raise InvalidValue("issuer", None, remedy)
