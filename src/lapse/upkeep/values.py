"""What a doubt costs, and so what it would be worth to have it resolved.

Serving a thing that holds gains something against doing without it; serving a thing that does not
hold loses something. Between certainty in one direction and in the other lies a single peak, where
serving and not serving are equally good: there a look is worth most, and at both ends nothing.

`doubt` is the source's form. `regret` also counts what a repair brings: when a look finds the thing
gone it finds what is there instead, so a thing that is known to be gone is worth a look as well
until the other version is on file (docs/decisions/0096).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lapse.upkeep.beliefs import reading
from lapse.upkeep.numbers import Flags, Floats, Numbers, chance, nonnegative

if TYPE_CHECKING:
    from lapse.upkeep.beliefs import Grounding

__all__ = [
    "Stakes",
    "doubt",
    "doubt_band",
    "noisy_value",
    "partial_value",
    "regret",
    "regret_band",
]


@dataclass(frozen=True, slots=True)
class Stakes:
    """What one use of an item is about, in any unit of reward.

    Attributes:
        gain: what serving it brings while it holds, against doing without: g.
        loss: what serving it costs when it does not hold, against doing without: l.
    """

    gain: Numbers
    loss: Numbers

    def __post_init__(self) -> None:
        """Refuse negative stakes."""
        nonnegative("gain", self.gain)
        nonnegative("loss", self.loss)

    @property
    def threshold(self) -> Floats:
        """The staleness up to which it is served: g / (g + l), or 1 where nothing is at stake."""
        both = np.add(self.gain, self.loss)
        return np.divide(self.gain, both, out=np.ones_like(both), where=both > 0)

    def serves(self, stale: Numbers) -> Flags:
        """Whether serving is at least as good as doing without, at this chance of staleness."""
        stale = chance("stale", stale)
        return np.asarray((1.0 - stale) * self.gain >= stale * self.loss)


def doubt(stale: Numbers, stakes: Stakes) -> Floats:
    """What a perfect look is worth for one use: min(q l, (1 - q) g).

    Args:
        stale: the chance that the item does not hold.
        stakes: what one use is about.

    Raises:
        InvalidValue: `stale` is no chance.
    """
    stale = chance("stale", stale)
    return np.minimum(stale * stakes.loss, (1.0 - stale) * stakes.gain)


def regret(stale: Numbers, stakes: Stakes, *, on_file: Numbers | Flags = 0.0) -> Floats:
    """What a perfect look and the repair that follows it are worth for one use.

    Afterwards the version that holds is served, whichever it is; before, the best of three is done:
    serve what is remembered, serve the other version if there is one, or neither.

    Args:
        stale: the chance that the item does not hold.
        stakes: what one use is about, the same for both versions.
        on_file: whether the version that holds otherwise is remembered, too.

    Raises:
        InvalidValue: `stale` is no chance.
    """
    stale = chance("stale", stale)
    this = (1.0 - stale) * stakes.gain - stale * stakes.loss
    other = np.where(on_file, stale * stakes.gain - (1.0 - stale) * stakes.loss, 0.0)
    return np.asarray(stakes.gain) - np.maximum(0.0, np.maximum(this, other))


def doubt_band(needed: Numbers, stakes: Stakes) -> tuple[Floats, Floats]:
    """Between which beliefs `doubt` is at least `needed`; the lower is above 1 where it never is.

    Args:
        needed: what a look has to be worth for one use; infinity is never reached.
        stakes: what one use is about.
    """
    low, high = _share(needed, stakes.loss), 1.0 - _share(needed, stakes.gain)
    return np.where(low <= high, low, np.inf), high


def regret_band(
    needed: Numbers, stakes: Stakes, *, on_file: Numbers | Flags = 0.0
) -> tuple[Floats, Floats]:
    """Between which beliefs `regret` is at least `needed`; the lower is above 1 where it never is.

    Args:
        needed: what a look has to be worth for one use; infinity is never reached.
        stakes: what one use is about.
        on_file: whether the version that holds otherwise is remembered, too.
    """
    low = _share(needed, np.add(stakes.gain, stakes.loss))
    high = np.where(on_file, 1.0 - low, 1.0)
    reached = (low <= high) & (np.asarray(needed) <= stakes.gain)
    return np.where(reached, low, np.inf), high


def _share(part: Numbers, whole: Numbers) -> Floats:
    """A part of a whole; infinite where there is no whole."""
    part, whole = np.broadcast_arrays(np.asarray(part, dtype=np.float64), whole)
    with np.errstate(over="ignore"):  # of next to nothing, more than any number: infinity
        return np.divide(part, whole, out=np.full(part.shape, np.inf), where=whole > 0)


def noisy_value(
    stale: Numbers, stakes: Stakes, *, sensitivity: Numbers, specificity: Numbers
) -> Floats:
    """What a look that may err is worth for one use: the doubt before, less what will be left.

    Args:
        stale: the chance that the item does not hold.
        stakes: what one use is about.
        sensitivity: how often the look says "gone" of what is gone.
        specificity: how often it says "holds" of what holds.

    Raises:
        InvalidValue: one of them is no chance.
    """
    stale = chance("stale", stale)
    says_gone = stale * sensitivity + (1.0 - stale) * (1.0 - np.asarray(specificity))
    gone = reading(stale, moved=True, sensitivity=sensitivity, specificity=specificity)
    holds = reading(stale, moved=False, sensitivity=sensitivity, specificity=specificity)
    left = says_gone * doubt(gone, stakes) + (1.0 - says_gone) * doubt(holds, stakes)
    return np.maximum(doubt(stale, stakes) - left, 0.0)


def partial_value(grounding: Grounding, beliefs: Floats, checked: Flags, stakes: Stakes) -> Floats:
    """What looking at some of the atoms is worth for one use, for each item.

    If all that is looked at holds, the doubt about the rest remains; if any of it is gone, the item
    is known not to hold and there is none.

    Args:
        grounding: what each item rests on.
        beliefs: the chance of regime 1 of each atom.
        checked: for each atom, whether it is looked at.
        stakes: what one use of each item is about.

    Raises:
        InvalidValue: a belief is no chance.
    """
    holds = 1.0 - grounding.stale(beliefs, checked)
    rest = grounding.stale(beliefs, ~checked)
    before = doubt(grounding.stale(beliefs), stakes)
    return np.maximum(before - holds * doubt(rest, stakes), 0.0)
