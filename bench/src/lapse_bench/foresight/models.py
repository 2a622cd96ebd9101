"""The models that are compared: the product's, its parts taken away, and what it has to beat.

A model is given the past and gives a chance per source. It is handed no history, so there is
nothing it could read ahead in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from lapse.contract import DAY, Assumptions, Drift, Outlook, Rates
from lapse.ledger import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from lapse.ledger import Instant
    from lapse_bench.foresight.course import Commit

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["BASELINES", "MODELS", "OURS", "Past", "numbers_of", "predictions", "row_of"]

OURS: Final = "ours"
BASELINES: Final = ("same_as_last", "same_as_last_literal", "global_rate", "row_rate")
MODELS: Final = (
    OURS,
    *BASELINES,
    "ours_without_rhythm",
    "ours_without_forgetting",
    "ours_without_rows",
)
"""Ours, the baselines, and ours with one part taken away."""

_ALIKE: Final = 1e6
"""A row shape at which all rows of a table have its rate."""

Chances: TypeAlias = "Floats"


@dataclass(slots=True)
class _Transitions:
    """How often a source moved in a period, by whether it had moved in the one before."""

    stayed: NDArray[np.float64]
    moved: NDArray[np.float64]

    @classmethod
    def none(cls) -> _Transitions:
        """One of each, before anything was seen (Laplace)."""
        return cls(np.ones(2), np.ones(2))

    def take(self, last: NDArray[np.bool_], now: NDArray[np.bool_]) -> None:
        """Count one period."""
        for value in (0, 1):
            mine = last == bool(value)
            self.moved[value] += np.count_nonzero(now[mine])
            self.stayed[value] += np.count_nonzero(~now[mine])


class Past:
    """Everything up to an origin, and nothing after it.

    Args:
        since: when the history begins.
        horizon: how long a period is.
    """

    def __init__(self, since: Instant, horizon: Instant) -> None:
        self.drift = Drift()
        self.origin = since
        self.horizon = horizon
        self.last: set[int] = set()
        self.asked: dict[str, Integers] = {}
        self._transitions = {"rows": _Transitions.none(), "tables": _Transitions.none()}
        self._before: dict[str, NDArray[np.bool_]] = {}

    def advance(self, commits: Sequence[Commit], origin: Instant) -> None:
        """Take in the commits of one period, which ends at the next origin.

        Raises:
            InvalidValue: a commit is later than the origin.
        """
        moved: set[int] = set()
        for commit in commits:
            self.drift.look(commit.look)
            moved |= numbers_of(self.drift, commit)
        self.drift.known_until(origin)
        for level, asked in self.asked.items():
            now = np.isin(asked, list(moved))
            self._transitions[level].take(self._before[level], now)
        self.origin = origin
        self.last = moved
        rows = np.array(self.drift.rows(), dtype=np.int64)
        parents = np.array(self.drift.parents, dtype=np.int64)
        self.asked = {"rows": rows, "tables": np.unique(parents[rows])}
        self._before = {level: np.isin(of, list(moved)) for level, of in self.asked.items()}

    def moved_last(self, level: str) -> NDArray[np.bool_]:
        """Which of the sources that are asked about moved in the period just ended."""
        return self._before[level]

    def repeated(self, level: str) -> Floats:
        """How often a source has moved after a period without a move, and after one with."""
        seen = self._transitions[level]
        return seen.moved / (seen.moved + seen.stayed)


def numbers_of(drift: Drift, commit: Commit) -> set[int]:
    """The sources that a commit moved, as far as the drift knows them."""
    found = {drift.number(row_of(commit.table, key)) for key in commit.moved}
    if commit.touched:
        found.add(drift.number(commit.table))
    return {number for number in found if number is not None}


def row_of(table: Source, key: str) -> Source:
    """A row of a table."""
    return Source.row(table.issuer, table.name, key)


def predictions(past: Past) -> tuple[dict[str, dict[str, Chances]], Sequence[int]]:
    """What every model says at an origin, by level and model, and which sources have a rhythm."""
    outlook = Outlook(past.drift, past.origin)
    plain = outlook.rates
    forgetful = Rates(past.drift, Assumptions(half_lives_days=(math.inf,)))
    alike = Rates(past.drift, Assumptions(row_shape=_ALIKE, table_shape=_ALIKE))
    known = (past.drift.number(source) for source in outlook.rhythms)
    rhythms = [number for number in known if number is not None]
    found: dict[str, dict[str, Chances]] = {}
    for level, asked in past.asked.items():
        memoryless = plain.chances(asked, past.horizon)
        ours = memoryless.copy()
        for number in rhythms:
            mine = outlook.of(past.drift.sources[number], past.horizon)
            ours[asked == number] = mine.probability
        found[level] = {
            OURS: ours,
            **{name: model(past, level, asked) for name, model in _BASELINES.items()},
            "ours_without_rhythm": memoryless,
            "ours_without_forgetting": forgetful.chances(asked, past.horizon),
            "ours_without_rows": alike.chances(asked, past.horizon),
        }
    return found, rhythms


def _same_as_last(past: Past, level: str, asked: Integers) -> Chances:
    del asked
    return past.repeated(level)[past.moved_last(level).astype(np.int64)]


def _literal(past: Past, level: str, asked: Integers) -> Chances:
    del asked
    return past.moved_last(level).astype(np.float64)


def _counted(past: Past, asked: Integers) -> tuple[Floats, Floats]:
    """Moves of each source, and the days it was watched."""
    drift = past.drift
    count = len(drift.sources)
    moves = np.bincount(np.array(drift.moves[0], dtype=np.int64), minlength=count)
    of, start, end = (np.array(column, dtype=np.int64) for column in drift.spans)
    days = np.bincount(of, (end - start) / DAY, count).astype(np.float64)
    going = past.origin - np.array(drift.starts, dtype=np.float64)
    return moves[asked].astype(np.float64), days[asked] + going[asked] / DAY


def _chance(rate: Floats | float, horizon: Instant) -> Floats:
    return -np.expm1(-np.asarray(rate, dtype=np.float64) * (horizon / DAY))


def _global(past: Past, level: str, asked: Integers) -> Chances:
    del level
    moves, days = _counted(past, asked)
    rate = moves.sum() / max(float(days.sum()), 1e-9)
    return np.full(len(asked), _chance(rate, past.horizon))


def _own(past: Past, level: str, asked: Integers) -> Chances:
    del level
    moves, days = _counted(past, asked)
    return _chance(moves / np.maximum(days, 1e-9), past.horizon)


_BASELINES: Final[Mapping[str, Callable[[Past, str, Integers], Chances]]] = {
    "same_as_last": _same_as_last,
    "same_as_last_literal": _literal,
    "global_rate": _global,
    "row_rate": _own,
}
