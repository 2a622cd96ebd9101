"""Deciding again: what has to be asked, what is refused, and what a few changes touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from lapse.admission import (
    Blocked,
    Budget,
    Delta,
    Policy,
    Readmission,
    Reason,
    Scan,
    Sealed,
    Verdict,
    WorkItem,
    admit,
    difference,
    further,
    merge,
)
from lapse.admission.candidates import Candidates, greedily
from lapse.admission.covers import MOST_LACKING, cheapest
from lapse.errors import InvalidValue
from lapse.ledger import Interval, Kind, Source, Status
from lapse.signing import HmacKeys
from lapse.testing.workspace import OBSERVER, leaving, receipt, returning, statement

KEYS = HmacKeys({"k1": b"1" * 32}, sign_with="k1")
POLICY = Policy(observers=frozenset({OBSERVER}))
OWED = (
    statement("o", kind=Kind.OBLIGATION, required=("d",)),
    statement("f", kind=Kind.FRONTIER, obligation="o"),
)
HOTEL = statement("h", supports=("d",))
STORM = statement("storm", epoch=12)
FLOOD = statement("flood", epoch=21)
BEFORE = leaving(*OWED, HOTEL)


def begun(*items: WorkItem, policy: Policy = POLICY) -> Readmission:
    """A return into a workspace that has these items."""
    return Readmission(returning(BEFORE, *items), policy)


def later(again: Readmission, *items: WorkItem, steps: int = 1) -> Delta:
    """What is otherwise in a later revision; it is taken in."""
    was = again.checkpoint.returning
    back = replace(was, cycle=was.cycle + "+", epoch=was.epoch + steps, at=was.at + steps)
    delta = further(again.checkpoint, items, epoch=back.epoch)
    again.take(delta, back)
    return delta


def reasons(again: Readmission) -> Mapping[str, tuple[Reason, ...]]:
    """What speaks against each item now, where anything does."""
    outcome = again.next(KEYS)
    return {j.item.id: j.reasons for j in outcome.eligible.judgements if j.reasons}


def test_what_was_answered_is_asked_only_about_what_came_since() -> None:
    again = begun(*OWED, HOTEL, STORM)
    assert list(again.scans()) == [Scan(HOTEL, (STORM,))]
    again.look({"h": ["storm"]})
    assert [question.pair for question in again.questions()] == [("h", "storm")]
    again.answer({again.questions()[0].pair: Verdict.STANDS})
    assert again.questions() == ()
    assert isinstance(again.next(KEYS), Sealed)
    later(again, *OWED, HOTEL, STORM, FLOOD)
    assert again.came() == (FLOOD,)
    assert list(again.scans()) == [Scan(HOTEL, (FLOOD,)), Scan(STORM, (FLOOD,))]
    again.look({"h": ["flood"], "storm": ()})
    assert again.scanned == {"h": ("storm", "flood"), "storm": ()}
    again.answer({question.pair: Verdict.INVALIDATES for question in again.questions()})
    assert reasons(again) == {"h": (Reason.INVALIDATED,)}


def test_whoever_is_not_asked_about_what_came_is_out() -> None:
    again = begun(*OWED, HOTEL, STORM)
    again.look({"h": ()})
    assert isinstance(again.next(KEYS), Sealed)
    later(again, *OWED, HOTEL, STORM, FLOOD)
    assert reasons(again) == {"h": (Reason.UNSCANNED,), "storm": (Reason.UNSCANNED,)}
    assert list(again.scans()) == [Scan(HOTEL, (STORM, FLOOD)), Scan(STORM, (FLOOD,))]


def test_a_look_that_answers_nothing_leaves_everything_to_be_asked() -> None:
    again = begun(*OWED, HOTEL, STORM)
    again.look({})
    assert again.scanned == {}
    assert list(again.scans()) == [Scan(HOTEL, (STORM,))]
    assert reasons(again) == {"h": (Reason.UNSCANNED,)}


def test_one_look_at_what_came_stands_for_a_scan_of_each() -> None:
    again = begun(*OWED, HOTEL, STORM)
    again.look({"h": ()})
    later(again, *OWED, HOTEL, STORM, FLOOD)
    again.look({"storm": ()})  # the hotel's scan is missing, so it lost its answer
    later(again, *OWED, HOTEL, STORM, FLOOD, statement("fire", epoch=22))
    again.sweep({"fire": ["storm", "h"]})
    assert (again.came(), again.scanned) == ((), {"flood": (), "storm": ("fire",)})
    assert [scan.older.id for scan in again.scans()] == ["h"]


def test_answers_that_do_not_reach_as_far_as_what_came_are_kept_back() -> None:
    again = begun(*OWED, HOTEL, STORM)
    assert again.scanned == {}
    again.sweep({"storm": ()})  # at the first return as well
    assert again.scanned == {"h": ()}
    later(again, *OWED, HOTEL, STORM, FLOOD)
    assert again.scanned == {}


@pytest.mark.parametrize(
    "answer", [None, ValueError("down"), "h", ["flood"], ["nobody"], [3], ["o"]], ids=repr
)
def test_a_look_that_cannot_be_read_leaves_everything_to_scans(answer: object) -> None:
    again = begun(*OWED, HOTEL, STORM)
    again.look({"h": ()})
    later(again, *OWED, HOTEL, STORM, FLOOD)
    again.sweep({"flood": answer, "storm": ()})
    assert again.came() == (FLOOD,)
    assert reasons(again) == {"h": (Reason.UNSCANNED,), "storm": (Reason.UNSCANNED,)}


@pytest.mark.parametrize("answer", [None, ["nobody"], [3], ValueError("down"), 0], ids=repr)
def test_a_scan_that_cannot_be_read_is_asked_again_as_a_whole(answer: object) -> None:
    again = begun(*OWED, HOTEL, STORM)
    again.look({"h": answer})
    assert set(reasons(again)) == {"h"}
    assert list(again.scans()) == [Scan(HOTEL, (STORM,))]
    again.look({"h": ()})
    assert isinstance(again.next(KEYS), Sealed)


def test_what_never_was_true_is_named_by_nobody_any_more() -> None:
    again = begun(*OWED, HOTEL, STORM)
    again.look({"h": ["storm"]})
    again.answer({again.questions()[0].pair: Verdict.INVALIDATES})
    assert isinstance(again.next(KEYS), Blocked)
    later(again, *OWED, HOTEL, STORM.with_status(Status.REVOKED))
    assert again.scanned == {"h": ()}
    assert isinstance(again.next(KEYS), Sealed)


def test_nobody_is_asked_where_nobody_looks() -> None:
    again = begun(*OWED, HOTEL, STORM, policy=replace(POLICY, unsafe_without_inference=True))
    assert (list(again.scans()), again.came()) == ([], ())
    assert isinstance(again.next(KEYS), Sealed)


def test_what_holds_from_a_day_on_holds_when_it_is_reached() -> None:
    offer = statement("h2", supports=("d",), valid=Interval(22, 24))
    spoken = replace(offer, receipts=(receipt(Source.probe("desk", "h2"), "", at=23),))
    again = begun(*OWED, spoken)
    outcomes: list[tuple[Reason, ...] | None] = []
    for _ in range(4):
        outcomes.append(reasons(again).get("h2"))
        later(again, *OWED, spoken)
    unseen = Reason.PROVENANCE_MISSING
    assert outcomes == [(Reason.NOT_YET, unseen), (Reason.NOT_YET, unseen), (unseen,), None]
    assert reasons(again) == {"h2": (Reason.EXPIRED,)}


def test_the_same_is_decided_from_the_start() -> None:
    again = begun(*OWED, HOTEL, STORM)
    again.look({"h": ()})
    later(again, *OWED, HOTEL, STORM, FLOOD)
    again.sweep({"flood": ()})
    back = again.checkpoint.returning
    now = (*OWED, HOTEL, STORM, FLOOD)
    whole = merge(BEFORE, difference(BEFORE, now, epoch=back.epoch), back)
    assert whole.digest() == again.checkpoint.digest()
    expected = admit(whole, POLICY, scanned=again.scanned, answers=again.answers, signer=KEYS)
    assert again.next(KEYS) == expected
    assert again.next(KEYS) == expected


def wrong(**changed: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is otherwise in a delta and in a return."""
    into = {name: changed.pop(name) for name in ("epoch", "at", "who") if name in changed}
    return changed, into


