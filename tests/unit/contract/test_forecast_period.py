import math

import numpy as np
import pytest

from lapse.contract import DAY, Move, rhythm

LEVEL = 0.01


def moves(days: list[float], *, look_every: float = 0.0) -> list[Move]:
    """Moves at some days, seen at once or by looks that are so many days apart."""
    found: list[Move] = []
    for day in days:
        if look_every:
            since = math.floor(day / look_every) * look_every
            if found and found[-1].at > since * DAY:
                continue  # the look that saw the move before saw this one with it
            found.append(Move(round(since * DAY), round((since + look_every) * DAY)))
        else:
            found.append(Move(round(day * DAY), round(day * DAY)))
    return found


def beat(count: int, *, period: float = 30, jitter: float = 0.05, seed: int = 3) -> list[float]:
    random = np.random.default_rng(seed)
    waits = period * (1 + jitter * random.standard_normal(count))
    return [float(day) for day in np.cumsum(waits)]


def test_a_planted_rhythm_is_found() -> None:
    planted = moves(beat(14))
    found = rhythm(planted, planted[-1].at, level=LEVEL)
    assert found is not None
    assert found.period / DAY == pytest.approx(30, rel=0.05)
    assert found.cycles == 13
    assert found.lasting == 13 / 15
    assert found.gain > -math.log(LEVEL)


def test_a_planted_rhythm_is_found_through_looks_that_are_close_enough() -> None:
    planted = moves(beat(30), look_every=1)
    found = rhythm(planted, planted[-1].at, level=LEVEL)
    assert found is not None
    assert found.period / DAY == pytest.approx(30, rel=0.05)


def test_looks_as_rare_as_the_moves_show_no_rhythm_of_their_own() -> None:
    random = np.random.default_rng(5)
    days = [float(day) for day in np.cumsum(random.exponential(2, 400))]
    weekly = moves(days, look_every=7)  # nearly every look sees a move: all gaps are a week
    assert rhythm(weekly, weekly[-1].at, level=LEVEL) is None


def test_few_cycles_are_no_rhythm_however_exact() -> None:
    planted = moves([30.0 * n for n in range(1, 13)])
    assert rhythm(planted, planted[-1].at, level=0.5) is None


def test_moves_without_memory_are_no_rhythm() -> None:
    claimed = 0
    for seed in range(300):
        random = np.random.default_rng(seed)
        plain = moves([float(day) for day in np.cumsum(random.exponential(20, 40))])
        claimed += rhythm(plain, plain[-1].at, level=LEVEL) is not None
    assert claimed <= 6  # 3 expected at most; 7 or more has a chance below 0.04


def test_what_is_merely_steadier_than_chance_is_no_rhythm() -> None:
    random = np.random.default_rng(11)
    waits = random.gamma(2.4, 10, 200)  # a coefficient of variation of 0.64
    steady = moves([float(day) for day in np.cumsum(waits)])
    assert rhythm(steady, steady[-1].at, level=LEVEL) is None


def test_a_habit_that_is_kept_to_a_quarter_is_no_schedule() -> None:
    habit = moves(beat(130, period=7, jitter=0.25))
    assert rhythm(habit, habit[-1].at, level=LEVEL) is None


def test_a_rhythm_that_stopped_is_claimed_no_longer() -> None:
    planted = moves(beat(14))
    end = planted[-1].at
    assert rhythm(planted, end + 30 * DAY, level=LEVEL) is not None
    assert rhythm(planted, end + 300 * DAY, level=LEVEL) is None


def test_the_chance_is_low_after_a_move_and_high_when_one_is_due() -> None:
    planted = moves(beat(24))
    end = planted[-1].at
    found = rhythm(planted, end, level=LEVEL)
    assert found is not None
    week = 7 * DAY
    assert found.chance(end, week, quiet_until=end) < 0.01
    due = end + 27 * DAY
    assert found.chance(due, week, quiet_until=due) > 0.9
    assert found.chance(end, 0, quiet_until=end) == 0


def test_a_beat_that_nobody_followed_is_lost() -> None:
    planted = moves(beat(24))
    end = planted[-1].at
    found = rhythm(planted, end, level=LEVEL)
    assert found is not None
    later = end + 20 * DAY
    assert found.chance(later, 3 * DAY, quiet_until=end) == 3 * DAY / found.period
    assert found.chance(later, 90 * DAY, quiet_until=end) == 1
