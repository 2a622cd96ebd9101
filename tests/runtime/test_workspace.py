"""The travel case of the source text (appendix C.6), lived in a workspace that keeps everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lapse.admission import (
    Blocked,
    Failure,
    Member,
    Presence,
    Reason,
    Refusal,
    Refused,
    Sealed,
)
from lapse.ledger import Store
from lapse.runtime import CycleStory, ItemStory, LeftOut
from lapse.storage import InMemoryStore
from lapse.storage.sqlite import SqliteStore
from lapse.testing import SequenceIds
from lapse.testing.workspaces import FOR_BOOKING, HER, Town

Stores = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    """Gives handles on one ledger, as several processes would hold them."""
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "ledger.sqlite", ids=SequenceIds("ledger"))
    return InMemoryStore(ids=SequenceIds("ledger")).again


@pytest.fixture
def town(stores: Stores) -> Town:
    return Town(stores())


def presence(town: Town) -> tuple[Presence, str]:
    """Where she is, and in which cycle."""
    member = town.work.member(HER)
    assert isinstance(member, Member)
    return member.presence, member.cycle


def test_a_return_is_blocked_names_what_is_missing_and_succeeds_once_that_is_there(
    town: Town,
) -> None:
    town.before()
    departure = town.work.depart(HER)
    assert (departure.epoch, len(departure.items)) == (11, 11)
    town.meanwhile()

    first = town.work.return_(FOR_BOOKING, cycle="r1")
    assert isinstance(first, Blocked)
    assert first.failures == (Failure.INSUFFICIENT_COVERAGE, Failure.INSUFFICIENT_CRITICAL)
    missing = [(m.dependency, m.needed_by, m.last and m.last.item) for m in first.missing]
    assert missing == [("d_p", ("t",), "p0")]
    assert [(u.slot, u.by) for u in first.unknown] == [("pickup", "h1")]
    assert presence(town) == (Presence.BLOCKED, "r1")

    town.confirms()
    second = town.work.return_(FOR_BOOKING, cycle="r2")
    assert isinstance(second, Sealed)
    shown = [item.id for item in second.view.items]
    assert shown[:4] == ["o_h", "f_h", "o_t", "f_t"]
    assert sorted(shown[4:]) == ["c", "h1", "p1", "t1"]
    assert presence(town) == (Presence.ADMITTED, "r2")
    assert town.work.view("r2", FOR_BOOKING) == second.view
    assert town.work.signed_view("r2", FOR_BOOKING) == second.signed
    text = town.work.brief("r2", FOR_BOOKING)
    assert isinstance(text, str)
    assert "Riverside is booked" in text
    assert "Sunrise" not in text
    assert town.work.experience("r2", FOR_BOOKING) == second.experience
    assert [item.id for item in second.experience] == ["e_c"]


def test_everything_outlives_the_process(stores: Stores) -> None:
    town = Town(stores())
    town.before()
    town.work.depart(HER)
    town.meanwhile()
    town.confirms()
    sealed = Town(stores(), "x", clock=town.clock).work.return_(FOR_BOOKING, cycle="r1")
    assert isinstance(sealed, Sealed)
    third = Town(stores(), "y", clock=town.clock).work
    assert third.view("r1", FOR_BOOKING) == sealed.view
    assert third.return_(FOR_BOOKING, cycle="r1") == sealed


def test_a_scan_while_she_is_away_leaves_nothing_for_the_return_to_ask(town: Town) -> None:
    town.before()
    town.work.depart(HER)
    town.meanwhile()
    looked = town.work.scan(HER)
    assert looked is not None
    assert (looked.asked > 0, looked.left) == (True, ())
    town.work.return_(FOR_BOOKING, cycle="r1")
    story = town.work.explain("r1")
    assert isinstance(story, CycleStory)
    assert (story.spent.asked, story.spent.reused) == (0, looked.asked)


def test_a_view_is_refused_to_others_and_once_the_workspace_moved(town: Town) -> None:
    town.before()
    town.work.depart(HER)
    town.work.return_(FOR_BOOKING, cycle="r1")
    for name, refusal in (
        ("principal", Refusal.PRINCIPAL_MISMATCH),
        ("role", Refusal.ROLE_MISMATCH),
        ("purpose", Refusal.PURPOSE_MISMATCH),
    ):
        asked = replace(FOR_BOOKING, **{name: "other"})
        assert town.work.view("r1", asked) == Refused((refusal,))
    town.says("n", "Something else")
    assert town.work.view("r1", FOR_BOOKING) == Refused((Refusal.EPOCH_MISMATCH,))


def test_what_became_of_an_item_and_of_a_return_is_told(town: Town) -> None:
    town.before()
    town.work.depart(HER)
    town.meanwhile()
    blocked = town.work.return_(FOR_BOOKING, cycle="r1", workload="Book the rest")
    assert isinstance(blocked, Blocked)
    item = town.work.explain("h0")
    assert isinstance(item, ItemStory)
    assert [chapter.what.value for chapter in item.chapters] == ["written", "superseded"]
    cycle = town.work.explain("r1")
    assert isinstance(cycle, CycleStory)
    assert cycle.left_out["p0"] == LeftOut((Reason.INVALIDATED,), "h1")
    assert (cycle.missing, cycle.unknown) == (blocked.missing, blocked.unknown)
    assert (cycle.coverage, cycle.failures) == (blocked.coverage, blocked.failures)
    assert cycle.workload == "Book the rest"
