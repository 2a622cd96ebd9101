"""What a bare application serves in a second, and what it serves behind the contract's middleware.

Both are really served: a uvicorn process of its own for each, and a client process of plain sockets
that keeps one connection per server and pipelines nothing. The turns alternate as everywhere. The
client writes and reads fixed bytes, so that nearly all of the time is the server's.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from lapse_bench.speed.pairs import Pair

if TYPE_CHECKING:
    from collections.abc import Generator

    from lapse.server import ASGIApp, Receive, Scope, Send

__all__ = [
    "GOAL",
    "SIGNED_GOAL",
    "bare",
    "middleware_throughput",
    "serve_here",
    "signed_throughput",
]

GOAL: Final = 0.85
"""The least share of the bare application's throughput."""
SIGNED_GOAL: Final = 0.8
"""The same where every response carries a signed stamp."""

_CALLS: Final = 400
_REQUEST: Final = b"GET /v1/plans HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json\r\n\r\n"
_BODY: Final = (
    b'{"plans":["plan_partner_growth","plan_partner_scale","plan_startup","plan_nonprofit"]}'
)


async def bare(scope: Scope, receive: Receive, send: Send) -> None:
    """The application: a small JSON document."""
    del scope, receive
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(_BODY)).encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": _BODY})


@contextmanager
def middleware_throughput() -> Generator[Pair]:
    """Serve both, each in a process of its own, for as long as they are compared."""
    with _process("wrapped") as wrapped, _process("bare") as plain:
        yield Pair(
            name="middleware_throughput",
            ours=wrapped.turn,
            theirs=plain.turn,
            calls=_CALLS,
            turns=41,
            goal=1 / GOAL,
            ours_does="GET over one kept connection to uvicorn serving ContractMiddleware(app), "
            "six tables: the versions, the rules' fingerprint and the location on every response",
            theirs_does="the same GET to uvicorn serving the bare app, in a process of its own",
        )


@contextmanager
def signed_throughput() -> Generator[Pair]:
    """As `middleware_throughput`, with a service that signs."""
    with _process("signed") as signed, _process("bare") as plain:
        yield Pair(
            name="signed_throughput",
            ours=signed.turn,
            theirs=plain.turn,
            calls=_CALLS,
            turns=41,
            goal=1 / SIGNED_GOAL,
            ours_does="GET over one kept connection to uvicorn serving ContractMiddleware(app) of "
            "a contract that signs with Ed25519: the stamp and its signature on every response",
            theirs_does="the same GET to uvicorn serving the bare app, in a process of its own",
        )


class _Connection:
    """One kept connection; reads exactly one response for each request."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._length = self._first()

    def _first(self) -> int:
        """The length of a response; every one of this server has it."""
        self._socket.sendall(_REQUEST)
        seen = b""
        while not seen.endswith(_BODY):
            seen += self._socket.recv(65536)
        if not seen.startswith(b"HTTP/1.1 200"):
            raise AssertionError(seen)
        return len(seen)

    def turn(self) -> None:
        """Ask and read, so many times."""
        for _ in range(_CALLS):
            self._socket.sendall(_REQUEST)
            left = self._length
            while left:
                left -= len(self._socket.recv(left))

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


@contextmanager
def _process(which: str) -> Generator[_Connection]:
    command = [sys.executable, "-m", "lapse_bench.speed.throughput", which]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:  # noqa: S603
        try:
            if server.stdout is None:
                raise AssertionError(which)
            connection = _Connection(int(server.stdout.readline()))
            yield connection
            connection.close()
        finally:
            server.terminate()


def serve_here(which: str) -> None:
    """Serve one of the two on a free port, which is written to standard output, until killed."""
    import uvicorn  # noqa: PLC0415 - only the served processes need it

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(_apps()[which], log_level="error", access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listener])


def _apps() -> dict[str, ASGIApp]:
    from lapse.server import Contract, ContractMiddleware, Signing  # noqa: PLC0415 - as above
    from lapse.signing.ed25519 import Ed25519Signer, new_secret  # noqa: PLC0415
    from lapse.storage import SystemClock  # noqa: PLC0415
    from lapse_bench.worlds import acme  # noqa: PLC0415

    signing = Signing(
        Ed25519Signer("2026", new_secret()), issuer="http://127.0.0.1", clock=SystemClock()
    )
    return {
        "bare": bare,
        "wrapped": ContractMiddleware(bare, Contract(acme.initial())),
        "signed": ContractMiddleware(bare, Contract(acme.initial(), signing=signing)),
    }


def throughput_members(found: dict[str, Any], *, goal: float = GOAL) -> dict[str, Any]:
    """The result said as throughput: what the wrapped application keeps of the bare one's."""
    ratio = found["median_theirs_us"] / found["median_ours_us"]
    return {
        **found,
        "ratio": round(ratio, 3),
        "goal": goal,
        "goal_is": "at least",
        "met": ratio >= goal,
    }


if __name__ == "__main__":
    serve_here(sys.argv[1])
