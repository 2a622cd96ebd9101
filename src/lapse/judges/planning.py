"""Who writes an agent's requests: planners behind one protocol.

A planner sees a task and the fixes that the memory holds for it, and writes a request; when the
service refuses, it sees what the service said and writes another. It never sees a version, a table
or a row: those are the contract's and cost no token of its context.

What a planner writes is untrusted, whoever it is: a caller sends it to a service that judges it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lapse.contract import amend
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lapse.contract import Fix
    from lapse.ledger import JsonObject

__all__ = [
    "NO_TOKENS",
    "STAND_IN",
    "Move",
    "Offer",
    "Planner",
    "Probe",
    "Refusal",
    "Task",
    "Tokens",
    "checked",
    "taken_over",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What an agent is asked to do.

    Attributes:
        operation: method and path, or the tool's name.
        request: the request as the task alone would have it, without any memory.
        words: the task as a person would put it; empty where the request says it all.
        schema: the JSON Schema of the operation's requests; None when nobody declared one.
        key: tells it from another task that asks for the same, where whoever set it counts them.
            A planner with a seed draws by it; a model is not shown it.
    """

    operation: str
    request: JsonObject
    words: str = ""
    schema: JsonObject | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """A suggestion as a planner is shown it: an action and the values to merge, and no stamps."""

    type: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What the service said instead of yes.

    Attributes:
        title: its summary.
        detail: its explanation.
        offers: what it suggests, in its order.
        attempt: which attempt at the task it answers; the first is 1.
    """

    title: str = ""
    detail: str = ""
    offers: tuple[Offer, ...] = ()
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a call cost, in tokens of the planner's own tokenizer where it has one.

    Attributes:
        prompt: what it read.
        completion: what it wrote.
        memory: the part of `prompt` that is the memory block.
    """

    prompt: int = 0
    completion: int = 0
    memory: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        """The cost of both."""
        return Tokens(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.memory + other.memory,
        )


STAND_IN = "stand-in:"
"""What the name of every stand-in for a paid model begins with."""

NO_TOKENS = Tokens()
"""A planner without a model reads and writes nothing that is billed."""


@dataclass(frozen=True, slots=True)
class Move:
    """A request as a planner wrote it.

    Attributes:
        request: the body to send.
        followed: the fixes that it took over.
        tokens: what writing it cost.
    """

    request: dict[str, Any]
    followed: tuple[Fix, ...] = ()
    tokens: Tokens = field(default=NO_TOKENS)


@dataclass(frozen=True, slots=True)
class Probe:
    """Who answers for a planner: asked once before a run, and kept with its results.

    Attributes:
        asked: the model that was asked for.
        answered: the model that the answer names.
    """

    asked: str
    answered: str

    @property
    def matches(self) -> bool:
        """Whether it is the one that was asked for."""
        return self.asked == self.answered

    @property
    def stand_in(self) -> bool:
        """Whether what answers only draws from the rates that were printed for a paid model.

        Whatever it does is no measurement of that model, and is shown under this word.
        """
        return self.answered.startswith(STAND_IN)


class Planner(Protocol):
    """Writes requests. Called from one thread; keeps nothing between tasks."""

    @property
    def name(self) -> str:
        """What a user calls it."""
        ...

    def probe(self) -> Probe:
        """Ask who answers.

        Raises:
            LapseError: nobody does.
        """
        ...

    def first(self, task: Task, fixes: Sequence[Fix]) -> Move:
        """The first attempt.

        Args:
            task: what to do.
            fixes: what the memory holds for it, oldest first.

        Raises:
            LapseError: the planner did not answer, or not with a request.
        """
        ...

    def again(self, task: Task, sent: JsonObject, refusal: Refusal) -> Move:
        """The next attempt.

        Args:
            task: what to do.
            sent: what was refused.
            refusal: what the service said.

        Raises:
            LapseError: as `first`.
        """
        ...


def checked(planner: Planner) -> Probe:
    """The probe of a planner that is the one asked for (source text, section 4).

    Raises:
        InvalidValue: another one answers; nothing should be run with it.
        LapseError: nobody answers.
    """
    probe = planner.probe()
    if not probe.matches:
        raise InvalidValue(
            "planner", probe.answered, f"it answered instead of {probe.asked}; ask for it by name"
        )
    return probe


def taken_over(fixes: Iterable[Fix], request: JsonObject) -> tuple[Fix, ...]:
    """The fixes that a request has in it, whole: merging them again would change nothing."""
    return tuple(fix for fix in fixes if amend(request, fix.parameters) == dict(request))
