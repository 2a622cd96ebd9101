"""Who writes the requests: planners behind one protocol.

A planner sees the task's request and the fixes that the memory holds for it, and writes a request.
When the service refuses, it sees the suggestions and writes another. It never sees the service's
tables.

`Scripted` is compliant and deterministic. When a memory offers several fixes for the same
parameters, a reader has to believe one of them; which one it believes is the difference between
models, and here a
parameter: the `oldest` entry or the `newest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.contract import Fix
    from lapse.ledger import JsonObject

__all__ = ["PLANNERS", "Move", "Planner", "Scripted", "planner"]

TieBreak = Literal["oldest", "newest"]


@dataclass(frozen=True, slots=True)
class Move:
    """A request as a planner wrote it.

    Attributes:
        request: the body to send.
        followed: the fixes that it took over.
    """

    request: dict[str, Any]
    followed: tuple[Fix, ...] = ()


class Planner(Protocol):
    """Writes requests. Called from one thread; keeps nothing between calls."""

    @property
    def name(self) -> str:
        """The planner that was asked for."""
        ...

    def probe(self) -> str:
        """The planner that answers, asked before a run; a run with another one must not start."""
        ...

    def first(self, request: JsonObject, fixes: Sequence[Fix]) -> Move:
        """The first attempt.

        Args:
            request: what the task would send without a memory.
            fixes: what the memory holds for it, oldest first.
        """
        ...

    def again(self, sent: JsonObject, suggestions: Sequence[JsonObject]) -> Move:
        """The next attempt after a refusal.

        Args:
            sent: what was refused.
            suggestions: the parameters of each suggestion in the refusal.
        """
        ...


@dataclass(frozen=True, slots=True)
class Scripted:
    """Follows what it is told, word for word.

    Attributes:
        ties: which entry it believes when several fix the same parameters.
    """

    ties: TieBreak

    @property
    def name(self) -> str:
        """Its tie-break."""
        return self.ties

    def probe(self) -> str:
        """Itself: there is no model behind it that could be another."""
        return self.ties

    def first(self, request: JsonObject, fixes: Sequence[Fix]) -> Move:
        """Merge one fix for each set of parameters."""
        chosen: dict[frozenset[str], Fix] = {}
        for fix in fixes:
            subject = frozenset(fix.parameters)
            if self.ties == "newest" or subject not in chosen:
                chosen[subject] = fix
        amended = dict(request)
        for fix in chosen.values():
            amended.update(fix.parameters)
        return Move(amended, tuple(chosen.values()))

    def again(self, sent: JsonObject, suggestions: Sequence[JsonObject]) -> Move:
        """Merge every suggestion."""
        amended = dict(sent)
        for parameters in suggestions:
            amended.update(parameters)
        return Move(amended)


PLANNERS: Final = {"oldest": Scripted("oldest"), "newest": Scripted("newest")}
"""The planners by the name a user types."""


def planner(name: str) -> Planner:
    """The planner of this name, after its probe.

    Raises:
        InvalidValue: there is none, or another one answers.
    """
    found = PLANNERS.get(name)
    if found is None:
        raise InvalidValue("planner", name, f"name one of {', '.join(PLANNERS)}")
    if found.probe() != name:
        raise InvalidValue(
            "planner", found.probe(), f"it answered instead of {name}; ask for it by its own name"
        )
    return found
