"""What only the asynchronous transport can get wrong: cancelling, and blocking the loop."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx
import httpx2
import pytest

from lapse.contract import A2D
from lapse.runtime import Memory
from lapse.storage import InMemoryStore
from lapse.testing import ManualClock, SequenceIds
from lapse.transports.http import AsyncTransport

JSON = {"content-type": "application/json"}
SUGGESTION = {
    "type": "SET",
    "parameters": {"code": "A"},
    "cache_hint": "cacheable",
    "table": "codes",
    "when": {"tier": "gold"},
}


def body_of(version: str, *suggestions: dict[str, Any]) -> bytes:
    members = {
        "table_versions": {"codes": version},
        "recovery_feedback": {"suggestions": suggestions},
    }
    return json.dumps(members).encode()


@dataclass
class Stream(httpx2.AsyncByteStream):
    """A body in pieces; waits before the last one if it was told to."""

    chunks: Iterable[bytes]
    log: list[str] = field(default_factory=list[str])
    stuck: bool = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk
        if self.stuck:
            await anyio.sleep_forever()

    async def aclose(self) -> None:
        self.log.append("close")


async def not_offered(_: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(404)


@dataclass
class Network(httpx2.AsyncBaseTransport):
    """Answers calls with what is ready, and questions with what a test says."""

    ready: list[httpx2.Response] = field(default_factory=list[httpx2.Response])
    question: Callable[[httpx2.Request], Awaitable[httpx2.Response]] = not_offered
    log: list[str] = field(default_factory=list[str])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/changes"):
            self.log.append("question")
            return await self.question(request)
        return self.ready.pop(0)

    def answers(self, *chunks: bytes, stuck: bool = False, **headers: str) -> None:
        stream = Stream(chunks, self.log, stuck)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.ready.append(httpx2.Response(200, headers={**JSON, **named}, stream=stream))


class Agent:
    def __init__(self, network: httpx2.AsyncBaseTransport) -> None:
        ids = SequenceIds()
        self.memory = Memory(InMemoryStore(ids=ids), clock=ManualClock(1), ids=ids, policy=A2D)
        self.http = httpx2.AsyncClient(
            transport=AsyncTransport(self.memory, network), base_url="http://api.example"
        )

    def serves(self) -> list[object]:
        return [fix.parameters["code"] for fix in self.memory.fixes("POST /x", {"tier": "gold"})]


async def agent_that_learned(network: Network) -> Agent:
    agent = Agent(network)
    network.answers(body_of("v1", SUGGESTION))
    says, network.question = network.question, not_offered
    await agent.http.post("/x", json={"tier": "gold"})
    assert agent.serves() == ["A"]
    network.question = says
    network.log.clear()
    return agent


async def same(request: httpx2.Request) -> httpx2.Response:
    asked: dict[str, Any] = dict(request.url.params)
    return httpx2.Response(200, json={**asked, "version": "v2", "complete": True})


async def never(_: httpx2.Request) -> httpx2.Response:
    await anyio.sleep_forever()
    raise AssertionError


async def test_a_response_is_taken_in_and_asked_about() -> None:
    network = Network(question=same)
    agent = await agent_that_learned(network)
    network.answers(body_of("v2"))
    assert (await agent.http.get("/x")).content == body_of("v2")
    assert network.log == ["close", "question"]
    assert agent.serves() == ["A"]
    assert agent.memory.counters["restamped"] == 1


async def test_a_call_that_is_cancelled_while_the_service_thinks_leaves_the_fixes_held() -> None:
    network = Network(question=never)
    agent = await agent_that_learned(network)
    network.answers(body_of("v2"))
    asked = anyio.Event()

    async def stuck(request: httpx2.Request) -> httpx2.Response:
        asked.set()
        return await never(request)

    network.question = stuck
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent.http.get, "/x")
        await asked.wait()
        assert agent.serves() == []
        tasks.cancel_scope.cancel()
    assert agent.serves() == []
    assert network.log == ["close", "question"]
    network.question = same
    network.answers(body_of("v2"))
    await agent.http.get("/x")
    assert agent.serves() == ["A"]


async def test_a_call_that_is_cancelled_in_the_middle_of_its_body_is_given_up() -> None:
    network = Network(question=same)
    agent = await agent_that_learned(network)
    network.answers(body_of("v2")[:9], stuck=True)
    with anyio.CancelScope() as scope:
        async with agent.http.stream("GET", "/x") as response:
            async for _ in response.aiter_raw():
                scope.cancel()
    assert scope.cancelled_caught
    assert network.log[0] == "close"
    assert agent.memory.counters.get("failed") is None
    network.answers(body_of("v2"))
    assert (await agent.http.get("/x")).status_code == 200
    assert agent.serves() == ["A"]


async def test_a_response_that_nobody_will_have_is_closed() -> None:
    network = Network()
    agent = await agent_that_learned(network)
    network.answers(b"data", content_type="text/plain", contract_versions='"codes";v="v2"')
    with anyio.CancelScope() as scope:
        scope.cancel()
        await agent.http.get("/x")
    assert scope.cancelled_caught
    assert "close" in network.log
    assert agent.serves() in ([], ["A"])


@pytest.mark.parametrize("read", [True, False])
async def test_a_body_left_early_is_taken_in_by_its_headers_alone(*, read: bool) -> None:
    network = Network(question=same)
    agent = await agent_that_learned(network)
    network.answers(body_of("v9")[:9], body_of("v9")[9:], contract_versions='"codes";v="v2"')
    async with agent.http.stream("GET", "/x") as response:
        if read:
            chunks = response.aiter_raw()
            await anext(chunks)
            await chunks.aclose()
    assert network.log == ["close", "question"]
    assert agent.serves() == ["A"]


async def test_a_flood_for_an_answer_is_broken_off() -> None:
    network = Network()
    agent = await agent_that_learned(network)

    async def flood(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Stream([b" " * 64 * 1024] * 200, network.log))

    network.question = flood
    network.answers(body_of("v2"))
    await agent.http.get("/x")
    assert network.log == ["close", "question", "close"]
    assert agent.serves() == []
    assert agent.memory.counters["failed"] == 1


async def test_many_calls_at_once_settle_to_one_state() -> None:
    network = Network(question=same)
    agent = await agent_that_learned(network)
    for number in range(20):
        network.answers(body_of("v2", {**SUGGESTION, "when": {"n": number}}))
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(agent.http.get, "/y")
    assert len(agent.memory.fixes("GET /y")) == 20
    assert agent.serves() == ["A"]


async def test_closing_the_client_closes_the_wrapped_transport() -> None:
    closed: list[bool] = []

    class Closing(Network):
        async def aclose(self) -> None:
            closed.append(True)

    await Agent(Closing()).http.aclose()
    assert closed == [True]


@dataclass
class OldStream(httpx.AsyncByteStream):
    chunks: Iterable[bytes]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk


class OldNetwork(httpx.AsyncBaseTransport):
    """A service behind an httpx client."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/changes"):
            asked = dict(request.url.params)
            return httpx.Response(200, json={**asked, "version": "v1", "complete": True})
        whole = body_of("v1", SUGGESTION)
        return httpx.Response(422, headers=JSON, stream=OldStream([whole[:20], whole[20:]]))


async def test_an_httpx_client_with_an_httpx_transport_is_served_as_well() -> None:
    agent = Agent(Network())
    transport: Any = AsyncTransport(agent.memory, OldNetwork())  # type: ignore[arg-type]  # alike
    async with httpx.AsyncClient(transport=transport, base_url="http://api.example") as client:
        response = await client.post("/x", json={"tier": "gold"})
    assert response.content == body_of("v1", SUGGESTION)
    assert agent.serves() == ["A"]
    assert agent.memory.counters.get("failed") is None
