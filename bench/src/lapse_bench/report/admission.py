"""The report on admission as one value, and as a folder of pages, figures and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lapse_bench.ablations.running import run_ablations
from lapse_bench.report.admission_arithmetic import arithmetic
from lapse_bench.report.admission_case import case_cells
from lapse_bench.report.admission_cells import (
    ADMISSION_BASES,
    BASELINES,
    BRACKETLESS,
    admission_cells,
)
from lapse_bench.report.admission_drawing import admission_drawn
from lapse_bench.report.admission_pages import admission_pages
from lapse_bench.report.admission_places import TITLES
from lapse_bench.report.cells import UNEXPLAINED, counted
from lapse_bench.returns.cupmem_stand_in import affected_by, cupmem_stand_in
from lapse_bench.returns.episodes import UNLIMITED
from lapse_bench.returns.manbench import GROUP_SIZES, read_manbench
from lapse_bench.returns.manbench import episodes_of as manbench_episodes
from lapse_bench.returns.manbench_truth import truth_of
from lapse_bench.returns.memora import episodes_of as memora_episodes
from lapse_bench.returns.memora import read_memora
from lapse_bench.returns.registry import chosen_methods
from lapse_bench.returns.running import run_manbench, run_memora
from lapse_bench.returns.stale_returns import own_episodes
from lapse_bench.returns.stale_returns import truth_of as stale_truth_of
from lapse_bench.returns.stale_running import proposers_named, run_stale
from lapse_bench.returns.verifiers import STAND_IN, verified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from lapse_bench.provenance import Provenance
    from lapse_bench.report.cells import Cell
    from lapse_bench.returns.manbench import Item

__all__ = [
    "FORM",
    "WHOLE",
    "Scope",
    "admission_report",
    "assembled",
    "baselines",
    "measured",
    "written",
]

FORM: Final = 1
"""The form of the JSON: a reader that knows this number knows its members."""

_ACCURACIES: Final = (1.0, 0.9)
"""Of the stand-in that verifies for `lapse`: honest, and one that errs."""

_NAMED: Final = 4
"""Later items that words (BM25) name for each belief."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """How much is run.

    Attributes:
        sizes: teams of ManBench-Return.
        items: of each ManBench task for the baselines; None: all.
        asked: of each ManBench task for `lapse`, which asks a verifier in every episode.
        ablated: the data sets of the ablations.
    """

    sizes: tuple[int, ...] = GROUP_SIZES
    items: int | None = None
    asked: int = 20
    ablated: tuple[str, ...] = ("stale-shaped",)

    def as_json(self) -> dict[str, Any]:
        """What a result says of it."""
        return {
            "team sizes": ", ".join(map(str, self.sizes)),
            "ManBench items of each task, baselines": self.items or "all",
            "ManBench items of each task, lapse": self.asked,
            "verifier": f"a stand-in at {' and '.join(map(str, _ACCURACIES))}; no model is asked",
            "CUPMem": "a stand-in whose bridge, proposals and rulings know the answers",
            "proposer on the set in STALE's shape": f"BM25, {_NAMED} for each item",
        }


WHOLE: Final = Scope()
"""What `lapse-bench report admission` runs."""


def admission_report(
    provenance: Provenance,
    *,
    scope: Scope = WHOLE,
    seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run everything and put it beside what is printed.

    Args:
        provenance: where the result comes from.
        scope: how much is run.
        seed: decides the stand-ins' errors.
        tell: told what is run next, in a line for people.
    """
    ours = measured(scope, seed=seed, provenance=provenance, tell=tell)
    config = {**scope.as_json(), "seed": seed}
    return assembled(ours, provenance, config=config)


