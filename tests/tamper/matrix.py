"""The tamper matrix: what somebody does who can write the ledger's file, and what is said to it.

    python tests/tamper/matrix.py [--format markdown|json]

Every edit is made on a real SQLite file, with SQL or by copying older files back, and met three
times:

* *at rest*: the file is edited while nobody has it open, then opened with its anchor;
* *running*: the file is edited while a process has it open and has read it;
* *unanchored*: as at rest, read without an anchor, to show what the anchor is worth.

"refused: reason" means that every read that could be touched by it raised `LedgerNotTrusted` with
that reason; "accepted" that some read gave what the edit left.
"""

# pyright: reportUnknownMemberType=false
# The driver's stubs are incomplete.

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import apsw

from lapse.errors import LedgerNotTrusted, StoreCorrupt
from lapse.ledger import (
    Break,
    BreakKind,
    Change,
    ChangeKind,
    Draft,
    Head,
    Part,
    Source,
    Store,
    examine,
    fold,
    genesis,
    seal,
)
from lapse.signing import HmacKeys
from lapse.storage import FileAnchor, TrustedStore
from lapse.storage.sqlite import SqliteStore
from lapse.testing import ManualClock, Scribe, SequenceIds, sample

KEYS = HmacKeys({"ours": b"o" * 32}, sign_with="ours")
THEIRS = HmacKeys({"ours": b"t" * 32}, sign_with="ours")
REWRITTEN = sample("evil")
FOREIGN = "another ledger's file in its place"


@dataclass(frozen=True, slots=True)
class Place:
    """A ledger's file, its anchor, and copies of both as they were earlier."""

    folder: Path

    @property
    def file(self) -> Path:
        """The ledger."""
        return self.folder / "ledger.sqlite"

    @property
    def anchor(self) -> Path:
        """The anchor."""
        return self.folder / "anchor.json"

    @property
    def earlier(self) -> Path:
        """Where the copies are."""
        return self.folder / "earlier"

    def plain(self) -> SqliteStore:
        """The ledger without its anchor."""
        return SqliteStore(self.file, ids=SequenceIds())

    def trusted(self) -> TrustedStore:
        """The ledger with its anchor."""
        anchor = FileAnchor(self.anchor, signer=KEYS, verifier=KEYS)
        return TrustedStore(self.plain(), anchor, clock=ManualClock(1))


@dataclass(frozen=True, slots=True)
class Row:
    """One edit, and what was said to it.

    Attributes:
        edit: what was done, in words.
        expected: the reason that it should be refused with.
        at_rest: what an opening with the anchor said.
        running: what a process said that had read the ledger before.
        unanchored: what an opening without the anchor said.
    """

    edit: str
    expected: str
    at_rest: str
    running: str
    unanchored: str

    @property
    def holds(self) -> bool:
        """Whether it was refused for its own reason both times."""
        # A running process knows its ledger: to it, another's file is ours with its entries gone.
        running = "removed" if self.edit == FOREIGN else self.expected
        return (self.at_rest, self.running) == (f"refused: {self.expected}", f"refused: {running}")


def prepared(folder: Path) -> Place:
    """A ledger with a history, and a copy of everything from halfway through it."""
    place = Place(folder)
    place.earlier.mkdir(parents=True)
    with closing(place.trusted()) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"), sample("b"), sample("c"))
        scribe.carry_out(scribe.witnessed("a"))
    for found in (place.file, place.anchor):
        shutil.copy(found, place.earlier)
    with closing(place.trusted()) as store:
        scribe.store = store
        scribe.carry_out(scribe.judged(ChangeKind.SUSPENDED, "b"))
        scribe.write(sample("d"), sample("p"))
        scribe.carry_out(scribe.purged("p"))
        scribe.carry_out(scribe.judged(ChangeKind.EVICTED, "c"))
    return place


# -- what is done to it ---------------------------------------------------------------------------


def sql(*statements: str) -> Callable[[Place], None]:
    """An edit made by another connection, with SQL."""

    def edit(place: Place) -> None:
        with closing(apsw.Connection(str(place.file))) as connection:
            connection.set_busy_timeout(1_000)
            for statement in statements:
                connection.execute(statement)

    return edit


def swap_two(place: Place) -> None:
    """Two entries change places; each keeps its content and its links."""
    sql(
        "UPDATE changes SET seq = -1 WHERE seq = 4",
        "UPDATE changes SET seq = 4 WHERE seq = 5",
        "UPDATE changes SET seq = 5 WHERE seq = -1",
    )(place)


