"""Clients of both libraries against a real server on loopback, with a durable memory."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import anyio
import httpx
import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse, StreamingResponse

import lapse
from lapse.contract import A2D, Registry, Table, Violation
from lapse.runtime import Memory
from lapse.server import Contract, Rejected
from lapse.server.fastapi import install
from lapse.transports.http import AsyncTransport, Transport

OPERATION = "POST /orders"


class Shop:
    """A service in which every plan needs its code."""

    def __init__(self) -> None:
        codes = Table("codes", {"growth": "SUMMER", "scale": "PARTNER"}, version="1")
        self.contract = Contract(Registry.of([codes]))
        self.app = FastAPI()
        install(self.app, self.contract)
        self.app.post("/orders")(self.place)
        self.app.get("/text")(self.text)
        self.app.get("/large")(self.large)

    async def place(self, order: dict[str, Any]) -> dict[str, Any]:
        with self.contract.reading() as tables:
            code = tables["codes"].get(order["plan"])
            if order.get("code") != code:
                when = {"plan": order["plan"]}
                fix = tables.suggest("ADD_CODE", {"code": code}, when=when)
                raise Rejected(
                    Violation(
                        policy="plan-code",
                        title="The plan needs its code",
                        detail="The code is not the one on file.",
                        suggestions=(fix,),
                    )
                )
        return {"order": "placed"}

    async def text(self) -> PlainTextResponse:
        return PlainTextResponse("hello")

    async def large(self) -> StreamingResponse:
        async def body() -> AsyncIterator[bytes]:
            yield b'{"rows": "'
            for _ in range(64):
                yield b"x" * 65_536
            yield b'"}'

        return StreamingResponse(body(), media_type="application/json")

    def reload(self, **codes: str) -> None:
        self.contract.reload("codes", codes)


@contextmanager
def served(app: Any) -> Generator[str]:
    """A real server for as long as it is needed."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    up = Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            up.set()

    server = Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        assert up.wait(20)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="module")
def base() -> Iterator[tuple[Shop, str]]:
    shop = Shop()
    with served(shop.app) as url:
        yield shop, url


@pytest.fixture
def shop(base: tuple[Shop, str]) -> Shop:
    base[0].reload(growth="SUMMER", scale="PARTNER")
    return base[0]


@pytest.fixture
def url(base: tuple[Shop, str]) -> str:
    return base[1]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with lapse.open(tmp_path / "fixes.db", policy=A2D) as memory:
        yield memory


Call = Callable[[dict[str, str]], int]
"""Places an order and gives the status."""


@contextmanager
def new_client(memory: Memory, url: str) -> Generator[Call]:
    with httpx2.Client(transport=Transport(memory), base_url=url) as client:
        yield lambda order: client.post("/orders", json=order).status_code


@contextmanager
def old_client(memory: Memory, url: str) -> Generator[Call]:
    transport: Any = Transport(memory, httpx.HTTPTransport())  # type: ignore[arg-type]  # alike
    with httpx.Client(transport=transport, base_url=url) as client:
        yield lambda order: client.post("/orders", json=order).status_code


@contextmanager
def new_async_client(memory: Memory, url: str) -> Generator[Call]:
    async def place(order: dict[str, str]) -> int:
        transport = AsyncTransport(memory)
        async with httpx2.AsyncClient(transport=transport, base_url=url) as client:
            return (await client.post("/orders", json=order)).status_code

    yield lambda order: anyio.run(place, order)


@contextmanager
def old_async_client(memory: Memory, url: str) -> Generator[Call]:
    async def place(order: dict[str, str]) -> int:
        wrapped: Any = httpx.AsyncHTTPTransport()
        transport: Any = AsyncTransport(memory, wrapped)
        async with httpx.AsyncClient(transport=transport, base_url=url) as client:
            return (await client.post("/orders", json=order)).status_code

    yield lambda order: anyio.run(place, order)


CLIENTS = [new_client, old_client, new_async_client, old_async_client]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_refusal_teaches_and_a_moved_row_unteaches(
    client: Callable[[Memory, str], Any], shop: Shop, url: str, memory: Memory
) -> None:
    def codes(plan: str) -> list[object]:
        return [f.parameters["code"] for f in memory.fixes(OPERATION, {"plan": plan}, issuer=url)]

    with client(memory, url) as place:
        assert [place({"plan": plan}) for plan in ("growth", "scale")] == [422, 422]
        assert place({"plan": "growth", "code": "SUMMER"}) == 200
        assert (codes("growth"), codes("scale")) == (["SUMMER"], ["PARTNER"])
        shop.reload(growth="WINTER", scale="PARTNER")
        assert place({"plan": "scale", "code": "PARTNER"}) == 200
        assert (codes("growth"), codes("scale")) == ([], ["PARTNER"])
        assert place({"plan": "growth", "code": "SUMMER"}) == 422
        assert codes("growth") == ["WINTER"]
    told = memory.counters
    assert {n: told.get(n) for n in ("evicted", "restamped", "stored", "failed")} == {
        "evicted": 1,
        "restamped": 1,
        "stored": 3,
        "failed": None,
    }


