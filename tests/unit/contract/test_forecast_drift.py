import pytest

from lapse.contract import DAY, Drift, Look, Move
from lapse.errors import InvalidValue
from lapse.ledger import Source

CODES = Source.table("api", "codes")
GROWTH = Source.row("api", "codes", "growth")
TEAM = Source.row("api", "codes", "team")


def number(drift: Drift, source: Source) -> int:
    found = drift.number(source)
    assert found is not None
    return found


def seen(*looks: Look) -> Drift:
    drift = Drift()
    for look in looks:
        drift.look(look)
    return drift


def test_a_move_fell_between_two_looks() -> None:
    drift = seen(
        Look(CODES, 10, watched=("growth", "team")), Look(CODES, 30, moved=True, rows=("growth",))
    )
    assert drift.moves_of(number(drift, CODES)) == [Move(10, 30)]
    assert drift.moves_of(number(drift, GROWTH)) == [Move(10, 30)]
    assert drift.moves_of(number(drift, TEAM)) == []
    assert drift.quiet_until(number(drift, TEAM)) == 30


def test_quiet_time_before_a_move_ends_with_the_last_look_that_saw_none() -> None:
    drift = seen(
        Look(CODES, 10, watched=("growth",)),
        Look(CODES, 25),
        Look(CODES, 30, moved=True, rows=("growth",)),
    )
    spans = list(zip(*drift.spans, strict=True))
    assert spans == [(number(drift, CODES), 10, 25), (number(drift, GROWTH), 10, 25)]
    assert drift.moves_of(number(drift, GROWTH)) == [Move(25, 30)]


def test_a_source_that_knows_the_instant_says_so() -> None:
    drift = seen(
        Look(CODES, 10, watched=("growth",)),
        Look(CODES, 30, moved=True, rows=("growth",), since=30),
    )
    assert drift.moves_of(number(drift, GROWTH)) == [Move(30, 30)]
    assert drift.moves_of(number(drift, CODES)) == [Move(30, 30)]


def test_the_move_that_a_row_is_first_named_for_does_not_count() -> None:
    drift = seen(Look(CODES, 10), Look(CODES, 20, moved=True, rows=("team",)), Look(CODES, 30))
    assert drift.moves_of(number(drift, TEAM)) == []
    assert drift.watches(number(drift, TEAM))
    assert drift.quiet_until(number(drift, TEAM)) == 30


def test_the_first_look_at_a_table_shows_no_move() -> None:
    drift = seen(Look(CODES, 10, moved=True))
    assert drift.moves_of(number(drift, CODES)) == []
    assert drift.quiet_until(number(drift, CODES)) == 10


def test_rows_stay_unexplained_until_a_look_that_knows() -> None:
    drift = seen(
        Look(CODES, 10, watched=("growth", "team")), Look(CODES, 20, moved=True, rows=None)
    )
    assert drift.quiet_until(number(drift, GROWTH)) == 10
    drift.look(Look(CODES, 30, moved=False, rows=("growth",)))
    assert drift.moves_of(number(drift, GROWTH)) == [Move(10, 30)]
    assert drift.moves_of(number(drift, CODES)) == [Move(10, 20)]
    assert drift.quiet_until(number(drift, TEAM)) == 30


def test_what_a_row_did_after_it_was_last_explained_is_not_known_when_it_goes() -> None:
    drift = seen(Look(CODES, 10, watched=("growth", "team")), Look(CODES, 20))
    drift.look(Look(CODES, 40, moved=True, rows=("growth",), gone=("growth", "team", "never")))
    assert not drift.watches(number(drift, TEAM))
    assert not drift.watches(number(drift, GROWTH))
    assert drift.moves_of(number(drift, GROWTH)) == [Move(20, 40)]
    quiet = [(whose, end) for whose, _, end in zip(*drift.spans, strict=True)]
    assert (number(drift, TEAM), 20) in quiet
    assert (number(drift, TEAM), 40) not in quiet


def test_a_row_that_is_watched_twice_is_watched_once() -> None:
    drift = seen(Look(CODES, 10, watched=("growth",)), Look(CODES, 20, watched=("growth",)))
    assert drift.starts[number(drift, GROWTH)] == 10


def test_a_complete_history_knows_that_nothing_happened_up_to_its_end() -> None:
    drift = seen(Look(CODES, 10, watched=("growth",)))
    drift.known_until(DAY)
    assert drift.quiet_until(number(drift, GROWTH)) == DAY
    assert drift.latest() == DAY
    with pytest.raises(InvalidValue, match=r"at.*pass an instant from"):
        drift.known_until(9)


def test_moves_are_grouped_by_what_moved() -> None:
    drift = seen(
        Look(CODES, 10, watched=("growth",)), Look(CODES, 30, moved=True, rows=("growth",))
    )
    assert drift.grouped() == {
        number(drift, CODES): [Move(10, 30)],
        number(drift, GROWTH): [Move(10, 30)],
    }
    assert drift.number(TEAM) is None
    assert list(drift.tables()) == [number(drift, CODES)]


def test_an_empty_drift_ends_at_the_epoch() -> None:
    assert Drift().latest() == 0


def test_looks_at_a_table_come_in_time_order() -> None:
    drift = seen(Look(CODES, 10))
    with pytest.raises(InvalidValue, match="time order"):
        drift.look(Look(CODES, 9))
    drift.look(Look(Source.table("api", "other"), 9))


def test_only_tables_and_rule_sets_are_looked_at() -> None:
    with pytest.raises(InvalidValue, match="pass a table or a rule set"):
        Look(GROWTH, 10)
    assert Look(Source.rules("api"), 10).at == 10


def test_a_table_cannot_have_stood_after_it_moved() -> None:
    with pytest.raises(InvalidValue, match="since"):
        Look(CODES, 10, moved=True, since=11)
