"""Runs the streams of the other benchmarks once more, to count what their answers hold.

Two arms: one without a memory, whose every constraint is refused, and one with row granularity,
which learns. The planner is scripted and believes the newest entry. Tables and rules move when the
stream says so, in the service's process; the requests and answers are real HTTP on loopback.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import httpx2

import lapse
from lapse.contract import A0, A2D, Fix, Registry, Rule, Table, word
from lapse.runtime import Digests
from lapse.server import Contract
from lapse.transports.http import Transport
from lapse_bench import recipes_world, rules_world
from lapse_bench.recipes_stream import load_recipes
from lapse_bench.rules_stream import load_rules
from lapse_bench.scenarios import load
from lapse_bench.serving import loopback, served
from lapse_bench.wire.answers import answering
from lapse_bench.wire.counting import Recording
from lapse_bench.worlds import acme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lapse.contract import EvictionPolicy, Reading, Violation
    from lapse.ledger import JsonObject
    from lapse.runtime import Memory
    from lapse_bench.wire.answers import Answers

__all__ = ["STREAMS", "Context", "Form", "Ran", "Stream", "run_stream", "streams"]

_ATTEMPTS: Final = 5
_ISSUER: Final = "measured"
_ARMS: Final[tuple[EvictionPolicy, ...]] = (A0, A2D)


@dataclass(frozen=True, slots=True)
class Form:
    """In which form the contract travels.

    Attributes:
        level: the service's wire level.
        extensions: whether `rows` and `when` go along.
        digest: whether the client says what it holds.
    """

    level: int
    extensions: bool = False
    digest: bool = False


@dataclass(frozen=True, slots=True)
class Stream:
    """Tasks, and what moves between them.

    Attributes:
        name: its name.
        tables: the rows that the service starts with.
        rules: the derivations that it starts with.
        judge: decides about requests.
        tasks: operation and request, in order.
        moves: what moves before a task: by its index, tables with rows that change, or rules.
    """

    name: str
    tables: Mapping[str, Mapping[str, Any]]
    rules: tuple[Rule, ...]
    judge: Callable[[str, JsonObject, Reading], Violation | None]
    tasks: tuple[tuple[str, JsonObject], ...]
    moves: Mapping[int, Callable[[Contract], None]]


@dataclass(frozen=True, slots=True)
class Context:
    """What a planner was shown before one attempt.

    Attributes:
        brief: the memory block.
        bare: the same from fixes that know no version, table or row.
    """

    brief: str
    bare: str


@dataclass(frozen=True, slots=True)
class Ran:
    """What came out of a run.

    Attributes:
        recorded: the exchanges of each arm.
        contexts: what the planner was shown, where it was shown anything.
        counters: what the memories counted, added up.
    """

    recorded: tuple[Recording, ...]
    contexts: tuple[Context, ...]
    counters: Mapping[str, int] = field(default_factory=dict[str, int])


STREAMS: Final = ("payments", "rules", "recipes")


def streams() -> dict[str, Stream]:
    """The streams that are counted, by name."""
    payments, rules, recipes = load("payments"), load_rules(), load_recipes()
    return {
        "payments": Stream(
            "payments",
            acme.TABLES,
            tuple(acme.RULES),
            acme.judge,
            tuple((task.operation, task.request) for task in payments.episodes),
            _reloads(acme.TABLES, payments.events),
        ),
        "rules": Stream(
            "rules",
            {name: table.rows for name, table in rules_world.initial().tables.items()},
            tuple(rules_world.RULES),
            rules_world.judge,
            tuple((task.operation, task.request) for task in rules.episodes),
            _declarations(tuple(rules_world.RULES), rules.events),
        ),
        "recipes": Stream(
            "recipes",
            recipes_world.TABLES,
            tuple(recipes_world.RULES),
            recipes_world.judge,
            tuple((recipes_world.OPERATION, task.request) for task in recipes.episodes),
            _reloads(recipes_world.TABLES, recipes.events),
        ),
    }


def _reloads(
    tables: Mapping[str, Mapping[str, Any]], events: Sequence[Any]
) -> dict[int, Callable[[Contract], None]]:
    now = {name: dict(rows) for name, rows in tables.items()}
    moves: dict[int, Callable[[Contract], None]] = {}
    for event in sorted(events, key=lambda event: event.before):
        rows = {**now.get(event.table, {}), **event.rows}
        now[event.table] = {key: row for key, row in rows.items() if row is not None}
        moves[event.before] = _reload(event.table, now[event.table], event.version)
    return moves


def _reload(table: str, rows: Mapping[str, Any], version: str | None) -> Callable[[Contract], None]:
    return lambda contract: void(contract.reload(table, rows, version))


def _declarations(
    rules: tuple[Rule, ...], events: Sequence[Any]
) -> dict[int, Callable[[Contract], None]]:
    now = list(rules)
    moves: dict[int, Callable[[Contract], None]] = {}
    for event in events:
        gone = [declared.rule() for declared in event.withdraw]
        now = [rule for rule in now if rule not in gone]
        now += [declared.rule() for declared in event.declare]
        moves[event.before] = _declare(tuple(now))
    return moves


def _declare(rules: tuple[Rule, ...]) -> Callable[[Contract], None]:
    return lambda contract: void(contract.declare(rules))


def void(_: object) -> None:
    """What a move returns is of no interest."""


def run_stream(
    stream: Stream,
    form: Form,
    *,
    answers: Answers = "object",
    tables: int = 0,
    serving: Callable[..., Any] = served,
    wrapped: Callable[[], httpx2.BaseTransport] = loopback,
) -> Ran:
    """Run every arm against a service of its own.

    Args:
        stream: the tasks.
        form: in which form the contract travels.
        answers: what a request that passes is answered with.
        tables: how many tables the service has at least; the others are never read.
        serving: runs the service, and gives its address.
        wrapped: makes the transport that is counted.
    """
    recorded: list[Recording] = []
    contexts: list[Context] = []
    counters: dict[str, int] = {}
    for arm in _ARMS:
        contract = Contract(
            Registry.of(list(_tables(stream, tables)), stream.rules),
            level=form.level,
            extensions=form.extensions,
        )
        recording = Recording(wrapped())
        with ExitStack() as stack:
            url = stack.enter_context(serving(answering(contract, stream.judge, answers)))
            memory = stack.enter_context(lapse.open("memory:", policy=arm))
            memory.digests = Digests(speaks=form.digest)
            transport = Transport(memory, recording, issuer=_ISSUER)
            client = stack.enter_context(httpx2.Client(base_url=url, transport=transport))
            for index, (operation, request) in enumerate(stream.tasks):
                if index in stream.moves:
                    stream.moves[index](contract)
                contexts += _attempt(client, memory, operation, request)
            for name, number in memory.counters.items():
                counters[name] = counters.get(name, 0) + number
        recorded.append(recording)
    return Ran(tuple(recorded), tuple(contexts), counters)


def _tables(stream: Stream, tables: int) -> Iterator[Table]:
    for name, rows in stream.tables.items():
        yield Table(name, rows, "1.0.0")
    for number in range(len(stream.tables), tables):
        yield Table(f"reference_table_{number:04}", {"row": {"value": number}}, "1.0.0")


def _attempt(
    client: httpx2.Client, memory: Memory, operation: str, request: JsonObject
) -> Iterator[Context]:
    """Do one task, and tell what the planner was shown."""
    method, _, path = operation.partition(" ")
    fixes = memory.fixes(operation, request, issuer=_ISSUER)
    bare = word(_unstamped(fixes), request=request)
    yield Context(memory.brief(operation, request, issuer=_ISSUER), bare)
    amended = dict(request)
    for fix in fixes:
        amended.update(fix.parameters)
    for _ in range(_ATTEMPTS):
        response = client.request(method, path, json=amended)
        body: dict[str, Any] = response.json()
        suggestions: list[Any] = body.get("recovery_feedback", {}).get("suggestions", [])
        if response.is_success or not suggestions:
            return
        for suggestion in suggestions:
            amended.update(suggestion["parameters"])


def _unstamped(fixes: Sequence[Fix]) -> list[Fix]:
    """The same fixes without anything that the contract's fields put into them."""
    return [Fix.of(replace(fix.record, stamps=(), receipts=())) for fix in fixes]