def test_the_memory_survives_its_process(
    shop: Shop, url: str, memory: Memory, tmp_path: Path
) -> None:
    with new_client(memory, url) as place:
        place({"plan": "growth"})
    shop.reload(growth="WINTER", scale="PARTNER")
    program = """
import sys, httpx2, lapse
from lapse.transports.http import Transport
with lapse.open(sys.argv[1], policy=lapse.A2D) as memory:
    with httpx2.Client(transport=Transport(memory), base_url=sys.argv[2]) as client:
        before = [fix.parameters["code"] for fix in memory.fixes("POST /orders")]
        status = client.get("/text").status_code
        print(before, status, memory.fixes("POST /orders"), memory.counters.get("evicted"))
"""
    command = [sys.executable, "-W", "error", "-c", program, str(tmp_path / "fixes.db"), url]
    done = subprocess.run(  # noqa: S603 - this very interpreter
        command, capture_output=True, text=True, check=True
    )
    assert done.stdout == "['SUMMER'] 200 () 1\n"
    assert memory.fixes(OPERATION) == ()  # what another process evicted is not served here


def test_a_pool_of_one_connection_is_enough(shop: Shop, url: str, memory: Memory) -> None:
    one = httpx2.Limits(max_connections=1)
    transport = Transport(memory, httpx2.HTTPTransport(limits=one))
    with httpx2.Client(transport=transport, base_url=url, timeout=None) as client:
        assert client.post("/orders", json={"plan": "growth"}).status_code == 422
        for path in ("/text", "/large"):
            shop.reload(growth="SUMMER", scale=path)
            assert client.get(path).status_code == 200
            assert client.head(path).status_code == 405
            assert len(memory.fixes(OPERATION)) == 1
        shop.reload(growth="SUMMER", scale="left early")
        with client.stream("GET", "/large") as response:
            assert next(response.iter_raw()).startswith(b'{"rows"')
            assert memory.fixes(OPERATION) != ()  # its headers count at its end
        assert len(memory.fixes(OPERATION)) == 1
    assert memory.counters["restamped"] == 3


def test_a_pool_of_one_connection_is_enough_for_an_event_loop(
    shop: Shop, url: str, memory: Memory
) -> None:
    async def calls() -> None:
        one = httpx2.Limits(max_connections=1)
        transport = AsyncTransport(memory, httpx2.AsyncHTTPTransport(limits=one))
        async with httpx2.AsyncClient(transport=transport, base_url=url, timeout=None) as client:
            await client.post("/orders", json={"plan": "growth"})
            shop.reload(growth="SUMMER", scale="2")
            async with anyio.create_task_group() as tasks:
                for path in ("/text", "/large", "/text"):
                    tasks.start_soon(client.get, path)

    anyio.run(calls)
    assert len(memory.fixes(OPERATION)) == 1
    assert memory.counters.get("failed") is None


def test_a_large_body_passes_whole_and_its_headers_count(
    shop: Shop, url: str, memory: Memory
) -> None:
    del shop
    with httpx2.Client(transport=Transport(memory), base_url=url) as client:
        assert len(client.get("/large").content) == 64 * 65_536 + 12
    assert memory.counters["refused"] == 1


class HangsUp:
    """A service on a socket that answers calls and hangs up on every question."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.questions = 0
        self.thread = Thread(target=self._serve)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            with connection:
                head = b""
                while b"\r\n\r\n" not in head and (read := connection.recv(4096)):
                    head += read
                if head.startswith(b"GET /stop"):
                    return
                if b"/changes" in head:
                    self.questions += 1
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{")
                    continue
                fields = f'contract-versions: "codes";v="{self.version}"\r\nconnection: close'
                connection.sendall(f"HTTP/1.1 204 No Content\r\n{fields}\r\n\r\n".encode())

    def stop(self) -> None:
        with socket.create_connection(self.listener.getsockname()) as connection:
            connection.sendall(b"GET /stop HTTP/1.1\r\n\r\n")
        self.thread.join()
        self.listener.close()


def test_a_service_that_hangs_up_on_questions_does_not_break_calls(
    shop: Shop, url: str, memory: Memory
) -> None:
    del shop
    with httpx2.Client(transport=Transport(memory, issuer="shop"), base_url=url) as client:
        client.post("/orders", json={"plan": "growth"})
    assert len(memory.fixes(OPERATION)) == 1
    service = HangsUp("another")
    try:
        with httpx2.Client(transport=Transport(memory, issuer="shop")) as client:
            assert client.get(f"{service.url}/x").status_code == 204
    finally:
        service.stop()
    assert service.questions == 1
    assert memory.fixes(OPERATION) == ()
    assert memory.counters["failed"] == 1
