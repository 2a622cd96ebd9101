"""The contract's seat in a server of the official MCP SDK.

::

    contract = Contract(registry)
    seat = ContractExtension(contract)
    server = MCPServer("shop", extensions=[seat], subscriptions=seat.reloads)
    seat.offer(server)

    @server.tool()
    def place(plan: str, code: str | None = None) -> str:
        with contract.reading() as tables:
            ...                              # raise Rejected(Violation(...)) when it is violated

A tool raises `Rejected` inside `reading` exactly as a route of FastAPI does; the seat turns it into
an error result that says what would pass. Every other result is stamped in `_meta` and is otherwise
left alone.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from lapse.contract import Level
from lapse.errors import MissingExtra
from lapse.server.bursts import Bursts
from lapse.server.contract import LEAVING, Rejected
from lapse.server.mcp_shape import (
    JSON,
    asking_of,
    moved_uris,
    read_contract,
    refusal_of,
    stamps_of,
)
from lapse.wire.mcp import (
    CHANGES_TEMPLATE,
    GRAPH,
    KEY,
    TABLE_TEMPLATE,
    VERSIONS,
    changes_uri,
    table_uri,
)

try:
    from mcp.server.extension import Extension, ResourceBinding
    from mcp.server.mcpserver.exceptions import ResourceNotFoundError
    from mcp.server.mcpserver.resources import FunctionResource, ResourceSecurity
    from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        INTERNAL_ERROR,
        CallToolRequestParams,
        CallToolResult,
        ErrorData,
        TextContent,
    )
except ImportError:  # pragma: no cover - the extra is there in the tests
    feature = "the contract in an MCP server"
    raise MissingExtra(feature, "mcp") from None

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Iterator, Sequence

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.mcpserver import MCPServer
    from mcp.server.subscriptions import ServerEvent

    from lapse.contract import Registry
    from lapse.server.contract import Contract
    from lapse.server.digests import Asking

__all__ = ["ContractExtension", "Reloads"]

_PAUSE_S = 0.1
"""How long further reloads wait after one was told: at most ten refetches a second."""

_ANY_NAME = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False)
"""A table's name and a version may hold dots and slashes: they are looked up, never opened."""


class _Leaving(Rejected, MCPError):
    """A rejection in the one form that the SDK hands to an interceptor as it is."""

    def __init__(self, rejected: Rejected) -> None:
        Exception.__init__(self, rejected.violation.title)
        self.violation = rejected.violation
        self.registry = rejected.registry
        # Seen by a client only where no interceptor is: then it is a protocol error.
        self.error = ErrorData(code=INTERNAL_ERROR, message=rejected.violation.title)


