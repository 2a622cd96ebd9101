"""Ten ways to get at what is not one's to act on: each refused by one control, for its own reason.

Every attack runs against the strict configuration, and against one in which a single control is
weakened. It gets through when its own control is the weak one, and never otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lapse.admission import (
    GATES,
    Blocked,
    Budget,
    Policy,
    Refusal,
    Refused,
    Sealed,
    SignedView,
    WorkItem,
    admit,
    expose,
)
from lapse.errors import InvalidValue
from lapse.ledger import Kind, Scope, Status, canonical
from lapse.signing import HmacKeys
from lapse.testing.workspace import OBSERVER, leaving, returning, statement

KEYS = HmacKeys({"k1": b"a key of at least 32 random bytes!"}, sign_with="k1")
OWED = (
    statement("o", kind=Kind.OBLIGATION, required=("d", "k"), critical=("k",)),
    statement("f", kind=Kind.FRONTIER, obligation="o"),
    statement("o2", kind=Kind.OBLIGATION, required=("d",), critical=("d",)),
    statement("f2", kind=Kind.FRONTIER, obligation="o2"),
)
KNOWN = statement("known", supports=("d",))
KEY = statement("key", supports=("k",))
HONEST = (*OWED, KNOWN, KEY)
LONG = replace(OWED[0], text="x" * 300)

WITHOUT_GATE = {"other role": "authorization", "superseded": "temporal", "unproven": "provenance"}
WITHOUT_OBJECTION = {
    "wrong principal": Refusal.PRINCIPAL_MISMATCH,
    "old revision": Refusal.EPOCH_MISMATCH,
    "expired": Refusal.VIEW_EXPIRED,
    "forged": Refusal.SIGNATURE_INVALID,
    "replayed": Refusal.CYCLE_MISMATCH,
}
BUDGETS = {
    "critical missing": Budget(chars=200, coverage=0.01, critical=0.01),
    "budget too small": Budget(chars=4096),
}


def policy(weak: str) -> Policy:
    """The strict policy, with what `weak` names taken away."""
    return Policy(
        observers=frozenset({OBSERVER}),
        gates=tuple(gate for gate in GATES if gate.name != WITHOUT_GATE.get(weak)),
        budget=BUDGETS.get(weak, Budget(chars=200)),
    )


def decided(weak: str, *items: WorkItem) -> Sealed | Blocked:
    """A return into a workspace in which nothing happened that has to be asked about."""
    checkpoint = returning(leaving(*items), *items)
    return admit(checkpoint, policy(weak), scanned={}, answers={}, signer=KEYS)


def opened(
    weak: str, sealed: Sealed, signed: SignedView | None = None, **asking: Any
) -> tuple[str, ...]:
    """What refuses a view; nothing when it is exposed."""
    view = sealed.view.returning
    found = expose(
        signed or sealed.signed,
        KEYS,
        replace(view, **asking),
        sealed.eligible.digests(),
        unsafe_without={WITHOUT_OBJECTION[weak]} if weak in WITHOUT_OBJECTION else (),
    )
    return tuple(r.value for r in found.reasons) if isinstance(found, Refused) else ()


def with_a_view(weak: str, **asking: Any) -> tuple[str, ...]:
    """An honest view is shown to whoever asks like this."""
    sealed = decided(weak, *HONEST)
    assert isinstance(sealed, Sealed)
    return opened(weak, sealed, **asking)


def with_an_item(weak: str, item: WorkItem) -> tuple[str, ...]:
    """What keeps an item that the critical dependency hangs on out of an exposed view."""
    found = decided(weak, *OWED, KNOWN, item)
    (judgement,) = (j for j in found.eligible.judgements if j.item.id == item.id)
    if isinstance(found, Sealed) and item.id in {shown.id for shown in found.view.items}:
        return opened(weak, found)
    return tuple(reason.value for reason in judgement.reasons)


def with_a_set(weak: str, *items: WorkItem) -> tuple[str, ...]:
    """What keeps a set from being shown."""
    found = decided(weak, *items)
    if isinstance(found, Sealed):
        return opened(weak, found)
    return tuple(failure.value for failure in found.failures)


def forged(weak: str) -> tuple[str, ...]:
    """The holder of an expired view gives it a longer life."""
    sealed = decided(weak, *HONEST)
    assert isinstance(sealed, Sealed)
    later = sealed.view.expires
    body = canonical(json.loads(sealed.signed.body) | {"expires": later + 10})
    return opened(weak, sealed, replace(sealed.signed, body=body), at=later)


def another(**changed: Any) -> Scope:
    """The identity that left, but for this."""
    return replace(returning(leaving()).returning.who, **changed)


HOUR = 3_600_000_000
ATTACKS: dict[str, tuple[Callable[[str], tuple[str, ...]], tuple[str, ...]]] = {
    "wrong principal": (
        lambda weak: with_a_view(weak, who=another(principal="A2")),
        ("principal_mismatch",),
    ),
    "old revision": (lambda weak: with_a_view(weak, epoch=21), ("epoch_mismatch",)),
    "expired": (lambda weak: with_a_view(weak, at=20 + HOUR), ("view_expired",)),
    "forged": (forged, ("signature_invalid",)),
    "replayed": (lambda weak: with_a_view(weak, cycle="return-2"), ("cycle_mismatch",)),
    "other role": (
        lambda weak: with_an_item(weak, replace(KEY, scope=Scope(role="driver"))),
        ("authorization_denied",),
    ),
    "superseded": (
        lambda weak: with_an_item(weak, KEY.with_status(Status.SUPERSEDED)),
        ("superseded",),
    ),
    "critical missing": (
        lambda weak: with_a_set(weak, *OWED, KNOWN),
        ("insufficient_coverage", "insufficient_critical"),
    ),
    "budget too small": (
        lambda weak: with_a_set(weak, LONG, *HONEST[1:]),
        ("mandatory_exceeds_budget", "insufficient_coverage", "insufficient_critical"),
    ),
    "unproven": (
        lambda weak: with_an_item(weak, replace(KEY, receipts=())),
        ("provenance_missing",),
    ),
}


def test_the_honest_view_is_exposed() -> None:
    assert with_a_view("") == ()


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_for_its_own_reason(name: str) -> None:
    attack, expected = ATTACKS[name]
    assert attack("") == expected


def test_no_two_attacks_are_refused_for_the_same_first_reason() -> None:
    reasons = [expected[0] for _, expected in ATTACKS.values()]
    assert len(set(reasons)) == len(ATTACKS) == len(WITHOUT_GATE | WITHOUT_OBJECTION | BUDGETS)


@pytest.mark.parametrize("weak", ATTACKS)
def test_a_weak_control_lets_its_own_attack_through_and_no_other(weak: str) -> None:
    through = {name for name, (attack, _) in ATTACKS.items() if not attack(weak)}
    assert through == {weak}


def test_somebody_else_does_not_return_under_the_departure() -> None:
    departure = leaving(*HONEST)
    with pytest.raises(InvalidValue, match="identity that left"):
        returning(replace(departure, member=another(principal="A2", purpose=None)), *HONEST)
