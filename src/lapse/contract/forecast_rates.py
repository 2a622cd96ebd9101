"""How often tables and rows move: Gamma-Poisson, pooled from row to table to issuer.

A row that was never seen to move is not a row that never moves, and one that moved twice in a week
does not move a hundred times a year. Each row's rate is therefore drawn from its table's, each
table's from its issuer's, and the issuer's from Jeffreys' prior, with strengths that are constants
here. What a stretch of watching or a move counts for halves with its age; the chance is the plain
mean over four half-lives, because real tables differ in how long their past stays true and no
single half-life was best on them (docs/decisions/0051). Age is counted back from the last look at
the issuer, not from today: while nobody looks nothing is forgotten, and waiting restores no trust.

A move of which it is only known that it fell between two looks has the likelihood of "at least one
in that time", 1 - exp(-rate * time): counting such moves over the time watched is biased, the more
the rarer the looks.

Rows that moved at one look of one table are one observation of that table: its rate is learned from
them as if there were as many moves as looks, weighted by their size (the design effect of cluster
sampling; Kish, Survey Sampling, 1965, section 5.4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lapse.contract.forecast_drift import DAY, UNWATCHED
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from lapse.contract.forecast_drift import Drift
    from lapse.ledger import Instant

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["Assumptions", "Rates"]

_ROUNDS: Final = 12
"""Rounds of expectation-maximisation over moves between looks; three digits settle in 8."""
_POINTS: Final = 256
"""Points of the numeric posterior, spread over the logarithm of the rate."""
_TAIL: Final = 12.0
"""Natural log units of posterior density that the numeric posterior reaches down to."""
_FASTEST: Final = 1e9
"""Moves a day; keeps what was watched for no time at all from being infinite times nothing."""
_JEFFREYS: Final = 0.5
"""The shape of Jeffreys' prior of a Poisson rate: half a move, seen in no time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What is taken for granted. The defaults and how they were found: docs/decisions/0051.

    Attributes:
        half_lives_days: how long until the past counts for half; infinity never forgets.
        row_shape: how alike the rows of a table are: the shape of the Gamma distribution of their
            rates; its coefficient of variation is ``row_shape ** -0.5``.
        table_shape: the same for the tables of an issuer, and their own moves.
        table_strength: how many moves of rows, each at a look of its own, outweigh the issuer's
            mean in what is expected of a table's rows.
    """

    half_lives_days: tuple[float, ...] = (30.0, 90.0, 365.0, math.inf)
    row_shape: float = 0.3
    table_shape: float = 0.3
    table_strength: float = 10.0

    def __post_init__(self) -> None:
        """Refuse what is not above zero."""
        if not self.half_lives_days or not all(days > 0 for days in self.half_lives_days):
            remedy = "pass one or more numbers of days above 0"
            raise InvalidValue("half_lives_days", self.half_lives_days, remedy)
        for name in ("row_shape", "table_shape", "table_strength"):
            value: float = getattr(self, name)
            if not 0 < value < math.inf:
                raise InvalidValue(name, value, "pass a finite number above 0")


@dataclass(frozen=True, slots=True)
class _Seen:
    """The columns of a drift as arrays, in days before the last look at their issuer."""

    parents: Integers
    issuers: Integers
    span_of: Integers
    span_from: Floats
    span_to: Floats
    move_of: Integers
    move_at: Floats
    gaps: Floats
    looks: Integers


class Rates:
    """The rates as of the last look, of everything that was ever watched.

    Args:
        drift: what was seen; what is added to it later does not count.
        assumptions: what is taken for granted.
    """

    __slots__ = ("_gapped", "_gaps", "_moves", "_shapes", "_times", "_weights")

    def __init__(self, drift: Drift, assumptions: Assumptions | None = None) -> None:
        import numpy as np  # noqa: PLC0415 - only who asks for a forecast pays for it

        taken = Assumptions() if assumptions is None else assumptions
        seen = _seen(drift)
        count = len(seen.parents)
        self._moves = np.bincount(seen.move_of, minlength=count)
        self._gaps = seen.gaps
        self._gapped: dict[int, list[int]] = {}
        for place in np.flatnonzero(seen.gaps > 0).tolist():
            self._gapped.setdefault(int(seen.move_of[place]), []).append(place)
        self._shapes: list[Floats] = []
        self._times: list[Floats] = []
        self._weights: list[Floats] = []
        for days in taken.half_lives_days:
            weights = 0.5 ** (seen.move_at / days)
            times = _summed(seen.span_of, _discounted(seen, days), count)
            shapes, prior = _pooled(seen, weights, times, taken)
            exact = np.where(seen.gaps > 0, 0.0, weights)
            self._shapes.append(shapes + _summed(seen.move_of, exact, count))
            self._times.append(prior + times)
            self._weights.append(weights)

    def moves(self, number: int) -> int:
        """How many moves of a source were seen."""
        return int(self._moves[number])

    def chances(self, numbers: Integers, span: Instant) -> Floats:
        """The chance of each source, by number, to move at least once in so many microseconds."""
        import numpy as np  # noqa: PLC0415

        days = span / DAY
        found = np.zeros(len(numbers))
        if span <= 0:
            return found
        with np.errstate(divide="ignore"):
            for shapes, times in zip(self._shapes, self._times, strict=True):
                time = times[numbers]
                found -= np.expm1(-shapes[numbers] * np.log1p(days / time))
        found /= len(self._shapes)
        for place, number in enumerate(numbers.tolist()):
            if number in self._gapped:
                rates, masses = self.posterior(number)
                found[place] = -float(masses @ np.expm1(-rates * days))
        return np.minimum(found, 1.0)  # masses sum to one but for rounding

    def chance(self, number: int, span: Instant) -> float:
        """As `chances`, for one source."""
        import numpy as np  # noqa: PLC0415

        return float(self.chances(np.array([number]), span)[0])

    def between(self, number: int, span: Instant, *, outside: float) -> tuple[float, float]:
        """The credible interval of a chance, with so much of the posterior below it, and above."""
        import numpy as np  # noqa: PLC0415

        if not all(times[number] > 0 for times in self._times):
            return 0.0, 1.0  # nothing was watched for any time
        rates, masses = self.posterior(number)
        order = np.argsort(rates)
        reached = np.cumsum(masses[order])
        ends = np.interp([outside, 1 - outside], reached, np.log(rates[order]))
        low, high = -np.expm1(-np.exp(ends) * (span / DAY))
        return float(low), float(high)

    def posterior(self, number: int) -> tuple[Floats, Floats]:
        """Rates a day and their masses, which sum to one, over all half-lives alike."""
        import numpy as np  # noqa: PLC0415

        places = self._gapped.get(number, [])
        rates: list[Floats] = []
        masses: list[Floats] = []
        for shapes, times, weights in zip(self._shapes, self._times, self._weights, strict=True):
            found = _posterior(
                float(shapes[number]), float(times[number]), self._gaps[places], weights[places]
            )
            rates.append(found[0])
            masses.append(found[1] / len(self._shapes))
        return np.concatenate(rates), np.concatenate(masses)


def _seen(drift: Drift) -> _Seen:
    import numpy as np  # noqa: PLC0415

    def column(values: Iterable[int]) -> Integers:
        return np.array(values, dtype=np.int64)

    parents, issuers, starts = map(column, (drift.parents, drift.issuers, drift.starts))
    seen = column(drift.seen)
    last = np.zeros(int(issuers.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(last, issuers[parents < 0], seen[parents < 0])

    def ago(of: Integers, instants: Integers) -> Floats:
        return (last[issuers[of]] - instants) / DAY

    known = np.where(parents < 0, seen, column(drift.explained)[parents])
    going = np.flatnonzero(starts != UNWATCHED)
    ended, start, end = map(column, drift.spans)
    span_of = np.concatenate([ended, going])
    move_of, since, at, looks = map(column, drift.moves)
    return _Seen(
        parents=parents,
        issuers=issuers,
        span_of=span_of,
        span_from=ago(span_of, np.concatenate([start, starts[going]])),
        span_to=ago(span_of, np.concatenate([end, np.maximum(starts, known)[going]])),
        move_of=move_of,
        move_at=ago(move_of, at),
        gaps=(at - since) / DAY,
        looks=looks,
    )


def _summed(groups: Integers, values: Floats, count: int) -> Floats:
    """The sum of the values of each group."""
    import numpy as np  # noqa: PLC0415

    return np.bincount(groups, values, count).astype(np.float64)


def _discounted(seen: _Seen, half_life: float) -> Floats:
    """How many days each quiet span counts for."""
    if math.isinf(half_life):
        return seen.span_from - seen.span_to
    scale = half_life / math.log(2)
    found: Floats = scale * (
        0.5 ** (seen.span_to / half_life) - 0.5 ** (seen.span_from / half_life)
    )
    return found


def _pooled(
    seen: _Seen, weights: Floats, times: Floats, taken: Assumptions
) -> tuple[Floats, Floats]:
    """The prior of every source: its shape, and how many days it stands for."""
    import numpy as np  # noqa: PLC0415

    count = len(seen.parents)
    sizes = _sizes(seen, weights)
    exposed = times + _summed(seen.move_of, weights * seen.gaps, count)
    expected = weights
    means = np.zeros(count)
    for _ in range(_ROUNDS if bool(seen.gaps.any()) else 1):
        moved = _summed(seen.move_of, expected, count)
        means = _means(seen, moved, exposed, sizes, taken)
        rates = np.minimum(means[seen.move_of], _FASTEST)
        in_gap = np.maximum(rates * seen.gaps, np.finfo(np.float64).tiny)
        expected = weights * (in_gap / -np.expm1(-in_gap))
    shapes = np.where(seen.parents >= 0, taken.row_shape, taken.table_shape)
    # Where nothing was watched the mean is infinite and the prior no time at all: all can happen.
    return shapes, shapes / means


def _means(
    seen: _Seen, moved: Floats, exposed: Floats, sizes: Floats, taken: Assumptions
) -> Floats:
    """The rate a day to be expected of each source before its own moves are looked at."""
    import numpy as np  # noqa: PLC0415

    rows = seen.parents >= 0
    many = int(seen.issuers.max(initial=-1)) + 1
    means = np.empty(len(rows))
    with np.errstate(divide="ignore"):
        for level in (rows, ~rows):
            whose = seen.issuers[level]
            in_all = _summed(whose, moved[level], many) + _JEFFREYS
            means[level] = (in_all / _summed(whose, exposed[level], many))[whose]
        tables = seen.parents[rows]
        count = len(rows)
        own = (_summed(tables, moved[rows], count) / sizes)[tables]
        time = (_summed(tables, exposed[rows], count) / sizes)[tables]
        strength = taken.table_strength
        means[rows] = (strength + own) / (strength / means[rows] + time)
    return means


def _sizes(seen: _Seen, weights: Floats) -> Floats:
    """How many moves of rows make one observation of each table."""
    import numpy as np  # noqa: PLC0415

    count = len(seen.parents)
    of_rows = np.flatnonzero(seen.parents[seen.move_of] >= 0)
    looks, first, together = np.unique(seen.looks[of_rows], return_index=True, return_inverse=True)
    per_look = np.bincount(together, minlength=len(looks)).astype(np.float64)
    tables = seen.parents[seen.move_of[of_rows[first]]]
    weight = weights[of_rows[first]] * per_look
    alone = _summed(tables, weight, count)
    with np.errstate(invalid="ignore"):
        sizes = _summed(tables, weight * per_look, count) / alone
    return np.where(alone > 0, sizes, 1.0)


def _posterior(shape: float, time: float, gaps: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Points over the rate a day, and the mass of each."""
    import numpy as np  # noqa: PLC0415

    total = shape + float(weights.sum())
    reach = _TAIL / total + 5 / math.sqrt(total)
    low = math.log(total / (time + float(weights @ gaps))) - reach
    high = math.log(total / time) + math.log1p(reach)
    logs = np.linspace(low, high, _POINTS)
    rates = np.exp(logs)
    density = shape * logs - time * rates
    if len(gaps):
        density += weights @ np.log(-np.expm1(-np.outer(gaps, rates)))
    masses = np.exp(density - density.max())
    return rates, masses / masses.sum()
