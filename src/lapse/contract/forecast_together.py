"""Which tables of an issuer, or rows of a table, move on the same days more often than by chance.

Two that move often share days by chance, and two that both were busy in one spring share more. So
each pair is compared with what its own moves would give if each had fallen on any day of the same
four weeks. The test is one-sided and its tail is that of a Poisson count, which is heavier than the
true one; over all pairs that could be tested the false discovery rate is held whatever their
dependence (Benjamini and Yekutieli, Annals of Statistics 29, 2001).

A move that was only noticed long after it may have happened on any day, and two that were noticed
by the same late look would seem to go together. Only moves known to within a day count.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from lapse.contract.forecast_drift import DAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lapse.contract.forecast_drift import Drift, Move
    from lapse.ledger import Source

__all__ = ["FEWEST_SHARED_DAYS", "CoDrift", "co_drift"]

FEWEST_SHARED_DAYS: Final = 4
"""Days on which both must have moved; with fewer, one odd day more or less decides."""
_STRETCH: Final = 28
"""Days within which a move might as well have fallen on another day: four whole weeks."""
_WORKING: Final = 7 / 5
"""How much more than a day's share a working day has, where nothing moves on weekends."""
_LIFT: Final = 2.0
"""How many times as often as by chance; what is real and smaller is of no use to anyone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoDrift:
    """Two sources that move together.

    Attributes:
        first: one of them.
        second: the other.
        shared: on how many days both moved.
        expected: on how many they would have by chance, at most.
        given_first: of the days on which the first moved, the share on which the second did.
        given_second: the other way round.
    """

    first: Source
    second: Source
    shared: int
    expected: float
    given_first: float
    given_second: float


def co_drift(drift: Drift, numbers: Iterable[int], *, rate: float = 0.05) -> tuple[CoDrift, ...]:
    """The pairs among some sources that move together, surest first.

    Args:
        drift: what was seen.
        numbers: the sources to pair, by number: the tables of an issuer, or the rows of a table.
        rate: which share of the pairs returned may be there by chance.
    """
    grouped = drift.grouped()
    days = {
        number: found
        for number in numbers
        if len(found := _days(grouped.get(number, ()))) >= FEWEST_SHARED_DAYS
    }
    tests = math.comb(len(days), 2)
    if not tests:
        return ()
    judged = sorted(_judged(days), key=lambda pair: (pair[0], pair[1]))
    harmonic = math.log(tests) + 0.5773 + 0.5 / tests  # the sum of 1 / k up to tests, rounded up
    kept = 0
    for place, (tail, *_) in enumerate(judged, 1):
        if tail <= rate * place / (tests * harmonic):
            kept = place
    return tuple(
        CoDrift(
            first=drift.sources[a],
            second=drift.sources[b],
            shared=shared,
            expected=expected,
            given_first=shared / len(days[a]),
            given_second=shared / len(days[b]),
        )
        for _, (a, b), shared, expected in judged[:kept]
        if shared >= _LIFT * expected
    )


def _days(moves: Sequence[Move]) -> frozenset[int]:
    return frozenset(move.at // DAY for move in moves if move.at - move.since <= DAY)


def _judged(
    days: Mapping[int, frozenset[int]],
) -> Iterator[tuple[float, tuple[int, int], int, float]]:
    """Pairs that share enough days: how likely by chance, which, how many, how many by chance."""
    on: dict[int, list[int]] = {}
    for number in sorted(days):
        for day in days[number]:
            on.setdefault(day, []).append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for movers in on.values():
        shared.update(combinations(movers, 2))
    stretches = {
        number: Counter(day // _STRETCH for day in found) for number, found in days.items()
    }
    for (a, b), count in shared.items():
        if count >= FEWEST_SHARED_DAYS:
            chances = (n * stretches[b][k] / _STRETCH for k, n in stretches[a].items())
            expected = _WORKING * math.fsum(chances)
            yield _tail(count, expected), (a, b), count, expected


def _tail(count: int, mean: float) -> float:
    """The chance that a Poisson count with this mean is so high, or higher; rounded up."""
    if count <= mean:
        return 1.0
    first = math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
    return min(1.0, first / (1 - mean / (count + 1)))
