"""Planners without a model: each does one thing that models are seen to do, every time.

What they show is what a contract and a memory do for a reader of that kind. They are bounds to read
a model against, and no measurement of one.

=============  =================================================================================
oldest         follows word for word; of several entries for the same members the first it learned
newest         the same, but the last it learned
conservative   never adds a field because a memory says so; does when a refusal says so
paraphrasing   says what it is told in its own words first, and word for word when refused for it
forgetful      takes over the last field of the last thing it is told, and drops the rest
=============  =================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal

from lapse.contract import amend
from lapse.judges.planning import Move, Probe, taken_over
from lapse.judges.shapes import Shape, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lapse.contract import Fix
    from lapse.judges.planning import Refusal, Task
    from lapse.ledger import JsonObject

__all__ = ["SCRIPTED", "Manner", "Scripted", "TieBreak", "believed"]

TieBreak = Literal["oldest", "newest"]


class Manner(StrEnum):
    """What becomes of values on the way from the reader's eye to its request."""

    VERBATIM = "verbatim"
    """They are merged as they stand: what Level 2 asks for (source text, section 3.4)."""
    OWN_WORDS = "own_words"
    """Fields are renamed: what Level 2 is there to prevent."""
    LAST_FIELD = "last_field"
    """One field is merged and the others are dropped: what Level 3 is there to prevent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """Follows what it is told, in its manner.

    Attributes:
        name: what a user calls it.
        ties: which entry it believes when several fix the same members.
        declines: the shapes of fix that it does not take from a memory. What a refusal suggests it
            takes in any shape: clients that decline still complete (source text, section 5).
        manner: how it writes down what it follows.
    """

    name: str
    ties: TieBreak = "newest"
    declines: frozenset[Shape] = frozenset()
    manner: Manner = Manner.VERBATIM

    def probe(self) -> Probe:
        """Itself: there is no model behind it that could be another."""
        return Probe(self.name, self.name)

    def first(self, task: Task, fixes: Sequence[Fix]) -> Move:
        """Merge one fix for each set of members, but for the shapes that it declines."""
        followed = [
            fix
            for fix in believed(fixes, newest=self.ties == "newest")
            if shape_of(fix.parameters, fix.when, task.request) not in self.declines
        ]
        request = self._merged(task.request, [fix.parameters for fix in followed])
        return Move(request, taken_over(followed, request))

    def again(self, task: Task, sent: JsonObject, refusal: Refusal) -> Move:
        """Merge what the refusal suggests."""
        told = [offer.parameters for offer in refusal.offers]
        if self.manner is Manner.OWN_WORDS and refusal.attempt > 1:
            coined = {_own_words(name) for parameters in told for name in parameters}
            kept = {k: v for k, v in sent.items() if k in task.request or k not in coined}
            return Move(_verbatim(kept, told))
        return Move(self._merged(sent, told))

    def _merged(self, request: JsonObject, told: Sequence[JsonObject]) -> dict[str, Any]:
        match self.manner:
            case Manner.VERBATIM:
                return _verbatim(request, told)
            case Manner.OWN_WORDS:
                restated = [{_own_words(name): value for name, value in t.items()} for t in told]
                return _verbatim(request, restated)
            case Manner.LAST_FIELD:
                last = [dict(list(parameters.items())[-1:]) for parameters in told[-1:]]
                return _verbatim(request, last)


def believed(fixes: Iterable[Fix], *, newest: bool) -> tuple[Fix, ...]:
    """One fix for each set of members that several may speak of.

    Args:
        fixes: what the memory holds, oldest first.
        newest: whether the last of several is believed, and not the first.
    """
    chosen: dict[frozenset[str], Fix] = {}
    for fix in fixes:
        subject = frozenset(fix.parameters)
        if newest or subject not in chosen:
            chosen[subject] = fix
    return tuple(chosen.values())


def _verbatim(request: JsonObject, told: Iterable[JsonObject]) -> dict[str, Any]:
    amended = dict(request)
    for parameters in told:
        amended = amend(amended, parameters)
    return amended


def _own_words(name: str) -> str:
    """A field's name as somebody writes it who has other habits: `promotionCode`."""
    first, *rest = name.split("_")
    coined = first + "".join(part.capitalize() for part in rest)
    return coined if coined != name else f"{name}Value"


SCRIPTED: Final[Mapping[str, Scripted]] = {
    planner.name: planner
    for planner in (
        Scripted(name="oldest", ties="oldest"),
        Scripted(name="newest"),
        Scripted(name="conservative", declines=frozenset({Shape.ADD_A_FIELD})),
        Scripted(name="paraphrasing", manner=Manner.OWN_WORDS),
        Scripted(name="forgetful", manner=Manner.LAST_FIELD),
    )
}
"""The scripted planners by name."""
