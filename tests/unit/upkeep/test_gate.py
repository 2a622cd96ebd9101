"""Every decision has its clause; the wage prices, the account caps."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from lapse.errors import InvalidValue
from lapse.upkeep import (
    Bucket,
    Candidate,
    Clause,
    Hold,
    Pay,
    Spend,
    Unlimited,
    Wage,
    Window,
    decide,
)

GOOD = Candidate("a", 0.5, 2.0)
POOR = Candidate("b", 0.01, 1.0)
NOTHING = Candidate("c", 0.0, 1.0)
WAGE = Wage.of(Pay(floor=0.04))
FULL = Window(cap=1.0, span=100.0, entries=((0.0, 1.0),))


@pytest.mark.parametrize(
    ("candidates", "account", "expected"),
    [
        ([GOOD], FULL, Hold(Clause.IN_FLIGHT, None, 0.04)),
        ([], FULL, Hold(Clause.NO_CANDIDATE, None, 0.04)),
        ([NOTHING], FULL, Hold(Clause.INDEX_AT_ZERO, NOTHING, 0.04)),
        ([NOTHING, POOR], FULL, Hold(Clause.BELOW_WAGE, POOR, 0.04)),
        ([POOR, GOOD], FULL, Hold(Clause.CAP_REACHED, GOOD, 0.04)),
        ([POOR, GOOD], Unlimited(), Spend(GOOD, 0.04)),
    ],
)
def test_the_first_clause_that_applies_decides(
    candidates: list[Candidate],
    account: Window | Unlimited,
    expected: Spend | Hold,
) -> None:
    busy = expected.reason is Clause.IN_FLIGHT
    decision = decide(candidates, WAGE, account, now=1.0, in_flight=busy)
    assert decision == expected
    capped = expected.reason is Clause.CAP_REACHED or isinstance(expected, Spend)
    assert decision.wanted == (2.0 if capped else 0.0)


def test_a_bought_look_says_so() -> None:
    assert Spend(GOOD, 0.04).reason is Clause.SPENT


def test_of_two_that_are_worth_the_same_the_first_by_name_is_taken() -> None:
    twin = Candidate("0", 0.5, 9.0)
    assert decide([GOOD, twin], WAGE, Unlimited(), now=0.0) == Spend(twin, 0.04)


def test_an_infinite_wage_buys_nothing_and_none_whatever_is_worth_anything() -> None:
    never, eager = Wage.of(Pay(floor=math.inf)), Wage.of(Pay(floor=0.0))
    assert decide([GOOD], never, Unlimited(), now=0.0).reason is Clause.BELOW_WAGE
    assert decide([POOR], eager, Unlimited(), now=0.0).reason is Clause.SPENT
    assert decide([NOTHING], eager, Unlimited(), now=0.0).reason is Clause.INDEX_AT_ZERO


def test_inside_the_band_nothing_is_bought() -> None:
    wage = Wage.of(Pay(floor=0.04, band=0.25))
    inside, outside = Candidate("a", 0.045, 1.0), Candidate("a", 0.05, 1.0)
    assert decide([inside], wage, Unlimited(), now=0.0).reason is Clause.BELOW_WAGE
    assert decide([outside], wage, Unlimited(), now=0.0).reason is Clause.SPENT


def test_a_running_wage_becomes_what_work_earns() -> None:
    wage = Wage.of(Pay(floor=0.04, running=True, memory=10.0))
    assert wage.level == 0.04
    for _ in range(200):
        wage = wage.worked(0.5)
    assert wage.level == pytest.approx(0.5)
    assert Wage.of(Pay(floor=0.04)).worked(0.5).level == 0.04


def test_the_price_rises_with_what_is_wanted_beyond_the_pace_and_falls_to_the_floor() -> None:
    wage = Wage.of(Pay(floor=0.04, pace=0.1, step=0.1))
    for _ in range(5):
        wage = wage.wanted(1.0)
    assert wage.level == pytest.approx(0.45)
    for _ in range(100):
        wage = wage.wanted(0.0)
    assert wage.dual == 0.0
    assert wage.level == 0.04
    assert Wage.of(Pay()).wanted(5.0).level == 0.04


def test_a_window_forgets_and_a_bucket_saves() -> None:
    window = Window(cap=2.0, span=10.0).charged(1.0, 0.0).charged(3.0, 5.0)
    assert not window.allows(9.0)
    assert window.spent(10.0) == 3.0
    assert window.allows(15.0)
    assert window.charged(1.0, 15.0).entries == ((15.0, 1.0),)
    bucket = Bucket(rate=0.1, depth=4.0, level=1.0).charged(3.0, 0.0)
    assert not bucket.allows(20.0)
    assert bucket.allows(20.5)
    assert bucket.left(1e9) == 4.0
    assert Unlimited().charged(3.0, 1.0).charged(1.0, 2.0) == Unlimited(4.0)


def test_bad_input_is_named() -> None:
    for field, value in {
        "floor": -1.0,
        "pace": 0.0,
        "memory": 0.0,
        "step": -1.0,
        "band": -1.0,
    }.items():
        with pytest.raises(InvalidValue, match=field):
            replace(Pay(), **{field: value})
    with pytest.raises(InvalidValue, match="elapsed is 0"):
        Wage.of(Pay(pace=1.0)).wanted(1.0, elapsed=0.0)
    with pytest.raises(InvalidValue, match="cap is 0"):
        Window(cap=0.0, span=1.0)
    with pytest.raises(InvalidValue, match="level is 2"):
        Bucket(rate=1.0, depth=1.0, level=2.0)
    with pytest.raises(InvalidValue, match="now is 0"):
        Window(cap=1.0, span=1.0).charged(1.0, 1.0).charged(1.0, 0.0)
    with pytest.raises(InvalidValue, match="now is -1"):
        Bucket(rate=1.0, depth=1.0, level=1.0).charged(1.0, -1.0)
    with pytest.raises(InvalidValue, match="index is -1"):
        Candidate("a", -1.0, 1.0)
