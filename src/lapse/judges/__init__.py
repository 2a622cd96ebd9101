"""Models as witnesses and as writers of requests, local and remote.

A model's answer is I/O, and its words are untrusted. `planning` says what a planner is; the others
are planners. What needs a model's own library is imported only when it is asked for.
"""

from __future__ import annotations

from lapse.judges.planning import (
    NO_TOKENS,
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

__all__ = [
    "NO_TOKENS",
    "Move",
    "Offer",
    "Planner",
    "Probe",
    "Refusal",
    "Task",
    "Tokens",
    "checked",
    "taken_over",
]
