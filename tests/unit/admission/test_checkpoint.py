"""D, Δ and C: what was known, what is otherwise now, and the one state of a return."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lapse.admission import Returning, capture, difference, merge
from lapse.errors import InvalidValue
from lapse.ledger import Scope, Source, Status
from lapse.testing.workspace import MEMBER, leaving, receipt, returning, statement

A, B, C = statement("a"), statement("b"), statement("c")
LATER = statement("d", epoch=12)


def test_a_member_takes_along_what_it_could_see() -> None:
    scopes = {
        "open": Scope(),
        "its own": MEMBER,
        "for a purpose": Scope(task="trip", purpose="billing"),
        "another role": Scope(role="driver"),
        "another task": Scope(task="fair"),
        "another tenant": Scope(tenant="others"),
        "another principal": Scope(principal="A2"),
    }
    items = [statement(name, scope=scope) for name, scope in scopes.items()]
    seen = [item.id for item in capture(items, MEMBER, epoch=1, at=1).items]
    assert seen == ["for a purpose", "its own", "open"]


def test_a_delta_tells_what_is_otherwise() -> None:
    gone = statement("gone")
    before = leaving(C, B, A, gone)
    revoked = B.with_status(Status.REVOKED)
    seen = replace(C, receipts=(*C.receipts, receipt(Source.probe("desk", "c"), "", at=12)))
    delta = difference(before, [A, revoked, seen, LATER], epoch=20)
    assert (delta.added, delta.changed, delta.gone) == ((LATER,), (revoked, seen), ("gone",))
    assert returning(before, LATER, seen, revoked, A).items == (A, revoked, seen, LATER)


def test_the_digest_of_a_checkpoint_covers_all_of_it() -> None:
    one = returning(leaving(A, B), A, B)
    assert one.digest() == returning(leaving(B, A), B, A).digest()
    others = [
        returning(leaving(A, B), A, B, LATER),
        returning(leaving(A), A, B),
        returning(leaving(A, B), A, B, cycle="return-2"),
        returning(leaving(A, B), A, B, epoch=21),
        returning(leaving(A, B, epoch=9), A, B),
        returning(leaving(A, B), A, B.with_status(Status.DISPUTED)),
    ]
    assert len({one.digest(), *(other.digest() for other in others)}) == 7


def test_a_record_that_says_something_else_is_no_delta() -> None:
    with pytest.raises(InvalidValue, match="verify"):
        difference(leaving(A), [replace(A, text="forged")], epoch=20)


def test_a_delta_does_not_lead_backwards() -> None:
    with pytest.raises(InvalidValue, match="epoch"):
        difference(leaving(A), [A], epoch=9)


def test_an_item_is_there_once() -> None:
    with pytest.raises(InvalidValue, match="once"):
        leaving(A, A)


def test_departure_delta_and_return_belong_together() -> None:
    before = leaving(A)
    delta = difference(before, [A], epoch=20)
    back = Returning(cycle="r", who=replace(MEMBER, purpose="p"), epoch=20, at=20)
    assert merge(before, delta, back).departed == 10
    with pytest.raises(InvalidValue, match="departure"):
        merge(leaving(A, B), delta, back)
    with pytest.raises(InvalidValue, match="epoch"):
        merge(before, delta, replace(back, epoch=21))
    with pytest.raises(InvalidValue, match="who"):
        merge(before, delta, replace(back, who=replace(back.who, principal="A2")))


@pytest.mark.parametrize(
    "changed",
    [{"cycle": ""}, {"who": MEMBER}, {"who": Scope(principal="A1", purpose="p")}],
    ids=["no cycle", "no purpose", "no role"],
)
def test_a_return_names_what_a_view_is_bound_to(changed: dict[str, Any]) -> None:
    back = Returning(cycle="r", who=replace(MEMBER, purpose="p"), epoch=20, at=20)
    with pytest.raises(InvalidValue):
        replace(back, **changed)
