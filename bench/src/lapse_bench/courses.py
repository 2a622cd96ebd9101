"""Runs a stream of tasks past one client: what every benchmark with a server of its own shares.

A course has a world, served over real HTTP on loopback; an operator, who makes it move; and an
agent with a memory of its own. What moves, and when, and what is counted, is the benchmark's.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import httpx2

import lapse
from lapse.server import Contract
from lapse.transports.http import RequestSchemas, Transport
from lapse_bench.drift import DriftDriver
from lapse_bench.episodes import Agent, nobody
from lapse_bench.scores import Judge
from lapse_bench.service import service
from lapse_bench.serving import loopback, served
from lapse_bench.tasks import task_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from lapse.contract import (
        AmendmentRules,
        EvictionPolicy,
        Fix,
        Reading,
        Registry,
        Violation,
    )
    from lapse.judges import Planner
    from lapse.ledger import JsonObject
    from lapse.runtime import Memory
    from lapse.server import ASGIApp
    from lapse_bench.drift import Drifting
    from lapse_bench.episodes import Episode, Witness

    Judging = Callable[[str, JsonObject, Reading], Violation | None]

__all__ = ["CONSUMES", "Consume", "Course", "Running", "World", "drifting", "seated"]

Consume = Literal["brief", "apply"]
CONSUMES: Final[tuple[Consume, ...]] = get_args(Consume)
"""The ways in which a remembered fix comes into a request."""

_OPERATOR: Final = "the-operator-of-this-run"
"""The token of a server that lives for one run on the loopback address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A service that can be started.

    Attributes:
        issuer: the name its fixes are bound to.
        initial: its tables and rules at the start of every run.
        judge: what it says to a request.
        fix_holds: whether it accepts, as it stands, what a fix makes of the requests it is for.
        schemas: the JSON Schemas of its requests, by operation.
        amendment: what a transport may merge into them; the transport's own rules when None.
        app: makes an application of it.
    """

    issuer: str
    initial: Callable[[], Registry]
    judge: Judging
    fix_holds: Callable[[Fix, str, Registry], bool]
    schemas: Mapping[str, JsonObject] = field(default_factory=dict[str, "JsonObject"])
    amendment: AmendmentRules | None = None
    app: Callable[[Contract, Judging], ASGIApp] = service


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A world that is served, and the one client of it that counts.

    Attributes:
        world: the world.
        url: where it is served.
        operator: a client that may make it move.
        agent: does the tasks.
        holds: whether a fix holds as the service stands.
    """

    world: World
    url: str
    operator: httpx2.Client
    agent: Agent
    holds: Callable[[Fix], bool]

    @property
    def memory(self) -> Memory:
        """The agent's memory."""
        return self.agent.memory

    def attempt(self, index: int, operation: str, request: JsonObject) -> Episode:
        """Do the task of an episode."""
        task = task_of(operation, request, episode=index, schemas=self.world.schemas)
        return self.agent.attempt(task, holds=self.holds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How an arm is run.

    Attributes:
        planner: writes the requests.
        policy: what the memory does about change.
        accepted: told of first attempts that were accepted with remembered fixes in them.
        consume: who puts remembered fixes into requests: the planner, who is shown them ("brief"),
            or the transport, and the planner is shown none ("apply").
    """

    planner: Planner
    policy: EvictionPolicy
    accepted: Witness = nobody
    consume: Consume = "brief"

    @contextmanager
    def on(self, world: World) -> Generator[Running]:
        """Start a world and seat an agent before it."""
        contract = Contract(world.initial(), operator_token=_OPERATOR)

        def holds(fix: Fix) -> bool:
            return world.fix_holds(fix, fix.record.topic, contract.registry)

        bearer = {"authorization": f"Bearer {_OPERATOR}"}
        with (
            served(world.app(contract, world.judge)) as url,
            seated(
                self, url, world.issuer, schemas=world.schemas, amendment=world.amendment
            ) as agent,
            httpx2.Client(base_url=url, transport=loopback(), headers=bearer) as operator,
        ):
            yield Running(world=world, url=url, operator=operator, agent=agent, holds=holds)


@contextmanager
def seated(
    course: Course,
    url: str,
    issuer: str,
    *,
    schemas: Mapping[str, JsonObject] | None = None,
    amendment: AmendmentRules | None = None,
) -> Generator[Agent]:
    """An agent with a memory and a client of its own, before a service that is there.

    Args:
        course: how it is run.
        url: where the service is.
        issuer: the name its fixes are bound to.
        schemas: what its requests may hold; only a transport that merges reads them.
        amendment: what such a transport may merge.
    """
    applies = course.consume == "apply"
    with lapse.open("memory:", policy=course.policy) as memory:
        transport = Transport(
            memory,
            loopback(),
            issuer=issuer,
            consume=course.consume,
            amendment=amendment,
            schemas=RequestSchemas.by_operation(schemas or {}) if applies else None,
        )
        with httpx2.Client(base_url=url, transport=transport) as client:
            yield Agent(
                planner=course.planner,
                memory=memory,
                client=client,
                issuer=issuer,
                accepted=course.accepted,
                briefs=not applies,
            )


def drifting(
    running: Running,
    stream: Drifting,
    tables: Mapping[str, Mapping[str, Any]],
    tasks: Sequence[tuple[str, JsonObject]],
    *,
    tell: Callable[[int, Episode], None],
) -> tuple[list[Episode], Judge]:
    """Do a stream of tasks while rows drift: what became of each, and of the memory's decisions.

    Before an episode the drift driver reloads what the stream says, and the world is asked which of
    the remembered fixes that made false; then the planner does its task.

    Args:
        running: the world and the agent.
        stream: what drifts between the tasks.
        tables: the rows that the service starts with.
        tasks: operation and request of each.
        tell: called after every episode with its index and outcome.
    """
    judge = Judge(running.memory, running.holds)
    running.memory.observe(judge)
    driver = DriftDriver(stream, tables, running.operator)
    episodes: list[Episode] = []
    for index, (operation, request) in enumerate(tasks):
        if driver.before(index):
            judge.look()
        episodes.append(running.attempt(index, operation, request))
        tell(index, episodes[-1])
    return episodes, judge
