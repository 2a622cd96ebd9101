"""What fell with something comes back with it; what fell for another reason does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lapse.admission import Ending, WorkItem, lapsed, revive
from lapse.ledger import ChangeKind, Draft, Interval, Kind, Part, Record, Source, Stamp, writing
from lapse.testing.workspace import WrittenWorkspace, resting_on, statement

HOTEL = statement("h", slot="hotel")
PICKUP = statement("p", epoch=2, rests_on=(HOTEL,))
SEATS = statement("s", epoch=3, rests_on=(PICKUP,))


def again(item: WorkItem, name: str, *, epoch: int = 5, **changed: Any) -> WorkItem:
    """The same words again, in a later item that names the one before."""
    fields: dict[str, Any] = {
        "id": name,
        "replaces": (item.id,),
        "valid": Interval(epoch),
        **changed,
    }
    return replace(item, epochs=replace(item.epochs, since=epoch), **fields)


def held_by_a_recheck(here: WrittenWorkspace, name: str) -> None:
    """Another engine suspends an item."""
    part = Part.of(name, {}, salt="s")
    kind = ChangeKind.SUSPENDED
    here.carry_out([Draft(kind=kind, at=9, reason="recheck_due", actor="upkeep", parts=(part,))])


def test_a_restored_item_brings_back_what_fell_with_it_however_far_up() -> None:
    here = WrittenWorkspace(HOTEL, PICKUP, SEATS)
    here.end(Ending.CLOSED, "h")
    assert here.held() == {"p", "s"}
    here.restore(again(HOTEL, "h2"))
    assert here.statuses() == {"h": "evicted", "p": "active", "s": "active", "h2": "active"}
    back = here.changes[-1]
    assert (back.kind, back.reason) == (ChangeKind.REINSTATED, "dependency_restored")
    assert [(part.record, part.value()) for part in back.parts] == [
        ("p", {"by": "h"}),
        ("s", {"by": "p"}),
    ]
    assert here.held() == frozenset()


def test_a_lifted_item_brings_back_what_fell_with_it() -> None:
    here = WrittenWorkspace(HOTEL, PICKUP, SEATS)
    here.end(Ending.DISPUTED, "h")
    here.lift("h")
    assert set(here.statuses().values()) == {"active"}


def test_no_receipt_is_issued_for_what_comes_back() -> None:
    here = WrittenWorkspace(HOTEL, PICKUP)
    here.end(Ending.DISPUTED, "h")
    here.lift("h")
    assert here.state.record("p").receipts == PICKUP.receipts


def test_what_another_engine_holds_stays_held() -> None:
    here = WrittenWorkspace(HOTEL, PICKUP, SEATS)
    held_by_a_recheck(here, "p")
    here.end(Ending.DISPUTED, "h")
    assert here.held() == {"s"}
    here.lift("h")
    assert here.statuses() == {"h": "active", "p": "suspended", "s": "suspended"}
    here.lift("p")
    assert here.statuses()["s"] == "active"


def test_what_rests_on_two_comes_back_with_the_second_in_either_order() -> None:
    other = statement("o")
    both = statement("b", epoch=2, rests_on=(HOTEL, other))
    for first, second in (("h", "o"), ("o", "h")):
        here = WrittenWorkspace(HOTEL, other, both)
        here.end(Ending.CLOSED, "h", "o")
        by_id = {item.id: item for item in here.items()}
        here.restore(again(by_id[first], "first"))
        assert here.statuses()["b"] == "suspended"
        here.restore(again(by_id[second], "second"))
        assert here.statuses()["b"] == "active"


def test_what_ends_in_the_same_decision_neither_comes_back_nor_carries() -> None:
    desk = statement("desk")
    both = statement("b", epoch=2, rests_on=(HOTEL, desk))
    here = WrittenWorkspace(HOTEL, desk, PICKUP, both)
    here.end(Ending.CLOSED, "h")
    here.restore(again(HOTEL, "h2", replaces=("h", "p", "desk")))
    assert here.statuses() == {
        "h": "evicted",
        "desk": "superseded",
        "p": "superseded",
        "b": "suspended",
        "h2": "active",
    }


def test_what_is_not_held_any_more_is_not_brought_back() -> None:
    here = WrittenWorkspace(HOTEL, PICKUP)
    assert revive(here.state, {"p"}, HOTEL, at=9, actor="A2", salt="s") == ()


def test_what_stood_all_along_is_no_hindrance() -> None:
    desk = statement("desk")
    here = WrittenWorkspace(HOTEL, desk, statement("b", epoch=2, rests_on=(HOTEL, desk)))
    here.end(Ending.CLOSED, "h")
    here.restore(again(HOTEL, "h2"))
    assert here.statuses()["b"] == "active"


def test_what_came_back_carries_on() -> None:
    other = statement("o", epoch=3, rests_on=(HOTEL,))
    both = statement("b", epoch=4, rests_on=(PICKUP, other))
    here = WrittenWorkspace(HOTEL, PICKUP, other, both)
    here.end(Ending.REVOKED, "h")
    here.restore(again(HOTEL, "h2"))
    assert here.statuses()["b"] == "active"


def test_other_words_bring_nothing_back() -> None:
    here = WrittenWorkspace(HOTEL, PICKUP)
    here.end(Ending.CLOSED, "h")
    here.restore(again(HOTEL, "h2", text="another hotel"))
    here.restore(again(HOTEL, "x", slot="elsewhere"))
    assert here.statuses()["p"] == "suspended"


def test_what_is_disputed_by_then_or_rests_on_what_is_gone_stays_out() -> None:
    unknown = statement(
        "u", epoch=2, stamps=(*resting_on(HOTEL), Stamp(Source.record("nowhere"), "1"))
    )
    fix = Record(id="fix", kind=Kind.FIX, slot="hotel", content={}, valid=Interval(1))
    on_fix = statement("f", epoch=2, stamps=(*resting_on(HOTEL), Stamp(Source.record("fix"), "1")))
    here = WrittenWorkspace(HOTEL, PICKUP, unknown)
    here.carry_out(writing(here.state, fix, at=1, reason="learned", actor="t", salt="s"))
    here.put(on_fix)
    here.end(Ending.CLOSED, "h")
    here.end(Ending.DISPUTED, "p")
    gone = (Part.of("fix", {}, salt="s"),)
    here.carry_out([Draft(kind=ChangeKind.EVICTED, at=9, reason="moved", actor="t", parts=gone)])
    here.put(statement("h3", "other words", slot="hotel", epoch=4))
    here.restore(again(HOTEL, "h2"))
    assert {n: s for n, s in here.statuses().items() if n in "puf"} == {
        "p": "disputed",
        "u": "suspended",
        "f": "suspended",
    }


def test_only_the_last_reason_counts() -> None:
    here = WrittenWorkspace(HOTEL, PICKUP)
    here.end(Ending.DISPUTED, "h")
    here.lift("p")
    held_by_a_recheck(here, "p")
    assert lapsed(here.changes) == frozenset()
    here.lift("h")
    assert here.statuses() == {"h": "active", "p": "suspended"}
