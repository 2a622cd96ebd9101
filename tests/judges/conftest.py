"""A server on loopback that speaks what a test scripts, byte by byte."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

QUICK = {"retry-after": "0", "retry-after-ms": "1"}
"""What a service says to be asked again at once; zero alone would mean the SDK's own pause."""


@dataclass
class ModelService:
    """Answers each request with the next turn; of the last one there is no end.

    Attributes:
        turns: what to answer: bytes of a stream, or a status with a body and headers.
        asked: the requests that came, as path and JSON body.
        keys: the credentials that came with them.
        breaks: whether connections break after the bytes of a stream.
        counted: how many tokens it counts, when asked.
    """

    turns: list[bytes | tuple[int, bytes, dict[str, str]]] = field(default_factory=list[Any])
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list[Any])
    keys: list[str] = field(default_factory=list[str])
    breaks: bool = False
    counted: Any = 0
    url: str = ""

    def errors(self, status: int, said: str) -> None:
        """Answer from now on with an error in the form that both formats share."""
        body = {"type": "error", "error": {"type": "some_error", "message": said}}
        self.turns = [(status, json.dumps(body).encode(), QUICK)]

    async def answer(self, request: Request) -> Response:
        self.asked.append((request.url.path, await request.json()))
        self.keys.append(
            request.headers.get("x-api-key") or request.headers.get("authorization", "")
        )
        if request.url.path.endswith("/count_tokens"):
            return Response(
                json.dumps({"input_tokens": self.counted}), media_type="application/json"
            )
        turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        if isinstance(turn, tuple):
            status, body, headers = turn
            return Response(body, status, headers, media_type="application/json")

        async def stream() -> AsyncIterator[bytes]:
            yield turn
            if self.breaks:
                raise ConnectionAbortedError

        return StreamingResponse(stream(), media_type="text/event-stream")


@pytest.fixture(scope="module")
def serving() -> Iterator[ModelService]:
    """A real server for a module's tests."""
    found = ModelService()
    app = Starlette(routes=[Route("/{path:path}", found.answer, methods=["POST"])])
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()  # whoever connects before the server runs waits, and is not turned away
    found.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield found
    server.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture
def service(serving: ModelService) -> ModelService:
    """The server, with nothing scripted and nothing asked."""
    serving.turns, serving.asked, serving.keys = [], [], []
    serving.breaks, serving.counted = False, 0
    return serving
