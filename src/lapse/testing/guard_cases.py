"""What a guard promises over any store, as cases; `memory_store_cases` has those of the adapter.

"Outside" means through the adapter itself, past the guard: as anybody else who holds the store
would do it.
"""

from __future__ import annotations

from collections.abc import Callable

from lapse.admission import Ending
from lapse.errors import Incapable, InvalidValue
from lapse.ledger import Interval, Scope, Status
from lapse.storage import InMemoryStore
from lapse.stores import (
    Guarded,
    Legacy,
    MemoryStore,
    Provenance,
    Remembered,
    Sidecar,
    Standing,
    items_of,
)
from lapse.testing.fakes import ManualClock, SequenceIds
from lapse.testing.promises import holds, refuses, same

__all__ = ["GUARD_CASES", "TEXTS", "Place", "guard", "same_memory"]

Place = Callable[[], MemoryStore]
"""Opens the same store each time it is called."""

TEXTS = (
    "Ana prefers green tea",
    "El café está cerrado los lunes — “siempre”",
    "The build runs\non two lines",
    "Rent is 1,200 € a month",
)
ANA = Provenance(writer="Ana", authority="user")


def guard(
    store: MemoryStore,
    *,
    ledger: InMemoryStore | None = None,
    clock: ManualClock | None = None,
    legacy: Legacy = Legacy.REFUSE,
    write_back: bool = False,
    most_fetched: int = 1_000,
) -> Guarded:
    """A guard over a store, with a ledger in memory and a clock that stands still."""
    ids = SequenceIds("r")
    sidecar = Sidecar(
        InMemoryStore(ids=ids) if ledger is None else ledger,
        store.name,
        clock=ManualClock(1_000) if clock is None else clock,
        ids=ids,
    )
    return Guarded(store, sidecar, legacy=legacy, write_back=write_back, most_fetched=most_fetched)


def what_was_written_here_is_served(place: Place) -> None:
    """A memory is served by every read, with the record that vouches for it."""
    guarded = guard(place())
    written = guarded.add(TEXTS[0], ANA)
    same(written.standing, Standing.ACTIVE, "what was just written stands")
    same(_reads(guarded, written.memory), _every_read(guarded), "every read serves it")
    (record,) = guarded.sidecar.history(written.memory.external_id)
    same(record.id, written.record, "the record is named")
    same(record.content["text"], TEXTS[0], "the ledger keeps the text")
    same([r.digest for r in record.receipts], [written.memory.text_sha256], "with a receipt")


def what_nobody_saw_is_legacy(place: Place) -> None:
    """A memory that came from outside is not served, or served with a mark, or attested."""
    store = place()
    outside = store.add(TEXTS[0])
    guarded = guard(store)
    same(_reads(guarded, outside), (), "a legacy memory is not served")
    _standing(guarded, outside, Standing.LEGACY)
    lenient = guard(store, legacy=Legacy.ADMIT)
    served = lenient.get(outside.external_id)
    same(served and served.standing, Standing.LEGACY, "the policy may admit it, marked")
    refuses(
        InvalidValue,
        lambda: guarded.invalidate(outside.external_id, by="test"),
        "what the ledger never saw cannot be invalidated there",
    )
    guarded.attest(outside.external_id, ANA)
    same(_reads(guarded, outside), _every_read(guarded), "an attested memory is served")


def what_changed_outside_has_drifted(place: Place) -> None:
    """A text that was changed outside is not served, whatever it says, until it is attested."""
    guarded = guard(place())
    memory = guarded.add(TEXTS[0], ANA).memory
    drifted = guarded.store.update(memory.external_id, TEXTS[3])
    same(_reads(guarded, drifted), (), "a drifted memory is not served")
    _standing(guarded, memory, Standing.DRIFT)
    refuses(
        InvalidValue,
        lambda: guarded.restore(memory.external_id, by="test"),
        "restoring is not attesting",
    )
    same(_reads(guarded, drifted), (), "nothing but attesting heals it")
    guarded.attest(memory.external_id)
    same(_reads(guarded, drifted), _every_read(guarded), "an attested text is served")
    texts = [record.content["text"] for record in guarded.sidecar.history(memory.external_id)]
    same(texts, [TEXTS[0], TEXTS[3]], "both texts are in the ledger")
    guarded.invalidate(memory.external_id, by="test", ending=Ending.REVOKED)
    guarded.store.update(memory.external_id, TEXTS[1])
    _standing(guarded, memory, Standing.DRIFT)


