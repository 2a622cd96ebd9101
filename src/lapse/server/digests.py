"""Answers clients that say which map of versions they hold, in place of the map.

What is said in one response is said of one state: the first to speak, header lines or body, settles
which. A response that has to speak of another state has the whole map. A client that says nothing
gets what it always got.

A service remembers which tables moved between its last states, not the states. After a restart it
knows none of them, and says the map.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from lapse.contract import Delta, Held, echo_of
from lapse.wire import DEFAULT_LIMITS, FIELD_BYTES, LOCATION
from lapse.wire.digests import (
    DIGEST,
    MOVED,
    Have,
    Said,
    read_have,
    said_fields,
    said_members,
)
from lapse.wire.parsing import flaw, parse
from lapse.wire.references import compact_members

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.contract import Envelope, Registry, Suggestion
    from lapse.ledger import JsonObject
    from lapse.server.exchange import Message, Receive, Scope
    from lapse.server.signing import Publication

    Lines = tuple[tuple[bytes, bytes], ...]

__all__ = [
    "ASKING",
    "TOLD",
    "Asking",
    "Digest",
    "asking",
    "digest_members",
    "held_by_client",
    "request_of_client",
]

USUAL_LOCATION: Final = "/contract"
"""Where a client looks for the endpoints when nobody names a place."""
_STATES: Final = 128
"""States whose clients are told what moved; who holds an older one gets the map."""
_ANSWERS: Final = 1_024
"""Answers kept ready for one state."""
_FIELD: Final = DIGEST.lower().encode()
_VARY: Final = (b"vary", DIGEST.encode())
_HEARD_BYTES: Final = 64 * 1024
"""Of a request, that are kept until it is answered, for its fixes to refer to. To a longer one they
refer by tables alone."""
_CACHED: Final = frozenset({"GET", "HEAD"})
"""Methods whose answers caches keep by themselves (RFC 9111, section 3)."""


class Digest:
    """What a state of the tables is called, and how one gets to it. Safe from any thread.

    Args:
        table_versions: the versions, under the names on the wire.
        rules_version: the fingerprint of the rules, as it is sent.
        location: where the contract endpoints are.
        before: the digest of the state before; None: there is none that clients may hold.
    """

    __slots__ = ("_answers", "_log", "_place", "held")

    def __init__(
        self,
        table_versions: Mapping[str, str],
        rules_version: str | None,
        *,
        location: str,
        before: Digest | None,
    ) -> None:
        self.held = Held(table_versions, rules_version)
        self._place: Lines = ()
        if location != USUAL_LOCATION:
            self._place = ((LOCATION.lower().encode(), f'"{location}"'.encode()),)
        self._answers: dict[str, Said | None] = {}
        self._log: tuple[tuple[str, str | None, frozenset[str]], ...] = ()
        if before is not None:
            old, was = before.held, before.held.table_versions
            names = was.keys() | table_versions.keys()
            moved = frozenset(t for t in names if was.get(t) != table_versions.get(t))
            self._log = (*before._log[1 - _STATES :], (old.tag, old.rules_version, moved))  # noqa: SLF001

    def said(self, have: Have) -> Said | None:
        """What answers a client that holds this map; None: the whole map does."""
        if have.tag == self.held.tag:
            return Said(echo_of(have.tag))
        if have.tag not in self._answers:
            if len(self._answers) >= _ANSWERS:
                self._answers.clear()
            self._answers[have.tag] = self._since(have.tag)
        return self._answers[have.tag]

    def _since(self, tag: str) -> Said | None:
        touched: set[str] = set()
        for known, rules, moved in reversed(self._log):
            touched |= moved
            if known == tag:
                return self._moved(tag, rules, touched)
        return None

    def _moved(self, tag: str, rules: str | None, touched: set[str]) -> Said | None:
        now = self.held
        if rules != now.rules_version and now.rules_version is None:
            return None
        delta = Delta.of(
            touched,
            now.table_versions,
            rules_version=None if rules == now.rules_version else now.rules_version,
        )
        said = Said(echo_of(tag), now.tag, delta)
        moved = next((value for name, value in said_fields(said) if name == MOVED), "")
        # Most of the map, said table by table, is no shorter than the map.
        few = len(touched) * 2 <= len(now.table_versions) + 2
        return said if len(moved) <= FIELD_BYTES and few else None

    def lines(self, said: Said, have: Have, signed: Publication | None) -> Lines:
        """The header lines that go with an answer: the statement, too, unless it is held."""
        lines = tuple((n.lower().encode(), v.encode()) for n, v in said_fields(said))
        stamp: Lines = ()
        if signed is not None and (said.delta is not None or have.by != signed.line_print):
            stamp = signed.stamp_lines
        return (*lines, *self._place, *stamp)


class State(Protocol):
    """One state of a service's tables, with what is sent of it."""

    @property
    def registry(self) -> Registry:
        """The tables."""
        ...

    @property
    def lines(self) -> Lines:
        """The header lines of a response that says the whole map, unsigned."""
        ...

    @property
    def digest(self) -> Digest | None:
        """What it is called; None when the service says no versions."""
        ...

    @property
    def signed(self) -> Publication | None:
        """What is signed of it; None when the service does not sign."""
        ...


class Publisher(Protocol):
    """A service's contract, as far as digests look at it; safe to ask from any thread."""

    @property
    def published(self) -> State:
        """The state now."""
        ...


