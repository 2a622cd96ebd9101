"""How a return grows: which calls grow with what."""

from __future__ import annotations

import json
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lapse.errors import InvalidValue
from lapse_bench.cli import app
from lapse_bench.returns.scale import grown, run_scale


@cache
def ran() -> dict[str, Any]:
    arguments = ("--held", "20,24", "--team", "2", "--each", "5,10", "--most", "2")
    done = CliRunner().invoke(app, ["run", "return-scale", *arguments, "--format", "json"])
    assert done.exit_code == 0, done.output
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_workspace_is_as_large_as_it_is_asked_to_be() -> None:
    one = grown(held=30, team=3, each=7)
    assert (len(one.episode.bank), len(one.episode.log)) == (30, 21)
    assert {claim.source for claim in one.episode.log} == {f"agent {n}" for n in range(3)}
    texts = [claim.text for claim in one.episode.written]
    assert len(set(texts)) == len(texts)
    assert (len(one.answers.stale), len(one.answers.valid), len(one.broken)) == (10, 20, 10)
    assert grown(held=30, team=3, each=7) == one
    assert grown(held=30, team=3, each=7, seed=1) != one


def test_all_pairs_grow_with_items_times_events_and_named_ones_do_not() -> None:
    for row in ran()["rows"]:
        held, events = row["held"], row["events"]
        assert events == row["team"] * row["each"]
        assert row["all_pairs_held"] == held * events
        assert row["all_pairs_absence"] == events * (events - 1) // 2
        assert row["model_scan_held"] == held * ceil(events / 4)
        assert row["verify_held"] <= 2 * 2 * held
        assert row["verify_absence"] <= 2 * 2 * events
        assert row["verify_held"] < row["all_pairs_held"] / 2


def test_what_is_not_named_is_what_is_missed() -> None:
    rows = ran()["rows"]
    assert all(row["iir"] == row["recall"] for row in rows)  # the stand-in is honest
    assert all(row["via"] == 100 for row in rows)
    assert all(0 < row["recall"] <= 100 for row in rows)


def test_a_result_says_what_it_rests_on() -> None:
    result = ran()
    assert {"commit", "date", "machine", "config", "problems"} <= result.keys()
    methods = result["methods"]
    assert methods["memstrata"]["iir"] == 0
    assert methods["lapse"]["calls"] == sum(row["calls"] for row in result["rows"])
    assert methods["lapse"]["tokens"] == sum(row["tokens"] for row in result["rows"])
    assert all(told["n"] == 4 for told in methods.values())


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"held": 19, "team": 4, "each": 5}, "held is 19"),
        ({"held": 20, "team": 0, "each": 5}, "team is 0"),
        ({"held": 20, "team": 4, "each": 0}, "each is 0"),
        ({"held": 20, "team": 3, "each": 3}, "events is 9"),
        ({"held": 20, "team": 1, "each": 10**6}, "lines to say"),
    ],
)
def test_bounds_are_told(sizes: dict[str, int], says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        grown(**sizes)


def test_nothing_to_run_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at least one size"):
        run_scale((), (), most=1)


def test_people_get_a_table(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    arguments = ("--held", "20", "--team", "2", "--each", "5", "--out", str(out))
    done = CliRunner().invoke(app, ["run", "return-scale", *arguments])
    assert done.exit_code == 0, done.output
    assert "memstrata" in done.stdout
    assert len(json.loads(out.read_text(encoding="utf-8"))["rows"]) == 1
