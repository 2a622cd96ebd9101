import numpy as np
import pytest

from lapse.contract import DAY, Drift, Look, co_drift
from lapse.ledger import Source


def tables(*days: list[int], late: bool = False) -> Drift:
    """Tables that moved on some days each; seen at once, or by a look a week later."""
    drift = Drift()
    for place, found in enumerate(days):
        table = Source.table("api", f"t{place}")
        drift.look(Look(table, 0))
        for day in sorted(found):
            at = day * DAY
            drift.look(Look(table, at, moved=True, since=None if late else at))
    return drift


def random_days(seed: int, many: int) -> list[int]:
    random = np.random.default_rng(seed)
    return sorted(int(day) for day in random.choice(np.arange(1, 1_000), many, replace=False))


def test_tables_that_move_on_the_same_days_are_found() -> None:
    together = random_days(1, 20)
    drift = tables(together, [*together[:15], 1_001, 1_002], random_days(2, 20))
    found = co_drift(drift, drift.tables())
    assert [(pair.first.name, pair.second.name, pair.shared) for pair in found] == [
        ("t0", "t1", 15)
    ]
    assert found[0].given_first == 15 / 20
    assert found[0].given_second == 15 / 17
    assert 0 < found[0].expected < 2


def test_tables_that_move_by_themselves_are_not_found_among_many() -> None:
    drift = tables(*(random_days(seed, 60) for seed in range(40)))
    assert co_drift(drift, drift.tables()) == ()


def test_tables_that_are_busy_in_the_same_months_do_not_therefore_move_together() -> None:
    random = np.random.default_rng(4)
    busy = range(5, 2_800, 275)
    days = [
        sorted({start + int(day) for start in busy for day in random.choice(28, 8, replace=False)})
        for _ in range(10)
    ]
    drift = tables(*days)
    assert co_drift(drift, drift.tables()) == ()


def test_moves_that_were_noticed_late_count_for_nothing() -> None:
    together = list(range(7, 700, 7))
    drift = tables(together, together, late=True)
    assert co_drift(drift, drift.tables()) == ()


def test_a_few_shared_days_are_too_few() -> None:
    drift = tables([10, 200, 400], [10, 200, 400])
    assert co_drift(drift, drift.tables()) == ()
    apart = tables([10, 200, 400, 600], [15, 205, 405, 605])
    assert co_drift(apart, apart.tables()) == ()


@pytest.mark.parametrize("rate", [0.05, 1e-9])
def test_the_fewer_false_pairs_are_allowed_the_fewer_are_returned(rate: float) -> None:
    shared = [10, 200, 400, 600, 800]
    drift = tables([*shared, 5, 50], [*shared, 90, 700])
    assert len(co_drift(drift, drift.tables(), rate=rate)) == (rate == 0.05)


def test_what_is_real_and_small_is_left_out() -> None:
    even = [day for day in range(1, 3_000) if day % 2]
    drift = tables(even, even)  # shared every other day; by chance on every fourth, at most half
    assert co_drift(drift, drift.tables()) == ()
