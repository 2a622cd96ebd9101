"""The contract in an MCP server, in one process: both seats, both revisions of the protocol."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from fastmcp import FastMCP
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from mcp import Client, MCPError
from mcp.server import MCPServer
from mcp.server.subscriptions import ResourceUpdated, ToolsListChanged
from mcp_types import CallToolResult, InputRequiredResult

from lapse.contract import Registry, Table, Violation
from lapse.server import Contract, Rejected
from lapse.server.bursts import Bursts
from lapse.server.fastmcp import install
from lapse.server.mcp import ContractExtension, Reloads
from lapse.wire.mcp import KEY, changes_uri, table_uri

ROWS = {"growth": "SUMMER25", "scale": "PARTNER20"}
NAMED = "a/../b {x}%"


def contract_of(**options: Any) -> Contract:
    tables = [Table("codes", ROWS, "1.0.0"), Table(NAMED, {"k": 1}, "v 1/..")]
    return Contract(Registry.of(tables), **options)


def place(contract: Contract) -> Callable[..., str]:
    def place(plan: str, code: str | None = None) -> str:
        """Place an order."""
        with contract.reading() as tables:
            wanted = tables["codes"].get(plan)
            if plan == "racing":
                contract.reload("codes", {**ROWS, "growth": "WINTER26"})
            if code != wanted:
                fix = tables.suggest("ADD_CODE", {"code": wanted}, when={"plan": plan})
                raise Rejected(
                    Violation(
                        policy="plan-code",
                        title="The plan needs another code",
                        detail="The code is not the one on file",
                        suggestions=(fix,),
                    )
                )
        return f"placed {plan}"

    return place


@dataclass(frozen=True)
class Seat:
    """One SDK's server with the contract seated in it."""

    kind: str
    mode: str
    contract: Contract
    server: Any

    def client(self) -> Client:
        return Client(self.server, mode=self.mode)


def lowlevel_of(app: Any) -> Any:
    """What a client of the official SDK connects to in one process."""
    return app._mcp_server


def seated(kind: str, mode: str, contract: Contract, *, cached: bool = False) -> Seat:
    if kind == "sdk":
        extension = ContractExtension(contract)
        server = MCPServer("shop", extensions=[extension], subscriptions=extension.reloads)
        extension.offer(server)
        server.tool()(place(contract))
        return Seat(kind, mode, contract, server)
    app: FastMCP[Any] = FastMCP("shop")
    if cached:
        app.add_middleware(ResponseCachingMiddleware())
    install(app, contract)
    app.tool(place(contract))
    return Seat(kind, mode, contract, lowlevel_of(app))


