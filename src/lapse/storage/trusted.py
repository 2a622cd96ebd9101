"""A store that is believed only as far as its anchor and its own links carry.

Whoever can write the store's files can write anything into them, while we run, too. What this
store hands out it has checked: every change links to the one before, says what was digested, and
leads to the anchored head; the kept state is what the changes add up to. Anything else is refused
with the reason, before a caller sees it.

The chain is read once; after that only what is new is. What stays in memory is the digest of each
change (32 bytes) and the places of each record (about 200). What comes back from the store later is
compared with that.

Whoever writes through it announces to the anchor where the chain is about to lead, appends, and
then advances the anchor. So an entry at the end that was not announced is somebody else's, however
well it is linked; and a crash in between leaves the anchor behind, never ahead.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Never

from lapse.errors import IllegalChange, InvalidValue, LedgerNotTrusted, StoreError
from lapse.ledger import (
    Anchor,
    AnchoredHead,
    Break,
    BreakKind,
    Change,
    ChangeKind,
    Clock,
    Head,
    Intact,
    Source,
    State,
    Store,
    examine,
    genesis,
)
from lapse.storage.known_chain import KnownChain
from lapse.storage.rows import UnreadableChange, UnreadableRow, check_links, conflict

__all__ = ["TrustedStore"]

_ATTEMPTS = 10
"""How often a look is repeated that others disturbed by purging."""


class TrustedStore:
    """Implements `lapse.ledger.Store` around another store, and checks every answer.

    Every writer of an anchored ledger has to keep the anchor: what is written past it is refused.

    Args:
        store: what is checked; this store closes it.
        anchor: knows the head from outside. A new ledger is anchored at once. One that has changes
            and no anchor is refused: anchor it, once, when you know that it is sound.
        clock: says when an anchor is advanced.

    Raises:
        LedgerNotTrusted: the anchor is missing, forged, or another ledger's.
        StoreError: store or anchor cannot be read.
    """

    __slots__ = ("_anchor", "_anchored", "_behind", "_clock", "_known", "_lock", "_store")

    def __init__(self, store: Store, anchor: Anchor, *, clock: Clock) -> None:
        self._store = store
        self._anchor = anchor
        self._clock = clock
        self._lock = threading.RLock()
        self._known = KnownChain(genesis(store.ledger))
        self._behind = False
        if anchor.read() is None and store.head().seq == 0:
            anchor.advance(store.ledger, self._known.head, at=clock.now())
        self._anchored = self._read_anchor()

    @property
    def ledger(self) -> str:
        """The id of the ledger kept here."""
        return self._store.ledger

    @property
    def unanchored(self) -> int:
        """How many changes came after the anchored head, as of the last look."""
        return self._known.head.seq - self._anchored.head.seq

    def head(self) -> Head:
        """The end of the chain now, every link to it checked.

        Raises:
            LedgerNotTrusted: it does not follow from what was known, or from the anchor.
        """
        with self._lock:
            self._catch_up()
            return self._known.head

    def append(self, changes: Sequence[Change], *, after: Head) -> None:
        """Announce where the chain will lead, add sealed changes to it, and advance the anchor.

        Raises:
            LedgerNotTrusted: the chain they would follow is not to be trusted; nothing was written.
            StoreError: as the store says, or the anchor cannot be written; nothing was written.
        """
        check_links(changes, after)
        with self._lock:
            self._catch_up()
            if after != self._known.head:
                raise conflict(self._known.head, after)
            if not changes:
                return
            self._anchor.announce(self.ledger, changes[-1].head, at=self._clock.now())
            self._store.append(changes, after=after)
            for change in changes:
                self._known.take(change)
            self._behind = True
            try:
                self._advance()
            except StoreError:
                return  # acknowledged, and announced: the next append or closing advances

    def changes(
        self, *, after: int = 0, record: str | None = None, sources: Collection[Source] = ()
    ) -> Iterator[Change]:
        """Changes in order, each checked; with `record` or `sources`, all about them and no others.

        Raises:
            LedgerNotTrusted: one of them is not the one that was there, or one is missing.
        """
        with self._lock:
            self._catch_up()
            places = self._known.places(after, record, sources)
        found = self._read(after, record, sources)
        for seq in places:
            change = next(found, None)
            if change is None or change.seq != seq:
                self._refuse(BreakKind.STATE_ALTERED, seq, "it is missing among its like")
            yield change if self._agrees(change) else self._again(seq)

    def state(self) -> State:
        """The kept current state, after comparing it with what the changes add up to.

        Raises:
            LedgerNotTrusted: it is something else, or the changes are not to be trusted.
        """
        for _ in range(_ATTEMPTS):
            before = self.head()
            try:
                kept = self._store.state()
            except UnreadableRow:
                self._examine()
                continue
            if kept.head.seq >= before.seq and kept == self._fold(kept.head.seq):
                return kept
            self._examine()  # returns when a purge came between the two looks
        detail = "the kept state is not what the changes add up to"
        raise LedgerNotTrusted(Break(BreakKind.STATE_ALTERED, self._known.head.seq, detail))

    def close(self) -> None:
        """Anchor what is not anchored yet, and close the store.

        Raises:
            StoreError: the anchor could not be advanced; the store is closed.
        """
        with self._lock:
            try:
                if self._behind:
                    self._advance()
            finally:
                self._store.close()

    # -- checking ----------------------------------------------------------------------------

    def _catch_up(self) -> None:
        """Take in what is new in the store; refuse what is not what it was. Hold the lock."""
        for _ in range(_ATTEMPTS):
            # The anchor first: both only move on, so the store cannot be behind an older anchor.
            anchored = self._read_anchor()
            self._take_new(anchored)
            if not self._is_vouched(anchored):
                anchored = self._read_anchor()  # what was appended meanwhile was announced before
            if self._is_vouched(anchored):
                self._anchored = anchored
                return
            if anchored.head.seq <= self._known.head.seq:
                break
        self._refuse(BreakKind.UNANNOUNCED, self._anchored.head.seq + 1, "nobody announced it")

    def _is_vouched(self, anchored: AnchoredHead) -> bool:
        head = self._known.head
        return head == anchored.head or head in anchored.announced

    def _take_new(self, anchored: AnchoredHead) -> None:
        known = self._known
        head = self._store.head()
        if head.seq < known.head.seq or (head.seq == known.head.seq and head != known.head):
            self._refuse(BreakKind.ROLLED_BACK, head.seq, "the chain was longer before")
        if head != known.head:
            for change in self._read(known.head.seq):
                if not known.take(change):
                    self._refuse(BreakKind.TAMPERED, change.seq, "it does not follow")
        if known.unexplained:
            self._refuse(BreakKind.TAMPERED, 0, "content is gone without a purge")
        if not known.has(anchored.head):
            self._refuse(BreakKind.FORKED, anchored.head.seq, "the anchor knows another change")

    def _read(
        self, after: int, record: str | None = None, sources: Collection[Source] = ()
    ) -> Iterator[Change]:
        """The store's changes; one that cannot be read is a reason to refuse."""
        try:
            yield from self._store.changes(after=after, record=record, sources=sources)
        except UnreadableRow as failure:
            self._refuse(BreakKind.TAMPERED, after, str(failure))

    def _agrees(self, change: Change) -> bool:
        with self._lock:
            return self._known.agrees(change)

    def _again(self, seq: int) -> Change:
        """Look once more at a change that is not as it was: a purge may have come between."""
        with self._lock:
            self._catch_up()
            change = next(self._read(seq - 1), None)
            if change is None or change.seq != seq or not self._known.agrees(change):
                self._refuse(BreakKind.TAMPERED, seq, "it is not the change that was there")
            return change

    def _fold(self, end: int) -> State | None:
        state = State(genesis(self.ledger))
        try:
            for change in self.changes():
                if change.seq > end:
                    break
                state.apply(change)
        except (IllegalChange, InvalidValue):
            return None
        return state

    def _refuse(self, kind: BreakKind, seq: int, detail: str) -> Never:
        """Find out what is wrong, and say so; what was noticed first when nothing else is found."""
        self._examine()
        raise LedgerNotTrusted(Break(kind, seq, detail))

    def _examine(self) -> None:
        """Read everything and raise what is wrong with it; return when nothing is.

        Slow, and holds every change at once: it runs when something does not fit.
        """
        anchored = self._latest_known(self._read_anchor())
        before = self._store.head()
        try:
            kept, kept_at = self._store.state(), 0
        except UnreadableRow as failure:
            kept, kept_at = None, getattr(failure, "at", 0)
        changes = self._all_changes()
        if kept is not None and kept.head.seq >= before.seq:
            if any(change.kind is ChangeKind.PURGED for change in changes[kept.head.seq :]):
                return  # the state was read before, the changes after
            end = kept.head.seq
            _raise_if_broken(examine(self.ledger, changes[:end], kept=kept, anchored=anchored))
        found = examine(self.ledger, changes, anchored=anchored)
        if kept_at > len(changes) and getattr(found, "kind", None) is BreakKind.ROLLED_BACK:
            detail = f"the kept state is at {kept_at}, the chain ends at {len(changes)}"
            found = Break(BreakKind.TRUNCATED, len(changes) + 1, detail)
        _raise_if_broken(found)
        if kept is None or kept.head.seq < before.seq:
            detail = "the kept state was altered"
            raise LedgerNotTrusted(Break(BreakKind.STATE_ALTERED, before.seq, detail))

    def _all_changes(self) -> list[Change]:
        try:
            return list(self._store.changes())
        except UnreadableChange as failure:
            found = Break(BreakKind.TAMPERED, failure.seq, "it cannot be read back")
            raise LedgerNotTrusted(found) from failure

    # -- the anchor --------------------------------------------------------------------------

    def _read_anchor(self) -> AnchoredHead:
        anchored = self._anchor.read()
        if anchored is None:
            detail = "there is no anchor; if you know that the ledger is sound, anchor it"
            raise LedgerNotTrusted(Break(BreakKind.ANCHOR_MISSING, 0, detail))
        if anchored.ledger != self.ledger:
            detail = f"the anchor belongs to ledger {anchored.ledger}, this is {self.ledger}"
            raise LedgerNotTrusted(Break(BreakKind.ANCHOR_FORGED, 0, detail))
        return anchored

    def _latest_known(self, anchored: AnchoredHead) -> AnchoredHead:
        """The anchor, or what this process has seen itself when that is later."""
        head = self._known.head
        return anchored if anchored.head.seq >= head.seq else replace(anchored, head=head)

    def _advance(self) -> None:
        head = self._known.head
        self._anchor.advance(self.ledger, head, at=self._clock.now())
        self._anchored = replace(self._anchored, head=head)
        self._behind = False


def _raise_if_broken(found: Intact | Break) -> None:
    if isinstance(found, Break):
        raise LedgerNotTrusted(found)
