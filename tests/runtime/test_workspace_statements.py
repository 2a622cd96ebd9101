"""What is said into a workspace, unsaid and said again: receipts, authority, revisions, tenants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lapse.admission import LONGEST_TEXT, Epochs, Refused, Sealed
from lapse.errors import IllegalChange, InvalidValue, LapseError, UnknownRecord
from lapse.ledger import (
    ChangeKind,
    Draft,
    Interval,
    Kind,
    Outcome,
    Part,
    Receipt,
    Scope,
    Source,
    Stamp,
    Status,
    digest,
    seal,
)
from lapse.runtime import Event, ItemStory, Notice
from lapse.storage import InMemoryStore
from lapse.testing import SequenceIds
from lapse.testing.workspaces import FOR_BOOKING, HER, Town


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore(ids=SequenceIds("ledger"))


@pytest.fixture
def town(store: InMemoryStore) -> Town:
    return Town(store)


def statuses(town: Town, *names: str) -> list[str]:
    """The status of each of these items."""
    return [item(town, name).item.status.value for name in names]


def item(town: Town, name: str) -> ItemStory:
    """The story of an item."""
    found = town.work.explain(name)
    assert isinstance(found, ItemStory)
    return found


def epoch(town: Town) -> int:
    """The revision now."""
    return town.work.status().epoch


# -- evidence ------------------------------------------------------------------------------------


def test_whoever_vouches_does_so_as_it_is_written_and_for_what_it_rests_on(town: Town) -> None:
    a = town.says("a")
    b = town.says("b", "b says so", rests_on=("a",), source=Source.probe("http", "desk"))
    own = Receipt(
        observer="booking-desk",
        source=Source.probe("http", "desk"),
        at=town.clock.now(),
        digest=digest(b"b says so"),
        outcome=Outcome.CONFIRMS,
    )
    bound = Receipt(
        observer="booking-desk",
        source=Source.record("a"),
        at=town.clock.now(),
        digest=a.digest(),
        outcome=Outcome.CONFIRMS,
    )
    assert b.receipts == (own, bound)
    assert b.stamps == (Stamp(Source.record("a"), a.digest()),)


def test_what_nobody_vouches_for_has_no_receipt(town: Town) -> None:
    assert town.says("a", observer="").receipts == ()


def test_evidence_issued_elsewhere_is_kept_beside_it(town: Town) -> None:
    elsewhere = Receipt(
        observer="o", source=Source.probe("p", "t"), at=1, digest="", outcome=Outcome.CONFIRMS
    )
    assert town.says("a", observer="", receipts=[elsewhere]).receipts == (elsewhere,)


# -- statements ----------------------------------------------------------------------------------


def test_each_statement_makes_a_revision_and_holds_from_now_on(town: Town) -> None:
    first, second = town.says("a"), town.says("b", until_epoch=9)
    assert (first.epochs, second.epochs) == (Epochs(1), Epochs(2, 9))
    assert second.valid == Interval(town.clock.now())
    assert epoch(town) == 2


def test_leaving_returning_and_storing_a_view_make_no_revision(town: Town) -> None:
    town.says("a", supports=["d"])
    town.owes("o", "d")
    town.work.depart(HER)
    assert isinstance(town.work.return_(FOR_BOOKING, cycle="r"), Sealed)
    assert epoch(town) == 3
    assert not isinstance(town.work.view("r", FOR_BOOKING), Refused)


def test_an_experience_is_its_writers_alone(town: Town) -> None:
    town.says("a")
    own = town.says("e", kind=Kind.EXPERIENCE, rests_on=("a",), scope=Scope(), by="A1")
    assert own.scope == Scope(principal="A1")


def test_the_same_statement_under_one_id_is_written_once(town: Town) -> None:
    said = town.says("a", "so it is", supports=["d", "c"])
    length = town.work.store.head().seq
    assert town.says("a", "so it is", supports=["c", "d"]) == said
    own = town.says("e", kind=Kind.EXPERIENCE, scope=Scope(), rests_on=["a"])
    assert town.says("e", kind=Kind.EXPERIENCE, scope=Scope(), rests_on=["a"]) == own
    assert town.work.store.head().seq == length + 1
    others: list[dict[str, Any]] = [
        {"supports": ["c"]},
        {"supports": ["c", "d"], "slot": "b"},
        {"supports": ["c", "d"], "by": "A3"},
        {"supports": ["c", "d"], "scope": Scope()},
    ]
    for other in others:
        with pytest.raises(IllegalChange, match="another id"):
            town.says("a", "so it is", **other)


@pytest.mark.parametrize(
    ("field", "fields", "error"),
    [
        ("rests_on", {"rests_on": ["nothing"]}, UnknownRecord),
        ("rests_on", {"rests_on": ["over"]}, InvalidValue),
        ("assumes", {"assumes": ["over"]}, InvalidValue),
        ("replaces", {"replaces": ["nothing"]}, UnknownRecord),
        ("supports", {"supports": "hotel"}, InvalidValue),
        ("purposes", {"purposes": "booking"}, InvalidValue),
        ("writer", {"by": ""}, InvalidValue),
        ("text", {"text": "x" * (LONGEST_TEXT + 1)}, InvalidValue),
        ("scope.tenant", {"scope": Scope(tenant="other")}, InvalidValue),
        ("obligation", {"kind": Kind.OBLIGATION}, InvalidValue),
    ],
)
def test_a_statement_that_cannot_be_judged_is_refused_and_names_the_field(
    town: Town, field: str, fields: dict[str, Any], error: type[LapseError]
) -> None:
    town.says("over")
    town.work.close("over", by="A2")
    before = town.work.store.head()
    with pytest.raises(error) as refused:
        town.says("a", **fields)
    assert str(refused.value).startswith(f"{field} is ")
    assert town.work.store.head() == before


def test_what_takes_a_slot_for_granted_is_stamped_at_its_worth(town: Town) -> None:
    a = town.says("a", value="3")
    b = town.says("b", assumes=["a"])
    assert b.stamps == (a.as_premise(),)


# -- versions ------------------------------------------------------------------------------------


def test_a_later_version_is_like_the_old_one_and_suspends_what_rested_on_that(town: Town) -> None:
    old = town.says("a", supports=["d"], purposes=["p"], authority="user", kind=Kind.CONSTRAINT)
    town.says("b", rests_on=["a"])
    town.says("c", rests_on=["b"])
    new = town.work.supersede("a", "otherwise", by="A2", authority="user", observer="booking-desk")
    assert (new.slot, new.kind, new.scope, new.supports, new.purposes, new.replaces) == (
        "a",
        Kind.CONSTRAINT,
        old.scope,
        ("d",),
        ("p",),
        ("a",),
    )
    assert new.receipts[0].digest == digest(b"otherwise")
    assert statuses(town, "a", "b", "c") == ["superseded", "suspended", "suspended"]
    with pytest.raises(InvalidValue, match="restore"):
        town.work.supersede("a", "again", by="A2")


def test_a_version_may_support_and_rest_on_something_else(town: Town) -> None:
    town.says("a", supports=["d"])
    town.says("b")
    new = town.work.supersede(
        "a", "otherwise", by="A2", supports=["e"], rests_on=["b"], attributes={"n": 1}, value="v"
    )
    assert (new.supports, new.rests_on, new.attributes, new.value) == (
        ("e",),
        ("b",),
        {"n": 1},
        "v",
    )


def test_who_lacks_authority_is_heard_and_disputed(town: Town) -> None:
    town.says("a", authority="user")
    new = town.work.supersede("a", "otherwise", by="A3", authority="inference")
    assert (new.status, *statuses(town, "a")) == (Status.DISPUTED, "active")


# -- endings -------------------------------------------------------------------------------------


def test_an_item_is_revoked_closed_or_disputed_with_who_and_why(town: Town) -> None:
    for name in ("a", "b", "c"):
        town.says(name)
    town.says("d", rests_on=["a"])
    notice = town.work.revoke("a", by="A2", why="it was never booked")
    town.work.close("b", by="A2", why="the trip is over")
    town.work.dispute("c", by="A9", why="I see it otherwise")
    assert statuses(town, "a", "b", "c", "d") == ["revoked", "evicted", "disputed", "suspended"]
    assert (notice.what, notice.items, notice.by, notice.why, notice.epoch) == (
        "revoked",
        ("a", "d"),
        "A2",
        "it was never booked",
        5,
    )
    assert item(town, "d").notices == (notice,)
    assert [one.why for one in item(town, "c").notices] == ["I see it otherwise"]
    assert epoch(town) == 7


def test_only_the_writer_or_its_like_may_revoke_or_close(town: Town) -> None:
    town.says("a", authority="user")
    for end in (town.work.revoke, town.work.close):
        with pytest.raises(InvalidValue, match=r"^authority is 'agent': let 'A2'"):
            end("a", by="A3", authority="agent")
    assert statuses(town, "a") == ["active"]
    town.work.close("a", by="A3", authority="user")
    assert statuses(town, "a") == ["evicted"]


def test_what_is_over_is_not_ended_again_and_what_is_disputed_not_disputed(town: Town) -> None:
    town.says("a")
    town.work.dispute("a", by="A3")
    with pytest.raises(IllegalChange):
        town.work.dispute("a", by="A4")
    town.work.close("a", by="A2")
    with pytest.raises(InvalidValue, match="evicted"):
        town.work.close("a", by="A2")
    with pytest.raises(UnknownRecord):
        town.work.close("nothing", by="A2")
    with pytest.raises(InvalidValue, match=r"^by is ''"):
        town.work.dispute("a", by="")


# -- coming back ---------------------------------------------------------------------------------


def test_what_is_disputed_stands_again_by_a_receipt_and_what_fell_with_it_too(town: Town) -> None:
    town.says("a")
    town.says("b", rests_on=["a"])
    town.says("c")
    town.work.dispute("c", by="A3")
    town.work.dispute("a", by="A3")
    town.clock.advance(seconds=1)
    back = town.work.restore("a", by="A4", observer="booking-desk", why="I looked again")
    assert (back.status, back.receipts[-1].at) == (Status.ACTIVE, town.clock.now())
    assert statuses(town, "a", "b", "c") == ["active", "active", "disputed"]
    assert [notice.what for notice in item(town, "a").notices] == ["disputed", "restored"]


def test_what_somebody_else_holds_does_not_come_back_with_what_it_rests_on(town: Town) -> None:
    town.says("a")
    town.says("b", rests_on=["a"])
    part = Part.of("b", {"by": "upkeep"}, salt="s")
    at, kind = town.clock.now(), ChangeKind.SUSPENDED
    draft = Draft(kind=kind, at=at, reason="recheck", actor="upkeep", parts=(part,))
    head = town.work.store.head()
    town.work.store.append(seal([draft], head), after=head)
    town.work.dispute("a", by="A3")
    town.clock.advance(seconds=1)
    town.work.restore("a", by="A4", observer="booking-desk")
    assert statuses(town, "a", "b") == ["active", "suspended"]


def test_what_has_ended_is_said_again_and_carries_what_rested_on_it(town: Town) -> None:
    town.says("a", supports=["d"])
    town.says("b", rests_on=["a"])
    town.work.revoke("a", by="A2")
    again = town.work.restore("a", by="A4", observer="booking-desk")
    assert (again.text, again.slot, again.supports, again.replaces, again.writer) == (
        "what a says",
        "a",
        ("d",),
        ("a",),
        "A4",
    )
    assert statuses(town, "a", again.id, "b") == ["revoked", "active", "active"]


def test_what_is_said_again_rests_on_what_was_said_again(town: Town) -> None:
    town.says("a")
    town.says("b", rests_on=["a"])
    town.work.close("b", by="A2")
    town.work.close("a", by="A2")
    with pytest.raises(InvalidValue, match=r"^rests_on is 'a"):
        town.work.restore("b", by="A2", observer="booking-desk")
    a = town.work.restore("a", by="A2", observer="booking-desk")
    b = town.work.restore("b", by="A2", observer="booking-desk")
    assert b.rests_on == (a.id,)


def test_what_stands_is_not_restored_and_nobody_restores_without_evidence(town: Town) -> None:
    town.says("a")
    with pytest.raises(InvalidValue, match="suspended or disputed"):
        town.work.restore("a", by="A2", observer="booking-desk")
    with pytest.raises(InvalidValue, match=r"^observer is ''"):
        town.work.restore("a", by="A2", observer="")


# -- disputes ------------------------------------------------------------------------------------


def contested(town: Town, **more: Any) -> None:
    """Two writers say different things about one slot, and one item rests on the first."""
    town.says("a", "it is red", slot="colour", by="A2", **more)
    town.says("on a", rests_on=["a"])
    town.says("b", "it is blue", slot="colour", by="A3")


def test_a_dispute_shows_both_sides_and_is_not_settled_by_who_came_last(town: Town) -> None:
    contested(town)
    (dispute,) = town.work.status().disputes
    assert (dispute.slot, dispute.sides, dispute.stands) == ("colour", ("a", "b"), "")
    with pytest.raises(InvalidValue, match="pass evidence or a decision"):
        town.work.resolve("b", by="A3")


@pytest.mark.parametrize(
    ("ground", "reason"),
    [
        ({"observer": "booking-desk"}, "resolved_by_evidence"),
        ({"authority": "user"}, "resolved_by_decision"),
    ],
)
def test_a_dispute_is_resolved_by_evidence_or_by_decision(
    town: Town, ground: dict[str, Any], reason: str
) -> None:
    contested(town)
    town.clock.advance(seconds=1)
    settled = town.work.resolve("a", by="boss", why="I looked", **ground)
    assert (settled.text, settled.replaces, settled.status) == (
        "it is red",
        ("a", "b"),
        Status.ACTIVE,
    )
    story = item(town, settled.id)
    assert story.chapters[0].reason == reason
    assert [(one.what, one.by, one.why) for one in story.notices] == [
        ("resolved", "boss", "I looked")
    ]
    assert statuses(town, "a", "b", "on a") == ["superseded", "superseded", "active"]
    assert town.work.status().disputes == ()
    assert story.fallen is None


def test_a_higher_authority_decides_what_was_disputed(town: Town) -> None:
    town.says("a", "it is red", slot="colour", authority="user")
    town.says("b", "it is blue", slot="colour", by="A3")
    town.work.dispute("a", by="A3")
    settled = town.work.resolve("a", by="A2")
    assert (settled.writer, settled.authority) == ("A2", "user")


def test_an_unknown_observer_resolves_nothing(town: Town) -> None:
    contested(town)
    town.clock.advance(seconds=1)
    with pytest.raises(InvalidValue, match="accepted observer"):
        town.work.resolve("a", by="boss", observer="somebody")


def test_what_is_in_no_dispute_is_not_resolved(town: Town) -> None:
    town.says("a")
    with pytest.raises(InvalidValue, match=r"^winner is 'a'"):
        town.work.resolve("a", by="boss", authority="user")


# -- several tenants -----------------------------------------------------------------------------


def test_tenants_of_one_ledger_never_see_each_other(store: InMemoryStore) -> None:
    red = Town(store, "r", tenant="red")
    blue = Town(store.again(), "b", tenant="blue")
    red.says("secret", "red's secret", slot="same", value="1")
    assert red.says("on it", assumes=["secret"]).scope.tenant == "red"
    red.work.depart(HER)
    assert blue.work.status().epoch == 0
    assert blue.work.member(HER) is None
    for attempt in (
        lambda: blue.work.explain("secret"),
        lambda: blue.work.revoke("secret", by="A2"),
        lambda: blue.work.supersede("secret", "mine", by="A2"),
        lambda: blue.says("b", rests_on=["secret"]),
        lambda: blue.says("b", replaces=["secret"]),
        lambda: blue.work.restore("secret", by="A2", observer="o"),
    ):
        with pytest.raises(UnknownRecord):
            attempt()
    with pytest.raises(IllegalChange, match="exists already"):
        blue.says("secret")
    blue.says("own", "blue's own", slot="same", value="1", supports=["d"])
    blue.owes("o", "d")
    blue.work.depart(HER)
    back = blue.work.return_(FOR_BOOKING, cycle="r")
    assert isinstance(back, Sealed)
    assert [one.id for one in back.eligible.checkpoint.items] == ["f_o", "o_o", "own"]
    assert red.work.status().epoch == 2
    with pytest.raises(UnknownRecord):
        red.work.view("r", FOR_BOOKING)


# -- listening -----------------------------------------------------------------------------------


def test_every_decision_is_told(store: InMemoryStore) -> None:
    heard: list[Event] = []
    town = Town(store, listeners=[heard.append])
    town.says("a")
    town.says("b", rests_on=["a"])
    town.work.supersede("a", "x", by="A2")
    town.work.revoke("b", by="A2")
    town.work.depart(HER)
    town.work.scan(HER)
    town.work.return_(FOR_BOOKING, cycle="r")
    assert [(event.what, event.record) for event in heard] == [
        ("recorded", "a"),
        ("recorded", "b"),
        ("recorded", "w-3"),
        ("superseded", "a"),
        ("revoked", "b"),
        ("departed", None),
        ("scanned", None),
        ("blocked", None),
    ]


def test_a_notice_that_says_something_else_is_not_read(town: Town) -> None:
    town.says("a")
    notice = town.work.dispute("a", by="A3", why="so")
    record = notice.record(None)
    assert Notice.of(record) == notice
    with pytest.raises(InvalidValue):
        Notice.of(replace(record, content={"form": "notice"}))
