"""Table 2: what each arm consumes, found out by taking it away.

An arm consumes a channel if it behaves otherwise when the service keeps that channel to itself.
Levels 2 and 3 are no channel of the service: they are how a remembered fix is put before a planner,
so what is looked at is whether the words of a first attempt are others without the level. What a
model makes of those words is another question, and needs a model.

Every arm but one runs on two payments streams: the one of the source text, and one on which each
channel matters to somebody. A2DO runs on the rule stream, as in the source text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse_bench.report import printed
from lapse_bench.report.cells import UNEXPLAINED, Cell
from lapse_bench.report.jobs import Job
from lapse_bench.report.omitting import CHANNELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse_bench.report.jobs import Results

__all__ = ["STREAMS", "coverage", "coverage_cells", "coverage_jobs"]

_PLANNER: Final = "newest"
_WORDS: Final = ("L2", "L3")
_RULES_ARM: Final = "A2DO"

STREAMS: Final = ("payments", "channels")
"""The source text's stream, and the one on which everything matters."""


def _streams(arm: str) -> tuple[str, ...]:
    return ("rules",) if arm == _RULES_ARM else STREAMS


def _job(arm: str, stream: str, *without: str) -> Job:
    return Job(stream=stream, arm=arm, planner=_PLANNER, without=without)


def coverage_jobs() -> Iterator[Job]:
    """Every arm with everything, and with each channel left out."""
    for arm in printed.TABLE_2:
        for stream in _streams(arm):
            yield _job(arm, stream)
            for channel in CHANNELS:
                yield _job(arm, stream, channel.name)


def coverage(results: Results) -> dict[str, dict[str, dict[str, Any]]]:
    """By arm and stream: which channels change what the arm does, and how."""
    return {
        arm: {stream: _consumed(arm, stream, results) for stream in _streams(arm)}
        for arm in printed.TABLE_2
    }


def _consumed(arm: str, stream: str, results: Results) -> dict[str, Any]:
    whole = results[_job(arm, stream)]
    found: dict[str, Any] = {}
    for channel in CHANNELS:
        left = results[_job(arm, stream, channel.name)]
        found[channel.name] = {
            "changes": left["trace"] != whole["trace"],
            "retries": [whole["retries"], left.get("retries")],
            "evictions": [whole["evictions"], left.get("evictions")],
            "broke": left["trace"].get("broke"),
        }
    for level in _WORDS:
        attempts = whole["words"][level]
        found[level] = {"changes": attempts > 0, "first_attempts": attempts}
    return found


def coverage_cells(found: dict[str, dict[str, dict[str, Any]]]) -> Iterator[Cell]:
    """A cell for each arm and column: consumed on any of its streams, or on none."""
    for arm, columns in printed.TABLE_2.items():
        for column, mark in columns.items():
            consumed = any(stream[column]["changes"] for stream in found[arm].values())
            same = bool(mark) == consumed
            note = printed.TABLE_2_NOTES.get((arm, column), UNEXPLAINED)
            yield Cell(
                place="Table 2",
                row=arm,
                column=column,
                printed=mark or "-",
                ours={_PLANNER: "✓" if consumed else "-"},
                verdict="equal" if same else "different",
                basis="policy",
                why="" if same else note,
            )
