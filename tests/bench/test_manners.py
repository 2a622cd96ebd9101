"""What a planner's manner does to a memory, and what the transport's merging does about it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from typer.testing import CliRunner

from lapse.contract import POLICIES, Reading
from lapse.judges import STAND_INS, Task
from lapse_bench import recipes_world
from lapse_bench.cli import app
from lapse_bench.courses import CONSUMES, Consume, Course
from lapse_bench.payments import WORLD, run_payments
from lapse_bench.planners import counted, planner
from lapse_bench.recipes import run_recipes
from lapse_bench.recipes_stream import load_recipes
from lapse_bench.scenarios import SHIPPED, load
from lapse_bench.tasks import task_of
from lapse_bench.worlds import acme

NO_MEMORY = "110111011110111011101110011110111110"
COMPLIANT = "110101001000100000000000000000000100"
# Twelve governed and six control episodes lack a field; four tokens are met for the first time.
DECLINES_TO_ADD = "110111011110110010100110010110011110"
TWICE = NO_MEMORY.replace("1", "2")


@cache
def scores(name: str, arm: str, consume: Consume = "brief", *, seed: int = 0) -> dict[str, Any]:
    found = planner(name, seed=seed)
    return run_payments(load("payments"), found, [arm], consume=consume)[arm].scores


@pytest.mark.parametrize(
    ("name", "arm", "vector", "compliance"),
    [
        ("conservative", "A0", NO_MEMORY, 0.0),
        ("conservative", "A2D", DECLINES_TO_ADD, 0.0),
        ("paraphrasing", "A0", TWICE, 0.0),
        ("paraphrasing", "A2D", TWICE, 0.0),
        ("forgetful", "A1", COMPLIANT, 100.0),
        ("forgetful", "A2D", COMPLIANT, 100.0),
    ],
)
def test_a_manner_costs_what_it_costs_with_any_memory(
    name: str, arm: str, vector: str, compliance: float
) -> None:
    found = scores(name, arm)
    assert (found["retry_vector"], found["compliance"]) == (vector, compliance)
    assert (found["completed"], found["troubles"], found["planner_failures"]) == (36, {}, {})


def test_the_conservative_one_still_follows_fixes_that_rewrite() -> None:
    first = scores("conservative", "A2D")["first_try"]
    assert {name: f"{share['ok']}/{share['of']}" for name, share in first.items()} == {
        "governed": "0/10",
        "funding": "5/9",
        "funding_pre": "3/6",
        "funding_post": "2/3",
        "control": "0/6",
        "none": "9/9",
    }


@pytest.mark.parametrize("name", ["oldest", "conservative", "paraphrasing", "forgetful"])
def test_where_the_transport_merges_every_planner_complies(name: str) -> None:
    found = scores(name, "A2D", "apply")
    assert found["compliance"] == 100.0
    assert (found["evictions_correct"], found["evictions_wrong"], found["restamps"]) == (1, 0, 3)
    # 27 episodes ask for something; six are first meetings, in which nothing is remembered.
    assert found["amended_by_transport"] == 21
    # What was sent is judged, and not what the planner wrote: in the slot that no arm can avoid,
    # the transport merged a code that had lapsed.
    assert found["stale_applied"] == 1
    if name != "paraphrasing":  # it restates what a refusal says, and is refused again
        assert found["retry_vector"] == COMPLIANT


def test_a_planner_is_shown_nothing_that_the_transport_merges() -> None:
    def cost(consume: Consume) -> dict[str, int]:
        found = counted(planner("newest"))
        return run_payments(load("payments"), found, ["A2D"], consume=consume)["A2D"].scores[
            "tokens"
        ]

    tokens = {consume: cost(consume) for consume in CONSUMES}
    assert tokens["brief"]["memory"] > 0
    assert tokens["apply"]["memory"] == 0
    assert tokens["apply"]["prompt"] < tokens["brief"]["prompt"]


def test_two_fixes_at_once_are_too_many_for_the_forgetful_one() -> None:
    request = {"plan": "plan_startup", "program": "early_stage"}

    def retries(name: str) -> list[int]:
        with Course(planner=planner(name), policy=POLICIES["A2D"]).on(WORLD) as running:
            done = [running.attempt(n, "POST /v1/subscriptions", request) for n in range(3)]
        assert all(episode.completed for episode in done)
        return [episode.retries for episode in done]

    assert retries("newest") == [2, 0, 0]
    assert retries("forgetful") == [2, 1, 1]


def test_recipes_take_the_same_planners() -> None:
    def first_try(name: str, consume: Consume) -> tuple[int, int]:
        found = run_recipes(load_recipes(), planner(name), ["A2D"], consume=consume)["A2D"]
        assert found["completed"] == 48
        return found["first_try"]["celiac"]["ok"], found["first_try"]["combination"]["ok"]

    assert first_try("conservative", "brief") == (15, 12)  # nothing here adds a field
    assert first_try("paraphrasing", "brief") == (0, 0)
    assert first_try("paraphrasing", "apply") == (15, 12)


def test_a_stand_in_repeats_by_its_seed_and_is_not_asked_what_was_not_measured() -> None:
    name = "stand-in:claude-sonnet-4-6"
    once = run_payments(load("payments"), planner(name, seed=3), ["A2D"])["A2D"].scores
    assert once == scores(name, "A2D", seed=3)
    assert len({scores(name, "A2D", seed=seed)["retry_vector"] for seed in range(4)}) > 1
    done = CliRunner().invoke(
        app, ["run", "recipes", "--planner", "stand-in:gpt-5-mini", "--arms", "A2D"]
    )
    assert "no rate for rewrite_a_value" in str(done.exception)


def test_a_stand_in_says_what_it_is_wherever_its_numbers_are() -> None:
    command = ["run", "payments", "--planner", "stand-in:claude-haiku-4-5", "--arms", "A2D"]
    result = json.loads(CliRunner().invoke(app, [*command, "--format", "json"]).stdout)
    assert result["planner"]["stand_in"] is True
    assert result["planner"]["answered"] == "stand-in:claude-haiku-4-5"
    page = CliRunner().invoke(app, command, env={"COLUMNS": "80"}).stdout
    assert "planner stand-in:claude-haiku-4-5" in page
    assert "no measurement of it" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", STAND_INS)
def test_stand_ins_come_close_to_the_rates_that_were_put_in(name: str) -> None:
    seeds = range(6)
    found = [scores(name, "A2D", seed=seed)["compliance_of"] for seed in seeds]
    rate = sum(one["ok"] for one in found) / sum(one["of"] for one in found)
    put_in = STAND_INS[name](0).follows["add_a_field"]
    # Three standard deviations of 54 draws; the seeds are fixed, so this is no bet.
    assert abs(rate - put_in) <= 3 * (put_in * (1 - put_in) / 54) ** 0.5


def test_no_task_tells_what_would_make_it_right() -> None:
    """The words of a task hold no value that a fix would set, and name no field of a request."""
    rows = {"acme": acme.TABLES, "recipes": recipes_world.TABLES}
    values = {
        str(value).lower()
        for tables in rows.values()
        for table in tables.values()
        for row in table.values()
        for value in row.values()
        if isinstance(value, str)
    }
    for scenario in SHIPPED:
        for task in load(scenario).episodes:
            words = task_of(task.operation, task.request, episode=0, schemas={}).words.lower()
            assert words
            assert not [value for value in values if value in words]
            assert not [name for name in ("promotion", "campaign", "token") if name in words]
            # A request that lacks nothing is no leak; one that does lacks what its fix would set.
            if task.family == "governed":
                reading = Reading(acme.initial())
                violation = acme.judge(task.operation, task.request, reading)
                assert violation is None or all(
                    name not in task.request for name in violation.suggestions[0].parameters
                )


def test_the_number_of_an_episode_tells_equal_tasks_apart() -> None:
    def task(episode: int) -> Task:
        return task_of("POST /v1/customers", {}, episode=episode, schemas={})

    assert task(1) != task(2)
    assert task(1).schema is None
