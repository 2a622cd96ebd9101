"""Replays a history through a gateway: documents move on, agents work, and what it cost is counted.

Everything crosses real HTTP on loopback: the agents' requests, the clients' questions, the new
documents that the operator sends. All agents meet the same service at the same moments.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import httpx2

import lapse
from lapse.contract import POLICIES
from lapse.server.gateway import Gateway
from lapse.transports.http import Transport
from lapse_bench.gateway.documents import document, paths_of, prefixed
from lapse_bench.gateway.requests import Call, call_of, flattened
from lapse_bench.gateway.upstream import Upstream
from lapse_bench.serving import served
from lapse_bench.workload import Draws, moments
from lapse_bench.worlds import world_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lapse.ledger import JsonObject
    from lapse.runtime import Memory
    from lapse.server.gateway import Mended
    from lapse_bench.traces import Event, History
    from lapse_bench.worlds import OrganicWorld

__all__ = ["Arm", "Replayed", "run_gateway"]

_ATTEMPTS: Final = 5
_OK: Final = 200
_TOKEN: Final = "operator"  # noqa: S105 - of a server that lives for one run
_ISSUER: Final = "gateway"


@dataclass(slots=True)
class Arm:
    """One agent on its way through the history.

    Attributes:
        name: the arm.
        client: sends its requests.
        memory: what it remembers with; None: nothing.
    """

    name: str
    client: httpx2.Client
    memory: Memory | None = None
    episodes: int = 0
    completed: int = 0
    attempts: int = 0
    first_try: int = 0
    suggested: int = 0
    """Parameters set by what a refusal suggested."""
    looked_up: int = 0
    """Parameters for which the agent had to read the service's document."""
    remembered: int = 0
    """Parameters set by what the memory served."""
    stale: int = 0
    """Remembered parameters that the service refused."""
    wrong: int = 0
    """Suggested parameters that the service refused."""

    def as_json(self) -> dict[str, Any]:
        """The scores."""
        counters: Mapping[str, int] = {} if self.memory is None else self.memory.counters
        return {
            "episodes": self.episodes,
            "completed": self.completed,
            "attempts": self.attempts,
            "retries": self.attempts - self.episodes,
            "first_try": self.first_try,
            "suggested": self.suggested,
            "suggested_wrong": self.wrong,
            "looked_up": self.looked_up,
            "remembered": self.remembered,
            "remembered_stale": self.stale,
            "stored": counters.get("stored", 0),
            "evicted": counters.get("evicted", 0),
            "restamped": counters.get("restamped", 0),
            "failed": counters.get("failed", 0),
        }


@dataclass(slots=True)
class Replayed:
    """What came out.

    Attributes:
        arms: the agents.
        faults: what the gateway found in refused requests of the agent without a memory, by kind
            and by what the document determines of a cure.
        reloads: how many tables were reloaded.
        rows_changed: how many of their rows were.
        inexact: reloads whose diff was not exactly the rows that had moved.
        unsaid: what the documents say and rows do not; nothing, for documents made of rows.
    """

    arms: dict[str, Arm]
    faults: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    reloads: int = 0
    rows_changed: int = 0
    inexact: int = 0
    unsaid: dict[str, int] = field(default_factory=dict[str, int])


class _Service:
    """The service, its document, and the gateway in front of it."""

    def __init__(self, history: History, world: OrganicWorld, out: Replayed) -> None:
        self.rows: dict[str, dict[str, JsonObject]] = {}
        self.upstream = Upstream(world, self.rows)
        self.counting = False
        self._world = world
        self._title = history.name
        self._batches = history.batches()
        self._next = next(self._batches, None)
        self._paths: dict[str, dict[str, Any]] = {}
        self._out = out

    def until(self, moment: int) -> dict[str, set[str]]:
        """Let everything up to a moment happen; returns the rows that moved, by table."""
        before: dict[str, dict[str, JsonObject]] = {}
        while self._next is not None and self._next[0] <= moment:
            _, table, events = self._next
            rows = self.rows.setdefault(table, {})
            before.setdefault(table, dict(rows))
            _apply(rows, events)
            self._world.apply(table, events)
            self._next = next(self._batches, None)
        moved: dict[str, set[str]] = {}
        for table, old in before.items():
            new = self.rows[table]
            changed = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
            if changed:
                moved[table] = {prefixed(table, key) for key in changed}
                self._paths[table] = paths_of(table, new)
        if moved:
            self.upstream.moved()
        return moved

    def document(self) -> bytes:
        """The document as it is now."""
        paths = {path: item for table in self._paths.values() for path, item in table.items()}
        return json.dumps(document(paths, title=self._title)).encode()

    def report(self, what: str, found: Mended | None) -> None:
        """Count the faults of a refusal while that is asked for."""
        if not self.counting or found is None or what != "refused":
            return
        for fault in found.found:
            cure = fault.cure if isinstance(fault.cure, str) else "suggested"
            self._out.faults[fault.kind.value, str(cure)] += 1

    def check(self, moved: dict[str, set[str]], answer: dict[str, Any]) -> None:
        """Compare what the gateway reloaded with what moved."""
        told: dict[str, set[str]] = {}
        for reload in answer["reloads"]:
            diff = reload["diff"]
            keys = {*diff["added"], *diff["removed"], *diff["changed"]}
            if keys:
                told[reload["table"].rpartition("/")[2]] = keys
        expected = {table.rpartition("/")[2]: keys for table, keys in moved.items()}
        self._out.reloads += len(expected)
        self._out.rows_changed += sum(map(len, expected.values()))
        self._out.inexact += sum(
            told.get(table) != expected.get(table) for table in told.keys() | expected.keys()
        )
        self._out.unsaid |= answer["unsaid"]