def every_ending_is_left_out_and_reversible(place: Place) -> None:
    """However a memory ended, no read serves it, the store keeps it, and it can come back."""
    guarded = guard(place())
    endings = {
        None: Standing.SUSPENDED,
        Ending.DISPUTED: Standing.DISPUTED,
        Ending.SUPERSEDED: Standing.SUPERSEDED,
        Ending.REVOKED: Standing.REVOKED,
        Ending.CLOSED: Standing.CLOSED,
    }
    memory = guarded.add(TEXTS[0], ANA).memory
    for ending, standing in endings.items():
        guarded.invalidate(memory.external_id, by="test", reason="because", ending=ending)
        same(_reads(guarded, memory), (), f"what is {standing} is not served")
        _standing(guarded, memory, standing)
        same_memory(guarded.store.get(memory.external_id), memory, "the store keeps what lapsed")
        restored = guarded.restore(memory.external_id, by="test")
        same(restored.standing, Standing.ACTIVE, f"what is {standing} can be restored")
        same(_reads(guarded, memory), _every_read(guarded), "a restored memory is served")


def what_is_overwritten_is_kept(place: Place) -> None:
    """The text before is superseded and can be put back; the same text again is no version."""
    guarded = guard(place())
    memory = guarded.add(TEXTS[0], ANA).memory
    name = memory.external_id
    guarded.update(name, TEXTS[1], ANA)
    first, second = guarded.sidecar.history(name)
    same((first.status, first.content["text"]), (Status.SUPERSEDED, TEXTS[0]), "the loser is kept")
    same((second.status, second.content["text"]), (Status.ACTIVE, TEXTS[1]), "the winner stands")
    same(second.content["replaces"], [first.id], "the winner names the loser")
    guarded.revert(name, first.id, by="test")
    served = guarded.get(name)
    same(served and served.memory.text, TEXTS[0], "an earlier text can be put back")
    same(len(guarded.sidecar.history(name)), 3, "which is a version of its own")


def a_lower_authority_overwrites_nothing(place: Place) -> None:
    """Neither store nor ledger is written to, when a guess would replace what a user said."""
    guarded = guard(place())
    memory = guarded.add(TEXTS[0], ANA).memory
    guess = Provenance(writer="bot", authority="inference")
    refuses(
        InvalidValue,
        lambda: guarded.update(memory.external_id, TEXTS[1], guess),
        "a guess does not overwrite what a user said",
    )
    same_memory(guarded.store.get(memory.external_id), memory, "the store was not asked")
    same(_reads(guarded, memory), _every_read(guarded), "what the user said stands")
    guarded.invalidate(memory.external_id, by="Ana", ending=Ending.REVOKED)
    updated = guarded.update(memory.external_id, TEXTS[1], guess)
    same(updated.standing, Standing.ACTIVE, "what does not stand is nobody's to keep")


def the_same_again_is_still_served(place: Place) -> None:
    """Writing the same text again changes nothing about who is served, nor makes a drift."""
    guarded = guard(place())
    memory = guarded.add(TEXTS[0], ANA).memory
    for _ in range(2):
        again = guarded.update(memory.external_id, TEXTS[0], ANA).memory
        same(_reads(guarded, again), _every_read(guarded), "the same text again is served")
    statuses = [record.status for record in guarded.sidecar.history(memory.external_id)]
    same(statuses.count(Status.ACTIVE), 1, "and has one record that stands")


def a_loser_nobody_saw_is_kept_too(place: Place) -> None:
    """What is overwritten without ever having been written down is written down first."""
    store = place()
    outside = store.add(TEXTS[0])
    guarded = guard(store)
    guarded.update(outside.external_id, TEXTS[1], ANA)
    store.update(outside.external_id, TEXTS[2])
    guarded.update(outside.external_id, TEXTS[3], ANA)
    history = guarded.sidecar.history(outside.external_id)
    same([record.content["text"] for record in history], list(TEXTS), "no loser is lost")
    same([r.status for r in history[:3]], [Status.SUPERSEDED] * 3, "all of them lost")
    same(
        _reads(guarded, guarded.store.get(outside.external_id) or outside), _every_read(guarded), ""
    )


