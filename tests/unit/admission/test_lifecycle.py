"""The explicit rules, each by its number in the module."""

from __future__ import annotations

from typing import Any

import pytest

from lapse.admission import (
    RANKS,
    Epochs,
    Fallen,
    History,
    Reason,
    UnknownCurrent,
    WorkItem,
    cascade,
    chain_end,
    explicit,
    unknown_current,
)
from lapse.errors import InvalidValue
from lapse.ledger import Interval, Source, Stamp, Status
from lapse.testing.workspace import leaving, returning, statement


def found(*items: WorkItem) -> History:
    """The rules over a workspace that its member left empty."""
    checkpoint = returning(leaving(), *items)
    history = explicit(checkpoint, RANKS)
    cascade(checkpoint.items, history)
    return history


def told(*items: WorkItem) -> dict[str, tuple[str, str]]:
    """Which items fall, why, and by which other."""
    return {name: (fall.reason.value, fall.by) for name, fall in found(*items).fallen.items()}


def version(name: str, text: str = "", *, epoch: int, **more: Any) -> WorkItem:
    """One version of the hotel."""
    fields: dict[str, Any] = {"slot": "hotel"} | more
    return statement(name, text or name, epoch=epoch, **fields)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (Status.ACTIVE, None),
        (Status.SUPERSEDED, "superseded"),
        (Status.REVOKED, "revoked"),
        (Status.EVICTED, "closed"),
        (Status.DISPUTED, "disputed"),
        (Status.SUSPENDED, "suspended"),
    ],
)
def test_rule_1_a_status_decides_alone(status: Status, reason: str | None) -> None:
    expected = {} if reason is None else {"a": (reason, "")}
    assert told(statement("a", status=status)) == expected


@pytest.mark.parametrize(
    ("epochs", "valid", "reason"),
    [
        (Epochs(1, 21), Interval(1, 21), None),
        (Epochs(1, 20), Interval(1), "epoch_ended"),
        (Epochs(1), Interval(1, 20), "expired"),
        (Epochs(21), Interval(1), "not_yet"),
        (Epochs(1), Interval(21), "not_yet"),
    ],
)
def test_rule_2_an_interval_covers_the_return(
    epochs: Epochs, valid: Interval, reason: str | None
) -> None:
    expected = {} if reason is None else {"a": (reason, "")}
    assert told(statement("a", epochs=epochs, valid=valid)) == expected


def test_rule_2_what_holds_later_replaces_nothing_yet() -> None:
    friday = version("b", epoch=2, valid=Interval(30), replaces=("a",))
    assert told(version("a", epoch=1), friday) == {"b": ("not_yet", "")}


def test_rule_3_a_link_replaces_across_slots_and_writers() -> None:
    old, new = statement("a"), statement("b", epoch=2, writer="A3", replaces=("a", "nowhere"))
    assert told(old, new) == {"a": ("superseded", "b")}


def test_rule_3_a_link_needs_authority() -> None:
    said = version("a", epoch=1, writer="A1", authority="user")
    guess = version("b", epoch=2, writer="A2", authority="inference", replaces=("a",))
    unknown = version("c", epoch=3, writer="A3", authority="rumour", replaces=("a",))
    own = version("d", epoch=3, writer="A1", authority="inference", replaces=("a",))
    assert told(said, guess) == {"b": ("lacks_authority", "a")}
    assert told(said, unknown) == {"c": ("lacks_authority", "a")}
    assert told(said, own) == {"a": ("superseded", "d")}


@pytest.mark.parametrize(("status", "reason"), [("revoked", "revoked"), ("evicted", "closed")])
def test_rule_3_over_what_has_ended_nobody_needs_authority(status: str, reason: str) -> None:
    said = version("a", epoch=1, writer="A1", authority="user", status=Status(status))
    guess = version("b", epoch=2, authority="inference", replaces=("a",))
    assert told(said, guess) == {"a": (reason, "")}


def test_rule_4_a_writer_follows_itself() -> None:
    versions = [version(name, epoch=epoch) for epoch, name in enumerate("abc", 1)]
    assert told(*versions) == {"a": ("superseded", "b"), "b": ("superseded", "c")}


def test_rule_4_authority_decides_between_writers() -> None:
    said = version("a", epoch=1, writer="A1", authority="user")
    guess = version("b", epoch=2, authority="agent")
    assert told(said, guess) == {"b": ("lacks_authority", "a")}
    first = version("a", epoch=1, writer="A1", authority="agent")
    later = version("b", epoch=2, authority="user")
    assert told(first, later) == {"a": ("superseded", "b")}


def test_rule_4_equals_who_differ_are_out_until_a_later_item_replaces_both() -> None:
    one, other = version("a", epoch=1, writer="A1"), version("b", epoch=2, writer="A2")
    contested = {"a": ("contested", "b"), "b": ("contested", "a")}
    assert told(one, other) == contested
    third = version("c", epoch=3, writer="A1")
    assert told(one, other, third) == {**contested, "c": ("contested", "b")}
    settled = version("c", epoch=3, writer="A3", replaces=("a", "b"))
    assert told(one, other, settled) == {"a": ("superseded", "c"), "b": ("superseded", "c")}


