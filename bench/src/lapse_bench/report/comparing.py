"""Cells of tables 3 to 7 and figures 3, 4 and 6: printed numbers beside what the runs gave."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from lapse.judges import STAND_IN
from lapse_bench.report import printed
from lapse_bench.report.cells import UNEXPLAINED, Cell, Value, judged
from lapse_bench.report.jobs import Job
from lapse_bench.scores import with_savings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lapse_bench.report.jobs import Results

__all__ = ["BOUNDS", "SEEDS", "compared", "comparing_jobs", "lines_of"]

BOUNDS: Final = ("oldest", "newest")
"""The planners that follow every fix; they differ in which of two entries they believe."""

SEEDS: Final = (0, 1, 2)
"""A stand-in runs as often as a printed cell was run."""

_PAYMENTS_ARMS: Final = ("A0", "A1", "A2", "A2D", "A2DC", "A2DG")
_SHARED_ARMS: Final = ("A0", "A1", "A2", "A2D")
_RULE_ARMS: Final = ("A2D", "A2DC", "A2DR", "A2DRC", "A2DO")

_RECONSTRUCTED: Final = (
    "the order of this stream is not printed; ours is set so that somebody who follows every fix "
    "has the best printed rate, and is no evidence for it"
)
_ORDER: Final = "which of two entries is believed decides, and that is the model's"
_BILLED: Final = (
    "a vendor's bill for other prompts; ours are our prompts, counted with o200k_base as if a "
    "model had read them"
)
_FEWER: Final = "the model follows fewer fixes"
_MORE: Final = "the model needs more than one refusal for some tasks"
_SOLVED: Final = "some models solve some tasks without a memory (section 6.2)"

_BASES: Final[Mapping[str, tuple[str, str]]] = {
    "compliance": ("bound", ""),
    "add-a-field": ("bound", ""),
    "retries": ("bound", ""),
    "precision": ("policy", ""),
    "funding": ("stream", ""),
    "cond.-rewrite": ("stream", ""),
    "control": ("stream", ""),
    "saving": ("model", _BILLED),
}
"""What a verdict on a column rests on, and what is said where there is none."""


def comparing_jobs() -> Iterator[Job]:
    """Every run that these cells need."""
    for planner in BOUNDS:
        for arm in _PAYMENTS_ARMS:
            yield Job(stream="payments", arm=arm, planner=planner)
        for arm in _SHARED_ARMS:
            yield Job(stream="recipes", arm=arm, planner=planner)
        for arm in _RULE_ARMS:
            yield Job(stream="rules", arm=arm, planner=planner)
    for model in printed.MODELS:
        for seed in SEEDS:
            for arm in _SHARED_ARMS:
                yield _of_stand_in("payments", model, arm, seed)
            if model in printed.ANTHROPIC:
                for arm in ("A1", "A2D"):
                    yield _of_stand_in("recipes", model, arm, seed)


def _of_stand_in(stream: str, model: str, arm: str, seed: int) -> Job:
    return Job(stream=stream, arm=arm, planner=f"{STAND_IN}{model}", seed=seed)


def compared(results: Results) -> tuple[Cell, ...]:
    """The cells, in the order of the source text."""
    return (
        *_ladder("Table 3", printed.TABLE_3, results),
        *_ladder("Table 4", printed.TABLE_4, results),
        *_rule_cells(results),
        *_ladder("Table 6", printed.TABLE_6, results),
        *_shapes(results),
        *_figure("Figure 3", "compliance", printed.FIGURE_3_A0, results),
        *_figure("Figure 4", "funding", printed.FIGURE_4_A0, results),
        *_domains(results),
    )


def _ladder(
    place: str, table: Mapping[str, Mapping[str, Value]], results: Results
) -> Iterator[Cell]:
    for row, columns in table.items():
        for column, value in columns.items():
            if value is not None:
                yield _cell(place, row, column, value, results)


def _figure(
    place: str, what: str, without_memory: Mapping[str, float], results: Results
) -> Iterator[Cell]:
    """The four arms that a figure plots: three of them are printed in Table 3, too."""
    for row in printed.MODELS:
        if row in without_memory:
            yield _cell(place, row, f"{what} A0", without_memory[row], results)
        for arm in ("A1", "A2", "A2D"):
            column = f"{what} {arm}"
            yield _cell(place, row, column, printed.TABLE_3[row][column], results)


def _cell(place: str, row: str, column: str, value: Value, results: Results) -> Cell:
    what, _, arm = column.rpartition(" ")
    measured = what
    if what == "gain":
        measured = "saving" if place == "Table 6" else "compliance"
    basis, note = _BASES[measured]
    ours = {planner: _of_arms("payments", arm, measured, planner, results) for planner in BOUNDS}
    if what == "precision":
        note = printed.PRECISION_NOTES.get(row, "")
    elif basis == "stream":
        note = printed.STREAM_NOTES.get(row, "")
    elif basis == "bound":
        note = _short_of(value, ours, arm)
    if what == "funding" and arm == "A0":
        basis, note = "bound", _SOLVED
    verdict, why = judged(value, ours, basis, note=note, mean=basis == "stream")
    if basis == "bound" and arm != "A0" and _passes(what, value, ours):
        verdict, why = "different", UNEXPLAINED
    if verdict == "equal" and basis == "stream" and row in printed.STARVED:
        verdict, why = "needs a model", f"the same number for another reason: {note}"
    return Cell(
        place=place,
        row=row,
        column=column,
        printed=value,
        ours=ours,
        stand_in=_stand_in(row, measured, arm, "payments", results),
        verdict=verdict,
        basis=basis,
        why=why,
    )


def _short_of(value: Value, ours: Mapping[str, Value], arm: str) -> str:
    """Why a model is not where somebody is who follows every fix."""
    alike = [planner for planner, number in ours.items() if number == value]
    if len(set(ours.values())) > 1:
        return f"{_ORDER}; the number of {alike[0]}" if alike else _ORDER
    if arm != "A0":
        return _FEWER
    (only,) = set(ours.values())
    fewer = isinstance(value, float) and isinstance(only, float) and value < only
    return _SOLVED if fewer else _MORE


def _passes(what: str, value: Value, ours: Mapping[str, Value]) -> bool:
    """Whether a printed number is better than a bound, which would make it none."""
    numbers = [number for number in ours.values() if isinstance(number, float)]
    if not isinstance(value, float) or not numbers:
        return False
    return value < min(numbers) if what == "retries" else value > max(numbers)


def _bound(stream: str, arm: str, planner: str) -> Job:
    return Job(stream=stream, arm=arm, planner=planner)


_MEASURES: Final[Mapping[str, tuple[str, ...]]] = {
    "compliance": ("compliance",),
    "precision": ("paper_precision",),
    "retries": ("retries",),
    "funding": ("first_try", "funding_post", "pct"),
    "cond.-rewrite": ("first_try", "funding_post", "pct"),
    "cond.-rewrite pre": ("first_try", "funding_pre", "pct"),
    "add-a-field": ("first_try", "governed", "pct"),
    "control": ("first_try", "control", "pct"),
    "celiac": ("first_try", "celiac", "pct"),
    "incompat.": ("first_try", "combination", "pct"),
}
"""Where a run's scores hold what a column measures; savings take another run beside it."""