def what_rests_on_it_is_held(place: Place) -> None:
    """A memory made from others is held as soon as one of them falls, and stays so."""
    guarded = guard(place())
    base = guarded.add(TEXTS[0], ANA).memory
    derived = guarded.add(TEXTS[1], Provenance(rests_on=(base.external_id,))).memory
    further = guarded.add(TEXTS[2], Provenance(rests_on=(derived.external_id,))).memory
    guarded.update(base.external_id, TEXTS[3], ANA)
    for memory in (derived, further):
        _standing(guarded, memory, Standing.SUSPENDED)
    guarded.restore(derived.external_id, by="test")
    same(_reads(guarded, derived), _every_read(guarded), "a receipt lets it stand again")
    _standing(guarded, further, Standing.SUSPENDED)
    refuses(
        InvalidValue,
        lambda: guarded.add(TEXTS[0], Provenance(rests_on=(further.external_id,))),
        "nothing can be made from what does not stand",
    )


def a_slot_has_one_current_value(place: Place) -> None:
    """Of two memories of one slot the later one stands, unless its authority is too low."""
    guarded = guard(place())
    tea = Provenance(writer="Ana", authority="user", slot="ana/drink")
    first = guarded.add(TEXTS[0], tea).memory
    second = guarded.add(TEXTS[1], tea).memory
    _standing(guarded, first, Standing.SUPERSEDED)
    _standing(guarded, second, Standing.ACTIVE)
    guess = Provenance(writer="bot", authority="inference", slot="ana/drink")
    third = guarded.add(TEXTS[2], guess)
    same(third.standing, Standing.DISPUTED, "a guess does not replace what a user said")
    _standing(guarded, second, Standing.ACTIVE)
    elsewhere = Provenance(slot="ana/drink", scope=Scope(principal="Bo"))
    fourth = guarded.add(TEXTS[3], elsewhere).memory
    _standing(guarded, second, Standing.ACTIVE)
    _standing(guarded, fourth, Standing.OUT_OF_SCOPE)
    served = guarded.get(fourth.external_id, who=Scope(principal="Bo"))
    holds(served, "it is served to whom it is for")


def a_memory_holds_in_its_interval(place: Place) -> None:
    """Before and after its interval a memory is not served; no time heals it."""
    clock = ManualClock(0)
    guarded = guard(place(), clock=clock)
    memory = guarded.add(TEXTS[0], Provenance(valid=Interval(10, 20))).memory
    for at, standing in ((0, Standing.NOT_YET), (10, Standing.ACTIVE), (20, Standing.EXPIRED)):
        clock.jump(at)
        _standing(guarded, memory, standing)


def enough_are_fetched(place: Place) -> None:
    """A search goes on until it has as many as were asked for, or there are no more."""
    store = place()
    if not store.capabilities.text_search:
        return
    guarded = guard(store)
    added = [guarded.add(f"tea of the sort {number}", ANA).memory for number in range(12)]
    for memory in added[:9]:
        guarded.invalidate(memory.external_id, by="test", ending=Ending.CLOSED)
    for limit in (1, 2, 3, 5):
        reading = guarded.search("tea of the sort", limit=limit)
        found = {memory.external_id for memory in reading.memories}
        same(len(found), min(limit, 3), "as many stand as were asked for, or all there are")
        holds(found <= {one.external_id for one in added[9:]}, "and nothing that lapsed")
        holds(len(reading.memories) == limit or reading.exhausted, "or the store has no more")


