"""Runs methods over return episodes, and makes of it what a result says.

Progress is told through a callback; nothing here prints or reads a clock.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from lapse.errors import InvalidValue
from lapse_bench.returns.episodes import judged
from lapse_bench.returns.manbench import CONDITIONS, HEADLINE
from lapse_bench.returns.memora import DEPARTURES
from lapse_bench.returns.metrics import (
    Criteria,
    ManbenchOutcome,
    equal_weight,
    manbench_scores,
    memora_scores,
    percent,
    wrong_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse_bench.returns.episodes import Budget, Judged, ReturnMethod
    from lapse_bench.returns.manbench import ManbenchEpisode
    from lapse_bench.returns.memora import MemoraEpisode

__all__ = ["MANBENCH_NOTES", "MEMORA_NOTES", "run_manbench", "run_memora"]

MEMORA_NOTES: Final = (
    "Views are scored, not answers: do they state what is needed, and leave out what is stale?",
    "overall and fama are the source's formulas over those criteria.",
    "Methods are handed what a perfect extractor would have written down of each session.",
)

MANBENCH_NOTES: Final = (
    "Views are scored, not answers: nobody answers here, so overall and shift rate have no value.",
    "What the agent left with and what the team says are the source's labels.",
    "old-stale leaves out items whose next question has the same answer.",
    "The condition corrected is not the source's and no part of via and iir.",
)


def run_memora(
    episodes: Sequence[MemoraEpisode],
    methods: Sequence[ReturnMethod],
    budget: Budget,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Each method's scores over Memora's episodes, and the samples behind them.

    Departures weigh the same in the averages, as in the source (appendix D.1).

    Args:
        episodes: at one departure or several.
        methods: whom to ask.
        budget: what a view may hold.
        tell: called with the method's name after each episode.

    Raises:
        InvalidValue: there is no episode, or a method admitted what it may not.
    """
    _some(episodes)
    scores: dict[str, Any] = {}
    samples: dict[str, Any] = {}
    for method in methods:
        found: dict[int, list[Judged]] = {}
        rows: list[list[Any]] = []
        for one in episodes:
            said = judged(method, one.episode, one.answers, budget)
            found.setdefault(one.departure, []).append(said)
            rows.append([one.episode.id, one.departure, *_counts(said)])
            tell(method.name)
        blocks = {
            departure: memora_scores(
                [Criteria(said.available, said.withheld) for said in found[departure]]
            )
            for departure in DEPARTURES
            if departure in found
        }
        scores[method.name] = {
            "via": percent(equal_weight([block.via for block in blocks.values()])),
            "iir": percent(equal_weight([block.iir for block in blocks.values()])),
            "overall": percent(equal_weight([block.overall for block in blocks.values()])),
            "fama": percent(equal_weight([block.fama for block in blocks.values()])),
            **_cost([said for block in found.values() for said in block]),
            "departures": {
                str(departure): {
                    "n": block.n,
                    "via": percent(block.via),
                    "iir": percent(block.iir),
                    "overall": percent(block.overall),
                    "fama": percent(block.fama),
                }
                for departure, block in blocks.items()
            },
        }
        samples[method.name] = rows
    return {
        "methods": scores,
        "sample_columns": ["episode", "departure", *_COUNTED],
        "samples": samples,
    }


def run_manbench(
    episodes: Sequence[ManbenchEpisode],
    methods: Sequence[ReturnMethod],
    budget: Budget,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Each method's scores over ManBench's episodes, and counts by task behind them.

    The two conditions of the source weigh the same in `via` and `iir` (appendix D.1).

    Args:
        episodes: of all conditions, of one size of team or several.
        methods: whom to ask.
        budget: what a view may hold.
        tell: called with the method's name after each episode.

    Raises:
        InvalidValue: a condition of the source has no episode, or a method admitted what it may
            not.
    """
    _some(episodes)
    missing = [name for name in HEADLINE if all(one.condition != name for one in episodes)]
    if missing:
        raise InvalidValue("episodes", missing, "give items that make every condition")
    scores: dict[str, Any] = {}
    samples: dict[str, Any] = {}
    for method in methods:
        found: list[tuple[ManbenchEpisode, Judged]] = []
        for one in episodes:
            found.append((one, judged(method, one.episode, one.answers, budget)))
            tell(method.name)
        sizes = sorted({one.size for one in episodes})
        scores[method.name] = {
            **_two_conditions(found),
            "overall": None,
            **_cost([said for one, said in found if one.condition in HEADLINE]),
            "conditions": {
                name: _condition([pair for pair in found if pair[0].condition == name])
                for name in CONDITIONS
                if any(one.condition == name for one, _ in found)
            },
            "sizes": {
                str(size): _two_conditions([pair for pair in found if pair[0].size == size])
                for size in sizes
            },
        }
        samples[method.name] = _by_task(found)
    return {
        "methods": scores,
        "sample_columns": ["task", "condition", "size", "n", "valid admitted", "invalid kept out"],
        "samples": samples,
    }


_COUNTED: Final = ("needed", "available", "stale", "withheld", "items")


def _counts(said: Judged) -> list[int]:
    return [
        len(said.available),
        sum(said.available),
        len(said.withheld),
        sum(said.withheld),
        said.items,
    ]


def _cost(found: Sequence[Judged]) -> dict[str, Any]:
    return {
        "n": len(found),
        "items": round(fmean(said.items for said in found), 2),
        "calls": sum(said.calls for said in found),
        "tokens": sum(said.tokens for said in found),
    }


def _condition(found: Sequence[tuple[ManbenchEpisode, Judged]]) -> dict[str, Any]:
    outcomes = [
        ManbenchOutcome(valid_admitted=all(said.available), invalid_admitted=not all(said.withheld))
        for _, said in found
    ]
    block = manbench_scores(outcomes)
    return {
        "n": block.n,
        "via": percent(block.via),
        "iir": percent(block.iir),
        "wsar": percent(wrong_state(block.iir)),
    }


def _two_conditions(found: Sequence[tuple[ManbenchEpisode, Judged]]) -> dict[str, float]:
    blocks = [
        _condition([pair for pair in found if pair[0].condition == name]) for name in HEADLINE
    ]
    return {
        "via": round(equal_weight([block["via"] for block in blocks]), 2),
        "iir": round(equal_weight([block["iir"] for block in blocks]), 2),
    }


def _by_task(found: Sequence[tuple[ManbenchEpisode, Judged]]) -> list[list[Any]]:
    groups: dict[tuple[str, str, int], list[Judged]] = {}
    for one, said in found:
        groups.setdefault((one.task, one.condition, one.size), []).append(said)
    return [
        [*group, len(every), _all(every, "available"), _all(every, "withheld")]
        for group, every in groups.items()
    ]


def _all(every: Sequence[Judged], what: str) -> int:
    return sum(all(getattr(said, what)) for said in every)


def _some(episodes: Sequence[object]) -> None:
    if not episodes:
        raise InvalidValue("episodes", 0, "give data that make at least one episode")
