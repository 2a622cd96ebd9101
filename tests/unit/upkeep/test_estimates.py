"""Rates come out as they are, from receipts that came when they came."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lapse.errors import InvalidValue
from lapse.upkeep import Floats, Learned, RateGrid, Rates, relaxed

GRID = RateGrid(slowest=1e-4, fastest=0.3)
COARSE = RateGrid(slowest=1e-3, fastest=0.1, points=12)
A, B = (0.006, 0.020), (0.002, 0.0025)


def receipts(seed: int, count: int, rates: tuple[float, float], gap: float) -> list[Floats]:
    """Pairs of receipts about one atom that really changes at these rates, at random times."""
    draw = np.random.default_rng(seed)
    gaps, chances, regime = draw.exponential(gap, count), draw.random(count), np.zeros(count + 1)
    moved = [chances < relaxed(seen, gaps, Rates(*rates)) for seen in (0.0, 1.0)]
    for place in range(count):
        regime[place + 1] = moved[int(regime[place])][place]
    return [regime[:-1], regime[1:], gaps]


@pytest.mark.parametrize("truth", [A, B])
def test_six_hundred_receipts_tell_both_rates_within_a_factor_of_a_half(
    truth: tuple[float, float],
) -> None:
    seeds = 40
    learned = Learned(seeds, GRID, alone=math.inf)
    for seed in range(seeds):
        learned.observe(seed, *receipts(seed, 600, truth, 1 / sum(truth)))
    off = [
        abs(np.log(found / true)) for found, true in zip(pair(learned.rates), truth, strict=True)
    ]
    within = np.maximum(*off) < math.log(1.5)
    assert within.mean() >= 0.95


def pair(rates: Rates) -> tuple[Floats, Floats]:
    """Both rates as arrays."""
    return np.asarray(rates.out), np.asarray(rates.back)


def test_counting_changes_is_biased_where_the_posterior_is_not() -> None:
    before, after, gap = receipts(5, 600, A, 2 / sum(A))
    counted = ((before == 0) & (after == 1)).sum() / gap[before == 0].sum()
    learned = Learned(1, GRID)
    learned.observe(0, before, after, gap)
    assert counted < 0.6 * A[0]
    assert pair(learned.rates)[0][0] == pytest.approx(A[0], rel=0.5)


def test_one_at_a_time_or_all_at_once_is_the_same() -> None:
    before, after, gap = receipts(1, 70, A, 30.0)
    once, each = Learned(2, COARSE), Learned(2, COARSE)
    once.observe(1, before, after, gap)
    for one in zip(before, after, gap, strict=True):
        each.observe(1, *one)
    assert once.pairs.tolist() == each.pairs.tolist() == [0, 70]
    assert once.posterior == pytest.approx(each.posterior)


def test_without_receipts_every_rate_is_as_likely_as_any_other() -> None:
    learned = Learned(2, COARSE)
    assert learned.posterior == pytest.approx(np.full((2, 144), 1 / 144))
    assert pair(learned.rates)[0] == pytest.approx([0.01, 0.01])


def test_a_cluster_without_receipts_is_believed_to_be_like_the_rest() -> None:
    learned, apart = Learned(3, GRID), Learned(3, GRID, alone=math.inf)
    for into in (learned, apart):
        into.observe(0, *receipts(1, 400, A, 30.0))
        into.observe(1, *receipts(2, 400, A, 30.0))
    middle = math.sqrt(GRID.slowest * GRID.fastest)
    assert pair(apart.rates)[1][2] == pytest.approx(middle)
    away = [abs(math.log(rate / A[1])) for rate in (middle, pair(learned.rates)[1][2])]
    assert away[1] < 0.5 * away[0]


def test_a_cluster_with_many_receipts_is_left_to_its_own() -> None:
    learned, apart = Learned(2, GRID), Learned(2, GRID, alone=math.inf)
    for into in (learned, apart):
        into.observe(0, *receipts(1, 600, A, 40.0))
        into.observe(1, *receipts(2, 600, (0.0005, 0.0008), 700.0))
    assert pair(learned.rates)[0] == pytest.approx(pair(apart.rates)[0], rel=0.1)


def test_pooling_brings_few_receipts_nearer_to_the_truth() -> None:
    near = far = 0.0
    for seed in range(12):
        learned, apart = Learned(5, COARSE), Learned(5, COARSE, alone=math.inf)
        for into in (learned, apart):
            for cluster in range(5):
                count = 10 if cluster == 0 else 150
                into.observe(cluster, *receipts(10 * seed + cluster, count, A, 40.0))
        near += abs(math.log(pair(learned.rates)[1][0] / A[1]))
        far += abs(math.log(pair(apart.rates)[1][0] / A[1]))
    assert near < far


def test_a_belief_over_all_rates_relaxes_as_the_rates_do() -> None:
    learned = Learned(1, GRID)
    learned.observe(0, *receipts(3, 2_000, A, 40.0))
    assert learned.relaxed(0, 1.0, 0.0) == pytest.approx(1.0)
    assert learned.relaxed(0, 0.0, 20.0) == pytest.approx(
        float(relaxed(0.0, 20.0, Rates(*A))), abs=0.03
    )


def test_bad_input_is_named() -> None:
    with pytest.raises(InvalidValue, match="fastest is 1"):
        RateGrid(slowest=1.0, fastest=1.0)
    with pytest.raises(InvalidValue, match="points is 1"):
        RateGrid(slowest=1.0, fastest=2.0, points=1)
    with pytest.raises(InvalidValue, match="clusters is 0"):
        Learned(0, COARSE)
    with pytest.raises(InvalidValue, match="alone is 0"):
        Learned(1, COARSE, alone=0.0)
    learned = Learned(1, COARSE)
    with pytest.raises(InvalidValue, match="cluster is 1"):
        learned.observe(1, 0.0, 0.0, 1.0)
    with pytest.raises(InvalidValue, match=r"after is 0\.5"):
        learned.observe(0, 0.0, 0.5, 1.0)
    with pytest.raises(InvalidValue, match="gap is 0"):
        learned.observe(0, 0.0, 0.0, 0.0)
    assert learned.pairs.tolist() == [0]
