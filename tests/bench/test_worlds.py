"""The worlds over real histories: what they accept, what they suggest, and that it mends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lapse.errors import InvalidValue
from lapse_bench.traces import Event, History, find, read
from lapse_bench.workload import Draws, moments
from lapse_bench.worlds import ApiConstraints, CurrentRelease, world_of
from lapse_bench.worlds.examples import accepts, example_of

CALL = "POST /calls"


def api(rows: dict[str, dict[str, Any]]) -> ApiConstraints:
    world = ApiConstraints()
    world.apply("t", [added(f"{CALL}#{name}", row) for name, row in rows.items()])
    return world


def added(key: str, row: dict[str, Any] | None) -> Event:
    return Event(0, "c", "t", key, "added" if row else "removed", None, row)


def faults(world: ApiConstraints, request: dict[str, Any]) -> dict[str, Any]:
    found = world.objections("t", CALL, request)
    assert found is not None
    return {name: value for one in found for name, value in one.parameters.items()}


@pytest.mark.parametrize(
    "row",
    [
        {"type": "string", "pattern": "^CR[0-9a-fA-F]{32}$", "maxLength": 34},
        {"type": "string", "pattern": "^[A-Z]{3,3}$"},
        {"type": "string", "pattern": "^.{1,16}$"},
        {"type": "string", "pattern": "payTo|upi_collect"},
        {"type": "string", "enum": ["b", "a"], "default": "a"},
        {"type": "integer", "minimum": 50, "maximum": 100},
        {"type": "integer", "maximum": 0},
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "uri", "maxLength": 30},
        {"type": "number|string"},
        {"type": "boolean"},
        {"type": "array"},
        {"type": "object"},
        {},
    ],
)
def test_what_a_service_suggests_it_accepts(row: dict[str, Any]) -> None:
    possible, value = example_of(row)
    assert possible
    assert accepts(row, value)


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ({"type": "integer"}, True),
        ({"type": "integer"}, "1"),
        ({"type": "string"}, 1),
        ({"type": "integer", "maximum": 1000}, 10_000),
        ({"type": "integer", "minimum": 1}, 0),
        ({"type": "integer", "format": "int32"}, 2**31),
        ({"type": "string", "maxLength": 3}, "four"),
        ({"type": "string", "pattern": "^AC"}, "example"),
        ({"type": "string", "format": "date"}, "tomorrow"),
        ({"type": "string", "format": "uri"}, "no scheme"),
        ({"enum": ["a"]}, "b"),
    ],
)
def test_what_a_row_forbids_is_refused(row: dict[str, Any], value: object) -> None:
    assert not accepts(row, value)


def test_a_pattern_that_cannot_be_met_is_not_enforced() -> None:
    world = api({"query.a": {"type": "string", "pattern": r"(?<=x)y(?!z)"}})
    assert faults(world, {"query.a": "anything"}) == {}


def test_unknown_missing_and_wrong_parameters_are_mended_by_what_is_suggested() -> None:
    world = api(
        {
            "query.PageSize": {"type": "integer", "maximum": 1000},
            "body.To": {"type": "string", "required": True},
            "body.Card": {"type": "object"},
            "body.Card.Number": {"type": "string", "required": True},
        }
    )
    request = {"query.PageSize": 10_000, "query.Gone": "x"}
    fixes = faults(world, request)
    assert fixes == {"query.PageSize": 1, "query.Gone": None, "body.To": "sample"}
    assert faults(world, {**request, **fixes}) == {}


def test_a_member_is_demanded_when_what_it_lies_in_is_given() -> None:
    world = api(
        {
            "body.Card": {"type": "object"},
            "body.Card.Number": {"type": "string", "required": True},
            "body.Card.Cvc": {"type": "string"},
        }
    )
    assert faults(world, {}) == {}
    assert faults(world, {"body.Card.Cvc": "1"}) == {"body.Card.Number": "sample"}


def test_a_fix_is_stale_when_its_value_is_no_longer_accepted() -> None:
    world = api({"query.Status": {"type": "string", "enum": ["open"]}})
    fix = {"query.Status": "open"}
    assert world.accepts("t", CALL, {}, fix)
    world.apply("t", [added(f"{CALL}#query.Status", {"enum": ["OPEN"]})])
    assert not world.accepts("t", CALL, {}, fix)
    world.apply("t", [added(f"{CALL}#query.Status", None)])
    assert not world.accepts("t", CALL, {}, fix)
    assert world.objections("t", CALL, {}) is None
    assert world.accepts("t", CALL, {}, {"query.Status": None})


def test_every_first_request_to_a_real_api_is_mended_within_five_attempts() -> None:
    history = read(find("twilio", start=Path("/"), full=False).path)
    world = ApiConstraints()
    for _, table, events in history.batches():
        world.apply(table, events)
    for table, subject in world.targets():
        request = world.template(table, subject)
        for _ in range(4):
            found = world.objections(table, subject, request)
            assert found is not None
            for objection in found:
                request.update(objection.parameters)
        assert world.objections(table, subject, request) == ()


def test_only_the_current_release_of_a_cycle_is_accepted() -> None:
    world = CurrentRelease()
    world.apply("php", [Event(0, "c", "php", "7.1", "added", None, {"latest": "7.1.1"})])
    found = world.objections("php", "7.1", {"cycle": "7.1"})
    assert found is not None
    (objection,) = found
    assert (objection.parameters, objection.when) == ({"version": "7.1.1"}, {"cycle": "7.1"})
    assert world.objections("php", "7.1", {"cycle": "7.1", "version": "7.1.1"}) == ()
    world.apply("php", [Event(0, "d", "php", "7.1", "changed", {}, {"latest": "7.1.2"})])
    assert not world.accepts("php", "7.1", objection.when, objection.parameters)


def test_a_history_that_fits_no_world_is_refused() -> None:
    event = Event(0, "c", "t", "k", "added", None, {"colour": "red"})
    with pytest.raises(InvalidValue, match="rows with a"):
        world_of(History("colours", (event,)))


def drawn(until: int, *, seed: int, events: tuple[Event, ...]) -> list[tuple[str, str]]:
    world = CurrentRelease()
    draws = Draws(world, seed=seed)
    found: list[tuple[str, str]] = []
    for event in events[:until]:
        world.apply(event.table, [event])
        draws.moved()
        for _ in range(5):
            target = draws.next()
            assert target is not None
            found.append(target[:2])
    return found


def test_what_is_asked_for_does_not_depend_on_what_comes_later() -> None:
    events = read(find("endoflife", start=Path("/"), full=False).path).events[:200]
    short, long = (drawn(until, seed=7, events=events) for until in (100, 200))
    assert short == long[: len(short)]
    assert short != drawn(100, seed=8, events=events)


def test_episodes_are_spread_over_the_history() -> None:
    history = History(
        "two",
        (
            Event(0, "a", "t", "k", "added", None, {}),
            Event(100, "b", "t", "k", "removed", {}, None),
        ),
    )
    assert list(moments(history, 5)) == [10, 30, 50, 70, 90]
