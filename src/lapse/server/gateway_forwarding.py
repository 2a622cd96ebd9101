"""Carries one request to the upstream, as a gateway must (RFC 9110, section 7.6).

Bodies stream both ways and are never held whole; of a request that may be refused for its content,
and of a refusal, a bounded copy is kept. Redirects, cookies and content codings are the client's
business: nothing follows, stores or decodes them here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from lapse.errors import InvalidValue, MissingExtra

try:
    import httpx2
except ImportError:  # pragma: no cover - the extra is there in the tests
    feature = "the gateway"
    raise MissingExtra(feature, "gateway") from None

from lapse.server.exchange import Disconnected

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from lapse.server.exchange import Receive, Scope

__all__ = ["Copy", "Forwarding", "Upstream", "passed_on"]

Lines = list[tuple[bytes, bytes]]

_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OURS: Final = frozenset({b"host", b"expect", b"x-forwarded-host", b"x-forwarded-proto"})
"""Said anew; `Expect` was answered when the body was asked for."""
_VIA: Final = b"1.1 lapse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forwarding:
    """How requests are carried.

    Attributes:
        connect_s: seconds to reach the upstream.
        read_s: seconds that it may be silent, before an answer and between its parts.
        write_s: seconds that it may take nothing.
        pool_s: seconds to wait for a free connection.
        connections: how many there are at most.
        request_bytes: the longest request whose content is compared with the rows.
        refusal_bytes: the longest refusal that suggestions are added to.
        preserve_host: whether the upstream sees the client's Host instead of its own.
    """

    connect_s: float = 5.0
    read_s: float = 60.0
    write_s: float = 60.0
    pool_s: float = 5.0
    connections: int = 100
    request_bytes: int = 256 * 1024
    refusal_bytes: int = 1024 * 1024
    preserve_host: bool = False

    def __post_init__(self) -> None:
        """Refuse a bound that would let nothing through."""
        for name in ("connect_s", "read_s", "write_s", "pool_s", "connections"):
            if getattr(self, name) <= 0:
                raise InvalidValue(name, getattr(self, name), "pass more than 0")
        for name in ("request_bytes", "refusal_bytes"):
            if getattr(self, name) < 0:
                raise InvalidValue(name, getattr(self, name), "pass 0 or more")


class Copy:
    """A request's body as it passes, kept up to a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: bytearray | None = bytearray()
        self._ended = True

    @property
    def body(self) -> bytes | None:
        """What has passed; None unless all of it has, and was kept."""
        return bytes(self._kept) if self._ended and self._kept is not None else None

    async def passing(self, receive: Receive) -> AsyncIterator[bytes]:
        """The body's parts as they come.

        Raises:
            Disconnected: the client went away before the end.
        """
        self._ended = False
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise Disconnected
            part: bytes = message.get("body", b"")
            if self._kept is not None:
                self._kept += part
                if len(self._kept) > self._limit:
                    self._kept = None
            if part:
                yield part
            if not message.get("more_body", False):
                self._ended = True
                return


class Upstream:
    """The service behind the gateway.

    Args:
        url: its origin, with a path that goes before every request's own, if need be.
        forwarding: how requests are carried.

    Raises:
        InvalidValue: the URL is none of http or https, or has a query.
    """

    def __init__(self, url: str, forwarding: Forwarding) -> None:
        parts = httpx2.URL(url)
        if parts.scheme not in ("http", "https") or not parts.host or parts.query or parts.userinfo:
            remedy = "pass http://HOST[:PORT][/PATH] or https://…, without a user or a query"
            raise InvalidValue("upstream", url, remedy)
        self._forwarding = forwarding
        self._url = parts
        self._before = parts.raw_path.rstrip(b"/")
        self._timeouts = httpx2.Timeout(
            connect=forwarding.connect_s,
            read=forwarding.read_s,
            write=forwarding.write_s,
            pool=forwarding.pool_s,
        ).as_dict()
        # A transport and no client: a client would keep cookies, follow redirects and name itself.
        self._transport = httpx2.AsyncHTTPTransport(
            trust_env=False,
            limits=httpx2.Limits(
                max_connections=forwarding.connections,
                max_keepalive_connections=forwarding.connections,
            ),
        )

    def leaves(self, raw_path: bytes) -> bool:
        """Whether a path leads out of the path that goes before every request's own."""
        steps = unquote(raw_path.decode("latin-1")).split("/") if self._before else []
        return ".." in steps

    async def send(self, scope: Scope, receive: Receive, copy: Copy) -> httpx2.Response:
        """Send a request on; its answer's body is still to be read, and the answer to be closed.

        Raises:
            Disconnected: the client went away while its request was read.
            httpx2.TransportError: the upstream could not be reached, or did not answer.
        """
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        query: bytes = scope.get("query_string", b"")
        target = self._before + raw_path + (b"?" + query if query else b"")
        request = httpx2.Request(
            scope["method"],
            self._url,
            headers=self._lines(scope),
            content=copy.passing(receive) if _has_body(scope["headers"]) else None,
            # The target as the client wrote it: another spelling of a path may be another path.
            extensions={"timeout": self._timeouts, "target": target},
        )
        return await self._transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def _lines(self, scope: Scope) -> Lines:
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        own = self._url.netloc
        lines: Lines = [(b"host", host if self._forwarding.preserve_host and host else own)]
        through: list[bytes] = []
        via: list[bytes] = []
        for name, value in passed_on(scope["headers"]):
            if name == b"x-forwarded-for":
                through.append(value)
            elif name == b"via":
                via.append(value)
            elif name not in _OURS:
                lines.append((name, value))
        client = scope.get("client")
        if client is not None:
            through.append(str(client[0]).encode())
        lines.append((b"via", b", ".join([*via, _VIA])))
        if through:
            lines.append((b"x-forwarded-for", b", ".join(through)))
        if host:
            lines.append((b"x-forwarded-host", host))
        lines.append((b"x-forwarded-proto", scope.get("scheme", "http").encode()))
        return lines


def passed_on(lines: Iterable[tuple[bytes, bytes]]) -> Lines:
    """Header lines without those that are for one connection only, names in lower case."""
    lower = [(name.lower(), value) for name, value in lines]
    named = {
        name.strip().lower()
        for key, value in lower
        if key == b"connection"
        for name in value.split(b",")
    }
    # A client may not have the sender's own lines taken away by listing them as its connection's.
    named -= {b"host", b"content-length", b"content-type", b"authorization", b"x-forwarded-for"}
    return [(n, value) for n, value in lower if n not in _HOP_BY_HOP and n not in named]


def _has_body(lines: Any) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")
        for name, value in lines
    )
