"""What every store has to do, as cases that any test runner can run.

A case takes a *place*: a function that opens the same store each time it is called, empty at first.

::

    @pytest.mark.parametrize("case", STORE_CASES, ids=lambda case: case.__name__)
    def test_my_store(case, tmp_path):
        case(lambda: MyStore(tmp_path / "ledger"))

A case raises AssertionError with the promise that was broken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from lapse.errors import IllegalChange, InvalidValue, StoreClosed, StoreConflict
from lapse.ledger import (
    Change,
    ChangeKind,
    Draft,
    Head,
    Outcome,
    Part,
    Source,
    State,
    Status,
    Store,
    fold,
    genesis,
    seal,
)
from lapse.testing.comparing import same_ledger, same_state, sound
from lapse.testing.content_cases import CONTENT_CASES
from lapse.testing.promises import holds, refuses, same
from lapse.testing.scribe import ISSUER, Scribe, sample

__all__ = ["STORE_CASES", "Place"]

Place = Callable[[], Store]
"""Opens the same store each time it is called."""

TABLE = Source.table(ISSUER, "flow_rules")


def a_new_place_is_empty(place: Place) -> None:
    """No changes, no records, and the head that the ledger's id gives."""
    with closing(place()) as store:
        holds(store.ledger, "a ledger has an id")
        same(store.head(), genesis(store.ledger), "the head of an empty chain is its genesis")
        same(list(store.changes()), [], "an empty chain has no changes")
        same(store.state(), State(genesis(store.ledger)), "an empty ledger has an empty state")


def what_was_appended_is_read_back(place: Place) -> None:
    """Changes come back equal, in order; head and state are where they lead."""
    with closing(place()) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"), sample("b"), sample("c", row="other"))
        same_ledger(store, scribe)
        same(list(store.changes(after=2)), scribe.written[2:], "changes start after a place")
        same(list(store.changes(after=99)), [], "nothing comes after the end")


def the_kept_state_follows_every_kind_of_change(place: Place) -> None:
    """After each append the kept state is what the changes add up to, in the order of writing."""
    with closing(place()) as store:
        scribe = Scribe(store)
        scribe.write(*(sample(name) for name in "abcdefg"))
        rules = Source.rules(ISSUER)
        for drafts in (
            [scribe.judged(ChangeKind.APPLIED, "a", "g")],
            [scribe.judged(ChangeKind.SUSPENDED, "a", "b")],
            [scribe.judged(ChangeKind.REINSTATED, "a")],
            [scribe.judged(ChangeKind.DISPUTED, "a", "b")],
            [scribe.judged(ChangeKind.REINSTATED, "b")],
            [scribe.judged(ChangeKind.SUPERSEDED, "a")],
            [scribe.judged(ChangeKind.REVOKED, "b")],
            [scribe.judged(ChangeKind.EVICTED, "c", "d")],
            [scribe.moved(ChangeKind.OBSERVED, TABLE, "v2")],
            [scribe.moved(ChangeKind.ADVANCED, TABLE, "v2")],
            [scribe.moved(ChangeKind.OBSERVED, TABLE, None)],
            [scribe.moved(ChangeKind.OBSERVED, rules, "r1")],
            [scribe.moved(ChangeKind.ADVANCED, rules, None)],
            [scribe.purged("e", "a")],
            [scribe.judged(ChangeKind.SUSPENDED, "f"), scribe.judged(ChangeKind.EVICTED, "f")],
        ):
            scribe.carry_out(*drafts)
            same_state(store, scribe)
        same(
            {record.id: record.status for record in store.state().records()},
            {
                "a": Status.PURGED,
                "b": Status.REVOKED,
                "c": Status.EVICTED,
                "d": Status.EVICTED,
                "e": Status.PURGED,
                "f": Status.EVICTED,
                "g": Status.ACTIVE,
            },
            "each record has the status that the last change about it left",
        )


def receipts_show_in_the_kept_state(place: Place) -> None:
    """A record comes back with the receipts it was written with and every later one, in order."""
    with closing(place()) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"), sample("b"))
        scribe.carry_out(scribe.witnessed("a"), scribe.witnessed("a", outcome=Outcome.CONTRADICTS))
        scribe.carry_out(scribe.witnessed("b"))
        scribe.carry_out(scribe.witnessed("a"))
        outcomes = [receipt.outcome for receipt in store.state().record("a").receipts]
        same(outcomes, ["confirms", "contradicts", "confirms"], "receipts are kept in order")
        same_state(store, scribe)


def a_place_opened_again_is_the_same(place: Place) -> None:
    """Nothing that was acknowledged depends on the handle that wrote it."""
    first = place()
    scribe = Scribe(first)
    scribe.write(sample("a"), sample("b"))
    scribe.carry_out(scribe.judged(ChangeKind.EVICTED, "a"))
    ledger = first.ledger
    second = place()
    first.close()
    with closing(second):
        same(second.ledger, ledger, "the ledger keeps its id")
        same_ledger(second, scribe)


def two_handles_share_one_ledger(place: Place) -> None:
    """What one handle wrote, the other reads at once and can build on."""
    with closing(place()) as one, closing(place()) as other:
        scribe = Scribe(one)
        same(other.head(), one.head(), "two handles see one head")
        for name, store in (("a", one), ("b", other), ("c", other), ("d", one)):
            scribe.store = store
            scribe.write(sample(name))
            for reader in (one, other):
                same(reader.head(), scribe.expected.head, "an append moves every handle's head")
        same_ledger(one, scribe)
        same_ledger(other, scribe)