def test_rule_4_one_writer_at_one_moment_contests_itself() -> None:
    assert set(told(version("a", epoch=1), version("b", epoch=1))) == {"a", "b"}
    weak = version("b", epoch=1, authority="inference")
    strong = version("c", epoch=1, authority="user", writer="A2")
    assert told(weak, strong) == {"b": ("superseded", "c")}


def test_rule_4_a_revoked_item_opposes_and_an_ended_one_does_not() -> None:
    later = version("b", epoch=2, writer="A1")
    revoked = version("a", epoch=1, status=Status.REVOKED)
    assert told(revoked, later) == {"a": ("revoked", ""), "b": ("contested", "a")}
    for status in (Status.EVICTED, Status.SUPERSEDED):
        assert set(told(version("a", epoch=1, status=status), later)) == {"a"}


@pytest.mark.parametrize(
    ("epochs", "valid"),
    [(Epochs(1, 5), Interval(1)), (Epochs(1), Interval(1, 5))],
    ids=["revision", "wall clock"],
)
def test_rule_4_what_was_over_when_another_began_opposes_nothing(
    epochs: Epochs, valid: Interval
) -> None:
    over = version("a", epoch=1, writer="A1", authority="user", epochs=epochs, valid=valid)
    assert set(told(over, version("b", epoch=5, authority="agent"))) == {"a"}
    during = version("b", epoch=4, authority="agent")
    assert told(over, during)["b"] == ("lacks_authority", "a")


def test_rule_4_the_same_words_again_carry_on_what_rested_on_them() -> None:
    old = version("a", "Riverside", epoch=1, status=Status.REVOKED)
    again = version("b", "Riverside", epoch=3, writer="A3")
    pickup = statement("p", epoch=2, rests_on=(old,))
    assert told(old, pickup) == {"a": ("revoked", ""), "p": ("dependency_lapsed", "a")}
    assert told(old, pickup, again) == {"a": ("revoked", "")}
    live = version("a", "Riverside", epoch=1)
    assert told(live, pickup, again) == {"a": ("restated", "b")}
    weak = version("b", "Riverside", epoch=3, writer="A3", authority="inference")
    strong = version("a", "Riverside", epoch=1, authority="user")
    assert told(strong, weak) == {"b": ("lacks_authority", "a")}


def test_rule_5_a_link_does_not_lead_forward() -> None:
    assert told(statement("a", epoch=3), statement("b", epoch=2, replaces=("a",))) == {}


def test_rule_5_items_that_replace_each_other_are_all_out() -> None:
    a, b, c = (
        statement(name, epoch=1, replaces=(following,))
        for name, following in (("a", "b"), ("b", "c"), ("c", "a"))
    )
    tail = statement("d", epoch=1)
    into = statement("e", epoch=1, replaces=("d",))
    circle = {name: fall.reason for name, fall in found(a, b, c).fallen.items()}
    assert circle == dict.fromkeys("abc", Reason.CYCLE)
    led_in = statement("a", epoch=1, replaces=("b", "d"))
    fell = {n: f.reason.value for n, f in found(led_in, b, c, tail).fallen.items()}
    assert fell == {"a": "cycle", "b": "cycle", "c": "cycle", "d": "superseded"}
    assert told(tail, into) == {"d": ("superseded", "e")}


def test_rule_5_a_link_at_one_moment_is_followed_whichever_id_comes_first() -> None:
    early, late = version("a", epoch=1, replaces=("b",)), version("b", epoch=1)
    assert told(early, late) == {"b": ("superseded", "a")}


def test_rule_6_what_rests_on_the_fallen_falls() -> None:
    root = statement("root", status=Status.EVICTED)
    middle = statement("m", epoch=2, rests_on=(root,))
    leaf = statement("leaf", epoch=3, rests_on=(middle,))
    both = statement("both", epoch=3, rests_on=(root, middle))
    sound = statement("sound", epoch=3)
    lost = statement("lost", stamps=(Stamp(Source.record("nowhere"), "1"),))
    fell = told(root, middle, leaf, both, sound, lost)
    assert fell == {
        "root": ("closed", ""),
        "m": ("dependency_lapsed", "root"),
        "leaf": ("dependency_lapsed", "m"),
        "both": fell["both"],
        "lost": ("dependency_unknown", "nowhere"),
    }
    assert fell["both"][0] == "dependency_lapsed"


def test_a_chain_leads_to_its_end_and_a_cycle_is_an_error() -> None:
    assert chain_end({"a": "b", "b": "c"}, "a") == "c"
    assert chain_end({}, "a") == "a"
    with pytest.raises(InvalidValue, match="end somewhere"):
        chain_end({"a": "b", "b": "a"}, "a")


def test_a_slot_is_unknown_when_its_value_died_and_not_when_it_ended() -> None:
    items = [
        version("a", epoch=1, status=Status.SUPERSEDED),
        version("b", epoch=2),
        statement("train"),
        statement("closed", status=Status.EVICTED),
        statement("old", slot="pair", epoch=1),
        statement("new", slot="pair", epoch=2),
    ]
    fallen = {
        "a": Fallen(Reason.SUPERSEDED),
        "b": Fallen(Reason.INVALIDATED, "storm"),
        "closed": Fallen(Reason.CLOSED),
        "new": Fallen(Reason.REVOKED),
    }
    assert unknown_current(reversed(items), fallen) == (
        UnknownCurrent("hotel", "b", Reason.INVALIDATED, "storm"),
    )
