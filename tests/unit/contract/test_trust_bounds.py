"""How fast an issuer may move things."""

from __future__ import annotations

import pytest

from lapse.contract import Bounds, Tally, admit, may_ask
from lapse.errors import InvalidValue

BOUNDS = Bounds(window_us=100, moves=2, evictions=10, questions=3)
FRESH = Tally(since=1_000)


@pytest.mark.parametrize("field", ["window_us", "moves", "evictions", "questions"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5])
def test_a_bound_lets_something_through(field: str, value: int) -> None:
    with pytest.raises(InvalidValue, match=field):
        Bounds(**{field: value})


@pytest.mark.requirement("C-TRU-18")
def test_moves_and_evictions_count_up_to_the_bound() -> None:
    once = admit(FRESH, BOUNDS, moves=1, evictions=10)
    assert once is not None
    assert once == Tally(since=1_000, moves=1, evictions=10)
    assert admit(once, BOUNDS, moves=1, evictions=0) == Tally(since=1_000, moves=2, evictions=10)
    assert admit(once, BOUNDS, moves=1, evictions=1) is None
    assert admit(once, BOUNDS, moves=2, evictions=0) is None


@pytest.mark.requirement("C-TRU-18")
def test_one_large_settlement_waits_a_window_and_then_goes_through_alone() -> None:
    assert admit(FRESH, BOUNDS, moves=1, evictions=11) is None
    holding = Tally(since=1_000, moves=1, holding=True)
    assert holding.at(1_099, BOUNDS) is holding
    assert admit(holding, BOUNDS, moves=0, evictions=0) is None
    seasoned = holding.at(1_100, BOUNDS)
    assert seasoned == Tally(since=1_100, seasoned=True)
    after = admit(seasoned, BOUNDS, moves=1, evictions=500)
    assert after is not None
    assert after == Tally(since=1_100, moves=1, evictions=500, seasoned=True)
    assert admit(after, BOUNDS, moves=1, evictions=1) is None
    assert seasoned.at(1_200, BOUNDS) == Tally(since=1_200)


@pytest.mark.requirement("C-TRU-19")
def test_questions_are_bounded_and_there_are_none_in_quarantine() -> None:
    assert may_ask(FRESH, BOUNDS) == 3
    assert may_ask(FRESH.asked(2, of=2), BOUNDS) == 1
    assert may_ask(FRESH.asked(5, of=5), BOUNDS) == 0
    assert FRESH.asked(2, of=2) == Tally(since=1_000, questions=2)
    spent = FRESH.asked(1, of=2)
    assert spent == Tally(since=1_000, questions=1, exhausted=True)
    assert spent.asked(1, of=1).exhausted
    assert may_ask(Tally(since=1_000, holding=True), BOUNDS) == 0


@pytest.mark.requirement("C-TRU-18")
def test_a_clock_that_is_set_back_renews_nothing() -> None:
    spent = Tally(since=1_000, moves=2, holding=True)
    back = spent.at(10, BOUNDS)
    assert back == Tally(since=10, moves=2, holding=True)
    assert back.at(110, BOUNDS) == Tally(since=110, seasoned=True)
