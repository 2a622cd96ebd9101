"""The knowledge graph: rows as nodes, what the rules derive from them as edges (Level 5).

Nothing is built before it is asked for. A walk reads the rows it passes; only one that grows past
`_SMALL` rows makes the whole graph an `Adjacency`, once, and every later big walk uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lapse.contract.reach import Adjacency

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lapse.contract.rules import Rule
    from lapse.contract.tables import Table

__all__ = ["Edge", "KnowledgeGraph", "Node"]

_SMALL = 2_000
"""Rows that a walk passes before the whole graph is built for it."""


class Node(NamedTuple):
    """A row, wherever it stands."""

    table: str
    key: str


class Edge(NamedTuple):
    """A derivation between two rows that exist."""

    start: Node
    end: Node
    relation: str


class KnowledgeGraph:
    """The graph over one state of the tables and rules. Immutable, and safe to share."""

    __slots__ = ("_adjacency", "_rules", "_tables")

    def __init__(self, tables: Mapping[str, Table], rules: Iterable[Rule]) -> None:
        self._tables = tables
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(rule.from_table, []).append(rule)
        self._adjacency: tuple[list[Node], dict[Node, int], Adjacency] | None = None

    def nodes(self) -> Iterator[Node]:
        """Every row, table by table."""
        for name, table in self._tables.items():
            for key in table.rows:
                yield Node(name, key)

    def edges(self) -> Iterator[Edge]:
        """Every derivation; a rule that names a row which does not exist makes no edge."""
        for node in self.nodes():
            yield from self._edges_from(node)

    def affected_downstream(self, roots: Iterable[Node]) -> tuple[Node, ...]:
        """The rows that follow from some rows, without those rows themselves, nearest first.

        A root that does not exist has nothing downstream. Cycles are walked once.
        """
        start = dict.fromkeys(root for root in roots if self._exists(root))
        seen, queue = set(start), list(start)
        for node in queue:
            for edge in self._edges_from(node):
                if edge.end not in seen:
                    seen.add(edge.end)
                    queue.append(edge.end)
            if len(queue) > len(start) + _SMALL:
                return self._affected_far(start)
        return tuple(queue[len(start) :])

    def _affected_far(self, start: Iterable[Node]) -> tuple[Node, ...]:
        if self._adjacency is None:
            nodes = list(self.nodes())
            places = {node: place for place, node in enumerate(nodes)}
            edges = [(places[edge.start], places[edge.end]) for edge in self.edges()]
            adjacency = Adjacency(len(nodes), [s for s, _ in edges], [e for _, e in edges])
            self._adjacency = nodes, places, adjacency
        nodes, places, adjacency = self._adjacency
        return tuple(nodes[int(place)] for place in adjacency.reach(places[node] for node in start))

    def _exists(self, node: Node) -> bool:
        table = self._tables.get(node.table)
        return table is not None and node.key in table.rows

    def _edges_from(self, node: Node) -> Iterator[Edge]:
        for rule in self._rules.get(node.table, ()):
            for key in rule.targets(node.key, self._tables[node.table].rows[node.key]):
                end = Node(rule.to_table, key)
                if self._exists(end):
                    yield Edge(node, end, rule.relation)
