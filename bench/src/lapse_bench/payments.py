"""Runs a payments scenario: every arm against a fresh server, over real HTTP on loopback.

Each arm has a memory, a client and a server of its own. Before an episode the drift driver reloads
what the scenario says; the world is asked which remembered fixes that made false; then the planner
does its task. Nothing that scores an episode is known to the planner, and no score comes from
anywhere but the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx2

import lapse
from lapse.contract import POLICIES
from lapse.server import Contract
from lapse.transports.http import Transport
from lapse_bench.drift import DriftDriver
from lapse_bench.episodes import Agent, Episode
from lapse_bench.scores import Judge, payments_scores
from lapse_bench.service import service
from lapse_bench.serving import loopback, served
from lapse_bench.worlds import acme

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse.contract import Fix
    from lapse_bench.planners import Planner
    from lapse_bench.scenarios import Scenario

__all__ = ["ArmRun", "run_arm", "run_payments"]

_OPERATOR: Final = "the-operator-of-this-run"
"""The token of a server that lives for one run on the loopback address."""

_ISSUER: Final = "acme"


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
    tell: Callable[[str, int, Episode], None] = lambda _arm, _index, _episode: None,
) -> dict[str, ArmRun]:
    """Run every arm, one after the other.

    Args:
        scenario: the tasks, and what drifts between them.
        planner: writes the requests.
        arms: which arms.
        tell: called after every episode with arm, index and outcome.
    """
    return {arm: run_arm(scenario, planner, arm, tell=tell) for arm in arms}


def run_arm(
    scenario: Scenario,
    planner: Planner,
    arm: str,
    *,
    tell: Callable[[str, int, Episode], None] = lambda _arm, _index, _episode: None,
) -> ArmRun:
    """Run one arm against a server of its own."""
    contract = Contract(acme.initial(), operator_token=_OPERATOR)

    def holds(fix: Fix) -> bool:
        return acme.fix_holds(fix, fix.record.topic, contract.registry)

    with (
        served(service(contract, acme.judge)) as url,
        lapse.open("memory:", policy=POLICIES[arm]) as memory,
        httpx2.Client(
            base_url=url, transport=Transport(memory, loopback(), issuer=_ISSUER)
        ) as client,
        httpx2.Client(
            base_url=url,
            transport=loopback(),
            headers={"authorization": f"Bearer {_OPERATOR}"},
        ) as operator,
    ):
        judge = Judge(memory, holds)
        memory.observe(judge)
        agent = Agent(planner, memory, client, _ISSUER)
        driver = DriftDriver(scenario, acme.TABLES, operator)
        episodes: list[Episode] = []
        for index, task in enumerate(scenario.episodes):
            if driver.before(index):
                judge.look()
            episode = agent.attempt(task.operation, task.request, holds=holds)
            episodes.append(episode)
            tell(arm, index, episode)
        restamps = memory.counters.get("restamped", 0)
        scores = payments_scores(scenario, episodes, judge, restamps)
    return ArmRun(arm=arm, episodes=tuple(episodes), scores=scores)
