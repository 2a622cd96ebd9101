"""A proxy between an unmodified client and a server, joined by streams in one process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import pytest
from mcp import Client, MCPError
from mcp.server import MCPServer
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import CallToolResult, JSONRPCRequest, ListRootsResult, Root, TextContent
from pydantic import FileUrl

import lapse
from lapse.contract import Registry, Table, Violation
from lapse.runtime import Memory
from lapse.server import Contract, Rejected
from lapse.server.mcp import ContractExtension
from lapse.transports.mcp_proxy import APPLIED, KNOWN_FIXES, Consume, serve
from lapse.wire.mcp import KEY

ROWS = {"growth": "SUMMER25", "scale": "PARTNER20"}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with lapse.open("memory:") as opened:
        yield opened


@pytest.fixture(params=["2026-07-28", "legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@dataclass
class Shop:
    """A server that speaks the contract."""

    contract: Contract = field(
        default_factory=lambda: Contract(Registry.of([Table("codes", ROWS, "1.0.0")]))
    )
    placed: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def server(self) -> MCPServer[Any]:
        extension = ContractExtension(self.contract)
        server = MCPServer("shop", extensions=[extension], subscriptions=extension.reloads)
        extension.offer(server)

        @server.tool()
        def place(plan: str, code: str | None = None) -> str:
            """Place an order."""
            self.placed.append({"plan": plan, "code": code})
            with self.contract.reading() as tables:
                wanted = tables["codes"].get(plan)
                if code != wanted:
                    fix = tables.suggest("ADD_CODE", {"code": wanted}, when={"plan": plan})
                    raise Rejected(
                        Violation(
                            policy="code", title="Another code", detail="No", suggestions=(fix,)
                        )
                    )
            return f"placed {plan}"

        return server

    def reload(self, **rows: str) -> None:
        self.contract.reload("codes", {**ROWS, **rows})


def lowlevel_of(server: Any) -> Any:
    """What runs on a pair of streams."""
    return server._lowlevel_server


@asynccontextmanager
async def behind(
    server: MCPServer[Any], memory: Memory, consume: Consume = Consume.BRIEF
) -> AsyncGenerator[AbstractAsyncContextManager[Any]]:
    """The transport of a client whose server is behind a proxy."""
    lowlevel = lowlevel_of(server)

    @asynccontextmanager
    async def transport() -> AsyncGenerator[Any]:
        async with (
            create_client_server_memory_streams() as (host, proxy_host),
            create_client_server_memory_streams() as (proxy_server, upstream),
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(lowlevel.run, *upstream, lowlevel.create_initialization_options())

            async def run() -> None:
                ends: Any = {"host": proxy_host, "upstream": proxy_server}
                await serve(memory, **ends, issuer="shop", consume=consume)

            tasks.start_soon(run)
            with anyio.fail_after(60):
                yield host
            tasks.cancel_scope.cancel()

    yield transport()


@asynccontextmanager
async def talking(
    server: MCPServer[Any],
    memory: Memory,
    *,
    mode: str = "2026-07-28",
    consume: Consume = Consume.BRIEF,
    **options: Any,
) -> AsyncGenerator[Client]:
    async with (
        behind(server, memory, consume) as transport,
        Client(transport, mode=mode, **options) as client,
    ):
        yield client


def text_of(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


# -- what passes -----------------------------------------------------------------------------------


def everything(bus: InMemorySubscriptionBus | None = None) -> MCPServer[Any]:
    """A server that knows nothing of the contract and does a bit of everything."""
    server = MCPServer("all", instructions="Be kind.", version="7", subscriptions=bus)

    @server.tool()
    async def steps(ctx: Context[Any, Any]) -> str:
        """Report progress."""
        for step in range(3):
            await ctx.report_progress(step, 3, f"step {step}")
        return "done"

    @server.tool()
    def add(one: int, two: int) -> int:
        """Add."""
        return one + two

    @server.tool()
    def fail() -> str:
        """Fail."""
        raise ToolError("no luck")

    @server.resource("note://{name}")
    def note(name: str) -> str:
        return f"note {name}"

    @server.prompt()
    def greet(name: str) -> str:
        return f"Hello {name}"

    return server


async def answers(client: Client) -> list[Any]:
    """What a client gets to see of a server."""
    steps: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total, message))

    seen: list[Any] = [
        client.protocol_version,
        client.server_info,
        client.server_capabilities,
        client.instructions,
        await client.list_tools(),
        await client.list_resources(),
        await client.list_resource_templates(),
        await client.list_prompts(),
        await client.call_tool("add", {"one": 1, "two": 2}),
        await client.call_tool("add", {"one": "x"}),
        await client.call_tool("fail", {}),
        await client.call_tool("none", {}),
        await client.call_tool("steps", {}, progress_callback=on_progress),
        await client.read_resource("note://a"),
        await client.get_prompt("greet", {"name": "Ann"}),
    ]
    for wrong in ("note:///", "odd://x"):
        with pytest.raises(MCPError) as refused:
            await client.read_resource(wrong)
        seen.append(refused.value.error)
    return [*seen, steps]


@pytest.mark.requirement("C-MCP-20")
@pytest.mark.parametrize("consume", [Consume.WATCH, Consume.APPLY])
async def test_a_server_that_knows_nothing_of_the_contract_is_the_same_behind_a_proxy(
    memory: Memory, mode: str, consume: Consume
) -> None:
    async with Client(everything(), mode=mode) as direct:
        expected = await answers(direct)
    async with talking(everything(), memory, mode=mode, consume=consume) as client:
        assert await answers(client) == expected
    assert memory.records() == ()
    assert set(memory.counters) <= {"unchanged"}


async def test_a_proxy_that_briefs_adds_one_tool_at_the_end(memory: Memory, mode: str) -> None:
    async with Client(everything(), mode=mode) as direct:
        expected = (await direct.list_tools()).tools
    async with talking(everything(), memory, mode=mode) as client:
        *tools, added = (await client.list_tools()).tools
    assert tools == expected
    assert added.name == KNOWN_FIXES


@pytest.mark.requirement("C-MCP-20")
async def test_a_cancellation_reaches_the_server(memory: Memory, mode: str) -> None:
    started, cancelled = anyio.Event(), anyio.Event()
    server = MCPServer("slow")

    @server.tool()
    async def wait() -> str:
        """Wait."""
        started.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise
        return ""

    async with talking(server, memory, mode=mode) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "wait")
            await started.wait()
            tasks.cancel_scope.cancel()
        await cancelled.wait()
        assert (await client.list_prompts()).prompts == []


@pytest.mark.requirement("C-MCP-20")
async def test_a_servers_own_requests_reach_the_host(memory: Memory) -> None:
    server = MCPServer("asks")

    @server.tool()
    async def ask(ctx: Context[Any, Any]) -> str:
        """Ask the host's user."""
        answer = await ctx.session.list_roots()  # pyright: ignore[reportDeprecated]
        return str(len(answer.roots))

    async def roots(_: Any) -> Any:
        return ListRootsResult(roots=[Root(uri=FileUrl(f"file:///{name}")) for name in "ab"])

    with pytest.warns(UserWarning, match="deprecated"):
        async with talking(server, memory, mode="legacy", list_roots_callback=roots) as client:
            assert text_of(await client.call_tool("ask", {})) == ["2"]


