"""Runs a payments scenario: every arm against a fresh server, over real HTTP on loopback.

Each arm has a memory, a client and a server of its own. Before an episode the drift driver reloads
what the scenario says; the world is asked which remembered fixes that made false; then the planner
does its task. Nothing that scores an episode is known to the planner, and no score comes from
anywhere but the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lapse.contract import POLICIES
from lapse_bench.courses import Course, World, drifting
from lapse_bench.scores import payments_scores
from lapse_bench.worlds import acme, acme_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse.judges import Planner
    from lapse_bench.courses import Consume
    from lapse_bench.episodes import Episode
    from lapse_bench.scenarios import Scenario

__all__ = ["WORLD", "ArmRun", "run_arm", "run_payments"]

WORLD: Final = World(
    issuer="acme",
    initial=acme.initial,
    judge=acme.judge,
    fix_holds=acme.fix_holds,
    schemas=acme_schema.SCHEMAS,
    amendment=acme_schema.RULES,
)
"""The service that every arm meets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRun:
    """What came out of one arm.

    Attributes:
        arm: its name.
        episodes: what became of each task, in order.
        scores: as `lapse_bench.scores` defines them.
    """

    arm: str
    episodes: tuple[Episode, ...]
    scores: dict[str, Any]


def run_payments(
    scenario: Scenario,
    planner: Planner,
    arms: Sequence[str],
    *,
    consume: Consume = "brief",
    tell: Callable[[str, int, Episode], None] = lambda _arm, _index, _episode: None,
) -> dict[str, ArmRun]:
    """Run every arm, one after the other.

    Args:
        scenario: the tasks, and what drifts between them.
        planner: writes the requests.
        arms: which arms.
        consume: who puts remembered fixes into requests.
        tell: called after every episode with arm, index and outcome.
    """
    return {arm: run_arm(scenario, planner, arm, consume=consume, tell=tell) for arm in arms}


def run_arm(
    scenario: Scenario,
    planner: Planner,
    arm: str,
    *,
    consume: Consume = "brief",
    tell: Callable[[str, int, Episode], None] = lambda _arm, _index, _episode: None,
) -> ArmRun:
    """Run one arm against a server of its own."""
    with Course(planner=planner, policy=POLICIES[arm], consume=consume).on(WORLD) as running:
        episodes, judge = drifting(
            running,
            scenario,
            acme.TABLES,
            [(task.operation, task.request) for task in scenario.episodes],
            tell=lambda index, episode: tell(arm, index, episode),
        )
        restamps = running.memory.counters.get("restamped", 0)
        scores = payments_scores(scenario, episodes, judge, restamps)
    return ArmRun(arm=arm, episodes=tuple(episodes), scores=scores)
