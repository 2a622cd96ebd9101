import math

import numpy as np
import pytest

from lapse.contract import DAY, Assumptions, Drift, Look, Rates
from lapse.errors import InvalidValue
from lapse.ledger import Source

FOR_EVER = Assumptions(half_lives_days=(math.inf,))
CODES = Source.table("api", "codes")


def exact(
    days: list[tuple[float, tuple[str, ...]]], *, watched: tuple[str, ...], end: int
) -> Drift:
    drift = Drift()
    drift.look(Look(CODES, 0, watched=watched))
    for day, rows in days:
        at = round(day * DAY)
        drift.look(Look(CODES, at, moved=True, rows=rows, since=at))
    drift.known_until(end * DAY)
    return drift


def row(drift: Drift, key: str) -> int:
    found = drift.number(Source.row("api", "codes", key))
    assert found is not None
    return found


def table(drift: Drift) -> int:
    found = drift.number(CODES)
    assert found is not None
    return found


def test_the_chance_of_exact_moves_is_that_of_the_conjugate_posterior() -> None:
    drift = exact([(10, ("a",)), (40, ("a",))], watched=("a", "b"), end=100)
    taken = Assumptions(half_lives_days=(math.inf,), row_shape=0.5, table_strength=3)
    mean = (2 + 0.5) / 200  # Jeffreys, over both rows
    mean = (3 + 2) / (3 / mean + 200)
    for key, moves in (("a", 2), ("b", 0)):
        time = 0.5 / mean + 100
        expected = 1 - (time / (time + 30)) ** (0.5 + moves)
        assert Rates(drift, taken).chance(row(drift, key), 30 * DAY) == pytest.approx(expected)


def test_a_table_is_pooled_with_the_tables_of_its_issuer() -> None:
    drift = exact([(10, ()), (40, ())], watched=(), end=100)
    taken = Assumptions(half_lives_days=(math.inf,), table_shape=2)
    time = 2 / (2.5 / 100) + 100
    expected = 1 - (time / (time + 30)) ** (2 + 2)
    assert Rates(drift, taken).chance(table(drift), 30 * DAY) == pytest.approx(expected)


def test_a_row_that_never_moved_borrows_from_a_table_whose_rows_do() -> None:
    busy = exact([(d, ("a",)) for d in range(5, 100, 5)], watched=("a", "b"), end=100)
    calm = exact([(50, ("a",))], watched=("a", "b"), end=100)
    month = 30 * DAY
    assert Rates(busy).chance(row(busy, "b"), month) > Rates(calm).chance(row(calm, "b"), month)
    assert Rates(busy).chance(row(busy, "a"), month) > Rates(busy).chance(row(busy, "b"), month)


def test_rows_that_moved_at_one_look_are_one_observation_of_their_table() -> None:
    keys = tuple(f"k{n}" for n in range(40))
    # Two tables of one issuer: the first moved 40 rows in one commit, the second one row in 40.
    drift = Drift()
    other = Source.table("api", "other")
    for name in (CODES, other):
        drift.look(Look(name, 0, watched=(*keys, "new")))
    for place, key in enumerate(keys):
        at = (place + 1) * DAY
        drift.look(Look(other, at, moved=True, rows=(key,), since=at))
    drift.look(Look(CODES, 50 * DAY, moved=True, rows=keys, since=50 * DAY))
    calm = Source.table("api", "calm")
    drift.look(Look(calm, 50 * DAY, watched=tuple(f"q{n}" for n in range(400))))
    drift.known_until(400 * DAY)
    rates = Rates(drift, FOR_EVER)
    at_once = rates.chance(row(drift, "new"), 30 * DAY)
    number = drift.number(Source.row("api", "other", "new"))
    assert number is not None
    # As many moves; the table that is known by 40 commits stands farther from its issuer's mean.
    assert at_once < rates.chance(number, 30 * DAY)


