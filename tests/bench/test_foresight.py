"""Walking forward over a history: only the past predicts, and scores are what they say."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from lapse.contract import DAY, Drift
from lapse.errors import InvalidValue
from lapse.ledger import Source
from lapse_bench.foresight.command import run
from lapse_bench.foresight.course import ISSUER, Course, is_defect
from lapse_bench.foresight.models import MODELS, Past
from lapse_bench.foresight.result import run_foresight
from lapse_bench.foresight.scores import Sheet
from lapse_bench.foresight.walk import Level, Step, walk
from lapse_bench.traces import Event, History

START = 1_600_000_000_000_000
LIVELY = ("a0", "a1", "a2")


def event(day: float, table: str, key: str, value: int | None, before: int | None) -> Event:
    at = START + round(day * DAY)
    op = "added" if before is None else "removed" if value is None else "changed"
    rows = [None if v is None else {"v": v} for v in (before, value)]
    return Event(at, f"c{at}", table, key, op, rows[0], rows[1])


def history(*, seed: int = 1, days: int = 900, every: float = 9.0) -> History:
    """Two tables: in each, a few rows that move often, and many that hardly do."""
    random = np.random.default_rng(seed)
    events: list[Event] = []
    values: dict[tuple[str, str], int] = {}
    keys = [*LIVELY, *(f"b{n}" for n in range(20))]
    for table in ("one", "two"):
        for key in keys:
            events.append(event(0, table, key, 0, None))
            values[table, key] = 0
    for table in ("one", "two"):
        day = 0.0
        while (day := day + float(random.exponential(every))) < days:
            for key in keys:
                if random.random() < (0.7 if key in LIVELY else 0.01):
                    was = values[table, key]
                    values[table, key] = was + 1
                    events.append(event(day, table, key, was + 1, was))
    return History("made", tuple(sorted(events, key=lambda found: found.at)))


def steps(told: History, horizon: float = 30) -> list[Step]:
    course = Course(told)
    return list(walk(course, round(horizon * DAY), tell=lambda _, __: None, drift=[]))


def result(told: History, **more: Any) -> dict[str, Any]:
    wanted: dict[str, Any] = {"horizon_days": 30, "seed": 0, "whole": False}
    return run_foresight(told, tell=lambda _, __: None, **(wanted | more))


def test_a_poisoned_future_changes_no_prediction_of_the_past() -> None:
    clean = history()
    cut = START + 500 * DAY
    poisoned = replace(
        clean,
        events=tuple(found for found in clean.events if found.at <= cut)
        + tuple(event(500 + n, "one", "b0", n % 2, (n + 1) % 2) for n in range(1, 400) if n != 250),
    )
    said, lied = steps(clean), steps(poisoned)
    before = [pair for pair in zip(said, lied, strict=False) if pair[0].origin <= cut]
    assert len(before) > 8
    for true, false in before:
        for level, mine in true.levels.items():
            for name in MODELS:
                theirs = false.levels[level].chances[name]
                assert list(mine.chances[name]) == list(theirs), (name, level)
    after = [pair for pair in zip(said, lied, strict=False) if pair[0].origin > cut]
    assert any(
        list(true.levels["rows"].chances["ours"]) != list(false.levels["rows"].chances["ours"])
        for true, false in after
    )


def test_a_forecaster_refuses_what_is_later_than_its_origin() -> None:
    course = Course(history())
    past = Past(course.since, 30 * DAY)
    with pytest.raises(InvalidValue, match="at"):
        past.advance(course.commits, course.since + DAY)


def test_the_outcome_is_what_happened_in_the_period_after_the_origin() -> None:
    told = history()
    course, kept = Course(told), list[Drift]()
    for step in walk(course, 30 * DAY, tell=lambda _, __: None, drift=kept):
        truth = {
            Source.row(ISSUER, found.table, found.key)
            for found in told.events
            if step.origin < found.at <= step.origin + 30 * DAY and found.op != "added"
        }
        level = step.levels["rows"]
        assert {kept[0].sources[int(n)] for n in level.asked[level.moved]} == truth


def test_pooling_beats_what_it_is_made_of_where_rows_differ() -> None:
    found = result(history(days=1_500))
    assert found["helps"]["rows"] == dict.fromkeys(found["helps"]["rows"], "better")
    scores = found["levels"]["rows"]["models"]
    assert scores["ours"]["brier"]["mean"] < scores["global_rate"]["brier"]["mean"]


def test_a_prediction_is_as_likely_as_it_says() -> None:
    level = result(history(days=3_000))["levels"]["rows"]
    bins = level["models"]["ours"]["calibration"]
    assert sum(b["n"] for b in bins) == level["n"]
    off = sum(b["n"] * abs(b["observed"] - b["predicted"]) for b in bins) / level["n"]
    assert off < 0.06


def test_equal_runs_give_equal_results() -> None:
    assert result(history()) == result(history())
    assert result(history(), seed=5)["levels"] != result(history())["levels"]


def test_scores_are_those_of_the_definitions() -> None:
    sheet = Sheet()
    chances = np.array([0.25, 0.5, 0.9])
    sheet.take(
        0,
        Level(
            asked=np.array([1, 2, 3]),
            tables=np.array([0, 0, 0]),
            known=np.array([True, False, False]),
            chances=dict.fromkeys(MODELS, chances),
            moved=np.array([False, True, True]),
        ),
    )
    found = sheet.result(seed=0)
    log = -(math.log(0.75) + math.log(0.5) + math.log(0.9)) / 3
    assert found["models"]["ours"]["log_score"]["mean"] == pytest.approx(log)
    brier = (0.0625 + 0.25 + 0.01) / 3
    assert found["models"]["ours"]["brier"]["mean"] == pytest.approx(brier)
    assert found["gain_over"]["global_rate"]["interval"] == [0, 0]
    assert found["segments"]["moved_before"]["n"] == 1


def test_what_a_history_is_known_to_get_wrong_is_neither_learned_nor_scored() -> None:
    told = history()
    dropped = [
        event(600, "one", f"x.additionalData.{n}", 0, None) for n in range(5)
    ]  # not on one of the two days: kept
    day = "2021-03-05T10:00:00+00:00"
    at = round(np.datetime64(day.removesuffix("+00:00"), "us").astype(np.int64))
    gone = replace(event(0, "one", "x.additionalData.0", None, 0), at=at)
    assert not is_defect("adyen", dropped[0], 5)
    assert is_defect("adyen", gone, 5)
    assert not is_defect("twilio", gone, 5)
    events = (*told.events, *dropped, gone)
    ordered = tuple(sorted(events, key=lambda found: found.at))
    course = Course(History("adyen", ordered))
    commit = next(found for found in course.commits if found.defects)
    assert course.defects == 1
    assert (commit.touched, commit.moved) == (False, ())
    assert commit.removed == ("x.additionalData.0",)
    assert Course(History("adyen", ordered), whole=True).defects == 0


@pytest.mark.parametrize(
    ("trace", "day", "table", "rows", "before", "after", "expected"),
    [
        ("endoflife", "2022-05-24", "php", 1, {"a": 1}, {"a": 1, "b": 2}, True),
        ("endoflife", "2022-05-24", "php", 1, {"a": 1}, {"a": 3, "b": 2}, False),
        ("endoflife", "2022-05-24", "php", 1, {"a": 1}, None, False),
        ("endoflife", "2022-05-24", "php", 1, {"a": [1]}, {"a": [1]}, False),
        ("endoflife", "2022-05-25", "php", 1, {"a": 1}, {"a": 1, "b": 2}, False),
        ("endoflife", "2025-05-01", "samsung-mobile", 1, {"a": 1}, None, True),
        ("twilio", "2021-03-05", "twilio/preview", 575, {"a": 1}, None, True),
        ("twilio", "2021-03-05", "twilio/preview", 8, {"a": 1}, None, False),
        ("other", "2021-03-05", "twilio/preview", 575, {"a": 1}, None, False),
    ],
)
def test_known_defects_are_told_by_day_and_table(
    trace: str, day: str, table: str, rows: int, before: Any, after: Any, *, expected: bool
) -> None:
    at = int(np.datetime64(f"{day}T12:00:00", "us").astype(np.int64))
    op = "removed" if after is None else "changed"
    assert is_defect(trace, Event(at, "c", table, "k", op, before, after), rows) is expected


def test_a_history_that_is_too_short_says_so() -> None:
    with pytest.raises(InvalidValue, match="pass fewer days"):
        result(history(days=100))


APP = typer.Typer()
APP.command()(run)


def written(told: History, path: Path) -> Path:
    """A trace file."""
    lines = [
        json.dumps(
            {
                "at": str(np.datetime64(found.at, "us")) + "Z",
                "commit": found.commit,
                "table": found.table,
                "key": found.key,
                "op": found.op,
                "before": found.before,
                "after": found.after,
            }
        )
        for found in told.events
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def test_the_command_writes_json_and_plots(tmp_path: Path) -> None:
    trace = written(history(), tmp_path / "made.jsonl.gz")
    done = CliRunner().invoke(
        APP, ["--trace", str(trace), "--format", "json", "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "out" / "foresight-made.json").read_text())
    assert found["benchmark"] == "foresight"
    assert set(found["levels"]) == {"rows", "tables"}
    assert set(found["levels"]["rows"]["models"]) == set(MODELS)
    assert found["config"]["seed"] == 0
    assert "commit" in found
    assert (tmp_path / "out" / "foresight-made.svg").read_text().startswith("<?xml")
    assert (tmp_path / "out" / "foresight-made.png").stat().st_size > 10_000


def test_the_command_prints_a_table(tmp_path: Path) -> None:
    trace = written(history(), tmp_path / "made.jsonl.gz")
    done = CliRunner().invoke(APP, ["--trace", str(trace)])
    assert "same_as_last" in done.stdout


def test_a_history_that_is_not_here_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(APP, ["--trace", "stackage"])
    assert isinstance(done.exception, InvalidValue)
    assert "not in the package" in str(done.exception)