@pytest.fixture(params=["sdk", "fastmcp"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["2026-07-28", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def seat(kind: str, mode: str) -> Seat:
    return seated(kind, mode, contract_of())


def stamps_of(result: CallToolResult) -> Any:
    return (result.meta or {}).get(KEY)


@pytest.mark.requirement("C-MCP-01", "C-MCP-02")
async def test_a_rejection_is_said_in_text_structure_and_stamps(seat: Seat) -> None:
    async with seat.client() as client:
        result = await client.call_tool("place", {"plan": "growth"})
    assert result.is_error
    [block] = result.content
    assert block.type == "text"
    sentence, members = block.text.split("\n")
    assert sentence == "The plan needs another code. The code is not the one on file"
    structured = result.structured_content
    assert json.loads(members) == {"recovery_feedback": structured["recovery_feedback"]}
    [suggestion] = structured["recovery_feedback"]["suggestions"]
    assert suggestion["parameters"] == {"code": "SUMMER25"}
    assert (structured["status"], structured["success"]) == (422, False)
    assert structured["title"] == "The plan needs another code"
    assert stamps_of(result) == {
        "level": 6,
        "success": False,
        "table_versions": {"codes": "1.0.0", NAMED: "v 1/.."},
        "rules_version": structured["rules_version"],
    }


@pytest.mark.requirement("C-MCP-03")
async def test_a_success_is_stamped_and_otherwise_the_tools_own(seat: Seat) -> None:
    order = {"plan": "growth", "code": "SUMMER25"}
    bare = seated(seat.kind, seat.mode, contract_of(level=0))
    async with seat.client() as client, bare.client() as plain:
        stamped = await client.call_tool("place", order)
        unstamped = await plain.call_tool("place", order)
    assert (stamped.content, stamped.structured_content) == (
        unstamped.content,
        unstamped.structured_content,
    )
    assert "success" not in stamps_of(stamped)
    others = {name: value for name, value in (stamped.meta or {}).items() if name != KEY}
    assert others == (unstamped.meta or {})


@pytest.mark.requirement("C-MCP-05")
async def test_a_service_of_level_zero_says_the_sentence_alone(kind: str, mode: str) -> None:
    seat = seated(kind, mode, contract_of(level=0))
    async with seat.client() as client:
        result = await client.call_tool("place", {"plan": "growth"})
        resources = (await client.list_resources()).resources
    assert result.is_error
    assert result.structured_content is None
    assert stamps_of(result) is None
    [block] = result.content
    assert getattr(block, "text", None) == (
        "The plan needs another code. The code is not the one on file"
    )
    assert resources == []


@pytest.mark.requirement("C-MCP-06")
async def test_an_error_says_the_versions_that_were_read(seat: Seat) -> None:
    async with seat.client() as client:
        result = await client.call_tool("place", {"plan": "racing", "code": "x"})
    assert seat.contract.registry.table_versions["codes"] != "1.0.0"
    assert stamps_of(result)["table_versions"]["codes"] == "1.0.0"


@pytest.mark.requirement("C-MCP-08", "C-MCP-09")
async def test_the_resources_say_what_the_endpoints_say(seat: Seat) -> None:
    seat.contract.reload("codes", {**ROWS, "growth": "WINTER26"}, "1.0.1")

    async with seat.client() as client:

        async def read(uri: str) -> Any:
            result = await client.read_resource(uri)
            assert result.ttl_ms == 0
            [content] = result.contents
            assert content.mime_type == "application/json"
            return json.loads(getattr(content, "text", ""))

        versions = await read("contract://versions")
        assert versions["table_versions"] == {"codes": "1.0.1", NAMED: "v 1/.."}
        changes = await read(changes_uri("codes", "1.0.0"))
        assert (changes["version"], list(changes["rows"])) == ("1.0.1", ["growth"])
        assert (await read(changes_uri(NAMED, "v 1/..")))["complete"] is True
        assert (await read(changes_uri("codes", "0.9")))["complete"] is False
        assert await read(table_uri("codes")) == {
            "table": "codes",
            "version": "1.0.1",
            "changes_since": "1.0.0",
        }
        assert (await read(table_uri(NAMED)))["version"] == "v 1/.."
        assert (await read(table_uri("none")))["version"] is None
        assert set(await read("contract://graph")) == {"nodes", "edges"}
        listed = {resource.uri for resource in (await client.list_resources()).resources}
        templates = (await client.list_resource_templates()).resource_templates
    assert listed == {
        "contract://versions",
        "contract://graph",
        table_uri("codes"),
        table_uri(NAMED),
    }
    assert {template.uri_template for template in templates} == {
        "contract://changes/{table}/{since}",
        "contract://tables/{table}",
    }


@pytest.mark.requirement("C-MCP-10")
@pytest.mark.parametrize("uri", ["contract://graph", "contract://other", "contract://tables/%01"])
async def test_a_resource_that_is_not_offered_is_unknown(kind: str, mode: str, uri: str) -> None:
    async with seated(kind, mode, contract_of(level=4)).client() as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
    assert refused.value.code == -32602


@pytest.mark.requirement("C-MCP-12")
async def test_the_extension_is_announced_where_there_are_extensions(kind: str) -> None:
    async with seated(kind, "auto", contract_of(level=4)).client() as client:
        extensions = client.server_capabilities.extensions or {}
    assert extensions[KEY] == {"level": 4, "graph": False}


async def test_a_rejection_is_no_crash_in_the_log(
    seat: Seat, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with seat.client() as client:
            await client.call_tool("place", {"plan": "growth"})
    assert [record.getMessage() for record in caplog.records] == []


async def test_a_tools_own_error_is_stamped_and_stays_its_own(seat: Seat) -> None:
    async with seat.client() as client:
        result = await client.call_tool("place", {"plan": {"not": "text"}})
    assert result.is_error
    assert result.structured_content is None
    if seat.kind == "sdk":
        assert "success" not in stamps_of(result)


@pytest.mark.requirement("C-MCP-07")
async def test_a_response_cache_further_in_replays_no_old_stamps(mode: str) -> None:
    seat = seated("fastmcp", mode, contract_of(), cached=True)
    order = {"plan": "scale", "code": "PARTNER20"}
    async with seat.client() as client:
        for version in ("1.0.0", "1.0.1"):
            if version != "1.0.0":
                seat.contract.reload("codes", {**ROWS, "growth": "WINTER26"}, version)
            result = await client.call_tool("place", order)
            assert stamps_of(result)["table_versions"]["codes"] == version
            read = await client.read_resource("contract://versions", cache_mode="bypass")
            assert version in getattr(read.contents[0], "text", "")


@pytest.mark.requirement("C-MCP-07")
async def test_a_request_for_more_input_passes_as_it_is(kind: str) -> None:
    contract = contract_of()
    asked = InputRequiredResult(request_state="later")

    def ask() -> InputRequiredResult:
        """Ask first."""
        return asked

    if kind == "sdk":
        extension = ContractExtension(contract)
        server: Any = MCPServer("shop", extensions=[extension])
        server.tool()(ask)
    else:
        app: FastMCP[Any] = FastMCP("shop")
        install(app, contract)
        app.tool(ask)
        server = lowlevel_of(app)
    async with Client(server) as client:
        result = await client.session.call_tool("ask", {}, allow_input_required=True)
    assert isinstance(result, InputRequiredResult)
    assert KEY not in (result.meta or {})


@pytest.mark.requirement("C-MCP-11")
async def test_a_reload_reaches_a_subscription() -> None:
    seat = seated("sdk", "auto", contract_of())  # FastMCP serves no subscriptions
    wanted = [table_uri("codes"), "contract://versions"]
    with anyio.fail_after(30):
        async with seat.client() as client, client.listen(resource_subscriptions=wanted) as told:
            await anyio.to_thread.run_sync(
                lambda: seat.contract.reload("codes", {**ROWS, "growth": "W"})
            )
            seen: set[str] = set()
            async for event in told:
                assert isinstance(event, ResourceUpdated)
                seen.add(event.uri)
                if seen == set(wanted):
                    break


class Later:
    """A pause that a test ends by hand."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, act: Callable[[], None]) -> None:
        self.waiting.append(act)

    def end(self) -> None:
        [act] = self.waiting
        self.waiting.clear()
        act()


@pytest.mark.requirement("C-MCP-11")
def test_a_burst_is_told_once_now_and_once_more_with_the_last_change() -> None:
    told: list[tuple[str, ...]] = []
    later = Later()
    bursts = Bursts(deliver=told.append, later=later)
    for number in range(200):
        bursts.add(["whole", f"table{number % 2}"])
    assert told == [("whole", "table0")]
    later.end()
    assert told == [("whole", "table0"), ("whole", "table1", "table0")]
    later.end()
    assert (len(told), later.waiting) == (2, [])
    bursts.add(["whole"])
    assert told[2:] == [("whole",)]


def test_nothing_is_told_of_nothing() -> None:
    told: list[tuple[str, ...]] = []
    bursts = Bursts(deliver=told.append, later=Later())
    bursts.add([])
    assert told == []


@pytest.mark.requirement("C-MCP-11")
async def test_a_burst_of_reloads_is_two_notifications_and_the_second_follows_the_last() -> None:
    contract = contract_of()
    reloads = Reloads(contract, pause_s=0.01)
    told: list[str] = []
    second = anyio.Event()

    def listen(event: object) -> None:
        if event == ResourceUpdated(uri="contract://versions"):
            told.append(contract.registry.table_versions["codes"])
            if len(told) == 2:
                second.set()

    leave = reloads.subscribe(listen)
    for number in range(200):  # without a pause, so the loop sees all of them at once
        contract.reload("codes", {**ROWS, "growth": str(number)}, f"2.{number}")
    with anyio.fail_after(30):
        await second.wait()
    await reloads.publish(ToolsListChanged())
    assert told[-1] == "2.199"
    leave()
    leave()
    contract.reload("codes", ROWS, "3")
    await anyio.lowlevel.checkpoint()
    assert len(told) == 2


def test_reloads_after_the_loop_has_gone_do_no_harm() -> None:
    contract = contract_of()
    reloads = Reloads(contract)

    async def subscribe() -> None:
        reloads.subscribe(lambda _: None)

    anyio.run(subscribe)
    assert contract.reload("codes", {}).new_version
    assert contract.reload("codes", ROWS).new_version


async def test_a_rejection_outside_reading_still_says_what_would_pass_in_fastmcp() -> None:
    contract = contract_of()
    app: FastMCP[Any] = FastMCP("shop")
    install(app, contract)

    @app.tool
    def refuse() -> str:
        """Refuse."""
        raise Rejected(Violation(policy="p", title="No", detail="Not today"))

    async with Client(lowlevel_of(app)) as client:
        result = await client.call_tool("refuse", {})
    assert result.structured_content["title"] == "No"