@pytest.mark.requirement("C-MCP-20")
async def test_a_subscription_is_the_hosts_own(memory: Memory) -> None:
    bus = InMemorySubscriptionBus()
    async with (
        talking(everything(bus), memory) as client,
        client.listen(resource_subscriptions=["note://a"]) as told,
    ):
        await client.call_tool("add", {"one": 1, "two": 2})
        await bus.publish(ResourceUpdated(uri="note://a"))
        async for event in told:
            assert event == ResourceUpdated(uri="note://a")
            break


# -- what is taken in, and given out ---------------------------------------------------------------


async def fails_then_learns(client: Client, plan: str) -> None:
    assert (await client.call_tool("place", {"plan": plan})).is_error


@pytest.mark.requirement("C-MCP-20")
async def test_a_watching_proxy_learns_and_changes_nothing(memory: Memory, mode: str) -> None:
    async with Client(Shop().server, mode=mode) as direct:
        expected = await direct.call_tool("place", {"plan": "growth"})
        listing = await direct.list_tools()
    async with talking(Shop().server, memory, mode=mode, consume=Consume.WATCH) as client:
        assert await client.call_tool("place", {"plan": "growth"}) == expected
        assert await client.list_tools() == listing
    [fix] = memory.fixes("place", {"plan": "growth"}, issuer="shop")
    assert fix.parameters == {"code": "SUMMER25"}


