"""What fixes rest on beside a digest, over real HTTP: they refer to the request they answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest

import lapse
from lapse.contract import Held, Registry, Table, Violation
from lapse.ledger import Source
from lapse.runtime import Digests, Memory
from lapse.server import ASGIApp, Contract, ContractMiddleware, Receive, Scope, Send
from lapse.server.metrics_prometheus import measured
from lapse.transports.http import Transport, envelope_of
from lapse_bench.serving import loopback, served

ISSUER = "shop"
CODES = {"growth": {"code": "A"}, "scale": {"code": "S"}}
JSON = {"content-type": "application/json"}


def contract_of(**options: Any) -> Contract:
    tables = [Table("codes", CODES, "1.0.0"), Table("plans", {"growth": 1}, "1.0.0")]
    return Contract(Registry.of(tables), **options)


def shop(contract: Contract, *, more: dict[str, Any] | None = None) -> ASGIApp:
    """Takes an order that has its plan's code, of whose plan it makes no difference in case."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        order: dict[str, Any] = {} if scope["method"] == "GET" else json.loads(body)
        plan = str(order.get("plan", "none")).lower()
        with contract.reading() as tables:
            row = tables["codes"].get(plan) or {"code": None}
            if scope["method"] == "GET" or order.get("code") == row["code"]:
                head = [(b"content-type", b"application/json")]
                await _send(send, 200, b"{}", head)
                return
            fix = tables.suggest("SET_CODE", {"code": row["code"]}, when={"plan": plan})
            if more is not None:
                fix = replace(fix, more=more)
            violation = Violation(policy="codes", title="no", detail="no", suggestions=(fix,))
        answer = contract.problem(violation, registry=tables.registry)
        await _send(send, answer.status, answer.body, list(answer.headers))

    return app


async def _send(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@dataclass
class Between(httpx2.BaseTransport):
    """Sees what passes, and may change the requests."""

    seen: list[tuple[str | None, httpx2.Response]] = field(default_factory=list[Any])
    change: Callable[[bytes], bytes] = bytes
    wrapped: httpx2.BaseTransport = field(default_factory=loopback)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        sent = request
        if request.method == "POST" and self.change is not bytes:
            lines = [line for line in request.headers.raw if line[0].lower() != b"content-length"]
            body = self.change(request.read())
            sent = httpx2.Request("POST", request.url, headers=lines, content=body)
        response = self.wrapped.handle_request(sent)
        response.read()
        if "/changes" not in request.url.path:
            self.seen.append((request.headers.get("lapse"), response))
        return response

    def close(self) -> None:
        self.wrapped.close()

    @property
    def fix(self) -> dict[str, Any]:
        """The fix of the last answer."""
        (fix,) = self.seen[-1][1].json()["recovery_feedback"]["suggestions"]
        return fix


@contextmanager
def calling(
    contract: Contract, between: Between, app: ASGIApp | None = None
) -> Generator[tuple[httpx2.Client, Memory]]:
    whole = ContractMiddleware(shop(contract) if app is None else app, contract)
    with (
        served(whole) as url,
        lapse.open("memory:") as memory,
        httpx2.Client(base_url=url, transport=Transport(memory, between, issuer=ISSUER)) as client,
    ):
        yield client, memory


def codes(memory: Memory, plan: str) -> list[Any]:
    found = memory.fixes("POST /order", {"plan": plan}, issuer=ISSUER)
    return [fix.parameters["code"] for fix in found]


@pytest.mark.requirement("C-DIG-22", "C-DIG-24", "C-DIG-26")
def test_what_a_fix_rests_on_is_said_in_twelve_characters() -> None:
    contract, between = contract_of(), Between()
    with calling(contract, between) as (client, memory):
        client.get("/")
        client.post("/order", json={"plan": "growth", "seats": 3})
        assert between.fix.keys() == {"type", "parameters", "r"}
        assert len(between.fix["r"]) == 12
        version = contract.registry.row_version("codes", "growth")
        (read,) = envelope_of(between.seen[-1][1]).suggestions
        assert [(row.key, row.version) for row in read.rows] == [("growth", version)]
        assert (read.table, read.when, read.more) == ("codes", {"plan": "growth"}, {})
        (record,) = memory.records()
        row = Source.row(ISSUER, "codes", "growth")
        assert [s.version for s in record.stamps if s.source == row] == [version]
        # The version is the one that the diff compares with: another row's move leaves the fix.
        contract.reload("codes", {**CODES, "scale": {"code": "T"}})
        client.get("/")
        assert codes(memory, "growth") == ["A"]
        contract.reload("codes", {**CODES, "growth": {"code": "B"}})
        client.get("/")
        assert codes(memory, "growth") == []


@pytest.mark.requirement("C-DIG-22")
@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b'{"plan":"growth","plan":"growth"}', JSON),
        (b'{"plan":"growth","more":NaN}', JSON),
        (b'{"plan":"growth"}', {}),
        (b'{"plan":"growth"}', {"content-type": "text/plain"}),
        (b'{"plan":"growth","more":"%s"}' % (b"x" * 70_000), JSON),
    ],
)
def test_nothing_refers_to_a_request_that_could_be_read_in_two_ways(
    content: bytes, headers: dict[str, str]
) -> None:
    contract, between = contract_of(), Between()
    with calling(contract, between) as (client, memory):
        client.get("/")
        client.post("/order", content=content, headers=headers)
        assert between.fix.keys() == {"type", "parameters", "on", "when"}
        assert len(memory.records()) == 1


