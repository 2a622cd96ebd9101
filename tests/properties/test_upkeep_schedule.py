"""A schedule names what asking every item at every time would name."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lapse.upkeep import (
    Floats,
    Grounding,
    Rates,
    Schedule,
    Stakes,
    Watch,
    doubt,
    doubt_band,
    regret,
    regret_band,
    relaxed,
)

ATOMS = 4
RATE = st.floats(0.001, 0.2)
FOUR = st.lists(RATE, min_size=ATOMS, max_size=ATOMS)
RATES = st.tuples(FOUR, FOUR)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["look", "see", "price", "need"]),
        st.floats(0.0, 20.0),
        st.integers(0, ATOMS - 1),
        st.floats(0.0, 1.0),
    ),
    max_size=12,
)
ENTRY = st.floats(0.01, 1.0)
SINGLE = [[0], [1], [2], [3]]
MIXED = [[0], [0, 1], [1, 2, 3], [3]]


class Everything:
    """The same as a schedule, asking everything every time."""

    def __init__(self, items: list[list[int]], rates: Rates, entry: float) -> None:
        self.grounding, self.rates, self.entry = Grounding.of(items), rates, entry
        self.seen, self.at = np.zeros(ATOMS), np.zeros(ATOMS)
        self.uses = np.full(len(items), 5.0)

    def index(self, now: float) -> Floats:
        stale = self.grounding.stale(relaxed(self.seen, now - self.at, self.rates))
        return doubt(stale, Stakes(0.6, 0.4)) * self.uses / 2.0


def both(items: list[list[int]], rates: Rates, entry: float) -> tuple[Schedule, Everything]:
    """A schedule, and what it is compared with."""
    watch = Watch(
        grounding=Grounding.of(items),
        rates=rates,
        stakes=Stakes(0.6, 0.4),
        uses=np.full(len(items), 5.0),
        cost=np.full(len(items), 2.0),
    )
    nothing = np.zeros(ATOMS)
    plan = Schedule(watch, seen=nothing, at=nothing, entry=entry, now=0.0, grain=1e-3)
    return plan, Everything(items, rates, entry)


def happens(
    plan: Schedule, all_of_it: Everything, event: tuple[str, float, int, float], now: float
) -> None:
    """The same to both."""
    kind, _, place, value = event
    which = np.array([place])
    if kind == "see":
        plan.observe(which, value, now=now)
        all_of_it.seen[place], all_of_it.at[place] = value, now
    elif kind == "price":
        plan.reprice(value + 0.01, now=now)
        all_of_it.entry = value + 0.01
    elif kind == "need":
        plan.need(which, 10.0 * value, now=now)
        all_of_it.uses[place] = 10.0 * value


@given(RATES, ENTRY, EVENTS)
def test_items_on_one_atom_are_named_exactly(
    rates: tuple[list[float], list[float]],
    entry: float,
    events: list[tuple[str, float, int, float]],
) -> None:
    plan, all_of_it = both(SINGLE, Rates(*map(np.array, rates)), entry)
    now = 0.0
    for event in events:
        now += event[1]
        happens(plan, all_of_it, event, now)
        due, index = set(plan.due(now).tolist()), all_of_it.index(now)
        assert due >= set(np.flatnonzero(index > all_of_it.entry * (1 + 1e-8)).tolist())
        assert due <= set(np.flatnonzero(index > all_of_it.entry * (1 - 1e-8)).tolist())
        assert plan.upcoming >= now


@settings(max_examples=25)
@given(RATES, ENTRY, EVENTS)
def test_items_on_several_atoms_are_never_named_in_vain_and_late_by_a_grain_at_most(
    rates: tuple[list[float], list[float]],
    entry: float,
    events: list[tuple[str, float, int, float]],
) -> None:
    plan, all_of_it = both(MIXED, Rates(*map(np.array, rates)), entry)
    now = 0.0
    for event in events:
        now += event[1]
        happens(plan, all_of_it, event, now)
        due = set(plan.due(now).tolist())
        assert due <= set(np.flatnonzero(all_of_it.index(now) > all_of_it.entry * 0.999999))
        now += 2e-3  # past the grain, in which an index moves by less than is asked for below
        clear = set(np.flatnonzero(all_of_it.index(now) > all_of_it.entry * 1.01 + 0.01))
        assert set(plan.due(now).tolist()) >= clear


@given(
    st.floats(0.0, 2.0),
    st.builds(Stakes, st.floats(0.0, 2.0), st.floats(0.0, 2.0)),
    st.floats(0, 1),
)
def test_a_band_holds_the_beliefs_at_which_a_look_is_worth_so_much(
    needed: float, stakes: Stakes, stale: float
) -> None:
    for on_file in (None, 0.0, 1.0):
        if on_file is None:
            value, (low, high) = doubt(stale, stakes), doubt_band(needed, stakes)
        else:
            value = regret(stale, stakes, on_file=on_file)
            low, high = regret_band(needed, stakes, on_file=on_file)
        if low + 1e-9 < stale < high - 1e-9:
            assert float(value) >= needed - 1e-9
        if not low - 1e-9 <= stale <= high + 1e-9:
            assert float(value) <= needed + 1e-9
