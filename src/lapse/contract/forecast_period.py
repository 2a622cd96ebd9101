"""Whether something moves in a rhythm, and when it then moves next.

The question is asked as a bet that is settled move by move: before each, a model with a rhythm and
a memoryless one say how likely its instant is, and the ratio is multiplied up. Both models take the
scale of the waiting times from the waits before (right Haar prior), so the product is one in
expectation whatever the memoryless rate is, and the chance that it ever exceeds ``1 / level`` is at
most ``level``, however often it is looked at (Ville's inequality). It is out of sample by build: no
wait is judged by a model that has seen it.

A rhythm means waits that are alike as those of a schedule are, to within a tenth or so: the bet is
on Gamma-distributed waits with a shape of 16, 64 or 256, it has to win `MARGIN` a wait on average,
and over `FEWEST_CYCLES` waits. What is merely steadier than chance, as release habits are, wins
less than that, and did not predict better when it was believed (docs/decisions/0052).

Looks have gaps. The time from the look that saw one move to the next move is memoryless if the
moves are, whatever was missed before that look; but only its bounds are known. The bet is therefore
settled by a lower bound over all instants that the looks allow: who looks too seldom to see a
rhythm claims none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from lapse.contract.forecast_drift import DAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lapse.contract.forecast_drift import Move
    from lapse.ledger import Instant

__all__ = ["FEWEST_CYCLES", "MARGIN", "Rhythm", "rhythm"]

FEWEST_CYCLES: Final = 12
"""Waits that must have been seen before a rhythm may be claimed: a year of months."""

MARGIN: Final = 1.5
"""By how many nats each wait must have been predicted better, on average. A schedule kept to 5 %
earns 2.2, one kept to 10 % 1.6; the steadiest real release habit of endoflife.date earns 1.3."""

_SHAPES: Final = (16, 64, 256)
"""Shapes of the rhythmic models: waits alike to 25, 12.5 and 6 %; each has a third of the bet."""
_SCALES: Final = 33
"""Scales tried for the lower bound; any of them gives a valid one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """A rhythm that has won its bet.

    Attributes:
        period: the mean wait, in microseconds.
        cycles: how many waits it rests on.
        gain: the logarithm by which it predicted better than a memoryless model, out of sample.
    """

    period: Instant
    cycles: int
    gain: float
    _last: Instant
    _beliefs: tuple[float, ...]
    _total: float

    @property
    def lasting(self) -> float:
        """The chance that it goes on for one more wait, by Laplace's rule of succession."""
        return self.cycles / (self.cycles + 2)

    def chance(self, now: Instant, span: Instant, *, quiet_until: Instant) -> float:
        """The chance to move at least once within so many microseconds after now.

        Args:
            now: the instant.
            span: how long.
            quiet_until: until when nothing moved since the last move. Half a period later nobody
                knows any more how many moves there were, and the beat is lost: what is left is the
                share of instants that have a move so close behind them.
        """
        if now - quiet_until > self.period / 2:
            return min(1.0, span / self.period)
        before = _days(now - self._last)
        after = before + _days(span)
        still, later = (
            _mixed(
                belief + _still(shape, self.cycles, wait, self._total)
                for belief, shape in zip(self._beliefs, _SHAPES, strict=True)
            )
            for wait in (before, after)
        )
        return -math.expm1(min(0.0, later - still))


def rhythm(moves: Sequence[Move], quiet_until: Instant, *, level: float) -> Rhythm | None:
    """The rhythm of some moves; None where no bet was won.

    Args:
        moves: oldest first.
        quiet_until: until when nothing moved since the last of them.
        level: the chance to claim a rhythm where there is none; divide it by the number of
            sources that are asked about.
    """
    if len(moves) <= FEWEST_CYCLES:
        return None
    low = [_days(after.since - before.at) for before, after in pairwise(moves)]
    high = [_days(after.at - before.at) for before, after in pairwise(moves)]
    if min(low) <= 0:
        return None  # two moves in two looks: nobody knows how close
    cycles = len(low)
    middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    total = math.fsum(middle)
    waited = max(0.0, _days(quiet_until - moves[-1].at))
    bound = _least(low, high, total / cycles)
    beliefs = tuple(_bet(shape, cycles, bound) for shape in _SHAPES)
    ended = cycles * math.log1p(waited / total)  # minus the log of the chance to wait as long
    least = max(-math.log(level), MARGIN * cycles)
    if _mixed(beliefs) + ended < least:
        return None  # waiting can only make it less
    held = (b + _still(s, cycles, waited, total) for b, s in zip(beliefs, _SHAPES, strict=True))
    gain = _mixed(held) + ended
    if gain < least:
        return None
    return Rhythm(
        period=round(total / cycles * DAY),
        cycles=cycles,
        gain=gain,
        _last=moves[-1].at,
        _beliefs=beliefs,
        _total=total,
    )


def _days(span: Instant) -> float:
    return span / DAY


def _least(low: Sequence[float], high: Sequence[float], mean: float) -> float:
    """A lower bound of ``sum(log(wait)) - n * log(sum(waits))`` over all waits within the bounds.

    By duality: for any scale m, ``-n * log(sum / n) = max over m of n - sum / m - n * log(m)``, and
    what is left is a sum whose terms are concave, so each is least at one of its ends.
    """
    n = len(low)

    def bound(scale: float) -> float:
        ends = (
            min(math.log(a) - a / scale, math.log(b) - b / scale)
            for a, b in zip(low, high, strict=True)
        )
        return math.fsum(ends) + n - n * math.log(scale)

    half = 0 if list(low) == list(high) else _SCALES // 2  # for exact waits the mean is the best
    tried = (mean * math.exp(step / max(1, half)) for step in range(-half, half + 1))
    return max(map(bound, tried)) - n * math.log(n)


def _bet(shape: int, n: int, bound: float) -> float:
    """The log of what a third of the bet has become, for a model of this shape."""
    return (
        math.lgamma(n * shape)
        - n * math.lgamma(shape)
        - math.lgamma(n)
        + (shape - 1) * bound
        - math.log(len(_SHAPES))
    )


def _still(shape: int, n: int, wait: float, total: float) -> float:
    """The log of the chance to wait longer than this, after n waits of so much in total.

    The next wait over all waits is Beta(shape, n * shape); with whole numbers its tail is a
    binomial sum.
    """
    if wait <= 0:
        return 0.0
    share = wait / (wait + total)
    trials = (n + 1) * shape - 1
    terms = (
        math.lgamma(trials + 1)
        - math.lgamma(k + 1)
        - math.lgamma(trials - k + 1)
        + k * math.log(share)
        + (trials - k) * math.log1p(-share)
        for k in range(shape)
    )
    return min(0.0, _mixed(terms))


def _mixed(logs: Iterable[float]) -> float:
    """The log of the sum of what these are the logs of."""
    found = list(logs)
    most = max(found)
    return most + math.log(math.fsum(math.exp(value - most) for value in found))
