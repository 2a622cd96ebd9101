"""Models as witnesses and as writers of requests, local and remote.

A model's answer is I/O, and its words are untrusted. `planning` says what a planner is. Proposers
and pair judges are what `lapse.runtime.Judging` asks through: which items may have lapsed, and
which have. What needs a model's own library is imported only when it is asked for.
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
from lapse.judges.proposing import AllPairs, DeclaredPremise, SharedEntity, Union
from lapse.judges.proposing_meaning import Embedded, embed
from lapse.judges.proposing_words import Bm25
from lapse.judges.scripted import SCRIPTED, Manner, Scripted
from lapse.judges.shapes import Shape, shape_of
from lapse.judges.stand_ins import STAND_INS, StandIn
from lapse.judges.verifying import DeclaredPremises, InTurn, ScriptedJudge
from lapse.judges.verifying_models import ModelJudge
from lapse.judges.verifying_named import JUDGE_NAMES, JudgeSettings, judge_named
from lapse.judges.verifying_prompts import pair_prompt

__all__ = [
    "COUNTERS",
    "JUDGE_NAMES",
    "NO_TOKENS",
    "PLANNER_NAMES",
    "SCRIPTED",
    "STAND_IN",
    "STAND_INS",
    "AllPairs",
    "Bm25",
    "Counted",
    "DeclaredPremise",
    "DeclaredPremises",
    "Embedded",
    "InTurn",
    "JudgeSettings",
    "Manner",
    "ModelJudge",
    "Move",
    "Offer",
    "Planner",
    "PlannerSettings",
    "Probe",
    "Prompting",
    "Refusal",
    "Scripted",
    "ScriptedJudge",
    "Shape",
    "SharedEntity",
    "StandIn",
    "Task",
    "TokenCounter",
    "Tokens",
    "Union",
    "checked",
    "counter_named",
    "embed",
    "judge_named",
    "pair_prompt",
    "planner_named",
    "shape_of",
    "taken_over",
]
