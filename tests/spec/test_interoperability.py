"""A client at any level against a server at any level, over HTTP and over MCP.

Every pair goes through one stream: rows are learnt, one of them moves, the rules move, a version
moves over equal rows, the service forgets its change log, a table is unloaded. No pair may raise,
count a failure, or use a fix that has lapsed after a response that told the table's newer version.

`FORMS` lists what a server may look like on the wire. A further form is one more line there.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.server import MCPServer

import lapse
from lapse.contract import (
    DETECTION,
    POLICIES,
    Aliases,
    EvictionPolicy,
    Rule,
    Violation,
)
from lapse.ledger import Clock
from lapse.runtime import Memory
from lapse.server import Contract, Rejected, Signing, application
from lapse.server.declared import parse
from lapse.server.mcp import ContractExtension
from lapse.signing import HmacKeys
from lapse.testing import ManualClock
from lapse.transports.http import AsyncTransport
from lapse.transports.mcp import RememberingClient
from lapse.wire.digests import DIGEST

ISSUER = "https://shop.example"
LEVELS = (0, 1, 4, 5, 6)
CLIENTS: dict[str, EvictionPolicy] = {**POLICIES, **DETECTION}
KEYS = ("growth", "scale")
DECLARED = """
tables:
  codes: {version: "1", rows: {growth: {code: A1}, scale: {code: B1}}}
  known: {version: "1", rows: {A1: {}, B1: {}}}
  apart: {version: "1", rows: {x: {}}}
rules:
  - {from: codes, to: known, relation: requires, via: code}
policies:
  - id: assigned
    operation: POST /orders
    title: Another code is on file
    detail: The request carries another code, or none.
    look_ups: {row: {table: codes, key: {field: plan}}}
    require: {field: code, equals: {look_up: row, member: code}}
    suggest: {type: ADD_CODE, parameters: {code: {look_up: row, member: code}}}
"""

# -- what servers look like ------------------------------------------------------------------------

Rewrite = Callable[[httpx2.Request, httpx2.Response], httpx2.Response]


def as_it_is(_: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    return response


@dataclass(frozen=True)
class Form:
    """A server as it looks on the wire.

    Attributes:
        level: its level.
        rewrite: what else becomes of its answers.
        extensions: whether it sends what the source text lacks.
        signs: whether it signs what it says.
        aliases: whether it says other names for tables and rows.
        tells: whether its responses tell each table's version, in whatever place.
        knows_roots: whether it knows what a client means that names the map it holds.
    """

    level: int = 6
    rewrite: Rewrite = as_it_is
    extensions: bool = True
    signs: bool = False
    aliases: bool = False
    tells: bool = True
    knows_roots: bool = True

    def contract(self, clock: Clock) -> Contract:
        keys = HmacKeys({"shared": bytes(range(32))}, sign_with="shared")
        return Contract(
            parse(DECLARED).registry,
            level=self.level,
            extensions=self.extensions,
            signing=Signing(keys, issuer=ISSUER, clock=clock) if self.signs else None,
            aliases=Aliases(secret="sixteen characters") if self.aliases else None,  # noqa: S106
        )


def known_lines(lines: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Those of the header lines that everybody knows."""
    known = {b"host", b"accept", b"content-type", b"content-length", b"cache-control", b"vary"}
    return [line for line in lines if line[0].lower() in known]


def answered(
    response: httpx2.Response,
    members: Mapping[str, Any],
    lines: list[tuple[bytes, bytes]] | None = None,
) -> httpx2.Response:
    """A response with other members, and with other header lines where some are given."""
    kept = response.headers.raw if lines is None else lines
    headers = [(name, value) for name, value in kept if name.lower() != b"content-length"]
    return httpx2.Response(
        response.status_code, headers=headers, content=json.dumps(members).encode()
    )


