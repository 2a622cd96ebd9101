"""How far a mean may be off: the bootstrap over independent draws."""

from __future__ import annotations

import random
from statistics import fmean
from typing import TYPE_CHECKING, Final

from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["interval"]

_DRAWS: Final = 1000
_TAIL: Final = 0.025
"""A share on each side: 95 % lie between."""


def interval(values: Sequence[float], *, seed: int = 0) -> tuple[float, float]:
    """The 95 % percentile interval of the mean, by resampling.

    Args:
        values: one for each independent draw; at least one.
        seed: decides the resampling.

    Raises:
        InvalidValue: there is none.
    """
    if not values:
        raise InvalidValue("values", values, "give at least one")
    draw = random.Random(seed)
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(_DRAWS))
    return means[int(_DRAWS * _TAIL)], means[-1 - int(_DRAWS * _TAIL)]
