"""Returns to a history that nobody made up: what flips, and what flips back."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from lapse.errors import InvalidValue
from lapse_bench.cli import app
from lapse_bench.returns.episodes import UNLIMITED, judged
from lapse_bench.returns.intervals import interval
from lapse_bench.returns.registry import METHODS
from lapse_bench.returns.stackage import (
    StackageEpisode,
    Statuses,
    episodes_of,
    read_statuses,
    statuses_of,
)
from lapse_bench.returns.stackage_command import LINKS_ONLY
from lapse_bench.returns.stackage_running import run_stackage
from lapse_bench.traces import Event, History

DAY = 86_400


def small(**packages: dict[int, str]) -> Statuses:
    """Packages with what their status became on which day; every one is built from day 0 on."""
    at = {name: (0, *(day * DAY for day in changes)) for name, changes in packages.items()}
    values = {name: ("built", *changes.values()) for name, changes in packages.items()}
    return Statuses("small", 0, 1000 * DAY, at, values)


def only(statuses: Statuses, days: int, **more: int) -> StackageEpisode:
    """The one episode of one departure."""
    (one,) = episodes_of(statuses, absences=[days], departures=1, **more)
    return one


@cache
def ran() -> dict[str, Any]:
    done = CliRunner().invoke(
        app,
        ["run", "stackage-return", "--departures", "4", "--absences", "7,365", "--format", "json"],
    )
    assert done.exit_code == 0, done.output
    result: dict[str, Any] = json.loads(done.stdout)
    return result


# Every day something happens to "flips", so that wherever the departure is drawn, it has moved.
FLIPS = {day: "blocked" if day % 2 else "built" for day in range(1, 1000)}


def test_what_the_agent_held_and_what_is_so_are_the_historys() -> None:
    one = only(small(flips=FLIPS, still={}), 3, packages=2, notes=4)
    left, back = one.episode.departed, one.episode.returned
    assert back - left == 3 * DAY
    was, now = ("blocked" if moment // DAY % 2 else "built" for moment in (left, back))
    assert was != now
    assert {claim.fact for claim in one.episode.bank if claim.attribute == "status"} == {
        ("flips", "status", was),
        ("still", "status", "built"),
    }
    assert [claim.at // DAY for claim in one.episode.log] == [left // DAY + n for n in (1, 2, 3)]
    assert {("flips", "status", now), ("still", "status", "built")} <= one.answers.valid
    assert ("flips", "status", was) in one.answers.stale
    for claim in one.episode.bank:
        if claim.attribute == "concluded":
            rests_on = {slot for slot, _ in claim.assumes}
            assert (claim.fact in one.answers.valid) is ("flips / status" not in rests_on)


def test_what_comes_back_carries_its_notes_again_and_only_by_value() -> None:
    one = only(small(flips=FLIPS), 2, packages=1, notes=1)
    (note,) = one.restored
    assert note in one.answers.valid
    shown = {
        method.name: judged(method, one.episode, one.answers, UNLIMITED)
        for method in (METHODS["lapse"], LINKS_ONLY, METHODS["memtx"], METHODS["memstrata"])
    }
    assert all(shown["lapse"].available)
    assert all(shown["lapse"].withheld)
    assert not all(shown["lapse, links only"].available)
    assert not all(shown["memtx"].available)
    assert all(shown["memstrata"].available)  # it lets nothing fall, so nothing has to come back


def test_a_package_that_leaves_the_list_leaves_nothing_in_its_place() -> None:
    gone = {day: "" if day % 2 else "built" for day in range(1, 1000)}
    for days in (1, 2, 3):
        episodes = [
            one
            for seed in range(4)
            for one in episodes_of(
                small(gone=gone), absences=[days], departures=1, packages=1, notes=1, seed=seed
            )
        ]
        for one in episodes:
            said = judged(METHODS["lapse"], one.episode, one.answers, UNLIMITED)
            assert all(said.available)
            assert all(said.withheld)
            assert all(fact[2] for fact in one.answers.valid | one.answers.stale)


def test_an_absence_in_which_nothing_moves_is_no_episode() -> None:
    assert list(episodes_of(small(still={}), absences=[30], departures=3)) == []
    with pytest.raises(InvalidValue, match="something moves"):
        run_stackage((), (METHODS["lapse"],))


def test_departures_are_the_same_for_every_absence() -> None:
    episodes = list(episodes_of(small(flips=FLIPS), absences=[1, 9], departures=3, packages=1))
    by_days = {
        days: [one.episode.departed for one in episodes if one.days == days] for days in (1, 9)
    }
    assert by_days[1] == by_days[9]
    assert len(set(by_days[1])) == 3
    again = list(episodes_of(small(flips=FLIPS), absences=[1, 9], departures=3, packages=1))
    assert again == episodes


def test_the_real_history_flips_back_and_only_lapse_follows() -> None:
    methods = ran()["methods"]
    assert (methods["lapse"]["via"], methods["lapse"]["iir"]) == (100, 100)
    assert methods["lapse"]["restored"] == 100
    assert methods["memtx"]["iir"] == 100
    assert methods["memtx"]["via"] < 100
    assert methods["memtx"]["restored"] == methods["lapse, links only"]["restored"] == 0
    assert methods["memstrata"]["iir"] < 100
    for name, told in methods.items():
        if name != "lapse":
            assert told["via"] < 100 or told["iir"] < 100


def test_a_result_says_what_it_rests_on() -> None:
    result = ran()
    assert {"commit", "date", "machine", "config", "data", "problems"} <= result.keys()
    assert result["config"]["absences"] == [7, 365]
    assert result["data"]["shipped"] is True
    for name, told in result["methods"].items():
        rows = result["samples"][name]
        assert len(rows) == told["n"] == sum(b["n"] for b in told["absences"].values())
        assert told["overall"] is None
        for block in told["absences"].values():
            low, high = block["via_interval"]
            assert low <= block["via"] <= high
    events = [block["events"] for block in result["methods"]["lapse"]["absences"].values()]
    assert events[0] < events[1]


def test_the_history_that_ships_is_whole() -> None:
    statuses = read_statuses()
    assert statuses.name == "stackage"
    assert len(statuses.at) > 3500
    for package, moments in list(statuses.at.items())[:200]:
        assert list(moments) == sorted(set(moments))
        assert statuses.status(package, moments[0] - 1) == ""
        assert statuses.status(package, moments[-1]) == statuses.values[package][-1]


def test_of_two_events_in_one_second_the_last_counts() -> None:
    def event(op: Any, before: Any, after: Any) -> Event:
        return Event(1_000_000, "c", "packages", "p", op, before, after)

    built, bound = {"enabled": True}, {"enabled": False, "bounds": ["< 2"]}
    found = statuses_of(History("h", (event("added", None, built), event("changed", built, bound))))
    assert found.status("p", 1) == 'blocked, bounds ["< 2"]'
    other = Event(1, "c", "hide", "p", "added", None, {"listed": True})
    with pytest.raises(InvalidValue, match="table packages"):
        statuses_of(History("h", (other,)))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"absences": []}, "absences"),
        ({"absences": [0]}, "absences"),
        ({"departures": 0}, "departures"),
        ({"packages": 0}, "packages"),
        ({"notes": -1}, "notes"),
        ({"absences": [900]}, "not long enough"),
    ],
)
def test_bounds_are_told(more: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        list(episodes_of(small(still={}), **more))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(0, 3))
def test_an_interval_lies_around_its_mean(values: list[float], seed: int) -> None:
    low, high = interval(values, seed=seed)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert interval(values, seed=seed) == (low, high)


def test_an_interval_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at least one"):
        interval([])


def test_people_get_a_table(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    done = CliRunner().invoke(
        app,
        ["run", "stackage-return", "--departures", "1", "--absences", "30", "--out", str(out)],
    )
    assert done.exit_code == 0, done.output
    assert "lapse, links only" in done.stdout
    assert json.loads(out.read_text(encoding="utf-8"))["benchmark"] == "stackage-return"
