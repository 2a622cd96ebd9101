"""Time, names and an anchor under a test's control."""

from __future__ import annotations

import threading
from dataclasses import replace

from lapse.errors import InvalidValue, LedgerNotTrusted
from lapse.ledger import AnchoredHead, Break, BreakKind, Head, Instant

__all__ = ["InMemoryAnchor", "ManualClock", "SequenceIds"]


class ManualClock:
    """Implements `lapse.ledger.Clock`; time stands still until it is moved.

    Args:
        at: where it starts, in microseconds since 1970-01-01T00:00:00Z.
    """

    __slots__ = ("_at",)

    def __init__(self, at: Instant = 0) -> None:
        self._at = at

    def now(self) -> Instant:
        """Where it was moved to last."""
        return self._at

    def advance(self, *, seconds: int = 0, microseconds: int = 0) -> Instant:
        """Move it forward, and give the instant it shows then.

        Raises:
            InvalidValue: it would go back; `jump` does that.
        """
        step = seconds * 1_000_000 + microseconds
        if step < 0:
            raise InvalidValue(
                "seconds", seconds, "pass a step forward, or set the clock with jump()"
            )
        self._at += step
        return self._at

    def jump(self, at: Instant) -> None:
        """Set it to any instant, an earlier one too: wall clocks do that."""
        self._at = at


class SequenceIds:
    """Implements `lapse.ledger.Ids`: prefix and a count, the same in every run.

    Args:
        prefix: sets the ids of one maker apart from another's.
    """

    __slots__ = ("_count", "_prefix")

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self._count = 0

    def new(self) -> str:
        """The next id: ``id-1``, then ``id-2``, and so on."""
        self._count += 1
        return f"{self._prefix}-{self._count}"


class InMemoryAnchor:
    """Implements `lapse.ledger.Anchor` in this process's memory; safe to call from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: AnchoredHead | None = None

    def read(self) -> AnchoredHead | None:
        """What was anchored last, and what was announced since; None when nothing ever was."""
        return self._kept

    def announce(self, ledger: str, head: Head, *, at: Instant) -> None:
        """Remember that a writer is about to lead the chain to this head."""
        with self._lock:
            kept = self._kept
            if kept is None:
                raise LedgerNotTrusted(Break(BreakKind.ANCHOR_MISSING, 0, "nothing is anchored"))
            if _is_later(kept, ledger, head) and head not in kept.announced:
                self._kept = replace(kept, at=at, announced=(*kept.announced, head))

    def advance(self, ledger: str, head: Head, *, at: Instant) -> None:
        """Remember a later head; an earlier one is ignored."""
        with self._lock:
            kept = self._kept
            if kept is None or _is_later(kept, ledger, head):
                known = () if kept is None else kept.announced
                later = tuple(announced for announced in known if announced.seq > head.seq)
                self._kept = AnchoredHead(ledger=ledger, head=head, at=at, announced=later)


def _is_later(kept: AnchoredHead, ledger: str, head: Head) -> bool:
    if kept.ledger != ledger:
        raise LedgerNotTrusted(Break(BreakKind.ANCHOR_FORGED, 0, f"it belongs to {kept.ledger}"))
    if kept.head.seq == head.seq and kept.head != head:
        raise LedgerNotTrusted(Break(BreakKind.FORKED, head.seq, "another change is anchored"))
    return head.seq > kept.head.seq