class Reloads(InMemorySubscriptionBus):
    """The SDK's in-process bus for `subscriptions/listen`, which carries reloads too.

    A burst of reloads is one `resources/updated` per table now and at most one more after the
    pause. Reloads may happen in any thread; listeners are called on the loop they came from.

    Args:
        contract: whose reloads.
        pause_s: how long further reloads wait after one was told.
    """

    def __init__(self, contract: Contract, *, pause_s: float = _PAUSE_S) -> None:
        super().__init__()
        self._contract = contract
        self._pause_s = pause_s
        self._loops: dict[AbstractEventLoop, Bursts] = {}
        self._told: dict[AbstractEventLoop, dict[object, Callable[[ServerEvent], None]]] = {}
        contract.watch(self._reloaded)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Register a listener; called on the loop that it is to be told on."""
        leave = super().subscribe(listener)
        loop = asyncio.get_running_loop()
        told = self._told.setdefault(loop, {})
        token = object()
        told[token] = listener
        if loop not in self._loops:
            self._loops[loop] = Bursts(
                deliver=partial(self._deliver, loop), later=partial(loop.call_later, self._pause_s)
            )

        def unsubscribe() -> None:
            leave()
            told.pop(token, None)

        return unsubscribe

    def _deliver(self, loop: AbstractEventLoop, uris: tuple[str, ...]) -> None:
        for listener in tuple(self._told[loop].values()):
            for uri in uris:
                listener(ResourceUpdated(uri=uri))

    def _reloaded(self, before: Registry, after: Registry) -> None:
        uris = tuple(moved_uris(before, after, self._contract.wire_name))
        for loop, bursts in tuple(self._loops.items()):
            try:
                loop.call_soon_threadsafe(bursts.add, uris)
            except RuntimeError:  # the loop was closed, and its listeners went with it
                self._loops.pop(loop, None)
                self._told.pop(loop, None)


class ContractExtension(Extension):
    """Stamps results, turns rejections into errors that say what would pass, offers resources.

    Args:
        contract: the service's contract.
        reloads: how reloads are pushed; pass its `reloads` to the server as `subscriptions`.
    """

    identifier = KEY

    def __init__(self, contract: Contract, *, reloads: Reloads | None = None) -> None:
        self.contract = contract
        self.reloads = Reloads(contract) if reloads is None else reloads

    def settings(self) -> dict[str, Any]:
        """What the server announces: the level, and whether there is a graph."""
        level = self.contract.emission.level
        return {"level": int(level), "graph": level >= Level.L5}

    def resources(self) -> Sequence[ResourceBinding]:
        """The versions, the graph, and each table that is loaded now."""
        level = self.contract.emission.level
        if level < Level.L1:
            return ()
        names = map(self.contract.wire_name, self.contract.registry.tables)
        tables = map(table_uri, names)
        uris = [VERSIONS, *([GRAPH] if level >= Level.L5 else []), *tables]
        return [ResourceBinding(self._resource(uri)) for uri in uris]

    def _resource(self, uri: str) -> FunctionResource:
        return FunctionResource(
            uri=uri,
            name=uri.removeprefix("contract://"),
            description=_DESCRIPTIONS[uri.removeprefix("contract://").partition("/")[0]],
            mime_type=JSON,
            fn=partial(self._read, uri),
        )

    def _read(self, uri: str) -> str:
        body = read_contract(self.contract, uri)
        if body is None:
            raise ResourceNotFoundError(f"Unknown resource: {uri}")
        return body.decode()

    def offer(self, server: MCPServer[Any]) -> None:
        """Add the resource templates, which the SDK takes from nobody but the server's owner.

        `contract://changes/{table}/{since}` is how a client asks what changed; tables loaded later
        are read through the template as well.
        """
        if self.contract.emission.level < Level.L1:
            return

        def changes(table: str, since: str) -> str:
            return self._read(changes_uri(table, since))

        def table_(table: str) -> str:
            return self._read(table_uri(table))

        for template, read in ((CHANGES_TEMPLATE, changes), (TABLE_TEMPLATE, table_)):
            kind = template.removeprefix("contract://").partition("/")[0]
            server.resource(
                template,
                name=kind,
                description=_DESCRIPTIONS[kind],
                mime_type=JSON,
                security=_ANY_NAME,
            )(read)

    async def intercept_tool_call(
        self,
        params: CallToolRequestParams,
        ctx: ServerRequestContext[Any, Any],
        call_next: CallNext,
    ) -> HandlerResult:
        """Answer one call: a rejection as an error result, everything else stamped."""
        asked = asking_of(self.contract, params.meta, params.arguments)
        token = LEAVING.set(_Leaving)
        try:
            result = await call_next(ctx)
        except _Leaving as rejected:
            return self._refused(rejected, asked)
        finally:
            LEAVING.reset(token)
        return self._stamped(result, asked)

    def _refused(self, rejected: Rejected, asked: Asking | None) -> CallToolResult:
        refusal = refusal_of(self.contract, rejected, asked)
        meta = None if refusal.stamps is None else {KEY: refusal.stamps}
        return CallToolResult(
            content=[TextContent(type="text", text=refusal.text)],
            structured_content=refusal.structured,
            is_error=True,
            _meta=cast("Any", meta),
        )

    def _stamped(self, result: HandlerResult, asked: Asking | None) -> HandlerResult:
        value = stamps_of(self.contract, asked)
        # A request for more input is no answer yet, and a claimed shape is another extension's.
        if value is None or not isinstance(result, CallToolResult):
            return result
        meta: dict[str, Any] = {**dict(_pairs(result.meta)), KEY: value}
        return result.model_copy(update={"meta": meta})


def _pairs(meta: object) -> Iterator[tuple[str, Any]]:
    if isinstance(meta, dict):
        yield from cast("dict[str, Any]", meta).items()


_DESCRIPTIONS = {
    "versions": "The version of every table, and of the rules; rows are not shown.",
    "graph": "Which rows follow from which.",
    "tables": "A table's version, and how far back its changes can be asked for.",
    "changes": "Which rows of a table changed since a version, without their content.",
}
