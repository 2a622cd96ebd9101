"""The cycle: what a policy may say, and which private experience comes back."""

from __future__ import annotations

from typing import Any

import pytest

from lapse.admission import (
    Blocked,
    Captured,
    Failure,
    Policy,
    Reason,
    Scan,
    Sealed,
    Verdict,
    WorkItem,
    admit,
)
from lapse.errors import InvalidValue
from lapse.ledger import Kind, Scope
from lapse.signing import HmacKeys
from lapse.testing.workspace import MEMBER, OBSERVER, leaving, returning, statement

KEYS = HmacKeys({"k1": b"1" * 32}, sign_with="k1")
POLICY = Policy(observers=frozenset({OBSERVER}))
OWED = (
    statement("o", kind=Kind.OBLIGATION, required=("d",)),
    statement("f", kind=Kind.FRONTIER, obligation="o"),
)
HOTEL = statement("h", supports=("d",))
OTHER = statement("x")
STORM = statement("storm", epoch=12)


def experience(name: str, *sources: WorkItem, scope: Scope = MEMBER, **more: Any) -> WorkItem:
    """What somebody learned from some items."""
    return statement(name, kind=Kind.EXPERIENCE, rests_on=sources, scope=scope, **more)


def cycle(*items: WorkItem, policy: Policy = POLICY) -> Sealed | Blocked:
    """A return into a workspace in which nothing was known before the absence."""
    checkpoint = returning(leaving(), *items)
    return admit(checkpoint, policy, scanned={}, answers={}, signer=KEYS)


def test_each_state_leads_to_the_next() -> None:
    before = leaving(*OWED, HOTEL)
    captured = Captured(returning(before, *OWED, HOTEL, STORM), POLICY)
    screened = captured.next()
    assert screened.scans == (Scan(HOTEL, (STORM,)),)
    (question,) = screened.proposals({"h": ["storm"]}).questions
    judged = screened.next({"h": ["storm"]}, {question.pair: Verdict.INVALIDATES})
    assert [(one.slot, one.by) for one in judged.unknown] == [("h", "storm")]
    assert judged.next().digests() == {i.id: i.digest() for i in (*OWED, STORM)}
    assert screened.history.fallen == {}


def test_nobody_looking_is_no_reason_to_show_anything() -> None:
    before = leaving(*OWED, HOTEL)
    checkpoint = returning(before, *OWED, HOTEL, STORM)
    silent = admit(checkpoint, POLICY, scanned={}, answers={}, signer=KEYS)
    assert isinstance(silent, Blocked)
    last = silent.missing[0].last
    assert last is not None
    assert last.reasons == (Reason.UNSCANNED,)
    unsafe = Policy(observers=frozenset({OBSERVER}), unsafe_without_inference=True)
    assert isinstance(admit(checkpoint, unsafe, scanned={}, answers={}, signer=KEYS), Sealed)


def test_zero_gates_admit_nothing() -> None:
    found = cycle(*OWED, HOTEL, policy=Policy(observers=frozenset({OBSERVER}), gates=()))
    assert isinstance(found, Blocked)
    assert {j.reasons for j in found.eligible.judgements} == {(Reason.NO_GATES,)}
    assert Failure.NO_SAFE_CANDIDATE in found.failures


def test_experience_comes_back_to_its_owner_with_all_its_sources() -> None:
    items = (
        experience("mine", HOTEL),
        experience("nobody's", HOTEL, scope=Scope()),
        experience("another's", HOTEL, scope=Scope(principal="A2")),
        experience("unbound"),
        experience("half", HOTEL, OTHER),
        experience("unproven", HOTEL, confirmed=False),
    )
    found = cycle(*OWED, HOTEL, OTHER, *items)
    assert isinstance(found, Sealed)
    assert [item.id for item in found.experience] == ["mine"]
    assert found.left_out == {
        "x": (Reason.NOT_NEEDED,),
        "nobody's": (Reason.AUTHORIZATION_DENIED,),
        "another's": (Reason.AUTHORIZATION_DENIED,),
        "unbound": (Reason.NO_SOURCE,),
        "half": (Reason.SOURCE_NOT_SHOWN,),
        "unproven": (Reason.PROVENANCE_MISSING,),
    }
    assert found.view.expires == 20 + POLICY.lifetime_us


@pytest.mark.parametrize(
    "changed",
    [{"kinds": frozenset({Kind.EXPERIENCE})}, {"item_chars": 0}, {"lifetime_us": 0}],
    ids=["experience", "chars", "lifetime"],
)
def test_a_policy_shares_no_experience_and_has_limits(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        Policy(observers=frozenset(), **changed)