@pytest.mark.parametrize(
    ("delta", "back"),
    [
        wrong(departure="another"),
        wrong(since=19),
        wrong(epoch=22),
        wrong(at=19),
        wrong(who=None),
        wrong(added=(HOTEL,)),
        wrong(added=(FLOOD, FLOOD)),
        wrong(changed=(FLOOD,)),
        wrong(changed=(replace(HOTEL, text="forged"),)),
        wrong(gone=("nobody",)),
        wrong(gone=("h",), changed=(HOTEL,)),
    ],
    ids=str,
)
def test_a_delta_from_elsewhere_is_refused_and_changes_nothing(
    delta: dict[str, Any], back: dict[str, Any]
) -> None:
    again = begun(*OWED, HOTEL)
    was, outcome = again.checkpoint, again.next(KEYS)
    if "who" in back:
        back = {"who": replace(was.returning.who, purpose="another")}
    into = replace(was.returning, **{"epoch": 21, "at": 21, **back})
    empty = further(was, was.items, epoch=21)
    with pytest.raises(InvalidValue):
        again.take(replace(empty, **delta), into)
    assert again.checkpoint is was
    assert again.next(KEYS) == outcome


def test_a_delta_of_a_departure_names_what_the_member_had() -> None:
    empty = difference(BEFORE, BEFORE.items, epoch=20)
    back = returning(BEFORE, *BEFORE.items).returning
    for changed in ({"changed": (FLOOD,)}, {"gone": ("nobody",)}):
        with pytest.raises(InvalidValue, match="delta"):
            merge(BEFORE, replace(empty, **changed), back)
    with pytest.raises(InvalidValue, match="epoch"):
        further(returning(BEFORE), (), epoch=19)


