"""Real HTTP/2 on loopback, both ends, with every frame of the answers counted.

Hypercorn serves without encryption (RFC 9113, section 3.3); h2 speaks for the client. How many
bytes of a header block a field took is read off the block itself, representation by representation
(RFC 7541, section 6): a field that was sent before is a byte of index.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, cast

import h2.config
import h2.connection
import h2.events
import httpx2
from hypercorn import asyncio as hypercorn_asyncio
from hypercorn.config import Config

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from lapse.server import ASGIApp

__all__ = ["Framed", "Http2", "served_2"]

_BACKLOG: Final = 16
_HEADERS, _CONTINUATION, _DATA = 0x1, 0x9, 0x0
_PADDED, _PRIORITY = 0x8, 0x20
_FRAME_HEAD: Final = 9
_RESIZING: Final = 0x20
"""The first three bits of a change of the table's size (RFC 7541, section 6.3)."""
_PIECE: Final = 64 * 1024


@contextmanager
def served_2(app: ASGIApp) -> Generator[str]:
    """Run one Hypercorn on a free port of 127.0.0.1; gives the base URL."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(_BACKLOG)
    host, port = listener.getsockname()
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]  # Hypercorn closes it
    config.accesslog = config.errorlog = None
    stopping = Event()

    async def until_told() -> None:
        await asyncio.to_thread(stopping.wait)

    def run() -> None:
        serve = cast("Any", hypercorn_asyncio).serve  # its types leave the application open
        asyncio.run(serve(app, config, shutdown_trigger=until_told))

    thread = Thread(target=run, name=f"serving-2-{port}", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{port}"
    finally:
        stopping.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class Framed:
    """What one answer took.

    Attributes:
        block: bytes of its header block.
        ours: of those, the contract's fields.
        data: bytes of its body.
        frames: all bytes of its frames, heads included.
    """

    block: int
    ours: int
    data: int
    frames: int


class Http2(httpx2.BaseTransport):
    """One HTTP/2 connection, one request at a time.

    Attributes:
        answers: what the answer to each POST took, in order.
    """

    def __init__(self) -> None:
        self.answers: list[Framed] = []
        self._socket: socket.socket | None = None
        settings = h2.config.H2Configuration(client_side=True, header_encoding=None)
        self._h2 = h2.connection.H2Connection(config=settings)
        self._unread = bytearray()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and wait for the whole answer."""
        connection = self._h2
        if self._socket is None:
            self._socket = socket.create_connection((request.url.host, request.url.port or 80))
            connection.initiate_connection()
        stream = connection.get_next_available_stream_id()
        content = request.read()
        path = request.url.raw_path
        head: list[tuple[bytes, bytes]] = [
            (b":method", request.method.encode()),
            (b":scheme", b"http"),
            (b":authority", request.url.netloc),
            (b":path", path),
        ]
        dropped = (b"host", b"connection", b"transfer-encoding")
        head += [(n.lower(), v) for n, v in request.headers.raw if n.lower() not in dropped]
        connection.send_headers(stream, cast("Any", head), end_stream=not content)
        if content:
            connection.send_data(stream, content, end_stream=True)
        self._socket.sendall(connection.data_to_send())
        answer, framed = self._answer(self._socket, stream)
        if request.method == "POST":  # questions about changes are counted apart
            self.answers.append(framed)
        return answer

    def _answer(self, connected: socket.socket, stream: int) -> tuple[httpx2.Response, Framed]:
        headers: list[tuple[bytes, bytes]] = []
        body, block = bytearray(), bytearray()
        frames, ended = 0, False
        while not ended:
            data = connected.recv(_PIECE)
            if not data:
                msg = "the server closed the connection"
                raise httpx2.RemoteProtocolError(msg)
            for kind, flags, of, payload in self._frames(data):
                if of == stream:
                    frames += _FRAME_HEAD + len(payload)
                    if kind in (_HEADERS, _CONTINUATION):
                        block += _fragment(kind, flags, payload)
            for event in self._h2.receive_data(data):
                match event:
                    case h2.events.ResponseReceived():
                        headers = cast("list[tuple[bytes, bytes]]", event.headers)
                    case h2.events.DataReceived():
                        body += event.data or b""
                        self._h2.acknowledge_received_data(event.flow_controlled_length, stream)
                    case h2.events.StreamEnded():
                        ended = True
                    case _:
                        pass
            connected.sendall(self._h2.data_to_send())
        status = int(dict(headers)[b":status"])
        fields = [(name, value) for name, value in headers if not name.startswith(b":")]
        lengths = list(_lengths(bytes(block)))
        ours = sum(
            length
            for (name, _), length in zip(headers, lengths, strict=True)
            if name.startswith((b"contract-", b"lapse"))
        )
        framed = Framed(len(block), ours, len(body), frames)
        return httpx2.Response(status, headers=fields, content=bytes(body)), framed

    def _frames(self, data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
        """The whole frames so far: type, flags, stream and payload (RFC 9113, section 4.1)."""
        self._unread += data
        while len(self._unread) >= _FRAME_HEAD:
            length = int.from_bytes(self._unread[:3], "big")
            if len(self._unread) < _FRAME_HEAD + length:
                return
            kind, flags = self._unread[3], self._unread[4]
            of = int.from_bytes(self._unread[5:9], "big") & 0x7FFFFFFF
            payload = bytes(self._unread[_FRAME_HEAD : _FRAME_HEAD + length])
            del self._unread[: _FRAME_HEAD + length]
            yield kind, flags, of, payload

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()


def _fragment(kind: int, flags: int, payload: bytes) -> bytes:
    if kind == _CONTINUATION:
        return payload
    padding = payload[0] if flags & _PADDED else 0
    start = (1 if flags & _PADDED else 0) + (5 if flags & _PRIORITY else 0)
    return payload[start : len(payload) - padding]


def _lengths(block: bytes) -> Iterator[int]:
    """How long each field of a header block is; changes of the table's size count to the next."""
    at = begin = 0
    while at < len(block):
        first = block[at]
        if first & 0x80:  # indexed (6.1)
            _, at = _integer(block, at, 7)
        elif first & 0xE0 == _RESIZING:
            _, at = _integer(block, at, 5)
            continue
        else:  # a literal (6.2), indexed from now on or not
            name, at = _integer(block, at, 6 if first & 0x40 else 4)
            for _ in range(1 if name else 2):
                length, at = _integer(block, at, 7)
                at += length
        yield at - begin
        begin = at


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """An integer with a prefix of so many bits (RFC 7541, section 5.1), and where it ends."""
    full = (1 << bits) - 1
    value = block[at] & full
    at += 1
    if value < full:
        return value, at
    shift = 0
    while True:
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
