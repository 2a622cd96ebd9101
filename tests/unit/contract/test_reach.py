"""Reachability, small and big, against networkx."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import Adjacency
from lapse.errors import InvalidValue

NX: Any = nx  # an oracle only; its stubs leave the nodes untyped
EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30)
ROOTS = st.lists(st.integers(0, 11), max_size=4)


def expected(edges: list[tuple[int, int]], roots: list[int], count: int) -> set[int]:
    graph: Any = NX.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(edges)
    return {node for root in roots for node in NX.descendants(graph, root)} - set(roots)


@given(EDGES, ROOTS)
def test_it_reaches_what_networkx_reaches(edges: list[tuple[int, int]], roots: list[int]) -> None:
    graph = Adjacency(12, [s for s, _ in edges], [t for _, t in edges])
    reached = graph.reach(roots)
    assert len(reached) == len(set(reached))
    assert set(reached) == expected(edges, roots, 12)


@given(EDGES, EDGES, ROOTS)
def test_edges_can_be_added_one_by_one(
    edges: list[tuple[int, int]], later: list[tuple[int, int]], roots: list[int]
) -> None:
    graph = Adjacency(12, [s for s, _ in edges], [t for _, t in edges])
    for source, target in later:
        graph.add(source, target)
    assert set(graph.reach(roots)) == expected([*edges, *later], roots, 12)


def wide_then_long(width: int, length: int) -> list[tuple[int, int]]:
    """A fan whose pairs meet again, followed by a chain that closes a cycle."""
    fan = [(0, n) for n in range(1, width + 1)]
    meet = [(n, width + 1 + n // 2) for n in range(1, width + 1)]
    first = width + 2 + width // 2
    chain = [(width + 1, first), *((n, n + 1) for n in range(first, first + length))]
    return [*fan, *meet, *chain, (first + length, 0)]


@pytest.mark.parametrize(("width", "length"), [(3_000, 50), (100, 4_000), (3_000, 4_000)])
@pytest.mark.parametrize("built", ["at once", "one by one"])
def test_big_cones_are_the_same(width: int, length: int, built: str) -> None:
    edges = wide_then_long(width, length)
    count = 1 + max(max(edge) for edge in edges)
    sources, targets = [s for s, _ in edges], [t for _, t in edges]
    if built == "at once":
        graph = Adjacency(count, np.array(sources), np.array(targets))  # type: ignore[arg-type]
    else:
        graph = Adjacency(count)
        for source, target in edges:
            graph.add(source, target)
    reached = [int(node) for node in graph.reach([0])]
    assert len(reached) == len(set(reached))
    assert set(reached) == expected(edges, [0], count)
    levels = NX.single_source_shortest_path_length(NX.DiGraph(edges), 0)
    distances = [levels[node] for node in reached]
    assert distances == sorted(distances)
    last = width + 1
    assert {int(n) for n in graph.reach([last])} == expected(edges, [last], count)


def test_a_big_graph_is_walked_in_small_steps_too_and_takes_more_edges() -> None:
    count = 3_000
    graph = Adjacency(count, list(range(count - 1)), list(range(1, count)))
    assert list(graph.reach([count - 3])) == [count - 2, count - 1]
    graph.add(count - 1, 0)
    assert set(graph.reach([count - 2])) == set(range(count)) - {count - 2}
    assert len(graph) == count


@pytest.mark.parametrize(
    ("count", "sources", "targets"),
    [(-1, [], []), (2, [0], []), (2, [2], [0]), (2, [0], [-1])],
)
def test_edges_need_nodes(count: int, sources: list[int], targets: list[int]) -> None:
    with pytest.raises(InvalidValue):
        Adjacency(count, sources, targets)


@pytest.mark.parametrize("bad", [-1, 5_000])
def test_many_edges_need_nodes_too(bad: int) -> None:
    with pytest.raises(InvalidValue):
        Adjacency(5_000, [0] * 2_500, [*[1] * 2_499, bad])
