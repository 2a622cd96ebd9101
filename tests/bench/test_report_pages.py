"""The report as pages, figures and JSON: whole, linked, and the same for the same runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lapse_bench.provenance import Provenance
from lapse_bench.report.cells import VERDICTS
from lapse_bench.report.command import app
from lapse_bench.report.drawing import FIGURES, drawn
from lapse_bench.report.jobs import Job, Results
from lapse_bench.report.pages import pages
from lapse_bench.report.trials import run
from lapse_bench.report.whole import assembled

PROVENANCE = Provenance(
    date="2026-01-01T00:00:00+00:00",
    commit="0" * 40,
    machine={"system": "Linux 1", "cores": 2, "python": "3.11.0"},
)
MEMBERS = {
    *("report", "form", "date", "commit", "machine", "config", "verdicts", "verdicts_by_basis"),
    *("cells", "lines", "coverage", "rotations", "vectors", "wordings", "problems"),
}
CELL = {
    *("place", "row", "column", "printed", "ours", "stand_in", "verdict", "basis", "why"),
}


class Nearest(Results):
    """Every job's runs, from as few as there are streams: enough to lay a report out.

    Verdicts on these are worth nothing, and none is looked at.
    """

    def __init__(self) -> None:
        super().__init__()
        self._of_stream: dict[str, dict[str, Any]] = {}

    def __missing__(self, job: Job) -> dict[str, Any]:
        stream = job.stream if job.stream in ("recipes", "rules") else "payments"
        if stream not in self._of_stream:
            arm = "A2DRC" if stream == "rules" else "A2D"
            self._of_stream[stream] = run(Job(stream=stream, arm=arm, planner="newest"))
        return self._of_stream[stream]

    def __contains__(self, job: object) -> bool:
        return isinstance(job, Job)


@cache
def report() -> dict[str, Any]:
    return assembled(Nearest(), PROVENANCE, model="newest")


def test_the_json_has_the_members_that_its_form_promises() -> None:
    result = report()
    assert (set(result), result["form"]) == (MEMBERS, 2)
    assert {frozenset(cell) for cell in result["cells"]} == {frozenset(CELL)}
    assert list(result["verdicts"]) == list(VERDICTS)
    assert sum(result["verdicts"].values()) == len(result["cells"])
    bases = result["verdicts_by_basis"].values()
    assert {v: sum(found[v] for found in bases) for v in VERDICTS} == result["verdicts"]
    assert json.loads(json.dumps(result)) == result


def links(text: str) -> Iterator[str]:
    yield from re.findall(r"\]\(([^)]+)\)", text)


def test_every_link_leads_somewhere_in_the_folder() -> None:
    found = pages(report())
    there = {*found, "contract.json", *(f"figures/{name}.svg" for name in FIGURES)}
    for text in found.values():
        assert set(links(text)) <= there
    reached = set(links(found["index.md"]))
    assert reached >= set(found) - {"index.md"}


def test_the_index_explains_every_difference() -> None:
    index = pages(report())["index.md"]
    for cell in report()["cells"]:
        if cell["verdict"] == "different":
            assert f"| {cell['place']} | {cell['row']} | {cell['column']} | " in index
    assert "they measure no model" in index
    for verdict, count in report()["verdicts"].items():
        assert f"* {verdict}: {count}" in index


def test_a_stand_in_is_called_one_wherever_it_is_shown() -> None:
    for name, text in pages(report()).items():
        if "| a stand-in |" in text:
            assert "no verdict rests on it" in text, name


def test_tables_have_as_many_cells_in_every_line() -> None:
    for name, text in pages(report()).items():
        lines = text.splitlines()
        for above, line in pairwise(lines):
            if above.startswith("| ") and line.startswith("| "):
                assert above.count(" |") == line.count(" |"), (name, line)


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_a_figure_is_drawn_from_the_report_alone(name: str) -> None:
    figure = FIGURES[name](report())
    titles = [text.get_text() for text in figure.texts]
    assert any("Figure" in title or "What A2D knows" in title for title in titles)
    assert all(axes.has_data() for axes in figure.axes)
    figure.clear()


@pytest.mark.slow
def test_figures_are_the_same_for_the_same_report(tmp_path: Path) -> None:
    one, two = drawn(report(), tmp_path / "one"), drawn(report(), tmp_path / "two")
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in two]
    assert {file.suffix for file in one} == {".svg", ".png"}


@pytest.mark.slow
def test_the_command_writes_the_whole_report_and_prints_the_counts(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["contract", "--format", "json", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.stderr
    result = json.loads((tmp_path / "contract.json").read_text(encoding="utf-8"))
    assert json.loads(done.stdout) == result["verdicts"]
    assert result["problems"] == []
    assert result["verdicts"]["equal"] > result["verdicts"]["different"]
    assert {cell["why"] for cell in result["cells"]}.isdisjoint({"unexplained"})
    shown = [cell["stand_in"] for cell in result["cells"] if cell["stand_in"] is not None]
    assert shown
    for name in ("index.md", "table-2.md", "figures/figure-5.svg", "figures/figure-5.png"):
        assert (tmp_path / name).stat().st_size > 500


def test_a_difference_that_nothing_explains_is_a_problem() -> None:
    problems = report()["problems"]  # every arm here is one arm, so Table 5 cannot be as printed
    assert any(problem.startswith("Table 5, A2DO, first-try: printed 27") for problem in problems)
