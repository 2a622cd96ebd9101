"""The knowledge graph over tables and rules."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import BY_KEY, Edge, KnowledgeGraph, Node, Registry, Rule, Table

NX: Any = nx  # an oracle only; its stubs leave the nodes untyped
NAMES = st.sampled_from(["t", "u"])
KEYS = st.sampled_from("abcd")
ROWS = st.dictionaries(KEYS, st.lists(KEYS, max_size=3), max_size=4)
RULES = st.sets(
    st.builds(Rule, NAMES, NAMES, st.just("r"), st.sampled_from(["", BY_KEY])), max_size=3
)


def graph_of(tables: dict[str, dict[str, Any]], rules: list[Rule]) -> KnowledgeGraph:
    return KnowledgeGraph({name: Table(name, rows, "1") for name, rows in tables.items()}, rules)


@given(ROWS, ROWS, RULES, st.lists(st.builds(Node, NAMES, KEYS), max_size=3))
@pytest.mark.requirement("C-GRF-04")
def test_downstream_is_what_networkx_reaches(
    t: dict[str, Any], u: dict[str, Any], rules: set[Rule], roots: list[Node]
) -> None:
    graph = graph_of({"t": t, "u": u}, list(rules))
    oracle: Any = NX.DiGraph()
    oracle.add_nodes_from(graph.nodes())
    oracle.add_edges_from((edge.start, edge.end) for edge in graph.edges())
    present = [root for root in roots if root in oracle]
    found = graph.affected_downstream(roots)
    assert len(found) == len(set(found))
    assert set(found) == {n for r in present for n in NX.descendants(oracle, r)} - set(present)


@pytest.mark.requirement("C-GRF-03")
def test_an_edge_needs_both_its_rows() -> None:
    tables: dict[str, dict[str, Any]] = {
        "codes": {"growth": {"code": "S"}, "scale": {"code": "gone"}},
        "promo": {"S": {}},
    }
    graph = graph_of(tables, [Rule("codes", "promo", "needs", "code"), Rule("codes", "lost", "r")])
    assert list(graph.edges()) == [Edge(Node("codes", "growth"), Node("promo", "S"), "needs")]


@pytest.mark.requirement("C-GRF-04")
def test_a_cycle_is_walked_once() -> None:
    graph = graph_of({"t": {"a": ["b"], "b": ["a"]}}, [Rule("t", "t", "r")])
    assert graph.affected_downstream([Node("t", "a")]) == (Node("t", "b"),)
    assert graph.affected_downstream([Node("t", "a"), Node("t", "b")]) == ()


def test_a_cascade_over_thousands_of_rows_is_complete_both_times() -> None:
    rows = {str(n): [str(2 * n + 1), str(2 * n + 2)] for n in range(6_000)}
    graph = graph_of({"t": rows}, [Rule("t", "t", "r")])
    everything = {Node("t", str(n)) for n in range(1, 6_000)}
    assert set(graph.affected_downstream([Node("t", "0")])) == everything
    assert set(graph.affected_downstream([Node("t", "0"), Node("t", "1")])) == everything - {
        Node("t", "1")
    }


@pytest.mark.requirement("C-GRF-04")
def test_a_reload_walks_the_graph_as_it_was() -> None:
    registry = Registry.of(
        [
            Table("codes", {"growth": {"code": "SUMMERSALE25"}}, "1.0.0"),
            Table("promo", {"SUMMERSALE25": {}, "WINTERLAUNCH26": {}}, "1.0.0"),
        ],
        [Rule("codes", "promo", "requires_recognition", "code")],
    )
    after, reload = registry.reload("codes", {"growth": {"code": "WINTERLAUNCH26"}})
    assert reload.affected_downstream == (Node("promo", "SUMMERSALE25"),)
    _, reload = after.reload("codes", {"growth": {"code": "SUMMERSALE25"}})
    assert reload.affected_downstream == (Node("promo", "WINTERLAUNCH26"),)
