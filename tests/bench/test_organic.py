"""Real histories over real HTTP: a tiny one that can be counted by hand, and one that ships."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lapse_bench.arms import ORGANIC_ARMS
from lapse_bench.organic import OrganicArm, run_organic
from lapse_bench.planners import planner
from lapse_bench.traces import Event, History, described, find, read

HOUR = 3_600_000_000


def release(hour: int, key: str, latest: str, before: str | None) -> Event:
    return Event(
        hour * HOUR,
        f"c{hour}",
        "php",
        key,
        "added" if before is None else "changed",
        None if before is None else {"latest": before},
        {"latest": latest},
    )


def run(history: History, *, episodes: int, seed: int = 1) -> dict[str, OrganicArm]:
    return run_organic(history, planner("oldest"), ORGANIC_ARMS, episodes=episodes, seed=seed)


def test_one_release_in_the_middle_is_counted_by_hand() -> None:
    history = History(
        "tiny",
        (
            release(0, "7.1", "7.1.1", None),
            release(5, "7.1", "7.1.2", "7.1.1"),
            release(10, "8.0", "8.0.1", None),
        ),
    )
    scores = {arm: at.as_json() for arm, at in run(history, episodes=10).items()}
    # Five episodes before the release and five after; one cycle exists, so all ask for it.
    assert {arm: found["retries"] for arm, found in scores.items()} == {
        "A0": 10,
        "A1": 1 + 5,
        "A2": 1 + 1,
        "A2D": 1 + 1,
    }
    assert {arm: found["stale_applied"] for arm, found in scores.items()} == {
        "A0": 0,
        "A1": 5,
        "A2": 1,
        "A2D": 1,
    }
    assert {
        arm: (found["evictions_correct"], found["evictions_wrong"]) for arm, found in scores.items()
    } == {
        "A0": (0, 0),
        "A1": (0, 0),
        "A2": (1, 0),
        "A2D": (1, 0),
    }
    assert all(found["completed"] == found["episodes"] == 10 for found in scores.values())


def test_a_neighbour_that_moves_costs_table_granularity_what_still_held() -> None:
    history = History(
        "neighbours",
        (
            release(0, "7.1", "7.1.1", None),
            *(
                replace(release(h, "7.1", "7.1.1", "7.1.1"), after={"latest": "7.1.1", "eol": h})
                for h in (3,)
            ),
            release(10, "7.2", "7.2.1", None),
            release(20, "7.3", "7.3.1", None),
        ),
    )
    scores = {arm: at.as_json() for arm, at in run(history, episodes=40).items()}
    assert scores["A2"]["evictions_wrong"] > scores["A2D"]["evictions_wrong"] == 1
    assert scores["A2"]["evictions_correct"] == scores["A2D"]["evictions_correct"] == 0
    assert scores["A2D"]["restamps"] > 0
    assert scores["A1"]["stale_applied"] == 0


def test_the_shipped_history_of_an_api_runs_and_adds_up() -> None:
    found = find("twilio", start=Path("/"), full=False)
    history = read(found.path, name=found.name)
    arms = run(history, episodes=150, seed=3)
    scores = {arm: at.as_json() for arm, at in arms.items()}
    for arm, at in scores.items():
        assert (at["episodes"], at["completed"], at["troubles"]) == (150, 150, {}), arm
        assert at["attempts"] == at["episodes"] + at["retries"]
        assert at["evictions"] == at["evictions_correct"] + at["evictions_wrong"]
    assert scores["A0"]["fixes_applied"] == scores["A0"]["evictions"] == 0
    assert scores["A1"]["evictions"] == 0
    assert scores["A2D"]["evictions_wrong"] < scores["A2"]["evictions_wrong"]
    assert scores["A2D"]["retries"] <= scores["A2"]["retries"] <= scores["A0"]["retries"]
    assert described(history)["events"] == len(history.events)


def test_equal_seeds_give_equal_runs() -> None:
    found = find("endoflife", start=Path("/"), full=False)
    history = read(found.path)
    one, other = (run(replace(history, events=history.events[:400]), episodes=20) for _ in range(2))
    assert {arm: at.as_json() for arm, at in one.items()} == {
        arm: at.as_json() for arm, at in other.items()
    }
