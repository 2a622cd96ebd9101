"""How likely it is that something remembered no longer holds, when nobody has said anything.

The smallest thing that can move on its own is an *atom*: a price, a path, a flag. It is in one of
two regimes, the one in which it was remembered (0) or another one (1), and it leaves and comes back
at constant rates. A receipt says which, and from there the belief relaxes towards what the rates
alone say (ERRAND, table B.1 for the symbols). An item rests on one or more atoms and holds while
all of them do.

Everything is per unit of time: any unit, as long as rates and ages use the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lapse.errors import InvalidValue
from lapse.upkeep.numbers import Flags, Floats, Integers, Numbers, chance, nonnegative

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Grounding", "Rates", "reading", "relaxed", "until"]


@dataclass(frozen=True, slots=True)
class Rates:
    """How often atoms leave the regime in which they were remembered, and how often they come back.

    Attributes:
        out: changes away from it per unit of time, lambda; one number, or one for each atom.
        back: returns to it per unit of time, mu. With 0 nothing ever comes back, and what was once
            seen to be gone is never worth a look again.
    """

    out: Numbers
    back: Numbers

    def __post_init__(self) -> None:
        """Refuse negative rates."""
        nonnegative("out", self.out)
        nonnegative("back", self.back)

    @property
    def total(self) -> Floats:
        """Changes of either kind per unit of time, kappa."""
        return np.add(self.out, self.back)

    @property
    def suspicion(self) -> Floats:
        """How likely regime 1 is when nobody has looked for ever; 0 for what never changes."""
        total = self.total
        return np.divide(self.out, total, out=np.zeros_like(total), where=total > 0)

    @property
    def reversed(self) -> Rates:
        """The same atom seen from the other regime, for when its version is the one served."""
        return Rates(self.back, self.out)

    def without_return(self) -> Rates:
        """The same rates in a world that never comes back."""
        return Rates(self.out, np.zeros_like(np.asarray(self.back, dtype=np.float64)))


def relaxed(seen: Numbers, age: Numbers, rates: Rates) -> Floats:
    """The chance that an atom is in regime 1, some time after it was looked at.

    Args:
        seen: what was seen: 0 or 1, or a chance between them after a look that may err.
        age: the time since then.
        rates: how the atom changes.

    Raises:
        InvalidValue: `seen` is no chance, or an age is negative.
    """
    seen, age = chance("seen", seen), nonnegative("age", age)
    passed = rates.total * age
    held = seen * np.exp(-passed) - rates.suspicion * np.expm1(-passed)
    return np.clip(held, 0.0, 1.0)  # the last digit may fall outside


def until(seen: Numbers, wanted: Numbers, rates: Rates) -> Floats:
    """How long after a look the belief is `wanted`; infinity if it never is.

    A belief moves one way only between two looks, so there is at most one such time.

    Args:
        seen: as for `relaxed`.
        wanted: a chance; a wanted belief that is there from the beginning takes no time.
        rates: how the atom changes.

    Raises:
        InvalidValue: `seen` or `wanted` is no chance.
    """
    seen, wanted = chance("seen", seen), chance("wanted", wanted)
    suspicion, total = rates.suspicion, rates.total
    left, all_of_it = wanted - suspicion, seen - suspicion
    # Where the two differ by less than a float can tell from here, no time passes in between.
    on_the_way = (
        (np.sign(left) * np.sign(all_of_it) > 0) & (abs(left) <= abs(all_of_it)) & (total > 0)
    )
    left, all_of_it, total = np.broadcast_arrays(left, all_of_it, total)
    ratio = np.divide(left, all_of_it, out=np.ones(left.shape), where=on_the_way)
    time = np.divide(-np.log(ratio) + 0.0, total, out=np.full(left.shape, np.inf), where=on_the_way)
    return np.where(seen == wanted, 0.0, time)


def reading(belief: Numbers, *, moved: bool, sensitivity: Numbers, specificity: Numbers) -> Floats:
    """The belief after a look that may err.

    Args:
        belief: the chance of regime 1 before.
        moved: whether the look says that it is regime 1.
        sensitivity: how often it says so in regime 1.
        specificity: how often it says the opposite in regime 0.

    Raises:
        InvalidValue: one of them is no chance.
    """
    belief = chance("belief", belief)
    sensitivity = chance("sensitivity", sensitivity)
    specificity = chance("specificity", specificity)
    there = belief * (sensitivity if moved else 1.0 - sensitivity)
    not_there = (1.0 - belief) * (1.0 - specificity if moved else specificity)
    either = there + not_there
    belief, either = np.broadcast_arrays(belief, either)
    # What could not have been read teaches nothing.
    return np.divide(there, either, out=belief.copy(), where=either > 0)


@dataclass(frozen=True, slots=True, eq=False)
class Grounding:
    """Which atoms each item rests on, laid out flat so that a million items are two arrays.

    Attributes:
        atoms: the atoms of the first item, then those of the second, and so on.
        starts: where each item begins in `atoms`; rising, so no item is without an atom.
    """

    atoms: Integers
    starts: Integers

    def __post_init__(self) -> None:
        """Refuse items that rest on nothing."""
        ends = np.append(self.starts[1:], len(self.atoms))
        if len(self.starts) and (self.starts[0] != 0 or (ends <= self.starts).any()):
            remedy = "begin at 0 and rise: each item rests on at least one atom"
            raise InvalidValue("starts", self.starts.tolist(), remedy)
        if len(self.atoms) and self.atoms.min() < 0:
            raise InvalidValue("atoms", int(self.atoms.min()), "count atoms from 0")

    @classmethod
    def of(cls, items: Sequence[Sequence[int]]) -> Grounding:
        """From the atoms of each item.

        Raises:
            InvalidValue: an item has none.
        """
        if not all(items):
            raise InvalidValue("items", items, "name at least one atom for each item")
        flat = [atom for item in items for atom in item]
        sizes = np.array([0, *(len(item) for item in items[:-1])][: len(items)], dtype=np.int64)
        return cls(np.array(flat, dtype=np.int64), np.cumsum(sizes))

    @classmethod
    def single(cls, items: int) -> Grounding:
        """Each item rests on the atom of its own number."""
        return cls(np.arange(items), np.arange(items))

    def __len__(self) -> int:
        """How many items."""
        return len(self.starts)

    @property
    def sizes(self) -> Integers:
        """How many atoms each item rests on."""
        return np.diff(self.starts, append=len(self.atoms))

    def sizes_of(self, items: Integers) -> Integers:
        """How many atoms each of some items rests on; the others cost nothing."""
        last = items + 1 == len(self)
        ends = np.where(last, len(self.atoms), self.starts[np.where(last, 0, items + 1)])
        return ends - self.starts[items]

    def only(self, items: Integers) -> Grounding:
        """The grounding of some items, in the order given; atoms keep their numbers."""
        sizes = self.sizes_of(items)
        starts = np.cumsum(sizes) - sizes
        places: Integers = np.arange(int(sizes.sum()))
        places += np.repeat(self.starts[items] - starts, sizes)
        return Grounding(self.atoms[places], starts)

    def stale(self, beliefs: Floats, among: Flags | None = None) -> Floats:
        """The chance that an item does not hold, for each item.

        Args:
            beliefs: the chance of regime 1 of each atom; atoms move independently.
            among: for each atom, whether it counts; the others are taken to hold. All, if left out.

        Raises:
            InvalidValue: a belief is no chance.
        """
        believed = chance("beliefs", beliefs)
        if among is not None:
            believed = np.where(among, believed, 0.0)
        return self.together(believed[self.atoms])

    def together(self, believed: Floats) -> Floats:
        """As `stale`, from one belief for each place in `atoms`."""
        if not len(self):
            return np.zeros(0)
        with np.errstate(divide="ignore"):  # what is known to be gone
            holding = np.log1p(-believed)
        return -np.expm1(np.add.reduceat(holding, self.starts))  # a small chance keeps its digits

    def witnessed(self, item: int, beliefs: Floats, *, holds: bool) -> Floats:
        """The beliefs about an item's atoms after it was seen as a whole, in the order of `atoms`.

        An item that holds clears all its atoms. One that does not blames each by what was believed
        of it: exact for each atom, though what is then known of two together is more than that. So
        a cause that several items share is an atom of its own that all of them rest on, and news
        about one item says something about the others.

        Args:
            item: its number.
            beliefs: the chance of regime 1 of each atom before.
            holds: what was seen.

        Raises:
            InvalidValue: a belief is no chance.
        """
        one = self.only(np.array([item]))
        believed = chance("beliefs", beliefs)[one.atoms]
        if holds:
            return np.zeros(len(believed))
        stale = one.together(believed)
        # Where it could not have happened, nobody is more to blame than another.
        return np.divide(believed, stale, out=np.ones(len(believed)), where=stale > 0)
