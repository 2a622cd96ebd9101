"""Each gate has its reasons, every gate is asked, and none at all admits nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from lapse.admission import (
    GATES,
    Fallen,
    Gate,
    Judgement,
    Reason,
    Returning,
    Situation,
    WorkItem,
    weigh,
)
from lapse.ledger import Kind, Outcome, Scope, Source
from lapse.testing.workspace import MEMBER, OBSERVER, receipt, statement

BACK = Returning(cycle="r", who=replace(MEMBER, purpose="booking"), epoch=20, at=20)
WORK = frozenset({Kind.FACT, Kind.CONSTRAINT, Kind.OBLIGATION, Kind.FRONTIER})
ROOT = statement("root")


def situation(*items: WorkItem, **changed: Any) -> Situation:
    """The usual situation of the usual return."""
    fields: dict[str, Any] = {
        "returning": BACK,
        "items": {item.id: item for item in (ROOT, *items)},
        "fallen": {},
        "kinds": WORK,
        "observers": frozenset({OBSERVER}),
        "item_chars": 100,
    }
    return Situation(**(fields | changed))


def reasons(item: WorkItem, **changed: Any) -> list[str]:
    """What speaks against an item."""
    (judgement,) = weigh([item], situation(item, **changed), GATES)
    assert judgement.eligible is not bool(judgement.reasons)
    return [reason.value for reason in judgement.reasons]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"scope": MEMBER}, []),
        ({"scope": Scope(tenant="others")}, ["authorization_denied"]),
        ({"scope": Scope(role="driver")}, ["authorization_denied"]),
        ({"scope": Scope(principal="A2")}, ["authorization_denied"]),
        ({"scope": Scope(task="fair")}, ["other_task"]),
        ({"scope": Scope(purpose="booking")}, []),
        ({"scope": Scope(purpose="billing")}, ["other_purpose"]),
        ({"purposes": ("billing", "booking")}, []),
        ({"purposes": ("billing",)}, ["other_purpose"]),
        ({"kind": Kind.EXPERIENCE}, ["other_kind"]),
        ({"confirmed": False}, ["provenance_missing"]),
        ({"text": "x" * 100}, []),
        ({"text": "x" * 101}, ["too_large"]),
        ({"rests_on": (ROOT,)}, []),
        ({"rests_on": (statement("other"),)}, ["provenance_drift"]),
        ({"rests_on": (replace(ROOT, text="forged"),)}, ["provenance_drift"]),
        (
            {"scope": Scope(role="driver", task="fair"), "confirmed": False},
            ["authorization_denied", "other_task", "provenance_missing"],
        ),
    ],
)
def test_a_gate_objects_with_its_own_reason(fields: dict[str, Any], expected: list[str]) -> None:
    assert reasons(statement("a", **fields)) == expected


def test_an_item_that_fell_does_not_pass_and_the_judgement_says_by_what() -> None:
    item = statement("a")
    judged = weigh([item], situation(fallen={"a": Fallen(Reason.SUPERSEDED, "b")}), GATES)
    assert judged == (Judgement(item, (Reason.SUPERSEDED,), "b"),)


def test_receipts_of_others_and_of_later_do_not_count() -> None:
    item = statement("a")
    assert reasons(item, observers=frozenset[str]()) == ["provenance_missing"]
    assert reasons(item, observers=frozenset({"somebody"})) == ["provenance_missing"]
    late = receipt(Source.probe("desk", "a"), "", at=21)
    assert reasons(replace(item, receipts=(late,))) == ["provenance_missing"]


def test_the_latest_receipt_decides() -> None:
    item = statement("a")
    source = Source.probe("desk", "a")
    against = receipt(source, "", at=5, outcome=Outcome.CONTRADICTS)
    again = receipt(source, "", at=6)
    assert reasons(replace(item, receipts=(*item.receipts, against))) == ["contradicted"]
    assert reasons(replace(item, receipts=(again, against, *item.receipts))) == []


def test_what_an_item_rests_on_needs_a_receipt_that_binds_it() -> None:
    item = statement("a", rests_on=(ROOT,))
    assert reasons(replace(item, receipts=item.receipts[:1])) == ["provenance_unbound"]


def test_no_gate_admits_nothing() -> None:
    item = statement("a")
    assert weigh([item], situation(), ()) == (Judgement(item, (Reason.NO_GATES,)),)


def test_a_gate_that_raises_leaves_the_item_out_and_others_are_still_asked() -> None:
    def broken(item: WorkItem, asked: Situation) -> Sequence[Reason]:
        raise LookupError(item, asked)

    item = statement("a", confirmed=False)
    judged = weigh([item], situation(), (Gate("broken", broken), *GATES))
    assert judged[0].reasons == (Reason.GATE_RAISED, Reason.PROVENANCE_MISSING)
