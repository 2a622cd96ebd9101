"""The three rules, their limits, and what they agree on."""

from __future__ import annotations

import numpy as np
import pytest

from lapse.errors import InvalidValue
from lapse.upkeep import (
    Coverage,
    Floats,
    Rates,
    Setting,
    Stakes,
    bound,
    closed_form,
    covered,
    doubt,
    durability,
    located,
    myopic,
    numeric,
    regret,
    relaxed,
    stationary_value,
    trip,
    usage,
    worth,
)

STAKES = Stakes(0.508, 0.287)
EVEN = Stakes(0.5, 0.5)
STEADY = Rates(0.02, 0.02)
PRICES = np.geomspace(1e-3, 2.0, 60)

PRINTED = {  # ERRAND, table B.2: changes per unit of time 0.18, 0.4, 1.04
    "none": ([0.060] * 3, [0.060] * 3),
    "use": ([0.258, 0.163, 0.103], [0.258, 0.163, 0.103]),
    "use and en-route": ([0.407, 0.259, 0.140], [0.358, 0.194, 0.061]),
}
CHANNELS = {"none": (0.0, 0.0), "use": (0.06, 0.0), "use and en-route": (0.15, 0.0225)}
"""Receipts per unit of time, and what one action of cost takes from it while stale."""


@pytest.mark.parametrize("discount", [0.9, 0.99])
@pytest.mark.parametrize("channel", PRINTED)
@pytest.mark.parametrize(("column", "cost"), [(0, 1.0), (1, 5.0)])
def test_the_printed_values_of_evidence_come_out_of_value_iteration(
    channel: str, column: int, cost: float, discount: float
) -> None:
    receipts, price = CHANNELS[channel]
    value = stationary_value(
        np.array([0.18, 0.4, 1.04]),
        receipts,
        fresh=0.85,
        stale=np.asarray(0.06 - price * cost),
        discount=discount,
    )
    assert value.tolist() == pytest.approx(PRINTED[channel][column], abs=0.0006)


def test_more_evidence_can_be_worth_less_than_it_costs() -> None:
    change = np.array([1.04])
    use = stationary_value(change, 0.06, fresh=0.85, stale=np.asarray(0.06))
    both = stationary_value(change, 0.15, fresh=0.85, stale=np.asarray(0.06 - 5 * 0.0225))
    assert both[0] < use[0]


def test_usage_starts_at_what_was_taken_for_granted_and_ends_at_what_was_seen() -> None:
    assert usage(np.array([0, 30]), np.array([0.0, 1e6])).tolist() == pytest.approx(
        [0.003, 3.03e-5], rel=0.01
    )


def test_a_resolved_doubt_lasts_until_the_first_of_three_ends() -> None:
    assert float(durability(0.18, 0.0, horizon=1e12)) == pytest.approx(1 / 0.18)
    assert float(durability(0.18, 0.06, horizon=1e12)) == pytest.approx(1 / 0.24)
    assert float(durability(0.0, 0.0, horizon=50.0)) == pytest.approx(50.0)


def test_the_way_back_is_paid_for_where_one_says_so() -> None:
    assert trip(np.array([0.0, 3.0]), both_ways=False).tolist() == [1.0, 4.0]
    assert trip(np.array([0.0, 3.0]), both_ways=True).tolist() == [1.0, 7.0]


def test_on_the_spot_a_dear_look_costs_an_action() -> None:
    assert located(np.array([4.0, 4.0]), np.array([0.25, 1.0])).tolist() == [1.0, 4.0]
    for locality in (0.0, 1.5):
        with pytest.raises(InvalidValue, match="locality"):
            located(4.0, locality)


def test_what_is_needed_now_counts_as_one_use() -> None:
    later = worth(0.2, used=0.01, lasting=40.0)
    now = worth(0.2, used=0.01, lasting=40.0, needed=1.0)
    assert float(later) == pytest.approx(0.08)
    assert float(now - later) == pytest.approx(0.2)


def test_an_errand_is_worth_its_items_together_or_the_best_of_them() -> None:
    worths, errand = np.array([0.1, 0.2, 0.4]), np.array([0, 0, 2])
    assert covered(worths, errand, 3, by=Coverage.SUM).tolist() == pytest.approx([0.3, 0.0, 0.4])
    assert covered(worths, errand, 3, by=Coverage.MAX).tolist() == pytest.approx([0.2, 0.0, 0.4])
    nothing = np.zeros(0)
    assert covered(nothing, nothing.astype(int), 1, by=Coverage.SUM).tolist() == [0.0]
    with pytest.raises(InvalidValue, match="errand"):
        covered(worths, errand, 2, by=Coverage.SUM)


