"""How much a recheck is worth for each action that it takes: what candidates are ranked by.

Three rules, from the one that looks ahead least:

* `myopic`: the doubt that the next step costs, per action;
* `closed_form`: Whittle's index without receipts, in the age-of-information form;
* the durability form: what resolving the doubt saves until it comes back or a free receipt would
  have resolved it anyhow, plus the use that is due now. `worth` for one item, `covered` for all
  that one errand looks at, and the effective cost below it.

`numeric` in `lapse.upkeep.iteration` prices receipts in exactly, for one atom at a time.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from lapse.errors import InvalidValue
from lapse.upkeep.numbers import Floats, Integers, Numbers, nonnegative, positive, within

if TYPE_CHECKING:
    from lapse.upkeep.numbers import Flags

__all__ = [
    "Coverage",
    "closed_form",
    "covered",
    "durability",
    "located",
    "myopic",
    "trip",
    "usage",
    "worth",
]


class Coverage(StrEnum):
    """What an errand that looks at several items is worth."""

    SUM = "sum"
    """All of them together."""
    MAX = "max"
    """The one that is worth most."""


def usage(
    receipts: Numbers | Integers, elapsed: Numbers, *, uses: float = 0.3, time: float = 100.0
) -> Floats:
    """How often an item is used, per unit of time, from how often it was.

    Args:
        receipts: how many uses were seen.
        elapsed: over how long.
        uses: uses that were taken for granted beforehand, in
        time: so much time: the estimate before anything was seen is their quotient.

    Raises:
        InvalidValue: something is negative, or `time` is not above 0.
    """
    seen = nonnegative("receipts", np.asarray(receipts, dtype=np.float64))
    over = nonnegative("elapsed", elapsed) + positive("time", time)
    return (seen + nonnegative("uses", uses)) / over


def durability(change: Numbers, receipts: Numbers, *, horizon: float) -> Floats:
    """How long a resolved doubt stays resolved, or would have been unresolved: tau.

    It ends with the next change, with the next receipt that would have come for free, or with the
    need for the item. Each comes at a constant rate, so rates add up: 1 / (kappa + r + 1 / H).

    Args:
        change: changes per unit of time of all that the item rests on together: kappa.
        receipts: free receipts per unit of time: r; 0 where that channel is closed.
        horizon: how long the item is expected to be of use: H.

    Raises:
        InvalidValue: a rate is negative, or the horizon is not above 0.
    """
    ending = nonnegative("change", change) + nonnegative("receipts", receipts)
    return 1.0 / (ending + 1.0 / positive("horizon", horizon))


def trip(distance: Numbers, *, both_ways: bool) -> Floats:
    """How many actions a look at a distance takes: the way, the look, and perhaps the way back.

    Args:
        distance: actions to get there; 0 on the spot.
        both_ways: whether the way back is paid for, which it is where the task goes on from here.

    Raises:
        InvalidValue: a distance is negative.
    """
    return nonnegative("distance", distance) * (2.0 if both_ways else 1.0) + 1.0


def located(cost: Numbers, locality: Numbers) -> Floats:
    """What a look costs from where one stands: its price, discounted by locality (xi).

    Args:
        cost: actions of the look for whoever comes from afar.
        locality: the share of them that is left to pay, above 0 and at most 1.

    Raises:
        InvalidValue: the cost is not above 0, or the locality is out of bounds.
    """
    positive("locality", locality)
    return positive("cost", cost) * within("locality", locality, 0.0, 1.0, "pass at most 1")


def worth(
    value: Numbers, *, used: Numbers, lasting: Numbers, needed: Numbers | Flags = 0.0
) -> Floats:
    """What resolving the doubt about an item is worth over the time that it stays resolved.

    Args:
        value: what it is worth for one use.
        used: uses per unit of time.
        lasting: for how long, as `durability` says.
        needed: uses that are due right now: 1 for what the task at hand asks for.

    Raises:
        InvalidValue: something is negative.
    """
    uses = nonnegative("used", used) * nonnegative("lasting", lasting)
    return (uses + np.asarray(needed, dtype=np.float64)) * nonnegative("value", value)


def covered(worths: Floats, errand: Integers, errands: int, *, by: Coverage) -> Floats:
    """What each errand is worth, from what it is worth for each item that it looks at.

    Args:
        worths: one number for each pair of an item and an errand.
        errand: the number of that errand.
        errands: how many there are; one that looks at nothing is worth 0.
        by: whether the items add up.

    Raises:
        InvalidValue: there is no errand of this number.
    """
    if len(errand) and not 0 <= int(errand.min()) <= int(errand.max()) < errands:
        raise InvalidValue("errand", errand.tolist(), f"pass numbers from 0 to {errands - 1}")
    if by is Coverage.SUM:
        return np.bincount(errand, weights=worths, minlength=errands).astype(np.float64)
    best = np.zeros(errands)
    np.maximum.at(best, errand, worths)
    return best


def myopic(value: Numbers, *, used: Numbers, cost: Numbers) -> Floats:
    """What a look is worth over the next unit of time, per action.

    Raises:
        InvalidValue: something is negative, or the cost is not above 0.
    """
    return nonnegative("value", value) * nonnegative("used", used) / positive("cost", cost)


def closed_form(values: Floats, *, used: Numbers, cost: Numbers, due: bool = False) -> Floats:
    """Whittle's index at each age, where nothing but a paid look ever brings news.

    A look every n steps costs what was doubted in between, the sum of f over the ages below n, and
    its price. It is as good to wait one step more at the price n f(n) - sum of f(j) for j < n.

    Args:
        values: what a look is worth for one use, by age in steps along the last axis, from 0.
        used: uses per step.
        cost: actions of a look.
        due: whether a use is due in this step, which the look would serve as well.

    Raises:
        InvalidValue: something is negative, or the cost is not above 0.
    """
    values, cost = nonnegative("values", values), positive("cost", cost)
    doubted = values * within("used", used, 0.0, 1.0, "pass uses per step, at most 1")
    before = np.cumsum(doubted, axis=-1) - doubted
    age: Floats = np.arange(values.shape[-1], dtype=np.float64)
    waiting = np.maximum(age * doubted - before, 0.0)
    return (waiting + values if due else waiting) / cost
