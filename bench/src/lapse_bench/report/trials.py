"""Runs jobs: each an arm before a service that keeps parts of the contract to itself on demand.

What a run did is its `trace`: the attempts of every episode, and which fix was thrown away when.
Two runs with the same trace behaved alike, whatever was sent to them.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from lapse.contract import PATCH_SENTENCE, POLICIES, Consumption, Fix, word
from lapse.errors import Refused
from lapse.judges import PlannerSettings, Prompting, checked, planner_named
from lapse_bench.courses import Course, drifting
from lapse_bench.payments import WORLD as PAYMENTS_WORLD
from lapse_bench.planners import counted
from lapse_bench.recipes import run_recipes
from lapse_bench.recipes_stream import load_recipes
from lapse_bench.report.omitting import chosen, without
from lapse_bench.rules import WORLD as RULES_WORLD
from lapse_bench.rules import run_rules
from lapse_bench.rules_stream import load_rules, rules_service
from lapse_bench.scenarios import load
from lapse_bench.scores import payments_scores
from lapse_bench.service import service
from lapse_bench.worlds import acme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lapse.judges import Move, Planner, Probe, Refusal, Task
    from lapse.ledger import JsonObject
    from lapse.runtime import Event, Memory
    from lapse.server import ASGIApp, Contract
    from lapse_bench.episodes import Episode
    from lapse_bench.report.jobs import Job, Results
    from lapse_bench.report.omitting import Channel
    from lapse_bench.service import Judge

    Making = Callable[[Contract, Judge], ASGIApp]

__all__ = ["done", "run", "run_by"]


def done(
    jobs: Iterable[Job], *, workers: int = 1, tell: Callable[[str], None] = lambda _: None
) -> Results:
    """Run jobs, each once, by planners that need nothing but their names.

    Args:
        jobs: what to run; a job that is named twice is run once.
        workers: processes; with 1 everything runs in this one.
        tell: called after every job with a line for people.
    """
    wanted = list(dict.fromkeys(jobs))
    found: Results = {}
    for job, result in zip(wanted, _in_order(wanted, workers), strict=True):
        found[job] = result
        tell(f"{len(found)} of {len(wanted)}: {job.stream}, {job.planner}, {job.arm}")
    return found


def _in_order(jobs: list[Job], workers: int) -> Iterator[dict[str, Any]]:
    if workers == 1:
        yield from map(run, jobs)
        return
    # Started afresh and not forked: servers run in threads of the processes that are there.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run, jobs, chunksize=4)


def run(job: Job) -> dict[str, Any]:
    """As `run_by`, with the planner that the job names."""
    return run_by(_planner(job), job)


def run_by(planner: Planner, job: Job) -> dict[str, Any]:
    """The scores of a job, with its trace.

    Args:
        planner: writes the requests.
        job: says the rest.
    """
    match job.stream:
        case "recipes":
            return run_recipes(load_recipes(), planner, [job.arm])[job.arm]
        case "rules":
            return _rules(job, planner)
        case _:
            return _payments(job, planner)


def _planner(job: Job) -> Planner:
    settings = PlannerSettings(
        seed=job.seed, level=Consumption(job.level), prompting=Prompting(job.prompting)
    )
    planner = planner_named(job.planner, settings)
    checked(planner)
    # Where savings are compared, tokens are counted; elsewhere it would only take time.
    compared = job.stream == "payments" and not job.without
    return counted(planner, settings) if compared else planner


def _keeping(making: Making, kept: Sequence[Channel]) -> Making:
    """What makes an application, with channels left out of what it makes."""

    def app(contract: Contract, judge: Judge) -> ASGIApp:
        return without(making(contract, judge), kept)

    return app


def _rules(job: Job, planner: Planner) -> dict[str, Any]:
    kept = chosen(job.without)
    world = replace(RULES_WORLD, app=_keeping(rules_service, kept))
    reader = _Reader(planner)
    try:
        scores = run_rules(load_rules(), reader, [job.arm], world=world)[job.arm]
    except Refused as failure:  # it cannot do without what was left out, and that is the finding
        return {"trace": {"broke": str(failure)}}
    seen = ("retry_vector", "evictions_by_episode", "restamps_by_episode", "alerts")
    return {**scores, "trace": {name: scores[name] for name in seen}, "words": reader.words}


@dataclass(slots=True)
class _Evictions:
    """Writes down which fix was thrown away in which episode."""

    memory: Memory
    episode: int = 0
    told: list[list[Any]] = field(default_factory=list[list[Any]])

    def __call__(self, event: Event) -> None:
        if event.what == "evicted" and event.record is not None:
            fix = Fix.of(self.memory.record(event.record))
            self.told.append([self.episode, fix.type, sorted(fix.parameters.items())])


@dataclass(slots=True)
class _Reader:
    """A planner, and somebody who reads over its shoulder what the memory's words would be.

    Attributes:
        words: first attempts by what taking a level away would change in the words.
    """

    planner: Planner
    words: dict[str, int] = field(default_factory=lambda: {"L2": 0, "L3": 0})

    @property
    def name(self) -> str:
        return self.planner.name

    def probe(self) -> Probe:
        return self.planner.probe()

    def first(self, task: Task, fixes: Sequence[Fix]) -> Move:
        amended = word(fixes, request=task.request, level=Consumption.AMENDED)
        patch = word(fixes, request=task.request, level=Consumption.PATCH)
        self.words["L2"] += PATCH_SENTENCE in amended
        self.words["L3"] += amended != patch
        return self.planner.first(task, fixes)

    def again(self, task: Task, sent: JsonObject, refusal: Refusal) -> Move:
        return self.planner.again(task, sent, refusal)


def _payments(job: Job, planner: Planner) -> dict[str, Any]:
    scenario, kept = load(job.stream), chosen(job.without)
    world = replace(PAYMENTS_WORLD, app=_keeping(service, kept))
    reader = _Reader(planner)
    course = Course(planner=reader, policy=POLICIES[job.arm], consume=job.consume)
    with course.on(world) as running:
        evictions = _Evictions(running.memory)
        running.memory.observe(evictions)

        def next_one(index: int, _: Episode) -> None:
            evictions.episode = index + 1

        episodes, judge = drifting(
            running,
            scenario,
            acme.TABLES,
            [(task.operation, task.request) for task in scenario.episodes],
            tell=next_one,
        )
        restamps = running.memory.counters.get("restamped", 0)
        scores = payments_scores(scenario, episodes, judge, restamps)
    attempts = [[episode.attempts, episode.completed] for episode in episodes]
    trace = {"attempts": attempts, "evictions": sorted(evictions.told, key=repr)}
    answered = planner.probe().answered
    return {**scores, "trace": trace, "words": reader.words, "answered": answered}
