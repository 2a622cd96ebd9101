"""The index that prices receipts in, and what no policy can do better than.

One atom at a time, in steps: its state is what was seen last and how many steps ago. In each step a
use may be due; then one either waits, and a free receipt may come, and serving shows what holds; or
one looks, which costs a price for each action. The index of a state is the highest price at which
looking is still best. All prices are solved at once, as average reward per step; between two prices
of the list the index is interpolated. A look brings every atom back to one of two states, so a
policy's value is two equations and not one for each state: policies are improved until none is
better, which is exact, and does not mind that looks at fixed intervals make a chain periodic.

The same gains bound every policy from above: what all atoms gain at a price, plus that price for
the actions that the budget allows (Lagrangian relaxation of the budget).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from lapse.errors import InvalidValue
from lapse.upkeep.beliefs import relaxed
from lapse.upkeep.numbers import Flags, Floats, Integers, chance, positive

if TYPE_CHECKING:
    from lapse.upkeep.beliefs import Rates
    from lapse.upkeep.values import Stakes

__all__ = ["Numeric", "Setting", "bound", "numeric", "stationary_value"]

_SETTLED: Final = 1e-9
"""Reward per step below which two actions are equally good; then one waits."""
_ROUNDS: Final = 100
"""Where improving gives up; it takes fewer than twenty."""
_FOUND_OUT: Final = 1e-6
"""The least chance of news in a step at the last age, so that every chain starts again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One atom, and the ways in which news of it comes.

    Attributes:
        rates: how it changes, per step; plain numbers.
        stakes: what one use is about; plain numbers.
        used: the chance of a use in a step.
        cost: actions of a look.
        en_route: the chance of a free receipt in a step; 0 closes that channel.
        use_receipts: whether serving shows what holds.
        on_file: whether both versions are remembered, so that either can be served.
        foreseen: whether one knows of a use before one decides whether to look.
    """

    rates: Rates
    stakes: Stakes
    used: float
    cost: float
    en_route: float = 0.0
    use_receipts: bool = True
    on_file: bool = True
    foreseen: bool = True

    def __post_init__(self) -> None:
        """Refuse what is no chance, and looks that cost nothing."""
        chance("used", self.used)
        chance("en_route", self.en_route)
        positive("cost", self.cost)


@dataclass(frozen=True, slots=True, eq=False)
class Numeric:
    """What value iteration found.

    Attributes:
        idle: the index where no use is due, by what was seen last (0, 1) and by age in steps.
        due: the index where one is.
        gains: the best average reward per step at each price.
        residual: how far the best policy found is from the equation of the best one, in reward per
            step and at worst: what the gains may be off by.
    """

    idle: Floats
    due: Floats
    gains: Floats
    residual: float


def numeric(setting: Setting, *, prices: Floats, ages: int) -> Numeric:
    """The index of every state of an atom.

    Args:
        setting: the atom.
        prices: of one action, rising from above 0; no index is found above the last.
        ages: how many ages are told apart; from the last on an atom does not grow older, so pass
            enough that its belief has settled by then, a few times 1 / kappa.

    Raises:
        InvalidValue: the prices do not rise, or there are fewer than two ages.
    """
    if not len(prices) or prices[0] <= 0 or (np.diff(prices) <= 0).any():
        raise InvalidValue("prices", prices.tolist(), "pass rising numbers above 0")
    if ages < _FEWEST:
        raise InvalidValue("ages", ages, f"pass {_FEWEST} or more")
    chain = _Chain.of(setting, prices, ages)
    looks = chain.nowhere()
    gains, values = chain.worth_of(looks)
    better, rounds = chain.improved(values), 1
    while rounds < _ROUNDS and not all(map(np.array_equal, looks, better)):
        looks = better
        gains, values = chain.worth_of(looks)
        better, rounds = chain.improved(values), rounds + 1
    residual = float(abs(chain.sweep(values) - values - gains[:, None, None]).max())
    idle, due = chain.advantages(values)
    return Numeric(_crossing(idle, prices), _crossing(due, prices), gains, residual)


_FEWEST: Final = 2


_Looks = tuple[Flags, Flags]
"""Where one looks, without a use due and with one: by price, what was seen last, and age."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """A setting as arrays: by price, what was seen last, and age."""

    setting: Setting
    moved: Floats
    blind: Floats
    sighted: Floats
    served: Floats
    free: Floats
    price: Floats
    older: Integers

    @classmethod
    def of(cls, setting: Setting, prices: Floats, ages: int) -> _Chain:
        stakes, age = setting.stakes, np.arange(ages)
        moved = relaxed(np.array([[0.0], [1.0]]), age.astype(np.float64), setting.rates)
        this = (1.0 - moved) * stakes.gain - moved * stakes.loss
        other = moved * stakes.gain - (1.0 - moved) * stakes.loss
        best = np.maximum(this, other) if setting.on_file else this
        right = np.ones_like(moved) if setting.on_file else 1.0 - moved
        free = np.full(ages, setting.en_route)
        free[-1] = max(setting.en_route, _FOUND_OUT)
        return cls(
            setting=setting,
            moved=moved,
            blind=np.maximum(best, 0.0),
            sighted=right * stakes.gain,
            served=np.where(best > 0, 1.0, 0.0) * setting.use_receipts,
            free=free,
            price=prices[:, None, None] * setting.cost,
            older=np.minimum(age + 1, ages - 1),
        )

    def nowhere(self) -> _Looks:
        """Never to look."""
        never = np.zeros((len(self.price), *self.moved.shape), dtype=np.bool_)
        return never, never

    def worth_of(self, looks: _Looks) -> tuple[Floats, Floats]:
        """The gain of a policy per step, and what each state is worth against having just seen 0.

        Age by age, from the last one down, a state is worth a constant, less so many steps of the
        gain, plus so much of having just seen 1; at age 1 two equations give the two.
        """
        used, free = self.setting.used, self.free
        idle, due = looks
        spent = self.price * ((1 - used) * idle + used * due)
        use = np.where(due, self.sighted, free * self.sighted + (1 - free) * self.blind)
        earned = used * use - spent
        shown = np.where(due, 1.0, free + (1 - free) * self.served)
        news = (1 - used) * np.where(idle, 1.0, free) + used * shown
        gone = np.broadcast_to(self.moved, news.shape)
        parts = np.empty((3, *news.shape))
        step = np.stack([earned, np.full_like(news, -1.0), news * gone])
        parts[..., -1] = step[..., -1] / news[..., -1]
        for age in range(news.shape[-1] - 2, -1, -1):
            parts[..., age] = step[..., age] + (1 - news[..., age]) * parts[..., age + 1]
        c0, d0, e0 = parts[0, :, 0, 1], parts[1, :, 0, 1], parts[2, :, 0, 1]
        c1, d1, e1 = parts[0, :, 1, 1], parts[1, :, 1, 1], parts[2, :, 1, 1]
        left = d0 * (e1 - 1.0) - d1 * e0
        gain = (c1 * e0 - c0 * (e1 - 1.0)) / left
        seen_1 = (c0 * d1 - c1 * d0) / left
        return gain, parts[0] + gain[:, None, None] * parts[1] + seen_1[:, None, None] * parts[2]

    def _actions(self, values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Waiting and looking without a use, then with one."""
        seen = (1.0 - self.moved) * values[:, :1, 1:2] + self.moved * values[:, 1:, 1:2]
        unseen, free = values[:, :, self.older], self.free
        wait = free * seen + (1.0 - free) * unseen
        shown = self.served * seen + (1.0 - self.served) * unseen
        use = free * (self.sighted + seen) + (1.0 - free) * (self.blind + shown)
        look = seen - self.price
        return wait, look, use, look + self.sighted

    def sweep(self, values: Floats) -> Floats:
        """One step of value iteration: at the best policy it adds the gain and nothing else."""
        wait, look, use, look_and_use = self._actions(values)
        used = self.setting.used
        if self.setting.foreseen:
            return (1 - used) * np.maximum(wait, look) + used * np.maximum(use, look_and_use)
        return np.maximum((1 - used) * wait + used * use, (1 - used) * look + used * look_and_use)

    def improved(self, values: Floats) -> _Looks:
        """Where looking is better than waiting, if all goes on as valued."""
        idle, due = self.advantages(values)
        return idle > _SETTLED, due > _SETTLED

    def advantages(self, values: Floats) -> tuple[Floats, Floats]:
        """How much better looking is than waiting, without a use and with one."""
        wait, look, use, look_and_use = self._actions(values)
        if self.setting.foreseen:
            return look - wait, look_and_use - use
        used = self.setting.used
        both = (1 - used) * (look - wait) + used * (look_and_use - use)
        return both, both


