"""Serves a gateway over HTTP, and reads its document again when that is asked for.

::

    serve_gateway(gateway, port=8422, poll_s=30, told=print)

SIGHUP, or another file behind the name where `poll_s` is given, means that the document is read
again. One that cannot be read changes nothing, and is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from email.utils import formatdate
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue, LapseError
from lapse.server.run import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from lapse.server.exchange import ASGIApp, Message, Receive, Scope, Send
    from lapse.server.gateway import Gateway

    Told = Callable[[str], None]

__all__ = ["Watching", "serve_gateway"]


def serve_gateway(
    gateway: Gateway,
    *,
    app: ASGIApp | None = None,
    host: str = "127.0.0.1",
    port: int = 8422,
    poll_s: float | None = None,
    bound: Callable[[str, int], None] | None = None,
    told: Told = lambda _: None,
) -> None:
    """Serve a gateway; returns when SIGINT or SIGTERM arrives, after open requests.

    Args:
        gateway: the gateway.
        app: the application around it, if something was put around it; the gateway when None.
        host: the address to listen on.
        port: the port; 0: any free one.
        poll_s: how often to look whether the document's file is another one; None: never.
        bound: told the address once connections are accepted.
        told: told in one sentence what became of each reading of the document.

    Raises:
        InvalidValue: the address, the port or the interval cannot be used.
    """
    if poll_s is not None and poll_s <= 0:
        raise InvalidValue("poll_s", poll_s, "pass more than 0 seconds, or None")
    watching = Watching(_dated(gateway if app is None else app), gateway, poll_s=poll_s, told=told)
    run(watching, host=host, port=port, bound=bound, names_itself=False)


class Watching:
    """Reads a gateway's document again, on SIGHUP and by polling, for as long as the server lives.

    Args:
        app: the application to serve.
        gateway: the gateway whose document it is.
        poll_s: as `serve_gateway`.
        told: as `serve_gateway`.
    """

    def __init__(self, app: ASGIApp, gateway: Gateway, *, poll_s: float | None, told: Told) -> None:
        self._app = app
        self._gateway = gateway
        self._poll_s = poll_s
        self._told = told
        self._seen = self._signature()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, or the server's life."""
        if scope["type"] != "lifespan" or self._gateway.file is None:
            await self._app(scope, receive, send)
            return
        asked = asyncio.Event()
        loop = asyncio.get_running_loop()
        # Not on Windows, and not outside the main thread; a POST does the same there.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError, AttributeError):
            loop.add_signal_handler(signal.SIGHUP, asked.set)
        watch = asyncio.create_task(self._watch(asked))
        try:
            await self._app(scope, receive, send)
        finally:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch

    async def _watch(self, asked: asyncio.Event) -> None:
        while True:
            try:
                await asyncio.wait_for(asked.wait(), self._poll_s)
            except TimeoutError:
                if self._signature() == self._seen:
                    continue
            asked.clear()
            self._seen = self._signature()
            self._told(await asyncio.to_thread(self._read))

    def _read(self) -> str:
        try:
            done = self._gateway.reload()
        except LapseError as failure:
            return f"The document was not taken: {failure}."
        rows = sum(len(reload.diff.keys) for reload in done)
        return f"The document was read: {rows} rows changed in {len(done)} tables."

    def _signature(self) -> tuple[int, int, int] | None:
        file = self._gateway.file
        try:
            found = None if file is None else file.stat()
        except OSError:
            return None
        return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)


def _dated(app: ASGIApp) -> ASGIApp:
    """Dates the answers that are the gateway's own; the upstream's carry their date."""

    async def dated(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                lines = message["headers"]
                if not any(name == b"date" for name, _ in lines):
                    date = (b"date", formatdate(usegmt=True).encode())
                    message = {**message, "headers": [*lines, date]}
            await send(message)

        await app(scope, receive, sent if scope["type"] == "http" else send)

    return dated
