"""Which items have to be judged again together when some of them change.

Three circles of different width, each as small as the rules allow:

* *versions*: what shares a slot with an item or replaces it, or is replaced by it, however far that
  leads. The explicit rules look no further.
* *below*: what rests on items, or takes their slots for granted, however far up. A fall goes no
  other way.
* *around*: what is connected with items at all, both ways. Needed where premises or restatements
  are involved, because a circle of them falls as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lapse.admission.items import WorkItem

    _Following = Callable[[WorkItem], Iterator[str]]

__all__ = ["Links"]


class Links:
    """The links of many items, by what they lead to.

    Args:
        items: the items by id, as whoever holds them keeps them; looked at and never changed.
    """

    def __init__(self, items: Mapping[str, WorkItem]) -> None:
        self._items = items
        self._slots: dict[str, list[str]] = {}
        self._replacing: dict[str, list[str]] = {}
        self._resting: dict[str, list[str]] = {}
        self._assuming: dict[str, list[str]] = {}

    def add(self, item: WorkItem) -> None:
        """An item is there."""
        for index, name in self._entries(item):
            index.setdefault(name, []).append(item.id)

    def remove(self, item: WorkItem) -> None:
        """An item is there no longer; what names it still does."""
        for index, name in self._entries(item):
            index[name].remove(item.id)
            if not index[name]:
                del index[name]

    def in_slot(self, slot: str) -> tuple[WorkItem, ...]:
        """The items of a slot, by id."""
        return tuple(self._items[name] for name in sorted(self._slots.get(slot, ())))

    def versions(self, items: Iterable[WorkItem]) -> set[str]:
        """The ids of what the explicit rules have to look at again, the items' own where they are.

        Args:
            items: what changed, came or went; something that went is not there any more.
        """
        return self._closure(items, self._versions_of)

    def below(self, items: Iterable[WorkItem]) -> set[str]:
        """The ids of what rests on items or takes their slots for granted, and their own."""
        return self._closure(items, self._below)

    def around(self, items: Iterable[WorkItem]) -> set[str]:
        """The ids of what is connected with items, and their own."""
        return self._closure(items, self._around)

    def _entries(self, item: WorkItem) -> Iterator[tuple[dict[str, list[str]], str]]:
        yield self._slots, item.slot
        for name in item.replaces:
            yield self._replacing, name
        if item.stamps:
            for name in item.rests_on:
                yield self._resting, name
            for slot, _ in item.assumes:
                yield self._assuming, slot

    def _closure(self, items: Iterable[WorkItem], following: _Following) -> set[str]:
        found: set[str] = set()
        waiting = list(items)
        while waiting:
            item = waiting.pop()
            if item.id in self._items:
                found.add(item.id)
            for name in following(item):
                if name not in found and name in self._items:
                    found.add(name)
                    waiting.append(self._items[name])
        return found

    def _versions_of(self, item: WorkItem) -> Iterator[str]:
        yield from self._slots.get(item.slot, ())
        yield from item.replaces
        yield from self._replacing.get(item.id, ())

    def _below(self, item: WorkItem) -> Iterator[str]:
        # A restatement carries on what rested on the words before: all of the slot's are asked.
        yield from self._resting.get(item.id, ())
        for version in self._slots.get(item.slot, ()):
            yield from self._resting.get(version, ())
        yield from self._assuming.get(item.slot, ())

    def _around(self, item: WorkItem) -> Iterator[str]:
        yield from self._below(item)
        yield from self._slots.get(item.slot, ())
        yield from item.rests_on
        for slot, _ in item.assumes:
            yield from self._slots.get(slot, ())
