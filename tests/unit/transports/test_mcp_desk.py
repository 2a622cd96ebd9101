"""What the proxy does with a single request, against an upstream that a test scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS

import lapse
from lapse.contract import AmendmentRules, FieldRules
from lapse.ledger import Status
from lapse.runtime import Memory
from lapse.transports.mcp_proxy import APPLIED, KNOWN_FIXES, Consume, Proxy
from lapse.transports.mcp_proxy.addressing import envelope_of, headers_for, is_modern
from lapse.wire.mcp import KEY

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
    "progressToken": 7,
}
SCHEMA = {"type": "object", "properties": {"plan": {"type": "string", "x-mcp-header": "Plan"}}}
CALL = {"name": "place", "arguments": {"plan": "growth"}, "_meta": META}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with lapse.open("memory:") as opened:
        yield opened


@dataclass
class Scripted:
    """An upstream whose answers a test decides; keeps what it was asked."""

    answer: Callable[[str, Any], dict[str, Any]]
    heard: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])

    async def forward(self, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        self.heard.append((method, params))
        return self.answer(method, params)

    async def ask(self, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        self.heard.append((f"own {method}", params))
        return self.answer(method, params)


def always(result: dict[str, Any]) -> Scripted:
    """An upstream with one answer."""

    def answer(method: str, params: Any) -> dict[str, Any]:
        del method, params
        return result

    return Scripted(answer)


def test_a_request_of_2026_is_addressed_by_what_it_says() -> None:
    assert headers_for("tools/call", CALL, agreed=None, schema=SCHEMA) == {
        "mcp-protocol-version": VERSION,
        "mcp-method": "tools/call",
        "mcp-name": "place",
        "Mcp-Param-Plan": "growth",
    }
    assert headers_for("resources/read", {"uri": "a://b", "_meta": META}, agreed="x") == {
        "mcp-protocol-version": VERSION,
        "mcp-method": "resources/read",
        "mcp-name": "a://b",
    }


def test_before_2026_the_version_is_the_one_agreed_on() -> None:
    assert headers_for("tools/call", {"name": "x"}, agreed=None) == {}
    agreed = headers_for("tools/call", {"name": "x"}, agreed="2025-06-18")
    assert agreed == {"mcp-protocol-version": "2025-06-18"}


@pytest.mark.parametrize("params", [None, {}, {"_meta": 7}, {"_meta": {"progressToken": 1}}])
def test_what_carries_no_version_is_not_of_2026(params: Any) -> None:
    assert envelope_of(params) == {}
    assert not is_modern(params)


async def test_a_server_that_wants_headers_is_asked_which_and_called_again(memory: Memory) -> None:
    desk = Proxy(memory, issuer="shop")
    listed: list[dict[str, Any]] = [
        {"tools": [{"name": "other", "inputSchema": {"type": "object"}}], "nextCursor": "2"},
        {"tools": [{"name": "place", "inputSchema": SCHEMA}]},
    ]
    pages = iter(listed)

    def answer(method: str, params: Any) -> dict[str, Any]:
        if method == "tools/list":
            return next(pages)
        if "Mcp-Param-Plan" not in desk.headers(method, params):
            raise MCPError(HEADER_MISMATCH, "mirror the plan")
        return {"content": [], "resultType": "complete"}

    upstream = Scripted(answer)
    assert await desk.answer("tools/call", CALL, upstream) == {
        "content": [],
        "resultType": "complete",
    }
    own = {key: value for key, value in META.items() if key != "progressToken"}
    assert upstream.heard == [
        ("tools/call", CALL),
        ("own tools/list", {"_meta": own}),
        ("own tools/list", {"_meta": own, "cursor": "2"}),
        ("tools/call", CALL),
    ]


@pytest.mark.parametrize("code", [HEADER_MISMATCH, INTERNAL_ERROR])
async def test_an_error_that_stays_is_the_hosts(memory: Memory, code: int) -> None:
    def answer(method: str, params: Any) -> dict[str, Any]:
        del params
        if method == "tools/list":
            return {"tools": []}
        raise MCPError(code, "no")

    with pytest.raises(MCPError, match="no"):
        await Proxy(memory, issuer="shop").answer("tools/call", CALL, Scripted(answer))


@pytest.mark.requirement("C-MCP-19")
async def test_a_request_for_more_input_passes_and_teaches_nothing(memory: Memory) -> None:
    asks: dict[str, Any] = {
        "resultType": "input_required",
        "isError": True,
        "structuredContent": {},
    }
    upstream = always(asks)
    assert await Proxy(memory, issuer="shop").answer("tools/call", CALL, upstream) == asks
    assert memory.counters == {}


@pytest.mark.parametrize("params", [None, {}, {"name": 7}, {"name": "x", "arguments": "odd"}])
async def test_an_odd_call_is_the_servers_to_refuse(memory: Memory, params: Any) -> None:
    upstream = always({"content": []})
    desk = Proxy(memory, issuer="shop", consume=Consume.APPLY)
    assert await desk.answer("tools/call", params, upstream) == {"content": []}
    assert upstream.heard == [("tools/call", params or {})]


async def test_an_odd_listing_passes(memory: Memory) -> None:
    odd: dict[str, Any] = {"tools": [{"name": "a", "inputSchema": 7}], "nextCursor": "2"}
    desk = Proxy(memory, issuer="shop")
    assert await desk.answer("tools/list", None, always(odd)) == odd
    last: dict[str, Any] = {"tools": [{"name": "a", "inputSchema": 7}]}
    listed = await desk.answer("tools/list", {"cursor": "2"}, always(last))
    assert [tool["name"] for tool in listed["tools"]] == ["a", KNOWN_FIXES]


def shop(offer: dict[str, Any], heard: list[Any]) -> Callable[[str, Any], dict[str, Any]]:
    """A server whose tool wants a code, and offers it with whatever a test says."""

    def answer(method: str, params: Any) -> dict[str, Any]:
        if method == "tools/list":
            return {"tools": [{"name": "place", "inputSchema": ORDER}]}
        if method != "tools/call":
            raise MCPError(INVALID_PARAMS, "no such resource")
        heard.append(params["arguments"])
        stamps = {"level": 3, "table_versions": {"codes": "1"}}
        if params["arguments"].get("code") == "A":
            return {"content": [], "_meta": {KEY: stamps}}
        fix = {
            "type": "SET",
            "parameters": offer,
            "cache_hint": "cacheable",
            "table": "codes",
            "when": {"plan": params["arguments"].get("plan")},
        }
        problem = {"success": False, "recovery_feedback": {"suggestions": [fix]}}
        return {
            "content": [{"type": "text", "text": "refused"}],
            "isError": True,
            "structuredContent": problem | {"table_versions": {"codes": "1"}},
            "_meta": {KEY: {**stamps, "success": False}},
        }

    return answer


ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "plan": {"type": "string"},
        "code": {"type": "string"},
        "payout_account": {"type": "string"},
    },
}


async def placed(desk: Proxy, server: Callable[[str, Any], dict[str, Any]]) -> dict[str, Any]:
    call = {"name": "place", "arguments": {"plan": "growth"}}
    return await desk.answer("tools/call", call, Scripted(server))


@pytest.mark.requirement("C-MCP-21")
async def test_what_is_merged_into_a_call_is_on_record_and_its_outcome_counts(
    memory: Memory,
) -> None:
    heard: list[Any] = []
    desk = Proxy(memory, issuer="shop", consume=Consume.APPLY)
    server = shop({"code": "A"}, heard)
    await placed(desk, server)
    result = await placed(desk, server)
    (record,) = memory.records()
    assert heard == [{"plan": "growth"}, {"plan": "growth", "code": "A"}]
    assert result["_meta"][APPLIED] == [{"record": record.id, "type": "SET"}]
    told = [(chapter.what.value, chapter.reason) for chapter in memory.why(record.id)]
    assert told[1:] == [("applied", "merged"), ("witnessed", "applied")]

    def failing(method: str, params: Any) -> dict[str, Any]:
        if method != "tools/call":
            return server(method, params)
        return {"content": [{"type": "text", "text": "no"}], "isError": True}

    await placed(desk, failing)
    assert memory.record(record.id).status is Status.DISPUTED
    await placed(desk, server)
    assert heard[-1] == {"plan": "growth"}


@pytest.mark.requirement("C-MCP-21")
@pytest.mark.parametrize("allowed", [frozenset[str](), frozenset({"payout_account"})])
async def test_a_call_gets_nothing_sensitive_unless_it_was_allowed_by_name(
    memory: Memory, allowed: frozenset[str]
) -> None:
    heard: list[Any] = []
    rules = AmendmentRules(fields=FieldRules(allowed=allowed))
    desk = Proxy(memory, issuer="shop", consume=Consume.APPLY, rules=rules)
    server = shop({"code": "A", "payout_account": "DE00"}, heard)
    await placed(desk, server)
    await placed(desk, server)
    merged = {"code": "A", "payout_account": "DE00"} if allowed else {}
    assert heard[-1] == {"plan": "growth", **merged}
