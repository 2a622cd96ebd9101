"""Whether a stored ledger is the one that was left.

A chain of digests shows that entries were altered, removed or reordered. It cannot show that its
end was cut off, or that the whole store was put back to an earlier day: for that the head has to be
known outside the store. An `AnchoredHead` is that knowledge; `examine` compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lapse.errors import IllegalChange, InvalidValue
from lapse.ledger.changes import ChangeKind, Head, genesis
from lapse.ledger.encoding import encode
from lapse.ledger.state import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.ledger.changes import Change
    from lapse.ledger.records import Instant

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
    UNANNOUNCED = "unannounced"
    """Entries follow the anchored head that no writer with this anchor announced."""
    ANCHOR_FORGED = "anchor_forged"
    """The anchor's own signature does not verify, or it belongs to another ledger."""
    ANCHOR_MISSING = "anchor_missing"
    """The ledger has entries and its anchor is gone, or never was."""


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
        unanchored: how many changes came after the anchored head; they are linked, and at most
            an announcement vouches for them yet.
    """

    head: Head
    unanchored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchoredHead:
    """The head of a chain as it is known outside the store.

    Attributes:
        ledger: the ledger's id.
        head: the head at that time.
        at: when that was written.
        announced: where writers were about to lead the chain from there; a head that is neither
            this one nor announced was written by somebody who does not keep the anchor.
        key: the id of the signing key; empty when unsigned.
        signature: over `signed_bytes`, in hex; empty when unsigned.
    """

    ledger: str
    head: Head
    at: Instant
    announced: tuple[Head, ...] = ()
    key: str = ""
    signature: str = ""

    def signed_bytes(self) -> bytes:
        """What a signature covers: everything but the signature."""
        announced = [[head.seq, head.digest] for head in self.announced]
        head = [self.head.seq, self.head.digest]
        return encode(["lapse anchor", 1, self.ledger, head, announced, self.at, self.key])


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
        anchored: what is known outside the store, its signature checked already; None to leave it
            out.

    Returns:
        Where it breaks first, or that it is intact. An anchor of another ledger is told first, then
        broken links, then what the kept state and the anchor know better, then what the chain adds
        up to.
    """
    start = genesis(ledger)
    broken = (
        _foreign_anchor(ledger, anchored)
        or _broken_link(start, changes)
        or _truncated(changes, kept)
        or _off_anchor(start, changes, anchored)
        or _broken_erasure(changes)  # last but one: its purge may be what was cut off
        or _altered_state(start, changes, kept)
    )
    if broken is not None:
        return broken
    head = changes[-1].head if changes else start
    return Intact(head, head.seq - (0 if anchored is None else anchored.head.seq))


def _foreign_anchor(ledger: str, anchored: AnchoredHead | None) -> Break | None:
    if anchored is None or anchored.ledger == ledger:
        return None
    detail = f"the anchor belongs to ledger {anchored.ledger}, this is {ledger}"
    return Break(BreakKind.ANCHOR_FORGED, 0, detail)


def _broken_link(start: Head, changes: Sequence[Change]) -> Break | None:
    previous = start
    for change in changes:
        if not change.intact:
            return Break(BreakKind.TAMPERED, change.seq, "its content is not what was digested")
        if change.previous != previous.digest:
            return _misplaced(start, changes, previous, change)
        if change.seq != previous.seq + 1:
            detail = f"it is numbered {change.seq} in place {previous.seq + 1}"
            return Break(BreakKind.TAMPERED, change.seq, detail)
        previous = change.head
    return None


def _misplaced(start: Head, changes: Sequence[Change], previous: Head, change: Change) -> Break:
    """Why an entry does not link to the one before it."""
    if change.previous not in {start.digest, *(other.digest for other in changes)}:
        detail = "the entry that this one links to is not there"
        return Break(BreakKind.REMOVED, previous.seq + 1, detail)
    if any(other.previous == previous.digest for other in changes):
        detail = "the entry that links to the one before stands elsewhere"
        return Break(BreakKind.REORDERED, previous.seq + 1, detail)
    return Break(BreakKind.TAMPERED, previous.seq, "an entry stands here that no other links to")


def _broken_erasure(changes: Sequence[Change]) -> Break | None:
    """Content that is gone without a purge, or is back after one."""
    purged = {
        part.record
        for change in changes
        if change.kind is ChangeKind.PURGED
        for part in change.parts
    }
    for change in changes:
        for part in change.parts:
            if part.body is None and part.record not in purged:
                detail = f"content about {part.record} is gone without a purge"
                return Break(BreakKind.TAMPERED, change.seq, detail)
            if part.body is not None and part.record in purged:
                detail = f"content about {part.record} is back after a purge"
                return Break(BreakKind.TAMPERED, change.seq, detail)
    return None


def _truncated(changes: Sequence[Change], kept: State | None) -> Break | None:
    end = len(changes)
    if kept is None or kept.head.seq <= end:
        return None
    detail = f"the kept state is at {kept.head.seq}, the chain ends at {end}"
    return Break(BreakKind.TRUNCATED, end + 1, detail)


def _off_anchor(
    start: Head, changes: Sequence[Change], anchored: AnchoredHead | None
) -> Break | None:
    if anchored is None:
        return None
    seq, end = anchored.head.seq, len(changes)
    if seq > end:
        detail = f"the anchor knows change {seq}, the chain ends at {end}"
        return Break(BreakKind.ROLLED_BACK, end + 1, detail)
    here = changes[seq - 1].head if seq else start
    if here.digest != anchored.head.digest:
        return Break(BreakKind.FORKED, seq, "the anchor knows another change in this place")
    return None


def _altered_state(start: Head, changes: Sequence[Change], kept: State | None) -> Break | None:
    if kept is None:
        return None
    state = State(start)
    for change in changes:
        try:
            state.apply(change)
        except (IllegalChange, InvalidValue) as refusal:
            return Break(BreakKind.TAMPERED, change.seq, f"no ledger would take it ({refusal})")
    if kept == state:
        return None
    detail = "the kept state is not what the changes add up to"
    return Break(BreakKind.STATE_ALTERED, state.head.seq, detail)
