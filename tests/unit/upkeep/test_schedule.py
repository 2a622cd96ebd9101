"""A schedule wakes what is due, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from lapse.errors import InvalidValue
from lapse.upkeep import Grounding, Rates, Schedule, Stakes, Watch, doubt, relaxed

A = Rates(0.006, 0.020)
STAKES = Stakes(0.508, 0.287)


def schedule(
    items: list[list[int]],
    *,
    rates: Rates = A,
    uses: float = 10.0,
    cost: float = 2.0,
    entry: float = 0.1,
    repairs: bool = False,
    on_file: float = 0.0,
) -> Schedule:
    """A schedule in which everything was seen to hold at time 0."""
    atoms = 1 + max(atom for item in items for atom in item)
    watch = Watch(
        grounding=Grounding.of(items),
        rates=rates,
        stakes=STAKES,
        uses=np.full(len(items), uses),
        cost=np.full(len(items), cost),
        repairs=repairs,
        on_file=on_file,
    )
    nothing = np.zeros(atoms)
    return Schedule(watch, seen=nothing, at=nothing, entry=entry, now=0.0, grain=0.25)


def one(number: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """An array of one number."""
    return np.array([number])


def test_an_item_wakes_when_its_doubt_clears_the_wage() -> None:
    plan = schedule([[0]])
    when = plan.upcoming
    assert 0 < when < np.inf
    assert float(doubt(relaxed(0.0, when, A), STAKES)) * 10.0 / 2.0 == pytest.approx(0.1)
    assert plan.due(when - 0.01).tolist() == []
    assert plan.due(when).tolist() == [0]
    assert plan.upcoming == when
    assert plan.due(when + 5).tolist() == [0]
    assert plan.stale(one(0))[0] == pytest.approx(float(relaxed(0.0, when + 5, A)))


def test_a_receipt_puts_it_to_sleep_for_as_long_again() -> None:
    plan = schedule([[0], [1]])
    first = plan.upcoming
    assert plan.due(first).tolist() == [0, 1]
    plan.observe(one(0), 0.0, now=first)
    assert plan.due(first).tolist() == [1]
    plan.observe(one(1), 0.0, now=first + 1)
    assert plan.upcoming == pytest.approx(2 * first)
    assert plan.due(2 * first + 0.5).tolist() == [0]
    assert plan.due(2 * first + 1.5).tolist() == [0, 1]


def test_what_is_planned_anew_for_later_holds_up_nobody() -> None:
    plan = schedule([[0], [1], *([atom] for atom in range(2, 40))])
    first = plan.upcoming
    plan.observe(one(0), 0.0, now=first / 2)
    plan.observe(one(0), 0.0, now=first / 2 + 1)
    assert 0 not in plan.due(first)
    assert len(plan.due(first)) == 39
    assert plan.due(1.5 * first + 0.5).tolist()[0] == 1
    assert 0 in plan.due(1.5 * first + 1.5)


def test_what_comes_next_is_told_after_receipts_as_before() -> None:
    plan = schedule([[atom] for atom in range(40)])
    first = plan.upcoming
    for time in (1.0, 2.0):
        plan.observe(one(0), 0.0, now=time)
    assert plan.upcoming == first
    for atom in range(1, 40):
        plan.observe(one(atom), 0.0, now=3.0)
    assert plan.upcoming == pytest.approx(first + 2.0)
    plan.need(one(0), 0.0, now=3.0)
    assert plan.upcoming == pytest.approx(first + 3.0)
    assert 0 not in plan.due(first + 3.0)


def test_a_receipt_about_one_atom_plans_all_items_on_it() -> None:
    plan = schedule([[0, 1], [1], [2]])
    assert plan.due(plan.upcoming).tolist() == [0]
    plan.observe(np.array([0, 1]), 0.0, now=20.0)
    assert plan.due(21.0).tolist() == [2]


def test_a_use_shows_an_item_as_a_whole() -> None:
    plan = schedule([[0, 1], [1]])
    when = plan.upcoming
    plan.used(0, holds=True, now=when)
    assert plan.stale(np.array([0, 1])).tolist() == [0.0, 0.0]
    plan.used(0, holds=False, now=2 * when)
    item, atom = plan.stale(np.array([0, 1]))
    assert 0.5 < atom < item < 1.0


def test_what_is_gone_is_worth_nothing_until_it_may_be_back() -> None:
    plan = schedule([[0]])
    plan.observe(one(0), 1.0, now=1.0)
    when = plan.upcoming
    assert 0 < when < np.inf
    assert plan.due(when - 0.01).tolist() == []
    assert plan.due(when).tolist() == [0]


def test_what_never_comes_back_is_never_looked_at_again() -> None:
    plan = schedule([[0]], rates=A.without_return())
    plan.observe(one(0), 1.0, now=1.0)
    assert plan.upcoming == np.inf
    assert plan.due(1e6).tolist() == []


def test_a_doubt_that_is_past_its_peak_goes_back_to_sleep() -> None:
    plan = schedule([[0]], rates=A.without_return())
    first = plan.upcoming
    assert plan.due(first).tolist() == [0]
    assert plan.due(2_000.0).tolist() == []
    assert plan.upcoming == np.inf


def test_with_repairs_what_is_gone_is_looked_for_until_the_other_version_is_on_file() -> None:
    for on_file, due in ((0.0, [0]), (1.0, [])):
        plan = schedule([[0]], rates=A.without_return(), repairs=True, on_file=on_file)
        assert plan.due(5.0).tolist() == [0]
        assert plan.due(5_000.0).tolist() == due


def test_an_item_on_several_atoms_wakes_when_all_of_it_is_doubted_enough() -> None:
    plan = schedule([[0, 1, 2]])
    when = plan.upcoming
    item = 1 - (1 - float(relaxed(0.0, when, A))) ** 3
    assert float(doubt(item, STAKES)) * 5.0 == pytest.approx(0.1)
    assert plan.due(when).tolist() == [0]


def test_atoms_that_move_in_opposite_ways_wake_an_item_late_by_a_grain_at_most() -> None:
    plan = schedule([[0, 1]], entry=0.4)
    plan.observe(np.array([0, 1]), np.array([0.15, 0.0]), now=1.0)
    plan.observe(one(1), 1.0, now=2.0)
    now, woken = 2.0, 0.0
    while not woken:
        now = max(plan.upcoming, now)
        woken = now if plan.due(now).tolist() else 0.0
    ages = np.arange(2.0, woken + 0.01, 0.01)
    both = 1 - (1 - relaxed(0.15, ages - 1, A)) * (1 - relaxed(1.0, ages - 2, A))
    first = ages[np.argmax(doubt(both, STAKES) * 5.0 >= 0.4)]
    assert first <= woken + 0.01
    assert woken <= first + 0.25


def test_a_wage_that_rises_lets_items_sleep_and_one_that_falls_wakes_them() -> None:
    plan = schedule([[0]])
    low = plan.upcoming
    plan.reprice(0.2, now=0.0)
    assert plan.due(low).tolist() == []
    high = plan.upcoming
    assert high > low
    plan.reprice(0.1, now=low)
    assert plan.due(low).tolist() == [0]
    plan.reprice(np.inf, now=low)
    assert plan.due(low).tolist() == []
    assert plan.upcoming == np.inf
    plan.reprice(0.2, now=low)
    assert plan.upcoming == pytest.approx(high)
    assert plan.due(high).tolist() == [0]


def test_what_is_needed_now_wakes_at_once_and_what_is_not_used_never() -> None:
    plan = schedule([[0]])
    plan.need(one(0), 1e6, now=1.0)
    assert plan.due(1.0).tolist() == [0]
    plan.need(one(0), 0.0, now=1.0)
    assert plan.upcoming == np.inf


def test_an_index_that_rounding_takes_is_asked_for_again_a_grain_later() -> None:
    plan = schedule([[0]], uses=10.0, entry=0.0)
    assert plan.due(0.0).tolist() == [0]
    assert plan.index(one(0)).tolist() == [0.0]


def test_atoms_that_never_change_are_never_due() -> None:
    plan = schedule([[0, 1], [1]], rates=Rates(0.0, 0.0))
    assert plan.upcoming == np.inf


def test_a_million_items_are_two_sorted_arrays() -> None:
    items = 1_000_000
    draw = np.random.default_rng(0)
    watch = Watch(
        grounding=Grounding.single(items),
        rates=Rates(draw.uniform(0.001, 0.01, items), draw.uniform(0.001, 0.01, items)),
        stakes=STAKES,
        uses=draw.uniform(0.0, 20.0, items),
        cost=draw.integers(1, 8, items).astype(np.float64),
    )
    nothing = np.zeros(items)
    plan = Schedule(watch, seen=nothing, at=nothing, entry=0.1, now=0.0, grain=1.0)
    now = plan.upcoming + 0.01
    due = plan.due(now)
    index = doubt(relaxed(0.0, now, watch.rates), STAKES) * watch.uses / watch.cost
    assert due.tolist() == np.flatnonzero(index >= 0.1 * (1 - 1e-9)).tolist()
    assert 0 < len(due) < items / 100
    plan.observe(due, 0.0, now=now)
    assert plan.due(now).tolist() == []


def test_bad_input_is_named() -> None:
    plan = schedule([[0]])
    plan.due(5.0)
    with pytest.raises(InvalidValue, match=r"now is 4\.0"):
        plan.due(4.0)
    with pytest.raises(InvalidValue, match="entry is -1"):
        plan.reprice(-1.0, now=5.0)
    with pytest.raises(InvalidValue, match="seen is 2"):
        plan.observe(one(0), 2.0, now=5.0)
    with pytest.raises(InvalidValue, match="uses is -1"):
        plan.need(one(0), -1.0, now=5.0)
    nothing = np.zeros(1)
    with pytest.raises(InvalidValue, match="uses is 2"):
        Watch(
            grounding=Grounding.single(1), rates=A, stakes=STAKES, uses=np.ones(2), cost=np.ones(1)
        )
    watch = Watch(
        grounding=Grounding.single(1), rates=A, stakes=STAKES, uses=np.ones(1), cost=np.ones(1)
    )
    with pytest.raises(InvalidValue, match=r"at is 1\.0"):
        Schedule(watch, seen=nothing, at=nothing + 1, entry=0.1, now=0.0, grain=1.0)
