"""Runs a history and says what came out, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lapse.contract import DAY, Drift, Outlook
from lapse_bench.foresight.course import DEFECTS, Course
from lapse_bench.foresight.models import BASELINES, OURS
from lapse_bench.foresight.scores import CLIP, Sheet
from lapse_bench.foresight.walk import BURN_IN, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from lapse_bench.foresight.walk import Step
    from lapse_bench.traces import History

__all__ = ["run_foresight"]

_SHOWN = 20
"""Pairs that drift together which a result lists; it counts them all."""


def run_foresight(
    history: History,
    *,
    horizon_days: float,
    seed: int,
    whole: bool,
    tell: Callable[[int, int], None],
) -> dict[str, Any]:
    """Walk forward over a history and score every model.

    Args:
        history: the history.
        horizon_days: how far each prediction looks.
        seed: of the resampling.
        whole: whether known defects count like everything else.
        tell: called with how many periods are done, and how many there are.

    Raises:
        InvalidValue: the history is too short for the horizon.
    """
    course = Course(history, whole=whole)
    sheets = {"rows": Sheet(), "tables": Sheet()}
    kept: list[Drift] = []
    claims = _Claims()
    for period, step in enumerate(walk(course, round(horizon_days * DAY), tell=tell, drift=kept)):
        for name, level in step.levels.items():
            sheets[name].take(period, level)
        claims.take(step)
    drift = kept[0]
    for commit in course.between(drift.latest(), course.until):
        drift.look(commit.look)
    levels = {name: sheet.result(seed) for name, sheet in sheets.items()}
    return {
        "benchmark": "foresight",
        "trace": history.name,
        "config": {
            "horizon_days": horizon_days,
            "seed": seed,
            "burn_in": BURN_IN,
            "clip": CLIP,
            "defects": "counted" if whole else DEFECTS.get(history.name, "none"),
            "defects_left_out": course.defects,
        },
        "levels": levels,
        "helps": {name: _helps(level) for name, level in levels.items()},
        "rhythms": claims.result(drift, course.until),
        "together": _together(drift, course.until),
    }


class _Claims:
    """What the sources that had a rhythm were worth, while they had it."""

    def __init__(self) -> None:
        self._named: set[int] = set()
        self._scored = 0
        self._gain = 0.0

    def take(self, step: Step) -> None:
        """Compare ours with and without rhythms, at the claimed sources alone."""
        self._named |= set(step.rhythms)
        for level in step.levels.values():
            mine = np.isin(level.asked, list(step.rhythms))
            moved = level.moved[mine]
            scores: list[float] = []
            for name in (OURS, "ours_without_rhythm"):
                held = np.clip(level.chances[name][mine], CLIP, 1 - CLIP)
                scores.append(float(np.log(np.where(moved, held, 1 - held)).sum()))
            self._scored += len(moved)
            self._gain += scores[0] - scores[1]

    def result(self, drift: Drift, now: int) -> dict[str, Any]:
        """Which were claimed on the way, what that gained, and which are claimed at the end."""
        standing = Outlook(drift, now).rhythms
        return {
            "sources_that_moved": len(drift.counted()),
            "claimed_on_the_way": sorted(str(drift.sources[number]) for number in self._named),
            "predictions": self._scored,
            "gain_log_score": self._gain / max(1, self._scored),
            "claimed_at_the_end": [
                {
                    "source": str(source),
                    "period_days": found.period / DAY,
                    "cycles": found.cycles,
                    "gain": found.gain,
                }
                for source, found in standing.items()
            ],
        }


def _together(drift: Drift, now: int) -> dict[str, Any]:
    found = Outlook(drift, now).together()
    tables = len(list(drift.tables()))
    return {
        "pairs": tables * (tables - 1) // 2,
        "found": len(found),
        "surest": [
            {
                "first": pair.first.name,
                "second": pair.second.name,
                "shared_days": pair.shared,
                "expected_days": pair.expected,
                "second_given_first": pair.given_first,
                "first_given_second": pair.given_second,
            }
            for pair in found[:_SHOWN]
        ],
    }


def _helps(level: dict[str, Any]) -> dict[str, str]:
    """Against each baseline: better, worse, or not told apart by 95 % intervals."""
    found: dict[str, str] = {}
    for other in BASELINES:
        low, high = level["gain_over"][other]["interval"]
        found[other] = "better" if low > 0 else "worse" if high < 0 else "not told apart"
    return found
