"""What dependency vectors buy by themselves: Level 4 apart from the graph (section 6.4).

One stream, on which fixes rest on several tables and lapse by tables that Level 1 does not name.
The service says what a fix rests on in four ways; arms differ in whether they follow the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse_bench.report.jobs import Job

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lapse_bench.report.jobs import Results

__all__ = ["ARMS", "FORMS", "vectors", "vectors_jobs"]

STREAM: Final = "vectors"
_PLANNER: Final = "newest"

FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "one table (L1)": ("L4", "rows"),
    "one table and its rows": ("L4",),
    "every table (L4)": ("rows",),
    "every table and its rows": (),
}
"""What the service says a fix rests on, and what it keeps to itself to say no more than that."""

ARMS: Final = ("A2", "A2D", "A2DG")
"""Table granularity, row granularity, and row granularity that follows the graph."""

_WITHOUT: Final = ("A0", "A1")
"""Arms that no form makes a difference to."""

_GRAPH: Final = ("L5", "L6")


def _job(arm: str, without: tuple[str, ...]) -> Job:
    # What an arm without the graph is not to be helped by is not said to it at all.
    silent = () if arm == "A2DG" else _GRAPH
    return Job(stream=STREAM, arm=arm, planner=_PLANNER, without=(*without, *silent))


def vectors_jobs() -> Iterator[Job]:
    """Every arm before every form."""
    for arm in _WITHOUT:
        yield _job(arm, ())
    for arm in ARMS:
        for without in FORMS.values():
            yield _job(arm, without)


def vectors(results: Results) -> list[dict[str, Any]]:
    """A row for each form and arm."""
    rows = [("", arm, results[_job(arm, ())]) for arm in _WITHOUT]
    rows += [(form, arm, results[_job(arm, FORMS[form])]) for form in FORMS for arm in ARMS]
    return [
        {
            "form": form,
            "arm": arm,
            "retries": scores["retries"],
            "completed": scores["completed"],
            "episodes": scores["episodes"],
            "stale_applied": scores["stale_applied"],
            "evictions_correct": scores["evictions_correct"],
            "evictions_wrong": scores["evictions_wrong"],
            "lapsed": scores["lapsed"],
            "recall": scores["recall"],
            "precision": scores["precision"],
        }
        for form, arm, scores in rows
    ]
