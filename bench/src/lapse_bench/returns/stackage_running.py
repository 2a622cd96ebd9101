"""Runs methods over returns to Stackage's history, and makes of it what a result says."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from lapse.errors import InvalidValue
from lapse_bench.returns.episodes import UNLIMITED, Answers, judged
from lapse_bench.returns.intervals import interval
from lapse_bench.returns.metrics import equal_weight, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse_bench.returns.episodes import Judged, ReturnMethod
    from lapse_bench.returns.stackage import StackageEpisode

__all__ = ["STACKAGE_NOTES", "run_stackage"]

STACKAGE_NOTES: Final = (
    "Statuses are the history's. Which of them a note rests on is drawn.",
    "A note holds exactly while those are what they were, so who follows that loses nothing.",
    "restored: the share shown of the notes whose statuses moved and came back.",
    "Intervals are 95 % bootstrap intervals over departures, the same ones for every absence.",
)


def run_stackage(
    episodes: Sequence[StackageEpisode],
    methods: Sequence[ReturnMethod],
    *,
    seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Each method's scores by absence, and the samples behind them.

    Absences weigh the same in the averages.

    Args:
        episodes: at one absence or several.
        methods: whom to ask.
        seed: decides the resampling of the intervals.
        tell: called with the method's name after each episode.

    Raises:
        InvalidValue: there is no episode, or a method admitted what it may not.
    """
    if not episodes:
        raise InvalidValue("episodes", 0, "give a history in which something moves")
    scores: dict[str, Any] = {}
    samples: dict[str, Any] = {}
    for method in methods:
        found: list[tuple[StackageEpisode, Judged, int]] = []
        for one in episodes:
            said = judged(method, one.episode, one.answers, UNLIMITED)
            found.append((one, said, _restored(method, one)))
            tell(method.name)
        by_days = {
            days: _block([seen for seen in found if seen[0].days == days], seed)
            for days in sorted({one.days for one in episodes})
        }
        blocks = list(by_days.values())
        scores[method.name] = {
            "via": _mean([block["via"] for block in blocks]),
            "iir": _mean([block["iir"] for block in blocks]),
            "restored": _mean([block["restored"] for block in blocks]),
            "overall": None,
            "n": len(found),
            "items": round(fmean(said.items for _, said, _ in found), 2),
            "calls": sum(said.calls for _, said, _ in found),
            "tokens": sum(said.tokens for _, said, _ in found),
            "absences": {str(days): block for days, block in by_days.items()},
        }
        samples[method.name] = [
            [one.episode.id, one.days, *_counts(said), len(one.restored), restored]
            for one, said, restored in found
        ]
    return {
        "methods": scores,
        "sample_columns": list(_COLUMNS),
        "samples": samples,
    }


_COLUMNS: Final = (
    "episode",
    "days",
    "needed",
    "available",
    "stale",
    "withheld",
    "came back",
    "restored",
)


def _counts(said: Judged) -> tuple[int, int, int, int]:
    available, withheld = said.available, said.withheld
    return len(available), sum(available), len(withheld), sum(withheld)


def _restored(method: ReturnMethod, one: StackageEpisode) -> int:
    if not one.restored:
        return 0
    answers = Answers(valid=one.restored, stale=frozenset())
    return sum(judged(method, one.episode, answers, UNLIMITED).available)


def _block(found: Sequence[tuple[StackageEpisode, Judged, int]], seed: int) -> dict[str, Any]:
    via = [fmean(said.available) for _, said, _ in found if said.available]
    iir = [fmean(said.withheld) for _, said, _ in found if said.withheld]
    came_back = sum(len(one.restored) for one, _, _ in found)
    return {
        "n": len(found),
        "events": round(fmean(len(one.episode.log) for one, _, _ in found), 2),
        "via": _percent(via),
        "via_interval": _interval(via, seed),
        "iir": _percent(iir),
        "iir_interval": _interval(iir, seed),
        "came_back": came_back,
        "restored": percent(sum(back for _, _, back in found) / came_back) if came_back else None,
    }


def _percent(shares: Sequence[float]) -> float | None:
    return percent(fmean(shares)) if shares else None


def _interval(shares: Sequence[float], seed: int) -> list[float] | None:
    return [percent(bound) for bound in interval(shares, seed=seed)] if shares else None


def _mean(values: Sequence[float | None]) -> float | None:
    some = [value for value in values if value is not None]
    return round(equal_weight(some), 2) if some else None
