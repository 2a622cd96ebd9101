"""The measuring of speed: that both sides do the work, not how fast they do it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lapse_bench.provenance import Provenance
from lapse_bench.speed import cascades, evictions
from lapse_bench.speed.memories import filled
from lapse_bench.speed.pairs import Measured, Pair, measured
from lapse_bench.speed.records import ISSUER, PER_ROW, row, slot
from lapse_bench.speed.suite import run_speed


def pair(order: list[str]) -> Pair:
    return Pair(
        name="order",
        ours=lambda: order.append("ours"),
        theirs=lambda: order.append("theirs"),
        calls=1,
        turns=4,
        goal=2.0,
        ours_does="",
        theirs_does="",
    )


def test_turns_alternate_after_the_warm_up() -> None:
    order: list[str] = []
    found = measured(pair(order))
    assert order == ["ours", "theirs"] * 7
    assert len(found.ours_us) == len(found.theirs_us) == 4


def test_a_ratio_is_the_quotient_of_two_medians(tmp_path: Path) -> None:
    found = Measured(pair=pair([]), ours_us=(1.0, 9.0, 3.0), theirs_us=(2.0, 1.0, 1.5))
    result = found.as_json(samples=found.keep(tmp_path))
    assert (result["ratio"], result["met"]) == (2.0, True)
    kept = json.loads(Path(result["samples"]).read_text(encoding="utf-8"))
    assert kept["ours"] == [1.0, 9.0, 3.0]


def test_ten_records_rest_on_a_row_and_each_is_found_by_its_slot() -> None:
    state = filled(1_000)
    assert len(state.index.on(row(0))) == PER_ROW
    assert all(state.first_usable(ISSUER, slot(index)) for index in range(1_000))


@pytest.mark.parametrize(
    "make",
    [evictions.row_eviction, evictions.row_eviction_swept, evictions.row_eviction_with_entry],
)
def test_both_sides_evict_the_same_records(
    make: type[evictions.row_eviction],  # type: ignore[valid-type]
) -> None:
    state = filled(10_000)
    bare = evictions.Bare.of(state)
    made = make(state, bare)
    for _ in range(5):
        made.prepare()
        made.ours()
        made.theirs()
    assert {record.id for record in state} == set(bare.entries)
    assert len(state) == 10_000 - 5 * PER_ROW


def test_small_and_full_cascades_are_checked_against_the_reference() -> None:
    graph = cascades.drawn(nodes=5_000, seed=3)
    assert len(graph.starts) == 2 * graph.count
    cascades.cascade_full(graph).ours()
    cascades.cascade_small(graph, seed=3)


def test_a_chosen_ratio_is_reported_with_its_goal_and_samples(tmp_path: Path) -> None:
    result = run_speed(
        tmp_path,
        records=10_000,
        nodes=10_000,
        seed=1,
        only=["unchanged_envelope", "cascade_full"],
        provenance=Provenance(date="2026-01-01T00:00:00Z", commit=None, machine={}),
    )
    assert list(result["ratios"]) == ["unchanged_envelope", "cascade_full"]
    for found in result["ratios"].values():
        assert {"ratio", "goal", "met", "median_ours_us", "median_theirs_us"} <= found.keys()
        assert Path(found["samples"]).is_file()