# -- candidates and covers -----------------------------------------------------------------------


def fact(name: str, *supports: str, length: int = 10) -> WorkItem:
    """Evidence of a given length."""
    return statement(name, "x" * length, supports=supports)


def chosen(candidates: Candidates, wanted: Mapping[str, int], **room: int) -> tuple[str, ...]:
    """What the greedy choice takes, made as cheap as can be."""
    space = {"items": 99, "chars": 999, **room}
    return cheapest(candidates, wanted, tuple(greedily(candidates, wanted, **space)), **space)


def test_candidates_that_come_and_go_are_those_that_are_there() -> None:
    items = [fact("a1", "a"), fact("a2", "a", length=9), fact("b", "b"), fact("none")]
    wanted = {"a": 1, "b": 2}
    candidates = Candidates(items[:1])
    candidates.add(items[1])  # before anybody asked
    assert chosen(candidates, wanted) == ("a2",)
    for item in items[2:]:
        candidates.add(item)
    candidates.add(fact("c", "c"))  # wanted by nobody
    assert chosen(candidates, wanted) == ("b", "a2")
    candidates.remove(items[1])
    candidates.remove(items[3])
    assert chosen(candidates, wanted) == ("b", "a1")
    candidates.remove(items[0])
    candidates.remove(items[2])
    assert (chosen(candidates, wanted), list(candidates.about("a"))) == ((), [])


def test_what_the_rest_supports_as_well_is_taken_out() -> None:
    items = [
        fact("ab", "a", "b", length=10),
        fact("bc", "b", "c", length=12),
        fact("b", "b", length=4),
    ]
    greedy = tuple(greedily(Candidates(items), {"a": 1, "b": 1, "c": 1}, items=9, chars=99))
    assert [rank[3] for rank in greedy] == ["b", "ab", "bc"]
    assert chosen(Candidates(items), {"a": 1, "b": 1, "c": 1}) == ("ab", "bc")


