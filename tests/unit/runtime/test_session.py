"""One process's hold on a ledger that others hold, too."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pytest

from lapse.errors import IllegalChange, StoreConflict, StoreFull
from lapse.ledger import (
    Change,
    ChangeKind,
    Draft,
    Head,
    Interval,
    Kind,
    Record,
    Source,
    State,
    Store,
    fold,
    genesis,
    writing,
)
from lapse.runtime import Session
from lapse.storage import InMemoryStore
from lapse.testing import SequenceIds


class Swappable:
    """Implements `lapse.ledger.Store` over another one that a test may exchange or make fail."""

    def __init__(self, store: Store) -> None:
        self.behind = store
        self.conflicts = 0
        self.full = False

    @property
    def ledger(self) -> str:
        return self.behind.ledger

    def head(self) -> Head:
        return self.behind.head()

    def append(self, changes: Sequence[Change], *, after: Head) -> None:
        if self.full:
            raise StoreFull("no space is left")
        if self.conflicts:
            self.conflicts -= 1
            raise StoreConflict("somebody else wrote first")
        self.behind.append(changes, after=after)

    def changes(
        self, *, after: int = 0, record: str | None = None, sources: Collection[Source] = ()
    ) -> Iterator[Change]:
        return self.behind.changes(after=after, record=record, sources=sources)

    def state(self) -> State:
        return self.behind.state()

    def close(self) -> None:
        self.behind.close()


def note(state: State, name: str) -> Sequence[Draft]:
    record = Record(id=name, kind=Kind.FACT, slot=name, content={"n": name}, valid=Interval(0))
    return writing(state, record, at=0, reason="noted", actor="test", salt="s")


def write(session: Session, name: str) -> None:
    session.write(lambda state: (None, note(state, name)))


def names(session: Session) -> list[str]:
    with session.lock:
        return [record.id for record in session.catch_up()]


def test_what_one_writes_the_other_reads_before_it_decides() -> None:
    store = InMemoryStore(ids=SequenceIds())
    one, other = Session(store), Session(store.again())
    write(one, "a")
    write(other, "b")
    write(one, "c")
    assert names(one) == names(other) == ["a", "b", "c"]
    assert one.state == other.state == fold(genesis(store.ledger), store.changes())


def test_the_result_of_the_decision_that_was_carried_out_is_returned() -> None:
    session = Session(InMemoryStore(ids=SequenceIds()))
    write(session, "a")
    assert session.write(lambda state: (len(state), note(state, "b"))) == 1
    assert session.write(lambda state: (len(state), ())) == 2


def test_a_decision_is_taken_again_when_others_wrote_first() -> None:
    store = Swappable(InMemoryStore(ids=SequenceIds()))
    session = Session(store)
    store.conflicts = 3
    decided: list[int] = []

    def decide(state: State) -> tuple[None, Sequence[Draft]]:
        decided.append(state.head.seq)
        return None, note(state, "a")

    session.write(decide)
    assert decided == [0, 0, 0, 0]
    assert names(session) == ["a"]


def test_losing_every_race_is_reported_and_changes_nothing() -> None:
    store = Swappable(InMemoryStore(ids=SequenceIds()))
    session = Session(store)
    store.conflicts = 1_000_000
    with pytest.raises(StoreConflict, match="from fewer processes"):
        write(session, "a")
    assert names(session) == []


def test_what_the_state_does_not_allow_reaches_no_store() -> None:
    store = InMemoryStore(ids=SequenceIds())
    session = Session(store)
    write(session, "a")
    head = store.head()
    with pytest.raises(IllegalChange, match="exists already"):
        write(session, "a")
    assert store.head() == head


def test_a_write_that_fails_leaves_the_state_as_it_was() -> None:
    store = Swappable(InMemoryStore(ids=SequenceIds()))
    session = Session(store)
    store.full = True
    with pytest.raises(StoreFull):
        write(session, "a")
    store.full = False
    assert names(session) == []
    write(session, "a")
    assert names(session) == ["a"]


def filled(*written: str) -> InMemoryStore:
    store = InMemoryStore(ids=SequenceIds("ledger"))
    session = Session(store)
    for name in written:
        write(session, name)
    return store


@pytest.mark.parametrize(
    "there_now",
    [("x",), ("x", "y"), ("x", "y", "z", "more"), ("a", "x", "b"), ("a",), ()],
    ids=["shorter", "as long", "longer", "a fork", "rolled back", "emptied"],
)
def test_a_store_that_was_replaced_under_us_is_taken_as_it_is_now(
    there_now: tuple[str, ...],
) -> None:
    store = Swappable(filled("a", "b"))
    session = Session(store)
    store.behind = filled(*there_now)
    assert names(session) == list(there_now)
    write(session, "new")
    assert names(session) == [*there_now, "new"]


def test_the_kinds_that_move_a_source_need_no_record() -> None:
    session = Session(InMemoryStore(ids=SequenceIds()))
    source = Source.table("i", "t")
    draft = Draft(kind=ChangeKind.OBSERVED, at=0, reason="seen", actor="t", source=source)
    session.write(lambda _: (None, [draft]))
    assert source in session.state.marks()
