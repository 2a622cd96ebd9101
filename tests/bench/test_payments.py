"""The payments scenarios, run over real HTTP, against the numbers that their design forces."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from lapse_bench.arms import ARMS
from lapse_bench.payments import run_payments
from lapse_bench.planners import planner
from lapse_bench.scenarios import load

NO_MEMORY = "110111011110111011101110011110111110"
OLDEST = "110101001000110000100010010010010110"
ONE_ROTATION = "110101001000100000000000000000000100"
WHOLE_TABLE = "110101001000100000000000001000100100"
NO_DRIFT = "110101001000000000000000000000000100"


@cache
def scores(scenario: str, ties: str) -> dict[str, dict[str, Any]]:
    runs = run_payments(load(scenario), planner(ties), ARMS)
    return {arm: run.scores for arm, run in runs.items()}


def counts(found: dict[str, Any]) -> dict[str, str]:
    return {name: f"{share['ok']}/{share['of']}" for name, share in found["first_try"].items()}


@pytest.mark.parametrize(
    ("ties", "arm", "retries", "vector", "compliance"),
    [
        ("oldest", "A0", 27, NO_MEMORY, 0.0),
        ("oldest", "A1", 14, OLDEST, 33.3),
        ("oldest", "A2", 9, WHOLE_TABLE, 100.0),
        ("oldest", "A2D", 7, ONE_ROTATION, 100.0),
        ("oldest", "A2DC", 7, ONE_ROTATION, 100.0),
        ("oldest", "A2DG", 7, ONE_ROTATION, 100.0),
        ("newest", "A0", 27, NO_MEMORY, 0.0),
        ("newest", "A1", 7, ONE_ROTATION, 100.0),
        ("newest", "A2", 9, WHOLE_TABLE, 100.0),
        ("newest", "A2D", 7, ONE_ROTATION, 100.0),
        ("newest", "A2DC", 7, ONE_ROTATION, 100.0),
        ("newest", "A2DG", 7, ONE_ROTATION, 100.0),
    ],
)
def test_each_arm_retries_where_it_must_and_nowhere_else(
    ties: str, arm: str, retries: int, vector: str, compliance: float
) -> None:
    found = scores("payments", ties)[arm]
    assert (found["retries"], found["retry_vector"], found["compliance"]) == (
        retries,
        vector,
        compliance,
    )


@pytest.mark.parametrize(
    ("arm", "governed", "post"),
    [("A0", "0/10", "0/3"), ("A1", "3/10", "2/3"), ("A2", "9/10", "0/3"), ("A2D", "9/10", "2/3")],
)
def test_table_granularity_bills_a_class_that_never_drifted(
    arm: str, governed: str, post: str
) -> None:
    found = counts(scores("payments", "oldest")[arm])
    remembers = arm != "A0"
    assert found == {
        "governed": governed,
        "funding": f"{(3 if remembers else 0) + int(post[0])}/9",
        "funding_pre": "3/6" if remembers else "0/6",
        "funding_post": post,
        "control": "5/6" if remembers else "0/6",
        "none": "9/9",
    }


@pytest.mark.parametrize(
    ("arm", "evictions", "wrong", "restamps", "paper", "precision", "recall"),
    [
        ("A0", 0, 0, 0, None, None, None),
        ("A1", 0, 0, 0, None, None, 0.0),
        ("A2", 4, 3, 0, 0.25, 0.25, 1.0),
        ("A2D", 1, 0, 3, 1.0, 1.0, 1.0),
        ("A2DC", 1, 0, 3, 1.0, 1.0, 1.0),
        ("A2DG", 1, 0, 3, 1.0, 1.0, 1.0),
    ],
)
def test_evictions_are_judged_by_the_world_at_that_moment(
    arm: str,
    evictions: int,
    wrong: int,
    restamps: int,
    paper: float | None,
    precision: float | None,
    recall: float | None,
) -> None:
    found = scores("payments", "oldest")[arm]
    assert (found["evictions"], found["evictions_wrong"], found["restamps"]) == (
        evictions,
        wrong,
        restamps,
    )
    assert (found["paper_precision"], found["precision"], found["recall"]) == (
        paper,
        precision,
        recall,
    )


def test_every_episode_completes_and_every_response_is_taken_in() -> None:
    for ties in ("oldest", "newest"):
        for arm, found in scores("payments", ties).items():
            assert (arm, found["completed"], found["troubles"]) == (arm, 36, {})


def test_without_drift_every_memory_pays_for_first_meetings_only() -> None:
    found = scores("undrifted", "oldest")
    assert found["A0"]["retries"] == 27
    for arm in ARMS[1:]:
        assert found[arm]["retry_vector"] == NO_DRIFT
        assert found[arm]["compliance_of"] == {"ok": 11, "of": 11, "pct": 100.0}
        assert (found[arm]["evictions"], found[arm]["restamps"]) == (0, 0)


@pytest.mark.parametrize(
    ("scenario", "scored", "oldest_pct", "retries"),
    [("rotations-1", 9, 33.3, 7), ("rotations-2", 7, 42.9, 8), ("rotations-3", 5, 60.0, 9)],
)
def test_each_rotation_costs_row_granularity_one_retry(
    scenario: str, scored: int, oldest_pct: float, retries: int
) -> None:
    found = scores(scenario, "oldest")
    assert found["A1"]["compliance_of"] == {"ok": 3, "of": scored, "pct": oldest_pct}
    assert (found["A1"]["retries"], found["A1"]["retry_vector"]) == (14, OLDEST)
    for arm in ("A2D", "A2DC", "A2DG"):
        assert (found[arm]["compliance"], found[arm]["retries"]) == (100.0, retries)
        assert found[arm]["evictions_correct"] == found[arm]["evictions"] == retries - 6


def test_the_story_shows_each_way_of_going_wrong() -> None:
    found = scores("story", "oldest")
    vectors = {arm: found[arm]["retry_vector"] for arm in ("A0", "A1", "A2", "A2D")}
    assert vectors == {"A0": "11111", "A1": "11110", "A2": "11101", "A2D": "11100"}
    assert {arm: found[arm]["stale_applied"] for arm in vectors} == {
        "A0": 0,
        "A1": 2,
        "A2": 1,
        "A2D": 1,
    }