def _crossing(advantage: Floats, prices: Floats) -> Floats:
    """The price at which the advantage of looking is gone; the first axis is prices."""
    better = advantage > _SETTLED
    last = better.sum(axis=0) - 1  # a look that is best at a price is best at every lower one
    below = np.maximum(last, 0)
    above = np.minimum(below + 1, len(prices) - 1)
    here = np.take_along_axis(advantage, below[None], axis=0)[0]
    there = np.take_along_axis(advantage, above[None], axis=0)[0]
    part = np.divide(here, here - there, out=np.zeros_like(here), where=here > there)
    found = prices[below] + np.clip(part, 0.0, 1.0) * (prices[above] - prices[below])
    return np.where(last < 0, 0.0, found)


def bound(gains: Floats, prices: Floats, budget: float) -> tuple[float, float]:
    """What no policy gains more than per step, and the price of an action at that bound.

    It holds for atoms that are used and looked at independently, in the long run, and for any way
    of keeping to the budget on average or more strictly.

    Args:
        gains: average reward per step of all atoms together, at each price.
        prices: the prices.
        budget: actions per step.
    """
    total = gains + prices * budget
    best = int(total.argmin())
    return float(total[best]), float(prices[best])


def stationary_value(
    change: Floats,
    receipts: float,
    *,
    fresh: float,
    stale: Floats,
    discount: float = 0.9,
    step: float = 0.05,
) -> Floats:
    """What a fixed way of getting news is worth per unit of time (ERRAND, table B.2).

    A thing is fresh or stale. It becomes stale with every change and fresh with every receipt; two
    states, uniformised into steps, solved by value iteration and weighted by how long either lasts.

    Args:
        change: changes per unit of time, above 0.
        receipts: receipts per unit of time; without any it stays stale.
        fresh: reward per unit of time while fresh.
        stale: reward per unit of time while stale, less what the receipts cost meanwhile.
        discount: of a step; it cancels, and decides how long the iteration takes.
        step: how long a step is; no rate may exceed its inverse.

    Raises:
        InvalidValue: a rate is too high for the step, or a discount is not below 1.
    """
    change, stale = np.broadcast_arrays(positive("change", change), stale)
    leave, mend = chance("change", change * step), chance("receipts", receipts * step)
    if not 0 < discount < 1:
        raise InvalidValue("discount", discount, "pass a number above 0 and below 1")
    good, bad = np.zeros(change.shape), np.zeros(change.shape)
    moved = np.inf
    while moved > _SETTLED:
        better = fresh + discount * ((1 - leave) * good + leave * bad)
        worse = stale + discount * (mend * good + (1 - mend) * bad)
        moved = float(np.max(abs(np.append(better - good, worse - bad))))
        good, bad = better, worse
    lasting = mend / (mend + leave)
    return (1 - discount) * (lasting * good + (1 - lasting) * bad)
