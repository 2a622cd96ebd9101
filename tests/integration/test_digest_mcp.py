"""The digest envelope in MCP: both seats, a client that remembers, and clients that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastmcp import FastMCP
from mcp import Client
from mcp.server import MCPServer

import lapse
from lapse.contract import Held, Registry, Table, Violation
from lapse.server import Contract, Rejected, Signing
from lapse.server.fastmcp import install
from lapse.server.mcp import ContractExtension
from lapse.signing.ed25519 import Ed25519Signer
from lapse.testing import ManualClock
from lapse.transports.mcp import RememberingClient
from lapse.wire.mcp import KEY

SECOND = 1_000_000
BEGIN = 1_764_500_000 * SECOND
ISSUER = "https://shop.example/mcp"


def contract_of(**options: Any) -> Contract:
    codes = {"growth": "A", "scale": "S"}
    more = [Table(f"table_{n}", {"k": n}, "1") for n in range(8)]
    return Contract(Registry.of([Table("codes", codes, "1.0.0"), *more]), **options)


def place(contract: Contract) -> Callable[..., str]:
    def place(plan: str, code: str | None = None) -> str:
        with contract.reading() as tables:
            row = tables["codes"].get(plan)
            if code != row:
                fix = tables.suggest("SET", {"code": row}, when={"plan": plan})
                raise Rejected(
                    Violation(policy="codes", title="no", detail="no", suggestions=(fix,))
                )
        return "placed"

    return place


def seated(kind: str, contract: Contract) -> Any:
    if kind == "sdk":
        extension = ContractExtension(contract)
        server: MCPServer[Any] = MCPServer("shop", extensions=[extension])
        extension.offer(server)
        server.tool()(place(contract))
        return server
    app: FastMCP[Any] = FastMCP("shop")
    install(app, contract)
    app.tool(place(contract))
    return getattr(app, "_mcp_server")  # noqa: B009 - what the SDK's client connects to


def held(contract: Contract) -> Held:
    now = contract.registry
    return Held(now.table_versions, now.rules_version)


@pytest.mark.requirement("C-DIG-20", "C-DIG-21", "C-DIG-22")
@pytest.mark.parametrize("kind", ["sdk", "fastmcp"])
async def test_results_say_in_meta_that_nothing_moved(kind: str) -> None:
    contract = contract_of()
    with lapse.open("memory:") as memory:
        async with Client(seated(kind, contract)) as client:
            agent = RememberingClient(memory, client, issuer=ISSUER)
            assert await agent.refresh()
            refused = await agent.call_tool("place", {"plan": "growth"})
            tag = held(contract).tag
            assert (refused.meta or {})[KEY] == {"same": tag[:4], "success": False}
            fix: Any = refused.structured_content
            (said,) = fix["recovery_feedback"]["suggestions"]
            assert said.keys() == {"type", "parameters", "r"}
            row = contract.registry.row_version("codes", "growth")
            text = getattr(refused.content[0], "text", "")
            assert '"parameters":{"code":"A"}' in text
            words = ("table", "codes", "when", "1.0.0", str(row))
            assert [word for word in words if word in text] == []
            (fix,) = agent.fixes("place", {"plan": "growth"})
            assert fix.when == {"plan": "growth"}
            assert [s.version for s in fix.record.stamps if s.source.key == "growth"] == [row]
            placed = await agent.call_tool("place", {"plan": "growth", **fix.parameters})
            assert (placed.meta or {})[KEY] == {"same": tag[:4]}
            assert memory.counters["digests"] == 2

            contract.reload("codes", {"growth": "B", "scale": "S"}, "1.0.1")
            contract.reload("table_1", None)
            moved = await agent.call_tool("place", {"plan": "scale"}, meta={"own": 1})
            assert (moved.meta or {})[KEY] == {
                "since": tag[:4],
                "root": held(contract).tag,
                "moved": {"codes": "1.0.1", "table_1": None},
                "success": False,
            }
            assert agent.fixes("place", {"plan": "growth"}) == ()
            assert len(agent.fixes("place", {"plan": "scale"})) == 1


@pytest.mark.requirement("C-DIG-08", "C-DIG-20")
@pytest.mark.parametrize("kind", ["sdk", "fastmcp"])
@pytest.mark.parametrize("said", [None, {"root": 7}, {"root": "unknown"}, "text", {}])
async def test_who_says_nothing_that_is_known_gets_the_whole_map(kind: str, said: Any) -> None:
    contract = contract_of()
    async with Client(seated(kind, contract)) as client:
        plain = await client.call_tool("place", {"plan": "growth"})
        meta: Any = None if said is None else {KEY: said}
        asked = await client.call_tool("place", {"plan": "growth"}, meta=meta)
        assert asked.model_dump() == plain.model_dump()
        assert (asked.meta or {})[KEY]["table_versions"] == contract.registry.table_versions


@pytest.mark.requirement("C-DIG-10", "C-DIG-18", "C-DIG-20")
@pytest.mark.parametrize("kind", ["sdk", "fastmcp"])
async def test_a_believed_statement_is_not_repeated(kind: str) -> None:
    clock = ManualClock(BEGIN)
    signer = Ed25519Signer("2026", b"\1" * 32)
    contract = contract_of(signing=Signing(signer, issuer=ISSUER, clock=clock))
    with lapse.open("memory:", clock=clock, trust=lapse.trust()) as memory:
        async with Client(seated(kind, contract)) as client:
            agent = RememberingClient(memory, client, issuer=ISSUER)
            first = await agent.call_tool("place", {"plan": "growth"})
            assert "stamp" in (first.meta or {})[KEY]
            second = await agent.call_tool("place", {"plan": "scale"})
            assert (second.meta or {})[KEY].keys() == {"same", "success"}
            assert len(memory.records()) == 2
            clock.advance(seconds=200)
            third = await agent.call_tool("place", {"plan": "scale", "code": "S"})
            assert (third.meta or {})[KEY].keys() == {"same", "stamp"}
            assert "untrusted" not in memory.counters


@pytest.mark.requirement("C-DIG-14", "C-DIG-16", "C-DIG-20")
async def test_an_answer_to_somebody_else_is_silence() -> None:
    contract = contract_of()
    with lapse.open("memory:") as memory:
        async with Client(seated("sdk", contract)) as client:
            agent = RememberingClient(memory, client, issuer=ISSUER)
            await agent.refresh()
            kept = memory.digests.kept(ISSUER)
            assert kept is not None
            placed = await client.call_tool(
                "place", {"plan": "growth", "code": "A"}, meta={KEY: {"root": kept.held.tag}}
            )

            class Replaying:
                async def call_tool(self, *_: object, **__: object) -> object:
                    return placed

            contract.reload("codes", {"growth": "B"})
            await agent.refresh()
            late = RememberingClient(memory, Replaying(), issuer=ISSUER)  # pyright: ignore[reportArgumentType] - a client of which one call is used
            await late.call_tool("place", {"plan": "growth"})
            assert memory.counters["refused"] == 1
            assert memory.counters.get("unchanged", 0) == 0
