"""Walks forward: take in one period, predict the next, and only then look at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from lapse.errors import InvalidValue
from lapse_bench.foresight.models import Past, numbers_of, predictions, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lapse.contract import Drift
    from lapse.ledger import Instant
    from lapse_bench.foresight.course import Commit, Course

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["BURN_IN", "Level", "Step", "walk"]

BURN_IN: Final = 0.1
"""The share of the periods that is only learned from; six at least."""
_FEWEST: Final = 6


@dataclass(frozen=True, slots=True)
class Level:
    """Predictions and outcomes of one level, rows or tables, at one origin.

    Attributes:
        asked: the sources asked about, by number.
        tables: the table of each; of a table, itself.
        known: whether each had been seen to move before.
        chances: what each model said.
        moved: what happened.
    """

    asked: Integers
    tables: Integers
    known: NDArray[np.bool_]
    chances: Mapping[str, Floats]
    moved: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Step:
    """One origin.

    Attributes:
        origin: when the predictions were made.
        levels: rows and tables.
        rhythms: the sources that had a rhythm then, by number.
    """

    origin: Instant
    levels: Mapping[str, Level]
    rhythms: Sequence[int]


def walk(
    course: Course, horizon: Instant, *, tell: Callable[[int, int], None], drift: list[Drift]
) -> Iterator[Step]:
    """Every origin of a course after the burn-in, with predictions and outcomes.

    Args:
        course: the history.
        horizon: the length of a period, in microseconds.
        tell: called with how many periods are done, and how many there are.
        drift: takes the drift, so that the caller can name what was asked about.

    Raises:
        InvalidValue: the history is too short for the horizon.
    """
    origins = range(course.since + horizon, course.until - horizon + 1, horizon)
    burned = max(_FEWEST, round(len(origins) * BURN_IN))
    if len(origins) <= burned:
        remedy = f"pass fewer days: the history has {len(origins)} periods of that length"
        raise InvalidValue("horizon", horizon, remedy)
    past = Past(course.since, horizon)
    drift.append(past.drift)
    before = course.since - 1
    for place, origin in enumerate(origins):
        past.advance(course.between(before, origin), origin)
        before = origin
        tell(place, len(origins))
        if place >= burned:
            said, rhythms = predictions(past)
            # Nothing after the origin has been read up to here.
            yield _step(past, said, rhythms, course.between(origin, origin + horizon))


def _step(
    past: Past,
    said: Mapping[str, Mapping[str, Floats]],
    rhythms: Sequence[int],
    following: Sequence[Commit],
) -> Step:
    drift = past.drift
    moved: set[int] = set()
    unclear: set[int] = set()
    for commit in following:
        moved |= numbers_of(drift, commit)
        rows = (drift.number(row_of(commit.table, key)) for key in commit.defects)
        unclear |= {number for number in rows if number is not None}
    parents = np.array(drift.parents, dtype=np.int64)
    has_moved = np.bincount(np.array(drift.moves[0], dtype=np.int64), minlength=len(parents)) > 0
    levels: dict[str, Level] = {}
    for level, asked in past.asked.items():
        # A row of which only a defect is known in this period is not scored in it.
        kept = ~np.isin(asked, list(unclear - moved))
        of = asked[kept]
        levels[level] = Level(
            asked=of,
            tables=np.where(parents[of] < 0, of, parents[of]),
            known=has_moved[of],
            chances={name: chances[kept] for name, chances in said[level].items()},
            moved=np.isin(of, list(moved)),
        )
    return Step(past.origin, levels, rhythms)
