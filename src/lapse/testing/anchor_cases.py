"""What every anchor has to do, as cases that any test runner can run.

A case takes a *place*: a function that opens the same anchor each time it is called, at first with
nothing anchored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from lapse.errors import LedgerNotTrusted
from lapse.ledger import Anchor, Head, digest
from lapse.testing.promises import holds, refuses, same

__all__ = ["ANCHOR_CASES", "AnchorPlace"]

AnchorPlace = Callable[[], Anchor]
"""Opens the same anchor each time it is called."""

HEADS = tuple(Head(seq, digest(str(seq).encode())) for seq in range(50))


def nothing_is_anchored_at_first(place: AnchorPlace) -> None:
    """A new place has no anchor, and nothing can be announced from nowhere."""
    same(place().read(), None, "a new place has no anchor")
    refuses(
        LedgerNotTrusted,
        lambda: place().announce("l", HEADS[1], at=1),
        "an announcement needs an anchor to start from",
    )
    same(place().read(), None, "a refused announcement leaves nothing")


def what_was_anchored_is_read_back(place: AnchorPlace) -> None:
    """Ledger, head and instant come back, from this handle and from another."""
    anchor = place()
    for number in (0, 1, 7):
        anchor.advance("ledger 🧊", HEADS[number], at=number - 1)
        for reader in (anchor, place()):
            found = reader.read()
            holds(found is not None, "an anchor was kept")
            if found is not None:
                kept = (found.ledger, found.head, found.at, found.announced)
                same(kept, ("ledger 🧊", HEADS[number], number - 1, ()), "it is what was kept")


def an_anchor_never_moves_back(place: AnchorPlace) -> None:
    """An earlier head is ignored, whichever handle brings it."""
    place().advance("l", HEADS[5], at=1)
    before = place().read()
    for number in (0, 4, 5):
        place().advance("l", HEADS[number], at=2)
    place().announce("l", HEADS[3], at=2)
    same(place().read(), before, "an earlier head changes nothing")


def another_history_is_refused(place: AnchorPlace) -> None:
    """Another change in the same place, or another ledger, is not to be trusted."""
    place().advance("l", HEADS[5], at=1)
    before = place().read()
    other = HEADS[5]._replace(digest=HEADS[4].digest)
    for ledger, head in (("l", other), ("other", HEADS[9]), ("other", HEADS[1])):
        for write in (place().advance, place().announce):
            refuses(
                LedgerNotTrusted,
                lambda w=write, n=ledger, h=head: w(n, h, at=2),
                "another history is not anchored",
            )
    same(place().read(), before, "a refused head changes nothing")


def announcements_are_kept_until_they_are_passed(place: AnchorPlace) -> None:
    """What was announced is read back, once each, and forgotten when the head is there."""
    place().advance("l", HEADS[1], at=1)
    for number in (2, 3, 3, 9):
        place().announce("l", HEADS[number], at=number)
    _announced(place, HEADS[1], (HEADS[2], HEADS[3], HEADS[9]))
    place().advance("l", HEADS[3], at=5)
    _announced(place, HEADS[3], (HEADS[9],))
    place().advance("l", HEADS[10], at=6)
    _announced(place, HEADS[10], ())


def threads_only_move_it_on(place: AnchorPlace) -> None:
    """However many advance it at once, the latest head is the one that is kept."""
    place().advance("l", HEADS[0], at=0)
    start = threading.Barrier(4)

    def advance_some(first: int) -> None:
        anchor = place()
        start.wait()
        for head in HEADS[first::4]:
            anchor.announce("l", head, at=head.seq)
            anchor.advance("l", head, at=head.seq)

    workers = [threading.Thread(target=advance_some, args=(first,)) for first in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    _announced(place, HEADS[-1], ())


ANCHOR_CASES: tuple[Callable[[AnchorPlace], None], ...] = (
    nothing_is_anchored_at_first,
    what_was_anchored_is_read_back,
    an_anchor_never_moves_back,
    another_history_is_refused,
    announcements_are_kept_until_they_are_passed,
    threads_only_move_it_on,
)
"""Every case; each needs a place of its own."""


def _announced(place: AnchorPlace, head: Head, announced: tuple[Head, ...]) -> None:
    found = place().read()
    holds(found is not None, "an anchor was kept")
    if found is not None:
        same((found.head, found.announced), (head, announced), "head and announcements are kept")
