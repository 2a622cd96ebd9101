"""Runs the rule stream: what each detection policy does when rules move and rows do not.

Every arm has a memory, a client and a server of its own, over real HTTP on loopback. Before an
episode an operator declares what the stream says. The client of A2DO looks at the versions endpoint
then, and reads the rules off the graph endpoint when they moved; the others learn of it by what
their own requests bring.

An *alert* is counted in the episode in which it was given. A *restamp* is a fix that stands without
a table that the rules no longer lead to. No row moves here, so every value that was evicted is one
that the service still accepts: `evicted_still_accepted` says how many, beside `evictions`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import httpx2

from lapse.contract import A2D, A2DO, A2DR, A2DRC, LAZY, Fix, Lesson, Rule
from lapse.errors import InvalidValue, Refused
from lapse.transports.http import envelope_of
from lapse.wire import read_response
from lapse_bench import rules_world
from lapse_bench.courses import Course, World
from lapse_bench.planners import said_of
from lapse_bench.reports import problems_of
from lapse_bench.rules_stream import RuleDriver, rules_service
from lapse_bench.scores import spent
from lapse_bench.serving import loopback
from lapse_bench.worlds import acme_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lapse.contract import EvictionPolicy
    from lapse.judges import Planner, Probe
    from lapse.runtime import Event, Memory
    from lapse_bench.episodes import Episode
    from lapse_bench.provenance import Provenance
    from lapse_bench.rules_stream import RuleStream

__all__ = ["RULE_ARMS", "WORLD", "chosen_rule_arms", "rules_result", "run_rules"]

RULE_ARMS: Final[Mapping[str, EvictionPolicy]] = {
    "A2D": A2D,
    "A2DC": LAZY,
    "A2DR": A2DR,
    "A2DRC": A2DRC,
    "A2DO": A2DO,
}
"""The arms of Table 5 by its names. What it calls A2DC compares vectors when a request fails, which
is not what `lapse.contract.A2DC` does for rows: here it is `LAZY`."""

_ISSUER: Final = "acme"
WORLD: Final = World(
    issuer=_ISSUER,
    initial=rules_world.initial,
    judge=rules_world.judge,
    fix_holds=rules_world.fix_holds,
    schemas=acme_schema.SCHEMAS,
    app=rules_service,
)
"""The service that every arm meets."""
_OK: Final = 200


def chosen_rule_arms(names: Sequence[str]) -> tuple[str, ...]:
    """The arms of these names, in the order of the table.

    Raises:
        InvalidValue: there is no arm of one of the names, or no name at all.
    """
    unknown = [name for name in names if name not in RULE_ARMS]
    if unknown or not names:
        remedy = f"name some of {', '.join(RULE_ARMS)}, with commas between"
        raise InvalidValue("arms", unknown[0] if unknown else names, remedy)
    return tuple(arm for arm in RULE_ARMS if arm in names)


@dataclass(slots=True)
class _Watch:
    """Listens to a memory and writes down in which episode it decided what."""

    memory: Memory
    holds: Callable[[Fix], bool]
    episode: int = 0
    alerts: list[int] = field(default_factory=list[int])
    evictions: Counter[int] = field(default_factory=Counter[int])
    restamps: Counter[int] = field(default_factory=Counter[int])
    reasons: Counter[str] = field(default_factory=Counter[str])
    troubles: Counter[str] = field(default_factory=Counter[str])
    still_accepted: int = 0

    def __call__(self, event: Event) -> None:
        match event.what, event.record:
            case "alert", _:
                self.alerts.append(self.episode)
            case "evicted", str(record):
                self.evictions[self.episode] += 1
                self.reasons[str(event.reason)] += 1
                self.still_accepted += self.holds(Fix.of(self.memory.record(record)))
            case "superseded", _ if event.reason == "table_lost":
                self.restamps[self.episode] += 1
            case (("failed" | "observer_failed"), _):
                self.troubles[str(event.reason)] += 1
            case _:
                pass


@dataclass(slots=True)
class _Declarations:
    """Asks a service for its rules whenever their version is another one, and tells the memory."""

    memory: Memory
    client: httpx2.Client
    version: str | None = None
    requests: int = 0

    def look(self) -> None:
        """Look before an episode."""
        if self._get("/contract/versions").json().get("rules_version") == self.version:
            return
        graph = self._get("/contract/graph")
        envelope = read_response(graph.headers, graph.content).envelope
        self.version = envelope.rules_version
        body: dict[str, Any] = graph.json()
        tables = {name: node["table"] for name, node in body["nodes"].items()}
        edges = {(tables[e["from"]], tables[e["to"]], e["relation"]) for e in body["edges"]}
        _take_in(
            self.memory,
            Lesson(
                issuer=_ISSUER,
                operation="GET /contract/graph",
                request=None,
                envelope=envelope,
                at=self.memory.now,
                declared=tuple(Rule(*edge) for edge in sorted(edges)),
            ),
        )

    def _get(self, path: str) -> httpx2.Response:
        self.requests += 1
        answer = self.client.get(path)
        if answer.status_code != _OK:
            raise Refused(f"the service did not answer {path}", status=answer.status_code)
        return answer


def _take_in(memory: Memory, lesson: Lesson) -> None:
    steps = memory.receive(lesson)
    if next(steps, None) is not None:  # tables do not move in this stream
        raise Refused("the service reported tables at other versions than before", status=_OK)


def run_rules(
    stream: RuleStream,
    planner: Planner,
    arms: Sequence[str],
    *,
    world: World = WORLD,
    tell: Callable[[str], None] = lambda _arm: None,
) -> dict[str, dict[str, Any]]:
    """Run every arm, one after the other; gives their scores by name.

    Args:
        stream: the tasks, and which rules move between them.
        planner: writes the requests.
        arms: which arms.
        world: the service; another form of it may keep parts of the contract to itself.
        tell: called after every episode with the arm.
    """
    return {
        arm: _run_arm(
            stream,
            Course(planner=planner, policy=RULE_ARMS[arm], accepted=_accepted),
            world,
            looks=arm == A2DO.name,
            tell=partial(tell, arm),
        )
        for arm in arms
    }


def _run_arm(
    stream: RuleStream,
    course: Course,
    world: World,
    *,
    looks: bool,
    tell: Callable[[], None],
) -> dict[str, Any]:
    with (
        course.on(world) as running,
        httpx2.Client(base_url=running.url, transport=loopback()) as plain,
    ):
        memory = running.memory
        watch = _Watch(memory, running.holds)
        memory.observe(watch)
        driver = RuleDriver(stream, rules_world.RULES, running.operator)
        declarations = _Declarations(memory, plain)
        episodes: list[Episode] = []
        for index, task in enumerate(stream.episodes):
            watch.episode = index
            driver.before(index)
            if looks:
                declarations.look()
            episodes.append(running.attempt(index, task.operation, task.request))
            tell()
        return _scores(episodes, watch, declarations.requests)


def _accepted(
    memory: Memory, operation: str, response: httpx2.Response, fixes: Sequence[Fix]
) -> None:
    """Tell the memory which of its fixes were in a request that was accepted."""
    _take_in(
        memory,
        Lesson(
            issuer=_ISSUER,
            operation=operation,
            request=None,
            envelope=envelope_of(response),
            at=memory.now,
            applied=tuple(fix.id for fix in fixes),
        ),
    )


def _scores(episodes: Sequence[Episode], watch: _Watch, requests: int) -> dict[str, Any]:
    return {
        "episodes": len(episodes),
        "completed": sum(episode.completed for episode in episodes),
        "attempts": sum(episode.attempts for episode in episodes),
        "first_try": sum(episode.first_try for episode in episodes),
        "retries": sum(episode.retries for episode in episodes),
        "retry_vector": "".join(str(episode.retries) for episode in episodes),
        "evictions": watch.evictions.total(),
        "evictions_by_episode": {str(at): count for at, count in watch.evictions.items()},
        "eviction_reasons": dict(watch.reasons),
        "evicted_still_accepted": watch.still_accepted,
        "restamps": watch.restamps.total(),
        "restamps_by_episode": {str(at): count for at, count in watch.restamps.items()},
        "alerts": watch.alerts,
        "declaration_requests": requests,
        "troubles": dict(watch.troubles),
        **spent(episodes),
    }


def rules_result(
    stream: RuleStream,
    planner: Planner,
    arms: Mapping[str, Mapping[str, Any]],
    *,
    probe: Probe,
    config: Mapping[str, Any],
    provenance: Provenance,
) -> dict[str, Any]:
    """The result of a run, as JSON."""
    return {
        "benchmark": "rules",
        "scenario": stream.name,
        "world": stream.world,
        "planner": said_of(planner, probe),
        "config": {
            **config,
            "arms": {name: RULE_ARMS[name].name for name in arms},
            "episodes": len(stream.episodes),
            "events": [event.model_dump(by_alias=True) for event in stream.events],
            "transport": "HTTP/1.1 on loopback, one server for each arm",
        },
        **provenance.as_json(),
        "arms": {name: dict(scores) for name, scores in arms.items()},
        "problems": list(problems_of(arms)),
    }
