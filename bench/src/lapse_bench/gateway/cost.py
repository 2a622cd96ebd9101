"""What the metrics and the gateway cost, as ratios measured side by side in one run.

Over HTTP on loopback, one client at a time, with and without in turns: the smallest service there
is, so that nothing hides them. What the metrics cost is told in microseconds as well, in process,
because a ratio to nearly nothing says nothing.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import httpx2

from lapse.contract import Registry, Table
from lapse.server import Contract, ContractMiddleware
from lapse.server.gateway import Gateway
from lapse.server.metrics_prometheus import measured
from lapse_bench.serving import served

if TYPE_CHECKING:
    from collections.abc import Callable

    from lapse.server import ASGIApp, Receive, Scope, Send

__all__ = ["measure_cost"]

_ROUNDS: Final = 15
_CALLS: Final = 1_000
_REQUESTS: Final = 200
_DOCUMENT: Final[dict[str, Any]] = {
    "openapi": "3.1.0",
    "info": {"title": "hello"},
    "paths": {
        "/hello": {
            "post": {
                "requestBody": {
                    "content": {"application/json": {"schema": {"properties": {"a": {}}}}}
                }
            }
        }
    },
}


async def _hello(_scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", b"15")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"hello":"you"}'})


def measure_cost() -> dict[str, float]:
    """Time with over time without, medians of interleaved rounds: 1.00 is nothing."""
    contract = Contract(Registry.of([Table("codes", {"growth": "SUMMER"}, "1.0.0")]))
    plain = ContractMiddleware(_hello, contract)
    counted = measured(plain, contract)
    without, with_it = _in_process(plain), _in_process(counted)
    ratios = {"metrics_on_us_in_process": (with_it - without) / _CALLS * 1e6}
    with ExitStack() as stack:
        behind = stack.enter_context(served(_hello))
        served_plain = stack.enter_context(served(plain))
        served_counted = stack.enter_context(served(counted))
        gateway, other = (Gateway(json.dumps(_DOCUMENT).encode(), behind) for _ in range(2))
        front = stack.enter_context(served(gateway, lives=True))
        seat = measured(other, other.contract, operation_of=other.operation_of)
        front_counted = stack.enter_context(served(seat, lives=True))
        clients = {
            url: stack.enter_context(httpx2.Client(base_url=url))
            for url in (behind, served_plain, served_counted, front, front_counted)
        }

        def ratio(one: str, two: str) -> float:
            return _ratio(lambda: _over_http(clients[one]), lambda: _over_http(clients[two]))

        ratios["metrics_on"] = ratio(served_plain, served_counted)
        ratios["gateway"] = ratio(behind, front)
        ratios["gateway_metrics_on"] = ratio(front, front_counted)
    return {name: round(ratio, 3) for name, ratio in ratios.items()}


def _ratio(without: Callable[[], float], with_it: Callable[[], float]) -> float:
    """The median of ratios of neighbours in time: what slows the machine slows both."""
    for first in (without, with_it):
        first()  # loads modules and opens connections
    pairs = [(without(), with_it()) for _ in range(_ROUNDS)]
    return statistics.median(after / before for before, after in pairs)


def _in_process(app: ASGIApp) -> float:
    body = b'{"plan":"growth"}'

    async def calls() -> float:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(_message: Any) -> None:
            return

        began = time.perf_counter()
        for _ in range(_CALLS):
            scope = {
                "type": "http",
                "method": "POST",
                "path": "/hello",
                "query_string": b"",
                "client": ("127.0.0.1", 1),
                "headers": [(b"host", b"x"), (b"user-agent", b"x"), (b"content-length", b"17")],
            }
            await app(scope, receive, send)
        return time.perf_counter() - began

    return asyncio.run(calls())


def _over_http(client: httpx2.Client) -> float:
    began = time.perf_counter()
    for _ in range(_REQUESTS):
        client.post("/hello", json={"a": 1}).raise_for_status()
    return time.perf_counter() - began