@pytest.mark.requirement("C-DIG-25")
def test_a_condition_that_the_request_does_not_have_is_written_out() -> None:
    contract, between = contract_of(), Between()
    with calling(contract, between) as (client, memory):
        client.get("/")
        client.post("/order", json={"plan": "GROWTH"})
        assert between.fix["when"] == {"plan": "growth"}
        assert codes(memory, "growth") == ["A"]
        assert codes(memory, "GROWTH") == []


@pytest.mark.requirement("C-DIG-22")
@pytest.mark.parametrize("name", ["r", "on"])
def test_a_member_of_the_applications_own_is_never_taken_for_ours(name: str) -> None:
    contract, between = contract_of(), Between()
    own = {name: "its own"}
    with calling(contract, between, shop(contract, more=own)) as (client, memory):
        client.get("/")
        client.post("/order", json={"plan": "growth"})
        assert between.fix[name] == "its own"
        assert memory.counters["digests"] == 1
        assert memory.counters.get("refused", 0) == 0
        assert codes(memory, "growth") == ["A"]


@pytest.mark.requirement("C-DIG-27")
def test_a_request_that_is_rewritten_on_its_way_teaches_nothing_wrong() -> None:
    contract, between = contract_of(), Between()
    between.change = lambda body: body.replace(b"mine", b"growth")
    with calling(contract, between) as (client, memory):
        for _ in range(2):
            client.get("/")
            client.post("/order", json={"plan": "mine"})
            assert "r" in between.fix
            assert between.seen[-1][0] is not None
            assert len(memory.records()) == 0
        refused = memory.counters["refused"]
        assert refused == 4  # each answer once, and its fix, which then names no table
        # Then fixes are asked for in full, as far as anybody can tell for whom they hold.
        for _ in range(2):
            client.post("/order", json={"plan": "mine"})
            assert between.seen[-1][0] is None
        assert between.fix["when"] == {"plan": "growth"}
        assert codes(memory, "growth") == ["A"]
        assert memory.counters["refused"] == refused


@pytest.mark.requirement("C-DIG-28")
def test_whose_request_is_not_known_does_not_name_a_map() -> None:
    contract, between = contract_of(), Between()

    def parts() -> Generator[bytes]:
        yield b'{"plan":'
        yield b'"growth"}'

    with calling(contract, between) as (client, _):
        client.get("/")
        client.post("/order", content=parts(), headers=JSON)
        assert between.seen[-1][0] is None
        assert between.fix["when"] == {"plan": "growth"}
        client.post("/order", content=parts(), headers={"content-type": "text/csv"})
        assert between.seen[-1][0] is not None


async def test_a_body_in_parts_is_heard_as_one() -> None:
    contract = contract_of()
    app = ContractMiddleware(shop(contract), contract)
    now = contract.registry
    held = Held(now.table_versions, now.rules_version)

    async def parts() -> AsyncIterator[bytes]:
        yield b'{"plan":'
        yield b'"growth"}'

    with served(app) as url:
        async with httpx2.AsyncClient(base_url=url) as client:
            lines = {**JSON, "lapse": held.tag}
            whole = await client.post("/order", content=b'{"plan":"growth"}', headers=lines)
            answer = await client.post("/order", content=parts(), headers=lines)
    assert "r" in answer.json()["recovery_feedback"]["suggestions"][0]
    assert answer.content == whole.content


def test_whoever_counts_sees_what_fixes_rest_on() -> None:
    found: list[str] = []
    for speaks in (True, False):
        contract, between = contract_of(), Between()
        app = measured(ContractMiddleware(shop(contract), contract), contract)
        with served(app) as url, lapse.open("memory:") as memory:
            memory.digests = Digests(speaks=speaks)
            transport = Transport(memory, between, issuer=ISSUER)
            with httpx2.Client(base_url=url, transport=transport) as client:
                client.get("/")
                client.post("/order", json={"plan": "growth"})
                client.post("/order", json={"plan": "scale", "code": "S"})
                client.post("/order", json={"plan": "growth", "code": "A"})
                contract.reload("codes", {**CODES, "growth": {"code": "B"}})
                client.post("/order", json={"plan": "growth", "code": "A"})
                text = httpx2.get(f"{url}/contract/metrics").text
                assert memory.counters.get("digests", 0) == (4 if speaks else 0)
        found.append(text)
    assert _counts(found[0]) == _counts(found[1])
    assert any(value != "0.0" for value in _counts(found[0]).values())


def _counts(text: str) -> dict[str, str]:
    lines = [line.rpartition(" ") for line in text.splitlines() if line.startswith("lapse_")]
    return {
        name: value for name, _, value in lines if "seconds" not in name and "created" not in name
    }