def a_restart_changes_nothing(place: Place) -> None:
    """Another guard over the same ledger serves and leaves out the same."""
    store, ids = place(), SequenceIds("l")
    ledger = InMemoryStore(ids=ids)
    guarded = guard(store, ledger=ledger)
    kept, lapsed = (guarded.add(text, ANA).memory for text in TEXTS[:2])
    guarded.invalidate(lapsed.external_id, by="test", ending=Ending.REVOKED)
    late = guard(store, ledger=ledger.again())
    _standing(late, kept, Standing.ACTIVE)
    _standing(late, lapsed, Standing.REVOKED)
    guarded.invalidate(kept.external_id, by="test", ending=Ending.CLOSED)
    _standing(late, kept, Standing.CLOSED)


def a_mark_in_the_store_is_taken_back(place: Place) -> None:
    """With write-back the store is marked too, which drifts nothing and is undone by restoring."""
    store = place()
    if not store.capabilities.soft_invalidate:
        refuses(Incapable, lambda: guard(store, write_back=True), "there is no place to write to")
        return
    guarded = guard(store, write_back=True)
    memory = guarded.add(TEXTS[0], ANA).memory
    guarded.invalidate(memory.external_id, by="test", reason="over", ending=Ending.CLOSED)
    _standing(guarded, memory, Standing.CLOSED)
    guarded.restore(memory.external_id, by="test")
    same(_reads(guarded, memory), _every_read(guarded), "it stands in store and ledger again")


def memories_are_candidates_for_a_return(place: Place) -> None:
    """Each known memory is a work-state item, active exactly when it may be served."""
    store = place()
    if not store.capabilities.list_all:
        return
    guarded = guard(store)
    kept, drifted, lapsed = (guarded.add(text, ANA).memory for text in TEXTS[:3])
    before = {item.attributes["memory"]: item for item in items_of(guarded)}
    store.update(drifted.external_id, TEXTS[3])
    guarded.invalidate(lapsed.external_id, by="test", ending=Ending.CLOSED)
    store.add("from outside")
    after = {item.attributes["memory"]: item for item in items_of(guarded)}
    names = (kept.external_id, drifted.external_id, lapsed.external_id)
    same(sorted(after), sorted(names), "what nobody vouches for is no candidate")
    statuses = [after[name].status for name in names]
    same(statuses, [Status.ACTIVE, Status.SUSPENDED, Status.EVICTED], "as they may be served")
    for name in names:
        same(after[name].digest(), before[name].digest(), "an item says the same for ever")


GUARD_CASES: tuple[Callable[[Place], None], ...] = (
    what_was_written_here_is_served,
    what_nobody_saw_is_legacy,
    what_changed_outside_has_drifted,
    every_ending_is_left_out_and_reversible,
    what_is_overwritten_is_kept,
    a_lower_authority_overwrites_nothing,
    the_same_again_is_still_served,
    a_loser_nobody_saw_is_kept_too,
    what_rests_on_it_is_held,
    a_slot_has_one_current_value,
    a_memory_holds_in_its_interval,
    enough_are_fetched,
    a_restart_changes_nothing,
    a_mark_in_the_store_is_taken_back,
    memories_are_candidates_for_a_return,
)
"""Every case; each needs a place of its own."""


def same_memory(found: Remembered | None, expected: Remembered, promise: str) -> None:
    """Complain unless both say the same under the same name, in the same revision."""
    if found is None:
        same(found, expected, promise)
        return
    same(
        (found.external_id, found.text, found.revision),
        (expected.external_id, expected.text, expected.revision),
        promise,
    )


def _standing(guarded: Guarded, memory: Remembered, expected: Standing) -> None:
    found = guarded.standing(memory.external_id)
    same(found and found.standing, expected, f"the memory is {expected}")


def _every_read(guarded: Guarded) -> tuple[str, ...]:
    can = guarded.store.capabilities
    return ("get", *(("search",) if can.text_search else ()), *(("list",) if can.list_all else ()))


def _reads(guarded: Guarded, memory: Remembered) -> tuple[str, ...]:
    """By which reads a memory is served."""
    name, can, found = memory.external_id, guarded.store.capabilities, list[str]()
    if guarded.get(name) is not None:
        found.append("get")
    if can.text_search:
        reading = guarded.search(memory.text, limit=50)
        found += ["search"] * (name in {one.external_id for one in reading.memories})
    if can.list_all:
        found += ["list"] * (name in {one.memory.external_id for one in guarded.list()})
    return tuple(found)
