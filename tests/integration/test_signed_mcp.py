"""Signed contracts over MCP: the stamp in `_meta`, answers as resources, both ends for real."""

from __future__ import annotations

from typing import Any

import pytest

import lapse
from lapse.contract import Aliases, Registry, Table, Terms, Violation
from lapse.runtime import Memory
from lapse.server import Contract, Rejected, Signing
from lapse.server.mcp_shape import moved_uris, read_contract, refusal_of, stamps_of
from lapse.signing.ed25519 import Ed25519Signer
from lapse.testing import ManualClock
from lapse.transports.mcp_exchange import Called, NotOffered, refresh, take_in
from lapse.wire.mcp import KEY

SECOND = 1_000_000
BEGIN = 1_764_500_000 * SECOND
ISSUER = "https://shop.example/mcp"
SIGNER = Ed25519Signer("2026", b"\1" * 32)
CALLED = Called(ISSUER, "place", {"plan": "growth"})


class Server:
    """Results and resources as a server of the contract gives them."""

    def __init__(self, clock: ManualClock, *, aliases: Aliases | None = None) -> None:
        rows = {"growth": "A", "scale": "S"}
        self.contract = Contract(
            Registry.of([Table("codes", rows, "1.0.0")]),
            signing=Signing(SIGNER, issuer=ISSUER, clock=clock),
            aliases=aliases,
        )
        self.lost = False

    def refused(self, plan: str = "growth") -> dict[str, Any]:
        with self.contract.reading() as tables:
            code = tables["codes"].get(plan)
            fix = tables.suggest("SET", {"code": code}, when={"plan": plan})
        violation = Violation(policy="codes", title="no", detail="no", suggestions=(fix,))
        refusal = refusal_of(self.contract, Rejected(violation))
        return {
            "isError": True,
            "content": [{"type": "text", "text": refusal.text}],
            "structuredContent": refusal.structured,
            "_meta": {KEY: refusal.stamps},
        }

    def accepted(self) -> dict[str, Any]:
        return {"content": [], "_meta": {KEY: stamps_of(self.contract)}}

    async def read(self, uri: str) -> bytes:
        body = None if self.lost else read_contract(self.contract, uri)
        if body is None:
            raise NotOffered
        return body


def memory_for(clock: ManualClock) -> Memory:
    terms = Terms(issuer=ISSUER, keys={"2026": SIGNER.public})
    return lapse.open("memory:", clock=clock, trust=lapse.trust(terms={ISSUER: terms}))


def codes(memory: Memory, plan: str = "growth") -> list[Any]:
    return [f.parameters["code"] for f in memory.fixes("place", {"plan": plan}, issuer=ISSUER)]


@pytest.mark.requirement("C-TRU-03", "C-TRU-16")
async def test_signed_results_and_answers_are_believed() -> None:
    clock = ManualClock(BEGIN)
    server = Server(clock)
    with memory_for(clock) as memory:
        await take_in(memory, CALLED, server.refused(), server.read)
        await take_in(memory, CALLED, server.refused("scale"), server.read)
        assert (codes(memory), codes(memory, "scale")) == (["A"], ["S"])
        clock.advance(seconds=1)
        server.contract.reload("codes", {"growth": "B", "scale": "S"})
        await take_in(memory, CALLED, server.accepted(), server.read)
        assert (codes(memory), codes(memory, "scale")) == ([], ["S"])
        clock.advance(seconds=301)
        assert codes(memory, "scale") == []
        assert await refresh(memory, ISSUER, server.read)
        assert codes(memory, "scale") == ["S"]
        assert "untrusted" not in memory.counters


@pytest.mark.requirement("C-TRU-10", "C-TRU-16")
async def test_without_the_stamp_or_the_answer_nothing_changes() -> None:
    clock = ManualClock(BEGIN)
    server = Server(clock)
    with memory_for(clock) as memory:
        await take_in(memory, CALLED, server.refused(), server.read)
        head = memory.store.head()
        for spoil in ({"stamp": None}, {"stamp": "x"}, {"table_versions": {"codes": "9"}}):
            result = server.accepted()
            result["_meta"][KEY] = {**result["_meta"][KEY], **spoil}
            await take_in(memory, CALLED, result, server.read)
        assert memory.store.head() == head
        assert codes(memory) == ["A"]
        server.lost = True
        clock.advance(seconds=1)
        server.contract.reload("codes", {"growth": "A", "scale": "T"})
        await take_in(memory, CALLED, server.accepted(), server.read)
        assert codes(memory) == []  # held back: nobody signs that there is no such resource
        assert "evicted" not in memory.counters
        server.lost = False
        await take_in(memory, CALLED, server.accepted(), server.read)
        assert codes(memory) == ["A"]


@pytest.mark.requirement("C-TRU-21")
async def test_with_aliases_no_true_name_leaves_the_server() -> None:
    clock = ManualClock(BEGIN)
    aliases = Aliases(secret="s" * 32)
    server = Server(clock, aliases=aliases)
    before = server.contract.registry
    with memory_for(clock) as memory:
        said = [str(server.refused()), str(server.accepted())]
        await take_in(memory, CALLED, server.refused(), server.read)
        server.contract.reload("codes", {"growth": "A", "scale": "T"})
        name = server.contract.wire_name("codes")
        assert name == aliases.table("codes")
        uris = tuple(moved_uris(before, server.contract.registry, server.contract.wire_name))
        said += [str(uris)]
        for uri in (*uris, f"contract://changes/{name}/1.0.0"):
            said.append((await server.read(uri)).decode())
        await take_in(memory, CALLED, server.accepted(), server.read)
        assert codes(memory) == ["A"]
    # The policy's name is the service's own; it is the same word here, and goes as well.
    assert [text for text in said if "codes" in text] == []
    assert read_contract(server.contract, "contract://tables/codes") == (
        b'{"table":"codes","version":null,"changes_since":null}'
    )