def put_back(name: str) -> Callable[[Place], None]:
    """An older copy of a file takes the place of the newer one."""

    def edit(place: Place) -> None:
        if name == "anchor.json":
            older = place.anchor.with_name("older")
            shutil.copy(place.earlier / name, older)
            older.replace(place.anchor)
            return
        with (
            closing(apsw.Connection(str(place.earlier / name))) as older,
            closing(apsw.Connection(str(place.file))) as newer,
            newer.backup("main", older, "main") as copying,
        ):
            copying.step()  # through SQLite, so that processes that have it open see it whole

    return edit


def both_put_back(place: Place) -> None:
    """Ledger and anchor are put back together."""
    put_back("ledger.sqlite")(place)
    put_back("anchor.json")(place)


def rewritten(place: Place) -> None:
    """History is written anew from an entry on, every link and the kept state included."""
    with closing(place.plain()) as store:
        changes = list(store.changes())
    part = Part.of("d", REWRITTEN.as_json(), salt="evil")
    drafts = [as_draft(change) for change in changes]
    drafts[7] = replace(drafts[7], parts=(part,))
    sealed = seal(drafts, genesis("id-1"))
    replaced(place, sealed)


def foreign(place: Place) -> None:
    """The file of another ledger stands in the place of ours."""
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other.sqlite"
        with closing(SqliteStore(other, ids=SequenceIds("other"))) as store:
            Scribe(store).write(*(sample(f"r{number}") for number in range(12)))
        with (
            closing(apsw.Connection(str(other))) as theirs,
            closing(apsw.Connection(str(place.file))) as ours,
            ours.backup("main", theirs, "main") as copying,
        ):
            copying.step()


def inserted(place: Place) -> None:
    """An entry of somebody else's stands in the middle, linked to the one before it."""
    with closing(place.plain()) as store:
        changes = list(store.changes())
    part = Part.of("a", {}, salt="evil")
    draft = Draft(kind=ChangeKind.SUSPENDED, at=1, reason="evil", actor="x", parts=(part,))
    (forged,) = seal([draft], changes[4].head)
    later = [replace(change, seq=change.seq + 1) for change in changes[5:]]
    replaced(place, (*changes[:5], forged, *later))


def added(place: Place) -> None:
    """Another writer appends by all the rules, but for the anchor."""
    with closing(place.plain()) as store:
        Scribe(store).write(REWRITTEN)


def as_draft(change: Change) -> Draft:
    """A change without its place."""
    return Draft(
        kind=change.kind,
        at=change.at,
        reason=change.reason,
        actor=change.actor,
        source=change.source,
        version=change.version,
        parts=change.parts,
    )


