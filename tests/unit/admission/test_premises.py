"""What takes a slot for granted falls when the slot is worth something else, and comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from lapse.admission import (
    LONGEST_TEXT,
    LONGEST_VALUE,
    RANKS,
    Captured,
    Policy,
    WorkItem,
    explicit,
    put,
    settle,
)
from lapse.errors import InvalidValue
from lapse.ledger import (
    Draft,
    Interval,
    Kind,
    Record,
    Scope,
    Source,
    Stamp,
    State,
    Status,
    genesis,
    seal,
    writing,
)
from lapse.testing.workspace import OBSERVER, leaving, resting_on, returning, statement

POLICY = Policy(observers=frozenset({OBSERVER}))


def hotel(name: str, value: str = "", *, epoch: int = 1, **more: Any) -> WorkItem:
    """A version of the hotel."""
    fields: dict[str, Any] = {"slot": "hotel", "value": value} | more
    return statement(name, f"{name} is booked", epoch=epoch, **fields)


def assuming(name: str, *premises: WorkItem, epoch: int = 2, **more: Any) -> WorkItem:
    """An item that takes for granted what others state."""
    fields: dict[str, Any] = {"stamps": tuple(one.as_premise() for one in premises)} | more
    return statement(name, epoch=epoch, **fields)


def told(*items: WorkItem) -> dict[str, tuple[str, str]]:
    """Which items fall, why, and by which other."""
    history = explicit(returning(leaving(), *items), RANKS)
    settle(items, history)
    return {name: (fall.reason.value, fall.by) for name, fall in history.fallen.items()}


SUNRISE = hotel("h0", "sunrise")
PICKUP = assuming("p", SUNRISE, slot="pickup")
DRIVER = assuming("d", PICKUP, epoch=3)


def test_a_premise_is_worth_its_value_or_its_text() -> None:
    assert SUNRISE.as_premise() == Stamp(Source.premise("", "hotel"), "sunrise")
    assert PICKUP.assumes == (("hotel", "sunrise"),)
    assert assuming("x", hotel("h0")).assumes != assuming("x", hotel("h1")).assumes
    assert hotel("h0").states == statement("x", "h0 is booked").states
    elsewhere = statement("x", stamps=(Stamp(Source.premise("fair", "hotel"), "1"),))
    assert elsewhere.assumes == ()
    assert told(elsewhere) == {}


def test_what_was_assumed_and_holds_lets_nothing_fall() -> None:
    assert told(SUNRISE, PICKUP, DRIVER) == {}
    again = hotel("h9", "sunrise", epoch=5, writer="A7", authority="tool")
    assert told(SUNRISE, PICKUP, DRIVER, again) == {"h0": ("restated", "h9")}


def test_rule_2_a_premise_that_moved_carries_nothing_any_further() -> None:
    riverside = hotel("h1", "riverside", epoch=4)
    assert told(SUNRISE, PICKUP, DRIVER, riverside) == {
        "h0": ("superseded", "h1"),
        "p": ("premise_changed", "h1"),
        "d": ("unknown_current", "p"),
    }


def test_rule_2_one_premise_of_two_is_enough() -> None:
    desk = statement("desk")
    both = assuming("both", SUNRISE, desk)
    riverside = hotel("h1", "riverside", epoch=4)
    assert told(SUNRISE, desk, both, riverside)["both"] == ("premise_changed", "h1")
    assert told(SUNRISE, desk, both) == {}


def test_rule_5_a_premise_that_is_what_it_was_carries_again() -> None:
    riverside, back = hotel("h1", "riverside", epoch=4), hotel("h2", "sunrise", epoch=5)
    assert told(SUNRISE, PICKUP, DRIVER, riverside, back) == {
        "h0": ("superseded", "h1"),
        "h1": ("superseded", "h2"),
    }


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (Status.REVOKED, "unknown_current"),
        (Status.DISPUTED, "unknown_current"),
        (Status.EVICTED, "premise_changed"),
    ],
)
def test_rule_1_what_died_leaves_its_slot_unknown_and_what_ended_leaves_it_empty(
    status: Status, reason: str
) -> None:
    assert told(SUNRISE.with_status(status), PICKUP)["p"] == (reason, "h0")


def test_rule_1_a_slot_that_nobody_spoke_about_is_worth_nothing() -> None:
    nothing = Stamp(Source.premise("", "hotel"), None)
    free = statement("free", epoch=2, stamps=(nothing,))
    assert told(PICKUP) == {"p": ("unknown_current", "")}
    assert told(free) == {}
    assert told(free, SUNRISE) == {"free": ("premise_changed", "h0")}
    assert told(free, SUNRISE.with_status(Status.EVICTED)) == {"h0": ("closed", "")}
    assert told(free, SUNRISE.with_status(Status.REVOKED))["free"] == ("unknown_current", "h0")
    private = hotel("e", kind=Kind.EXPERIENCE)
    later = hotel("h5", epoch=30)
    assert "free" not in told(free, private, later)


def test_a_lower_authority_moves_no_premise_and_an_equal_one_makes_it_unknown() -> None:
    user = hotel("h0", "sunrise", authority="user", writer="A1")
    pickup = assuming("p", user)
    guess = hotel("h1", "riverside", epoch=4, authority="inference")
    equal = hotel("h2", "riverside", epoch=4, authority="user")
    assert told(user, pickup, guess) == {"h1": ("lacks_authority", "h0")}
    assert told(user, pickup, equal)["p"] == ("unknown_current", "h2")


def test_equal_values_in_other_words_are_no_contradiction() -> None:
    other = statement("h1", "At the Sunrise", slot="hotel", epoch=4, writer="A3", value="sunrise")
    assert told(SUNRISE, PICKUP, other) == {"h0": ("restated", "h1")}


def test_rule_3_items_and_premises_fall_one_after_the_other() -> None:
    ticket = statement("t", epoch=3, rests_on=(PICKUP,))
    seat = assuming("s", ticket, epoch=4)
    fell = told(SUNRISE.with_status(Status.REVOKED), PICKUP, ticket, seat)
    assert fell["t"] == ("dependency_lapsed", "p")
    assert fell["s"] == ("unknown_current", "t")


def circle() -> tuple[WorkItem, ...]:
    """Three items that carry each other, one that rests on them, and one that does not."""
    a = statement("a", value="1", stamps=(Stamp(Source.premise("", "c"), "3"),))
    b = statement("b", epoch=2, value="2", stamps=(a.as_premise(),))
    c = statement("c", epoch=3, value="3", rests_on=(b,))
    return a, b, c, assuming("tail", c, epoch=4), assuming("sound", statement("x"), epoch=4)


def test_rule_4_what_takes_itself_for_granted_falls_in_one_circle() -> None:
    fell = told(*circle(), statement("x"))
    assert fell == {
        "a": ("premise_cycle", "c"),
        "b": ("premise_cycle", "a"),
        "c": ("premise_cycle", "b"),
        "tail": ("unknown_current", "c"),
    }


def test_rule_4_statements_said_again_close_a_circle_too() -> None:
    x, y = statement("x"), statement("y", epoch=1)
    x2 = statement("x2", x.text, slot="x", epoch=3, rests_on=(y,), writer="A2")
    y2 = statement("y2", y.text, slot="y", epoch=3, rests_on=(x,), writer="A2")
    fell = told(x, y, x2, y2)
    assert (fell["x2"], fell["y2"]) == (("premise_cycle", "y2"), ("premise_cycle", "x2"))


def test_what_repeats_what_it_rests_on_stands_and_falls_with_it() -> None:
    repeated = statement(
        "r", SUNRISE.text, slot="hotel", value="sunrise", epoch=3, rests_on=(SUNRISE,)
    )
    booked = statement("b", epoch=4, rests_on=(repeated,))
    assert told(SUNRISE, repeated, booked) == {"r": ("restated", "h0")}
    fell = told(SUNRISE.with_status(Status.REVOKED), repeated, booked)
    assert fell["b"] == ("dependency_lapsed", "h0")


def test_what_fell_with_its_premise_is_not_asked_about() -> None:
    riverside = hotel("h1", "riverside", epoch=12)
    before = leaving(SUNRISE, PICKUP)
    screened = Captured(returning(before, SUNRISE, PICKUP, riverside), POLICY).next()
    assert screened.scans == ()
    unknown = screened.next({}, {}).unknown
    assert [(one.slot, one.reason.value, one.by) for one in unknown] == [
        ("pickup", "premise_changed", "h1")
    ]


def test_a_premise_that_a_judge_finds_broken_is_unknown() -> None:
    storm = statement("storm", epoch=12)
    before = leaving(SUNRISE, PICKUP)
    screened = Captured(returning(before, SUNRISE, PICKUP, storm), POLICY).next()
    scanned = {"h0": ["storm"], "p": []}
    (question,) = screened.proposals(scanned).questions
    judged = screened.next(scanned, {question.pair: "invalidates"})
    assert judged.fallen["p"].reason.value == "unknown_current"


# -- writing -------------------------------------------------------------------------------------


class Ledger:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.state = State(genesis("w"))

    def carry_out(self, drafts: Sequence[Draft]) -> None:
        for change in seal(drafts, self.state.head):
            self.state.apply(change)

    def put(self, *items: WorkItem) -> None:
        for item in items:
            self.carry_out(put(self.state, item, RANKS, at=9, actor="A2", salt=item.id))


def test_writing_refuses_the_item_that_closes_a_circle_and_names_it() -> None:
    here = Ledger()
    a, b, c, tail, _ = circle()
    fix = Record(id="fix", kind=Kind.FIX, slot="c", content={}, valid=Interval(1))
    here.carry_out(writing(here.state, fix, at=1, reason="learned", actor="t", salt="s"))
    here.put(a, b)
    with pytest.raises(InvalidValue, match="c > b > a > c"):
        here.put(c)
    other = statement("c", value="4", epoch=3, rests_on=(b,))
    here.put(other, assuming("tail", other, b, epoch=4))
    assert len(here.state) == 5
    assert tail.assumes == (("c", "3"),)


def test_writing_leaves_another_tenants_slots_to_that_tenant() -> None:
    here = Ledger()
    a, b, c, *_ = circle()
    theirs = Scope(tenant="others")
    here.put(replace(a, scope=theirs), b)
    here.put(c)
    other = Ledger()
    other.put(a, replace(b, scope=theirs, stamps=(replace(b.stamps[0], version="7"),)))
    other.put(statement("c", value="3", epoch=3, rests_on=(b,)))


def test_writing_looks_at_what_is_live_and_states_what_is_assumed() -> None:
    here = Ledger()
    a, b, *_ = circle()
    unknown = statement("u", stamps=(Stamp(Source.record("nowhere"), "1"), *b.stamps))
    nothing = statement("n", stamps=(Stamp(Source.premise("", "z"), None),))
    here.put(a, unknown, nothing)
    both = statement("both", epoch=3, stamps=(*resting_on(unknown), *b.stamps))
    here.put(both, statement("b", epoch=2, value="other", stamps=(a.as_premise(),)))
    waits = Stamp(Source.premise("", "both"), "later")  # somebody takes the slot for granted
    here.put(statement("waits", stamps=(waits,)))
    here.put(replace(both, id="again", stamps=(*both.stamps, *resting_on(both))))
    here.put(statement("c", value="9", epoch=3, rests_on=(b,)))


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"stamps": (Stamp(Source.premise("", "a"), "1"),)}, "stamps"),
        ({"value": "x" * (LONGEST_VALUE + 1)}, "value"),
        ({"attributes": {"n": "x" * LONGEST_TEXT}}, "attributes"),
    ],
)
def test_what_could_not_be_judged_later_is_refused(fields: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidValue, match=name):
        statement("a", **fields)


def test_a_value_is_kept_with_the_record_and_changes_its_digest() -> None:
    assert WorkItem.of(SUNRISE.record()) == SUNRISE
    assert hotel("h0").digest() != SUNRISE.digest()
    assert "value" not in hotel("h0").record().content
    content = {**SUNRISE.record().content, "value": 1}
    odd = Record(id="h0", kind=Kind.FACT, slot="hotel", content=content, valid=Interval(1))
    with pytest.raises(InvalidValue, match="value"):
        WorkItem.of(odd)
