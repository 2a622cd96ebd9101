"""Replays a real history: one service whose rows drift as they did, one client for each arm.

All arms share the service and see the same drift at the same moments; the service keeps nothing
about its clients, so that is as good as a server each, and the history is replayed once. Requests
and the clients' questions go over real HTTP on loopback. The rows move through `Contract.reload` in
this
process: what happened between two episodes to one table is one reload, which no client can tell
from several, because none of them asked in between.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lapse.contract import POLICIES, Registry
from lapse.server import Contract
from lapse_bench.courses import Course, seated
from lapse_bench.scores import Judge, Share, spent
from lapse_bench.service import operation_of, organic_judge, service
from lapse_bench.serving import served
from lapse_bench.tasks import task_of
from lapse_bench.workload import Draws, moments
from lapse_bench.worlds import world_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lapse.contract import Fix
    from lapse.judges import Planner
    from lapse.ledger import JsonObject
    from lapse_bench.episodes import Agent, Episode
    from lapse_bench.traces import Event, History
    from lapse_bench.worlds import OrganicWorld

__all__ = ["OrganicArm", "run_organic"]

_ISSUER: Final = "organic"


@dataclass(slots=True)
class OrganicArm:
    """One arm on its way through a history.

    Attributes:
        name: the arm.
        world: the world's name.
        agent: does the tasks.
        judge: judges its decisions.
        retries: after each episode, how many there have been so far.
    """

    name: str
    world: str
    agent: Agent
    judge: Judge
    retries: list[int] = field(default_factory=list[int])
    episodes: list[Episode] = field(default_factory=list["Episode"])
    attempts: int = 0
    completed: int = 0
    first_try: int = 0
    followed: int = 0
    stale: int = 0
    troubled: int = 0

    def take(self, episode: Episode) -> None:
        """Count an episode."""
        self.episodes.append(episode)
        so_far = self.retries[-1] if self.retries else 0
        self.retries.append(so_far + episode.retries)
        self.attempts += episode.attempts
        self.completed += episode.completed
        self.first_try += episode.first_try
        self.followed += episode.followed
        self.stale += episode.stale
        self.troubled += episode.stale > 0

    def as_json(self) -> dict[str, Any]:
        """The scores."""
        judge, counters = self.judge, self.agent.memory.counters
        return {
            "episodes": len(self.retries),
            "completed": self.completed,
            "attempts": self.attempts,
            "retries": self.retries[-1] if self.retries else 0,
            "first_try": Share(self.first_try, len(self.retries)).as_json(),
            "fixes_applied": self.followed,
            "stale_applied": self.stale,
            "episodes_with_stale": self.troubled,
            "evictions": judge.evictions,
            "evictions_correct": judge.correct,
            "evictions_wrong": judge.wrong,
            "eviction_reasons": dict(judge.reasons),
            "restamps": counters.get("restamped", 0),
            "precision": judge.precision,
            "recall": judge.recall,
            "lapsed": judge.lapsed,
            "questions": counters.get("questions", 0),
            "troubles": dict(judge.troubles),
            **spent(self.episodes),
        }


@dataclass(slots=True)
class _Replay:
    """The history, applied as far as it has come."""

    history: History
    world: OrganicWorld
    contract: Contract
    _batches: Iterator[tuple[int, str, tuple[Event, ...]]] = field(init=False)
    _next: tuple[int, str, tuple[Event, ...]] | None = field(init=False)
    _rows: dict[str, dict[str, JsonObject]] = field(
        default_factory=dict[str, dict[str, "JsonObject"]]
    )
    _reloads: int = 0

    def __post_init__(self) -> None:
        self._batches = self.history.batches()
        self._next = next(self._batches, None)

    def until(self, moment: int) -> frozenset[str]:
        """Let everything up to a moment happen; returns the tables that moved."""
        moved: dict[str, None] = {}
        while self._next is not None and self._next[0] <= moment:
            _, table, events = self._next
            rows = self._rows.setdefault(table, {})
            for event in events:
                if event.after is None:
                    rows.pop(event.key, None)
                else:
                    rows[event.key] = event.after
            self.world.apply(table, events)
            moved[table] = None
            self._next = next(self._batches, None)
        for table in moved:
            self._reloads += 1
            self.contract.reload(table, dict(self._rows[table]), f"r{self._reloads}")
        return frozenset(moved)


def run_organic(
    history: History,
    planner: Planner,
    arms: Sequence[str],
    *,
    episodes: int,
    seed: int,
    tell: Callable[[int], None] = lambda _index: None,
) -> dict[str, OrganicArm]:
    """Run every arm through a history, side by side.

    Args:
        history: what happened.
        planner: writes the requests of every arm.
        arms: which arms.
        episodes: how many, spread evenly over the history.
        seed: decides what is asked for.
        tell: called after every episode with its index.
    """
    world = world_of(history)
    contract = Contract(Registry.of([]))
    replay = _Replay(history, world, contract)
    draws = Draws(world, seed=seed)
    concerns = _Concerns(world)
    with ExitStack() as stack:
        url = stack.enter_context(served(service(contract, organic_judge(world))))
        running = {arm: _arm(stack, arm, url, planner, concerns) for arm in arms}
        for index, moment in enumerate(moments(history, episodes)):
            moved = replay.until(moment)
            if moved:
                draws.moved()
                for arm in running.values():
                    arm.judge.look(moved)
            drawn = draws.next()
            if drawn is None:
                continue
            table, subject, request = drawn
            operation = concerns.operation(table, subject)
            task = task_of(operation, request, episode=index, schemas={})
            for arm in running.values():
                arm.take(arm.agent.attempt(task, holds=concerns.holds))
            tell(index)
    return running


def _arm(
    stack: ExitStack, name: str, url: str, planner: Planner, concerns: _Concerns
) -> OrganicArm:
    course = Course(planner=planner, policy=POLICIES[name])
    agent = stack.enter_context(seated(course, url, _ISSUER))
    judge = Judge(agent.memory, concerns.holds, concerns.table)
    agent.memory.observe(judge)
    return OrganicArm(name, concerns.world.name, agent, judge)


@dataclass(slots=True)
class _Concerns:
    """From a fix back to the rows it is about, for the world's judgement."""

    world: OrganicWorld
    _operations: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    def operation(self, table: str, subject: str) -> str:
        """The operation that asks for a subject."""
        operation = operation_of(self.world, table, subject)
        self._operations[operation] = (table, subject)
        return operation

    def table(self, fix: Fix) -> str:
        """The table that a fix rests on."""
        return self._operations[fix.record.topic][0]

    def holds(self, fix: Fix) -> bool:
        """Whether the service still accepts what the fix says."""
        table, subject = self._operations[fix.record.topic]
        when = fix.when or {}
        if self.world.subject_member is not None:
            subject = str(when.get(self.world.subject_member))
        return self.world.accepts(table, subject, when, fix.parameters)