def replaced(place: Place, changes: tuple[Change, ...]) -> None:
    """The chain's rows become those of other changes; the kept rows stay where they fit."""
    from lapse.storage.rows import pack, source_text  # noqa: PLC0415 - what an attacker reads, too

    rows: list[tuple[Any, ...]] = []
    for change in changes:
        source = None if change.source is None else source_text(change.source)
        header = (change.seq, change.kind.value, change.at, change.reason, change.actor, source)
        links = (change.version, change.previous, change.digest)
        rows.append((*header, *links, *pack(change.parts)))
    with closing(apsw.Connection(str(place.file))) as connection:
        connection.execute("BEGIN; DELETE FROM changes")
        connection.executemany("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute("COMMIT")


def unpurged(place: Place) -> None:
    """Purged content is written back where it was, with the salt it had."""
    from lapse.storage.rows import pack  # noqa: PLC0415 - as above

    part = Part.of("p", sample("p").as_json(), salt="salt-7")
    with closing(apsw.Connection(str(place.file))) as connection:
        connection.execute("UPDATE changes SET parts = ?, bodies = ? WHERE seq = 9", pack([part]))


def forged_anchor(place: Place) -> None:
    """Somebody without the key writes an anchor for the end of a rewritten history."""
    rewritten(place)
    with closing(place.plain()) as store:
        head = store.head()
    place.anchor.unlink()
    FileAnchor(place.anchor, signer=THEIRS, verifier=THEIRS).advance("id-1", head, at=1)


def unsigned_anchor(place: Place) -> None:
    """An anchor without a signature."""
    found = json.loads(place.anchor.read_text())
    place.anchor.write_text(json.dumps(found | {"key": "", "signature": ""}))


def moved_anchor(place: Place) -> None:
    """The anchor's head is edited under the old signature."""
    found = json.loads(place.anchor.read_text())
    place.anchor.write_text(json.dumps(found | {"seq": 3}))


def foreign_anchor(place: Place) -> None:
    """The anchor of another ledger, signed with the right key."""
    place.anchor.unlink()
    anchor = FileAnchor(place.anchor, signer=KEYS, verifier=KEYS)
    anchor.advance("another", Head(10, genesis("another").digest), at=1)


def no_anchor(place: Place) -> None:
    """The anchor is deleted."""
    place.anchor.unlink()


EDIT_BODY = """
    UPDATE changes
    SET bodies = CAST(replace(CAST(bodies AS TEXT), '"amount":12', '"amount":99') AS BLOB)
"""
"""Another amount, in the same number of bytes."""

EDITS: tuple[tuple[str, Callable[[Place], None], BreakKind], ...] = (
    ("a body edited", sql(EDIT_BODY), BreakKind.TAMPERED),
    (
        "a body cut to nothing",
        sql("UPDATE changes SET bodies = x'' WHERE seq = 3"),
        BreakKind.TAMPERED,
    ),
    (
        "a body erased as if purged",
        sql(
            "UPDATE changes SET bodies = zeroblob(length(bodies)),"
            " parts = replace(parts, ',0]', ',1]') WHERE seq = 3"
        ),
        BreakKind.TAMPERED,
    ),
    ("purged content put back", unpurged, BreakKind.TAMPERED),
    ("a reason edited", sql("UPDATE changes SET reason = 'x' WHERE seq = 5"), BreakKind.TAMPERED),
    ("an actor edited", sql("UPDATE changes SET actor = 'x' WHERE seq = 5"), BreakKind.TAMPERED),
    ("an instant edited", sql("UPDATE changes SET at = at + 1 WHERE seq = 5"), BreakKind.TAMPERED),
    (
        "a kind edited",
        sql("UPDATE changes SET kind = 'revoked' WHERE kind = 'evicted'"),
        BreakKind.TAMPERED,
    ),
    (
        "a kind that does not exist",
        sql("UPDATE changes SET kind = 'x' WHERE seq = 5"),
        BreakKind.TAMPERED,
    ),
    (
        "a version edited",
        sql("UPDATE changes SET version = 'x' WHERE seq = 1"),
        BreakKind.TAMPERED,
    ),
    (
        "a link edited",
        sql("UPDATE changes SET previous = digest WHERE seq = 5"),
        BreakKind.TAMPERED,
    ),
    (
        "a digest edited",
        sql("UPDATE changes SET digest = previous WHERE seq = 5"),
        BreakKind.TAMPERED,
    ),
    (
        "a part moved to another record",
        sql("""UPDATE changes SET parts = replace(parts, '"a"', '"b"') WHERE seq = 3"""),
        BreakKind.TAMPERED,
    ),
    ("an entry renumbered", sql("UPDATE changes SET seq = 99 WHERE seq = 11"), BreakKind.TAMPERED),
    ("an entry inserted", inserted, BreakKind.TAMPERED),
    ("an entry removed", sql("DELETE FROM changes WHERE seq = 5"), BreakKind.REMOVED),
    ("the first entry removed", sql("DELETE FROM changes WHERE seq = 1"), BreakKind.REMOVED),
    ("two entries swapped", swap_two, BreakKind.REORDERED),
    (
        "an entry moved to the end",
        sql("UPDATE changes SET seq = 12 WHERE seq = 4"),
        BreakKind.REORDERED,
    ),
    ("the last entries cut off", sql("DELETE FROM changes WHERE seq > 8"), BreakKind.TRUNCATED),
    (
        "the last entries cut off, with what was written in them",
        sql("DELETE FROM changes WHERE seq > 5"),
        BreakKind.TRUNCATED,
    ),
    ("every entry cut off", sql("DELETE FROM changes"), BreakKind.TRUNCATED),
    ("an older copy of the file put back", put_back("ledger.sqlite"), BreakKind.ROLLED_BACK),
    (
        "the ledger emptied, kept state too",
        sql("DELETE FROM changes", "DELETE FROM records", "DELETE FROM marks"),
        BreakKind.ROLLED_BACK,
    ),
    ("history rewritten, every link made anew", rewritten, BreakKind.FORKED),
    ("an entry added at the end by all the rules", added, BreakKind.UNANNOUNCED),
    (
        "a kept status edited",
        sql("UPDATE records SET status = 'active' WHERE id = 'c'"),
        BreakKind.STATE_ALTERED,
    ),
    (
        "a kept status that does not exist",
        sql("UPDATE records SET status = 'x' WHERE id = 'c'"),
        BreakKind.STATE_ALTERED,
    ),
    ("a kept record removed", sql("DELETE FROM records WHERE id = 'c'"), BreakKind.STATE_ALTERED),
    (
        "a kept record added",
        sql("INSERT INTO records VALUES ('evil', 'active', '3,')"),
        BreakKind.STATE_ALTERED,
    ),
    (
        "a kept receipt left out",
        sql("UPDATE records SET history = '3,' WHERE id = 'a'"),
        BreakKind.STATE_ALTERED,
    ),
    ("a kept mark edited", sql("UPDATE marks SET observed = 'x'"), BreakKind.STATE_ALTERED),
    ("a kept mark removed", sql("DELETE FROM marks"), BreakKind.STATE_ALTERED),
    (FOREIGN, foreign, BreakKind.ANCHOR_FORGED),
    ("an anchor signed with another key", forged_anchor, BreakKind.ANCHOR_FORGED),
    ("an anchor without a signature", unsigned_anchor, BreakKind.ANCHOR_FORGED),
    ("an anchor edited under its signature", moved_anchor, BreakKind.ANCHOR_FORGED),
    ("another ledger's anchor", foreign_anchor, BreakKind.ANCHOR_FORGED),
    ("the anchor deleted", no_anchor, BreakKind.ANCHOR_MISSING),
)
"""What is done, how, and the reason that it has to be refused with."""


# -- what is said to it ---------------------------------------------------------------------------


def read_everything(store: Store) -> None:
    """Every way to read; whatever one of them refuses is refused."""
    store.head()
    list(store.changes())
    for record in ("a", "b", "c", "d", "p", "evil"):
        list(store.changes(record=record))
    list(store.changes(sources=[Source.table("https://api.example", "flow_rules")]))
    store.state()


def said(read: Callable[[], None]) -> str:
    """What a reader said."""
    try:
        read()
    except LedgerNotTrusted as refusal:
        return f"refused: {refusal.found.kind}"
    except StoreCorrupt:
        return "unreadable"
    return "accepted"


def at_rest(place: Place) -> None:
    """Open with the anchor, and read."""
    with closing(place.plain()):  # opening and closing does not heal anything
        pass
    with closing(place.trusted()) as store:
        read_everything(store)


def unanchored(place: Place) -> None:
    """Open without the anchor, read, and examine what is there by itself."""
    with closing(place.plain()) as store:
        changes = list(store.changes())
        found = examine(store.ledger, changes, kept=store.state())
        if isinstance(found, Break):
            raise LedgerNotTrusted(found)
        fold(genesis(store.ledger), changes)


def met(name: str, edit: Callable[[Place], None], expected: BreakKind, folder: Path) -> Row:
    """One edit, met three times on fresh copies of the same ledger."""
    rested = prepared(folder / "rested")
    edit(rested)
    ran = prepared(folder / "ran")
    with closing(ran.trusted()) as store:
        read_everything(store)
        edit(ran)
        running = said(lambda: read_everything(store))
    return Row(
        edit=name,
        expected=expected.value,
        at_rest=said(lambda: at_rest(rested)),
        running=running,
        unanchored=said(lambda: unanchored(rested)),
    )


def run(folder: Path) -> list[Row]:
    """Every edit."""
    return [
        met(name, edit, expected, folder / str(number))
        for number, (name, edit, expected) in enumerate(EDITS)
    ]


def limits(folder: Path) -> list[Row]:
    """What no anchor beside the ledger can tell: shown, so that nobody relies on it."""
    rested = prepared(folder / "rested")
    both_put_back(rested)
    ran = prepared(folder / "ran")
    with closing(ran.trusted()) as store:
        read_everything(store)
        both_put_back(ran)
        running = said(lambda: read_everything(store))
    return [
        Row(
            edit="ledger and anchor put back together",
            expected="accepted at rest",
            at_rest=said(lambda: at_rest(rested)),
            running=running,
            unanchored=said(lambda: unanchored(rested)),
        )
    ]


def markdown(rows: list[Row]) -> str:
    """The rows as a table."""
    text = "| what was done | at rest | running | without an anchor |\n| --- | --- | --- | --- |\n"
    for row in rows:
        text += f"| {row.edit} | {row.at_rest} | {row.running} | {row.unanchored} |\n"
    return text


def main() -> int:
    """Print the matrix; 1 when an edit was not refused for its own reason."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--format", choices=("markdown", "json"), default="markdown")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = run(Path(folder))
        known = limits(Path(folder) / "limits")
    if asked.format == "json":
        found = {"edits": rows, "limits": known}
        as_json = {name: [asdict(row) for row in group] for name, group in found.items()}
        sys.stdout.write(json.dumps(as_json, indent=1))
    else:
        sys.stdout.write(markdown(rows + known))
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
