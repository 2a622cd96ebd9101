from dataclasses import replace

import pytest

from lapse.contract import (
    DAY,
    Drift,
    Foresight,
    Look,
    Model,
    Outlook,
    Prices,
    forecast,
)
from lapse.errors import InvalidValue
from lapse.ledger import Record, Source, Stamp, vector
from lapse.storage import InMemoryStore
from lapse.testing import Scribe, SequenceIds, sample

CODES = Source.table("api", "codes")
PLANS = Source.table("api", "plans")
GROWTH = Source.row("api", "codes", "growth")
TEAM = Source.row("api", "codes", "team")
CALM = Source.row("api", "plans", "calm")
WEEK = 7 * DAY


def drifting(*, until: int = 200) -> Drift:
    """A lively row and a calm one in one table, and a table beside it that stands still."""
    drift = Drift()
    drift.look(Look(CODES, 0, watched=("growth", "team")))
    drift.look(Look(PLANS, 0, watched=("calm",)))
    for day in (3, 21, 44, 60, 61, 93, 120, 151, 152, 180):
        at = day * DAY
        drift.look(Look(CODES, at, moved=True, rows=("growth",), since=at))
    drift.known_until(until * DAY)
    return drift


def resting_on(*sources: Source) -> Record:
    stamps = vector(Stamp(s, "v", "t" if s.kind == "row" else None) for s in sources)
    return replace(sample("fix"), stamps=stamps)


def test_a_forecast_says_what_it_rests_on() -> None:
    ahead = Outlook(drifting(), 200 * DAY).of(GROWTH, WEEK)
    assert ahead.model is Model.MEMORYLESS
    assert (ahead.events, ahead.around) == (10, 10)
    assert ahead.quiet_until == 200 * DAY
    assert 0.05 < ahead.low < ahead.probability < ahead.high < 0.7
    assert ahead.confidence == 1


def test_a_calm_row_is_less_likely_to_move_than_a_lively_one() -> None:
    outlook: Foresight = Outlook(drifting(), 200 * DAY)
    by_row = [outlook.of(source, WEEK).probability for source in (CALM, TEAM, GROWTH)]
    assert by_row == sorted(by_row)


def test_the_likeliest_stand_first() -> None:
    outlook = Outlook(drifting(), 200 * DAY)
    assert [ahead.source for ahead in outlook.tables(WEEK)] == [CODES, PLANS]
    assert outlook.rows(WEEK)[0].source == GROWTH
    assert [ahead.source for ahead in outlook.rows(WEEK, table=PLANS)] == [CALM]


def test_confidence_falls_while_nobody_looks() -> None:
    drift = drifting()
    held = [
        Outlook(drift, (200 + days) * DAY).of(GROWTH, WEEK).confidence for days in (0, 10, 100, 900)
    ]
    assert held == sorted(held, reverse=True)
    assert held[0] == 1
    assert held[-1] < 0.1


def test_a_record_is_no_surer_than_the_least_sure_source_under_it() -> None:
    outlook = Outlook(drifting(), 230 * DAY)
    alone = [outlook.confidence(resting_on(source)) for source in (GROWTH, CALM, PLANS)]
    both = outlook.confidence(resting_on(GROWTH, CALM, PLANS))
    assert 0 < both < min(alone)
    assert outlook.confidence(resting_on(Source.record("other"))) == 1


def test_what_was_never_watched_is_unknown_and_not_trusted() -> None:
    ahead = Outlook(drifting(), 200 * DAY).of(Source.table("api", "new"), WEEK)
    assert ahead.model is Model.UNKNOWN
    assert (ahead.probability, ahead.low, ahead.high, ahead.confidence) == (1, 0, 1, 0)
    assert ahead.quiet_until is None


def test_what_is_watched_no_longer_is_not_trusted_either() -> None:
    drift = drifting()
    drift.look(Look(CODES, 201 * DAY, gone=("growth",)))
    ahead = Outlook(drift, 201 * DAY).of(GROWTH, WEEK)
    assert ahead.quiet_until is None
    assert ahead.confidence == 0
    assert 0 < ahead.probability < 1


def test_a_table_that_is_likely_to_move_is_worth_asking_about() -> None:
    outlook = Outlook(drifting(), 214 * DAY)
    prices = Prices(ask=1, stale_use=20)
    found = outlook.prefetch([resting_on(GROWTH), resting_on(CALM)], horizon=WEEK, prices=prices)
    assert [(item.table, item.rows) for item in found] == [(CODES, ("growth",))]
    assert found[0].saving == pytest.approx(20 * found[0].probability - 1)


def test_asking_is_not_proposed_where_it_costs_more_than_it_saves() -> None:
    outlook = Outlook(drifting(), 214 * DAY)
    prices = Prices(ask=1, stale_use=1)
    assert outlook.prefetch([resting_on(GROWTH)], horizon=WEEK, prices=prices) == ()


