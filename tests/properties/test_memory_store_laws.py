"""Laws of a guarded store of memories, whatever happens to it inside and outside.

1. Filtering: what a read serves is active, and what is active is served by every read.
2. Over-fetch: a search serves as many as it was asked for, or all that stand.
3. Drift: a text that was changed outside is served again only once it is attested.
4. Reversibility: what lapsed can stand again, and no text that was ever there is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from lapse.admission import Ending
from lapse.errors import Incapable, InvalidValue
from lapse.ledger import LIVE, Change, Head, State, Status, fold, genesis
from lapse.storage import InMemoryStore
from lapse.stores import (
    Capabilities,
    Guarded,
    Legacy,
    Provenance,
    Remembered,
    Sidecar,
    Standing,
    Write,
    items_of,
)
from lapse.testing import ManualClock, Notebook, SequenceIds

WORDS = st.sampled_from(["tea", "coffee", "water"])
ENDINGS = st.sampled_from([None, *Ending])
STANDING = {
    None: Standing.SUSPENDED,
    Ending.DISPUTED: Standing.DISPUTED,
    Ending.SUPERSEDED: Standing.SUPERSEDED,
    Ending.REVOKED: Standing.REVOKED,
    Ending.CLOSED: Standing.CLOSED,
}


@dataclass
class Known:
    """What the model expects of one memory."""

    text: str
    vouched: str | None  # the text that the ledger has last, if it has any
    standing: Standing = Standing.ACTIVE
    texts: list[str] = field(default_factory=list[str])

    @property
    def expected(self) -> Standing:
        if self.vouched is None:
            return Standing.LEGACY
        return self.standing if self.text == self.vouched else Standing.DRIFT


class GuardedMachine(RuleBasedStateMachine):
    """A guard over a notebook whose revisions are its texts, and a model of both."""

    names = Bundle("names")

    def __init__(self) -> None:
        super().__init__()
        ids = SequenceIds("r")
        self.ledger = InMemoryStore(ids=ids)
        self.clock = ManualClock(1)
        can = Capabilities(list_all=True, text_search=True)
        self.book = Notebook(capabilities=can)
        made = (
            Sidecar(self.ledger.again(), "notebook", clock=self.clock, ids=ids) for _ in range(2)
        )
        self.guards = [Guarded(self.book, sidecar) for sidecar in made]
        self.known: dict[str, Known] = {}

    @property
    def guarded(self) -> Guarded:
        """One of two guards over one ledger, in turns, as two processes would hold them."""
        self.guards.reverse()
        self.clock.advance(microseconds=1)
        return self.guards[0]

    @rule(target=names, word=WORDS)
    def written_here(self, word: str) -> str:
        name = self.guarded.add(f"likes {word}").memory.external_id
        self.known[name] = Known(f"likes {word}", f"likes {word}", texts=[f"likes {word}"])
        return name

    @rule(target=names, word=WORDS)
    def written_outside(self, word: str) -> str:
        name = self.book.add(f"likes {word}").external_id
        self.known[name] = Known(f"likes {word}", None)
        return name

    @rule(name=names, word=WORDS)
    def changed_here(self, name: str, word: str) -> None:
        known = self.known[name]
        if known.text not in (known.vouched, f"likes {word}"):
            known.texts.append(known.text)
        self.guarded.update(name, f"likes {word}")
        known.text = known.vouched = f"likes {word}"
        known.standing = Standing.ACTIVE
        known.texts.append(known.text)

    @rule(name=names, word=WORDS)
    def changed_outside(self, name: str, word: str) -> None:
        self.book.update(name, f"likes {word}")
        self.known[name].text = f"likes {word}"

    @rule(name=names)
    def attested(self, name: str) -> None:
        self.guarded.attest(name)
        known = self.known[name]
        known.vouched, known.standing = known.text, Standing.ACTIVE
        known.texts.append(known.text)

    @rule(name=names, ending=ENDINGS)
    def invalidated(self, name: str, ending: Ending | None) -> None:
        known = self.known[name]
        ended = {Standing.SUPERSEDED, Standing.REVOKED, Standing.CLOSED}
        if known.vouched is None or known.standing in ended:
            with pytest.raises(InvalidValue):
                self.guarded.invalidate(name, by="test", ending=ending)
            return
        self.guarded.invalidate(name, by="test", ending=ending)
        if ending is not None or known.standing is Standing.ACTIVE:
            known.standing = STANDING[ending]

    @rule(name=names)
    def restored(self, name: str) -> None:
        known = self.known[name]
        if known.expected in (Standing.LEGACY, Standing.DRIFT):
            with pytest.raises(InvalidValue):
                self.guarded.restore(name, by="test")
            return
        assert self.guarded.restore(name, by="test").memory.text == known.text
        known.standing = Standing.ACTIVE

    @invariant()
    def every_read_serves_what_stands(self) -> None:
        standing = {n for n, known in self.known.items() if known.expected is Standing.ACTIVE}
        guarded = self.guarded
        assert {one.memory.external_id for one in guarded.list()} == standing
        for name, known in self.known.items():
            found = guarded.standing(name)
            assert found is not None
            assert found.standing is known.expected
            assert (guarded.get(name) is not None) is (name in standing)
        active = [i.attributes["memory"] for i in items_of(guarded) if i.status is Status.ACTIVE]
        assert sorted(active) == sorted(standing)

    @invariant()
    def a_search_goes_on_until_it_has_enough(self) -> None:
        for word in ("tea", "likes"):
            fit = {
                name
                for name, known in self.known.items()
                if known.expected is Standing.ACTIVE and word in known.text
            }
            for limit in (1, 3):
                reading = self.guarded.search(word, limit=limit)
                found = [one.external_id for one in reading.memories]
                assert len(found) == min(limit, len(fit))
                assert set(found) <= fit

    @invariant()
    def nothing_is_lost(self) -> None:
        assert {one.external_id: one.text for one in self.book.list()} == {
            name: known.text for name, known in self.known.items()
        }
        for name, known in self.known.items():
            kept = [r.content["text"] for r in self.guarded.sidecar.history(name)]
            assert set(known.texts) <= set(kept)

    @invariant()
    def a_memory_has_one_live_record(self) -> None:
        for name in self.known:
            history = self.guarded.sidecar.history(name)
            assert sum(record.status in LIVE for record in history) <= 1
            assert all(record.status not in LIVE for record in history[:-1])

    def teardown(self) -> None:
        """The chain folds to the state that was used."""
        state: State = self.ledger.state()
        assert fold(genesis(self.ledger.ledger), self.ledger.changes()) == state


TestGuarded = GuardedMachine.TestCase
TestGuarded.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)


@pytest.mark.slow
class TestGuardedDeeply(GuardedMachine.TestCase):
    """The same, for longer."""

    settings = settings(max_examples=300, stateful_step_count=40, deadline=None)


WRITES = st.lists(
    st.tuples(
        st.sampled_from(["m1", "m2", "m3"]),
        WORDS,
        st.sampled_from(["", "", "", "drink"]),
        st.sampled_from(["user", "inference"]),
        st.sampled_from(["", "", "m1"]),
    ),
    max_size=10,
)


@settings(deadline=None)
@given(WRITES)
def test_many_memories_at_once_are_written_as_one_by_one(
    writes: list[tuple[str, str, str, str, str]],
) -> None:
    told = [
        Write(
            Remembered(external_id=name, text=word),
            Provenance(
                writer=authority,
                authority=authority,
                slot=slot,
                rests_on=(needed,) if needed and needed != name else (),
            ),
        )
        for name, word, slot, authority, needed in writes
    ]
    found: list[list[tuple[str, str, str]]] = []
    for together in (True, False):
        ids = SequenceIds("r")
        ledger = InMemoryStore(ids=ids)
        sidecar = Sidecar(ledger, "notebook", clock=ManualClock(1), ids=ids)
        for batch in [told] if together else [[one] for one in told]:
            with suppress(InvalidValue):  # it rests on what is not there
                sidecar.remember_all(batch)
                continue
            if together:  # what came after it was not written; one by one it is
                return
        histories = (sidecar.history(name) for name in ("m1", "m2", "m3"))
        found.append(
            [
                (record.content["external_id"], record.content["text"], record.status.value)
                for history in histories
                for record in history
            ]
        )
        assert fold(genesis(ledger.ledger), ledger.changes()) == ledger.state()
    assert found[0] == found[1]


def test_what_falls_with_another_of_the_same_batch_is_written_after_it() -> None:
    ids = SequenceIds("r")
    ledger = InMemoryStore(ids=ids)
    sidecar = Sidecar(ledger, "notebook", clock=ManualClock(1), ids=ids)
    base, derived = (Remembered(external_id=name, text="before") for name in ("m1", "m2"))
    sidecar.remember(base, Provenance())
    sidecar.remember(derived, Provenance(rests_on=("m1",)))
    later = [Remembered(external_id=name, text="after") for name in ("m2", "m1")]
    sidecar.remember_all([Write(memory, Provenance()) for memory in later])
    for name in ("m1", "m2"):
        old, new = sidecar.history(name)
        assert (old.status, new.status) == (Status.SUPERSEDED, Status.ACTIVE)


class Counting(InMemoryStore):
    """Counts its appends."""

    appends = 0

    def append(self, changes: Sequence[Change], *, after: Head) -> None:
        super().append(changes, after=after)
        self.appends += 1


def test_a_whole_store_is_adopted_in_few_appends() -> None:
    ids = SequenceIds("r")
    ledger = Counting(ids=ids)
    book = Notebook()
    for number in range(1_200):
        book.add(f"note {number}")
    guarded = Guarded(book, Sidecar(ledger, "notebook", clock=ManualClock(1), ids=ids))
    assert len(guarded.adopt()) == 1_200
    assert sum(1 for _ in guarded.list()) == 1_200
    assert ledger.appends == 3


def test_a_store_that_cannot_says_which_capability_it_lacks() -> None:
    guarded = Guarded(
        Notebook(capabilities=Capabilities()),
        Sidecar(
            InMemoryStore(ids=SequenceIds()), "notebook", clock=ManualClock(), ids=SequenceIds()
        ),
        legacy=Legacy.ADMIT,
    )
    with pytest.raises(Incapable, match="does not declare 'text_search'") as refused:
        guarded.search("tea")
    assert (refused.value.store, refused.value.capability) == ("notebook", "text_search")
    with pytest.raises(Incapable):
        guarded.list()
    with pytest.raises(Incapable):
        items_of(guarded)
    assert guarded.add("tea", Provenance(writer="me")).standing is Standing.ACTIVE
