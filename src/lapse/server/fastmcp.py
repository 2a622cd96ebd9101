"""The contract's seat in a FastMCP server.

::

    app = FastMCP("shop")
    contract = Contract(registry)
    install(app, contract)

    @app.tool
    def place(plan: str, code: str | None = None) -> str:
        with contract.reading() as tables:
            ...                              # raise Rejected(Violation(...)) when it is violated

The middleware sits outside all others: a response cache further in would replay old stamps, and an
old answer to "what changed", for as long as it keeps them. FastMCP serves no subscriptions, so
reloads are not pushed; the stamps on every result tell them.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from lapse.contract import Level
from lapse.errors import MissingExtra
from lapse.server.contract import LEAVING, Rejected
from lapse.server.mcp_shape import JSON, asking_of, read_contract, refusal_of, stamps_of
from lapse.wire.mcp import (
    CHANGES_TEMPLATE,
    GRAPH,
    KEY,
    TABLE_TEMPLATE,
    VERSIONS,
    changes_uri,
    parse_uri,
    table_uri,
)

try:
    from fastmcp.exceptions import NotFoundError, ToolError
    from fastmcp.resources import ResourceContent, ResourceResult
    from fastmcp.server.extensions import ServerExtension
    from fastmcp.server.middleware import Middleware
    from fastmcp.tools.base import InputRequiredToolResult, ToolResult
    from mcp_types import TextContent
except ImportError:  # pragma: no cover - the extra is there in the tests
    feature = "the contract in a FastMCP server"
    raise MissingExtra(feature, "fastmcp") from None

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastmcp import FastMCP
    from fastmcp.server.middleware import CallNext, MiddlewareContext
    from mcp_types import CallToolRequestParams, ReadResourceRequestParams

    from lapse.server.contract import Contract
    from lapse.server.digests import Asking

__all__ = ["ContractMiddleware", "install"]


class _Leaving(Rejected, ToolError):
    """A rejection in the one form that FastMCP neither masks nor logs as a crash."""

    def __init__(self, rejected: Rejected) -> None:
        ToolError.__init__(self, rejected.violation.title, log_level=logging.DEBUG)
        self.violation = rejected.violation
        self.registry = rejected.registry


class _Announced(ServerExtension):
    """What the server announces: the level, and whether there is a graph."""

    identifier = KEY

    def __init__(self, contract: Contract) -> None:
        self._level = contract.emission.level

    def settings(self) -> dict[str, Any]:
        return {"level": int(self._level), "graph": self._level >= Level.L5}


class ContractMiddleware(Middleware):
    """Stamps results, turns rejections into errors that say what would pass, answers `contract://`.

    Args:
        contract: the service's contract.
    """

    def __init__(self, contract: Contract) -> None:
        self._contract = contract

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Answer one call: a rejection as an error result, everything else stamped."""
        asked = asking_of(self._contract, _meta_of(context), context.message.arguments)
        token = LEAVING.set(_Leaving)
        try:
            result = await call_next(context)
        except ToolError as failure:
            rejected = failure if isinstance(failure, Rejected) else failure.__cause__
            if isinstance(rejected, Rejected):
                return self._refused(rejected, asked)
            raise
        finally:
            LEAVING.reset(token)
        return self._stamped(result, asked)

    async def on_read_resource(
        self,
        context: MiddlewareContext[ReadResourceRequestParams],
        call_next: CallNext[ReadResourceRequestParams, ResourceResult],
    ) -> ResourceResult:
        """Answer a contract resource here, in front of any cache; pass every other on."""
        uri = str(context.message.uri)
        if parse_uri(uri) is None:
            return await call_next(context)
        await self.check_resource_access(context)
        body = read_contract(self._contract, uri)
        if body is None:
            raise NotFoundError(f"Unknown resource: {uri!r}")
        return ResourceResult([ResourceContent(body.decode(), mime_type=JSON)])

    def _refused(self, rejected: Rejected, asked: Asking | None) -> ToolResult:
        refusal = refusal_of(self._contract, rejected, asked)
        return ToolResult(
            content=[TextContent(type="text", text=refusal.text)],
            structured_content=refusal.structured,
            meta=None if refusal.stamps is None else {KEY: refusal.stamps},
            is_error=True,
        )

    def _stamped(self, result: Any, asked: Asking | None) -> Any:
        value = stamps_of(self._contract, asked)
        # A request for more input is no answer yet, and an extension's own shape is not ours.
        if value is None or not isinstance(result, ToolResult):
            return result
        if isinstance(result, InputRequiredToolResult):
            return result
        # A copy: what came from a cache further in is the cache's.
        return result.model_copy(update={"meta": {**(result.meta or {}), KEY: value}})


def _meta_of(context: MiddlewareContext[CallToolRequestParams]) -> object:
    """The request's `_meta`, which the message that middleware sees does not have."""
    held = None if context.fastmcp_context is None else context.fastmcp_context.request_context
    return context.message.meta if held is None else held.meta


def install(app: FastMCP[Any], contract: Contract) -> ContractMiddleware:
    """Seat a contract in a server, outside the middleware that is there already.

    Middleware that is added later goes further in by itself.

    Args:
        app: the server.
        contract: its contract.
    """
    seat = ContractMiddleware(contract)
    app.middleware.insert(0, seat)
    app.add_extension(_Announced(contract))
    level = contract.emission.level
    if level >= Level.L1:
        _offer(app, contract)
    return seat


def _offer(app: FastMCP[Any], contract: Contract) -> None:
    """List the contract's resources; reads of them are answered by the middleware."""

    def reading(uri: str) -> str:
        body = read_contract(contract, uri)
        if body is None:
            raise NotFoundError(f"Unknown resource: {uri!r}")
        return body.decode()

    def versions() -> str:
        """The version of every table, and of the rules; rows are not shown."""
        return reading(VERSIONS)

    def graph() -> str:
        """Which rows follow from which."""
        return reading(GRAPH)

    def changes(table: str, since: str) -> str:
        """Which rows of a table changed since a version, without their content."""
        return reading(changes_uri(table, since))

    def tables(table: str) -> str:
        """A table's version, and how far back its changes can be asked for."""
        return reading(table_uri(table))

    offered: list[tuple[str, Callable[..., str]]] = [
        (VERSIONS, versions),
        (CHANGES_TEMPLATE, changes),
        (TABLE_TEMPLATE, tables),
    ]
    if contract.emission.level >= Level.L5:
        offered.append((GRAPH, graph))
    named = map(contract.wire_name, contract.registry.tables)
    offered += [(table_uri(table), partial(tables, table)) for table in named]
    for uri, read in offered:
        cast("Any", app).resource(uri, mime_type=JSON, name=uri.removeprefix("contract://"))(read)
