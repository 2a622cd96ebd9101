"""Laws of belief and value: what must hold for any rates, ages and stakes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.upkeep import (
    Grounding,
    Rates,
    Stakes,
    doubt,
    noisy_value,
    partial_value,
    reading,
    regret,
    relaxed,
    until,
)

CHANCES = st.floats(0.0, 1.0)
AGES = st.floats(0.0, 1e4)
RATES = st.builds(Rates, st.floats(1e-6, 1.0), st.floats(1e-6, 1.0))
STAKES = st.builds(Stakes, st.floats(0.0, 10.0), st.floats(0.0, 10.0))


@given(CHANCES, RATES)
def test_a_receipt_resets_and_time_relaxes(seen: float, rates: Rates) -> None:
    assert float(relaxed(seen, 0.0, rates)) == seen
    assert float(relaxed(seen, 1e9, rates)) == pytest.approx(float(rates.suspicion))


@given(CHANCES, AGES, AGES, RATES)
def test_waiting_twice_is_waiting_once_for_as_long(
    seen: float, first: float, second: float, rates: Rates
) -> None:
    between = relaxed(seen, first, rates)
    twice = relaxed(between, second, rates)
    assert float(twice) == pytest.approx(float(relaxed(seen, first + second, rates)), abs=1e-9)


@given(CHANCES, AGES, RATES)
def test_a_belief_stays_between_what_was_seen_and_what_is_believed_in_the_end(
    seen: float, age: float, rates: Rates
) -> None:
    low, high = sorted((seen, float(rates.suspicion)))
    assert low - 1e-12 <= float(relaxed(seen, age, rates)) <= high + 1e-12


@given(CHANCES, AGES, RATES)
def test_what_one_version_loses_the_other_gains(seen: float, age: float, rates: Rates) -> None:
    other = relaxed(1.0 - seen, age, rates.reversed)
    assert float(other) == pytest.approx(1.0 - float(relaxed(seen, age, rates)), abs=1e-9)


@given(CHANCES, CHANCES, RATES)
def test_the_time_until_a_belief_is_the_time_at_which_it_is_held(
    seen: float, wanted: float, rates: Rates
) -> None:
    time = float(until(seen, wanted, rates))
    if time < np.inf:
        assert float(relaxed(seen, time, rates)) == pytest.approx(wanted, abs=1e-9)
    else:
        end = float(rates.suspicion)
        assert not min(seen, end) < wanted < max(seen, end)


@given(CHANCES, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_look_says_on_average_what_was_believed_before(
    belief: float, sensitivity: float, specificity: float
) -> None:
    quality = {"sensitivity": sensitivity, "specificity": specificity}
    says = belief * sensitivity + (1 - belief) * (1 - specificity)
    after = says * reading(belief, moved=True, **quality)
    after += (1 - says) * reading(belief, moved=False, **quality)
    assert float(after) == pytest.approx(belief, abs=1e-9)


@given(st.lists(st.floats(0.001, 1.0), min_size=3, max_size=3))
def test_news_of_an_item_says_on_average_what_was_believed_of_its_atoms(
    beliefs: list[float],
) -> None:
    item, held = Grounding.of([[0, 1, 2]]), np.array(beliefs)
    stale = item.stale(held)[0]
    after = stale * item.witnessed(0, held, holds=False)
    after += (1 - stale) * item.witnessed(0, held, holds=True)
    assert after.tolist() == pytest.approx(beliefs)


@given(STAKES, CHANCES)
def test_doubt_has_one_peak_where_serving_stops(stakes: Stakes, stale: float) -> None:
    peak = float(stakes.threshold)
    top = float(doubt(peak, stakes))
    assert float(doubt(stale, stakes)) <= top + 1e-12
    assert float(doubt(0.0, stakes)) == 0.0
    assert float(doubt(1.0, stakes)) == 0.0
    half = (stale + peak) / 2
    assert float(doubt(half, stakes)) >= float(doubt(stale, stakes)) - 1e-12


@given(STAKES, CHANCES, st.sampled_from((0.0, 1.0)))
def test_regret_is_no_less_than_doubt_where_the_item_is_served(
    stakes: Stakes, stale: float, on_file: float
) -> None:
    worth = float(regret(stale, stakes, on_file=on_file))
    assert worth >= -1e-12
    if not on_file:
        assert worth >= float(doubt(stale, stakes)) - 1e-12
    assert worth <= float(regret(stale, stakes)) + 1e-12


@given(STAKES, CHANCES, CHANCES, CHANCES)
def test_a_look_that_errs_is_never_worth_more_than_one_that_does_not(
    stakes: Stakes, stale: float, sensitivity: float, specificity: float
) -> None:
    worth = noisy_value(stale, stakes, sensitivity=sensitivity, specificity=specificity)
    assert 0.0 <= float(worth) <= float(doubt(stale, stakes)) + 1e-9


@given(
    st.lists(CHANCES, min_size=3, max_size=3),
    st.lists(st.booleans(), min_size=3, max_size=3),
    STAKES,
)
def test_looking_at_more_is_never_worth_less(
    beliefs: list[float], checked: list[bool], stakes: Stakes
) -> None:
    grounding, held = Grounding.of([[0, 1, 2], [0, 1], [2]]), np.array(beliefs)
    some = partial_value(grounding, held, np.array(checked), stakes)
    everything = partial_value(grounding, held, np.ones(3, dtype=bool), stakes)
    nothing = partial_value(grounding, held, np.zeros(3, dtype=bool), stakes)
    assert (some <= everything + 1e-9).all()
    assert everything.tolist() == pytest.approx(doubt(grounding.stale(held), stakes).tolist())
    assert nothing.tolist() == pytest.approx([0.0] * 3)