def without_mirrors(_: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """A proxy that lets no unknown header through."""
    return answered(response, response.json(), known_lines(response.headers.raw))


def in_mirrors(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """A service that leaves its bodies as they were, but for what it suggests."""
    if request.url.path.startswith("/contract"):
        return response
    members: dict[str, Any] = response.json()
    for name in ("table_versions", "rules_version"):
        members.pop(name, None)
    return answered(response, members)


def without_endpoints(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """A service that stamps and suggests, and answers no questions."""
    gone = request.url.path.startswith("/contract")
    return httpx2.Response(404, text="Not Found") if gone else response


def bare(_: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """A service that knows nothing of the contract: its errors are text."""
    return httpx2.Response(response.status_code, text="OK" if response.is_success else "wrong code")


def newer(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """A service of a later version: members, kinds, parameters and fields that nobody knows yet."""
    members: dict[str, Any] = {**response.json(), "contract": {"level": 9}, "retryable": None}
    if request.url.path.startswith("/contract"):
        return answered(response, {**members, "kind": "patch", "patches": [{"op": "replace"}]})
    feedback = members.get("recovery_feedback")
    if feedback is not None:
        [fix] = feedback["suggestions"]
        rows = [{**row, "shard": 3} for row in fix.get("rows", ())]
        fix = {**fix, "confidence": 0.5, **({"rows": rows} if rows else {})}
        macro = {"kind": "macro", "steps": [{"type": "CALL"}]}
        soon = {**fix, "type": "ADD_SOON", "cache_hint": "session"}
        feedback["suggestions"], feedback["model"] = [macro, fix, soon], {"name": "m"}
    lines = [
        (name, value.replace(b'"codes";', b'"codes";since=7;'))
        for name, value in response.headers.raw
    ]
    return answered(response, members, [*lines, (b"contract-future", b"?1")])


FORMS: dict[str, Form] = {
    **{f"L{level}": Form(level, tells=level > 0) for level in LEVELS},
    **{f"L{level} of the source text": Form(level, extensions=False) for level in (1, 4, 6)},
    "before roots": Form(knows_roots=False),
    "without mirrors": Form(rewrite=without_mirrors),
    "in mirrors": Form(rewrite=in_mirrors),
    "without endpoints": Form(rewrite=without_endpoints),
    "L1 without endpoints": Form(1, without_endpoints, extensions=False),
    "signed": Form(signs=True),
    "under other names": Form(aliases=True),
    "newer": Form(rewrite=newer),
    "bare": Form(rewrite=bare, tells=False),
}

# -- the stream ------------------------------------------------------------------------------------


class Wire(httpx2.AsyncBaseTransport):
    """A service of some form, in this process."""

    def __init__(self, form: Form, clock: Clock) -> None:
        self.form, self.clock = form, clock
        self.contract = form.contract(clock)
        self._seat()

    def _seat(self) -> None:
        app = application(self.contract, parse(DECLARED).policies)
        self._inner = httpx2.ASGITransport(app=app)

    def restart(self) -> None:
        """Be the service as it was declared, with the rows of now and without a change log."""
        rows = self.contract.registry.tables["codes"].rows
        self.contract = self.form.contract(self.clock)
        self.contract.reload("codes", rows, "restarted")
        self._seat()

    def true_code(self, plan: str) -> str | None:
        table = self.contract.registry.tables.get("codes")
        return None if table is None or plan not in table.rows else table.rows[plan]["code"]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        heard = request
        if not self.form.knows_roots:
            lines = known_lines(request.headers.raw)
            content = await request.aread()
            heard = httpx2.Request(request.method, request.url, headers=lines, content=content)
        response = await self._inner.handle_async_request(heard)
        await response.aread()
        return self.form.rewrite(request, response)


@dataclass
class Stream:
    """What happens, to a service and to a client, whichever they are.

    Attributes:
        contract: the service's contract now.
        call: sends an order with a code, or with none; its status as HTTP has it.
        known: the codes that the client would use for a plan.
        restart: starts the service again without its change log; None: it cannot be.
        never_stale: whether what lapsed must not be used from the next response on.
        needs_table: whether nobody can order while the table is not loaded.
        unloaded: whether that is so now.
        statuses: the status of each order as it was made at first.
    """

    contract: Callable[[], Contract]
    call: Callable[[str, str | None], Any]
    known: Callable[[str], list[str]]
    restart: Callable[[], None] | None = None
    never_stale: bool = True
    needs_table: bool = True
    unloaded: bool = False
    statuses: list[int] = field(default_factory=list[int])

    async def run(self) -> None:
        for plan in KEYS:
            await self.order(plan)
        self.move(growth="A2", scale="B1")
        await self.order("scale")
        await self.order("growth")
        self.contract().declare([])
        await self.order("scale")
        self.contract().declare([Rule("codes", "apart", "requires", "code")])
        await self.order("scale")
        rows = self.contract().registry.tables["codes"].rows
        self.contract().reload("codes", rows, "bump")
        await self.order("growth")
        if self.restart is not None:
            self.restart()
        self.move(growth="A3", scale="B1")
        await self.order("scale")
        await self.order("growth")
        self.contract().reload("codes", None)
        self.unloaded = self.needs_table
        await self.order("growth")
        await self.order("scale")
        if self.never_stale:
            assert [self.known(plan) for plan in KEYS] == [[], []]

    def move(self, **codes: str) -> None:
        rows = {plan: {"code": code} for plan, code in codes.items()}
        known = {code: dict[str, Any]() for code in codes.values()}
        self.contract().reload("known", known)
        self.contract().reload("codes", rows)

    async def order(self, plan: str) -> None:
        """Order with what is known, then with what is right; each response is one that tells."""
        known = self.known(plan)
        self.statuses.append(await self.call(plan, known[-1] if known else None))
        self.check()
        true = self.true_code(plan)
        assert await self.call(plan, true) == (503 if self.unloaded else 200)
        self.check()

    def check(self) -> None:
        if self.never_stale:
            for plan in KEYS:
                assert self.known(plan) in ([], [self.true_code(plan)])

    def true_code(self, plan: str) -> str | None:
        table = self.contract().registry.tables.get("codes")
        return None if table is None or plan not in table.rows else table.rows[plan]["code"]


ORDERS = 11


def pairs(
    servers: Iterable[str], clients: Iterable[str], *, quick: tuple[str, str]
) -> pytest.MarkDecorator:
    """Every pair; the fast suite has those in which one side is the usual one."""
    return pytest.mark.parametrize(
        ("name", "client"),
        [
            pytest.param(*pair, marks=() if set(pair) & set(quick) else pytest.mark.slow)
            for pair in product(servers, clients)
        ],
    )


# -- memories over HTTP ----------------------------------------------------------------------------


@asynccontextmanager
async def remembering(
    form: Form, policy: EvictionPolicy, *, trusting: bool = True
) -> AsyncGenerator[tuple[Wire, Memory, httpx2.AsyncClient]]:
    clock = ManualClock(1_764_500_000_000_000)
    wire = Wire(form, clock)
    keys = HmacKeys({"shared": bytes(range(32))}, sign_with="shared")
    trust = None if trusting else lapse.trust(verifier=keys)
    with lapse.open("memory:", policy=policy, clock=clock, trust=trust) as memory:
        transport = AsyncTransport(memory, wire, issuer=ISSUER)
        async with httpx2.AsyncClient(transport=transport, base_url="http://shop") as http:
            yield wire, memory, http


async def ordered(http: httpx2.AsyncClient, plan: str, code: str | None) -> int:
    return (await http.post("/orders", json={"plan": plan, "code": code})).status_code


def codes_in(memory: Memory, plan: str) -> list[str]:
    request = {"plan": plan, "code": None}
    found = memory.fixes("POST /orders", request, issuer=ISSUER)
    # A policy without eviction keeps what lapsed beside what holds: the newest is used.
    return [str(fix.parameters["code"]) for fix in found]


@pairs(FORMS, CLIENTS, quick=("L6", "A2DC"))
async def test_any_memory_gets_on_with_any_server(name: str, client: str) -> None:
    form, policy = FORMS[name], CLIENTS[client]
    async with remembering(form, policy) as (wire, memory, http):
        stream = Stream(
            contract=lambda: wire.contract,
            call=partial(ordered, http),
            known=partial(codes_in, memory),
            restart=wire.restart,
            never_stale=policy.watches or not form.tells,
        )
        await stream.run()
        assert "failed" not in memory.counters
        assert memory.counters.get("stored", 0) > 0 or not (form.tells and policy.remembers)
        assert len(stream.statuses) == ORDERS
        if form.rewrite is not newer and policy.remembers:
            assert "refused" not in memory.counters


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
async def test_so_does_one_that_demands_signatures_of_those_who_sign(form: Form) -> None:
    async with remembering(form, POLICIES["A2D"], trusting=False) as (wire, memory, http):
        stream = Stream(
            contract=lambda: wire.contract,
            call=partial(ordered, http),
            known=partial(codes_in, memory),
        )
        await stream.run()
        assert "failed" not in memory.counters
        assert "untrusted" not in memory.counters
        assert memory.counters.get("stored", 0) > 0 or not form.tells


async def test_precision_grows_with_the_level() -> None:
    """What one row's move costs: a fix at Level 1 without rows, nothing where rows are told."""
    kept: dict[str, list[str]] = {}
    for name, form in FORMS.items():
        async with remembering(form, POLICIES["A2D"]) as (wire, memory, http):
            for plan in KEYS * 3:  # behind a proxy, the first answers to a digest do not arrive
                await ordered(http, plan, None)
            wire.contract.reload("codes", {"growth": {"code": "A2"}, "scale": {"code": "B1"}})
            await ordered(http, "growth", "A2")
            kept[name] = codes_in(memory, "scale")
    by_table = {name for name, codes in kept.items() if codes == []}
    assert by_table == {
        "L0",
        "bare",
        "L1 of the source text",
        "L4 of the source text",
        "L6 of the source text",
        "without endpoints",
        "L1 without endpoints",
    }


async def test_what_a_newer_server_says_is_used_as_far_as_it_can_be_read() -> None:
    async with remembering(FORMS["newer"], POLICIES["A2D"]) as (_, memory, http):
        for plan in KEYS:  # the second answer stands beside a digest
            await ordered(http, plan, None)
        assert memory.counters["digests"] == 1
        for record in memory.records():
            # One in the form that is known; the one with a hint of later days is not kept.
            assert record.content["type"] == "ADD_CODE"
            assert {stamp.source.kind for stamp in record.stamps} >= {"row", "rules"}
        assert memory.counters["stored"] == len(KEYS)


async def test_where_header_lines_get_lost_a_client_stops_naming_its_map() -> None:
    async with remembering(FORMS["without mirrors"], POLICIES["A2D"]) as (_, memory, http):
        named: list[bool] = []
        for _ in range(6):
            answer = await http.post("/orders", json={"plan": "growth", "code": "A1"})
            named.append(DIGEST in answer.request.headers)
        assert named == [False, True, False, True, False, False]
        assert "digests" not in memory.counters


# -- readers of plain JSON -------------------------------------------------------------------------


class PlainReader:
    """A client of somebody else's, of a level: a dictionary of fixes, and a JSON parser."""

    def __init__(self, level: int, http: httpx2.AsyncClient) -> None:
        self._level, self._http = level, http
        self.learnt = 0
        self._fixes: dict[str, tuple[str, dict[str, str], str | None]] = {}

    def known(self, plan: str) -> list[str]:
        return [self._fixes[plan][0]] if plan in self._fixes else []

    async def order(self, plan: str, code: str | None) -> int:
        response = await self._http.post("/orders", json={"plan": plan, "code": code})
        members = self._members(response)
        versions = members.get("table_versions")
        rules = members.get("rules_version") if self._level >= 6 else None
        if versions is not None and self._level >= 1:
            for one, (_, under, ruled) in list(self._fixes.items()):
                moved = any(versions.get(table) != version for table, version in under.items())
                if moved or (rules is not None and ruled != rules):
                    del self._fixes[one]
        if self._level >= 5:
            await self._look_at_graph()
        for fix in members.get("recovery_feedback", {}).get("suggestions", []):
            self._learn(plan, fix, versions or {}, rules)
        return response.status_code

    def _members(self, response: httpx2.Response) -> dict[str, Any]:
        return response.json() if "json" in response.headers.get("content-type", "") else {}

    def _learn(
        self, plan: str, fix: dict[str, Any], versions: dict[str, str], rules: str | None
    ) -> None:
        if self._level < 1 or fix.get("cache_hint") != "cacheable":
            return
        tables: list[str] = [fix["table"]]
        if self._level >= 4 and "tables" in fix:
            tables = [entry["table"] for entry in fix["tables"]]
        if set(tables) <= versions.keys():
            under = {table: versions[table] for table in tables}
            self._fixes[plan] = fix["parameters"]["code"], under, rules
            self.learnt += 1

    async def _look_at_graph(self) -> None:
        response = await self._http.get("/contract/graph")
        graph = self._members(response) if response.status_code == 200 else {}
        assert all(node["version"] for node in graph.get("nodes", {}).values())


@pairs(FORMS, [str(level) for level in range(7)], quick=("L6", "6"))
async def test_a_reader_of_plain_json_gets_on_with_any_server(name: str, client: str) -> None:
    form, level = FORMS[name], int(client)
    wire = Wire(form, ManualClock(1_764_500_000_000_000))
    async with httpx2.AsyncClient(transport=wire, base_url="http://shop") as http:
        reader = PlainReader(level, http)
        stream = Stream(
            contract=lambda: wire.contract,
            call=reader.order,
            known=reader.known,
            restart=wire.restart,
        )
        await stream.run()
    in_body = form.tells and form.rewrite is not in_mirrors
    assert (reader.learnt > 0) == (in_body and level >= 1)


# -- memories over MCP -----------------------------------------------------------------------------


def shop(contract: Contract) -> MCPServer:
    seat = ContractExtension(contract)
    server = MCPServer("shop", extensions=[seat], subscriptions=seat.reloads)
    seat.offer(server)

    @server.tool()
    def place(plan: str, code: str | None = None) -> str:
        """Place an order."""
        with contract.reading() as tables:
            row = tables["codes"].get(plan) if "codes" in contract.registry.tables else None
            if row is not None and code != row["code"]:
                fix = tables.suggest("ADD_CODE", {"code": row["code"]}, when={"plan": plan})
                violation = Violation(policy="p", title="T", detail="D", suggestions=(fix,))
                raise Rejected(violation)
        return "placed"

    return server


@pairs([str(level) for level in LEVELS], CLIENTS, quick=("6", "A2DC"))
async def test_any_memory_gets_on_with_any_mcp_server(name: str, client: str) -> None:
    level, policy = int(name), CLIENTS[client]
    contract = Form(level).contract(ManualClock())
    with lapse.open("memory:", policy=policy) as memory:
        async with Client(shop(contract)) as connected:
            agent = RememberingClient(memory, connected, issuer=ISSUER)

            async def call(plan: str, code: str | None) -> int:
                result = await agent.call_tool("place", {"plan": plan, "code": code})
                return 422 if result.is_error else 200

            def known(plan: str) -> list[str]:
                found = agent.fixes("place", {"plan": plan, "code": None})
                return [str(fix.parameters["code"]) for fix in found]

            stream = Stream(
                contract=lambda: contract,
                call=call,
                known=known,
                never_stale=policy.watches or level == 0,
                needs_table=False,
            )
            await stream.run()
        assert "failed" not in memory.counters
        assert memory.counters.get("stored", 0) > 0 or not (level and policy.remembers)
