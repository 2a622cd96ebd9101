"""The client's half of the digest envelope over HTTP: what a request says, and what comes of it.

What a request said is kept with the request itself, so that its answer is read beside that and
nothing newer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse.runtime import Sent
from lapse.wire.digests import DIGEST, have_field, read_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

    from lapse.contract import Envelope
    from lapse.ledger import JsonObject
    from lapse.runtime import Memory
    from lapse.runtime.digests import Heard
    from lapse.runtime.signatures import Stamp

__all__ = ["READ", "UNREAD", "announce", "heard_of", "sent_of", "succeeded"]

_SENT: Final = "lapse.sent"
READ: Final = "lapse.read"
"""Where a request keeps what it said, and what its answer was read as."""

UNREAD: Final = "other_request"
"""Why a fix is not taken in: what it rests on refers to another request, or to other tables."""

_REFUSED: Final = frozenset({400, 422})
_ACCEPTED: Final = range(200, 300)


def announce(memory: Memory, request: httpx2.Request, issuer: str | None) -> None:
    """Let a request say which map of its service is held here; nothing if there is none."""
    url = request.url
    whose = f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}" if issuer is None else issuer
    # A request that was redirected, or is sent once more, still has what it said before.
    request.extensions.pop(_SENT, None)
    request.headers.pop(DIGEST, None)
    sent = sent_of(memory, whose) if _is_known(request) else None
    if sent is not None:
        request.headers[DIGEST] = have_field(sent.have)
        request.extensions[_SENT] = sent


def _is_known(request: httpx2.Request) -> bool:
    """Whether fixes can refer to a request: not where its body is JSON, and still a stream."""
    known = getattr(request, "_content", None) is not None
    return known or "json" not in request.headers.get("content-type", "").lower()


def sent_of(memory: Memory, issuer: str) -> Sent | None:
    """What a request to an issuer says; None when nothing is known of its versions."""
    kept = memory.digests.kept(issuer)
    if kept is None:
        return None
    signatures = memory.guard.trust.signatures
    vouched = signatures is None or (
        kept.stamp is not None
        and signatures.is_last(issuer, kept.envelope, kept.stamp, now=memory.now)
    )
    return Sent.of(kept, vouched=vouched)


def heard_of(
    memory: Memory,
    issuer: str,
    request: httpx2.Request,
    members: JsonObject | None,
    headers: Sequence[tuple[bytes, bytes]],
    envelope: Envelope,
    stamp: Stamp,
) -> Heard:
    """A response as it would be with the whole map.

    Args:
        memory: what is remembered.
        issuer: who answered.
        request: what was asked.
        members: what it says, as it was sent; None: that is not known.
        headers: the response's header lines.
        envelope: its contract members.
        stamp: its signed statement.
    """
    sent = request.extensions.get(_SENT)
    known = sent if isinstance(sent, Sent) else None
    heard = memory.digests.heard(issuer, known, envelope, read_digest(headers), stamp, members)
    if heard.refused is not None:
        memory.refused(issuer, heard.refused, DIGEST)
    elif heard.short:
        memory.count("digests")
    if heard.unread:
        memory.refused(issuer, UNREAD, "recovery_feedback.suggestions")
    return heard


def succeeded(status: int) -> bool | None:
    """What a status says of the request; None when it says nothing of it."""
    return status in _ACCEPTED if status in _REFUSED or status in _ACCEPTED else None
