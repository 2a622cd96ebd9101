"""Stand-ins for paid models: they follow a fix as often as the source text says a model did.

They let a run be rehearsed, and its report be laid out, without paying anybody. What comes out is
close to the printed rates because it went in; it confirms nothing, and it is called a stand-in
wherever it is shown: its name begins with `stand-in:`.

A rate is printed over a whole stream, in which a planner that follows every fix has less than
100 %: nothing can be known at a first meeting. What is drawn here is whether a fix is followed that
is offered, so each chance is a printed rate over what a planner that follows everything reaches on
the same episodes. There is no other randomness: a draw is a digest of the seed, the task, the
attempt and the fix, so a run repeats, and arms that meet the same question draw the same number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from lapse.contract import amend
from lapse.errors import InvalidValue
from lapse.judges.planning import STAND_IN, Move, Probe, taken_over
from lapse.judges.scripted import believed
from lapse.judges.shapes import Shape, shape_of
from lapse.ledger import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lapse.contract import Fix
    from lapse.judges.planning import Refusal, Task
    from lapse.ledger import JsonObject

__all__ = ["STAND_INS", "StandIn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """Follows fixes with chances of its own.

    Attributes:
        name: `stand-in:` and the model that it stands in for.
        follows: the chance that it takes over a fix that a memory offers, by the fix's action
            where that was measured apart, or else by its shape. What is missing was not measured.
        believes_newest: the chance that of several entries for the same members it believes the
            last, and not the first.
        retries: the chance that it takes over what a refusal suggests, by action or by shape;
            certain for what is missing.
        seed: decides every draw.
    """

    name: str
    follows: Mapping[str, float]
    believes_newest: float = 0.0
    retries: Mapping[str, float] = field(default_factory=dict[str, float])
    seed: int = 0

    def probe(self) -> Probe:
        """Itself, under a name that says what it is."""
        return Probe(self.name, self.name)

    def first(self, task: Task, fixes: Sequence[Fix]) -> Move:
        """Merge what it believes and what the draw lets it follow.

        Raises:
            InvalidValue: it was never measured on fixes of this shape.
        """
        followed = [
            fix
            for fix in self._believed(task, fixes)
            if self._draw(task, 0, fix.type, fix.parameters) < self._chance(fix, task.request)
        ]
        request = _merged(task.request, [fix.parameters for fix in followed])
        return Move(request, taken_over(followed, request))

    def again(self, task: Task, sent: JsonObject, refusal: Refusal) -> Move:
        """Merge those of the suggestions that the draw lets it follow."""
        followed = [
            offer.parameters
            for offer in refusal.offers
            if self._draw(task, refusal.attempt, offer.type, offer.parameters)
            < self.retries.get(
                offer.type, self.retries.get(shape_of(offer.parameters, None, sent), 1.0)
            )
        ]
        return Move(_merged(sent, followed))

    def _believed(self, task: Task, fixes: Sequence[Fix]) -> tuple[Fix, ...]:
        newest = self._draw(task, 0, "which entry", {}) < self.believes_newest
        return believed(fixes, newest=newest)

    def _chance(self, fix: Fix, request: JsonObject) -> float:
        shape = shape_of(fix.parameters, fix.when, request)
        chance = self.follows.get(fix.type, self.follows.get(shape))
        if chance is None:
            remedy = f"the source text has no rate for {shape} by it; ask a stand-in that has one"
            raise InvalidValue("planner", self.name, remedy)
        return chance

    def _draw(self, task: Task, attempt: int, what: str, parameters: JsonObject) -> float:
        """A number from 0 to below 1 that depends on its arguments and the seed alone."""
        # Which members, and not which values: two entries for one member are one question.
        subject: list[Any] = [task.operation, dict(task.request), what, sorted(parameters)]
        drawn = canonical([self.seed, self.name, task.key, attempt, *subject])
        return int.from_bytes(sha256(drawn).digest()[:6]) / 2**48


def _merged(request: JsonObject, told: Sequence[JsonObject]) -> dict[str, Any]:
    amended = dict(request)
    for parameters in told:
        amended = amend(amended, parameters)
    return amended


@dataclass(frozen=True, slots=True, kw_only=True)
class _Printed:
    """What the source text prints for one model, in percent.

    Attributes:
        at_a1: compliance at A1 (Table 3): 33.3 if the oldest entry is believed, 100 if the newest.
        at_a2d: compliance at A2D (Table 3), without the episodes in which nobody could know.
        funding: first-try after the bump at A2D (Tables 4 and 7); 66.7 is what can be reached.
        control: first-try of the control class at A2D (Table 4); 83.3 can be reached.
        celiac: first-try at A2D (Table 7); 75.0 can be reached. None: not measured.
        combination: the same of the other rewrites; 60.0 can be reached.
        retries: the chance of following a refusal, where a model needs more than one.
    """

    at_a1: float
    at_a2d: float
    funding: float = 66.7
    control: float = 83.3
    celiac: float | None = None
    combination: float | None = None
    retries: Mapping[str, float] = field(default_factory=dict[str, float])


# Of nine scored episodes a believer in the oldest entry gets three, one in the newest nine.
_SCORED, _BEFORE_THE_SLOTS, _AFTER = 9, 3, 6
_FUNDING, _CONTROL, _CELIAC, _COMBINATION = 66.7, 83.3, 75.0, 60.0

_PRINTED: Final[Mapping[str, _Printed]] = {
    "claude-haiku-4-5": _Printed(at_a1=44.4, at_a2d=100.0, celiac=75.0, combination=58.3),
    "claude-sonnet-4-6": _Printed(at_a1=25.9, at_a2d=88.9, celiac=30.0, combination=38.3),
    "claude-sonnet-5": _Printed(
        at_a1=0.0,
        at_a2d=11.1,
        celiac=55.0,
        combination=60.0,
        # Table 6: 32.3 retries at A0, of which 15 are of the other classes, which take one each;
        # 17.3 for twelve governed episodes are 1.44 each, so 12 in 17.3 are followed.
        retries={Shape.ADD_A_FIELD: 0.69, "ADD_CAMPAIGN": 1.0},
    ),
    "gpt-5.4-mini": _Printed(at_a1=100.0, at_a2d=100.0),
    "deepseek-v4-flash": _Printed(at_a1=3.7, at_a2d=3.7, funding=55.6),
    "gpt-5-mini": _Printed(at_a1=33.3, at_a2d=100.0),
    "gemini-3.5-flash": _Printed(
        at_a1=29.6,
        at_a2d=77.8,
        funding=11.1,
        control=55.6,
        # Section 5: 104 of 108 funding episodes and 32 of 72 controls fail four retries. Table 6:
        # what is left of 82.7 retries at A0 is 2.4 for each governed episode.
        retries={
            Shape.CONDITIONAL_REWRITE: 0.0094,
            "ADD_CAMPAIGN": 0.18,
            Shape.ADD_A_FIELD: 0.37,
        },
    ),
}


def _stand_in(model: str, printed: _Printed, seed: int) -> StandIn:
    follows = {
        Shape.ADD_A_FIELD.value: printed.at_a2d / 100,
        Shape.CONDITIONAL_REWRITE.value: printed.funding / _FUNDING,
        "ADD_CAMPAIGN": printed.control / _CONTROL,
    }
    if printed.celiac is not None and printed.combination is not None:
        follows[Shape.REWRITE_A_VALUE.value] = printed.celiac / _CELIAC
        # Table 7 counts it as a plain rewrite; by its members it reads as a conditional one.
        follows["REPLACE_INGREDIENT"] = printed.combination / _COMBINATION
    right_at_a1 = _SCORED * printed.at_a1 / printed.at_a2d
    return StandIn(
        name=f"{STAND_IN}{model}",
        follows=follows,
        believes_newest=min(1.0, max(0.0, (right_at_a1 - _BEFORE_THE_SLOTS) / _AFTER)),
        retries=printed.retries,
        seed=seed,
    )


STAND_INS: Final[Mapping[str, Callable[[int], StandIn]]] = {
    f"{STAND_IN}{model}": partial(_stand_in, model, printed) for model, printed in _PRINTED.items()
}
"""For each model of the source text, what makes its stand-in from a seed; by the stand-in's name.

What a model gets right without any memory is not among the chances, since a stand-in knows nothing
that nobody told it: `gpt-5.4-mini` and `deepseek-v4-flash` solve some tasks at A0, these do not.
The two models that leave episodes unfinished do so on one task more than on others; these do so by
the shape of the fix.
"""
