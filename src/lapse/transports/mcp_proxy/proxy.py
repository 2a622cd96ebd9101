"""The proxy's desk: lets everything pass, takes results in, gives out what holds."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH

from lapse.contract import Amendment, AmendmentRules, amendment
from lapse.errors import LapseError
from lapse.transports.mcp import NOT_FOUND
from lapse.transports.mcp_exchange import Called, NotOffered, refresh, take_in
from lapse.transports.mcp_proxy.addressing import envelope_of, headers_for, is_modern
from lapse.transports.mcp_proxy.surfacing import (
    KNOWN_FIXES,
    asked_about,
    described,
    known_fixes_tool,
    tools_of,
    with_words,
    worded,
)
from lapse.transports.schema_checking import check_of
from lapse.transports.waiting import off_loop_async

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from lapse.contract import Fix
    from lapse.ledger import JsonObject
    from lapse.runtime import Memory
    from lapse.transports.mcp_exchange import Reader
    from lapse.transports.mcp_proxy.relay import Params, Upstream

__all__ = ["APPLIED", "Consume", "Proxy"]

APPLIED = "dev.lapse/applied"
"""The `_meta` key under which a result says which fixes were merged into its call."""

_PAGES = 50
"""Pages of `tools/list` that are read to find one tool's schema."""

_USAGE = "Pass the tool you are about to call, and the arguments you mean to use."


class Consume(StrEnum):
    """What happens with a fix that holds."""

    WATCH = "watch"
    """Nothing: it is learned, kept true, and given out by other means."""
    BRIEF = "brief"
    """The model is told: in tool descriptions, by a tool, in errors that lack the words."""
    APPLY = "apply"
    """It is merged into the call, under the tool's input schema and the user's rules."""


