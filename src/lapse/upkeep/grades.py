"""How closely to look: not at all, roughly, or by trying it.

A doubt can be left to the receipts that come for free, read off something cheap that may err, or
tested directly. The cheapest look that suffices is the one after which nothing dearer adds more
than its actions would earn elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue
from lapse.upkeep.numbers import chance, nonnegative, positive
from lapse.upkeep.values import noisy_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lapse.upkeep.values import Stakes

__all__ = ["DEFER", "Grade", "Look", "choose"]


class Grade(StrEnum):
    """How closely one looks."""

    DEFER = "defer"
    """Not at all: what passes by anyhow will tell."""
    PROXY = "proxy"
    """At something cheaper that goes along with it, and may err; it is no receipt."""
    DIRECT = "direct"
    """At the thing itself, which leaves no doubt."""


@dataclass(frozen=True, slots=True)
class Look:
    """One way to look.

    Attributes:
        grade: how closely.
        cost: actions it takes.
        sensitivity: how often it says "gone" of what is gone.
        specificity: how often it says "holds" of what holds.
    """

    grade: Grade
    cost: float
    sensitivity: float = 1.0
    specificity: float = 1.0

    @classmethod
    def proxy(cls, cost: float, *, sensitivity: float, specificity: float) -> Look:
        """A look that may err, and says how often.

        Raises:
            InvalidValue: it costs nothing, or a chance is none.
        """
        positive("cost", cost)
        chance("sensitivity", sensitivity)
        chance("specificity", specificity)
        return cls(Grade.PROXY, cost, sensitivity, specificity)

    @classmethod
    def direct(cls, cost: float) -> Look:
        """A look at the thing itself.

        Raises:
            InvalidValue: it costs nothing.
        """
        positive("cost", cost)
        return cls(Grade.DIRECT, cost)


DEFER = Look(Grade.DEFER, 0.0, 0.0, 1.0)
"""Not to look: it costs nothing and says nothing new."""


def choose(
    stale: float, stakes: Stakes, looks: Iterable[Look], *, uses: float, wage: float
) -> Look:
    """The look that is worth most beyond its price; of several the cheapest.

    Args:
        stale: the chance that the item does not hold.
        stakes: what one use is about.
        looks: what there is besides `DEFER`, which there always is.
        uses: for how many uses the doubt stays resolved, those that are due now included.
        wage: the price of an action, not negative; infinity defers everything.

    Raises:
        InvalidValue: something is negative, or no number.
    """
    nonnegative("uses", uses)
    if not wage >= 0:
        raise InvalidValue("wage", wage, "pass 0 or more; infinity defers everything")
    best, most = DEFER, 0.0
    for look in sorted(looks, key=lambda one: one.cost):
        value = noisy_value(
            stale, stakes, sensitivity=look.sensitivity, specificity=look.specificity
        )
        left = uses * float(value) - wage * look.cost if look.cost else 0.0
        if left > most:
            best, most = look, left
    return best
