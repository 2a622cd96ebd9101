"""The recipe stream, run over real HTTP, against the numbers that its design forces."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest
from typer.testing import CliRunner

from lapse_bench.arms import ARMS
from lapse_bench.cli import app
from lapse_bench.planners import planner
from lapse_bench.recipes import run_recipes
from lapse_bench.recipes_stream import load_recipes


def uncounted(arms: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Scores without what only the command counts."""
    return {
        arm: {name: value for name, value in found.items() if name not in {"tokens", "saving_pct"}}
        for arm, found in arms.items()
    }


@cache
def scores(ties: str) -> dict[str, dict[str, Any]]:
    return run_recipes(load_recipes(), planner(ties), ARMS)


def test_the_stream_has_twelve_episodes_on_each_of_four_rungs() -> None:
    stream = load_recipes()
    assert Counter(stream.rungs) == dict.fromkeys(
        ("omnivore", "pescatarian", "vegetarian", "vegan"), 12
    )
    assert Counter(task.family for task in stream.episodes) == {
        "celiac": 20,
        "combination": 20,
        "ladder": 4,
        "none": 4,
    }


@pytest.mark.parametrize(
    ("ties", "arm", "retries", "celiac", "combination", "evictions", "restamps"),
    [
        ("oldest", "A0", 44, 0, 0, (0, 0), 0),
        ("oldest", "A1", 25, 5, 12, (0, 0), 0),
        ("oldest", "A2", 23, 12, 7, (1, 8), 0),
        ("oldest", "A2D", 15, 15, 12, (1, 0), 8),
        ("oldest", "A2DC", 15, 15, 12, (1, 0), 8),
        ("oldest", "A2DG", 15, 15, 12, (1, 0), 8),
        ("newest", "A1", 15, 15, 12, (0, 0), 0),
        ("newest", "A2D", 15, 15, 12, (1, 0), 8),
    ],
)
def test_each_arm_retries_where_it_must_and_nowhere_else(
    ties: str,
    arm: str,
    retries: int,
    celiac: int,
    combination: int,
    evictions: tuple[int, int],
    restamps: int,
) -> None:
    found = scores(ties)[arm]
    first = {name: share["ok"] for name, share in found["first_try"].items()}
    remembered = 0 if arm == "A0" else 2
    assert (found["retries"], found["completed"], found["troubles"]) == (retries, 48, {})
    assert first == {
        "celiac": celiac,
        "combination": combination,
        "ladder": remembered,
        "none": 4,
    }
    assert (found["evictions_correct"], found["evictions_wrong"]) == evictions
    assert found["restamps"] == restamps


def test_row_granularity_gains_what_a_reader_of_old_entries_loses() -> None:
    found = scores("oldest")
    assert {arm: found[arm]["first_try"]["celiac"]["pct"] for arm in ("A1", "A2", "A2D")} == {
        "A1": 25.0,
        "A2": 60.0,
        "A2D": 75.0,
    }
    assert (found["A2D"]["precision"], found["A2D"]["recall"]) == (1.0, 1.0)
    assert found["A1"]["stale_applied"] == 11
    assert found["A2D"]["stale_applied"] == 1  # the slot that no arm can avoid


def test_the_command_writes_the_same_as_json_and_as_a_table() -> None:
    done = CliRunner().invoke(app, ["run", "recipes", "--arms", "A2D", "--format", "json"])
    assert done.exit_code == 0
    result = json.loads(done.stdout)
    assert all(found["tokens"]["prompt"] > 0 for found in result["arms"].values())
    expected = {arm: scores("oldest")[arm] for arm in ("A2D",)}
    assert uncounted(result["arms"]) == uncounted(expected)
    assert (result["world"], result["problems"]) == ("recipes-v1", [])
    assert "15/20" in CliRunner().invoke(app, ["run", "recipes", "--arms", "A2D"]).stdout
