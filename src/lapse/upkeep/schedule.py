"""Which items are worth a look by now, without looking at the others.

A belief moves one way only between two receipts, and what a look is worth has one peak. So an item
comes above the wage once, at a time that can be told in advance: in closed form for an item on one
atom, by bisection for one on several. A schedule keeps these times; asking it what is due touches
what is due, and a receipt the items that rest on the atom.

Rules:

1. `due` names every item whose index is at the entry or above it, and no other; what is of no use
   is never named.
2. Items on several atoms whose beliefs move in opposite ways are woken by a bound that may be too
   early; one that was woken in vain is not woken again before a `grain` of time has passed, so it
   may be named late by as much.
3. A wage that rises costs nothing; one that falls plans those items anew that were planned at a
   higher one. A band in the wage keeps this rare.
4. Time does not run backwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

import numpy as np

from lapse.errors import InvalidValue
from lapse.upkeep.beliefs import Grounding, Rates, relaxed, until
from lapse.upkeep.numbers import Flags, Floats, Integers, Numbers, chance, nonnegative, positive
from lapse.upkeep.values import Stakes, doubt, doubt_band, regret, regret_band

__all__ = ["Schedule", "Watch"]

_NEAR: Final = 1e-9
"""By what share an index may lie below the entry and still count: what rounding may take."""
_DOUBLINGS: Final = 64
"""How often a time is doubled until it lies beyond a crossing; then there is none."""
_HALVINGS: Final = 48
"""How often it is then halved: as far as the digits of a time go."""
_MANY: Final = 8
"""The part of all items, one in so many, beyond which the order is made anew at once."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Watch:
    """The items of a schedule, as arrays.

    Attributes:
        grounding: which atoms each item rests on.
        rates: how each atom changes.
        stakes: what one use of each item is about.
        uses: for how many uses a resolved doubt about each item is good: used times lasting, plus
            what is due now.
        cost: actions of a look at each item.
        repairs: whether a look is worth what `regret` says, or what `doubt` says.
        on_file: for `regret`: whether the other version of each item is remembered.
    """

    grounding: Grounding
    rates: Rates
    stakes: Stakes
    uses: Floats
    cost: Floats
    repairs: bool = False
    on_file: Numbers | Flags = 0.0

    def __post_init__(self) -> None:
        """Refuse negative uses, looks that cost nothing, and arrays of another length."""
        nonnegative("uses", self.uses)
        positive("cost", self.cost)
        for name in ("uses", "cost"):
            length = len(getattr(self, name))
            if length != len(self.grounding):
                remedy = f"pass one number for each of {len(self.grounding)} items"
                raise InvalidValue(name, length, remedy)


