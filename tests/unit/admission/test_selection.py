"""What is owed comes first, then what covers most for its length; never a part for the whole."""

from __future__ import annotations

from typing import Any

import pytest

from lapse.admission import (
    Budget,
    Coverage,
    Failure,
    Judgement,
    LastWord,
    Missing,
    Obligation,
    Reason,
    WorkItem,
    measure,
    missing,
    owed,
    select,
)
from lapse.errors import InvalidValue
from lapse.ledger import Kind
from lapse.testing.workspace import statement

WIDE = Budget(items=100, chars=10_000)


def obligation(name: str, *required: str, critical: tuple[str, ...] = (), **more: Any) -> WorkItem:
    """An item that opens an obligation."""
    fields: dict[str, Any] = {"obligation": name, "required": required, "critical": critical}
    return statement(f"o-{name}", name, kind=Kind.OBLIGATION, **fields, **more)


def frontier(name: str) -> WorkItem:
    """An item that tells its progress."""
    return statement(f"f-{name}", name, kind=Kind.FRONTIER, obligation=name)


def fact(name: str, *supports: str, length: int = 10) -> WorkItem:
    """Evidence of a given length."""
    return statement(name, "x" * length, supports=supports)


def passing(*items: WorkItem) -> tuple[Judgement, ...]:
    """Items that no gate objects to."""
    return tuple(Judgement(item, ()) for item in items)


def chosen(*items: WorkItem, budget: Budget = WIDE) -> list[str]:
    """The ids of what is selected, in order."""
    return [item.id for item in select(passing(*items), budget).items]


OWED = (obligation("trip", "hotel", "train", critical=("hotel",)), frontier("trip"))


def test_a_complete_set_has_what_is_owed_first_and_leaves_the_rest_with_a_reason() -> None:
    items = (*OWED, fact("h", "hotel"), fact("t", "train"), fact("idle"), fact("h2", "hotel"))
    found = select(passing(*items), WIDE)
    assert [item.id for item in found.items] == ["o-trip", "f-trip", "h", "t"]
    assert found.chars == 4 + 4 + 10 + 10
    assert found.coverage == Coverage(covered=1, obligations=1, critical_covered=1, critical=1)
    assert (found.failures, found.supported) == ((), {"hotel", "train"})
    assert found.left == {"idle": Reason.NOT_NEEDED, "h2": Reason.NOT_NEEDED}


def test_the_larger_gain_per_cost_is_chosen() -> None:
    short, both = fact("short", "train", length=10), fact("both", "hotel", "train", length=20)
    assert chosen(*OWED, short, both)[2:] == ["both"]
    assert chosen(*OWED, short, fact("h", "hotel", length=30))[2:] == ["short", "h"]


def test_ties_go_to_the_larger_gain_then_to_the_smaller_id() -> None:
    items = (obligation("x", "a", "b", "c"), frontier("x"))
    two, one = fact("two", "a", "b", length=20), fact("one", "c", length=10)
    assert chosen(*items, one, two)[2:] == ["two", "one"]
    assert chosen(*items, fact("z", "a"), fact("y", "a"), one)[2:] == ["one", "y"]


def test_a_gain_that_shrank_is_looked_at_again() -> None:
    items = (obligation("x", "a", "b", "c"), frontier("x"))
    first = fact("first", "a", "b", length=10)
    shrunk = fact("shrunk", "b", "c", length=12)
    better = fact("better", "c", length=11)
    assert chosen(*items, first, shrunk, better)[2:] == ["first", "better"]
    assert chosen(*items, first, shrunk)[2:] == ["first", "shrunk"]


@pytest.mark.parametrize(
    ("budget", "shown", "left"),
    [
        (Budget(items=3), ["big"], {"small": Reason.OVER_BUDGET}),
        (Budget(chars=48), ["small"], {"big": Reason.OVER_BUDGET}),
    ],
)
def test_what_does_not_fit_is_passed_over(
    budget: Budget, shown: list[str], left: dict[str, Reason]
) -> None:
    big, small = fact("big", "hotel", length=41), fact("small", "train", length=40)
    found = select(passing(*OWED, big, small), budget)
    assert [item.id for item in found.items[2:]] == shown
    assert found.left == left
    assert Failure.INSUFFICIENT_COVERAGE in found.failures


