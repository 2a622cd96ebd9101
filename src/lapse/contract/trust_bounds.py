"""How fast an issuer may move what is remembered, and what happens when it is faster.

A service that reports a new version with every response makes each of its clients ask, evict and
learn again, for ever. Up to a bound that is what the contract asks for. Beyond it, for the rest of
the window, what moved is *held*: not served, not evicted, not asked about. Nothing is dropped by
that: what the records were reconciled with stays as it was, so the first question after the window
is about everything that happened meanwhile, and its answer is the final state, exactly.

1. Within a window, so many moves of tables, so many evictions and so many questions.
2. What would go beyond is held until a later window.
3. One settlement may alone be larger than the bound (a big table was replaced): it is held for one
   window, and goes through in the next, if the issuer still says so then.
4. A clock that is set back renews nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

from lapse.contract.verdicts import Suspend
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.contract.verdicts import Moved
    from lapse.ledger import Instant, State

__all__ = ["Bounds", "Tally", "admit", "held", "may_ask"]

_SECOND: Final = 1_000_000
"""Microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one issuer may cause within a window.

    Attributes:
        window_us: how long a window is.
        moves: how often a table of it may move.
        evictions: how many records of it may be evicted.
        questions: how many questions it may cause.

    What is set here is ten a second: more than a deployment that reloads everything, and less than
    a service that reloads with every response.
    """

    window_us: int = 60 * _SECOND
    moves: int = 600
    evictions: int = 10_000
    questions: int = 600

    def __post_init__(self) -> None:
        """Refuse a bound that would let nothing through."""
        for bound in fields(self):
            value = getattr(self, bound.name)
            if type(value) is not int or value < 1:
                raise InvalidValue(bound.name, value, "pass a whole number of at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What an issuer has caused in the current window.

    Attributes:
        since: when the window began.
        moves: how many moves it caused.
        evictions: how many evictions.
        questions: how many questions.
        exhausted: whether a question was left unasked.
        holding: whether something is held back in this window.
        seasoned: whether something was held back through the whole of the last one.
    """

    since: Instant
    moves: int = 0
    evictions: int = 0
    questions: int = 0
    exhausted: bool = False
    holding: bool = False
    seasoned: bool = False

    def at(self, now: Instant, bounds: Bounds) -> Tally:
        """The tally as it stands now: a new one when the window is over."""
        if now < self.since:
            return replace(self, since=now)
        if now >= self.since + bounds.window_us:
            return Tally(since=now, seasoned=self.holding)
        return self

    def asked(self, questions: int, *, of: int) -> Tally:
        """So many questions more, of so many that there were."""
        exhausted = self.exhausted or questions < of
        return replace(self, questions=self.questions + questions, exhausted=exhausted)


def may_ask(tally: Tally, bounds: Bounds) -> int:
    """How many questions more the issuer may cause in this window; none while it is held."""
    return 0 if tally.holding else max(0, bounds.questions - tally.questions)


def admit(tally: Tally, bounds: Bounds, *, moves: int, evictions: int) -> Tally | None:
    """The tally after so many moves and evictions more; None when they go beyond the bounds."""
    if tally.holding or tally.moves + moves > bounds.moves:
        return None
    after = replace(tally, moves=tally.moves + moves, evictions=tally.evictions + evictions)
    alone = tally.seasoned and not tally.evictions
    return after if not evictions or alone or after.evictions <= bounds.evictions else None


def held(state: State, moves: Sequence[Moved]) -> tuple[Suspend, ...]:
    """What moved is held back; what is held back already needs no further entry."""
    return tuple(
        Suspend(move, len(state.index.on(move.source)))
        for move in moves
        if (mark := state.mark(move.source)) is not None
        and mark.settled
        and move.now != mark.reconciled
    )