@pytest.mark.requirement("C-MCP-21")
async def test_a_briefing_proxy_tells_and_never_rewrites(memory: Memory, mode: str) -> None:
    shop = Shop()
    async with talking(shop.server, memory, mode=mode) as client:
        await fails_then_learns(client, "growth")
        [place, _] = (await client.list_tools(cache_mode="bypass")).tools
        again = await client.call_tool("place", {"plan": "growth"})
        asked = {"tool": "place", "arguments": {"plan": "growth"}}
        told = await client.call_tool(KNOWN_FIXES, asked)
        none = await client.call_tool(
            KNOWN_FIXES, {"tool": "place", "arguments": {"plan": "scale"}}
        )
        wrong = await client.call_tool(KNOWN_FIXES, {})
    assert '- ADD_CODE: when {"plan": "growth"} merge {"code": "SUMMER25"}' in str(
        place.description
    )
    assert again.is_error
    assert shop.placed == [{"plan": "growth", "code": None}] * 2
    assert '{"parameters": {"code": "SUMMER25"}, "type": "ADD_CODE"' in text_of(told)[0]
    assert text_of(none) == ["No fix is known for this call."]
    assert wrong.is_error


@pytest.mark.requirement("C-MCP-21", "C-MCP-22")
async def test_an_applying_proxy_merges_and_says_so_in_meta_alone(
    memory: Memory, mode: str
) -> None:
    shop = Shop()
    async with talking(shop.server, memory, mode=mode, consume=Consume.APPLY) as client:
        await fails_then_learns(client, "growth")
        result = await client.call_tool("place", {"plan": "growth"})
        direct = await client.call_tool("place", {"plan": "growth", "code": "SUMMER25"})
    assert shop.placed[1] == {"plan": "growth", "code": "SUMMER25"}
    [applied] = (result.meta or {})[APPLIED]
    assert applied["type"] == "ADD_CODE"
    assert memory.record(applied["record"]).content["parameters"] == {"code": "SUMMER25"}
    assert (result.content, result.structured_content) == (
        direct.content,
        direct.structured_content,
    )
    assert APPLIED not in (direct.meta or {})


async def test_an_applying_proxy_checks_before_it_uses_a_fix(memory: Memory, mode: str) -> None:
    shop = Shop()
    async with talking(shop.server, memory, mode=mode, consume=Consume.APPLY) as client:
        for plan in ROWS:
            await fails_then_learns(client, plan)
        shop.reload(growth="WINTER26")
        assert (await client.call_tool("place", {"plan": "growth"})).is_error
        assert not (await client.call_tool("place", {"plan": "scale"})).is_error
        assert not (await client.call_tool("place", {"plan": "growth"})).is_error
    assert shop.placed[2:] == [
        {"plan": "growth", "code": None},  # SUMMER25 is not tried again
        {"plan": "scale", "code": "PARTNER20"},
        {"plan": "growth", "code": "WINTER26"},
    ]


async def test_a_listing_is_checked_before_it_is_given_out(memory: Memory, mode: str) -> None:
    shop = Shop()
    async with talking(shop.server, memory, mode=mode) as client:
        for plan in ROWS:
            await fails_then_learns(client, plan)
        shop.reload(growth="WINTER26")
        [place, _] = (await client.list_tools(cache_mode="bypass")).tools
    assert "PARTNER20" in str(place.description)
    assert "SUMMER25" not in str(place.description)