def test_what_is_owed_has_to_fit() -> None:
    for budget in (Budget(items=1), Budget(chars=7)):
        found = select(passing(*OWED), budget)
        assert found.failures[0] is Failure.MANDATORY_EXCEEDS_BUDGET


def test_an_obligation_without_a_frontier_is_incomplete() -> None:
    found = select(passing(OWED[0], fact("h", "hotel"), fact("t", "train")), WIDE)
    assert found.failures == (Failure.MISSING_FRONTIER,)


def test_an_obligation_in_doubt_is_still_owed() -> None:
    doubtful = Judgement(OWED[0], (Reason.PROVENANCE_MISSING,))
    rest = passing(OWED[1], fact("h", "hotel"), fact("t", "train"))
    found = select((doubtful, *rest), WIDE)
    assert found.failures == (Failure.MISSING_OBLIGATION,)
    assert [item.id for item in found.items] == ["f-trip", "h", "t"]


@pytest.mark.parametrize("reason", [Reason.CLOSED, Reason.OTHER_TASK, Reason.REVOKED])
def test_an_obligation_that_ended_or_is_not_ours_demands_nothing(reason: Reason) -> None:
    ended = Judgement(OWED[0], (reason, Reason.PROVENANCE_MISSING))
    assert owed([ended]) == ((), frozenset())


def test_nothing_to_show_is_not_shown() -> None:
    found = select(passing(fact("h", "hotel")), WIDE)
    assert (found.items, found.failures) == ((), (Failure.NO_SAFE_CANDIDATE,))
    assert (found.coverage.cov, found.coverage.crit) == (1, 1)


def test_thresholds_say_what_is_enough() -> None:
    items = (*OWED, obligation("taxi", "time"), frontier("taxi"), fact("t", "train"))
    found = select(passing(*items, fact("h", "hotel")), Budget(coverage=0.5))
    assert (found.failures, found.coverage.cov) == ((), 0.5)
    short = select(passing(*items), Budget(coverage=0.1, critical=0.5))
    assert short.failures == (Failure.INSUFFICIENT_COVERAGE, Failure.INSUFFICIENT_CRITICAL)


@pytest.mark.parametrize(
    "changed", [{"items": 0}, {"chars": 0}, {"coverage": 0}, {"critical": 1.1}], ids=str
)
def test_a_budget_that_shows_nothing_or_anything_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        Budget(**changed)


# -- measures -------------------------------------------------------------------------------------


def requires(name: str, required: str, critical: str = "") -> Obligation:
    """An obligation by the letters of its dependencies."""
    return Obligation(
        name=name,
        opened_by=(),
        frontiers=(),
        required=frozenset(required),
        critical=frozenset(critical),
    )


def test_critical_dependencies_count_once_however_many_share_them() -> None:
    coverage = measure([requires("x", "ab", "a"), requires("y", "ac", "ac")], frozenset("ab"))
    assert coverage == Coverage(covered=1, obligations=2, critical_covered=1, critical=2)
    assert (coverage.cov, coverage.crit) == (0.5, 0.5)
    assert list(coverage.as_json().values()) == [1, 2, 1, 2]


def test_what_is_missing_is_named_with_who_needs_it_and_who_spoke_last() -> None:
    old = statement("p0", epoch=1, supports=("a",))
    new = statement("p1", epoch=3, supports=("a", "x"), writer="A4")
    unlucky = statement("p2", epoch=2, supports=("a",))
    judged = [
        Judgement(old, (Reason.REVOKED,)),
        Judgement(new, (Reason.PROVENANCE_MISSING,)),
        Judgement(unlucky, ()),
    ]
    found = missing([requires("x", "abc", "b"), requires("y", "a")], {"c"}, judged)
    word = LastWord("p1", "A4", 3, 3, (Reason.PROVENANCE_MISSING,))
    assert found == (
        Missing(dependency="a", critical=False, needed_by=("x", "y"), last=word),
        Missing(dependency="b", critical=True, needed_by=("x",), last=None),
    )
