"""Amended HTTP requests: which may be touched, what they become, and the way back; no I/O.

Only a request whose JSON body is there to be read is touched, and only if it can be written again
without loss. A body that is still a stream, one in another format or coding, one that a header
vouches for, and a request that says so itself pass as they are. The caller's request is never
changed: the one that is sent is another, and says that it was amended, so that no transport below
amends it again.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from lapse.contract import AmendmentRules, amendment, fingerprint_of
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    import httpx2

    from lapse.contract import Amendment, Fix
    from lapse.ledger import JsonObject
    from lapse.transports.exchange import Asked
    from lapse.transports.request_schemas import RequestSchemas

__all__ = ["EXTENSION", "Amended", "Amending", "Ask", "Consume", "applied_to", "unamended"]

Consume = Literal["brief", "ask", "apply"]
"""What happens with a fix that holds: the model is told and the request is not touched; it is
merged if the user's callback agrees; it is merged."""

Ask: TypeAlias = "Callable[[Amendment], bool | Awaitable[bool]]"
"""Asked before an amended request leaves; only True is a yes. An `AsyncTransport` also awaits."""

EXTENSION: Final = "lapse"
"""The key in the extensions of requests and responses."""

_AS_IT_IS: Final = "as it is"
"""The extension's value on a request that is not to be amended (again)."""

_VOUCHED: Final = frozenset(
    {
        *("content-digest", "repr-digest", "digest", "content-md5", "signature-input"),
        *("signature", "x-amz-content-sha256", "x-hub-signature-256"),
    }
)
"""Headers that are made from the body's bytes: with another body they would be wrong."""

_OF_THE_BODY: Final = frozenset({b"content-length", b"transfer-encoding"})

_Key: TypeAlias = tuple[str, str]
"""Issuer and idempotency key."""

_KEPT: Final = 256
"""Idempotency keys that are remembered; the requests behind them are held in memory."""


@dataclass(frozen=True, slots=True)
class Amended:
    """What a transport did to a request: `response.extensions["lapse"]`.

    Attributes:
        original: the request as the caller made it.
        sent: the request that was sent instead.
        amendment: what was merged and what was declined, with the members before and after.
    """

    original: httpx2.Request
    sent: httpx2.Request
    amendment: Amendment


def unamended(response: httpx2.Response) -> httpx2.Request:
    """The caller's own request behind an amended exchange, to be sent as it is.

    ``client.send(unamended(response))`` undoes an amendment as far as a request can be undone: the
    service gets what the caller wrote.

    Raises:
        InvalidValue: the response's request was not amended.
    """
    amended = response.extensions.get(EXTENSION)
    if not isinstance(amended, Amended):
        raise InvalidValue("response", response, "pass the response to an amended request")
    return _copy(amended.original, cast("bytes", _content(amended.original)))


class Amending:
    """How one transport amends requests. Safe to use from several threads.

    Args:
        consume: ``brief``, ``ask`` or ``apply``.
        rules: what may be merged; sensible ones when None.
        schemas: what requests may hold.
        ask: asked in the mode ``ask``.

    Raises:
        InvalidValue: the mode is unknown, or lacks what it needs.
    """

    __slots__ = ("_lock", "_rules", "_schemas", "_sent", "ask", "consume")

    def __init__(
        self,
        consume: Consume,
        rules: AmendmentRules | None,
        schemas: RequestSchemas | None,
        ask: Ask | None,
    ) -> None:
        if consume not in ("brief", "ask", "apply"):
            raise InvalidValue("consume", consume, "pass 'brief', 'ask' or 'apply'")
        if consume != "brief" and schemas is None:
            raise InvalidValue("schemas", None, "pass RequestSchemas: without them nothing merges")
        if (consume == "ask") is (ask is None):
            raise InvalidValue("ask", ask, "pass a callback with consume='ask', and with no other")
        self.consume: Consume = consume
        self.ask = ask
        self._rules = AmendmentRules() if rules is None else rules
        self._schemas = schemas
        self._sent: OrderedDict[_Key | None, Amendment] = OrderedDict()
        self._lock = Lock()

    def readable(self, asked: Asked) -> JsonObject | None:
        """The members of a request that may be amended; None for one that passes as it is."""
        request = asked.request
        if self.consume == "brief" or request.extensions.get(EXTENSION) == _AS_IT_IS:
            return None
        headers = request.headers
        if any(name in headers for name in _VOUCHED) or "content-encoding" in headers:
            return None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        content = _content(request)
        if kind != "application/json" or not content:
            return None
        return _read(content)

    def decided(self, asked: Asked, members: JsonObject, fixes: Sequence[Fix]) -> Amendment:
        """What may be merged into a request with these members."""
        request = asked.request
        path = request.url.raw_path.partition(b"?")[0].decode("ascii", "replace")
        schemas = self._schemas
        return amendment(
            members,
            fixes,
            issuer=asked.issuer,
            operation=asked.operation,
            rules=self._rules,
            check=None if schemas is None else schemas.check(asked.operation, request.method, path),
        )

    # -- retries -----------------------------------------------------------------------------

    def sent_before(self, asked: Asked, members: JsonObject) -> Amendment | None:
        """How the same request went out under the same idempotency key; None when it did not.

        A service may refuse one key with two bodies, so a retry is sent as the first try was.
        """
        with self._lock:
            made = self._sent.get(_key(asked))
        same = made is not None and fingerprint_of(made.before) == fingerprint_of(members)
        return made if same else None

    def remember(self, asked: Asked, made: Amendment) -> None:
        """Keep how a request with an idempotency key goes out."""
        key = _key(asked)
        if key is None:
            return
        with self._lock:
            self._sent[key] = made
            while len(self._sent) > _KEPT:
                self._sent.popitem(last=False)

    def forget(self, asked: Asked) -> None:
        """The service refused what went out under this key: the next try may go out otherwise."""
        with self._lock:
            self._sent.pop(_key(asked), None)


def applied_to(asked: Asked, made: Amendment) -> Amended | None:
    """The request that an amendment leads to; None when it cannot be put into bytes."""
    try:
        text = json.dumps(
            dict(made.after), ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )
        body = text.encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return Amended(asked.request, _copy(asked.request, body), made)


def _key(asked: Asked) -> _Key | None:
    key = asked.request.headers.get("idempotency-key")
    return None if key is None else (asked.issuer, key)


def _content(request: httpx2.Request) -> bytes | None:
    """A body that was given as bytes; None for a stream: that is for the wrapped transport."""
    return cast("bytes | None", getattr(request, "_content", None))


def _copy(request: httpx2.Request, body: bytes) -> httpx2.Request:
    """The same request with this body, marked as one that is not to be amended."""
    headers = [(n, v) for n, v in request.headers.raw if n.lower() not in _OF_THE_BODY]
    extensions = {**request.extensions, EXTENSION: _AS_IT_IS}
    # The caller's own kind of request: a transport of httpx takes no request of httpx2.
    return type(request)(
        request.method, request.url, headers=headers, content=body, extensions=extensions
    )


def _read(content: bytes) -> JsonObject | None:
    """A JSON object, unless writing it again would say something else."""
    try:
        value: object = json.loads(
            content.decode(),
            parse_float=_exact,
            parse_constant=_refused,
            object_pairs_hook=_unique,
        )
    except (ValueError, ArithmeticError, RecursionError):
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _exact(text: str) -> float:
    value = float(text)
    if Decimal(repr(value)) != Decimal(text):
        raise ValueError(text)
    return value


def _refused(text: str) -> float:
    raise ValueError(text)


def _unique(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name stands there twice")
    return members
