"""The report as one value, and as a folder of pages, figures and JSON."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

from lapse_bench.report.cells import BASES, UNEXPLAINED, Cell, counted
from lapse_bench.report.comparing import compared, comparing_jobs, lines_of
from lapse_bench.report.coverage import coverage, coverage_cells, coverage_jobs
from lapse_bench.report.drawing import drawn
from lapse_bench.report.pages import pages
from lapse_bench.report.rotations import rotation_cells, rotations, rotations_jobs
from lapse_bench.report.trials import done, run_by
from lapse_bench.report.vectors import vectors, vectors_jobs
from lapse_bench.report.wordings import model_jobs, wording_cells, wordings, wordings_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from lapse.judges import Planner
    from lapse_bench.provenance import Provenance
    from lapse_bench.report.jobs import Job, Results

__all__ = ["FORM", "assembled", "contract_report", "written"]

FORM: Final = 2
"""The form of the JSON: a reader that knows this number knows its members."""

_WORKERS: Final = 2
"""Processes at most: each run has a server of its own beside its client."""


def contract_report(
    provenance: Provenance,
    *,
    model: str = "",
    planner_of: Callable[[Job], Planner] | None = None,
    workers: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run everything and put it beside what is printed.

    Args:
        provenance: where the result comes from.
        model: a planner with a model behind it, to be asked about wordings; empty: none.
        planner_of: makes it, probed, for a level and a prompt; needed for a model.
        workers: processes; 0: as many as there are cores, and two at most.
        tell: called after every run with a line for people.
    """
    jobs = (
        *comparing_jobs(),
        *coverage_jobs(),
        *rotations_jobs(),
        *vectors_jobs(),
        *wordings_jobs(),
    )
    results: Results = {}
    if model and planner_of is not None:  # first of all: nobody waits to hear that it is not there
        for job in model_jobs(model):
            tell(f"{model}, {job.arm}, level {job.level}, {job.prompting}")
            results[job] = run_by(planner_of(job), job)
    results |= done(jobs, workers=workers or min(_WORKERS, os.cpu_count() or 1), tell=tell)
    return assembled(results, provenance, model=model)


def assembled(results: Results, provenance: Provenance, *, model: str = "") -> dict[str, Any]:
    """The report on results that are there."""
    covered, turned = coverage(results), rotations(results)
    cells = _in_order(
        [
            *coverage_cells(covered),
            *compared(results),
            *rotation_cells(turned),
            *wording_cells(),
        ]
    )
    return {
        "report": "contract",
        "form": FORM,
        **provenance.as_json(),
        "config": {"runs": len(results), "model": model or None},
        "verdicts": counted(cells),
        "verdicts_by_basis": {
            basis: counted([cell for cell in cells if cell.basis == basis]) for basis in BASES
        },
        "cells": [cell.as_json() for cell in cells],
        "lines": lines_of(results),
        "coverage": covered,
        "rotations": turned,
        "vectors": vectors(results),
        "wordings": wordings(results, model),
        "problems": [
            f"{cell.place}, {cell.row}, {cell.column}: printed {cell.printed}, "
            f"ours {dict(cell.ours)}"
            for cell in cells
            if cell.why == UNEXPLAINED
        ],
    }


def _in_order(cells: Sequence[Cell]) -> list[Cell]:
    """Tables first, by number, then figures, then what the text says elsewhere."""
    kinds = ("Table", "Figure", "Section")

    def place(cell: Cell) -> tuple[int, str]:
        kind, _, number = cell.place.partition(" ")
        return kinds.index(kind), number

    return sorted(cells, key=place)


def written(result: dict[str, Any], folder: Path) -> None:
    """Write the report: `index.md`, a page for each table and figure, `contract.json`, figures."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=2, ensure_ascii=False)
    (folder / "contract.json").write_text(text + "\n", encoding="utf-8")
    for name, page in pages(result).items():
        (folder / name).write_text(page, encoding="utf-8")
    drawn(result, folder / "figures")
