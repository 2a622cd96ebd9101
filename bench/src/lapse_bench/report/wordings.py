"""What the words around a fix are worth: Level 2 against Level 3, and other prompts (section 6.4).

The source text holds both levels fixed, and prints of its calibration one number. Two scripted
planners do every time what the levels are there to prevent: one says what it is told in its own
words (Level 2's case), one takes over the last field and drops the rest (Level 3's case). Beside
somebody who follows word for word they say how much a level can be worth at most. How much of that
it is worth takes a model; the report asks one when it is given one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse_bench.report.cells import Cell
from lapse_bench.report.jobs import Job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse_bench.report.jobs import Results

__all__ = ["VARIANTS", "model_jobs", "wording_cells", "wordings", "wordings_jobs"]

_STREAM: Final = "payments"
_TWO: Final = "two-at-once"
_ARM: Final = "A2D"
_SCRIPTED: Final = ("newest", "conservative", "paraphrasing", "forgetful")

VARIANTS: Final = ((2, "plain"), (3, "plain"), (3, "short"), (3, "example"))
"""Level and prompt: the two levels under one prompt, and two more prompts at the higher level."""


def wordings_jobs() -> Iterator[Job]:
    """The scripted planners without a memory, with one, and with one that a transport applies."""
    for planner in _SCRIPTED:
        for arm in ("A0", _ARM):
            yield Job(stream=_STREAM, arm=arm, planner=planner)
        yield Job(stream=_STREAM, arm=_ARM, planner=planner, consume="apply")
    for planner in _SCRIPTED:
        yield Job(stream=_TWO, arm=_ARM, planner=planner)


def model_jobs(planner: str) -> Iterator[Job]:
    """A model without a memory, and with one in every variant."""
    yield Job(stream=_STREAM, arm="A0", planner=planner)
    for level, prompting in VARIANTS:
        yield Job(stream=_STREAM, arm=_ARM, planner=planner, level=level, prompting=prompting)


def wordings(results: Results, model: str) -> dict[str, Any]:
    """A row for each run; `model` is empty when none was asked."""
    return {
        "scripted": [_row(job, results[job]) for job in wordings_jobs()],
        "model": [_row(job, results[job]) for job in model_jobs(model)] if model else [],
    }


def _row(job: Job, scores: dict[str, Any]) -> dict[str, Any]:
    return {
        "stream": job.stream,
        "planner": job.planner,
        "answered": scores["answered"],
        "arm": job.arm,
        "level": job.level,
        "prompting": job.prompting,
        "consume": job.consume,
        "retries": scores["retries"],
        "compliance": scores["compliance_of"],
        "completed": scores["completed"],
        "episodes": scores["episodes"],
        "tokens": scores["tokens"],
        "planner_failures": scores["planner_failures"],
    }


def wording_cells() -> Iterator[Cell]:
    """The one number that the source text gives, of runs that it did not keep."""
    yield Cell(
        place="Section 3.5",
        row="two Claude models",
        column="L2 lift in points",
        printed=56.0,
        verdict="needs a model",
        why="the runs behind it are not archived (footnote 3), and their stream is not told",
    )
