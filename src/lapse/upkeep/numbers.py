"""What numbers this room takes, and how it refuses the others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lapse.errors import InvalidValue

__all__ = ["Flags", "Floats", "Integers", "Numbers", "chance", "nonnegative", "positive", "within"]

Floats = NDArray[np.float64]
"""An array of numbers. A function that was given plain numbers returns one of no dimension."""
Integers = NDArray[np.int64]
"""An array of positions or counts."""
Flags = NDArray[np.bool_]
"""An array of yes and no."""
Numbers = float | Floats
"""A number, or an array of numbers; several of them broadcast."""


def within(field: str, value: Numbers, low: float, high: float, remedy: str) -> Floats:
    """The value as an array, if all of it lies between two bounds, both inclusive.

    Raises:
        InvalidValue: some of it does not, or is no number; the message shows the first such one.
    """
    array = np.asarray(value, dtype=np.float64)
    wrong = ~((array >= low) & (array <= high))
    if wrong.any():
        raise InvalidValue(field, float(array[wrong].flat[0]), remedy)
    return array


def chance(field: str, value: Numbers) -> Floats:
    """The value as an array of chances.

    Raises:
        InvalidValue: some of it is not between 0 and 1.
    """
    return within(field, value, 0.0, 1.0, "pass chances between 0 and 1")


def nonnegative(field: str, value: Numbers) -> Floats:
    """The value as an array of finite numbers, none below 0.

    Raises:
        InvalidValue: some of it is negative or infinite.
    """
    return within(field, value, 0.0, _GREATEST, "pass finite numbers from 0 upwards")


def positive(field: str, value: Numbers) -> Floats:
    """The value as an array of finite numbers above 0.

    Raises:
        InvalidValue: some of it is not.
    """
    return within(field, value, _LEAST, _GREATEST, "pass finite numbers above 0")


_GREATEST = np.finfo(np.float64).max.item()
_LEAST = math.nextafter(0.0, 1.0)