def _of_arms(stream: str, arms: str, what: str, planner: str, results: Results) -> Value:
    """A rate, or the difference of two where the arms are named as `A2D-A1`."""
    found = [_rate(stream, arm, what, planner, results) for arm in arms.split("-")]
    return found[0] if len(found) == 1 else _difference(found[0], found[1])


def _difference(later: Value, earlier: Value) -> Value:
    if isinstance(later, float) and isinstance(earlier, float):
        return round(later - earlier, 1)
    return None


def _rate(
    stream: str, arm: str, what: str, planner: str, results: Results, seed: int = 0
) -> float | None:
    """What a column measures of one run."""
    scores = {
        name: results[Job(stream=stream, arm=name, planner=planner, seed=seed)]
        for name in (("A0", arm) if what == "saving" else (arm,))
    }
    if what == "saving":
        return with_savings(scores)[arm]["saving_pct"]
    return _one(scores[arm], what)


def _one(scores: Mapping[str, Any], what: str) -> float | None:
    found: Any = scores
    for name in _MEASURES[what]:
        found = found[name]
    return None if found is None else float(found)


def _stand_in(row: str, what: str, arms: str, stream: str, results: Results) -> Value:
    """The mean of a stand-in's seeds; None where it did not run."""
    planner = f"{STAND_IN}{row}"
    wanted = [Job(stream=stream, arm=arm, planner=planner) for arm in arms.split("-")]
    if not all(job in results for job in wanted):
        return None
    means = [
        fmean(_rate(stream, job.arm, what, planner, results, seed) or 0.0 for seed in SEEDS)
        for job in wanted
    ]
    only = means[0] if len(means) == 1 else means[0] - means[1]
    return round(only, 2 if what == "precision" else 1)


