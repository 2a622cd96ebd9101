"""Two ways to do the same work, measured turn by turn in one process.

The turns alternate (ours, theirs, ours, theirs), so whatever else the machine does hits both alike.
Each turn does the same number of calls and is one sample; the first few are warm-up and are thrown
away. The collector runs before the turns and is off during them: both sides are measured without
it. A ratio is the quotient of the two medians.
"""

from __future__ import annotations

import gc
import json
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Measured", "Pair", "measured"]

WARM_UP: Final = 3
"""Turns of each side that are not counted."""

GC_POLICY: Final = "collected and frozen before the turns, disabled during them"

_NANOSECONDS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A comparison.

    Attributes:
        name: what is compared.
        ours: one turn of ours.
        theirs: one turn of the reference.
        calls: how many calls a turn makes.
        turns: how many turns of each side are counted.
        goal: the most that ours may take, as a multiple of theirs.
        ours_does: what a call of ours does.
        theirs_does: what a call of theirs does.
        prepare: what is made ready before each turn of ours, outside its time.
    """

    name: str
    ours: Callable[[], None]
    theirs: Callable[[], None]
    calls: int
    turns: int
    goal: float
    ours_does: str
    theirs_does: str
    prepare: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came out.

    Attributes:
        pair: what was compared.
        ours_us: microseconds a call of ours, one for each turn.
        theirs_us: the same for theirs.
    """

    pair: Pair
    ours_us: tuple[float, ...]
    theirs_us: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The median of ours over the median of theirs."""
        return median(self.ours_us) / median(self.theirs_us)

    def as_json(self, *, samples: str) -> dict[str, Any]:
        """The result, with the name of the file that holds the samples."""
        pair = self.pair
        return {
            "ratio": round(self.ratio, 3),
            "goal": pair.goal,
            "goal_is": "at most",
            "met": self.ratio <= pair.goal,
            "median_ours_us": round(median(self.ours_us), 4),
            "median_theirs_us": round(median(self.theirs_us), 4),
            "ours_does": pair.ours_does,
            "theirs_does": pair.theirs_does,
            "calls_per_turn": pair.calls,
            "turns": pair.turns,
            "samples": samples,
        }

    def keep(self, folder: Path) -> str:
        """Write the samples as JSON; returns the file's name."""
        path = folder / f"{self.pair.name}.json"
        held = {"unit": "microseconds a call", "ours": self.ours_us, "theirs": self.theirs_us}
        path.write_text(json.dumps(held), encoding="utf-8")
        return str(path)


def measured(pair: Pair) -> Measured:
    """Run a comparison."""
    for _ in range(WARM_UP):
        pair.prepare()
        pair.ours()
        pair.theirs()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        samples = [_turn(pair) for _ in range(pair.turns)]
    finally:
        gc.enable()
        gc.unfreeze()
    return Measured(
        pair=pair,
        ours_us=tuple(ours for ours, _ in samples),
        theirs_us=tuple(t for _, t in samples),
    )


def _turn(pair: Pair) -> tuple[float, float]:
    pair.prepare()
    return _timed(pair.ours, pair.calls), _timed(pair.theirs, pair.calls)


def _timed(turn: Callable[[], None], calls: int) -> float:
    began = perf_counter_ns()
    turn()
    return (perf_counter_ns() - began) / calls / _NANOSECONDS