def measured(
    scope: Scope, *, seed: int, provenance: Provenance, tell: Callable[[str], None]
) -> dict[str, Any]:
    """What stands beside the printed numbers: the methods of each benchmark, without samples."""
    rules = chosen_methods(BASELINES)
    questions = read_manbench()
    tell("manbench-return, baselines")
    manbench = baselines(_some(questions, scope.items), scope.sizes)
    tell("manbench-return, lapse")
    asked = _some(questions, scope.asked)
    ours = verified(STAND_IN, _ACCURACIES, truth_of(asked), seed=seed)
    manbench |= run_manbench(_teams(asked, scope.sizes), ours, UNLIMITED)["methods"]
    tell("memora-return")
    memora = run_memora(
        tuple(memora_episodes(read_memora())), (*rules, *chosen_methods(["lapse"])), UNLIMITED
    )["methods"]
    tell("stale-shaped")
    shaped = tuple(own_episodes())
    truth = stale_truth_of(shaped)
    judged = verified(
        STAND_IN,
        _ACCURACIES,
        truth,
        seed=seed,
        proposers=proposers_named("bm25", _NAMED),
    )
    bridge = affected_by([one.episode for one in shaped], truth)
    cupmem = cupmem_stand_in(truth, seed=seed, affects=bridge)
    stale = run_stale(shaped, (*rules, *judged, cupmem))["methods"]
    tell("ablations")
    ablated = run_ablations(scope.ablated, seed=seed, provenance=provenance)["data"]
    return {
        "manbench": manbench,
        "memora": memora,
        "stale": stale,
        "ablations": ablated.get("stale-shaped", {}),
    }


def baselines(questions: Sequence[Item], sizes: Iterable[int]) -> dict[str, Any]:
    """The rules over ManBench-Return; MemStrata also without the task of brackets alone."""
    sizes = tuple(sizes)
    words = [item for item in questions if item.task != "dyck_languages"]
    found = run_manbench(_teams(questions, sizes), chosen_methods(BASELINES), UNLIMITED)
    again = run_manbench(_teams(words, sizes), chosen_methods(["memstrata"]), UNLIMITED)
    return {**found["methods"], BRACKETLESS: again["methods"]["memstrata"]}


def assembled(
    ours: Mapping[str, Any], provenance: Provenance, *, config: Mapping[str, Any]
) -> dict[str, Any]:
    """The report on results that are there."""
    cells = _in_order([*admission_cells(ours), *case_cells(), *arithmetic()])
    return {
        "report": "admission",
        "form": FORM,
        **provenance.as_json(),
        "config": dict(config),
        "verdicts": counted(cells),
        "verdicts_by_basis": {
            basis: counted([cell for cell in cells if cell.basis == basis])
            for basis in ADMISSION_BASES
        },
        "cells": [cell.as_json() for cell in cells],
        "ours": ours,
        "problems": [
            f"{cell.place}, {cell.row}, {cell.column}: printed {cell.printed}, "
            f"ours {dict(cell.ours)}"
            for cell in cells
            if cell.why == UNEXPLAINED or (cell.basis == "case" and cell.verdict == "different")
        ],
    }


def written(result: dict[str, Any], folder: Path) -> None:
    """Write the report: `index.md`, a page for each place, `admission.json`, figures."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    (folder / "admission.json").write_text(text + "\n", encoding="utf-8")
    for name, page in admission_pages(result).items():
        (folder / name).write_text(page, encoding="utf-8")
    admission_drawn(result, folder / "figures")


def _teams(questions: Sequence[Item], sizes: Iterable[int]) -> list[Any]:
    return [one for size in sizes for one in manbench_episodes(questions, size=size)]


def _some(questions: Sequence[Item], most: int | None) -> tuple[Item, ...]:
    """The first items of each task, in their order; all of them without a bound."""
    taken: dict[str, int] = {}
    found: list[Item] = []
    for item in questions:
        taken[item.task] = taken.get(item.task, 0) + 1
        if most is None or taken[item.task] <= most:
            found.append(item)
    return tuple(found)


def _in_order(cells: Sequence[Cell]) -> list[Cell]:
    places = list(TITLES)
    return sorted(cells, key=lambda cell: places.index(cell.place))
