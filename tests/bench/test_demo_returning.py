"""The demonstration of a return: what is told came out of the run, and it is the source's story."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lapse_bench.demo import returning
from lapse_bench.demo.returning_told import Told


@pytest.fixture(scope="module")
def told() -> Told:
    return returning.play()


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    assert returning.run(Console(file=StringIO()), seed=0, fast=True, format="json") == 0
    return json.loads(capsys.readouterr().out)


def test_the_first_return_is_blocked_and_names_the_pickup(told: Told) -> None:
    first = told.as_json()["first_return"]
    assert (first["outcome"], first["cov"], first["crit"]) == ("block", 1 / 2, 3 / 4)
    assert first["missing"] == [{"dependency": "pickup", "needed_by": ["transfer"]}]
    assert first["left_out"]["p0"] == {"reasons": ["invalidated"], "by": "h1"}  # by the place
    assert first["left_out"]["t0"] == {"reasons": ["superseded"], "by": "t1"}
    assert told.as_json()["ended"] == {"h0": {"reason": "superseded", "by": "h1"}}
    assert first["left_out"]["guess"]["reasons"] == ["provenance_missing"]


def test_the_second_return_shows_eight_items_and_one_experience(told: Told) -> None:
    owed = ["o_stay", "f_stay", "o_transfer", "f_transfer"]
    assert [*told.shown] == [*owed, "t1", "p1", "h1", "c"]
    second = told.as_json()["second_return"]
    assert (second["outcome"], second["cov"], second["crit"]) == ("admitted", 1.0, 1.0)
    assert [*told.experience] == ["e_c"]
    assert {name: why[-1] for name, why in told.withheld.items()} == {
        "e_h0": "source_not_shown",
        "e_p0": "source_not_shown",
    }
    assert told.first == told.first_later


def test_each_other_way_is_wrong_or_knows_nothing(told: Told) -> None:
    assert [(way.name, len(way.dead), len(way.supported)) for way in told.ways] == [
        ("keeps all it knew", 3, 1),
        ("forgets all it knew", 0, 0),
        ("follows what was said", 1, 3),
        ("lapse, at first", 0, 0),
        ("lapse, then", 0, 4),
    ]


def test_two_runs_are_equal_and_programs_get_json_alone(
    capsys: pytest.CaptureFixture[str], told: Told
) -> None:
    first, second = printed(capsys), printed(capsys)
    assert first == second
    assert first["experience_back"] == dict(told.experience)


def test_people_are_told_the_same(told: Told) -> None:
    out = StringIO()
    returning.tell(Console(file=out, width=100), told)
    text = out.getvalue()
    for said in ("Missing: pickup", "stands in for the model", "is unchanged", "waits for: pickup"):
        assert said in text
    for item, says in told.shown.items():
        assert f"{item} " in text
        assert says in text


def test_a_story_that_ends_otherwise_is_no_success(told: Told) -> None:
    assert told.as_told
    assert not replace(told, shown={**told.shown, "p0": "Pickup at 8:00 from Sunrise"}).as_told


def test_the_readme_prints_what_comes_out(told: Told) -> None:
    readme = Path(__file__).resolve().parents[2] / "README.md"
    table = readme.read_text(encoding="utf-8").partition("## Agents that leave")[2]
    rows = [
        [cell.strip(" *") for cell in line.strip("|").split("|")]
        for line in table.partition("\n## ")[0].splitlines()
        if line.startswith("| ")
    ][2:]
    assert [(row[1], row[2]) for row in rows] == [
        (str(len(way.dead)), f"{len(way.supported)} of 4") for way in told.ways
    ]
