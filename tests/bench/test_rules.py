"""The rule stream, run over real HTTP, against every row of Table 5 of the source text."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from lapse.errors import InvalidValue
from lapse_bench.cli import app
from lapse_bench.planners import planner
from lapse_bench.rules import RULE_ARMS, chosen_rule_arms, run_rules
from lapse_bench.rules_stream import load_rules

if TYPE_CHECKING:
    from pathlib import Path

COLD = "101101000000010000000000010000000000"
VECTORS = "101101000000010000000000011010000000"
STAMP = "101101000000011011100000011011001000"
DECLARED = "101101000000010000000000111010000000"


def uncounted(arms: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Scores without what only the command counts."""
    return {
        arm: {name: value for name, value in found.items() if name not in {"tokens", "saving_pct"}}
        for arm, found in arms.items()
    }


@cache
def scores(ties: str) -> dict[str, dict[str, Any]]:
    return run_rules(load_rules(), planner(ties), tuple(RULE_ARMS))


@pytest.mark.parametrize("ties", ["oldest", "newest"])
@pytest.mark.parametrize(
    ("arm", "counts", "evictions", "restamps", "alerts", "vector"),
    [
        ("A2D", (30, 6, 0, 0), {}, {}, [], COLD),
        ("A2DC", (28, 8, 2, 3), {"25": 2}, {"13": 3}, [13, 25], VECTORS),
        ("A2DR", (22, 14, 4 + 5, 0), {"12": 4, "24": 5}, {}, [12, 24], STAMP),
        ("A2DRC", (28, 8, 2, 3), {"25": 2}, {"13": 3}, [12, 24], VECTORS),
        ("A2DO", (27, 9, 3, 3), {"24": 3}, {"12": 3}, [12, 24], DECLARED),
    ],
)
def test_each_policy_detects_and_disposes_when_it_can_and_not_before(
    ties: str,
    arm: str,
    counts: tuple[int, ...],
    evictions: dict[str, int],
    restamps: dict[str, int],
    alerts: list[int],
    vector: str,
) -> None:
    found = scores(ties)[arm]
    names = ("first_try", "retries", "evictions", "restamps")
    assert tuple(found[name] for name in names) == counts
    assert (found["evictions_by_episode"], found["restamps_by_episode"]) == (evictions, restamps)
    assert (found["alerts"], found["retry_vector"]) == (alerts, vector)


def test_attempts_are_those_that_the_source_text_prints_and_nobody_starves() -> None:
    found = scores("oldest")
    attempts = {arm: arm_scores["attempts"] for arm, arm_scores in found.items()}
    assert attempts == {"A2D": 42, "A2DC": 44, "A2DR": 50, "A2DRC": 44, "A2DO": 45}
    assert {(s["completed"], str(s["troubles"])) for s in found.values()} == {(36, "{}")}


def test_no_value_that_was_evicted_had_become_wrong() -> None:
    for found in scores("oldest").values():
        assert found["evicted_still_accepted"] == found["evictions"]


def test_only_the_policy_that_needs_declarations_asks_for_them() -> None:
    asked = {arm: found["declaration_requests"] for arm, found in scores("oldest").items()}
    assert asked == {"A2D": 0, "A2DC": 0, "A2DR": 0, "A2DRC": 0, "A2DO": 36 + 3}


def test_the_command_writes_the_same_as_json_and_as_a_table() -> None:
    done = CliRunner().invoke(app, ["run", "rules", "--arms", "A2D,A2DRC", "--format", "json"])
    assert done.exit_code == 0
    result = json.loads(done.stdout)
    assert all(found["tokens"]["prompt"] > 0 for found in result["arms"].values())
    assert uncounted(result["arms"]) == uncounted(
        {arm: scores("oldest")[arm] for arm in ("A2D", "A2DRC")}
    )
    assert result["config"]["arms"] == {"A2D": "A2D", "A2DRC": "A2DRC"}
    assert result["problems"] == []
    table = CliRunner().invoke(app, ["run", "rules", "--arms", "A2DC"])
    assert "LAZY" in table.stdout
    assert "13/25" in table.stdout


def test_arms_that_are_no_detection_policies_are_refused() -> None:
    for names in (["A1"], []):
        with pytest.raises(InvalidValue, match="A2DRC"):
            chosen_rule_arms(names)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[", "readable"),
        ("{name: a}", "world"),
        (
            "{name: a, world: acme-rules-v1, tasks: {}, episodes: [[g9]], events: []}",
            "episodes of a",
        ),
    ],
)
def test_a_stream_that_could_not_be_run_is_refused(tmp_path: Path, text: str, place: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidValue, match=place):
        load_rules(file)
