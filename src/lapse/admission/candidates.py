"""What evidence there is to choose from, in the order in which it is chosen.

Items that support the same dependencies gain the same at any moment, so of each such group only the
shortest one (then the smallest id) can be the next choice: once it is chosen the others gain
nothing, and where it does not fit no other does. A choice among a million items is therefore one
among the groups, and a changed item moves one group.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lapse.admission.items import WorkItem

__all__ = ["Candidates", "Group", "Rank", "greedily"]

Group = tuple[str, ...]
"""The dependencies that some items support: their common `supports`."""

Rank = tuple[float, int, int, str, Group]
"""The order of choice, smallest first: gain per cost, gain (both negative), cost, id; the group.

Gains are small integers and costs at most a few thousand, so two ratios that differ are two floats
that differ, and equal ratios are equal floats.
"""


class Candidates:
    """The evidence that may be shown: eligible items that support anything."""

    def __init__(self, items: Iterable[WorkItem] = ()) -> None:
        """Take items in, each once; what supports nothing is no evidence."""
        self._groups: dict[Group, list[tuple[int, str]]] = {}
        self._about: dict[str, set[Group]] = {}
        self._wanted: Mapping[str, int] | None = None
        self._ranks: list[Rank] = []
        self._ranked: dict[Group, Rank] = {}
        for item in items:
            if item.supports:
                self._groups.setdefault(item.supports, []).append((len(item.text), item.id))
        for group, members in self._groups.items():
            members.sort()
            self._appear(group)

    def add(self, item: WorkItem) -> None:
        """Take one more in."""
        if item.supports:
            if item.supports not in self._groups:
                self._groups[item.supports] = []
                self._appear(item.supports)
            insort(self._groups[item.supports], (len(item.text), item.id))
            self._rank_again(item.supports)

    def remove(self, item: WorkItem) -> None:
        """Take one out that was taken in."""
        if item.supports:
            members = self._groups[item.supports]
            del members[bisect_left(members, (len(item.text), item.id))]
            if not members:
                del self._groups[item.supports]
                for dependency in item.supports:
                    self._about[dependency].discard(item.supports)
            self._rank_again(item.supports)

    def about(self, dependency: str) -> Collection[Group]:
        """The groups that support a dependency."""
        return self._about.get(dependency, ())

    def members(self, group: Group) -> list[str]:
        """The ids of a group that is there, the first choice first."""
        return [name for _, name in self._groups[group]]

    def ranked(self, wanted: Mapping[str, int]) -> list[Rank]:
        """The first choice of each group that supports anything wanted, best first.

        Args:
            wanted: each dependency with its weight.
        """
        if self._wanted != wanted:
            self._wanted = dict(wanted)
            ranks = ((group, self._rank(group)) for group in self._groups)
            self._ranked = {group: rank for group, rank in ranks if rank is not None}
            self._ranks = sorted(self._ranked.values())
        return self._ranks

    def _appear(self, group: Group) -> None:
        for dependency in group:
            self._about.setdefault(dependency, set()).add(group)

    def _rank(self, group: Group) -> Rank | None:
        gain = _gain(group, self._wanted or {}, ())
        return _rank(group, gain, self._groups[group][0]) if gain else None

    def _rank_again(self, group: Group) -> None:
        if self._wanted is None:
            return
        old = self._ranked.pop(group, None)
        new = self._rank(group) if group in self._groups else None
        if old is not None:
            del self._ranks[bisect_left(self._ranks, old)]
        if new is not None:
            self._ranked[group] = new
            insort(self._ranks, new)


def greedily(
    candidates: Candidates, wanted: Mapping[str, int], *, items: int, chars: int
) -> Iterator[Rank]:
    """The source's choice, one after the other: the largest gain per cost that still fits.

    What a group gains only falls as others are chosen, so one at the top whose gain is still what
    it was ranked by is the best there is.
    """
    supported: set[str] = set()
    lacking = {dependency for dependency in wanted if candidates.about(dependency)}
    ranks = candidates.ranked(wanted)
    fallen: list[Rank] = []
    at = 0
    while items > 0 and lacking and (at < len(ranks) or fallen):
        if fallen and (at == len(ranks) or fallen[0] < ranks[at]):
            rank = heapq.heappop(fallen)
        else:
            rank, at = ranks[at], at + 1
        _, was, cost, name, group = rank
        gain = _gain(group, wanted, supported)
        if not gain or cost > chars:
            continue
        if gain != -was:
            heapq.heappush(fallen, _rank(group, gain, (cost, name)))
            continue
        yield rank
        items -= 1
        chars -= cost
        supported.update(group)
        lacking.difference_update(group)


def _gain(group: Group, wanted: Mapping[str, int], supported: Collection[str]) -> int:
    gain = 0
    for dependency in group:  # a loop: asked of every group, and twice as fast as sum()
        if dependency in wanted and dependency not in supported:
            gain += wanted[dependency]
    return gain


def _rank(group: Group, gain: int, shortest: tuple[int, str]) -> Rank:
    cost, name = shortest  # the cost is never 0: an item has a text
    return -gain / cost, -gain, cost, name, group
