"""Suspected: which doubt is worth a recheck, when nobody has said anything and time has passed.

Pure and numeric: no I/O, no clock, no randomness. Times, rates and prices are arguments, in any
unit of time and of reward as long as it is the same one throughout.
"""

from lapse.upkeep.beliefs import Grounding, Rates, reading, relaxed, until
from lapse.upkeep.estimates import Learned, RateGrid
from lapse.upkeep.indices import (
    Coverage,
    closed_form,
    covered,
    durability,
    myopic,
    trip,
    usage,
    worth,
)
from lapse.upkeep.iteration import Numeric, Setting, bound, numeric, stationary_value
from lapse.upkeep.numbers import Flags, Floats, Integers, Numbers
from lapse.upkeep.values import Stakes, doubt, noisy_value, partial_value, regret

__all__ = [
    "Coverage",
    "Flags",
    "Floats",
    "Grounding",
    "Integers",
    "Learned",
    "Numbers",
    "Numeric",
    "RateGrid",
    "Rates",
    "Setting",
    "Stakes",
    "bound",
    "closed_form",
    "covered",
    "doubt",
    "durability",
    "myopic",
    "noisy_value",
    "numeric",
    "partial_value",
    "reading",
    "regret",
    "relaxed",
    "stationary_value",
    "trip",
    "until",
    "usage",
    "worth",
]
