"""What a tool call means for a memory: order, questions, issuers, and nothing in the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

import lapse
from lapse.contract import (
    CacheHint,
    Emission,
    Level,
    Reading,
    Registry,
    Suggestion,
    Table,
    TableVersion,
)
from lapse.errors import InvalidValue
from lapse.runtime import Memory
from lapse.transports.mcp_exchange import (
    Called,
    NotOffered,
    issuer_of_command,
    issuer_of_url,
    refresh,
    take_in,
)
from lapse.wire import Problem, changes_members, envelope_members, write
from lapse.wire.mcp import KEY, VERSIONS, error_members, error_text, parse_uri, stamps

PROBLEM = Problem(type="/p", title="Another code", status=422, detail="Not the one on file")
ROWS = {"growth": "SUMMER25", "scale": "PARTNER20"}


@dataclass
class Service:
    """The server's side without a server: a registry, tool results, and resources."""

    registry: Registry = field(default_factory=lambda: Registry.of([Table("codes", ROWS, "1.0.0")]))
    read: list[str] = field(default_factory=list[str])
    offered: bool = True
    reachable: bool = True
    says: bytes | None = None

    def reload(self, **rows: str) -> None:
        self.registry, _ = self.registry.reload("codes", {**ROWS, **rows})

    def refusal(self, plan: str, *, level: Level = Level.L6) -> dict[str, Any]:
        tables = Reading(self.registry)
        fix = tables.suggest("ADD_CODE", {"code": tables["codes"].get(plan)}, when={"plan": plan})
        envelope = Emission(level=level).envelope(self.registry, success=False, suggestions=(fix,))
        return {
            "content": [{"type": "text", "text": error_text(PROBLEM, envelope)}],
            "structuredContent": error_members(PROBLEM, envelope),
            "isError": True,
            "_meta": {KEY: stamps(level, envelope)},
        }

    def success(self) -> dict[str, Any]:
        envelope = Emission().envelope(self.registry, success=None)
        return {"content": [], "_meta": {KEY: stamps(Level.L6, envelope)}}

    async def resource(self, uri: str) -> bytes:
        self.read.append(uri)
        if not self.reachable:
            raise ConnectionError
        if not self.offered:
            raise NotOffered(uri)
        if self.says is not None:
            return self.says
        match parse_uri(uri):
            case ("changes", table, since):
                return write(changes_members(self.registry.changes_since(table, since)))
            case _:
                return write(envelope_members(Emission().envelope(self.registry, success=None)))


@pytest.fixture
def memory() -> Iterator[Memory]:
    with lapse.open("memory:") as opened:
        yield opened


async def takes(
    memory: Memory,
    service: Service,
    result: Mapping[str, Any],
    plan: str = "growth",
    issuer: str = "shop",
) -> None:
    await take_in(memory, Called(issuer, "place", {"plan": plan}), result, service.resource)


def known(memory: Memory, plan: str, issuer: str = "shop") -> list[Any]:
    return [f.parameters for f in memory.fixes("place", {"plan": plan}, issuer=issuer)]


async def learned(memory: Memory, service: Service) -> None:
    for plan in ROWS:
        await takes(memory, service, service.refusal(plan), plan)
    assert known(memory, "growth") == [{"code": "SUMMER25"}]


@pytest.mark.requirement("C-MCP-17")
async def test_a_fix_is_kept_under_the_tool_for_its_arguments(memory: Memory) -> None:
    await learned(memory, Service())
    assert known(memory, "scale") == [{"code": "PARTNER20"}]
    assert memory.fixes("other_tool", {"plan": "growth"}, issuer="shop") == ()


async def test_after_a_reload_exactly_the_fix_goes_whose_row_moved(memory: Memory) -> None:
    service = Service()
    await learned(memory, service)
    service.reload(growth="WINTER26")
    await takes(memory, service, service.success())
    assert (known(memory, "growth"), known(memory, "scale")) == ([], [{"code": "PARTNER20"}])
    assert service.read.count("contract://changes/codes/1.0.0") == 2  # the first fix, the reload


async def test_the_new_suggestion_of_the_result_that_tells_of_the_reload_is_kept(
    memory: Memory,
) -> None:
    service = Service()
    await learned(memory, service)
    service.reload(growth="WINTER26")
    await takes(memory, service, service.refusal("growth"))
    assert known(memory, "growth") == [{"code": "WINTER26"}]


@pytest.mark.requirement("C-MCP-18")
async def test_a_server_that_cannot_be_asked_leaves_fixes_in_abeyance(memory: Memory) -> None:
    service = Service()
    await learned(memory, service)
    service.reload(growth="WINTER26")
    service.reachable = False
    await takes(memory, service, service.success())
    assert (known(memory, "growth"), known(memory, "scale")) == ([], [])
    service.reachable = True
    await takes(memory, service, service.success())
    assert (known(memory, "growth"), known(memory, "scale")) == ([], [{"code": "PARTNER20"}])


@pytest.mark.requirement("C-MCP-18")
@pytest.mark.parametrize("says", [b"", b"[]", b"{", b'{"table": "other", "since": "1.0.0"}'])
async def test_an_answer_that_is_none_leaves_fixes_in_abeyance(memory: Memory, says: bytes) -> None:
    service = Service()
    await learned(memory, service)
    service.reload(growth="WINTER26")
    service.says = says
    await takes(memory, service, service.success())
    assert (known(memory, "growth"), known(memory, "scale")) == ([], [])


