"""Figure 5 and beyond: more rotations in the same 36 episodes than the source text tried.

Scored two ways. As in the source text, two governed episodes after each rotation do not count; from
six rotations on that leaves nothing to count. With one slot a rotation, the first governed episode
after it does not count: in that one no arm can know better, in the next every watching arm does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse_bench.report import printed
from lapse_bench.report.cells import Cell, Value, judged
from lapse_bench.report.jobs import Job
from lapse_bench.scenarios import load
from lapse_bench.scores import Share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse_bench.report.jobs import Results
    from lapse_bench.scenarios import Scenario

__all__ = ["ARMS", "COUNTS", "PRINTED_COUNTS", "rotation_cells", "rotations", "rotations_jobs"]

COUNTS: Final = (1, 2, 3, 4, 5, 6, 8, 11)
"""How many rotations; before episode 0 nothing can rotate, so eleven are all there is room for."""

PRINTED_COUNTS: Final = (1, 2, 3)

ARMS: Final = ("A1", "A2D")
_PLANNERS: Final = ("oldest", "newest")

_ORDER: Final = "which of two entries is believed decides, and that is the model's"
_FEWER: Final = "the model follows fewer fixes"
_EACH_COSTS_ONE: Final = (
    "a rotation costs one refused first attempt, because nobody can know before the service says "
    "so: whoever follows every fix needs 7, 8 and 9"
)


def _job(count: int, arm: str, planner: str) -> Job:
    return Job(stream=f"rotations-{count}", arm=arm, planner=planner)


def rotations_jobs() -> Iterator[Job]:
    """Every count, arm and planner."""
    for count in COUNTS:
        for arm in ARMS:
            for planner in _PLANNERS:
                yield _job(count, arm, planner)


def rotations(results: Results) -> list[dict[str, Any]]:
    """A row for each count, arm and planner."""
    return [
        _row(count, arm, planner, results[_job(count, arm, planner)])
        for count in COUNTS
        for arm in ARMS
        for planner in _PLANNERS
    ]


def _row(count: int, arm: str, planner: str, scores: dict[str, Any]) -> dict[str, Any]:
    scenario = load(f"rotations-{count}")
    governed = [at for at, task in enumerate(scenario.episodes) if task.family == "governed"]
    stale = _first_after_each(scenario, governed)
    retries = [int(number) for number in scores["retry_vector"]]
    scored = [at for at in governed[1:] if at not in stale]
    return {
        "rotations": count,
        "arm": arm,
        "planner": planner,
        "two_slots": scores["compliance_of"],
        "one_slot": Share(sum(retries[at] == 0 for at in scored), len(scored)).as_json(),
        "governed": Share(sum(retries[at] == 0 for at in governed), len(governed)).as_json(),
        "retries": scores["retries"],
        "stale_applied": scores["stale_applied"],
        "evictions_correct": scores["evictions_correct"],
        "evictions_wrong": scores["evictions_wrong"],
    }


def _first_after_each(scenario: Scenario, governed: list[int]) -> set[int]:
    turns = [event.before for event in scenario.events if event.table == "active_csm_codes"]
    return {next(at for at in governed if at >= turn) for turn in turns}


def rotation_cells(rows: list[dict[str, Any]]) -> Iterator[Cell]:
    """What the text says of the figure, beside what came out here."""
    for model, columns in printed.FIGURE_5.items():
        for column, value in columns.items():
            what, _, when = column.partition(", ")
            measure, arm = what.split()
            counts = PRINTED_COUNTS if when == "range" else (int(when[0]),)
            ours = {
                planner: _told([_number(rows, c, arm, planner, measure) for c in counts])
                for planner in _PLANNERS
            }
            note = _ORDER if arm == "A1" else _FEWER
            verdict, why = judged(value, ours, "bound", note=note)
            if value == "near 7":
                verdict, why = "different", _EACH_COSTS_ONE
            yield Cell(
                place="Figure 5",
                row=model,
                column=column,
                printed=value,
                ours=ours,
                verdict=verdict,
                basis="bound",
                why=why,
            )


def _number(
    rows: list[dict[str, Any]], count: int, arm: str, planner: str, measure: str
) -> float | None:
    (row,) = (
        row
        for row in rows
        if (row["rotations"], row["arm"], row["planner"]) == (count, arm, planner)
    )
    return row["two_slots"]["pct"] if measure == "compliance" else row["retries"]


def _told(numbers: list[float | None]) -> Value:
    known = [number for number in numbers if number is not None]
    return known[0] if len(known) == 1 else f"{min(known)} to {max(known)}"