class Schedule:
    """When each item comes above the wage; single-owner, not thread-safe.

    Args:
        watch: the items; its arrays are copied where the schedule changes them.
        seen: what was last seen of each atom: 0, 1, or a chance between them.
        at: when.
        entry: the index from which a look is bought, as `Wage.entry` has it.
        now: the time.
        grain: how much later than that an item on several atoms may be named, above 0.

    Raises:
        InvalidValue: something was seen after `now`, or is no chance.
    """

    __slots__ = (
        "_at",
        "_awake",
        "_base",
        "_entry",
        "_grain",
        "_heap",
        "_next",
        "_now",
        "_on",
        "_on_starts",
        "_priced",
        "_seen",
        "_times",
        "_uses",
        "_watch",
        "_when",
    )

    def __init__(
        self, watch: Watch, *, seen: Floats, at: Floats, entry: float, now: float, grain: float
    ) -> None:
        if len(at) and float(at.max()) > now:
            raise InvalidValue("at", float(at.max()), f"pass times up to now, {now}")
        items, atoms = len(watch.grounding), len(seen)
        self._watch, self._now = watch, now
        self._grain, self._entry = float(positive("grain", grain)), _price(entry)
        self._seen, self._at = chance("seen", seen).copy(), at.astype(np.float64)
        self._uses = watch.uses.astype(np.float64)
        self._when, self._priced = np.full(items, np.inf), np.full(items, np.inf)
        self._awake = np.zeros(0, dtype=np.int64)
        self._heap: list[tuple[float, int]] = []
        self._base, self._times, self._next = np.zeros(0, dtype=np.int64), np.zeros(0), 0
        owners = np.repeat(np.arange(items), watch.grounding.sizes)
        self._on = owners[np.argsort(watch.grounding.atoms, kind="stable")]
        counts = np.bincount(watch.grounding.atoms, minlength=atoms)
        self._on_starts = np.concatenate([[0], np.cumsum(counts)])
        self._plan(np.arange(items))

    @property
    def upcoming(self) -> float:
        """When to ask next what is due; infinity if nothing ever will be, now if something is."""
        if len(self._awake):
            return self._now
        while self._next < len(self._base) and not self._stands(self._next):
            self._next += 1
        while self._heap and self._when[self._heap[0][1]] != self._heap[0][0]:
            heappop(self._heap)
        first = self._times[self._next] if self._next < len(self._base) else np.inf
        return float(min(first, self._heap[0][0] if self._heap else np.inf))

    def due(self, now: float) -> Integers:
        """The items whose index is at the entry or above it, by number.

        Raises:
            InvalidValue: `now` lies before what the schedule has seen.
        """
        self._pass(now)
        woken = self._woken(now)
        asked = np.union1d(self._awake, woken)
        clears = self.index(asked) >= self._entry * (1.0 - _NEAR)
        self._awake = asked[clears]
        self._when[self._awake] = np.inf
        self._plan(asked[~clears], in_vain=True)
        return self._awake.copy()

    def stale(self, items: Integers) -> Floats:
        """The chance that each of some items does not hold, at the time last asked about."""
        some = self._watch.grounding.only(items)
        return some.together(self._believed(some.atoms, self._now))

    def index(self, items: Integers) -> Floats:
        """What a look at each of some items is worth for an action, at the same time."""
        watch, stale = self._watch, self.stale(items)
        stakes = _of(watch.stakes, items)
        if watch.repairs:
            value = regret(stale, stakes, on_file=_pick(watch.on_file, items))
        else:
            value = doubt(stale, stakes)
        return value * self._uses[items] / watch.cost[items]

    def observe(self, atoms: Integers, seen: Numbers, *, now: float) -> None:
        """Take in receipts about some atoms: one number, or one for each.

        Raises:
            InvalidValue: what was seen is no chance, or `now` lies in the past.
        """
        said = chance("seen", seen)
        self._pass(now)
        self._seen[atoms], self._at[atoms] = said, now
        starts, ends = self._on_starts[atoms], self._on_starts[atoms + 1]
        places = [self._on[start:end] for start, end in zip(starts, ends, strict=True)]
        self._again(np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *places])))

    def used(self, item: int, *, holds: bool, now: float) -> None:
        """Take in what a use of an item has shown of it as a whole, as `Grounding.witnessed` says.

        Raises:
            InvalidValue: `now` lies in the past.
        """
        self._pass(now)
        atoms = self._watch.grounding.only(np.array([item])).atoms
        alone = Grounding.of([range(len(atoms))])
        after = alone.witnessed(0, self._believed(atoms, now), holds=holds)
        self.observe(atoms, after, now=now)

    def need(self, items: Integers, uses: Numbers, *, now: float) -> None:
        """Change for how many uses a resolved doubt about some items is good.

        Raises:
            InvalidValue: it is negative, or `now` lies in the past.
        """
        wanted = nonnegative("uses", uses)
        self._pass(now)
        self._uses[items] = wanted
        self._again(items)

    def reprice(self, entry: float, *, now: float) -> None:
        """Change the index from which a look is bought.

        Raises:
            InvalidValue: it is negative, or `now` lies in the past.
        """
        self._entry = _price(entry)
        self._pass(now)
        self._again(np.flatnonzero(self._priced > self._entry))

    # -- times --------------------------------------------------------------------------------

    def _pass(self, now: float) -> None:
        if not now >= self._now:
            raise InvalidValue("now", now, f"pass a time from {self._now} on")
        self._now = now

    def _again(self, items: Integers) -> None:
        """Plan items anew that may be awake."""
        self._awake = np.setdiff1d(self._awake, items)
        self._plan(items)

    def _plan(self, items: Integers, *, in_vain: bool = False) -> None:
        """Set the times of some items, and put them in their order."""
        when = self._now + self._crossings(items)
        if in_vain:
            bounded = (self._watch.grounding.sizes_of(items) > 1) | (when == self._now)
            when = np.where(bounded, np.maximum(when, self._now + self._grain), when)
        self._when[items], self._priced[items] = when, self._entry
        if len(items) * _MANY > len(self._when):
            finite = np.flatnonzero(np.isfinite(self._when))
            self._base = finite[np.argsort(self._when[finite], kind="stable")]
            self._times, self._next, self._heap = self._when[self._base], 0, []
            return
        for time, item in zip(when.tolist(), items.tolist(), strict=True):
            if time < np.inf:
                heappush(self._heap, (time, item))

    def _stands(self, place: int) -> bool:
        """Whether an item in the order still has the time it had when the order was made."""
        return bool(self._when[self._base[place]] == self._times[place])

    def _woken(self, now: float) -> Integers:
        """The items whose time has come; what was planned anew since is passed over."""
        end = int(np.searchsorted(self._times, now, side="right"))
        items, times = self._base[self._next : end], self._times[self._next : end]
        self._next = max(self._next, end)
        woken: list[int] = items[self._when[items] == times].tolist()
        while self._heap and self._heap[0][0] <= now:
            time, item = heappop(self._heap)
            if self._when[item] == time:
                woken.append(item)
        return np.unique(np.array(woken, dtype=np.int64))

    def _crossings(self, items: Integers) -> Floats:
        """How long until each of some items comes above the entry; infinity for never."""
        watch = self._watch
        cost, uses = watch.cost[items], self._uses[items]
        with np.errstate(over="ignore"):  # for next to no use, more than any number: infinity
            each = np.divide(cost, uses, out=np.full(len(items), np.inf), where=uses > 0)
            entry = self._entry * (1.0 - _NEAR / 2)
            needed = np.multiply(entry, each, out=each.copy(), where=np.isfinite(each))
        stakes = _of(watch.stakes, items)
        if watch.repairs:
            low, high = regret_band(needed, stakes, on_file=_pick(watch.on_file, items))
        else:
            low, high = doubt_band(needed, stakes)
        found, possible = np.full(len(items), np.inf), low <= 1.0
        alone = watch.grounding.sizes_of(items) == 1
        for chosen, crossing in (
            (np.flatnonzero(possible & alone), self._of_one),
            (np.flatnonzero(possible & ~alone), self._of_several),
        ):
            if len(chosen):
                some = watch.grounding.only(items[chosen])
                found[chosen] = crossing(some, low[chosen], high[chosen])
        return found

    def _of_one(self, some: Grounding, low: Floats, high: Floats) -> Floats:
        """In closed form."""
        believed = self._believed(some.atoms, self._now)
        wanted = np.clip(believed, low, high)
        return until(believed, wanted, _rates(self._watch.rates, some.atoms))

    def _of_several(self, some: Grounding, low: Floats, high: Floats) -> Floats:
        """By bisection on a bound that moves one way: no atom goes back on the way to the band."""
        start = self._believed(some.atoms, self._now)
        stale = some.together(start)
        wanted = np.clip(stale, low, high)
        rising = np.where(np.repeat(stale < wanted, some.sizes), 1.0, -1.0)
        rates = _rates(self._watch.rates, some.atoms)

        def there(after: Floats) -> Flags:
            moved = relaxed(start, np.repeat(after, some.sizes), rates)
            bound = np.where(rising * (moved - start) > 0, moved, start)
            reached = some.together(bound)
            return np.where(stale < wanted, reached >= wanted, reached <= wanted)

        fastest = np.maximum.reduceat(rates.total, some.starts)
        late = np.divide(1.0, fastest, out=np.ones(len(fastest)), where=fastest > 0)
        for _ in range(_DOUBLINGS):
            late = np.where(there(late), late, 2.0 * late)
        never, early = ~there(late), np.zeros(len(late))
        for _ in range(_HALVINGS):
            middle = (early + late) / 2
            reached = there(middle)
            early, late = np.where(reached, early, middle), np.where(reached, middle, late)
        return np.where(stale == wanted, 0.0, np.where(never, np.inf, late))

    def _believed(self, atoms: Integers, now: float) -> Floats:
        age = now - self._at[atoms]
        return relaxed(self._seen[atoms], age, _rates(self._watch.rates, atoms))


def _pick(values: Numbers | Flags, places: Integers) -> Floats:
    """Those of some places, or the one number that holds for all."""
    array = np.asarray(values, dtype=np.float64)
    return array[places] if array.ndim else np.full(len(places), float(array))


def _rates(rates: Rates, atoms: Integers) -> Rates:
    return Rates(_pick(rates.out, atoms), _pick(rates.back, atoms))


def _of(stakes: Stakes, items: Integers) -> Stakes:
    return Stakes(_pick(stakes.gain, items), _pick(stakes.loss, items))


def _price(entry: float) -> float:
    if not entry >= 0:
        raise InvalidValue("entry", entry, "pass 0 or more; infinity buys nothing")
    return entry
