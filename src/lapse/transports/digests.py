"""The client's half of the digest envelope over HTTP: what a request says, and what comes of it.

What a request said is kept with the request itself, so that its answer is read beside that and
nothing newer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lapse.contract import Envelope
from lapse.runtime import Sent
from lapse.wire.digests import DIGEST, have_field, read_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

    from lapse.runtime import Memory
    from lapse.runtime.signatures import Stamp

__all__ = ["READ", "announce", "expanded", "sent_of"]

_SENT: Final = "lapse.sent"
READ: Final = "lapse.read"
"""Where a request keeps what it said, and what its answer was read as."""

_REFUSED: Final = frozenset({400, 422})
_ACCEPTED: Final = range(200, 300)


def announce(memory: Memory, request: httpx2.Request, issuer: str | None) -> None:
    """Let a request say which map of its service is held here; nothing if there is none."""
    url = request.url
    whose = f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}" if issuer is None else issuer
    # A request that was redirected, or is sent once more, still has what it said before.
    request.extensions.pop(_SENT, None)
    request.headers.pop(DIGEST, None)
    sent = sent_of(memory, whose)
    if sent is not None:
        request.headers[DIGEST] = have_field(sent.have)
        request.extensions[_SENT] = sent


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


def expanded(
    memory: Memory,
    issuer: str,
    request: httpx2.Request,
    headers: Sequence[tuple[bytes, bytes]],
    envelope: Envelope,
    stamp: Stamp,
    *,
    status: int,
) -> tuple[Envelope, Stamp]:
    """A response as it would be with the whole map.

    Args:
        memory: what is remembered.
        issuer: who answered.
        request: what was asked.
        headers: the response's header lines.
        envelope: its contract members.
        stamp: its signed statement.
        status: its status; 0 when that is not known.
    """
    sent = request.extensions.get(_SENT)
    known = sent if isinstance(sent, Sent) else None
    heard = memory.digests.heard(issuer, known, envelope, read_digest(headers), stamp)
    said = heard.envelope
    if heard.refused is not None:
        memory.refused(issuer, heard.refused, DIGEST)
    elif heard.short:
        memory.count("digests")
        if said.success is None:
            said = replace(said, success=_succeeded(status))
    request.extensions[READ] = said
    return said, heard.stamp


def _succeeded(status: int) -> bool | None:
    """What a status says of the request; None when it says nothing of it."""
    return status in _ACCEPTED if status in _REFUSED or status in _ACCEPTED else None
