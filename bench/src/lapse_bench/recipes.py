"""Runs the recipe stream: every arm against a fresh server, over real HTTP on loopback.

The second domain of the source text (section 3.1): fixes here rewrite a value that the request
already names. The scores are those of the payments stream where they apply; what drifts is the
table of celiac-safe brands, so the celiac episodes are the class that compliance counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse.contract import POLICIES
from lapse_bench import recipes_world as world
from lapse_bench.courses import Course, World, drifting
from lapse_bench.planners import said_of
from lapse_bench.recipes_stream import CLASSES
from lapse_bench.reports import problems_of
from lapse_bench.scores import Share, spent, with_savings
from lapse_bench.worlds import recipes_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lapse.judges import Planner, Probe
    from lapse_bench.courses import Consume
    from lapse_bench.episodes import Episode
    from lapse_bench.provenance import Provenance
    from lapse_bench.recipes_stream import RecipeStream
    from lapse_bench.scores import Judge

__all__ = ["WORLD", "recipes_result", "run_recipes"]

WORLD: Final = World(
    issuer="recipes",
    initial=world.initial,
    judge=world.judge,
    fix_holds=world.fix_holds,
    schemas=recipes_schema.SCHEMAS,
    amendment=recipes_schema.RULES,
)
"""The service that every arm meets."""


def run_recipes(
    stream: RecipeStream,
    planner: Planner,
    arms: Sequence[str],
    *,
    consume: Consume = "brief",
    tell: Callable[[str], None] = lambda _arm: None,
) -> dict[str, dict[str, Any]]:
    """Run every arm, one after the other; gives their scores by name.

    Args:
        stream: the tasks, and what drifts between them.
        planner: writes the requests.
        arms: which arms.
        consume: who puts remembered fixes into requests.
        tell: called after every episode with the arm.
    """
    return {
        arm: _run_arm(
            stream, Course(planner=planner, policy=POLICIES[arm], consume=consume), arm, tell
        )
        for arm in arms
    }


def _run_arm(
    stream: RecipeStream, course: Course, arm: str, tell: Callable[[str], None]
) -> dict[str, Any]:
    tasks = [(world.OPERATION, stream.request(index)) for index in range(len(stream.episodes))]
    with course.on(WORLD) as running:
        episodes, judge = drifting(
            running, stream, world.TABLES, tasks, tell=lambda _index, _episode: tell(arm)
        )
        return _scores(stream, episodes, judge, running.memory.counters.get("restamped", 0))


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
        **spent(episodes),
    }


def recipes_result(
    stream: RecipeStream,
    planner: Planner,
    arms: Mapping[str, Mapping[str, Any]],
    *,
    probe: Probe,
    config: Mapping[str, Any],
    provenance: Provenance,
) -> dict[str, Any]:
    """The result of a run, as JSON."""
    return {
        "benchmark": "recipes",
        "scenario": stream.name,
        "world": stream.world,
        "planner": said_of(planner, probe),
        "config": {
            **config,
            "arms": list(arms),
            "episodes": len(stream.episodes),
            "excluded_slots": list(stream.excluded_slots),
            "events": [event.model_dump() for event in stream.events],
            "transport": "HTTP/1.1 on loopback, one server for each arm",
        },
        **provenance.as_json(),
        "arms": with_savings(arms),
        "problems": list(problems_of(arms)),
    }
