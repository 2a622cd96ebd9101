"""What follows from a change, through a graph of a million nodes: all of it, and a handful.

The graph is drawn from a seed: every node but the first hangs under a random earlier one, and as
many random forward edges again, so node 0 reaches everything. Small cones start at random nodes
from which a handful follow.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false
# scipy has no types.

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from lapse.contract import Adjacency
from lapse_bench.speed.pairs import Pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Graph", "cascade_full", "cascade_small", "drawn"]

_ROOTS = 200
_REPEATS = 5
_FEWEST, _MOST = 3, 50
"""How many nodes follow from the root of a small cone."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A directed graph over the nodes 0 to count - 1.

    Attributes:
        count: how many nodes.
        starts: where each edge starts.
        ends: where each edge ends.
    """

    count: int
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def drawn(*, nodes: int, seed: int) -> Graph:
    """The graph of this size and seed: twice as many edges as nodes, less one tree's root."""
    random = np.random.default_rng(seed)
    later = np.arange(1, nodes)
    under = (random.random(nodes - 1) * later).astype(np.int64)
    ends = random.integers(1, nodes, size=nodes + 1)
    starts = (random.random(nodes + 1) * ends).astype(np.int64)
    return Graph(nodes, np.concatenate([under, starts]), np.concatenate([later, ends]))


def cascade_full(graph: Graph) -> Pair:
    """Everything, against scipy's breadth-first order in C."""
    ours = Adjacency(graph.count, graph.starts, graph.ends)  # type: ignore[arg-type]  # arrays are sequences enough
    weights = np.ones(len(graph.starts), dtype=np.int8)
    matrix = csr_array((weights, (graph.starts, graph.ends)), shape=(graph.count, graph.count))
    if len(ours.reach([0])) != graph.count - 1:
        raise AssertionError("node 0 reaches everything")

    def turn_of_ours() -> None:
        ours.reach([0])

    def turn_of_theirs() -> None:
        breadth_first_order(matrix, 0, directed=True, return_predecessors=False)

    return Pair(
        name="cascade_full",
        ours=turn_of_ours,
        theirs=turn_of_theirs,
        calls=1,
        turns=11,
        goal=3.0,
        ours_does=f"contract.Adjacency.reach from one node to all {graph.count:,}, over "
        f"{len(graph.starts):,} edges, built before",
        theirs_does="scipy.sparse.csgraph.breadth_first_order over the same graph, built before, "
        "without predecessors",
    )


def cascade_small(graph: Graph, *, seed: int) -> Pair:
    """A few nodes each, against a walk over lists."""
    ours = Adjacency(graph.count, graph.starts, graph.ends)  # type: ignore[arg-type]  # as in cascade_full
    lists: list[list[int]] = [[] for _ in range(graph.count)]
    for start, end in zip(graph.starts.tolist(), graph.ends.tolist(), strict=True):
        lists[start].append(end)
    roots = _small_roots(lists, np.random.default_rng(seed))
    if any(sorted(ours.reach([root])) != sorted(_walked(lists, root)) for root in roots):
        raise AssertionError("both walks reach the same nodes")
    cones = [len(_walked(lists, root)) for root in roots]

    def turn_of_ours() -> None:
        for _ in range(_REPEATS):
            for root in roots:
                ours.reach([root])

    def turn_of_theirs() -> None:
        for _ in range(_REPEATS):
            for root in roots:
                _walked(lists, root)

    return Pair(
        name="cascade_small",
        ours=turn_of_ours,
        theirs=turn_of_theirs,
        calls=_ROOTS * _REPEATS,
        turns=21,
        goal=3.0,
        ours_does=f"contract.Adjacency.reach from {_ROOTS} nodes of the same graph, median cone "
        f"{median(cones):g} nodes, "
        f"largest {max(cones)}",
        theirs_does="a breadth-first walk over a list of lists with a set of seen nodes, in plain "
        "Python",
    )


def _small_roots(lists: list[list[int]], random: np.random.Generator) -> list[int]:
    """Random nodes from which a handful of others follow."""
    roots: list[int] = []
    while len(roots) < _ROOTS:
        root = int(random.integers(len(lists)))
        if _FEWEST <= len(_walked(lists, root, most=_MOST + 1)) <= _MOST:
            roots.append(root)
    return roots


def _walked(lists: list[list[int]], root: int, *, most: int | None = None) -> list[int]:
    seen = {root}
    reached = [root]
    for node in reached:
        if most is not None and len(reached) > most:
            break
        for target in lists[node]:
            if target not in seen:
                seen.add(target)
                reached.append(target)
    return reached[1:]
