"""Partial recovery: when something stands again, what fell with it stands again, and nothing else.

An item that ends, or is disputed, takes what rests on it along: that is suspended, in writing (see
`lapse.admission.endings`). Recovery is the way back.

1. Only what was suspended because of what it rests on comes back (`lapsed`); what a recheck, a
   quarantine or anybody else holds, stays held.
2. It comes back when everything it rests on stands: by itself, by having been said again since, or
   by coming back with it.
3. No receipt is issued in anybody's name: what stands again has one, and the rest was never in
   doubt by itself. Each comes back with the receipts that it had.

What fell with a premise needs none of this: nothing was written when it fell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.admission.inventory import live_item
from lapse.admission.items import WorkItem
from lapse.admission.lifecycle import in_time, same_words
from lapse.admission.reasons import Reason
from lapse.errors import UnknownRecord
from lapse.ledger import ChangeKind, Draft, Part, Source, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from lapse.ledger import Change, Instant, State

__all__ = ["RESTORED", "lapsed", "revive"]

RESTORED = "dependency_restored"
"""The reason code of the change that lets an item stand again with what it rests on."""


def lapsed(changes: Iterable[Change]) -> frozenset[str]:
    """What is suspended because something that it rests on ended, and for no other reason.

    Args:
        changes: a ledger's changes, from its first on.
    """
    held: set[str] = set()
    for change in changes:
        names = [part.record for part in change.parts]
        if change.kind is ChangeKind.SUSPENDED and change.reason == Reason.DEPENDENCY_LAPSED.value:
            held.update(names)
        elif change.kind.leads_to is not None:
            held.difference_update(names)
    return frozenset(held)


def revive(
    state: State,
    held: Collection[str],
    back: WorkItem,
    *,
    at: Instant,
    actor: str,
    salt: str,
) -> tuple[Draft, ...]:
    """Let stand again what fell with an item that is about to stand again.

    Args:
        state: the ledger as it is before the item stands again.
        held: what was suspended because of what it rests on: see `lapsed`.
        back: the item; a new one says again what it names in `replaces`, and what it names and
            still lives ends in the same decision.
        at: when it is decided.
        actor: who decides.
        salt: random text, of its own for each decision.

    Returns:
        One draft, or none where nothing comes back.
    """
    found = _Recovery(state, held, back).found()
    if not found:
        return ()
    parts = tuple(Part.of(name, {"by": by}, salt=salt) for name, by in sorted(found.items()))
    kind = ChangeKind.REINSTATED
    return (Draft(kind=kind, at=at, reason=RESTORED, actor=actor, parts=parts),)


class _Recovery:
    """What stands once an item stands again."""

    def __init__(self, state: State, held: Collection[str], back: WorkItem) -> None:
        self._state = state
        self._held = held
        self._back = back
        new = live_item(state, back.id) is None
        self._without = back.replaces if new else ()
        self._stands = {back.id: True}
        self._revived: dict[str, str] = {}

    def found(self) -> dict[str, str]:
        """The ids of what comes back, each with what it came back with."""
        waiting = [self._back.id]
        waiting += (name for name in self._back.replaces if self._is_there(name))
        while waiting:
            needed = waiting.pop()
            for name in sorted(self._state.index.on(Source.record(needed))):
                if name not in self._revived and self._comes_back(name):
                    self._revived[name] = needed
                    waiting.append(name)
        return self._revived

    def _comes_back(self, name: str) -> bool:
        record = self._state.record(name)
        if name not in self._held or name in self._without:
            return False
        if record.status is not Status.SUSPENDED:
            return False
        needs = (stamp.source.name for stamp in record.stamps if stamp.source.kind == "record")
        return all(needed in self._revived or self._is_there(needed) for needed in needs)

    def _is_there(self, name: str) -> bool:
        """Whether something stands by itself, or by having been said again; found once for each."""
        known = self._stands.get(name)
        if known is None:
            known = self._stands[name] = self._found(name)
        return known

    def _found(self, name: str) -> bool:
        try:
            record = self._state.record(name)
        except UnknownRecord:
            return False
        if name not in self._without and self._state.usable(record):
            return True
        return WorkItem.is_in(record) and self._said_again(WorkItem.of(record))

    def _said_again(self, item: WorkItem) -> bool:
        later = [self._back]
        for record in self._state.in_slot("", item.slot):
            if record.id not in self._without and self._state.usable(record):
                later += (WorkItem.of(record),) if WorkItem.is_in(record) else ()
        return any(
            one.slot == item.slot and in_time(one) > in_time(item) and same_words(one, item)
            for one in later
        )
