"""The return benchmarks as a command: what comes out, and what is refused."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lapse.errors import InvalidValue
from lapse_bench.cli import app
from lapse_bench.returns.curves import curve_of
from lapse_bench.returns.episodes import UNLIMITED
from lapse_bench.returns.manbench import Item, episodes_of
from lapse_bench.returns.printed import manbench_beside
from lapse_bench.returns.registry import METHODS
from lapse_bench.returns.running import run_manbench, run_memora


def run(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["run", *arguments, "--format", "json"])
    assert done.exit_code == 0, done.output
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@cache
def memora(links: str) -> dict[str, Any]:
    return run("memora-return", "--links", links)


def scores(result: dict[str, Any], *which: str) -> dict[str, tuple[float, ...]]:
    return {
        name: tuple(told[column] for column in which) for name, told in result["methods"].items()
    }


def test_memora_with_links_that_are_named() -> None:
    assert scores(memora("named"), "via", "iir") == {
        "static": (100.0, 0.0),
        "restore": (44.38, 35.29),
        "reset": (0.0, 100.0),
        "checkpoint-replay": (100.0, 100.0),
        "last-writer-wins": (100.0, 70.58),
        "memstrata": (100.0, 100.0),
        "memtx": (100.0, 70.58),
        "lapse": (100.0, 100.0),
    }


def test_memora_without_links_is_where_all_of_them_fail() -> None:
    unnamed = scores(memora("unnamed"), "via", "iir")
    assert unnamed["memstrata"] == unnamed["last-writer-wins"] == (100.0, 70.58)
    assert unnamed["lapse"] == (100.0, 70.58)
    assert unnamed["checkpoint-replay"] == (100.0, 67.97)


@pytest.mark.parametrize("links", ["named", "unnamed"])
def test_at_no_departure_is_a_baseline_better_than_lapse_at_one_and_as_good_at_the_other(
    links: str,
) -> None:
    methods = memora(links)["methods"]
    for departure, ours in methods["lapse"]["departures"].items():
        for name, told in methods.items():
            theirs = told["departures"][departure]
            at_least = theirs["via"] >= ours["via"] and theirs["iir"] >= ours["iir"]
            assert not at_least or (theirs["via"], theirs["iir"]) == (ours["via"], ours["iir"]), (
                name
            )


def test_a_result_says_where_it_comes_from_and_what_it_rests_on() -> None:
    result = memora("named")
    assert {"commit", "date", "machine", "config", "data", "problems"} <= result.keys()
    assert result["config"]["seed"] == 0
    assert result["data"]["shipped"] is True
    assert result["source"]["compared"] is False
    for name, told in result["methods"].items():
        rows = result["samples"][name]
        assert len(rows) == told["n"] == 267
        assert sum(row[6] for row in rows) / len(rows) == pytest.approx(told["items"], abs=0.005)
        assert told["n"] == sum(block["n"] for block in told["departures"].values())
        assert (told["calls"], told["tokens"]) == (0, 0)


def test_a_budget_costs_what_is_valid() -> None:
    tight = run("memora-return", "--items", "2", "--methods", "memstrata")
    (told,) = tight["methods"].values()
    assert told["items"] <= 2
    assert told["via"] < 100
    assert told["iir"] == 100


BASELINES = ",".join(name for name in METHODS if name != "lapse")


@cache
def manbench() -> dict[str, Any]:
    return run("manbench-return", "--sizes", "4", "--methods", BASELINES)


@cache
def sampled(*arguments: str) -> dict[str, Any]:
    return run("manbench-return", "--sizes", "2,4", "--every", "150", *arguments)


def test_manbench_admits_as_the_source_printed() -> None:
    verdicts = {name: row["verdict"] for name, row in manbench()["source"]["rows"].items()}
    assert verdicts == {
        **dict.fromkeys(("static", "restore", "reset", "memtx"), "equal"),
        "memstrata": "different",
        "TRACE": "not compared",
    }
    assert scores(manbench(), "via", "iir") == {
        "static": (50.0, 50.0),
        "restore": (50.0, 50.0),
        "reset": (0.0, 100.0),
        "checkpoint-replay": (100.0, 0.0),
        "last-writer-wins": (50.0, 50.0),
        "memstrata": (48.56, 48.56),
        "memtx": (50.0, 50.0),
    }


def smaller(told: dict[str, Any]) -> float:
    return min(told["via"], told["iir"])


def test_an_honest_verifier_loses_nothing_and_a_poor_one_still_beats_every_policy() -> None:
    methods = sampled()["methods"]
    assert (methods["lapse"]["via"], methods["lapse"]["iir"]) == (100, 100)
    worst = smaller(methods["lapse, 0.6"])
    assert worst < smaller(methods["lapse, 0.8"]) < 100
    assert worst > max(smaller(methods[name]) for name in BASELINES.split(","))


def test_each_dispute_is_one_question_however_many_stayed() -> None:
    result = sampled()
    told = result["methods"]["lapse"]
    assert told["calls"] == told["n"]
    assert result["methods"]["lapse, 0.6"]["calls"] == told["n"] / 2  # one size of two
    assert told["tokens"] > 50 * told["calls"]
    assert [told["sizes"][size]["via"] for size in ("2", "4")] == [100, 100]


def test_nobody_asked_nothing_shown() -> None:
    told = sampled("--verifier", "none", "--methods", "lapse")["methods"]["lapse"]
    assert (told["via"], told["iir"], told["calls"]) == (0, 100, 0)


def test_an_answer_that_says_what_it_answers_saves_the_question() -> None:
    told = sampled("--subjects", "named", "--accuracies", "0.6", "--methods", "lapse")
    conditions = told["methods"]["lapse"]["conditions"]
    assert (conditions["old-stale"]["via"], conditions["old-stale"]["iir"]) == (100, 100)
    assert conditions["old-valid"]["via"] < 100
    asked = sum(row[3] for row in told["samples"]["lapse"] if row[1] == "old-valid")
    assert told["methods"]["lapse"]["calls"] == asked


def test_dissenters_are_one_more_side() -> None:
    told = sampled("--dissent", "0.25", "--methods", "lapse", "--accuracies", "1")
    assert (told["methods"]["lapse"]["via"], told["methods"]["lapse"]["iir"]) == (100, 100)


def test_a_curve_is_drawn_beside_the_result(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    result = run("manbench-return", "--every", "300", "--sizes", "1", "--out", str(out))
    assert result["figures"] == ["result.png"]
    assert (tmp_path / "result.png").read_bytes().startswith(b"\x89PNG")
    points = curve_of(result["methods"])
    assert [accuracy for accuracy, _, _ in points] == [0.6, 0.7, 0.8, 0.9, 1]


def test_one_task_of_brackets_is_where_memstrata_differs() -> None:
    odd = {
        task
        for task, condition, _, n, valid, _ in manbench()["samples"]["memstrata"]
        if valid != (0 if condition == "old-valid" else n)
    }
    assert odd == {"dyck_languages"}


def test_who_keeps_what_was_asked_before_loses_where_the_team_was_right() -> None:
    told = manbench()["methods"]["restore"]
    assert told["overall"] is None
    assert told["n"] == 2270 + 1487
    assert told["conditions"]["corrected"] == {"n": 2270, "via": 0.0, "iir": 0.0, "wsar": 100.0}
    assert sum(row[3] for row in manbench()["samples"]["restore"]) == 2 * 2270 + 1487


def test_with_dissent_nothing_is_held_against_the_source(tmp_path: Path) -> None:
    rows = [
        {"task": "t", "inputs": f"{n}?", "targets": [f"yes {n}"], "misleading_target": "no"}
        for n in range(4)
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    result = run("manbench-return", "--data", str(path), "--dissent", "0.25", "--sizes", "4")
    assert result["source"]["compared"] is False
    assert {row["verdict"] for row in result["source"]["rows"].values()} == {"not compared"}
    assert result["data"]["shipped"] is False


def test_another_admission_than_the_printed_one_is_called_different() -> None:
    items = (Item("t", "one?", "a", "b"), Item("t", "two?", "c", "d"))
    episodes = list(episodes_of(items, size=4))
    told = run_manbench(episodes, (METHODS["restore"],), UNLIMITED)["methods"]
    beside = manbench_beside({"static": told["restore"]}, dissent=0)
    assert beside["rows"]["static"]["verdict"] == "different"


def test_people_get_a_table_and_a_file(tmp_path: Path) -> None:
    out = tmp_path / "new" / "result.json"
    done = CliRunner().invoke(
        app, ["run", "memora-return", "--methods", "memstrata", "--out", str(out)]
    )
    assert done.exit_code == 0
    assert "memstrata" in done.stdout
    assert "Views are scored, not answers" in done.stdout
    assert list(json.loads(out.read_text(encoding="utf-8"))["methods"]) == ["memstrata"]


def test_nothing_to_run_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at least one episode"):
        run_memora((), (), UNLIMITED)
    with pytest.raises(InvalidValue, match="at least one episode"):
        run_manbench((), (), UNLIMITED)
    valid_only = [
        one
        for one in episodes_of((Item("t", "one?", "a", "b"),), size=1)
        if one.condition == "old-valid"
    ]
    with pytest.raises(InvalidValue, match="items that make every condition"):
        run_manbench(valid_only, (), UNLIMITED)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("memora-return", "--methods", "cupmem"), "methods is 'cupmem'"),
        (("manbench-return", "--sizes", "four"), "sizes is 'four'"),
        (("manbench-return", "--sizes", ","), "name at least one"),
        (("manbench-return", "--accuracies", ""), "name at least one"),
        (("manbench-return", "--accuracies", "most"), "accuracies is 'most'"),
        (("manbench-return", "--accuracies", "0.4"), "give a share from 0.5 to 1"),
        (("memora-return", "--data", "nowhere.jsonl"), "give a readable UTF-8 file"),
    ],
)
def test_a_wrong_command_is_told_what_to_do(arguments: tuple[str, ...], says: str) -> None:
    done = CliRunner().invoke(app, ["run", *arguments])
    assert isinstance(done.exception, InvalidValue)
    assert says in str(done.exception)


@pytest.mark.slow
def test_a_model_is_really_asked_where_one_is_named(tmp_path: Path) -> None:
    pytest.importorskip("llama_cpp")
    rows = [
        {"task": "t", "inputs": f"{n} + 1?", "targets": [str(n + 1)], "misleading_target": "0"}
        for n in (1, 2)
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    arguments = ("--data", str(path), "--sizes", "1", "--methods", "lapse", "--verifier", "local")
    result = run("manbench-return", *arguments)
    assert result["config"]["verifier"].startswith("local:")
    told = result["methods"]["lapse"]
    assert told["calls"] == told["n"] == 2
    assert told["tokens"] > 500
    pairs = run("stale-shaped", "--every", "20", "--methods", "reset", "--local-pairs", "1")
    asked = pairs["verifiers"][-1]
    assert asked["verifier"].startswith("local:")
    assert (asked["breaking_pairs"], asked["other_pairs"]) == (1, 1)
