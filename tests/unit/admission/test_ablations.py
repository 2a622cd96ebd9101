"""Each unsafe switch takes out one mechanism, and nothing beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lapse.admission import (
    Blocked,
    Budget,
    Coverage,
    Failure,
    Policy,
    Reason,
    Sealed,
    WorkItem,
    admit,
    expose,
)
from lapse.errors import InvalidValue
from lapse.ledger import Kind, Scope, Status
from lapse.signing import HmacKeys
from lapse.testing.workspace import MEMBER, OBSERVER, leaving, returning, statement

KEYS = HmacKeys({"k1": b"1" * 32}, sign_with="k1")
STRICT = Policy(observers=frozenset({OBSERVER}), budget=Budget(items=4, chars=1000))
OWED = (
    statement("o", kind=Kind.OBLIGATION, required=("hotel", "train"), critical=("hotel",)),
    statement("f", kind=Kind.FRONTIER, obligation="o"),
)
HOTEL = statement("h", supports=("hotel",))
TRAIN = statement("t", supports=("train",))
CHAT = statement("chat", "The weather was fine")


def cycle(*items: WorkItem, policy: Policy) -> Sealed | Blocked:
    """A return into a workspace in which nothing was known before the absence."""
    checkpoint = returning(leaving(), *items)
    return admit(checkpoint, policy, scanned={}, answers={}, signer=KEYS)


def shown(found: Sealed | Blocked) -> list[str]:
    """The ids in a view."""
    assert isinstance(found, Sealed)
    return [item.id for item in found.view.items]


def test_every_switch_is_off_unless_somebody_sets_it() -> None:
    assert (STRICT.unsafe_relevance, STRICT.unsafe_without_inference) == (None, False)
    assert (STRICT.unsafe_incomplete_views, STRICT.unsafe_unbound_experience) == (False, False)


# -- relevance in place of what is owed -----------------------------------------------------------


def test_what_scores_best_is_chosen_whatever_is_owed_and_the_last_check_stays() -> None:
    policy = replace(STRICT, unsafe_relevance={"chat": 0.9, "h": 0.8, "t": 0.1})
    found = cycle(*OWED, HOTEL, TRAIN, CHAT, policy=policy)
    assert isinstance(found, Blocked)
    assert found.failures == (Failure.INSUFFICIENT_COVERAGE,)
    assert [m.dependency for m in found.missing] == ["train"]
    roomy = replace(policy, budget=Budget(items=5, chars=1000))
    assert shown(cycle(*OWED, HOTEL, TRAIN, CHAT, policy=roomy)) == ["o", "f", "chat", "h", "t"]
    assert shown(cycle(*OWED, HOTEL, TRAIN, CHAT, policy=STRICT)) == ["o", "f", "h", "t"]


def test_without_a_score_an_item_comes_last_and_equal_scores_go_by_id() -> None:
    policy = replace(STRICT, unsafe_relevance={"t": 0.5, "h": 0.5})
    found = cycle(*OWED, CHAT, TRAIN, HOTEL, policy=policy)
    assert shown(found) == ["o", "f", "h", "t"]
    assert isinstance(found, Sealed)
    assert found.left_out == {"chat": (Reason.OVER_BUDGET,)}


def test_what_does_not_fit_is_passed_over_by_relevance_too() -> None:
    long = statement("long", "x" * 900)
    tight = Budget(items=8, chars=sum(len(i.text) for i in (*OWED, HOTEL, TRAIN)))
    policy = replace(STRICT, budget=tight, unsafe_relevance={"long": 9})
    assert shown(cycle(*OWED, long, HOTEL, TRAIN, policy=policy)) == ["o", "f", "h", "t"]


def test_a_score_that_orders_nothing_is_refused() -> None:
    with pytest.raises(InvalidValue, match="unsafe_relevance"):
        Policy(observers=frozenset(), unsafe_relevance={"h": float("nan")})


# -- no complete-view gate ------------------------------------------------------------------------


def test_an_incomplete_view_is_shown_with_what_it_covers_and_what_it_lacks() -> None:
    policy = replace(STRICT, unsafe_incomplete_views=True)
    checkpoint = returning(leaving(), *OWED, TRAIN)
    found = admit(checkpoint, policy, scanned={}, answers={}, signer=KEYS)
    assert shown(found) == ["o", "f", "t"]
    assert isinstance(found, Sealed)
    assert found.failures == (Failure.INSUFFICIENT_COVERAGE, Failure.INSUFFICIENT_CRITICAL)
    assert found.view.coverage == Coverage(covered=0, obligations=1, critical_covered=0, critical=1)
    digests = found.eligible.digests()
    assert expose(found.signed, KEYS, checkpoint.returning, digests) == found.view


def test_a_complete_view_is_the_same_with_and_without_the_gate() -> None:
    policy = replace(STRICT, unsafe_incomplete_views=True)
    found, strict = (cycle(*OWED, HOTEL, TRAIN, policy=one) for one in (policy, STRICT))
    assert isinstance(found, Sealed)
    assert isinstance(strict, Sealed)
    assert (found.signed, found.failures) == (strict.signed, ())


def test_an_obligation_in_doubt_is_not_in_the_report_of_a_view_without_it() -> None:
    doubtful = replace(OWED[0], receipts=())
    policy = replace(STRICT, unsafe_incomplete_views=True)
    found = cycle(doubtful, OWED[1], HOTEL, policy=policy)
    assert shown(found) == ["f", "h"]
    assert isinstance(found, Sealed)
    assert Failure.MISSING_OBLIGATION in found.failures
    assert found.view.coverage.obligations == 0


def test_neither_nothing_nor_too_much_is_ever_shown() -> None:
    policy = replace(STRICT, unsafe_incomplete_views=True)
    nothing = cycle(replace(HOTEL, receipts=()), policy=policy)
    much = cycle(*OWED, HOTEL, policy=replace(policy, budget=Budget(items=1)))
    assert isinstance(nothing, Blocked)
    assert isinstance(much, Blocked)
    assert Failure.NO_SAFE_CANDIDATE in nothing.failures
    assert Failure.MANDATORY_EXCEEDS_BUDGET in much.failures


# -- experience that is not bound to its sources --------------------------------------------------


def experience(name: str, *sources: WorkItem, **more: Any) -> WorkItem:
    """What somebody learned from some items."""
    fields: dict[str, Any] = {"scope": MEMBER, **more}
    return statement(name, kind=Kind.EXPERIENCE, rests_on=sources, **fields)


def test_unbound_experience_returns_to_its_owner_whatever_became_of_its_sources() -> None:
    dead = statement("dead", status=Status.REVOKED)
    items = (
        experience("bound", HOTEL),
        experience("lapsed", dead),
        experience("lost", statement("gone")),
        experience("not shown", CHAT),
        experience("none"),
        experience("another's", HOTEL, scope=Scope(principal="A2")),
        experience("unproven", HOTEL, confirmed=False),
        experience("withdrawn", HOTEL, status=Status.REVOKED),
    )
    workspace = (*OWED, HOTEL, TRAIN, CHAT, dead, *items)
    found = cycle(*workspace, policy=replace(STRICT, unsafe_unbound_experience=True))
    strict = cycle(*workspace, policy=STRICT)
    assert isinstance(found, Sealed)
    assert isinstance(strict, Sealed)
    assert found.signed == strict.signed
    assert [item.id for item in strict.experience] == ["bound"]
    back = ["bound", "lapsed", "lost", "none", "not shown"]
    assert [item.id for item in found.experience] == back
    kept = {name: found.left_out[name] for name in ("another's", "unproven", "withdrawn")}
    assert kept == {
        "another's": (Reason.AUTHORIZATION_DENIED,),
        "unproven": (Reason.PROVENANCE_MISSING,),
        "withdrawn": (Reason.REVOKED,),
    }