def _rule_cells(results: Results) -> Iterator[Cell]:
    for arm, columns in printed.TABLE_5.items():
        runs = {planner: results[_bound("rules", arm, planner)] for planner in BOUNDS}
        for column, value in columns.items():
            basis = "model" if column == "tokens" else "policy"
            found = (
                {}
                if column == "tokens"
                else {planner: _of_rules(column, scores) for planner, scores in runs.items()}
            )
            note = _BILLED if column == "tokens" else ""
            verdict, why = judged(value, found, basis, note=note)
            yield Cell(
                place="Table 5",
                row=arm,
                column=column,
                printed=value,
                ours=found,
                verdict=verdict,
                basis=basis,
                why=why,
            )


def _of_rules(column: str, scores: Mapping[str, Any]) -> Value:
    match column:
        case "evict":
            return "+".join(map(str, scores["evictions_by_episode"].values())) or "0"
        case "restamp":
            return scores["restamps"]
        case "alert":
            return "/".join(map(str, scores["alerts"])) or "-"
        case _:
            return scores[column.replace("-", "_")]


_SHAPE_MEASURES: Final[Mapping[str, tuple[str, str, str]]] = {
    "add-a-field": ("payments", "add-a-field", "bound"),
    "rewrite-a-value celiac": ("recipes", "celiac", "model"),
    "rewrite-a-value incompat.": ("recipes", "incompat.", "model"),
    "cond.-rewrite pre": ("payments", "cond.-rewrite pre", "stream"),
    "cond.-rewrite post": ("payments", "cond.-rewrite", "stream"),
}
"""For each column of Table 7: the stream, what is measured there, and what a verdict rests on."""


def _shapes(results: Results) -> Iterator[Cell]:
    for row, columns in printed.TABLE_7.items():
        for column, value in columns.items():
            stream, what, basis = _SHAPE_MEASURES[column]
            note = _RECONSTRUCTED if stream == "recipes" else _FEWER if basis == "bound" else ""
            measured = {
                planner: _one(results[_bound(stream, "A2D", planner)], what) for planner in BOUNDS
            }
            yield _judged_cell(
                Cell(
                    place="Table 7",
                    row=row,
                    column=column,
                    printed=value,
                    ours=measured,
                    stand_in=_stand_in(row, what, "A2D", stream, results),
                    verdict="",
                    basis=basis,
                    why=note,
                )
            )


def _domains(results: Results) -> Iterator[Cell]:
    for row, columns in printed.FIGURE_6.items():
        for column, value in columns.items():
            stream, _, arm = column.partition(" ")
            payments = stream == "payments"
            what = "add-a-field" if payments else "celiac"
            yield _judged_cell(
                Cell(
                    place="Figure 6",
                    row=row,
                    column=column,
                    printed=value,
                    ours={
                        planner: _of_arms(stream, arm.removeprefix("gain "), what, planner, results)
                        for planner in BOUNDS
                    },
                    stand_in=_stand_in(row, what, arm.removeprefix("gain "), stream, results),
                    verdict="",
                    basis="bound" if payments else "model",
                    why={"A1": _ORDER, "A2D": _FEWER}.get(arm, "") if payments else _RECONSTRUCTED,
                )
            )


def _judged_cell(cell: Cell) -> Cell:
    """A cell with its verdict; its `why` so far is what explains a difference."""
    verdict, why = judged(
        cell.printed, cell.ours, cell.basis, note=cell.why, mean=cell.basis == "stream"
    )
    return replace(cell, verdict=verdict, why=why)


def lines_of(results: Results) -> dict[str, Any]:
    """What the figures draw of ours: each class over the shared arms, by planner.

    A stand-in's line is the mean of its seeds, and is drawn as what it is.
    """
    return {
        "bounds": {
            planner: {
                what: [
                    _one(results[_bound(_STREAM_OF[what], arm, planner)], what)
                    for arm in _SHARED_ARMS
                ]
                for what in _STREAM_OF
            }
            for planner in BOUNDS
        },
        "stand_ins": {
            model: {
                what: [
                    _stand_in(model, what, arm, _STREAM_OF[what], results) for arm in _SHARED_ARMS
                ]
                for what in _STREAM_OF
            }
            for model in printed.MODELS
        },
    }


_STREAM_OF: Final[Mapping[str, str]] = {
    "compliance": "payments",
    "funding": "payments",
    "add-a-field": "payments",
    "celiac": "recipes",
}