class Proxy:
    """Sees the host's requests on their way to the server.

    Args:
        memory: where fixes are kept; it is not closed here.
        issuer: whose fixes.
        consume: what happens with fixes that hold.
        rules: what may be merged into a call; by default nothing sensitive.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        issuer: str,
        consume: Consume = Consume.BRIEF,
        rules: AmendmentRules | None = None,
    ) -> None:
        self._memory = memory
        self._issuer = issuer
        self._consume = consume
        self._rules = AmendmentRules() if rules is None else rules
        self._agreed: str | None = None
        self._told_of_changes = False
        self._schemas: dict[str, dict[str, Any]] = {}
        self._listed: dict[str, frozenset[str]] = {}
        self.tell_host: Callable[[str], Awaitable[None]] | None = None

    def headers(self, method: str, params: Params) -> dict[str, str]:
        """What a message to the server needs over HTTP."""
        name = (params or {}).get("name")
        schema = self._schemas.get(name) if isinstance(name, str) else None
        return headers_for(method, params, agreed=self._agreed, schema=schema)

    async def answer(self, method: str, params: Params, upstream: Upstream) -> dict[str, Any]:
        """The result of a request of the host."""
        match method:
            case "tools/call":
                return await self._call(dict(params or {}), upstream)
            case "tools/list":
                return await self._list(params, upstream)
            case "initialize":
                result = await upstream.forward(method, params)
                self._agree(result)
                return result
            case _:
                return await upstream.forward(method, params)

    def _agree(self, result: Mapping[str, Any]) -> None:
        version = result.get("protocolVersion")
        self._agreed = version if isinstance(version, str) else None
        match result:
            case {"capabilities": {"tools": {"listChanged": True}}}:
                self._told_of_changes = True
            case _:
                self._told_of_changes = False

    # -- listing -----------------------------------------------------------------------------

    async def _list(self, params: Params, upstream: Upstream) -> dict[str, Any]:
        result = await upstream.forward("tools/list", params)
        tools = self._learn_schemas(result)
        if self._consume is not Consume.BRIEF:
            return result
        names = [tool["name"] for tool in tools]
        known = await self._known_by_tool(names)
        if any(known.values()):
            await refresh(self._memory, self._issuer, _reader(upstream, params))
            known = await self._known_by_tool(names)
        self._listed |= {name: frozenset(f.id for f in fixes) for name, fixes in known.items()}
        said = [described(tool, known[tool["name"]]) for tool in tools]
        if said == tools and result.get("nextCursor") is not None:
            return result
        shown = said != tools
        if result.get("nextCursor") is None and KNOWN_FIXES not in self._schemas:
            said.append(known_fixes_tool())
        result = {**result, "tools": said}
        if shown and "ttlMs" in result:
            result["ttlMs"] = 0  # a fix may lapse at any time; a listing that shows one is not kept
        return result

    def _learn_schemas(self, listing: Mapping[str, Any]) -> list[dict[str, Any]]:
        tools = tools_of(listing)
        for tool in tools:
            schema = tool.get("inputSchema")
            if isinstance(schema, dict):
                self._schemas[tool["name"]] = cast("dict[str, Any]", schema)
        return tools

    async def _find_schema(self, name: str, params: Params, upstream: Upstream) -> None:
        """Look a tool's schema up; a host that knows its tools does not list them again."""
        asked: dict[str, Any] = _signed(params)
        for _ in range(_PAGES):
            page = await upstream.ask("tools/list", asked)
            self._learn_schemas(page)
            cursor = page.get("nextCursor")
            if name in self._schemas or not isinstance(cursor, str):
                return
            asked = {**_signed(params), "cursor": cursor}

    # -- calling -----------------------------------------------------------------------------

    async def _call(self, params: dict[str, Any], upstream: Upstream) -> dict[str, Any]:
        name, given = params.get("name"), params.get("arguments")
        arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        if name == KNOWN_FIXES and await self._is_ours(params, upstream):
            return await self._tell(arguments, params, upstream)
        if not isinstance(name, str):
            return await upstream.forward("tools/call", params)
        merged: tuple[Fix, ...] = ()
        if self._consume is Consume.APPLY:
            change = await self._amend(name, arguments, params, upstream)
            merged = change.merged
            if merged:
                arguments = dict(change.after)
                params = {**params, "arguments": arguments}
        result = await self._forward_call(name, params, upstream)
        if result.get("resultType") == "input_required":
            return result  # no answer yet
        called = Called(self._issuer, name, arguments, tuple(fix.id for fix in merged))
        return await self._taken_in(called, result, params, merged, upstream)

    async def _is_ours(self, params: Params, upstream: Upstream) -> bool:
        """Whether the tool of the proxy's name is the proxy's: a server may have one of its own."""
        if self._consume is not Consume.BRIEF:
            return False
        if not self._schemas:  # a host may know it from a listing that an earlier proxy made
            await self._find_schema(KNOWN_FIXES, params, upstream)
        return KNOWN_FIXES not in self._schemas

    async def _forward_call(
        self, name: str, params: dict[str, Any], upstream: Upstream
    ) -> dict[str, Any]:
        try:
            return await upstream.forward("tools/call", params)
        except MCPError as error:
            if error.code != HEADER_MISMATCH or name in self._schemas:
                raise
            # The server wants arguments mirrored in headers, and only its listing says which.
            await self._find_schema(name, params, upstream)
            if name not in self._schemas:
                raise
            return await upstream.forward("tools/call", params)

    async def _taken_in(
        self,
        called: Called,
        result: dict[str, Any],
        params: Params,
        merged: tuple[Fix, ...],
        upstream: Upstream,
    ) -> dict[str, Any]:
        reading = await take_in(self._memory, called, result, _reader(upstream, params))
        await self._retract()
        if merged:
            meta = result.get("_meta")
            held = cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}
            applied = [{"record": fix.id, "type": fix.type} for fix in merged]
            result = {**result, "_meta": {**held, APPLIED: applied}}
        failed = result.get("isError") is True
        if (
            self._consume is Consume.BRIEF
            and failed
            and not (reading.envelope.suggestions and reading.told)
        ):
            fixes = await self._known(called.tool, called.arguments)
            return with_words(result, fixes) if fixes else result
        return result

    async def _amend(
        self, name: str, arguments: JsonObject, params: Params, upstream: Upstream
    ) -> Amendment:
        """What is merged into a call, on record before the call leaves."""
        fixes = await self._known(name, arguments)
        if fixes:
            await refresh(self._memory, self._issuer, _reader(upstream, params))
            fixes = await self._known(name, arguments)
        if fixes and name not in self._schemas:
            await self._find_schema(name, params, upstream)
        schema = self._schemas.get(name)
        change = amendment(
            arguments,
            fixes,
            issuer=self._issuer,
            operation=name,
            rules=self._rules,
            check=None if schema is None else check_of(schema),
        )
        applying = self._memory.applying
        return await off_loop_async(lambda: applying.recorded(change, reason="merged"))

    async def _tell(
        self, arguments: JsonObject, params: Params, upstream: Upstream
    ) -> dict[str, Any]:
        about = asked_about(arguments)
        if about is None:
            text, failed = _USAGE, True
        else:
            if await self._known(about[0]):
                await refresh(self._memory, self._issuer, _reader(upstream, params))
            text, failed = worded(await self._known(*about)), False
        result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": failed}
        return {**result, "resultType": "complete"} if is_modern(params) else result

    # -- knowing -----------------------------------------------------------------------------

    async def _known(self, tool: str, arguments: JsonObject | None = None) -> tuple[Fix, ...]:
        """The fixes that hold for a tool; with arguments, those for such a call."""
        return (await self._known_by_tool([tool], arguments))[tool]

    async def _known_by_tool(
        self, tools: list[str], arguments: JsonObject | None = None
    ) -> dict[str, tuple[Fix, ...]]:
        """By tool, the fixes that hold; none where the memory cannot be read, which is told."""

        def look() -> dict[str, tuple[Fix, ...]]:
            fixes = self._memory.fixes
            return {tool: fixes(tool, arguments, issuer=self._issuer) for tool in tools}

        try:
            return await off_loop_async(look)
        except LapseError as failure:
            self._memory.failed(self._issuer, failure)
            return dict.fromkeys(tools, ())

    async def _retract(self) -> None:
        """Tell the host that a listing it holds names a fix that is no longer given out.

        Only for what lapsed: a listing that lacks a new fix is poorer, not wrong, and listing again
        costs the model's prompt cache. On 2026-07-28 a listing with fixes is not kept at all.
        """
        if not (self._told_of_changes and self.tell_host is not None):
            return
        listed = {tool: ids for tool, ids in self._listed.items() if ids}
        known = await self._known_by_tool(list(listed)) if listed else {}
        if any(ids - {fix.id for fix in known[tool]} for tool, ids in listed.items()):
            self._listed.clear()
            await self.tell_host("notifications/tools/list_changed")


def _signed(params: Params) -> dict[str, Any]:
    """Parameters that carry what a request of the host says of its sender."""
    envelope = envelope_of(params)
    return {"_meta": envelope} if envelope else {}


def _reader(upstream: Upstream, params: Params) -> Reader:
    """Reads the server's resources in the name of the host's request."""

    async def read(uri: str) -> bytes:
        try:
            result = await upstream.ask("resources/read", {"uri": uri, **_signed(params)})
        except MCPError as error:
            if error.code in NOT_FOUND:
                raise NotOffered(uri) from error
            raise
        match result:
            case {"contents": [{"text": str(text)}, *_]}:
                return text.encode(errors="surrogatepass")
            case _:
                raise NotOffered(uri)

    return read
