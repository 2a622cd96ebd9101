"""The runs that a report is made of: each one arm on one stream, each a value that can be repeated.

A job says everything that decides its outcome, so it can be run in another process, and two equal
jobs give equal results. Worlds, servers, clients and scores are those of `lapse-bench run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Job", "Results"]

Results = dict["Job", dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One arm on one stream.

    Attributes:
        stream: a payments scenario by name, `recipes` or `rules`.
        arm: the arm by its name there.
        planner: who writes the requests, by name.
        seed: decides the draws of a planner that has any.
        without: what the service keeps to itself, by the names in `omitting.CHANNELS`.
        level: how fixes are put to a model: 2 or 3.
        prompting: the words around a task for a model, by name.
        consume: who puts remembered fixes into requests: the planner ("brief") or the transport
            ("apply").
    """

    stream: str
    arm: str
    planner: str
    seed: int = 0
    without: tuple[str, ...] = ()
    level: int = 3
    prompting: str = "plain"
    consume: Literal["brief", "apply"] = "brief"
