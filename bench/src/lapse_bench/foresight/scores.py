"""Scores, intervals and calibration, summed up per period and per table.

The logarithmic score is the mean of minus the log of the probability given to what happened (nats;
lower is better); the Brier score is the mean squared error of the probability (Brier, Monthly
Weather Review 78, 1950). Both are strictly proper: saying what one believes is the best one can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lapse_bench.foresight.models import BASELINES, MODELS, OURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lapse_bench.foresight.walk import Level

    Floats = NDArray[np.float64]

__all__ = ["CLIP", "EDGES", "Sheet"]

CLIP: Final = 1e-4
"""No model is held to be surer than this in the log score: one certain error is infinite."""
EDGES: Final = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Bins of the predicted probability; finer where most rows are."""
_SEGMENTS: Final = ("moved_before", "never_moved")
_DRAWS: Final = 1_000
_INSIDE: Final = (2.5, 97.5)


class Sheet:
    """The sums of one level, rows or tables."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], Floats] = {}
        self._bins: list[dict[str, Floats]] = []
        self._segments = {
            name: np.zeros(1 + len(MODELS)) for name in ("moved_before", "never_moved")
        }

    def take(self, period: int, level: Level) -> None:
        """Add the predictions of one origin."""
        log, brier = _losses(level)
        tables, place = np.unique(level.tables, return_inverse=True)
        sums = [np.bincount(place, minlength=len(tables)), np.bincount(place, level.moved)]
        sums += [np.bincount(place, loss) for loss in (*log, *brier)]
        for column, table in zip(np.array(sums, dtype=np.float64).T, tables, strict=True):
            self._cells[period, int(table)] = column
        for name, mine in zip(_SEGMENTS, (level.known, ~level.known), strict=True):
            self._segments[name] += [mine.sum(), *(loss[mine].sum() for loss in log)]
        self._bins.append({name: _binned(level.chances[name], level.moved) for name in MODELS})

    def result(self, seed: int) -> dict[str, Any]:
        """Everything there is to say about the level."""
        keys = np.array(list(self._cells), dtype=np.int64)
        cells = np.array(list(self._cells.values()))
        drawn = [_drawn(cells, keys[:, axis], seed + axis) for axis in (0, 1)]
        total = cells.sum(axis=0)
        many = len(MODELS)
        models: dict[str, Any] = {}
        for place, name in enumerate(MODELS):
            log, brier = 2 + place, 2 + many + place
            models[name] = {
                "log_score": _scored(total, drawn, log),
                "brier": _scored(total, drawn, brier),
                "calibration": self._calibration(name),
            }
        ours = 2 + MODELS.index(OURS)
        gains = {
            name: _gained(total, drawn, ours, 2 + MODELS.index(name))
            for name in MODELS
            if name != OURS
        }
        return {
            "n": int(total[0]),
            "moved": int(total[1]),
            "base_rate": total[1] / total[0],
            "periods": len(set(keys[:, 0].tolist())),
            "tables": len(set(keys[:, 1].tolist())),
            "models": models,
            "gain_over": gains,
            "segments": {name: _segment(sums) for name, sums in self._segments.items()},
            "tables_better_with": self._per_table(keys, cells),
        }

    def _calibration(self, name: str) -> list[dict[str, Any]]:
        total = sum((bins[name] for bins in self._bins), np.zeros((3, len(EDGES) - 1)))
        return [
            {
                "from": low,
                "to": high,
                "n": int(count),
                "predicted": said / count,
                "observed": moved / count,
            }
            for low, high, count, said, moved in zip(EDGES, EDGES[1:], *total, strict=False)
            if count
        ]

    def _per_table(self, keys: NDArray[np.int64], cells: Floats) -> dict[str, Any]:
        tables, place = np.unique(keys[:, 1], return_inverse=True)
        sums = np.zeros((len(tables), cells.shape[1]))
        np.add.at(sums, place, cells)
        ours = sums[:, 2 + MODELS.index(OURS)]
        return {
            name: {
                "ours": int((ours < sums[:, 2 + MODELS.index(name)]).sum()),
                "of": len(tables),
            }
            for name in BASELINES
        }


def _losses(level: Level) -> tuple[list[Floats], list[Floats]]:
    log: list[Floats] = []
    brier: list[Floats] = []
    for name in MODELS:
        chances = level.chances[name]
        held = np.clip(chances, CLIP, 1 - CLIP)
        log.append(-np.where(level.moved, np.log(held), np.log1p(-held)))
        brier.append((chances - level.moved) ** 2)
    return log, brier


def _binned(chances: Floats, moved: NDArray[np.bool_]) -> Floats:
    place = np.clip(np.searchsorted(EDGES, chances, side="right") - 1, 0, len(EDGES) - 2)
    many = len(EDGES) - 1
    return np.array(
        [
            np.bincount(place, minlength=many),
            np.bincount(place, chances, many),
            np.bincount(place, moved, many),
        ],
        dtype=np.float64,
    )


def _drawn(cells: Floats, groups: NDArray[np.int64], seed: int) -> Floats:
    """The sums over samples of whole groups, drawn with replacement."""
    names, place = np.unique(groups, return_inverse=True)
    sums = np.zeros((len(names), cells.shape[1]))
    np.add.at(sums, place, cells)
    random = np.random.default_rng(seed)
    times = random.multinomial(len(names), np.full(len(names), 1 / len(names)), size=_DRAWS)
    return times @ sums


def _spread(drawn: Sequence[Floats], over: Sequence[Floats]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for name, top, bottom in zip(("by_periods", "by_tables"), drawn, over, strict=True):
        found[name] = [float(v) for v in np.percentile(top / np.maximum(bottom, 1), _INSIDE)]
    low, high = zip(*found.values(), strict=True)
    return {"interval": [min(low), max(high)], **found}


def _scored(total: Floats, drawn: Sequence[Floats], column: int) -> dict[str, Any]:
    spread = _spread([d[:, column] for d in drawn], [d[:, 0] for d in drawn])
    return {"mean": total[column] / total[0], **spread}


def _gained(total: Floats, drawn: Sequence[Floats], ours: int, other: int) -> dict[str, Any]:
    """By how much the log score of a model is worse than ours."""
    spread = _spread([d[:, other] - d[:, ours] for d in drawn], [d[:, 0] for d in drawn])
    return {"log_score": (total[other] - total[ours]) / total[0], **spread}


def _segment(sums: Floats) -> dict[str, Any]:
    count = max(1.0, float(sums[0]))
    named = dict(zip(MODELS, sums[1:], strict=True))
    return {
        "n": int(sums[0]),
        "log_score": {name: named[name] / count for name in (OURS, *BASELINES)},
    }