async def test_a_host_of_the_older_revisions_is_told_when_a_listed_fix_lapses(
    memory: Memory,
) -> None:
    shop = Shop()
    told: list[str] = []
    changed = anyio.Event()

    async def hear(message: Any) -> None:
        told.append(message.method)
        changed.set()

    lowlevel = lowlevel_of(shop.server)
    announced = lowlevel.create_initialization_options(NotificationOptions(tools_changed=True))
    async with (
        create_client_server_memory_streams() as (host, proxy_host),
        create_client_server_memory_streams() as (proxy_server, upstream),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(lowlevel.run, *upstream, announced)
        ends: Any = {"host": proxy_host, "upstream": proxy_server}

        async def run() -> None:
            await serve(memory, **ends, issuer="shop")

        tasks.start_soon(run)

        @asynccontextmanager
        async def transport() -> AsyncGenerator[Any]:
            yield host

        with anyio.fail_after(60):
            async with Client(transport(), mode="legacy", message_handler=hear) as client:
                await fails_then_learns(client, "growth")
                await client.list_tools()
                await fails_then_learns(client, "scale")
                assert told == []  # a listing that lacks a fix is poorer, not wrong
                shop.reload(growth="WINTER26")
                await client.call_tool("place", {"plan": "scale", "code": "PARTNER20"})
                await changed.wait()
        tasks.cancel_scope.cancel()
    assert told == ["notifications/tools/list_changed"]


async def test_an_error_that_does_not_say_what_would_pass_is_completed(memory: Memory) -> None:
    """A server may keep its words for `structuredContent`; hosts that show only text lose them."""
    server = MCPServer("quiet")

    @server.tool()
    def place(plan: str) -> CallToolResult:
        """Place an order."""
        suggestion = {
            "type": "ADD_CODE",
            "parameters": {"code": "SUMMER25"},
            "cache_hint": "cacheable",
            "table": "codes",
            "when": {"plan": plan},
        }
        return CallToolResult(
            content=[TextContent(type="text", text="Refused.")],
            structured_content={"recovery_feedback": {"suggestions": [suggestion]}},
            is_error=True,
            _meta={KEY: {"level": 1, "success": False, "table_versions": {"codes": "1"}}},
        )

    async with talking(server, memory) as client:
        result = await client.call_tool("place", {"plan": "growth"})
    first, added = text_of(result)
    assert first == "Refused."
    assert '{"parameters": {"code": "SUMMER25"}, "type": "ADD_CODE"' in added


async def test_a_servers_own_tool_of_that_name_stays_the_servers(memory: Memory) -> None:
    server = MCPServer("same")

    @server.tool(name=KNOWN_FIXES)
    def known() -> str:
        """The server's own."""
        return "mine"

    async with talking(server, memory) as client:
        assert text_of(await client.call_tool(KNOWN_FIXES, {})) == ["mine"]
        assert [tool.name for tool in (await client.list_tools()).tools] == [KNOWN_FIXES]


@pytest.mark.requirement("C-MCP-19")
async def test_a_memory_that_fails_does_not_stand_in_the_way(memory: Memory, mode: str) -> None:
    memory.close()
    async with talking(Shop().server, memory, mode=mode) as client:
        await fails_then_learns(client, "growth")
        assert len((await client.list_tools()).tools) == 2
        done = await client.call_tool("place", {"plan": "growth", "code": "SUMMER25"})
    assert not done.is_error
    assert memory.counters["failed"] >= 1


@pytest.mark.requirement("C-MCP-20")
async def test_when_the_server_goes_every_open_request_is_answered(memory: Memory) -> None:
    calls = [
        JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/call", params={"name": "x"})
        for number in range(5)
    ]
    went: list[bool] = []
    answers: list[Any] = []
    with anyio.fail_after(60):
        async with (
            create_client_server_memory_streams() as (host, proxy_host),
            create_client_server_memory_streams() as (proxy_server, upstream),
            anyio.create_task_group() as tasks,
        ):
            ends: Any = {"host": proxy_host, "upstream": proxy_server}

            async def run() -> None:
                went.append(await serve(memory, **ends, issuer="shop"))

            tasks.start_soon(run)
            for call in calls:
                await host[1].send(SessionMessage(call))
            for _ in calls:
                await upstream[0].receive()
            await upstream[1].aclose()  # the server is gone, and the host is slow to read
            await anyio.wait_all_tasks_blocked()
            answers += [cast("Any", await host[0].receive()).message for _ in calls]
    assert {answer.id: answer.error.message for answer in answers} == dict.fromkeys(
        range(5), "Connection closed"
    )
    assert went == [True]
