"""The travel case of the source text (appendix C.6), lived in a workspace that keeps everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lapse.admission import (
    Blocked,
    Budget,
    Failure,
    Policy,
    Presence,
    Question,
    Reason,
    Refusal,
    Refused,
    Scan,
    Sealed,
    Verdict,
    WorkItem,
)
from lapse.ledger import Kind, Scope, Store
from lapse.runtime import (
    Cost,
    CycleStory,
    ItemStory,
    Judging,
    LeftOut,
    Opinion,
    Proposal,
    Workspace,
)
from lapse.signing import HmacKeys
from lapse.storage import InMemoryStore
from lapse.storage.sqlite import SqliteStore
from lapse.testing import ManualClock, SequenceIds

KEYS = HmacKeys({"k1": b"a key of at least 32 random bytes!"}, sign_with="k1")
POLICY = Policy(observers=frozenset({"desk"}), budget=Budget(items=8, chars=1000))
HER = Scope(principal="A1", role="planner", task="trip")
FOR_BOOKING = replace(HER, purpose="booking")


class Everything:
    """A proposer that suspects every pair."""

    name = "everything/1"

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        return {scan.older.id: Proposal(tuple(item.id for item in scan.later)) for scan in scans}


class ByPlace:
    """A verifier that knows where the pickup starts, and counts how often it is asked."""

    name = "by place/1"

    def __init__(self) -> None:
        self.asked = 0

    def most(self, question: Question) -> Cost:
        del question
        return Cost(calls=1)

    def verify(self, question: Question) -> Opinion:
        self.asked += 1
        breaks = "Sunrise" in question.older.text and "Riverside" in question.later.text
        verdict = Verdict.INVALIDATES if breaks else Verdict.STANDS
        return Opinion(verdict, cost=Cost(calls=1))


Stores = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    """Gives handles on one ledger, as several processes would hold them."""
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "ledger.sqlite", ids=SequenceIds("ledger"))
    return InMemoryStore(ids=SequenceIds("ledger")).again


class Town:
    """A workspace under a test's control; another one may be opened on the same ledger."""

    def __init__(self, stores: Stores, prefix: str = "w") -> None:
        self.clock = ManualClock(1_000)
        self.judge = ByPlace()
        self.workspace = Workspace(
            stores(),
            clock=self.clock,
            ids=SequenceIds(prefix),
            policy=POLICY,
            signer=KEYS,
            verifier=KEYS,
            judging=Judging((Everything(),), self.judge),
        )

    def says(self, name: str, text: str, *, by: str = "A2", **more: Any) -> WorkItem:
        """A statement that the desk vouches for, a second after the one before."""
        self.clock.advance(seconds=1)
        fields: dict[str, Any] = {"slot": name, "observer": "desk", "scope": Scope(task="trip")}
        return self.workspace.record(text, by=by, item_id=name, **(fields | more))

    def owes(self, name: str, *needs: str) -> None:
        """An obligation whose dependencies are all critical, and its frontier."""
        opens: dict[str, Any] = {"kind": Kind.OBLIGATION, "required": needs, "critical": needs}
        self.says(f"o_{name}", f"Settle {name}", obligation=name, **opens)
        self.says(f"f_{name}", f"{name} is open", obligation=name, kind=Kind.FRONTIER)

    def before(self) -> None:
        """What there is when the planner leaves."""
        c = self.says("c", "A quiet hotel, below 300 dollars", supports=("d_c",))
        h0 = self.says("h0", "Sunrise is booked", slot="hotel", supports=("d_h",))
        self.says("t0", "The train leaves at 9:00", slot="train", supports=("d_t",), by="A4")
        p0 = self.says("p0", "Pickup at Sunrise", slot="pickup", supports=("d_p",), by="A4")
        self.owes("h", "d_h", "d_c")
        self.owes("t", "d_t", "d_p", "d_c")
        for name, source in (("e_c", c), ("e_h0", h0), ("e_p0", p0)):
            what: dict[str, Any] = {
                "kind": Kind.EXPERIENCE,
                "rests_on": (source.id,),
                "scope": Scope(),
            }
            self.says(name, f"learned from {source.id}", by="A1", **what)

    def meanwhile(self) -> None:
        """What the others do while the planner is away."""
        self.clock.advance(seconds=1)
        self.h1 = self.workspace.supersede("h0", "Riverside is booked", by="A2", observer="desk")
        self.says("t1", "The train leaves at 9:30", slot="train", supports=("d_t",), by="A4")

    def confirms(self) -> WorkItem:
        """The pickup is arranged anew."""
        return self.says("p1", "Pickup at Riverside", slot="pickup", supports=("d_p",), by="A4")


