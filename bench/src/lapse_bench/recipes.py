"""Runs the recipe stream: every arm against a fresh server, over real HTTP on loopback.

The second domain of the source text (section 3.1): fixes here rewrite a value that the request
already names. The scores are those of the payments stream where they apply; what drifts is the
table of celiac-safe brands, so the celiac episodes are the class that compliance counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import httpx2

import lapse
from lapse.contract import POLICIES
from lapse.server import Contract
from lapse.transports.http import Transport
from lapse_bench import recipes_world as world
from lapse_bench.drift import DriftDriver
from lapse_bench.episodes import Agent, Episode
from lapse_bench.recipes_stream import CLASSES
from lapse_bench.scores import Judge, Share
from lapse_bench.service import service
from lapse_bench.serving import loopback, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lapse.contract import Fix
    from lapse_bench.planners import Planner
    from lapse_bench.provenance import Provenance
    from lapse_bench.recipes_stream import RecipeStream

__all__ = ["recipes_result", "run_recipes"]

_OPERATOR: Final = "the-operator-of-this-run"
"""The token of a server that lives for one run on the loopback address."""

_ISSUER: Final = "recipes"


def run_recipes(
    stream: RecipeStream,
    planner: Planner,
    arms: Sequence[str],
    *,
    tell: Callable[[str], None] = lambda _arm: None,
) -> dict[str, dict[str, Any]]:
    """Run every arm, one after the other; gives their scores by name.

    Args:
        stream: the tasks, and what drifts between them.
        planner: writes the requests.
        arms: which arms.
        tell: called after every episode with the arm.
    """
    return {arm: _run_arm(stream, planner, arm, tell) for arm in arms}


def _run_arm(
    stream: RecipeStream, planner: Planner, arm: str, tell: Callable[[str], None]
) -> dict[str, Any]:
    contract = Contract(world.initial(), operator_token=_OPERATOR)

    def holds(fix: Fix) -> bool:
        return world.fix_holds(fix, fix.record.topic, contract.registry)

    with (
        served(service(contract, world.judge)) as url,
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
        driver = DriftDriver(stream, world.TABLES, operator)
        episodes: list[Episode] = []
        for index in range(len(stream.episodes)):
            if driver.before(index):
                judge.look()
            episodes.append(agent.attempt(world.OPERATION, stream.request(index), holds=holds))
            tell(arm)
        return _scores(stream, episodes, judge, memory.counters.get("restamped", 0))


def _scores(
    stream: RecipeStream, episodes: Sequence[Episode], judge: Judge, restamps: int
) -> dict[str, Any]:
    families = [task.family for task in stream.episodes]

    def share(indices: Iterable[int]) -> Share:
        picked = [episodes[index].first_try for index in indices]
        return Share(sum(picked), len(picked))

    def of_class(name: str) -> list[int]:
        return [index for index, family in enumerate(families) if family == name]

    celiac = of_class("celiac")
    compliance = share(i for i in celiac[1:] if i not in stream.excluded_slots)
    rungs = {
        rung: share(index for index, its in enumerate(stream.rungs) if its == rung)
        for rung in dict.fromkeys(stream.rungs)
    }
    return {
        "episodes": len(episodes),
        "completed": sum(episode.completed for episode in episodes),
        "attempts": sum(episode.attempts for episode in episodes),
        "retries": sum(episode.retries for episode in episodes),
        "retry_vector": "".join(str(episode.retries) for episode in episodes),
        "compliance": compliance.pct,
        "compliance_of": compliance.as_json(),
        "first_try": {name: share(of_class(name)).as_json() for name in CLASSES},
        "first_try_by_rung": {rung: found.as_json() for rung, found in rungs.items()},
        "stale_applied": sum(episode.stale for episode in episodes),
        "evictions": judge.evictions,
        "evictions_correct": judge.correct,
        "evictions_wrong": judge.wrong,
        "eviction_reasons": dict(judge.reasons),
        "restamps": restamps,
        "paper_precision": round(1 / judge.evictions, 4) if judge.evictions else None,
        "precision": judge.precision,
        "recall": judge.recall,
        "lapsed": judge.lapsed,
        "troubles": dict(judge.troubles),
    }


def recipes_result(
    stream: RecipeStream,
    planner: Planner,
    arms: Mapping[str, Mapping[str, Any]],
    *,
    asked_for: str,
    seed: int,
    provenance: Provenance,
) -> dict[str, Any]:
    """The result of a run, as JSON."""
    problems = [
        f"{name}: {scores['completed']} of {scores['episodes']} completed, troubles: "
        f"{scores['troubles']}"
        for name, scores in arms.items()
        if scores["completed"] < scores["episodes"] or scores["troubles"]
    ]
    return {
        "benchmark": "recipes",
        "scenario": stream.name,
        "world": stream.world,
        "planner": {"asked": asked_for, "answered": planner.probe()},
        "config": {
            "seed": seed,
            "arms": list(arms),
            "episodes": len(stream.episodes),
            "excluded_slots": list(stream.excluded_slots),
            "events": [event.model_dump() for event in stream.events],
            "transport": "HTTP/1.1 on loopback, one server for each arm",
        },
        **provenance.as_json(),
        "arms": dict(arms),
        "problems": problems,
    }