def test_the_myopic_rule_looks_one_unit_of_time_ahead() -> None:
    assert float(myopic(0.2, used=0.01, cost=4.0)) == pytest.approx(0.0005)


def test_the_closed_form_is_zero_when_nothing_is_doubted_and_past_the_peak() -> None:
    age = np.arange(4_000.0)
    gone = Rates(0.006, 0.0)
    index = closed_form(doubt(relaxed(0.0, age, gone), STAKES), used=0.1, cost=2.0)
    assert index[0] == 0.0
    assert index[-1] == 0.0
    assert index.max() > 0.0
    due = closed_form(doubt(relaxed(0.0, age, gone), STAKES), used=0.1, cost=2.0, due=True)
    assert due[50] - index[50] == pytest.approx(float(doubt(relaxed(0.0, 50, gone), STAKES)) / 2)


def test_without_receipts_value_iteration_finds_the_closed_form() -> None:
    setting = Setting(
        rates=STEADY, stakes=EVEN, used=0.1, cost=2.0, use_receipts=False, foreseen=False
    )
    found = numeric(setting, prices=np.geomspace(1e-3, 2.0, 300), ages=200)
    values = regret(relaxed(0.0, np.arange(200.0), STEADY), EVEN, on_file=1.0)
    form = closed_form(values, used=0.1, cost=2.0)
    young = slice(1, 60)
    assert found.residual < 1e-9
    assert found.idle[0, young].tolist() == pytest.approx(form[young].tolist(), rel=0.01, abs=0.002)
    assert found.idle.tolist() == found.due.tolist()


def test_receipts_that_come_for_free_make_a_look_worth_less() -> None:
    def index(en_route: float) -> Floats:
        setting = Setting(
            rates=STEADY, stakes=STAKES, used=0.1, cost=2.0, en_route=en_route, foreseen=False
        )
        return numeric(setting, prices=PRICES, ages=120).idle

    closed, opened = index(0.0), index(0.2)
    assert (opened <= closed + 1e-6).all()
    assert (opened < closed - 1e-3).any()


def test_a_look_before_a_use_that_is_due_is_worth_more() -> None:
    setting = Setting(rates=STEADY, stakes=STAKES, used=0.1, cost=2.0, on_file=False)
    found = numeric(setting, prices=PRICES, ages=120)
    assert (found.due >= found.idle - 1e-6).all()
    assert found.due[0, 40] > found.idle[0, 40]
    both = Setting(rates=STEADY, stakes=STAKES, used=0.1, cost=2.0)
    assert not numeric(both, prices=PRICES, ages=120).idle.any()  # it can wait for the use


def test_no_index_is_found_above_the_highest_price() -> None:
    setting = Setting(rates=STEADY, stakes=STAKES, used=0.9, cost=0.1)
    found = numeric(setting, prices=np.array([0.01, 0.02]), ages=60)
    assert found.due.max() == 0.02


def test_the_bound_falls_between_no_looks_and_looks_for_free() -> None:
    setting = Setting(rates=STEADY, stakes=STAKES, used=0.1, cost=2.0, en_route=0.01)
    gains = numeric(setting, prices=PRICES, ages=120).gains
    tight, price = bound(10 * gains, PRICES, 0.06)
    loose, lower = bound(10 * gains, PRICES, 2.0)
    assert 10 * gains[-1] <= tight <= loose <= 10 * 0.1 * 0.508 + PRICES[0] * 2.0
    assert lower <= price


def test_bad_input_is_named() -> None:
    setting = Setting(rates=STEADY, stakes=STAKES, used=0.1, cost=2.0)
    with pytest.raises(InvalidValue, match="prices"):
        numeric(setting, prices=np.array([0.2, 0.1]), ages=10)
    with pytest.raises(InvalidValue, match="ages is 1"):
        numeric(setting, prices=PRICES, ages=1)
    with pytest.raises(InvalidValue, match="cost is 0"):
        Setting(rates=STEADY, stakes=STAKES, used=0.1, cost=0.0)
    with pytest.raises(InvalidValue, match="discount is 1"):
        stationary_value(np.array([0.1]), 0.1, fresh=1.0, stale=np.zeros(1), discount=1.0)
    with pytest.raises(InvalidValue, match="horizon is 0"):
        durability(0.1, 0.1, horizon=0.0)