@pytest.fixture
def town(stores: Stores) -> Town:
    return Town(stores)


def test_a_return_is_blocked_names_what_is_missing_and_succeeds_once_that_is_there(
    town: Town,
) -> None:
    work = town.workspace
    town.before()
    departure = work.depart(HER)
    assert (departure.epoch, len(departure.items)) == (11, 11)
    town.meanwhile()

    first = work.return_(FOR_BOOKING, cycle="r1")
    assert isinstance(first, Blocked)
    assert first.failures == (Failure.INSUFFICIENT_COVERAGE, Failure.INSUFFICIENT_CRITICAL)
    assert [(m.dependency, m.needed_by, m.last and m.last.item) for m in first.missing] == [
        ("d_p", ("t",), "p0")
    ]
    assert [(u.slot, u.by) for u in first.unknown] == [("pickup", town.h1.id)]
    member = work.member(HER)
    assert member is not None
    assert (member.presence, member.cycle) == (Presence.BLOCKED, "r1")

    town.confirms()
    second = work.return_(FOR_BOOKING, cycle="r2")
    assert isinstance(second, Sealed)
    shown = [item.id for item in second.view.items]
    assert shown[:4] == ["o_h", "f_h", "o_t", "f_t"]
    assert sorted(shown[4:]) == sorted(["c", town.h1.id, "p1", "t1"])
    assert work.view("r2", FOR_BOOKING) == second.view
    assert work.signed_view("r2", FOR_BOOKING) == second.signed
    text = work.brief("r2", FOR_BOOKING)
    assert isinstance(text, str)
    assert "Riverside is booked" in text
    assert "Sunrise" not in text
    experience = work.experience("r2", FOR_BOOKING)
    assert isinstance(experience, tuple)
    assert [item.id for item in experience] == ["e_c"]


def test_everything_survives_the_process(stores: Stores) -> None:
    town = Town(stores)
    town.before()
    town.workspace.depart(HER)
    town.meanwhile()
    town.confirms()
    other = Town(stores, "x")
    other.clock.jump(town.clock.now())
    sealed = other.workspace.return_(FOR_BOOKING, cycle="r1")
    assert isinstance(sealed, Sealed)
    third = Town(stores, "y")
    third.clock.jump(town.clock.now())
    assert third.workspace.view("r1", FOR_BOOKING) == sealed.view
    assert third.workspace.return_(FOR_BOOKING, cycle="r1") == sealed
    assert third.judge.asked == 0


def test_a_scan_while_away_makes_the_return_ask_nothing(town: Town) -> None:
    town.before()
    town.workspace.depart(HER)
    town.meanwhile()
    looked = town.workspace.scan(HER)
    assert looked is not None
    assert looked.left == ()
    asked = town.judge.asked
    assert asked > 0
    town.workspace.return_(FOR_BOOKING)
    assert town.judge.asked == asked


def test_a_view_is_refused_to_others_and_when_the_workspace_moved(town: Town) -> None:
    work = town.workspace
    town.before()
    work.depart(HER)
    work.return_(FOR_BOOKING, cycle="r1")
    for name, refusal in (
        ("principal", Refusal.PRINCIPAL_MISMATCH),
        ("role", Refusal.ROLE_MISMATCH),
        ("purpose", Refusal.PURPOSE_MISMATCH),
    ):
        assert work.view("r1", replace(FOR_BOOKING, **{name: "other"})) == Refused((refusal,))
    town.says("n", "Something else")
    assert work.view("r1", FOR_BOOKING) == Refused((Refusal.EPOCH_MISMATCH,))


def test_what_became_of_an_item_and_of_a_return_is_told(town: Town) -> None:
    work = town.workspace
    town.before()
    work.depart(HER)
    town.meanwhile()
    work.return_(FOR_BOOKING, cycle="r1")
    item = work.explain("h0")
    assert isinstance(item, ItemStory)
    assert [chapter.what.value for chapter in item.chapters] == ["written", "superseded"]
    cycle = work.explain("r1")
    assert isinstance(cycle, CycleStory)
    assert cycle.left_out["p0"] == LeftOut((Reason.INVALIDATED,), town.h1.id)