def test_the_recent_past_counts_for_more() -> None:
    early = exact([(d, ("a",)) for d in range(1, 20)], watched=("a", "b"), end=700)
    late = exact([(680 + d, ("a",)) for d in range(1, 20)], watched=("a", "b"), end=700)
    month = 30 * DAY
    assert Rates(late).chance(row(late, "a"), month) > 3 * Rates(early).chance(
        row(early, "a"), month
    )
    assert Rates(late, FOR_EVER).chance(row(late, "a"), month) == pytest.approx(
        Rates(early, FOR_EVER).chance(row(early, "a"), month)
    )


@pytest.mark.parametrize("every", [1, 5, 20])
def test_a_rate_is_recovered_from_looks_that_miss_moves(every: int) -> None:
    random = np.random.default_rng(7)
    rate = 0.1  # a day; seen every 20 days, five moves of six hide behind another
    drift, day, following = Drift(), 0.0, random.exponential(1 / rate)
    drift.look(Look(CODES, 0, watched=("a",)))
    while day < 6_000:
        day += every
        moved = following <= day
        while following <= day:
            following += random.exponential(1 / rate)
        drift.look(Look(CODES, round(day * DAY), moved=moved, rows=("a",) if moved else ()))
    rates = Rates(drift, FOR_EVER)
    truth = -math.expm1(-rate * 3)
    assert rates.chance(row(drift, "a"), 3 * DAY) == pytest.approx(truth, rel=0.15)
    low, high = rates.between(row(drift, "a"), 3 * DAY, outside=0.005)
    assert low < truth < high
    assert rates.moves(row(drift, "a")) <= 6_000 / every


def test_the_interval_narrows_with_what_was_seen_and_holds_the_chance() -> None:
    widths: list[float] = []
    for months in (2, 40):
        drift = exact(
            [(30 * n + 10, ("a",)) for n in range(months)], watched=("a",), end=30 * months
        )
        rates = Rates(drift, FOR_EVER)
        low, high = rates.between(row(drift, "a"), 30 * DAY, outside=0.05)
        assert low < rates.chance(row(drift, "a"), 30 * DAY) < high
        widths.append(high - low)
    assert widths[1] < widths[0] / 3


def test_the_numeric_posterior_is_the_conjugate_one_where_both_exist() -> None:
    drift = exact([(10, ("a",)), (40, ("a",))], watched=("a", "b"), end=100)
    rates = Rates(drift, FOR_EVER)
    for key in ("a", "b"):
        points, masses = rates.posterior(row(drift, key))
        assert masses.sum() == pytest.approx(1)
        numeric = float(masses @ -np.expm1(-points * 30))
        assert numeric == pytest.approx(rates.chance(row(drift, key), 30 * DAY), rel=1e-3)


def test_what_was_watched_for_no_time_can_do_anything() -> None:
    drift = Drift()
    drift.look(Look(CODES, 5 * DAY, watched=("a",)))
    rates = Rates(drift)
    assert rates.chance(row(drift, "a"), DAY) == 1
    assert rates.between(row(drift, "a"), DAY, outside=0.05) == (0, 1)
    assert rates.chance(row(drift, "a"), 0) == 0


def test_looks_at_one_issuer_do_not_age_what_is_known_of_another() -> None:
    drift = exact([(10, ("a",))], watched=("a",), end=100)
    before = Rates(drift).chance(row(drift, "a"), 30 * DAY)
    drift.look(Look(Source.table("other", "codes"), 9_000 * DAY))
    assert Rates(drift).chance(row(drift, "a"), 30 * DAY) == pytest.approx(before)


def test_nothing_seen_gives_no_rates() -> None:
    assert list(Rates(Drift()).chances(np.array([], dtype=np.int64), DAY)) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("half_lives_days", ()),
        ("half_lives_days", (30.0, 0.0)),
        ("row_shape", 0.0),
        ("table_shape", math.inf),
        ("table_strength", math.nan),
    ],
)
def test_assumptions_are_above_zero(name: str, value: float | tuple[float, ...]) -> None:
    with pytest.raises(InvalidValue, match=name):
        Assumptions(**{name: value})  # pyright: ignore[reportArgumentType]
