"""The travel case of the source text (appendix C.6), end to end, with its printed outcomes.

A1 plans a family's trip and leaves. Meanwhile the hotel is replaced and the train moves. Nothing
says that the pickup at the old hotel is void; a verifier has to see it, and sees it by the place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from lapse.admission import (
    Blocked,
    Budget,
    Captured,
    Coverage,
    Failure,
    Incomplete,
    LastWord,
    Missing,
    Pair,
    Policy,
    Reason,
    Sealed,
    Verdict,
    WorkItem,
    admit,
    expose,
)
from lapse.ledger import Kind, Scope, Status
from lapse.signing import HmacKeys
from lapse.testing.workspace import MEMBER, OBSERVER, leaving, returning, statement

KEYS = HmacKeys({"k1": b"a key of at least 32 random bytes!"}, sign_with="k1")
POLICY = Policy(observers=frozenset({OBSERVER}), budget=Budget(items=8, chars=1000))
OWN = Scope(tenant="team", principal="A1")
A4 = "A4"


def obliges(name: str, says: str, *needs: str) -> tuple[WorkItem, WorkItem]:
    """An obligation whose dependencies are all critical, and its frontier."""
    opens = statement(
        f"o_{name}", says, kind=Kind.OBLIGATION, obligation=name, required=needs, critical=needs
    )
    tells = statement(f"f_{name}", f"{says}: open", kind=Kind.FRONTIER, obligation=name)
    return opens, tells


def learned(name: str, says: str, source: WorkItem) -> WorkItem:
    """A private experience of A1, bound to the item that it comes from."""
    return statement(name, says, kind=Kind.EXPERIENCE, scope=OWN, rests_on=(source,))


C = statement("c", "A quiet hotel near the station, below 300 dollars", supports=("d_c",))
H0 = statement("h0", "Sunrise Hotel is booked", slot="hotel", supports=("d_h",), writer="A2")
T0 = statement("t0", "The train leaves at 9:00", slot="train", supports=("d_t",), writer=A4)
P0 = statement("p0", "Pickup at 8:00 from Sunrise", slot="pickup", supports=("d_p",), writer=A4)
OWED = (
    *obliges("h", "Settle the hotel", "d_h", "d_c"),
    *obliges("t", "Settle the transfer", "d_t", "d_p", "d_c"),
)
MINE = (
    learned("e_c", "Quiet means away from the main road", C),
    learned("e_h0", "Sunrise keeps a late desk", H0),
    learned("e_p0", "The driver waits at the side door", P0),
)
BEFORE = (C, H0, T0, P0, *OWED, *MINE)

H1 = statement(
    "h1",
    "Riverside is booked for 282 dollars",
    slot="hotel",
    epoch=12,
    replaces=("h0",),
    supports=("d_h",),
)
T1 = statement(
    "t1", "The train leaves at 9:30", slot="train", epoch=13, supports=("d_t",), writer=A4
)
GUESS = statement(
    "p_proposed",
    "Perhaps a pickup at 8:30",
    slot="pickup-proposal",
    epoch=14,
    supports=("d_p",),
    writer=A4,
    confirmed=False,
)
P1 = statement(
    "p1",
    "Confirmed: pickup at 8:30 from Riverside",
    slot="pickup",
    epoch=22,
    supports=("d_p",),
    writer=A4,
)
AFTER = (*BEFORE[:1], H0.with_status(Status.SUPERSEDED), *BEFORE[2:], H1, T1, GUESS)

DEPARTURE = leaving(*BEFORE)
FIRST = returning(DEPARTURE, *AFTER)
SECOND = returning(DEPARTURE, *AFTER, P1, epoch=30, cycle="return-2")

BY_PLACE = {
    Pair("p0", "h1"): Verdict.INVALIDATES,  # it starts at a hotel where nobody stays
    Pair("p0", "t1"): Verdict.STANDS,  # a later train alone makes no early pickup impossible
}


def scanned(captured: Captured) -> dict[str, list[str]]:
    """A scanner that suspects the pickup of everything, and nothing else of anything."""
    suspects = {"h1", "t1"}
    return {
        scan.older.id: [i.id for i in scan.later if scan.older.id == "p0" and i.id in suspects]
        for scan in captured.next().scans
    }


def decided(captured: Captured, answers: Mapping[Pair, Verdict] | None = None) -> Sealed | Blocked:
    """The whole cycle."""
    return admit(
        captured.checkpoint,
        captured.policy,
        scanned=scanned(captured),
        answers=BY_PLACE if answers is None else answers,
        signer=KEYS,
    )


def sealed(captured: Captured) -> Sealed:
    """The whole cycle, which ends in a view."""
    found = decided(captured)
    assert isinstance(found, Sealed)
    return found


def blocked(captured: Captured) -> Blocked:
    """The whole cycle, which ends without one."""
    found = decided(captured)
    assert isinstance(found, Blocked)
    return found


def test_before_the_confirmation_the_pickup_is_missing_and_nothing_is_shown() -> None:
    found = blocked(Captured(FIRST, POLICY))
    assert found.outcome is Incomplete.BLOCK
    assert found.failures == (Failure.INSUFFICIENT_COVERAGE, Failure.INSUFFICIENT_CRITICAL)
    assert (found.coverage.cov, found.coverage.crit) == (1 / 2, 3 / 4)
    last = LastWord("p_proposed", A4, 14, 14, (Reason.PROVENANCE_MISSING,))
    assert found.missing == (Missing(dependency="d_p", critical=True, needed_by=("t",), last=last),)
    assert [(one.slot, one.last, one.by) for one in found.unknown] == [("pickup", "p0", "h1")]


def test_each_item_is_rejected_for_its_own_reason() -> None:
    found = blocked(Captured(FIRST, POLICY))
    rejected = {
        j.item.id: (*[r.value for r in j.reasons], j.by)
        for j in found.eligible.shared
        if not j.eligible
    }
    assert rejected == {
        "h0": ("superseded", ""),
        "t0": ("superseded", "t1"),
        "p0": ("invalidated", "h1"),
        "p_proposed": ("provenance_missing", ""),
    }
    kept = {j.item.id for j in found.eligible.shared if j.eligible}
    assert kept == {"c", "h1", "t1", "o_h", "f_h", "o_t", "f_t"}


def test_a_reset_inherits_nothing() -> None:
    found = blocked(Captured(FIRST, replace(POLICY, when_incomplete=Incomplete.RESET)))
    assert found.outcome is Incomplete.RESET
    assert [one.dependency for one in found.missing] == ["d_p"]


def test_after_the_confirmation_the_view_has_eight_items_and_covers_all() -> None:
    found = sealed(Captured(SECOND, POLICY))
    ids = [item.id for item in found.view.items]
    assert ids[:4] == ["o_h", "f_h", "o_t", "f_t"]
    assert sorted(ids[4:]) == ["c", "h1", "p1", "t1"]
    assert found.view.coverage == Coverage(covered=2, obligations=2, critical_covered=4, critical=4)


def test_experience_comes_back_with_its_source_and_not_otherwise() -> None:
    found = sealed(Captured(SECOND, POLICY))
    assert [item.id for item in found.experience] == ["e_c"]
    withheld = {name: found.left_out[name] for name in ("e_h0", "e_p0")}
    both = (Reason.DEPENDENCY_LAPSED, Reason.SOURCE_NOT_SHOWN)
    assert withheld == {"e_h0": both, "e_p0": both}


def test_the_first_decision_stays_what_it_was() -> None:
    first = blocked(Captured(FIRST, POLICY))
    second = sealed(Captured(SECOND, POLICY))
    assert blocked(Captured(FIRST, POLICY)) == first
    assert FIRST.digest() != SECOND.digest() == second.view.checkpoint
    later = returning(DEPARTURE, *AFTER, P1, epoch=40, cycle="return-3")
    third = sealed(Captured(later, POLICY))
    assert sealed(Captured(SECOND, POLICY)).signed == second.signed != third.signed
    shown = expose(second.signed, KEYS, SECOND.returning, second.eligible.digests())
    assert shown == second.view


@pytest.mark.parametrize("verdict", [Verdict.STANDS, Verdict.UNSURE])
def test_a_later_train_alone_does_not_end_an_early_pickup(verdict: Verdict) -> None:
    answers = {Pair("p0", "h1"): verdict, Pair("p0", "t1"): Verdict.STANDS}
    found = decided(Captured(FIRST, POLICY), answers)
    assert isinstance(found, Sealed if verdict is Verdict.STANDS else Blocked)


def test_the_one_who_returns_is_the_one_who_left() -> None:
    assert SECOND.returning.who == replace(MEMBER, purpose="booking")
