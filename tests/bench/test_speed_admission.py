"""Admission at speed: that both sides do the same, and what the exact selector says of ours."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from lapse.admission import Budget, Judgement, Selector, select
from lapse.ledger import Kind
from lapse_bench.cli import app
from lapse_bench.returns.exact import Exact, cheapest_set
from lapse_bench.returns.gap import GOAL_PERCENT, Instance, drawn_instance, gap_study
from lapse_bench.speed.admission_drawn import drawn_workspace
from lapse_bench.speed.admission_timed import readmitted, weighed

seeds = st.integers(1_000_000, 2_000_000)
"""Other instances than the study's."""


def chosen(instance: Instance, selector: Selector) -> int | None:
    """The characters of the evidence that a selector shows; None: it shows nothing."""
    judgements = tuple(Judgement(item, ()) for item in instance.items)
    found = select(judgements, instance.budget, selector=selector)
    serving = sum(len(item.text) for item in instance.items if not item.supports)
    return None if found.failures else found.chars - serving


@given(seeds)
def test_the_search_is_within_two_percent_of_the_cheapest_and_nobody_finds_what_is_not_there(
    seed: int,
) -> None:
    instance = drawn_instance(seed)
    exact = cheapest_set(instance.items, instance.budget)
    for selector in Selector:
        cost = chosen(instance, selector)
        assert cost is None or (exact is not None and cost >= exact.cost)
        if selector is Selector.SEARCH and exact is not None:
            assert cost is not None
            assert cost <= exact.cost * (1 + GOAL_PERCENT / 100)


def test_the_exact_set_is_the_cheapest_by_hand() -> None:
    instance = drawn_instance(0)
    template = next(item for item in instance.items if item.supports)
    opens = next(item for item in instance.items if item.kind is Kind.OBLIGATION)
    tells = next(
        item for item in instance.items if item.obligation == opens.obligation and item is not opens
    )
    owed = replace(opens, required=("a", "b"), critical=("a",))
    one = replace(template, id="one", text="x" * 30, supports=("a",))
    other = replace(template, id="other", text="x" * 30, supports=("b",))
    both = replace(template, id="both", text="x" * 50, supports=("a", "b"))
    items = (owed, tells, one, other, both)
    assert cheapest_set(items, Budget()) == Exact(("both",), 50)
    assert cheapest_set(items[:-1], Budget()) == Exact(("one", "other"), 60)
    assert cheapest_set(items[:-1], Budget(items=3)) is None
    assert cheapest_set(items[:-1], Budget(items=1)) is None
    assert cheapest_set((owed, one, other), Budget()) is None
    spare = replace(opens, id="o2", obligation="o2", required=("c",), critical=())
    more = (*items, spare, replace(tells, id="f2", obligation="o2"))
    assert cheapest_set(more, Budget()) is None
    assert cheapest_set(more, Budget(coverage=0.5)) == Exact(("both",), 50)


def test_a_study_counts_every_instance_once() -> None:
    found = gap_study(12, seed=5)
    assert len(found["samples"]) == found["count"] == 12
    for one in found["selectors"].values():
        kinds = ("both_find_a_set", "only_exact_finds_one", "only_this_finds_one", "neither")
        assert sum(one[kind] for kind in kinds) == 12
        assert one["only_this_finds_one"] == 0


def test_a_drawn_workspace_is_the_same_for_the_same_seed() -> None:
    one, other = drawn_workspace(300, seed=1), drawn_workspace(300, seed=1)
    assert one == other
    assert one.checkpoint.digest() != drawn_workspace(300, seed=2).checkpoint.digest()


def test_deciding_again_is_compared_with_the_same_decision_from_the_start() -> None:
    for came in (0, 3):
        found = readmitted(400, seed=0, turns=1, came=came)
        assert len(found["again_ms"]) == len(found["from_the_start_ms"]) == 1


def test_every_item_is_weighed() -> None:
    found = weighed(300, seed=0, turns=1)
    assert found["items"] == 300
    assert 0 < found["eligible"] < 300


def test_the_command_prints_json_alone_and_keeps_a_copy(tmp_path: Path) -> None:
    kept = tmp_path / "deep" / "speed.json"
    arguments = ["speed", "admission", "--sizes", "200", "--readmitted", "1000", "--instances", "5"]
    ran = CliRunner().invoke(
        app, [*arguments, "--turns", "2", "--format", "json", "--out", str(kept)]
    )
    result = json.loads(ran.stdout)
    assert result == json.loads(kept.read_text(encoding="utf-8"))
    assert ran.exit_code == int(bool(result["problems"]))
    assert {"commit", "machine", "date", "config"} <= result.keys()
    assert [one["items"] for one in result["gates_and_selection"]] == [200]


@pytest.mark.parametrize("sizes", ["many", "0", ""])
def test_sizes_that_are_none_are_refused(sizes: str) -> None:
    ran = CliRunner().invoke(app, ["speed", "admission", "--sizes", sizes])
    assert "sizes" in str(ran.exception)
