"""How fast things change, learned from receipts that come when they come.

Two receipts about one atom say in which regime it was, then and now; what happened in between
nobody saw. Counting the changes seen and dividing by time is therefore biased, the more the rarer
the receipts. The likelihood of a pair is exact instead: the belief that relaxed from the first
receipt, at the time of the second. It needs nothing but the pair, so what one receipt costs does
not depend on how many came before.

Atoms that are taken to change alike are a *cluster*: its rates have a posterior on a grid, under a
prior that is uniform in the logarithms of both rates. Clusters learn from each other: a cluster is
either like none of the others (then the uniform prior holds) or like one of them that has receipts,
give or take a factor; the chance of the first is ``alone / (alone + others)``, so a cluster without
receipts is believed to be like the rest, and one with many is left to its own
(docs/decisions/0095).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from lapse.errors import InvalidValue
from lapse.upkeep.beliefs import Rates, relaxed
from lapse.upkeep.numbers import chance, nonnegative, positive

if TYPE_CHECKING:
    from lapse.upkeep.numbers import Floats, Integers, Numbers

__all__ = ["Learned", "RateGrid"]

_BATCH: Final = 32
"""Pairs whose likelihoods are in memory at once: 400 kB on a grid of 40 by 40, within a cache."""
_ALIKE: Final = 0.4
"""How far rates of clusters that are alike lie apart, in natural log units: a factor of 1.5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateGrid:
    """Which rates are thought possible: the same for both directions, evenly spread in logarithms.

    Attributes:
        slowest: the lowest rate, per unit of time.
        fastest: the highest.
        points: how many rates in each direction; a posterior has `points` squared cells.
    """

    slowest: float
    fastest: float
    points: int = 40

    def __post_init__(self) -> None:
        """Refuse a grid without extent."""
        positive("slowest", self.slowest)
        positive("fastest", self.fastest)
        if self.fastest <= self.slowest:
            raise InvalidValue("fastest", self.fastest, f"pass a rate above {self.slowest}")
        if self.points < _FEWEST:
            raise InvalidValue("points", self.points, f"pass {_FEWEST} or more")

    @property
    def steps(self) -> Floats:
        """The rates in one direction, rising."""
        return np.geomspace(self.slowest, self.fastest, self.points)

    @property
    def cells(self) -> Rates:
        """The rates of every cell, those away from 0 changing slowest."""
        out, back = np.meshgrid(self.steps, self.steps, indexing="ij")
        return Rates(out.ravel(), back.ravel())


_FEWEST: Final = 2


class Learned:
    """What receipts have taught about the rates of clusters; single-owner, not thread-safe.

    Args:
        clusters: how many, numbered from 0.
        grid: which rates are thought possible.
        alone: how many clusters' worth of belief says that a cluster is like none of the others;
            infinity learns each one by itself.

    Raises:
        InvalidValue: there is no cluster, or `alone` is not above 0.
    """

    __slots__ = ("_alone", "_cells", "_kernel", "_logs", "_pairs", "_weights", "grid")

    def __init__(self, clusters: int, grid: RateGrid, *, alone: float = 1.0) -> None:
        if clusters < 1:
            raise InvalidValue("clusters", clusters, "pass at least one")
        if not alone > 0:
            raise InvalidValue("alone", alone, "pass a number above 0, or infinity not to pool")
        self.grid = grid
        self._alone = alone
        self._cells = grid.cells
        self._logs = np.zeros((clusters, grid.points**2))
        self._pairs = np.zeros(clusters, dtype=np.int64)
        self._weights: Floats | None = None
        apart = np.subtract.outer(np.log(grid.steps), np.log(grid.steps)) / _ALIKE
        kernel = np.exp(-0.5 * apart**2)
        self._kernel = kernel / kernel.sum(axis=0)

    @property
    def pairs(self) -> Integers:
        """How many pairs of receipts each cluster has."""
        return self._pairs.copy()

    def observe(
        self, cluster: int | Integers, before: Numbers, after: Numbers, gap: Numbers
    ) -> None:
        """Take in pairs of receipts that follow each other, each pair about one atom.

        Only looks that do not err make a pair.

        Args:
            cluster: the cluster of the atom; one number or one for each pair, as all that follow.
            before: the regime that the earlier receipt saw, 0 or 1.
            after: the regime that the later one saw.
            gap: the time between them, above 0.

        Raises:
            InvalidValue: there is no such cluster, no such regime, or no time between them.
        """
        place, then, now, time = np.broadcast_arrays(
            np.atleast_1d(np.asarray(cluster, dtype=np.int64)),
            _regime("before", before),
            _regime("after", after),
            positive("gap", gap),
        )
        wrong = (place < 0) | (place >= len(self._pairs))
        if wrong.any():
            remedy = f"pass numbers from 0 to {len(self._pairs) - 1}"
            raise InvalidValue("cluster", int(place[wrong][0]), remedy)
        for one in np.unique(place):
            mine = np.flatnonzero(place == one)
            for start in range(0, len(mine), _BATCH):
                part = mine[start : start + _BATCH]
                self._logs[one] += self._likelihoods(then[part], now[part], time[part])
            self._pairs[one] += len(mine)
        self._weights = None

    def _likelihoods(self, then: Floats, now: Floats, time: Floats) -> Floats:
        """The logarithm of the chance of some pairs together, for each cell."""
        total, suspicion = self._cells.total, self._cells.suspicion
        settled = -np.expm1(-np.outer(time, total))
        changed = np.where(then[:, None] > 0, 1.0 - suspicion, suspicion) * settled
        seen = np.where((then == now)[:, None], 1.0 - changed, changed)
        return np.log(np.maximum(seen, _RAREST)).sum(axis=0)

    @property
    def posterior(self) -> Floats:
        """The chance of each cell of the grid, for each cluster: one row each, adding up to 1."""
        if self._weights is None:
            own = _normal(self._logs)
            told = self._pairs > 0
            shape = (-1, self.grid.points, self.grid.points)
            near = (self._kernel @ own.reshape(shape) @ self._kernel.T).reshape(own.shape)
            near = np.where(told[:, None], near, 0.0)
            others = (told.sum() - told)[:, None]
            mean = (near.sum(axis=0) - near) / np.maximum(others, 1)
            share = others / (self._alone + others)
            prior = (1.0 - share) / own.shape[1] + share * mean
            self._weights = _normal(self._logs + np.log(np.maximum(prior, _RAREST)))
        return self._weights

    @property
    def rates(self) -> Rates:
        """The rates of each cluster: the means of their logarithms, which no unit of time skews."""
        out, back = np.asarray(self._cells.out), np.asarray(self._cells.back)
        return Rates(np.exp(self.posterior @ np.log(out)), np.exp(self.posterior @ np.log(back)))

    def relaxed(self, cluster: int, seen: float, age: float) -> float:
        """The chance of regime 1 some time after a look, over all rates that are thought possible.

        Args:
            cluster: the cluster of the atom.
            seen: what was seen.
            age: the time since then.

        Raises:
            InvalidValue: `seen` is no chance, or the age is negative.
        """
        each = relaxed(chance("seen", seen), nonnegative("age", age), self._cells)
        return float(self.posterior[cluster] @ each)


_RAREST: Final = 1e-300
"""What rounds to no chance at all; its logarithm is still a number."""


def _normal(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _regime(field: str, value: Numbers) -> Floats:
    regime = np.asarray(value, dtype=np.float64)
    wrong = (regime != 0) & (regime != 1)
    if wrong.any():
        raise InvalidValue(field, float(regime[wrong].flat[0]), "pass 0 or 1")
    return regime
