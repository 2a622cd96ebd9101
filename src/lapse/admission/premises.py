"""Declared premises: what an item takes for granted, and what becomes of it when that moves.

A premise is a slot of the workspace. Whatever stands in the slot states it, at the item's value
(`WorkItem.states`); an item that takes it for granted is stamped `Source.premise("", slot)` at what
the slot was worth then (`WorkItem.as_premise`), or at None where it was worth nothing. A stamp on
another item falls with that item; a stamp on a premise asks what is said now, whoever says it.

1. Worth: the value of the item that stands in the slot. None: nobody ever spoke, or what was said
   last simply ended. Unknown: it died, and nothing stands in its place.
2. A premise that is worth something else, or nothing, lets what takes it for granted fall; so does
   one whose worth is unknown, or that nobody ever stated.
3. What falls may have stated a premise itself, or carried others: this goes on as far as it leads.
4. What takes itself for granted, through however many items, has nothing to stand on: the whole
   circle falls, and with it what rests on it. Statements said again can close one too.
5. Nothing is written when an item falls like this. It stands again as soon as its premises are
   worth what they were, and for no other reason.

What stands is the least set that carries itself: an item stands when no other rule lets it fall and
all that it rests on and takes for granted stands already. So no order matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.admission.inventory import live_item
from lapse.admission.items import WorkItem
from lapse.admission.lifecycle import ENDED, cascade, chain_end, in_cycles, in_time
from lapse.admission.reasons import Fallen, Reason
from lapse.ledger import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from lapse.admission.lifecycle import History
    from lapse.ledger import State

__all__ = ["premise_cycle", "settle"]


def settle(items: Collection[WorkItem], history: History) -> None:
    """Let fall what rests on items, or takes slots for granted, that do not carry it.

    Args:
        items: every candidate.
        history: what fell by other rules; what falls now is added to it.
    """
    cascade(items, history)
    # Stamps on items alone go in no circle: each holds the digest of the other as it was before.
    if history.restated or any(item.assumes for item in items if item.stamps):
        carrying = _Carrying(items, history)
        carrying.drop_unmet()
        carrying.drop_circles()


def premise_cycle(state: State, item: WorkItem) -> tuple[str, ...]:
    """The ids of the circle that an item would close if it were written, from its own on; or none.

    Looked for among the live items of its tenant: each that states what a premise is worth is taken
    to stand. Nearly always nobody takes the slot for granted, and there is nothing to walk along.
    """
    if not state.index.on(Source.premise("", item.slot)):
        return ()
    came_from: dict[str, str] = {}
    waiting = [item]
    while waiting:
        current = waiting.pop()
        for needed in _carrying_in(state, current):
            if needed.id in came_from:
                continue
            came_from[needed.id] = current.id
            if (item.slot, item.states) in needed.assumes:
                return _way(came_from, item.id, needed.id)
            waiting.append(needed)
    return ()


def _carrying_in(state: State, item: WorkItem) -> Iterator[WorkItem]:
    for name in item.rests_on:
        needed = live_item(state, name)
        if needed is not None:
            yield needed
    for slot, worth in item.assumes:
        for record in state.in_slot("", slot):
            mine = record.scope.tenant == item.scope.tenant and WorkItem.is_in(record)
            stated = WorkItem.of(record) if mine else None
            if stated is not None and stated.states == worth:
                yield stated


def _way(came_from: Mapping[str, str], start: str, to: str) -> tuple[str, ...]:
    names = [to]
    while names[-1] != start:
        names.append(came_from[names[-1]])
    return tuple(reversed(names))


class _Carrying:
    """Which of the items that stand carry which."""

    def __init__(self, items: Collection[WorkItem], history: History) -> None:
        self._history = history
        self._last, self._stands = _slots(items, history.fallen)
        self._unmet: dict[str, Fallen] = {}
        self._needs: dict[str, list[str]] = {}
        self._carries: dict[str, list[tuple[str, Reason]]] = {}
        for item in items:
            if item.stamps and item.id not in history.fallen:
                self._place(item)

    def _place(self, item: WorkItem) -> None:
        needs = [
            (chain_end(self._history.restated, needed), Reason.DEPENDENCY_LAPSED)
            for needed in item.rests_on
        ]
        for slot, worth in item.assumes:
            fall = self._objection(slot, worth)
            if fall is not None:
                self._unmet.setdefault(item.id, fall)
            elif worth is not None:
                needs.append((self._stands[slot].id, Reason.UNKNOWN_CURRENT))
        self._needs[item.id] = [needed for needed, _ in needs]
        for needed, reason in needs:
            self._carries.setdefault(needed, []).append((item.id, reason))

    def _objection(self, slot: str, worth: str | None) -> Fallen | None:
        """What rules 1 and 2 have against one premise."""
        stands, last = self._stands.get(slot), self._last.get(slot)
        if stands is not None:
            changed = stands.states != worth
            return Fallen(Reason.PREMISE_CHANGED, stands.id) if changed else None
        if last is None:
            return None if worth is None else Fallen(Reason.UNKNOWN_CURRENT)
        if self._history.fallen[last.id].reason not in ENDED:
            return Fallen(Reason.UNKNOWN_CURRENT, last.id)
        return None if worth is None else Fallen(Reason.PREMISE_CHANGED, last.id)

    def drop_unmet(self) -> None:
        """Rules 2 and 3."""
        self._drop(self._unmet)

    def drop_circles(self) -> None:
        """Rule 4: peel off what is carried from the ground up; what is left goes in circles."""
        fallen, carries = self._history.fallen, self._carries
        owing = {name: len(n) for name, n in self._needs.items() if name not in fallen}
        free = [name for name in carries if name not in owing and name not in fallen]
        free += [name for name, count in owing.items() if not count]
        while free:
            name = free.pop()
            owing.pop(name, None)
            for carried, _ in carries.get(name, ()):
                if carried in owing:
                    owing[carried] -= 1
                    if not owing[carried]:
                        free.append(carried)
        following = {name: min(n for n in self._needs[name] if n in owing) for name in owing}
        circles = sorted(in_cycles(following))
        self._drop({name: Fallen(Reason.PREMISE_CYCLE, following[name]) for name in circles})

    def _drop(self, falls: Mapping[str, Fallen]) -> None:
        for name, fall in falls.items():
            self._history.drop(name, fall.reason, fall.by)
        waiting = list(falls)
        while waiting:
            lapsed = waiting.pop()
            for name, reason in self._carries.get(lapsed, ()):
                if name not in self._history.fallen:
                    self._history.drop(name, reason, lapsed)
                    waiting.append(name)


def _slots(
    items: Iterable[WorkItem], fallen: Mapping[str, Fallen]
) -> tuple[dict[str, WorkItem], dict[str, WorkItem]]:
    """The last word about each slot so far, and what stands in it: one item at most."""
    last: dict[str, WorkItem] = {}
    stands: dict[str, WorkItem] = {}
    for item in items:
        if item.kind is Kind.EXPERIENCE:
            continue  # it is about its owner, and no slot of the workspace
        fall = fallen.get(item.id)
        if fall is None:
            stands[item.slot] = item
        elif fall.reason is Reason.NOT_YET:
            continue
        if item.slot not in last or in_time(last[item.slot]) < in_time(item):
            last[item.slot] = item
    return last, stands
