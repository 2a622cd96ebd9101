"""Whether a stored ledger is the one that was left.

A chain of digests shows that entries were altered, removed or reordered. It cannot show that its end
was cut off, or that the whole store was put back to an earlier day: for that the head has to be
known outside the store. An `AnchoredHead` is that knowledge; `examine` compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lapse.ledger.changes import ChangeKind, Head, genesis
from lapse.ledger.encoding import encode
from lapse.ledger.state import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.ledger.changes import Change
    from lapse.ledger.records import Instant
    from lapse.ledger.state import State

__all__ = ["AnchoredHead", "Break", "BreakKind", "Intact", "examine"]


class BreakKind(StrEnum):
    """What is wrong with a stored ledger, each its own reason."""

    TAMPERED = "tampered"
    """An entry, or the content of one, is not what was digested."""
    REMOVED = "removed"
    """An entry that others link to is not there."""
    REORDERED = "reordered"
    """The entries are all there, in another order than their links say."""
    TRUNCATED = "truncated"
    """The chain ends before the state that was kept beside it."""
    ROLLED_BACK = "rolled_back"
    """The store agrees with itself, and the anchor knows a later head."""
    FORKED = "forked"
    """The chain is sound and is not the one that was anchored: history was rewritten."""
    STATE_ALTERED = "state_altered"
    """The chain is sound, and the current state beside it is not what it adds up to."""
    ANCHOR_FORGED = "anchor_forged"
    """The anchor's own signature does not verify, or it belongs to another ledger."""


@dataclass(frozen=True, slots=True)
class Break:
    """Where a stored ledger stops being trustworthy.

    Attributes:
        kind: the reason.
        seq: the place of the first entry concerned.
        detail: what was expected and what was found; no content.
    """

    kind: BreakKind
    seq: int
    detail: str

    def __str__(self) -> str:
        return f"{self.kind.value} at change {self.seq}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Intact:
    """A ledger that is what it says.

    Attributes:
        head: the end of the chain.
        unanchored: how many changes came after the anchored head; they are linked, and nothing
            outside the store vouches for them yet.
    """

    head: Head
    unanchored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchoredHead:
    """The head of a chain as it is known outside the store.

    Attributes:
        ledger: the ledger's id.
        head: the head at that time.
        at: when it was anchored.
        key: the id of the signing key; empty when unsigned.
        signature: over `signed_bytes`, in hex; empty when unsigned.
    """

    ledger: str
    head: Head
    at: Instant
    key: str = ""
    signature: str = ""

    def signed_bytes(self) -> bytes:
        """What a signature covers: everything but the signature."""
        return encode(["lapse anchor", 1, self.ledger, self.head.seq, self.head.digest, self.at, self.key])


def examine(
    ledger: str,
    changes: Sequence[Change],
    *,
    kept: State | None = None,
    anchored: AnchoredHead | None = None,
) -> Intact | Break:
    """Compare a stored ledger with its own links, its kept state and its anchor.

    Args:
        ledger: the ledger's id.
        changes: every stored change, in the order of their numbers.
        kept: the current state as the store keeps it beside the changes; None to leave it out.
        anchored: what is known outside the store, its signature checked already; None to leave it out.
    """
    start = genesis(ledger)
    broken = _broken_link(start, changes)
    if broken is not None:
        return broken
    head = changes[-1].head if changes else start
    if kept is not None and kept.head.seq > head.seq:
        return Break(
            BreakKind.TRUNCATED, head.seq + 1, f"the kept state is at {kept.head.seq}, the chain ends at {head.seq}"
        )
    if anchored is not None and (broken := _off_anchor(ledger, start, changes, anchored)) is not None:
        return broken
    if kept is not None and kept != fold(start, changes):
        return Break(BreakKind.STATE_ALTERED, head.seq, "the kept state is not what the changes add up to")
    return Intact(head, head.seq - (0 if anchored is None else anchored.head.seq))


def _broken_link(start: Head, changes: Sequence[Change]) -> Break | None:
    previous = start
    linked_to = {change.previous for change in changes}
    for change in changes:
        if not change.intact:
            return Break(BreakKind.TAMPERED, change.seq, "its content is not what was digested")
        if change.previous != previous.digest:
            seq = previous.seq + 1
            if previous.digest in linked_to:
                return Break(BreakKind.REORDERED, seq, "the entry that links to the one before stands elsewhere")
            return Break(BreakKind.REMOVED, seq, "no entry links to the one before")
        if change.seq != previous.seq + 1:
            return Break(BreakKind.TAMPERED, change.seq, f"it is numbered {change.seq} in place {previous.seq + 1}")
        previous = change.head
    return _unexplained_erasure(changes)


def _unexplained_erasure(changes: Sequence[Change]) -> Break | None:
    purged = {part.record for change in changes if change.kind is ChangeKind.PURGED for part in change.parts}
    for change in changes:
        for part in change.parts:
            if part.body is None and part.record not in purged:
                return Break(BreakKind.TAMPERED, change.seq, f"content about {part.record} is gone without a purge")
    return None


def _off_anchor(ledger: str, start: Head, changes: Sequence[Change], anchored: AnchoredHead) -> Break | None:
    seq = anchored.head.seq
    if anchored.ledger != ledger:
        return Break(BreakKind.ANCHOR_FORGED, 0, f"the anchor belongs to ledger {anchored.ledger}, this is {ledger}")
    if seq > len(changes):
        return Break(
            BreakKind.ROLLED_BACK, len(changes) + 1, f"the anchor knows change {seq}, the chain ends at {len(changes)}"
        )
    here = changes[seq - 1].head if seq else start
    if here.digest != anchored.head.digest:
        return Break(BreakKind.FORKED, seq, "the anchor knows another change in this place")
    return None
