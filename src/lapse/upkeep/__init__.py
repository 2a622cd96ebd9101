"""Suspected: which doubt is worth a recheck, when nobody has said anything and time has passed.

Pure and numeric: no I/O, no clock, no randomness. Times, rates and prices are arguments, in any
unit of time and of reward as long as it is the same one throughout.
"""

from lapse.upkeep.beliefs import Grounding, Rates, reading, relaxed, until
from lapse.upkeep.estimates import Learned, RateGrid
from lapse.upkeep.numbers import Flags, Floats, Integers, Numbers
from lapse.upkeep.values import Stakes, doubt, noisy_value, partial_value, regret

__all__ = [
    "Flags",
    "Floats",
    "Grounding",
    "Integers",
    "Learned",
    "Numbers",
    "RateGrid",
    "Rates",
    "Stakes",
    "doubt",
    "noisy_value",
    "partial_value",
    "reading",
    "regret",
    "relaxed",
    "until",
]
