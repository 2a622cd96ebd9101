"""Somebody on the way: forwards every request, and does with the answers what he likes."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import httpx2

from lapse_bench.serving import loopback

if TYPE_CHECKING:
    from collections.abc import Generator

    from lapse.server import Receive, Scope, Send

__all__ = ["Answer", "Proxy", "Tamper", "Upstream"]

_HOP = frozenset({"connection", "content-length", "date", "server", "transfer-encoding"})


@dataclass(slots=True)
class Answer:
    """An answer on its way, to be changed in place.

    Attributes:
        path: the path that was asked for.
        status: its status.
        headers: its header lines, names in lower case.
        body: its body, as JSON; None when it is not.
    """

    path: str
    status: int
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: Any = None

    @property
    def members(self) -> dict[str, Any]:
        """The members of its body, to be changed in place; none when it is no object."""
        return cast("dict[str, Any]", self.body) if isinstance(self.body, dict) else {}

    @property
    def fixes(self) -> list[dict[str, Any]]:
        """The suggestions in its body, to be changed in place."""
        feedback: dict[str, Any] = self.members.get("recovery_feedback", {})
        return feedback.get("suggestions", [])

    @property
    def is_contract(self) -> bool:
        """Whether it answers a question about the contract itself."""
        return self.path.startswith("/contract")


Tamper = Callable[[Answer], None]
"""What is done to an answer."""


class Upstream:
    """Where the answers come from."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    @classmethod
    @contextmanager
    def at(cls, url: str) -> Generator[Upstream]:
        """The service at a URL."""
        with httpx2.Client(base_url=url, transport=loopback()) as client:
            yield cls(client)

    def ask(self, method: str, target: str, body: bytes) -> Answer:
        """Forward a request."""
        headers = {"content-type": "application/json"} if body else {}
        response = self._client.request(method, target, content=body, headers=headers)
        lines = {n.lower(): v for n, v in response.headers.items() if n.lower() not in _HOP}
        try:
            value: Any = response.json()
        except ValueError:
            value = None
        return Answer(target.partition("?")[0], response.status_code, lines, value)


class Proxy:
    """An ASGI application in front of an upstream.

    Args:
        upstream: where the answers come from.
        tamper: what is done to each of them.
    """

    def __init__(self, upstream: Upstream, tamper: Tamper) -> None:
        self._upstream = upstream
        self._tamper = tamper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. It blocks the loop meanwhile: there is one client, and it waits."""
        body = b""
        more = True
        while more:
            message = await receive()
            body += cast("bytes", message.get("body", b""))
            more = bool(message.get("more_body", False))
        query: bytes = scope.get("query_string", b"")
        target = scope["path"] + (f"?{query.decode()}" if query else "")
        answer = self._upstream.ask(scope["method"], target, body)
        self._tamper(answer)
        content = b"" if answer.body is None else json.dumps(answer.body).encode()
        headers = [(n.encode(), v.encode("latin-1", "replace")) for n, v in answer.headers.items()]
        headers.append((b"content-length", str(len(content)).encode()))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": content})
