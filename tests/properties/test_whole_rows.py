"""Rows that leave whole: a state that lets go of them in one step is the state that would not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import event, given
from hypothesis import strategies as st

from lapse.ledger import (
    ChangeKind,
    Interval,
    Kind,
    Record,
    Source,
    Stamp,
    State,
    genesis,
    vector,
)
from lapse.storage import InMemoryStore
from lapse.testing import Scribe, SequenceIds

ISSUERS = "ij"
ROWS = [Source.row(issuer, table, key) for issuer in ISSUERS for table in "tu" for key in "12"]
OTHERS = [Source.rules("i"), Source.premise("w", "hotel"), Source.record("r0")]


@dataclass(frozen=True, slots=True)
class Step:
    """One decision; `pick` chooses among what is there."""

    what: str
    pick: int
    rests_on: tuple[Source, ...]
    version: str


steps = st.lists(
    st.builds(
        Step,
        what=st.sampled_from(["write", "write", "write", "row", "row", "some", "purge"]),
        pick=st.integers(0, 1000),
        rests_on=st.one_of(
            st.sampled_from(ROWS).map(lambda row: (row,)),
            st.tuples(st.sampled_from(ROWS), st.sampled_from(OTHERS)),
            st.lists(st.sampled_from([*ROWS, *OTHERS]), max_size=3, unique=True).map(tuple),
        ),
        version=st.sampled_from(["1", "1", "1", "2"]),
    ),
    max_size=40,
)


def record(number: int, step: Step) -> Record:
    # Only a row's version varies here: what has a mark may not be passed by.
    stamps = vector(
        Stamp(source, step.version if source.kind == "row" else "1") for source in step.rests_on
    )
    return Record(
        id=f"r{number}",
        kind=Kind.FIX,
        slot=f"slot {step.pick % 3}",
        topic=f"topic {step.pick % 2}",
        issuer=ISSUERS[step.pick % 2],
        content={"n": number},
        valid=Interval(number),
        stamps=stamps,
    )


def carry_out(scribe: Scribe, number: int, step: Step) -> None:
    state = scribe.expected
    live = sorted(r.id for r in state)
    rows = [row for row in ROWS if row in state.index]
    match step.what:
        case "write":
            scribe.write(record(number, step))
        case "row" if rows:
            chosen = {rows[step.pick % len(rows)]: None, rows[step.pick % 7 % len(rows)]: None}
            ids = dict.fromkeys(name for row in chosen for name in sorted(state.index.on(row)))
            scribe.carry_out(scribe.judged(ChangeKind.EVICTED, *ids))
        case "some" if live:
            ids = live[: 1 + step.pick % len(live)]
            scribe.carry_out(scribe.judged(ChangeKind.EVICTED, *ids))
        case "purge" if names := sorted(r.id for r in state.records()):
            scribe.carry_out(scribe.purged(names[step.pick % len(names)]))
        case _:
            event(f"nothing to {step.what}")


def answers(state: State) -> dict[str, object]:
    """What a state says to every question that it can be asked."""
    index = state.index
    sources = [*ROWS, *{row.container for row in ROWS}, *OTHERS]
    held = {source: index.on(source) for source in sources}
    for source, ids in held.items():
        assert len(ids) == len(list(ids)) == len(set(ids))
        assert all(name in ids for name in ids)
        assert "nobody" not in ids
        assert (source in index) is bool(ids)
    return {
        "live": list(state),
        "number": len(state),
        "records": {r.id: r for r in state.records()},
        "by id": [state.record(r.id) for r in state],
        "carrying": set(index),
        "on": {source: set(ids) for source, ids in held.items()},
        "directly": {source: set(index.directly_on(source)) for source in sources},
        "slots": [state.in_slot(i, f"slot {n}") for i in ISSUERS for n in range(3)],
        "topics": [state.on_topic(i, f"topic {n}") for i in ISSUERS for n in range(2)],
        "first": [state.first_usable(i, f"slot {n}") for i in ISSUERS for n in range(3)],
    }


@given(steps)
def test_what_left_with_its_row_is_gone_as_if_it_had_left_alone(history: list[Step]) -> None:
    scribe = Scribe(InMemoryStore(ids=SequenceIds("id")))
    for number, step in enumerate(history):
        carry_out(scribe, number, step)
        state = scribe.expected
        again = State.restore(state.head, state.records(), state.marks())
        assert answers(state) == answers(again)
        assert {r.issuer for r in state} <= set(state.issuers())
    assert scribe.store.state() == scribe.expected


@given(st.integers(1, 40), st.integers(0, 40))
def test_what_is_left_of_rows_is_swept_as_records_come_in(gone: int, written: int) -> None:
    scribe = Scribe(InMemoryStore(ids=SequenceIds("id")))
    row, rules = Source.row("i", "t", "1"), Source.rules("i")
    step = Step("write", 0, (row, rules), "1")
    for number in range(gone):
        scribe.write(record(number, step))
    scribe.carry_out(scribe.judged(ChangeKind.EVICTED, *sorted(scribe.expected.index.on(row))))
    state = scribe.expected
    assert len(state.index.on(rules)) == 0
    other = replace(step, rests_on=(Source.row("i", "u", "1"), rules))
    for number in range(written):
        scribe.write(record(100 + number, other))
    swept = min(gone, 4 * written)
    assert sum(map(len, state._unswept)) == gone - swept  # pyright: ignore[reportPrivateUsage]
    assert len(state.index.on(rules)) == written
    state.sweep()
    assert not state._unswept  # pyright: ignore[reportPrivateUsage]
    assert len(state.index.on(rules)) == written


def test_a_state_without_changes_carries_nothing() -> None:
    assert answers(State(genesis("empty")))["carrying"] == set()