def run_gateway(
    history: History,
    *,
    episodes: int,
    seed: int,
    policy: str = "A2DC",
    tell: Callable[[int], None] = lambda _index: None,
) -> Replayed:
    """Run the agents through a history of an API's constraints, side by side.

    Args:
        history: what happened.
        episodes: how many, spread evenly over the history.
        seed: decides what is asked for.
        policy: how the memory evicts.
        tell: called after every episode with its index.
    """
    world = world_of(history)
    out = Replayed({})
    service = _Service(history, world, out)
    draws = Draws(world, seed=seed)
    with ExitStack() as stack:
        behind = stack.enter_context(served(service.upstream))
        gateway = Gateway(
            service.document(),
            behind,
            service=history.name,
            grouping="tag",
            operator_token=_TOKEN,
            reported=service.report,
        )
        front = stack.enter_context(served(gateway, lives=True))
        out.arms.update(_arms(stack, behind, front, policy))
        operator = stack.enter_context(
            httpx2.Client(base_url=front, headers={"Authorization": f"Bearer {_TOKEN}"}, timeout=60)
        )
        for index, moment in enumerate(moments(history, episodes)):
            moved = service.until(moment)
            if moved:
                answer = operator.post("/contract/reload-spec", content=service.document())
                service.check(moved, answer.raise_for_status().json())
                draws.moved()
            drawn = draws.next()
            if drawn is None:
                continue
            for arm in out.arms.values():
                service.counting = arm.name == "gateway"
                _work(arm, world, service.rows, *drawn)
            tell(index)
    return out


def _arms(stack: ExitStack, behind: str, front: str, policy: str) -> Iterator[tuple[str, Arm]]:
    memory = stack.enter_context(lapse.open("memory:", policy=POLICIES[policy]))
    remembering = Transport(memory, issuer=_ISSUER)
    for name, url, transport, kept in (
        ("bare", behind, None, None),
        ("gateway", front, None, None),
        ("gateway with memory", front, remembering, memory),
    ):
        client = stack.enter_context(httpx2.Client(base_url=url, transport=transport))
        yield name, Arm(name, client, kept)


def _apply(rows: dict[str, JsonObject], events: tuple[Event, ...]) -> None:
    for event in events:
        if event.after is None:
            rows.pop(event.key, None)
        else:
            rows[event.key] = event.after


def _work(
    arm: Arm,
    world: OrganicWorld,
    rows: Mapping[str, Mapping[str, JsonObject]],
    table: str,
    subject: str,
    template: dict[str, Any],
) -> None:
    """One episode: apply what is remembered, ask, mend what is refused, ask again."""
    operation = prefixed(table, subject)
    has_body = any(key.startswith(f"{subject}#body") for key in rows[table])
    place = "body" if has_body else "query"

    def call(request: JsonObject) -> Call:
        return call_of(operation, request, has_body=has_body)

    request = dict(template)
    served_by_memory: dict[str, Any] = {}
    if arm.memory is not None:
        first = call(request)
        for fix in arm.memory.fixes(first.operation, first.members, issuer=_ISSUER):
            served_by_memory |= flattened(fix.parameters, place=place)
        request |= served_by_memory
    arm.episodes += 1
    arm.remembered += len(served_by_memory)
    suggested: dict[str, Any] = {}
    for attempt in range(_ATTEMPTS):
        sent = call(request)
        answer = arm.client.request(sent.method, sent.url, headers=sent.headers, json=sent.body)
        arm.attempts += 1
        if answer.status_code == _OK:
            arm.completed += 1
            arm.first_try += attempt == 0
            return
        said = answer.json()
        refused = set(said.get("parameters", ()))
        if attempt == 0:
            arm.stale += len(refused & served_by_memory.keys())
        arm.wrong += len(refused & suggested.keys())
        suggested = {n: v for n, v in _suggested(said, place).items() if n in refused}
        arm.suggested += len(suggested)
        request |= suggested
        right = {
            name: value
            for one in world.objections(table, subject, request) or ()
            for name, value in one.parameters.items()
        }
        looked_up = {name: right.get(name) for name in refused - suggested.keys()}
        arm.looked_up += len(looked_up)
        request |= looked_up


def _suggested(said: dict[str, Any], place: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in said.get("recovery_feedback", {}).get("suggestions", ()):
        found |= flattened(one["parameters"], place=one.get("in", place))
    return found