@pytest.mark.requirement("C-MCP-18")
async def test_a_server_without_the_resource_is_taken_at_its_word_and_by_tables(
    memory: Memory,
) -> None:
    service = Service(offered=False)
    await learned(memory, service)
    service.reload(growth="WINTER26")
    await takes(memory, service, service.success())
    assert (known(memory, "growth"), known(memory, "scale")) == ([], [])
    assert memory.counters["evicted"] == 2


@pytest.mark.requirement("C-MCP-16")
@pytest.mark.parametrize("kept", [[{"code": "SUMMER25"}], []])
async def test_hearsay_counts_only_if_the_server_itself_confirms_it(
    memory: Memory, kept: list[Any]
) -> None:
    service = Service(offered=bool(kept))
    text_alone = {name: service.refusal("growth")[name] for name in ("content", "isError")}
    await takes(memory, service, text_alone)
    assert known(memory, "growth") == kept


async def test_hearsay_about_a_version_that_never_was_is_not_stored(memory: Memory) -> None:
    service = Service()
    text = service.refusal("growth")["content"][0]["text"].replace("1.0.0", "6.6.6")
    await takes(memory, service, {"isError": True, "content": [{"type": "text", "text": text}]})
    assert known(memory, "growth") == []


@pytest.mark.requirement("C-MCP-17")
async def test_a_fix_of_one_server_never_reaches_another(memory: Memory) -> None:
    service = Service()
    await learned(memory, service)
    assert known(memory, "growth", issuer="other") == []
    other = Service()
    other.reload(growth="EVIL")
    await takes(memory, other, other.success(), issuer="other")
    assert known(memory, "growth") == [{"code": "SUMMER25"}]


async def test_an_unchanged_result_reads_no_store(memory: Memory) -> None:
    service = Service()
    await learned(memory, service)
    await takes(memory, service, service.success())
    await takes(memory, service, service.success())
    assert memory.counters["unchanged"] >= 1
    assert len(service.read) == 1


@pytest.mark.parametrize("result", [{}, {"content": "x"}, {"isError": True}, {"_meta": {KEY: 7}}])
async def test_a_result_that_says_nothing_changes_nothing(
    memory: Memory, result: dict[str, Any]
) -> None:
    service = Service()
    await learned(memory, service)
    asked = len(service.read)
    await takes(memory, service, result)
    assert known(memory, "growth") == [{"code": "SUMMER25"}]
    assert len(service.read) == asked


async def test_a_memory_that_cannot_write_does_not_break_the_call(memory: Memory) -> None:
    service = Service()
    memory.close()
    await takes(memory, service, service.refusal("growth"))
    assert memory.counters["failed"] == 1


async def test_refresh_tells_before_a_fix_is_used(memory: Memory) -> None:
    service = Service()
    await learned(memory, service)
    service.reload(growth="WINTER26")
    assert await refresh(memory, "shop", service.resource)
    assert (known(memory, "growth"), known(memory, "scale")) == ([], [{"code": "PARTNER20"}])
    assert VERSIONS in service.read


@pytest.mark.parametrize("trouble", ["offered", "reachable", "says"])
async def test_refresh_that_learns_nothing_changes_nothing(memory: Memory, trouble: str) -> None:
    service = Service()
    await learned(memory, service)
    setattr(service, trouble, b"{}" if trouble == "says" else False)
    assert not await refresh(memory, "shop", service.resource)
    assert known(memory, "growth") == [{"code": "SUMMER25"}]


async def test_a_level_one_server_is_learned_from(memory: Memory) -> None:
    service = Service()
    refusal = service.refusal("growth", level=Level.L1)
    await takes(memory, service, refusal)
    assert known(memory, "growth") == [{"code": "SUMMER25"}]


async def test_a_recompute_fix_is_not_kept(memory: Memory) -> None:
    fix = Suggestion(
        type="A",
        parameters={"code": "1"},
        cache_hint=CacheHint.RECOMPUTE,
        tables=(TableVersion("codes", "1.0.0"),),
    )
    envelope = Emission().envelope(Service().registry, success=False, suggestions=(fix,))
    members = error_members(PROBLEM, envelope)
    await takes(memory, Service(), {"isError": True, "structuredContent": members})
    assert known(memory, "growth") == []


@pytest.mark.requirement("C-MCP-17")
@pytest.mark.parametrize(
    ("url", "issuer"),
    [
        ("https://host.example/mcp", "https://host.example/mcp"),
        (
            "https://user:secret@host.example:8443/mcp/?key=secret#x",
            "https://host.example:8443/mcp",
        ),
        ("HTTP://HOST.example", "http://host.example"),
        ("http://[::1]:80/mcp", "http://[::1]:80/mcp"),
    ],
)
def test_an_address_names_its_issuer_without_secrets(url: str, issuer: str) -> None:
    assert issuer_of_url(url) == issuer


@pytest.mark.parametrize("url", ["", "host.example/mcp", "ftp://host.example", "https:///mcp"])
def test_what_is_no_address_names_nobody(url: str) -> None:
    with pytest.raises(InvalidValue, match="pass an address"):
        issuer_of_url(url)


@pytest.mark.requirement("C-MCP-17")
def test_a_command_names_its_issuer_without_secrets() -> None:
    issuer = issuer_of_command(["/usr/bin/shop", "--token", "secret"])
    assert issuer.startswith("stdio:shop-")
    assert "secret" not in issuer
    assert issuer != issuer_of_command(["/usr/bin/shop", "--token", "other"])
    assert issuer == issuer_of_command(["/usr/bin/shop", "--token", "secret"])
    with pytest.raises(InvalidValue, match="words that start"):
        issuer_of_command([])