def test_rows_that_drift_together_are_no_likelier_than_their_table() -> None:
    drift = Drift()
    keys = tuple(f"k{n}" for n in range(50))
    drift.look(Look(CODES, 0, watched=keys))
    for day in (30, 75, 150):
        drift.look(Look(CODES, day * DAY, moved=True, rows=keys, since=day * DAY))
    drift.known_until(200 * DAY)
    outlook = Outlook(drift, 200 * DAY)
    record = resting_on(*(Source.row("api", "codes", key) for key in keys))
    found = outlook.prefetch([record], horizon=WEEK, prices=Prices(ask=0, stale_use=1))
    assert found[0].probability == pytest.approx(outlook.of(CODES, WEEK).probability)


def test_a_table_that_drifts_along_is_likelier_once_the_other_has_moved() -> None:
    drift = Drift()
    for table in (CODES, PLANS):
        drift.look(Look(table, 0, watched=("calm",)))
    for day in (40, 170, 310, 420, 700, 850):
        for table in (CODES, PLANS):
            at = day * DAY
            drift.look(Look(table, at, moved=True, rows=("calm",), since=at))
    drift.known_until(1_000 * DAY)
    outlook = Outlook(drift, 1_000 * DAY)
    assert [(p.first, p.second) for p in outlook.together()] == [(CODES, PLANS)]
    prices = Prices(ask=1, stale_use=10)
    needed = [resting_on(CALM)]
    assert outlook.prefetch(needed, horizon=WEEK, prices=prices) == ()
    for seen in (CODES, PLANS):
        other = PLANS if seen == CODES else CODES
        row = [resting_on(Source.row("api", other.name, "calm"))]
        along = outlook.prefetch(row, horizon=WEEK, prices=prices, moved={seen})
        assert [item.table for item in along] == [other]
        assert along[0].probability > 0.5
    assert outlook.prefetch(needed, horizon=WEEK, prices=prices, moved={PLANS}) == ()


def test_rows_of_a_table_that_drift_together_are_found() -> None:
    drift = Drift()
    drift.look(Look(CODES, 0, watched=("growth", "team", "other")))
    for day in (40, 170, 310, 420, 700, 850):
        drift.look(Look(CODES, day * DAY, moved=True, rows=("growth", "team"), since=day * DAY))
    drift.known_until(1_000 * DAY)
    outlook = Outlook(drift, 1_000 * DAY)
    assert [(p.first, p.second) for p in outlook.together(table=CODES)] == [(GROWTH, TEAM)]
    assert outlook.together(table=PLANS) == ()
    assert outlook.together() == ()


def test_a_rhythm_speaks_for_the_row_that_has_it() -> None:
    drift = Drift()
    drift.look(Look(CODES, 0, watched=("growth",)))
    for turn in range(1, 21):
        at = turn * 30 * DAY
        drift.look(Look(CODES, at, moved=True, rows=("growth",), since=at))
    drift.known_until(601 * DAY)
    soon = Outlook(drift, 601 * DAY)
    assert set(soon.rhythms) == {CODES, GROWTH}
    calm = soon.of(GROWTH, WEEK)
    assert calm.model is Model.RHYTHM
    assert calm.probability == calm.low < 0.05
    drift.known_until(627 * DAY)
    due = Outlook(drift, 627 * DAY).of(GROWTH, WEEK)
    assert due.probability > 0.9 > Outlook(drift, 627 * DAY).rates.chance(1, WEEK)
    assert due.high >= due.probability
    unasked = Outlook(drift, 634 * DAY).of(GROWTH, WEEK)
    assert unasked.confidence < 0.15
    drift.look(Look(CODES, 627 * DAY, gone=("growth",)))
    assert set(Outlook(drift, 627 * DAY).rhythms) == {CODES}


def test_many_moves_without_a_beat_are_no_rhythm() -> None:
    drift = Drift()
    drift.look(Look(CODES, 0, watched=("growth",)))
    for day in (1, 2, 9, 30, 31, 33, 60, 64, 90, 91, 130, 131, 132, 180, 199):
        drift.look(Look(CODES, day * DAY, moved=True, rows=("growth",), since=day * DAY))
    drift.known_until(200 * DAY)
    assert Outlook(drift, 200 * DAY).rhythms == {}


def test_a_ledger_foresees_by_its_own_changes() -> None:
    pen = Scribe(InMemoryStore(ids=SequenceIds("ledger")))
    pen.write(sample("a"), sample("b"))
    outlook = forecast(pen.store.changes(), 5)
    assert {ahead.source.name for ahead in outlook.tables(DAY)} == {"flow_rules", "limits"}
    assert 0 <= outlook.confidence(sample("a")) <= 1
    with pytest.raises(InvalidValue, match="from the last look on"):
        forecast(pen.store.changes(), 1)


def test_an_empty_ledger_foresees_nothing() -> None:
    outlook = forecast((), 0)
    assert outlook.tables(DAY) == ()
    assert outlook.rows(DAY) == ()
    assert outlook.together() == ()
    assert outlook.rates.moves is not None


def test_nobody_looks_back_in_time() -> None:
    with pytest.raises(InvalidValue, match="horizon"):
        Outlook(drifting(), 200 * DAY).of(GROWTH, -1)


@pytest.mark.parametrize("name", ["ask", "stale_use"])
@pytest.mark.parametrize("price", [-1.0, float("nan")])
def test_prices_are_not_negative(name: str, price: float) -> None:
    with pytest.raises(InvalidValue, match=name):
        Prices(**{name: price})
