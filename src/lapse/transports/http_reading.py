"""What a response said, for callers who read by hand: beside a digest its body has no map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.contract import Envelope
from lapse.transports.digests import READ
from lapse.transports.http_amending import EXTENSION, Amended
from lapse.wire import read_response

if TYPE_CHECKING:
    import httpx2

__all__ = ["envelope_of"]


def envelope_of(response: httpx2.Response) -> Envelope:
    """The contract members of a response, digest or not, as a transport of ours took them in.

    Args:
        response: one that was read to its end.
    """
    amended = response.extensions.get(EXTENSION)
    sent = amended.sent if isinstance(amended, Amended) else response.request
    read = sent.extensions.get(READ)
    if isinstance(read, Envelope):
        return read
    return read_response(response.headers, response.content).envelope