def an_older_head_is_refused(place: Place) -> None:
    """Who decided on an older state is told so, and nothing is written."""
    with closing(place()) as store, closing(place()) as late:
        scribe = Scribe(store)
        slow = Scribe(late)
        scribe.write(sample("a"))
        stale = slow.sealed(*slow.written_by(sample("b")))
        same_place = scribe.expected.head._replace(digest=genesis("another").digest)
        for handle in (store, late):
            for changes, after in (
                (stale, slow.expected.head),
                ((), slow.expected.head),
                ((), same_place),
                ((), Head(99, same_place.digest)),
                (seal(slow.written_by(sample("c")), same_place), same_place),
            ):
                refuses(
                    StoreConflict,
                    lambda h=handle, c=changes, a=after: h.append(c, after=a),
                    "an append after another head is a conflict",
                )
        store.append((), after=scribe.expected.head)
        same_ledger(store, scribe)


def an_append_is_whole_or_absent(place: Place) -> None:
    """When one change of several is refused, none is written, nor is the state moved."""
    with closing(place()) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"), sample("b"))
        scribe.carry_out(scribe.judged(ChangeKind.EVICTED, "b"))
        good = (scribe.moved(ChangeKind.OBSERVED, TABLE, "v9"), scribe.witnessed("a"))
        part = Part.of("a", sample("a").as_json(), salt="s")
        again = Draft(kind=ChangeKind.WRITTEN, at=9, reason="r", actor="a", parts=(part,))
        for bad in (
            scribe.judged(ChangeKind.SUSPENDED, "b"),
            scribe.judged(ChangeKind.SUSPENDED, "a", "nobody"),
            scribe.judged(ChangeKind.REINSTATED, "a"),
            again,
        ):
            changes = scribe.sealed(*good, bad)
            refuses(
                IllegalChange,
                lambda c=changes: store.append(c, after=scribe.expected.head),
                f"a record in another status cannot be {bad.kind}",
            )
            same_ledger(store, scribe)


def what_does_not_follow_is_refused(place: Place) -> None:
    """Changes that are not linked one by one, or that no column could hold, are a caller's bug."""
    with closing(place()) as store:
        scribe = Scribe(store)
        head = scribe.expected.head
        first, second = scribe.sealed(*(scribe.moved(ChangeKind.OBSERVED, TABLE, v) for v in "12"))
        eternal = replace(scribe.moved(ChangeKind.OBSERVED, TABLE, "1"), at=2**63)
        for changes in (
            (second,),
            (second, first),
            (first, first),
            (replace(first, seq=7),),
            seal([eternal], head),
        ):
            refuses(
                InvalidValue,
                lambda c=changes: store.append(c, after=head),
                "changes follow the head they were sealed on, one by one",
            )
        same_ledger(store, scribe)


def threads_share_a_handle(place: Place) -> None:
    """Each append that was acknowledged is in the chain once, whoever else was writing."""
    threads, each = 4, 25
    acknowledged: list[Change] = []
    with closing(place()) as store:
        start = threading.Barrier(threads)

        def append_some(name: str) -> None:
            start.wait()
            acknowledged.extend(
                _append_with_retry(store, f"{name}/{number}") for number in range(each)
            )

        workers = [threading.Thread(target=append_some, args=(name,)) for name in "abcd"]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        same(len(acknowledged), threads * each, "every append is acknowledged in the end")
        found = list(store.changes())
        same(
            found,
            sorted(acknowledged, key=lambda change: change.seq),
            "the chain is what was acknowledged, once each",
        )
        same(store.state(), fold(genesis(store.ledger), found), "the kept state follows the chain")
        sound(store)


def a_state_belongs_to_who_asked(place: Place) -> None:
    """Changing what `state` gave changes nothing in the store."""
    with closing(place()) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"))
        (more,) = scribe.sealed(scribe.judged(ChangeKind.EVICTED, "a"))
        store.state().apply(more)
        (mark,) = scribe.sealed(scribe.moved(ChangeKind.OBSERVED, TABLE, "v2"))
        store.state().apply(mark)
        same_state(store, scribe)


def a_closed_store_says_so(place: Place) -> None:
    """After closing every method refuses, and closing again does no harm."""
    store = place()
    scribe = Scribe(store)
    scribe.write(sample("a"), sample("b"))
    reader = store.changes()
    next(reader)
    store.close()
    store.close()
    (more,) = scribe.sealed(scribe.judged(ChangeKind.EVICTED, "a"))
    for call in (
        store.head,
        store.state,
        lambda: list(store.changes()),
        lambda: list(store.changes(record="a")),
        lambda: store.append((more,), after=scribe.expected.head),
    ):
        refuses(StoreClosed, call, "a closed store refuses")


STORE_CASES: tuple[Callable[[Place], None], ...] = (
    a_new_place_is_empty,
    what_was_appended_is_read_back,
    the_kept_state_follows_every_kind_of_change,
    receipts_show_in_the_kept_state,
    a_place_opened_again_is_the_same,
    two_handles_share_one_ledger,
    an_older_head_is_refused,
    an_append_is_whole_or_absent,
    what_does_not_follow_is_refused,
    threads_share_a_handle,
    a_state_belongs_to_who_asked,
    a_closed_store_says_so,
    *CONTENT_CASES,
)
"""Every case; each needs a place of its own."""


def _append_with_retry(store: Store, name: str) -> Change:
    while True:
        head = store.head()
        source = Source.premise("workspace", name)
        draft = Draft(
            kind=ChangeKind.OBSERVED, at=1, reason="seen", actor="test", source=source, version="1"
        )
        (change,) = seal([draft], head)
        try:
            store.append((change,), after=head)
        except StoreConflict:
            continue
        return change
