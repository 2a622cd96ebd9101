"""What an action has to bring before it is spent on a doubt.

An action that looks is an action that does not work, so the price of one is what work earns; and
where a budget binds, the price at which what one would like to buy fits into it. The wage is the
greater of the two: a budget that does not bind must not make looks cheap, or whatever may be spent
will be.

The second price moves with what one would have liked to buy, not with what was bought: a cap holds
the latter down by itself, and a price that follows it never rises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from lapse.errors import InvalidValue
from lapse.upkeep.numbers import nonnegative, positive

__all__ = ["Pay", "Wage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pay:
    """How a wage is set.

    Attributes:
        floor: reward per action. Infinity buys nothing, 0 whatever is worth anything at all.
        running: whether the floor is only where one begins, and what work really earns replaces it.
        memory: over how many actions that is averaged.
        pace: actions per unit of time that the budget allows; infinity where nothing limits it.
        step: how far the price moves for each action that was wanted beyond the pace.
        band: by what share a doubt has to be worth more than the wage: it keeps noise in the index
            from being bought, and the schedule from being made anew whenever the wage trembles.
    """

    floor: float = 0.04
    running: bool = False
    memory: float = 400.0
    pace: float = math.inf
    step: float = 0.0
    band: float = 0.0

    def __post_init__(self) -> None:
        """Refuse negative prices and no memory."""
        if not self.floor >= 0:
            raise InvalidValue("floor", self.floor, "pass 0 or more; infinity buys nothing")
        if not self.pace > 0:
            raise InvalidValue("pace", self.pace, "pass a number above 0, or infinity")
        if not self.memory >= 1:
            raise InvalidValue("memory", self.memory, "pass 1 or more actions")
        nonnegative("step", self.step)
        nonnegative("band", self.band)


@dataclass(frozen=True, slots=True)
class Wage:
    """The price of an action as it is now.

    Attributes:
        pay: how it is set.
        earned: reward per action of work, as averaged so far.
        dual: the price at which what is wanted fits the budget.
    """

    pay: Pay
    earned: float
    dual: float = 0.0

    @classmethod
    def of(cls, pay: Pay) -> Wage:
        """The wage before anything was earned."""
        return cls(pay, pay.floor)

    @property
    def level(self) -> float:
        """Reward per action."""
        return max(self.earned if self.pay.running else self.pay.floor, self.dual)

    @property
    def entry(self) -> float:
        """The least index that is bought: the wage and the band above it."""
        return self.level * (1.0 + self.pay.band)

    def worked(self, reward: float) -> Wage:
        """After an action of work that brought this reward."""
        return replace(self, earned=self.earned + (reward - self.earned) / self.pay.memory)

    def wanted(self, actions: float, *, elapsed: float = 1.0) -> Wage:
        """After some time in which one would have liked to spend so many actions on looks.

        Args:
            actions: what was bought, and what would have been if no cap had been in the way.
            elapsed: how much time.

        Raises:
            InvalidValue: the actions are negative, or no time has passed.
        """
        beyond = float(nonnegative("actions", actions))
        if not math.isinf(self.pay.pace):
            beyond -= self.pay.pace * float(positive("elapsed", elapsed))
            return replace(self, dual=max(0.0, self.dual + self.pay.step * beyond))
        return self
