"""Models as witnesses and as writers of requests, local and remote.

A model's answer is I/O, and its words are untrusted. `planning` says what a planner is; the others
are planners. What needs a model's own library is imported only when it is asked for.
"""

from __future__ import annotations

from lapse.judges.counting import COUNTERS, Counted, TokenCounter, counter_named
from lapse.judges.named import PLANNER_NAMES, PlannerSettings, planner_named
from lapse.judges.planning import (
    NO_TOKENS,
    STAND_IN,
    Move,
    Offer,
    Planner,
    Probe,
    Refusal,
    Task,
    Tokens,
    checked,
    taken_over,
)
from lapse.judges.prompting import Prompting
from lapse.judges.scripted import SCRIPTED, Manner, Scripted
from lapse.judges.shapes import Shape, shape_of
from lapse.judges.stand_ins import STAND_INS, StandIn

__all__ = [
    "COUNTERS",
    "NO_TOKENS",
    "PLANNER_NAMES",
    "SCRIPTED",
    "STAND_IN",
    "STAND_INS",
    "Counted",
    "Manner",
    "Move",
    "Offer",
    "Planner",
    "PlannerSettings",
    "Probe",
    "Prompting",
    "Refusal",
    "Scripted",
    "Shape",
    "StandIn",
    "Task",
    "TokenCounter",
    "Tokens",
    "checked",
    "counter_named",
    "planner_named",
    "shape_of",
    "taken_over",
]