def test_a_tight_budget_is_met_where_the_greedy_choice_fails() -> None:
    items = [fact("ab", "a", "b", length=10), fact("a", "a", length=6), fact("b", "b", length=4)]
    wanted = {"a": 1, "b": 1}
    one = [rank[3] for rank in greedily(Candidates(items), wanted, items=1, chars=99)]
    assert one == ["b"]
    assert chosen(Candidates(items), wanted, items=1) == ("ab",)
    assert chosen(Candidates(items), wanted, items=1, chars=9) == ("b",)


def test_a_long_list_is_made_cheaper_and_not_searched() -> None:
    names = [f"d{number:02}" for number in range(MOST_LACKING + 1)]
    whole = fact("whole", *names, length=200)
    parts = [fact(name, name, length=3) for name in names]
    wanted = dict.fromkeys(names, 1)
    assert chosen(Candidates([whole, *parts]), wanted) == tuple(names)
    halves = [fact("one", *names[:25], length=20), fact("two", *names[24:], length=26)]
    room = {"items": 99, "chars": 999}
    assert set(chosen(Candidates([*halves, *parts[24:25]]), wanted, **room)) == {"one", "two"}


def test_what_leads_to_the_same_at_more_cost_is_not_looked_at_again() -> None:
    items = [fact("b", "b", length=3), fact("ab", "a", "b", length=8), fact("a", "a", length=5)]
    for name in "ce":
        items += [fact(f"{name}{n}", name, f"{n}", length=20 + n) for n in range(4)]
    wanted = dict.fromkeys("abce0123", 1)
    greedy = [rank[3] for rank in greedily(Candidates(items), wanted, items=3, chars=999)]
    assert greedy == ["b", "a", "c0"]
    assert chosen(Candidates(items), wanted, items=3) == ("b", "a", "c0")


def test_of_what_supports_the_same_that_is_lacking_the_shortest_counts() -> None:
    items = [fact(f"x{n}", "a", f"not asked {n}", length=10 + n) for n in range(8)]
    assert chosen(Candidates(items), {"a": 1}) == ("x0",)


@pytest.mark.parametrize("changed", [{}, {"unsafe_relevance": {"h": 1.0}}], ids=["owed", "scores"])
def test_what_did_not_fit_is_told_as_from_the_start(changed: dict[str, Any]) -> None:
    owed = (replace(OWED[0], required=("d", "e")), OWED[1])
    room = sum(len(item.text) for item in (*owed, HOTEL))
    policy = replace(POLICY, budget=Budget(chars=room), unsafe_incomplete_views=True, **changed)
    long, idle = statement("long", supports=("e",)), statement("idle")
    mine = statement("mine", kind=Kind.EXPERIENCE, supports=("e",))
    again = Readmission(returning(leaving(), *owed, HOTEL, long, idle, mine), policy)
    later(again, *owed, HOTEL, long)  # what is gone is not told about
    found = again.next(KEYS)
    assert isinstance(found, Sealed)
    assert found.left_out == {"long": (Reason.OVER_BUDGET,)}
    whole = replace(again.checkpoint, items=again.checkpoint.items)
    assert found == admit(whole, policy, scanned={}, answers={}, signer=KEYS)
    later(again, *owed, long)
    assert [item.id for item in again.checkpoint.items] == ["f", "long", "o"]
    assert "h" not in reasons(again)


def test_an_answer_about_what_was_not_asked_is_passed_over() -> None:
    again = begun(*OWED, HOTEL, STORM)
    again.look({"h": (), "storm": ["h"], "nobody": ["storm"]})
    assert again.scanned == {"h": ()}


def test_the_budget_of_a_policy_names_how_many_there_are() -> None:
    again = begun(*OWED, HOTEL, policy=replace(POLICY, budget=Budget(items=2)))
    found = again.next(KEYS)
    assert isinstance(found, Blocked)
    assert [missing.dependency for missing in found.missing] == ["d"]
