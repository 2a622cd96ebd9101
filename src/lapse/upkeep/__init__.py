"""Suspected: which doubt is worth a recheck, when nobody has said anything and time has passed.

Pure and numeric: no I/O, no clock, no randomness. Times, rates and prices are arguments, in any
unit of time and of reward as long as it is the same one throughout.
"""

from lapse.upkeep.accounts import Account, Bucket, Unlimited, Window
from lapse.upkeep.beliefs import Grounding, Rates, reading, relaxed, until
from lapse.upkeep.estimates import Learned, RateGrid
from lapse.upkeep.gate import Candidate, Clause, Hold, Spend, decide
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
from lapse.upkeep.wages import Pay, Wage

__all__ = [
    "Account",
    "Bucket",
    "Candidate",
    "Clause",
    "Coverage",
    "Flags",
    "Floats",
    "Grounding",
    "Hold",
    "Integers",
    "Learned",
    "Numbers",
    "Numeric",
    "Pay",
    "RateGrid",
    "Rates",
    "Setting",
    "Spend",
    "Stakes",
    "Unlimited",
    "Wage",
    "Window",
    "bound",
    "closed_form",
    "covered",
    "decide",
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
