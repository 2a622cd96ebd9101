"""Suspected: which doubt is worth a recheck, when nobody has said anything and time has passed.

Pure and numeric: no I/O, no clock, no randomness. Times, rates and prices are arguments, in any
unit of time and of reward as long as it is the same one throughout.
"""

from lapse.upkeep.accounts import Account, Bucket, Unlimited, Window
from lapse.upkeep.beliefs import Grounding, Rates, reading, relaxed, until
from lapse.upkeep.estimates import Learned, RateGrid
from lapse.upkeep.gate import Candidate, Clause, Hold, Spend, decide
from lapse.upkeep.grades import DEFER, Grade, Look, choose
from lapse.upkeep.indices import (
    Coverage,
    closed_form,
    covered,
    durability,
    located,
    myopic,
    trip,
    usage,
    worth,
)
from lapse.upkeep.iteration import Numeric, Setting, bound, numeric, stationary_value
from lapse.upkeep.numbers import Flags, Floats, Integers, Numbers
from lapse.upkeep.schedule import Schedule, Watch
from lapse.upkeep.values import (
    Stakes,
    doubt,
    doubt_band,
    noisy_value,
    partial_value,
    regret,
    regret_band,
)
from lapse.upkeep.versions import Finding, Repair, Response, close, fits, respond, versions
from lapse.upkeep.wages import Pay, Wage

__all__ = [
    "DEFER",
    "Account",
    "Bucket",
    "Candidate",
    "Clause",
    "Coverage",
    "Finding",
    "Flags",
    "Floats",
    "Grade",
    "Grounding",
    "Hold",
    "Integers",
    "Learned",
    "Look",
    "Numbers",
    "Numeric",
    "Pay",
    "RateGrid",
    "Rates",
    "Repair",
    "Response",
    "Schedule",
    "Setting",
    "Spend",
    "Stakes",
    "Unlimited",
    "Wage",
    "Watch",
    "Window",
    "bound",
    "choose",
    "close",
    "closed_form",
    "covered",
    "decide",
    "doubt",
    "doubt_band",
    "durability",
    "fits",
    "located",
    "myopic",
    "noisy_value",
    "numeric",
    "partial_value",
    "reading",
    "regret",
    "regret_band",
    "relaxed",
    "respond",
    "stationary_value",
    "trip",
    "until",
    "usage",
    "versions",
    "worth",
]
