"""What stands is the least set that carries itself, whoever computes it and in whichever order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapse.admission import (
    RANKS,
    Fallen,
    History,
    Reason,
    WorkItem,
    chain_end,
    explicit,
    settle,
)
from lapse.ledger import Source, Stamp, Status, digest
from lapse.testing.workspace import leaving, resting_on, returning, statement

NAMES = tuple(f"i{n}" for n in range(7))
TEXTS = ("same", "other")
WORTHS = (*(digest(text.encode()) for text in TEXTS), "third", None)
ENDED = {Reason.CLOSED, Reason.EXPIRED, Reason.EPOCH_ENDED}


@st.composite
def carrying(draw: st.DrawFn) -> tuple[WorkItem, ...]:
    """Items in few slots, most of which take something for granted or rest on another."""
    items: list[WorkItem] = []
    for name in NAMES:
        slot = draw(st.sampled_from(["s1", "s2", "s3", name]))
        assumed = draw(
            st.dictionaries(
                st.sampled_from(sorted({"s1", "s2", "s3", "i0"} - {slot})),
                st.sampled_from(WORTHS),
                max_size=2,
            )
        )
        rests_on = tuple(draw(st.lists(st.sampled_from(items), max_size=1))) if items else ()
        items.append(
            statement(
                name,
                draw(st.sampled_from(TEXTS)),
                epoch=draw(st.integers(1, 4)),
                slot=slot,
                value=draw(st.sampled_from(["", "", "third"])),
                stamps=(
                    *resting_on(*rests_on),
                    *(Stamp(Source.premise("", s), w) for s, w in assumed.items()),
                ),
                status=draw(st.sampled_from([Status.ACTIVE] * 5 + [Status.EVICTED])),
            )
        )
    return tuple(items)


inferred = st.sets(st.sampled_from(NAMES), max_size=2)


def begun(items: Sequence[WorkItem], broken: set[str]) -> History:
    """The explicit rules, and what a judge found broken."""
    history = explicit(returning(leaving(), *items), RANKS)
    for name in sorted(broken):
        history.drop(name, Reason.INVALIDATED)
    return history


def grounded(items: Sequence[WorkItem], history: History) -> set[str]:
    """What stands, built up from nothing: look at everything until nothing more is carried."""
    candidates = [item for item in items if item.id not in history.fallen]
    by_id = {item.id: item for item in items}
    standing: set[str] = set()

    def holds(slot: str, worth: str | None) -> bool:
        if worth is not None:
            return any(by_id[n].slot == slot and by_id[n].states == worth for n in standing)
        said = [item for item in items if item.slot == slot]
        last = max(said, key=lambda item: (item.moment, item.id), default=None)
        return last is None or (
            all(item.id in history.fallen for item in said)
            and history.fallen[last.id].reason in ENDED
        )

    def stands(item: WorkItem) -> bool:
        return all(
            chain_end(history.restated, needed) in standing for needed in item.rests_on
        ) and all(holds(slot, worth) for slot, worth in item.assumes)

    while found := {i.id for i in candidates if i.id not in standing and stands(i)}:
        standing |= found
    return standing


def check(items: tuple[WorkItem, ...], broken: set[str], chance: random.Random) -> None:
    history = begun(items, broken)
    expected = grounded(items, history)
    shuffled = list(items)
    chance.shuffle(shuffled)
    for given_in in (items, shuffled):
        settled = History(dict(history.fallen), dict(history.restated))
        settle(given_in, settled)
        assert {item.id for item in items} - settled.fallen.keys() == expected
        again = History(dict(settled.fallen), dict(settled.restated))
        settle(given_in, again)
        assert again == settled
        assert_each_reason_is_borne_out(items, settled.fallen)


def assert_each_reason_is_borne_out(
    items: tuple[WorkItem, ...], fallen: Mapping[str, Fallen]
) -> None:
    by_id = {item.id: item for item in items}
    for name, fall in fallen.items():
        slots = {slot for slot, _ in by_id[name].assumes}
        match fall.reason:
            case Reason.PREMISE_CHANGED:
                assert by_id[fall.by].slot in slots
            case Reason.UNKNOWN_CURRENT if fall.by:
                assert by_id[fall.by].slot in slots
                assert fall.by in fallen
            case Reason.PREMISE_CYCLE:
                assert fallen[fall.by].reason is Reason.PREMISE_CYCLE
            case Reason.DEPENDENCY_LAPSED:
                assert fall.by in fallen
            case _:
                pass


@given(carrying(), inferred, st.randoms(use_true_random=False))
def test_what_stands_is_the_least_set_that_carries_itself(
    items: tuple[WorkItem, ...], broken: set[str], chance: random.Random
) -> None:
    check(items, broken, chance)


@pytest.mark.slow
@settings(max_examples=1000)
@given(carrying(), inferred, st.randoms(use_true_random=False))
def test_what_stands_is_the_least_set_that_carries_itself_at_length(
    items: tuple[WorkItem, ...], broken: set[str], chance: random.Random
) -> None:
    check(items, broken, chance)


@given(carrying(), inferred, st.sampled_from(NAMES))
def test_letting_more_fall_lets_nothing_stand(
    items: tuple[WorkItem, ...], broken: set[str], name: str
) -> None:
    fewer, more = begun(items, broken), begun(items, broken | {name})
    settle(items, fewer)
    settle(items, more)
    assert fewer.fallen.keys() <= more.fallen.keys()
