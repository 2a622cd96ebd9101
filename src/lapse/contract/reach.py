"""Everything that can be reached from some nodes: fast for a handful, and fast for a million.

A small cone is walked node by node. Once a frontier has grown wide, it is expanded at once over
arrays (compressed sparse rows); one that thins out again is walked node by node, so neither a wide
graph nor a long chain meets the method that is slow for it. The walks are loops, a visited node is
never entered twice, and numpy is imported when the first big graph is built.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

__all__ = ["Adjacency"]

_SMALL = 2_000
"""Edges, or nodes of a cone, up to which plain lists beat setting up arrays, by measurement."""
_WIDE = 256
"""A frontier from here on is cheaper as one array operation than node by node, by measurement."""


class Adjacency:
    """A directed graph over the nodes 0 to count - 1.

    Give the edges at once, as two sequences or arrays, or add them one by one. Not thread-safe
    while edges are added; any number of threads may walk it afterwards.

    Args:
        count: how many nodes there are.
        sources: where each edge starts.
        targets: where each edge ends; as long as `sources`.
    """

    __slots__ = ("_count", "_lists", "_rows")

    def __init__(
        self, count: int, sources: Sequence[int] = (), targets: Sequence[int] = ()
    ) -> None:
        if count < 0:
            raise InvalidValue("count", count, "pass how many nodes there are")
        if len(sources) != len(targets):
            raise InvalidValue("targets", len(targets), "pass one target per source")
        self._count = count
        self._lists: dict[int, list[int]] = {}
        self._rows: _Rows | None = None
        if len(sources) > _SMALL:
            self._rows = _Rows(count, sources, targets)
        else:
            for source, target in zip(sources, targets, strict=True):
                self.add(int(source), int(target))

    def add(self, source: int, target: int) -> None:
        """Add an edge.

        Raises:
            InvalidValue: an end is not a node.
        """
        for field, node in (("source", source), ("target", target)):
            if not 0 <= node < self._count:
                raise InvalidValue(field, node, f"pass a node from 0 to {self._count - 1}")
        if self._rows is not None:
            self._lists, self._rows = self._rows.as_lists(), None
        self._lists.setdefault(source, []).append(target)

    def __len__(self) -> int:
        """How many nodes there are."""
        return self._count

    def reach(self, roots: Iterable[int]) -> Sequence[int] | Integers:
        """The nodes at the end of a path from a root, without the roots themselves, nearest first.

        A list for a small cone, an array for a big one.
        """
        start = list(dict.fromkeys(roots))
        reached = start.copy()
        seen = set(start)
        # The list grows while it is walked, so it is the queue and the result in one.
        if self._rows is None:
            lists = self._lists
            for node in reached:
                for target in lists.get(node, ()):
                    if target not in seen:
                        seen.add(target)
                        reached.append(target)
                if len(reached) > _SMALL:
                    self._rows = rows = _Rows.of(self._count, lists)
                    return rows.reach(start)
        else:
            begins, ends = self._rows.views
            for node in reached:
                for target in ends[begins[node] : begins[node + 1]]:
                    if target not in seen:
                        seen.add(target)
                        reached.append(target)
                if len(reached) > _SMALL:
                    return self._rows.reach(start)
        del reached[: len(start)]
        return reached


class _Rows:
    """Compressed sparse rows: the targets of node n are ``ends[begins[n]:begins[n + 1]]``."""

    __slots__ = ("begins", "ends", "views")

    def __init__(self, count: int, sources: Sequence[int], targets: Sequence[int]) -> None:
        import numpy as np  # noqa: PLC0415 - only a big graph needs it

        starts = np.asarray(sources, dtype=np.int64)
        ends = np.asarray(targets, dtype=np.int64)
        for field, nodes in (("sources", starts), ("targets", ends)):
            if len(nodes) and (nodes.min() < 0 or nodes.max() >= count):
                raise InvalidValue(field, nodes, f"pass nodes from 0 to {count - 1}")
        self.begins: Integers = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(starts, minlength=count), out=self.begins[1:])
        self.ends: Integers = ends[np.argsort(starts, kind="stable")]
        # Reading one number through a view gives a plain int, several times faster than an array.
        self.views: tuple[memoryview[int], memoryview[int]] = (self.begins.data, self.ends.data)

    @classmethod
    def of(cls, count: int, lists: dict[int, list[int]]) -> _Rows:
        """The same edges, from lists."""
        sources = [source for source, targets in lists.items() for _ in targets]
        return cls(count, sources, [target for targets in lists.values() for target in targets])

    def as_lists(self) -> dict[int, list[int]]:
        """The same edges, as lists."""
        begins, ends = self.begins.tolist(), self.ends.tolist()
        spans = enumerate(pairwise(begins))
        return {node: ends[first:last] for node, (first, last) in spans if last > first}

    def reach(self, start: list[int]) -> Integers:
        """As `Adjacency.reach`, for a cone that is known to be big."""
        import numpy as np  # noqa: PLC0415

        count = len(self.begins) - 1
        marks = bytearray(count)  # one memory, seen by the loop and by the arrays
        seen = np.frombuffer(marks, dtype=np.bool_)
        place = np.empty(count, dtype=np.int64)
        frontier = np.array(start, dtype=np.int64)
        seen[frontier] = True
        reached: list[Integers] = []
        while len(frontier):
            if len(frontier) < _WIDE:
                passed, width = self._narrow(frontier.tolist(), marks)
                found = np.array(passed, dtype=np.int64)
                reached.append(found)
                frontier = found[len(found) - width :]
            else:
                frontier = self._widen(frontier, seen, place)
                reached.append(frontier)
        return np.concatenate(reached)

    def _narrow(self, frontier: list[int], marks: bytearray) -> tuple[list[int], int]:
        """Walk until a level is wide: the nodes found, and how many the last level has."""
        begins, ends = self.views
        passed: list[int] = []
        while frontier and len(frontier) < _WIDE:
            found: list[int] = []
            for node in frontier:
                for target in ends[begins[node] : begins[node + 1]]:
                    if not marks[target]:
                        marks[target] = 1
                        found.append(target)
            passed += found
            frontier = found
        return passed, len(frontier)

    def _widen(self, frontier: Integers, seen: NDArray[np.bool_], place: Integers) -> Integers:
        """The next level of a wide one."""
        import numpy as np  # noqa: PLC0415

        first = self.begins[frontier]
        counts = self.begins[frontier + 1] - first
        offsets = np.repeat(first - (np.cumsum(counts) - counts), counts)
        found = self.ends[offsets + np.arange(len(offsets))]
        found = found[~seen[found]]
        # A node found twice keeps the place written last: the others are dropped without sorting.
        order = np.arange(len(found))
        place[found] = order
        found = found[place[found] == order]
        seen[found] = True
        return found
