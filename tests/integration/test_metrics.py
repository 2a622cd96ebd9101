"""Metrics beside a real service: real clients in front of it, a scraper's view of them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

import lapse
from lapse.contract import A1, A2, A2DC, EvictionPolicy, Registry, Table, Violation
from lapse.server import ASGIApp, Contract, ContractMiddleware, Receive, Scope, Send
from lapse.server.metrics import Metrics
from lapse.server.metrics_prometheus import measured
from lapse.transports.http import AsyncTransport

CODES = {"growth": "SUMMER", "scale": "PARTNER"}


class Shop:
    """A service that wants the code of a plan."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self.bodies: list[bytes] = []

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.bodies.append(body)
        status, headers, answer = self.answer(json.loads(body))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def answer(self, order: dict[str, Any]) -> tuple[int, Any, bytes]:
        with self._contract.reading() as tables:
            code = tables["codes"].get(order["plan"])
            fix = tables.suggest("ADD_CODE", {"code": code}, when={"plan": order["plan"]})
        if order.get("code") != code:
            title, detail = "The code is wrong", "Another one is on file."
            wrong = Violation(policy="code", title=title, detail=detail, suggestions=(fix,))
            answer = self._contract.problem(wrong, registry=tables.registry)
            return answer.status, list(answer.headers), answer.body
        return 200, [(b"content-type", b"application/json")], b'{"success":true}'


@dataclass
class Service:
    """The shop with its metrics."""

    contract: Contract
    metrics: Metrics
    app: ASGIApp

    def episode(self, policy: EvictionPolicy, who: str) -> Agent:
        return Agent(self, policy, who)


@dataclass
class Agent:
    """An agent that applies what its memory serves, and tries again with what it is told."""

    service: Service
    policy: EvictionPolicy
    who: str

    @asynccontextmanager
    async def working(self) -> AsyncGenerator[Any]:
        with lapse.open("memory:", policy=self.policy) as memory:
            wrapped = httpx2.ASGITransport(self.service.app)
            transport = AsyncTransport(memory, wrapped)
            headers = {"Authorization": f"Bearer {self.who}", "X-Agent": self.who}
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://shop", headers=headers
            ) as client:

                async def order(plan: str) -> int:
                    request = {"plan": plan}
                    for fix in memory.fixes("POST /orders", request):
                        request |= fix.parameters
                    attempts = 1
                    answer = await client.post("/orders", json=request)
                    while answer.status_code == 422 and attempts < 3:
                        (fix,) = answer.json()["recovery_feedback"]["suggestions"]
                        request |= fix["parameters"]
                        answer = await client.post("/orders", json=request)
                        attempts += 1
                    return attempts

                yield order


def service(**options: Any) -> Service:
    contract = Contract(Registry.of([Table("codes", dict(CODES), "1.0.0")]))
    app = ContractMiddleware(Shop(contract), contract)
    seat = measured(app, contract, **options)
    return Service(contract, seat.metrics, seat)


async def scraped(one: Service, **options: Any) -> httpx2.Response:
    transport = httpx2.ASGITransport(one.app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://shop") as client:
        return await client.request(options.pop("method", "GET"), "/contract/metrics", **options)


async def test_policies_of_clients_are_told_apart_by_what_they_do() -> None:
    one = service(client_header="X-Agent")
    agents = {"none": A1, "tables": A2, "rows": A2DC}
    for name, policy in agents.items():
        async with one.episode(policy, name).working() as order:
            for plan in ("growth", "scale", "growth", "scale"):
                await order(plan)
            one.contract.reload("codes", {**CODES, "growth": f"WINTER-{name}"})
            for plan in ("scale", "scale", "growth", "scale"):
                await order(plan)
        one.contract.reload("codes", dict(CODES))
    snapshot = one.metrics.snapshot()
    assert {b.value: n for b, n in snapshot.behaviours.items()} == {
        "keeps_lapsed": 1,
        "drops_tables": 1,
        "asks_rows": 1,
    }
    seen = {
        name: {
            v[0]: n for (m, v), n in snapshot.counts.items() if m == "evictions" and v[1] == name
        }
        for name in agents
    }
    # The first request after a reload cannot know of it, and shows "scale", whose row stays.
    assert seen["none"] == {"kept": 1, "missed": 1}
    assert seen["tables"] == {"needless": 1, "right": 1}
    assert seen["rows"] == {"kept": 1, "right": 1}
    assert snapshot.total("requests_saved", "rows") > snapshot.total("requests_saved", "tables")


async def test_a_scraper_gets_the_counts_and_nobody_else_anything_new() -> None:
    one = service(alias_tables=True)
    async with one.episode(A2DC, "x").working() as order:
        assert [await order("growth"), await order("growth")] == [2, 1]
    one.contract.reload("codes", {**CODES, "growth": "WINTER"})
    answer = await scraped(one, headers={"Accept": "text/plain;version=0.0.4"})
    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.text.splitlines()
    assert 'lapse_requests_saved_total{action="ADD_CODE",client="any"} 1.0' in lines
    assert 'lapse_reloads_total{table="table_1"} 1.0' in lines
    assert 'lapse_answers_total{class="4xx"} 1.0' in lines
    assert "codes" not in answer.text
    assert (await scraped(one, method="HEAD")).content == b""
    refused = await scraped(one, method="POST")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


async def test_requests_are_read_only_where_something_is_to_be_learned() -> None:
    contract = Contract(Registry.of([Table("codes", dict(CODES), "1.0.0")]))
    shop = Shop(contract)
    seat = measured(ContractMiddleware(shop, contract), contract)
    transport = httpx2.ASGITransport(seat)
    async with httpx2.AsyncClient(transport=transport, base_url="http://shop") as client:
        await client.post("/orders", json={"plan": "growth", "code": "SUMMER"})
        assert seat.metrics.snapshot().behaviours == {}
        await client.post("/orders", json={"plan": "growth"})
        long = {"plan": "growth", "code": "SUMMER", "x": "y" * 300_000}
        await client.post("/orders", json=long)  # too long to be looked into
    assert json.loads(shop.bodies[-1]) == long
    assert seat.metrics.snapshot().total("suggestions_followed") == 0
