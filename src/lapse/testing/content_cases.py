"""What every store has to do with what it holds: give it back unbent, find it, and let it go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from lapse.errors import InvalidValue
from lapse.ledger import ChangeKind, Draft, Part, Record, Scope, Source, Stamp, Store, digest
from lapse.testing.comparing import same_ledger, same_state, sound
from lapse.testing.promises import holds, refuses, same
from lapse.testing.scribe import ISSUER, Scribe, sample

__all__ = ["CONTENT_CASES", "HOSTILE_TEXTS"]

Place = Callable[[], Store]

TABLE = Source.table(ISSUER, "flow_rules")

HOSTILE_TEXTS = (
    "",
    "nul \0 in the middle",
    "\0",
    'it\'s "quoted"; DROP TABLE changes; --',
    "new\nline\ttab\r\x1b[31m",
    "emoji 🧊 and 漢字 and \u202eright to left\u202c and e\u0301",
    "\ud7ff\ue000\uffff\U0010ffff",
    "%s %(x)s {x} ? :x $1 \\ \\u0000",
    "long " * 20_000,
)
"""Texts that a store may not bend: they come from services and models."""


def changes_are_found_by_record_and_by_source(place: Place) -> None:
    """Filters give exactly what is about the record or the sources, with all its parts."""
    with closing(place()) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"), sample("b"), sample("ab", row="other"))
        scribe.carry_out(scribe.judged(ChangeKind.SUSPENDED, "a", "b"))
        scribe.carry_out(scribe.witnessed("b"), scribe.moved(ChangeKind.OBSERVED, TABLE, "v2"))
        scribe.carry_out(scribe.purged("a"))
        everything = list(store.changes())
        limits = Source.table(ISSUER, "limits")
        unknown = Source.table(ISSUER, "flow")
        for record in (None, "a", "b", "ab", "nobody", ""):
            for sources in ((), (TABLE,), (TABLE, limits), (unknown,), (unknown, limits)):
                for after in (0, 3, 6, 50):
                    wanted = [
                        change
                        for change in everything
                        if change.seq > after
                        and (
                            (record is None and not sources)
                            or any(part.record == record for part in change.parts)
                            or change.source in sources
                        )
                    ]
                    found = list(store.changes(after=after, record=record, sources=sources))
                    promise = f"changes after {after} about {record!r} or {sources}"
                    same(found, wanted, promise)


def a_purge_leaves_tombstones_and_a_sound_chain(place: Place) -> None:
    """Content is gone from every change, digests stay, and the chain still verifies."""
    with closing(place()) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"), sample("b"), sample("c"), sample("d"))
        scribe.carry_out(scribe.judged(ChangeKind.SUSPENDED, "a", "b"), scribe.witnessed("a"))
        scribe.carry_out(scribe.judged(ChangeKind.EVICTED, "c"))
        scribe.carry_out(scribe.purged("a"), scribe.purged("c"))
        scribe.carry_out(scribe.purged("a"))
        bodies = {
            (part.record, part.body is None, part.salt == "")
            for change in store.changes()
            for part in change.parts
        }
        wanted = {("a", True, True), ("c", True, True), ("b", False, False), ("d", False, False)}
        same(bodies, wanted, "a purge erases every body about its records, and no other")
        digests = [[p.digest for p in change.parts] for change in store.changes()]
        before = [[p.digest for p in change.parts] for change in scribe.written]
        same(digests, before, "digests outlive a purge")
        same(store.state().record("a"), Record.purged("a"), "a tombstone is left")
        same_state(store, scribe)
        sound(store)


def what_is_purged_at_once_was_never_there(place: Place) -> None:
    """Written and purged in one append: the content is not even stored."""
    with closing(place()) as store:
        scribe = Scribe(store)
        drafts = scribe.written_by(sample("a"))
        tombstone = drafts[-1].parts[0].erased()
        purge = Draft(kind=ChangeKind.PURGED, at=9, reason="r", actor="u", parts=(tombstone,))
        scribe.carry_out(*drafts, purge)
        stored = [part.body for change in store.changes() for part in change.parts]
        same(stored, [None, None], "content that was purged is not stored")
        same_state(store, scribe)
        sound(store)


def hostile_texts_come_back_as_they_were(place: Place) -> None:
    """Any text that JSON carries may stand anywhere; what JSON cannot carry never gets this far."""
    with closing(place()) as store:
        scribe = Scribe(store)
        for number, text in enumerate(HOSTILE_TEXTS):
            tables = (Source.table(text, text), Source.row(text, f"{number}{text}", text))
            record = replace(
                sample(f"{number}{text}"),
                slot=text,
                topic=text,
                issuer=text,
                content={text: text},
                scope=Scope(tenant=text, purpose=text),
                stamps=tuple(Stamp(source, text, None) for source in sorted(tables)),
            )
            scribe.write(record)
            judged = scribe.judged(ChangeKind.SUSPENDED, record.id, reason=text)
            moved = scribe.moved(ChangeKind.OBSERVED, tables[0], f"{text}2")
            scribe.carry_out(replace(judged, actor=text), moved)
            about = list(store.changes(record=record.id))
            same([change.parts[0].record for change in about], [record.id] * 2, "found by id")
            found = list(store.changes(sources=[tables[0]]))
            same({change.source for change in found}, {tables[0]}, "found by source")
        same_ledger(store, scribe)
        refuses(
            InvalidValue,
            lambda: scribe.sealed(scribe.judged(ChangeKind.SUSPENDED, "\ud800")),
            "a lone surrogate is refused before it reaches a store",
        )


def bodies_are_kept_byte_by_byte(place: Place) -> None:
    """Digests are over the stored bytes, so another way to write the same JSON is another body."""
    bodies = (b'{ "a" : 1 }', b'{"a":1}', b'"\\u0061"', b"null", b"0", b'""', b" [ ] ")
    with closing(place()) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"))
        for body in bodies:
            part = Part("a", digest(body, salt="s"), body, "s")
            for kind in (ChangeKind.SUSPENDED, ChangeKind.REINSTATED):
                draft = Draft(kind=kind, at=1, reason="r", actor="a", parts=(part,))
                scribe.carry_out(draft)
        found = [change.parts[0].body for change in store.changes(record="a")][1::2]
        same(found, list(bodies), "bodies come back as the bytes they were")
        same_ledger(store, scribe)


def large_bodies_fit(place: Place) -> None:
    """Content of some megabytes is content like any other, and can be purged like any other."""
    content = {"page": "0123456789abcdef" * 250_000}
    with closing(place()) as store:
        scribe = Scribe(store)
        scribe.write(replace(sample("large"), content=content), sample("small"))
        same(store.state().record("large").content, content, "large content comes back whole")
        same_ledger(store, scribe)
        scribe.carry_out(scribe.purged("large"))
        same_state(store, scribe)


def a_long_chain_is_read_in_order(place: Place) -> None:
    """Long appends and long reads work, and a reader that pauses holds nobody up."""
    count = 1_000
    with closing(place()) as store:
        scribe = Scribe(store)
        scribe.carry_out(
            *(scribe.moved(ChangeKind.OBSERVED, TABLE, str(number)) for number in range(count))
        )
        reader = store.changes()
        seen = [next(reader)]
        scribe.write(sample("a"))
        seen += list(reader)
        same(seen[:count], scribe.written[:count], "changes come in order")
        holds(
            seen[count:] == scribe.written[count : len(seen)],
            "what is appended meanwhile comes after, or not in this read",
        )
        same_ledger(store, scribe)


CONTENT_CASES: tuple[Callable[[Place], None], ...] = (
    changes_are_found_by_record_and_by_source,
    a_purge_leaves_tombstones_and_a_sound_chain,
    what_is_purged_at_once_was_never_there,
    hostile_texts_come_back_as_they_were,
    bodies_are_kept_byte_by_byte,
    large_bodies_fit,
    a_long_chain_is_read_in_order,
)
"""Cases about content; `STORE_CASES` has them, too."""
