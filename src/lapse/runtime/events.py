"""What a memory did, as frozen events, and who may listen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lapse.ledger import Instant, Source

__all__ = ["Event", "Observer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One decision that was carried out, or one thing that was refused or failed.

    Attributes:
        what: ``stored``, ``confirmed``, ``superseded``, ``evicted``, ``restamped``, ``suspended``,
            ``rules_moved``, ``alert``, ``refused``, ``purged`` or ``failed``; of trust,
            ``untrusted``, ``withheld`` or ``quarantined``; of amended requests, ``applied``,
            ``declined``, ``disputed`` or ``reinstated``; of a workspace, ``recorded``,
            ``superseded``, ``revoked``, ``closed``, ``disputed``, ``suspended``, ``restored``,
            ``resolved``, ``purged``, ``departed``, ``scanned``, ``admitted``, ``blocked``,
            ``exposed`` or ``refused``.
        reason: the reason code.
        at: when, by the memory's clock.
        issuer: whose contract it was about; empty for a purge.
        record: the record concerned; None for events about a source or a suggestion.
        source: the source concerned; None for the others.
        count: how many records were concerned.
        where: the place in the message, for what was refused; empty otherwise.
    """

    what: str
    reason: str
    at: Instant
    issuer: str = ""
    record: str | None = None
    source: Source | None = None
    count: int = 1
    where: str = ""


class Observer(Protocol):
    """Listens to a memory.

    It is called after the change is durable, outside the memory's lock, on the thread that caused
    it. Whatever it raises is counted and goes no further.
    """

    def __call__(self, event: Event, /) -> None:
        """Take one event."""
        ...
