"""Whether to look now, and at what: one decision, with the clause that made it.

The clauses are tried in the order in which they stand; the first that applies decides.

::

    decision = decide(candidates, wage, account, now=step, in_flight=busy)
    wage = wage.wanted(decision.wanted)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lapse.upkeep.numbers import nonnegative, positive

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lapse.upkeep.accounts import Account
    from lapse.upkeep.wages import Wage

__all__ = ["Candidate", "Clause", "Hold", "Spend", "decide"]


class Clause(StrEnum):
    """Why something was bought, or nothing: the rows of the source's table E.2, and the other."""

    IN_FLIGHT = "in_flight"
    """An errand is under way."""
    NO_CANDIDATE = "no_candidate"
    """There is nothing to look at."""
    INDEX_AT_ZERO = "index_at_zero"
    """No look is worth anything."""
    BELOW_WAGE = "below_wage"
    """The best look brings less for an action than work does."""
    CAP_REACHED = "cap_reached"
    """It would have been bought, and the account is empty."""
    SPENT = "spent"
    """It is bought."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A look that could be bought.

    Attributes:
        target: its name; of two with the same index the first by name is taken.
        index: what it is worth for each action.
        cost: actions that are charged for it.
    """

    target: str
    index: float
    cost: float

    def __post_init__(self) -> None:
        """Refuse looks that cost nothing or are worth less."""
        nonnegative("index", self.index)
        positive("cost", self.cost)


@dataclass(frozen=True, slots=True)
class Spend:
    """Look at this.

    Attributes:
        best: what to look at.
        wage: the price of an action at this moment.
    """

    best: Candidate
    wage: float

    @property
    def reason(self) -> Clause:
        """The clause that decided."""
        return Clause.SPENT

    @property
    def wanted(self) -> float:
        """Actions that were wanted, for the price of the budget."""
        return self.best.cost


@dataclass(frozen=True, slots=True)
class Hold:
    """Go on working.

    Attributes:
        reason: the clause that decided.
        best: what would have been looked at; None where there was nothing, or nobody asked.
        wage: the price of an action at this moment.
    """

    reason: Clause
    best: Candidate | None
    wage: float

    @property
    def wanted(self) -> float:
        """Actions that were wanted and not allowed."""
        if self.reason is Clause.CAP_REACHED and self.best is not None:
            return self.best.cost
        return 0.0


def decide(
    candidates: Iterable[Candidate],
    wage: Wage,
    account: Account,
    *,
    now: float,
    in_flight: bool = False,
) -> Spend | Hold:
    """Buy the best look if it clears the wage and the account allows it.

    Args:
        candidates: what could be looked at.
        wage: the price of an action, and the band above it.
        account: how much may be spent.
        now: the time, for the account.
        in_flight: whether an errand is under way.
    """
    level = wage.level
    if in_flight:
        return Hold(Clause.IN_FLIGHT, None, level)
    best = min(candidates, key=lambda one: (-one.index, one.target), default=None)
    if best is None:
        return Hold(Clause.NO_CANDIDATE, None, level)
    if best.index == 0:
        return Hold(Clause.INDEX_AT_ZERO, best, level)
    if best.index < wage.entry:
        return Hold(Clause.BELOW_WAGE, best, level)
    if not account.allows(now):
        return Hold(Clause.CAP_REACHED, best, level)
    return Spend(best, level)
