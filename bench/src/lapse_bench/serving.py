"""Serves an application over real HTTP on the loopback address, for as long as it is needed."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, cast

import httpx2
import uvicorn

if TYPE_CHECKING:
    from collections.abc import Generator

    from uvicorn._types import ASGIApplication

    from lapse.server import ASGIApp

__all__ = ["loopback", "served"]

_BACKLOG = 128


def loopback() -> httpx2.HTTPTransport:
    """A transport for plain HTTP to this machine.

    It loads no certificates: nothing is encrypted on the way, and loading them takes longer than
    an arm of a benchmark.
    """
    return httpx2.HTTPTransport(verify=False)


@contextmanager
def served(app: ASGIApp, *, lives: bool = False) -> Generator[str]:
    """Run one uvicorn on a free port of 127.0.0.1; gives the base URL.

    The socket listens before the server runs, so a client that is too early waits in the backlog
    and nobody polls.

    Args:
        app: the application.
        lives: whether it is told of the server's start and end, and has to answer.
    """
    # The protocol is named because an event loop turns Nagle's algorithm off only for sockets that
    # say they are TCP; with it on, an answer in two writes waits 40 ms for an acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(_BACKLOG)
    host, port = listener.getsockname()
    asgi = cast("ASGIApplication", app)  # the same protocol, spelled with other type names
    config = uvicorn.Config(
        asgi,
        log_level="warning",
        access_log=False,
        lifespan="on" if lives else "off",
        ws="none",
    )
    server = uvicorn.Server(config)
    thread = Thread(
        target=server.run, kwargs={"sockets": [listener]}, name=f"serving-{port}", daemon=True
    )
    thread.start()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
