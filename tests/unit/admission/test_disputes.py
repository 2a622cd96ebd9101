"""A dispute shows both sides to nobody, and is decided on a ground, never by who wrote last."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lapse.admission import (
    RANKS,
    Captured,
    Decision,
    Dispute,
    Eligible,
    Ending,
    Evidence,
    Ground,
    Outranks,
    Policy,
    WorkItem,
    disputes_in,
    put,
    settlement,
)
from lapse.errors import InvalidValue
from lapse.ledger import Interval, Kind, Outcome, Source, Status
from lapse.testing.workspace import (
    OBSERVER,
    WrittenWorkspace,
    leaving,
    receipt,
    returning,
    statement,
)

ACCEPTED = frozenset({OBSERVER})
POLICY = Policy(observers=ACCEPTED, unsafe_without_inference=True)


def says(name: str, text: str, *, epoch: int, writer: str, **more: Any) -> WorkItem:
    """What somebody says about the hotel."""
    fields: dict[str, Any] = {"slot": "hotel", "writer": writer} | more
    return statement(name, text, epoch=epoch, **fields)


ONE = says("a", "Sunrise", epoch=2, writer="A2")
OTHER = says("b", "Riverside", epoch=3, writer="A3")
PICKUP = statement("p", epoch=4, rests_on=(ONE,))
DESK = statement("q", epoch=4, rests_on=(OTHER,))


def judged(*items: WorkItem) -> Eligible:
    """The cycle up to the gates, when everything happened during an absence."""
    return Captured(returning(leaving(), *items), POLICY).next().next({}, {}).next()


def seen(item: WorkItem, *, at: int, **changed: Any) -> Evidence:
    """The desk looked at a side again."""
    fresh = receipt(Source.record(item.id), item.digest(), at=at)
    return Evidence(replace(fresh, **changed), ACCEPTED)


def settled(here: WrittenWorkspace, winner: WorkItem, ground: Ground) -> WorkItem:
    """The dispute of a workspace, resolved."""
    (dispute,) = judged(*here.items()).disputes
    by_id = {item.id: item for item in here.items()}
    sides = [by_id[name] for name in dispute.sides]
    item = settlement(sides, winner.id, ground, RANKS, item_id="s", epoch=9, at=here.at)
    here.resolve(item, ground)
    return item


def test_both_sides_are_reported_and_neither_is_shown() -> None:
    found = judged(OTHER, ONE, statement("x"))
    assert found.disputes == (Dispute(slot="hotel", sides=("a", "b"), since=3),)
    assert set(found.digests()) == {"x"}
    third = says("c", "Sunrise", epoch=5, writer="A2")
    assert judged(ONE, OTHER, third).disputes[0].sides == ("a", "b", "c")


def test_what_agrees_or_was_decided_by_rank_is_no_dispute() -> None:
    user = replace(OTHER, authority="user")
    assert judged(ONE, user).disputes == ()
    assert judged(ONE, replace(OTHER, text="Sunrise")).disputes == ()
    assert judged(ONE.with_status(Status.EVICTED), OTHER).disputes == ()


def test_a_revoked_opponent_is_a_side_too() -> None:
    (found,) = judged(ONE.with_status(Status.REVOKED), OTHER).disputes
    assert found.sides == ("a", "b")


def test_whatever_opposes_the_winner_is_a_side() -> None:
    disputed = replace(ONE, authority="agent", status=Status.DISPUTED)
    held = replace(OTHER, authority="agent", status=Status.SUSPENDED)
    assert judged(disputed, held).disputes[0].sides == ("a", "b")
    low = says("g", "Central", epoch=4, writer="A4", authority="inference")
    linked = says("l", "Lake", epoch=4, writer="A5", authority="agent", replaces=("x",))
    stated = statement("x", authority="user")
    found = judged(disputed, held, low, linked, stated)
    assert found.disputes[0].sides == ("a", "b", "l")
    gone = held.with_status(Status.SUPERSEDED)
    assert judged(disputed, gone).disputes[0].sides == ("a",)


def test_what_somebody_disputed_is_a_side_alone_beside_what_stands() -> None:
    assert judged(ONE.with_status(Status.DISPUTED)).disputes == (Dispute("hotel", ("a",), 2),)
    here = WrittenWorkspace(replace(ONE, authority="user"))
    here.put(replace(OTHER, authority="inference", replaces=("a",)))
    assert judged(*here.items()).disputes == (Dispute("hotel", ("a", "b"), 3, stands="a"),)


def test_whatever_stands_has_settled_what_came_before_it() -> None:
    user = says("u", "Central", epoch=4, writer="Bo", authority="user")
    assert judged(ONE, OTHER, user).disputes == ()
    assert judged(ONE.with_status(Status.DISPUTED), user).disputes == ()
    guess = says("g", "None", epoch=5, writer="A3", status=Status.DISPUTED)
    assert judged(ONE, OTHER, user, guess).disputes == (Dispute("hotel", ("u", "g"), 5, "u"),)


def test_private_experience_is_nobodys_to_dispute() -> None:
    mine = says("e", "Quiet", epoch=2, writer="A1", kind=Kind.EXPERIENCE)
    assert judged(mine.with_status(Status.DISPUTED)).disputes == ()
    assert disputes_in((), {}) == ()


@pytest.mark.parametrize("winner", [ONE, OTHER], ids=["the earlier", "the later"])
@pytest.mark.parametrize("kind", ["evidence", "decision"])
def test_a_ground_decides_for_either_side(winner: WorkItem, kind: str) -> None:
    here = WrittenWorkspace(ONE, OTHER, PICKUP, DESK)
    ground = seen(winner, at=8) if kind == "evidence" else Decision("Ada")
    assert set(judged(*here.items()).digests()) == set()
    settled(here, winner, ground)
    resting, lost = ("p", "q") if winner is ONE else ("q", "p")
    assert here.statuses() == {
        "a": "superseded",
        "b": "superseded",
        resting: "active",
        lost: "suspended",
        "s": "active",
    }
    after = judged(*here.items())
    assert set(after.digests()) == {"s", resting}
    assert after.disputes == ()
    assert f"resolved_by_{kind}" in {change.reason for change in here.changes}


def test_authority_decides_where_it_is_above_every_other() -> None:
    low = replace(ONE, authority="agent")
    high = replace(OTHER, authority="tool")
    here = WrittenWorkspace(high, low)
    here.end(Ending.DISPUTED, "b")
    assert [one.sides for one in judged(*here.items()).disputes] == [("b",)]
    item = settlement((low, high), "b", Outranks(), RANKS, item_id="s", epoch=9, at=9)
    here.resolve(item, Outranks())
    assert set(judged(*here.items()).digests()) == {"s"}
    assert (item.writer, item.authority, item.text) == ("A3", "tool", "Riverside")
    for winner in ("a", "b"):
        with pytest.raises(InvalidValue, match="not above"):
            settlement((ONE, OTHER), winner, Outranks(), RANKS, item_id="s", epoch=9, at=9)
    with pytest.raises(InvalidValue, match="not above"):
        settlement((low, high), "a", Outranks(), {}, item_id="s", epoch=9, at=9)


def test_a_dispute_of_one_is_resolved_by_saying_it_again() -> None:
    here = WrittenWorkspace(ONE, PICKUP)
    here.end(Ending.DISPUTED, "a")
    assert here.statuses() == {"a": "disputed", "p": "suspended"}
    settled(here, ONE, seen(ONE, at=8))
    assert here.statuses() == {"a": "superseded", "p": "active", "s": "active"}
    assert set(judged(*here.items()).digests()) == {"s", "p"}


def test_a_resolution_is_undone_by_writing() -> None:
    here = WrittenWorkspace(ONE, OTHER, PICKUP)
    settled(here, OTHER, Decision("Ada"))
    again = replace(
        ONE,
        id="a2",
        writer="Ada",
        authority="user",
        epochs=replace(ONE.epochs, since=10),
        valid=Interval(10),
        replaces=("s",),
    )
    drafts = put(here.state, again, RANKS, at=10, actor="Ada", salt="undo")
    here.carry_out(drafts)
    assert set(judged(*here.items()).digests()) == {"a2"}
    here.lift("p")
    assert "p" in here.statuses()


STRANGER = "somebody"
LATER = receipt(Source.probe("desk", "hotel"), "", at=8)


@pytest.mark.parametrize(
    ("winner", "ground", "remedy"),
    [
        ("a", Evidence(replace(LATER, outcome=Outcome.CONTRADICTS), ACCEPTED), "confirms a side"),
        ("a", Evidence(replace(LATER, observer=STRANGER), ACCEPTED), "accepted observer"),
        ("a", Evidence(LATER, frozenset()), "accepted observer"),
        ("a", seen(OTHER, at=8), "about the winner"),
        ("a", seen(ONE, at=3), "after 3"),
        ("a", seen(ONE, at=10), "future"),
        ("a", Decision(""), "who decides"),
        ("a", Decision("A9", "inference"), "takes the authority"),
        ("nowhere", Decision("Ada"), "one of the sides"),
    ],
)
def test_what_does_not_decide_is_refused_and_says_what_would(
    winner: str, ground: Ground, remedy: str
) -> None:
    sides = [replace(side, authority="agent") for side in (ONE, OTHER)]
    with pytest.raises(InvalidValue, match=remedy):
        settlement(sides, winner, ground, RANKS, item_id="s", epoch=9, at=9)


def test_evidence_is_later_than_whatever_was_seen_of_either_side() -> None:
    checked = replace(OTHER, receipts=(*OTHER.receipts, replace(LATER, at=7)))
    with pytest.raises(InvalidValue, match="after 7"):
        settlement((ONE, checked), "a", seen(ONE, at=7), RANKS, item_id="s", epoch=9, at=9)
    found = settlement((ONE, checked), "a", seen(ONE, at=8), RANKS, item_id="s", epoch=9, at=9)
    assert found.receipts[-1].at == 8
    ignored = replace(OTHER, receipts=(*OTHER.receipts, replace(LATER, observer=STRANGER, at=9)))
    assert settlement((ONE, ignored), "a", seen(ONE, at=8), RANKS, item_id="s", epoch=9, at=9)


def test_sides_are_of_one_slot_and_the_winner_lives() -> None:
    elsewhere = statement("x")
    with pytest.raises(InvalidValue, match="slot 'hotel'"):
        settlement((ONE, elsewhere), "a", Decision("Ada"), RANKS, item_id="s", epoch=9, at=9)
    dead = ONE.with_status(Status.REVOKED)
    with pytest.raises(InvalidValue, match="not ended"):
        settlement((dead, OTHER), "a", Decision("Ada"), RANKS, item_id="s", epoch=9, at=9)
    found = settlement((dead, OTHER), "b", Decision("Ada"), RANKS, item_id="s", epoch=9, at=9)
    assert found.replaces == ("a", "b")


def test_evidence_for_a_lower_authority_has_to_be_decided_by_somebody() -> None:
    user = replace(ONE, authority="user", writer="Bo")
    with pytest.raises(InvalidValue, match="pass a decision"):
        settlement((user, OTHER), "b", seen(OTHER, at=8), RANKS, item_id="s", epoch=9, at=9)
    assert settlement((user, OTHER), "b", Decision("Ada"), RANKS, item_id="s", epoch=9, at=9)