class Asking:
    """One request of a client that says what it holds. It belongs to its request alone.

    Args:
        contract: the service's.
        have: what the client says.
        request: what it asks for; None: that is not known, or has yet to be heard.
    """

    __slots__ = ("_contract", "_heard", "_request", "_said", "_settled", "have")

    def __init__(
        self, contract: Publisher, have: Have, *, request: JsonObject | None = None
    ) -> None:
        self.have = have
        self._request = request
        self._heard: list[bytes] | None = None
        self._contract = contract
        self._settled: State | None = None
        self._said: Said | None = None

    def of(self, contract: Publisher) -> bool:
        """Whether the request came through this contract's seat."""
        return self._contract is contract

    def hearing(self, receive: Receive, scope: Scope) -> Receive:
        """The same, and what passes is kept, up to a limit: fixes refer to what was asked for."""
        if not _says_json(scope):
            return receive
        parts: list[bytes] | None = []
        size = 0

        async def heard() -> Message:
            nonlocal parts, size
            message = await receive()
            if parts is not None and message["type"] == "http.request":
                part: bytes = message.get("body", b"")
                parts.append(part)
                size += len(part)
                if size > _HEARD_BYTES:
                    parts = None
                elif not message.get("more_body", False):
                    self._heard, parts = parts, None
            return message

        return heard

    @property
    def request(self) -> JsonObject | None:
        """The members of the request as its client knows them; None when they are not known."""
        if self._heard is not None:
            value, self._heard = parse(b"".join(self._heard), DEFAULT_LIMITS), None
            if isinstance(value, dict) and flaw(cast("object", value), DEFAULT_LIMITS) is None:
                self._request = cast("JsonObject", value)
        return self._request

    def answer(self) -> tuple[State, Said | None]:
        """The state that the response speaks of, and what it says; None: the whole map."""
        published = self._settled
        if published is None:
            published = self._settled = self._contract.published
            self._said = None if published.digest is None else published.digest.said(self.have)
        return published, self._said

    def held(self, registry: Registry) -> Held | None:
        """The map that a body about these tables may refer to; None: it has to say it in full."""
        published, said = self.answer()
        if said is None or published.digest is None:
            return None
        if published.registry is not registry:
            self._said = None  # the body speaks of an earlier state, so nothing is said of another
            return None
        return published.digest.held

    @property
    def lines(self) -> Lines:
        """The header lines of the response."""
        published, said = self.answer()
        if said is None or published.digest is None:
            return published.lines if published.signed is None else published.signed.lines
        return published.digest.lines(said, self.have, published.signed)

    @property
    def members(self) -> dict[str, Any] | None:
        """What stands in `_meta`, for carriers without header lines; None: the whole map does."""
        published, said = self.answer()
        if said is None or published.digest is None:
            return None
        members, signed = said_members(said), published.signed
        if signed is None or (said.delta is None and self.have.by == signed.member_print):
            return members
        return {**members, "stamp": signed.member}

    def stamped(self, message: Message, scope: Scope) -> Message:
        """The start of a response with these lines."""
        headers = [*message.get("headers", ()), *self.lines]
        if scope["method"] in _CACHED and self._said is not None and not _unstored(headers):
            headers.append(_VARY)
        return {**message, "headers": headers}


ASKING: ContextVar[Asking | None] = ContextVar("ASKING", default=None)
"""The request that is being answered, if its client says what it holds."""

TOLD: ContextVar[list[Suggestion] | None] = ContextVar("TOLD", default=None)
"""The fixes that a body says in short, for whoever counts what clients do with them."""


def asking(contract: Publisher, scope: Scope) -> Asking | None:
    """What a request says that its client holds; None when it says nothing that can be read."""
    for name, value in scope["headers"]:
        if name == _FIELD:
            have = read_have(value)
            return None if have is None else Asking(contract, have)
    return None


def held_by_client(contract: Publisher, registry: Registry) -> Held | None:
    """The map that the client whose request is being answered can be referred to."""
    asked = ASKING.get()
    return asked.held(registry) if asked is not None and asked.of(contract) else None


def request_of_client() -> JsonObject | None:
    """What the client whose request is being answered asks for, as it knows it itself."""
    asked = ASKING.get()
    return None if asked is None else asked.request


def digest_members(
    envelope: Envelope, held: Held, request: JsonObject | None = None
) -> dict[str, Any]:
    """The contract members of a body beside a digest: the fixes, which refer to what is known.

    Args:
        envelope: what there is to say.
        held: the map that the client holds, or is led to.
        request: what it sent; None: that is not known.
    """
    if not envelope.suggestions:
        return {}
    told = TOLD.get()
    if told is not None:
        told += envelope.suggestions
    suggestions = [compact_members(s, held, request) for s in envelope.suggestions]
    return {"recovery_feedback": {"suggestions": suggestions}}


def _says_json(scope: Scope) -> bool:
    """Whether a client of ours reads its own request's members in the body (not in a form)."""
    found = [value for name, value in scope["headers"] if name == b"content-type"]
    kind = found[0].partition(b";")[0].strip().lower() if len(found) == 1 else b""
    return kind in {b"application/json", b"text/json"} or kind.endswith(b"+json")


def _unstored(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(n.lower() == b"cache-control" and b"no-store" in v for n, v in headers)
