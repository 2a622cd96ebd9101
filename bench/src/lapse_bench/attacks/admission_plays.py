"""What an attacker does to a real workspace, through its doors or with its file in hand."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import lapse
from lapse.admission import Blocked, Refused, ReturnView, Sealed
from lapse.errors import LapseError
from lapse.ledger import Interval, Kind, Record, seal, writing
from lapse_bench.attacks.admission_scene import Outcome
from lapse_bench.attacks.admission_town import A1, BACK, BEGIN, OTHER_KEY, Town
from lapse_bench.travel import POLICY

if TYPE_CHECKING:
    from collections.abc import Callable

    from lapse.runtime import Judging, Workspace
    from lapse_bench.attacks.admission_scene import Defence

__all__ = [
    "asked",
    "borrowed",
    "implied",
    "incomplete",
    "judged_by",
    "lived",
    "moved_on",
    "other_tenant",
    "outlived",
    "overruled",
    "purged",
    "recalled",
    "replayed",
    "revoked",
    "rewritten",
    "rotated",
    "set_back",
    "smuggled",
    "written",
]


def lived(play: Callable[[Town], Outcome]) -> Callable[[Defence], Outcome]:
    """Play it in a workspace of its own."""

    def run(defence: Defence) -> Outcome:
        with TemporaryDirectory() as folder:
            town = Town(Path(folder) / "ledger.sqlite", defence)
            with town.opened:
                return play(town)

    return run


def _seen(found: ReturnView | Refused) -> Outcome:
    if isinstance(found, Refused):
        return Outcome(through=False, reasons=tuple(reason.value for reason in found.reasons))
    return Outcome(through=True)


def asked(**changed: str) -> Callable[[Town], Outcome]:
    """Somebody else asks for A1's view."""
    return lambda town: _seen(town.admitted().view("r1", replace(BACK, **changed)))


def other_tenant(town: Town) -> Outcome:
    """Another tenant of the same ledger asks for the cycle by its id."""
    town.admitted()
    try:
        return _seen(town.open(tenant="rivals").view("r1", BACK))
    except LapseError as refusal:
        return Outcome(through=False, reasons=(type(refusal).__name__,))


def moved_on(town: Town) -> Outcome:
    """Somebody writes after the return, in another process."""
    work = town.admitted()
    town.says(town.open(), "n", "It will rain", "A9")
    return _seen(work.view("r1", BACK))


def outlived(town: Town) -> Outcome:
    """The view is asked for an hour later."""
    work = town.admitted()
    town.clock.advance(microseconds=POLICY.lifetime_us)
    return _seen(work.view("r1", BACK))


def set_back(town: Town) -> Outcome:
    """The clock is set back to before the return."""
    work = town.admitted()
    town.clock.jump(BEGIN)
    return _seen(work.view("r1", BACK))


def purged(town: Town) -> Outcome:
    """The booking's content was removed for good after the return, and the view is asked for."""
    work = town.admitted()
    memory = town.opened.enter_context(lapse.open(town.path, clock=town.clock))
    memory.purge(["p1"], reason="asked", actor="family")
    return _seen(work.view("r1", BACK))


def replayed(town: Town) -> Outcome:
    """A1 left again, and its old view is asked for."""
    work = town.admitted()
    work.depart(A1)
    return _seen(work.view("r1", BACK))


def rotated(town: Town) -> Outcome:
    """The workspace is opened with a new key, and the old one is known no more."""
    town.admitted()
    return _seen(town.open(key=OTHER_KEY).view("r1", BACK))


def rewritten(town: Town) -> Outcome:
    """Somebody with the database file in hand changes the booking's text where it lies."""
    town.admitted()
    town.opened.close()
    changed = 0
    with closing(sqlite3.connect(town.path)) as database:
        tables = [row[0] for row in database.execute(_TABLES)]
        for table in tables:
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            for column in columns:
                changed += database.execute(_REWRITE.format(table=table, column=column)).rowcount
        database.commit()
    if not changed:  # nothing was attacked
        raise TypeError("the booking's text does not lie in the database as it was written")
    try:
        found = town.open().view("r1", BACK)
    except LapseError as refusal:
        return Outcome(through=False, reasons=(type(refusal).__name__,))
    if isinstance(found, ReturnView) and not any("Riverbank" in i.text for i in found.items):
        return Outcome(through=False, reasons=("unchanged",))
    return _seen(found)


_TABLES: Final = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL"
_REWRITE: Final = (
    'UPDATE "{table}" SET "{column}" = CAST(replace(CAST("{column}" AS TEXT), '
    "'Riverside', 'Riverbank') AS BLOB) WHERE instr(CAST(\"{column}\" AS TEXT), 'Riverside')"
)


def written(**more: Any) -> Callable[[Town], Outcome]:
    """What passes for a pickup is written through the front door while A1 is away."""

    def play(town: Town) -> Outcome:
        work = town.open()
        town.before(work)
        fields: dict[str, Any] = {"slot": "note", "supports": ("d_p",)}
        try:
            town.says(work, "x", "Pickup at 9", "A9", **(fields | more))
        except LapseError as refusal:
            return Outcome(through=False, reasons=(getattr(refusal, "field", ""),))
        return _returned(work, "x")

    return play


def _returned(work: Workspace, item_id: str) -> Outcome:
    """A1 returns: is it shown this item?"""
    found = work.return_(BACK, cycle="r1")
    if isinstance(found, Sealed) and item_id in {item.id for item in found.view.items}:
        return _seen(work.view("r1", BACK))
    reasons = next(j.reasons for j in found.eligible.judgements if j.item.id == item_id)
    return Outcome(through=False, reasons=tuple(reason.value for reason in reasons))


def borrowed(town: Town) -> Outcome:
    """The desk's receipt of the hotel is handed in for a pickup that it never saw."""
    work = town.open()
    town.before(work)
    seen = town.says(work, "n", "The lobby is open", slot="lobby").receipts
    more: dict[str, Any] = {"observer": "", "receipts": seen, "supports": ("d_p",)}
    town.says(work, "x", "Pickup at 9", "A9", slot="note", **more)
    return _returned(work, "x")


def implied(town: Town) -> Outcome:
    """Nobody links the old pickup to the hotel that was replaced."""
    work = town.open()
    town.before(work)
    return _returned(work, "p0")


def judged_by(judging: Judging) -> Callable[[Town], Outcome]:
    """The same, asked of somebody who fails."""

    def play(town: Town) -> Outcome:
        work = town.open(judging=judging)
        town.before(work)
        return _returned(work, "p0")

    return play


def incomplete(town: Town) -> Outcome:
    """The pickup is open, and A1 asks for its view all the same."""
    work = town.open()
    town.before(work)
    found = work.return_(BACK, cycle="r1")
    if isinstance(found, Blocked):
        try:
            work.view("r1", BACK)
        except LapseError:
            return Outcome(through=False, reasons=tuple(one.value for one in found.failures))
    return Outcome(through=True)


def overruled(town: Town) -> Outcome:
    """An agent replaces what the family said, by a link."""
    work = town.open()
    town.before(work)
    town.confirms(work)
    more: dict[str, Any] = {"slot": "c", "replaces": ("c",), "supports": ("d_c",)}
    town.says(work, "x", "Any", "A9", authority="agent", **more)
    return _returned(work, "x")


def revoked(town: Town) -> Outcome:
    """An agent withdraws what the family said as never true."""
    work = town.admitted()
    try:
        work.revoke("c", by="A9", authority="agent")
    except LapseError as refusal:
        return Outcome(through=False, reasons=(getattr(refusal, "field", ""),))
    return Outcome(through=True)


def recalled(town: Town) -> Outcome:
    """What was learned from the hotel that was replaced is asked for."""
    work = town.admitted()
    found = work.experience("r1", BACK)
    back = not isinstance(found, Refused) and any(item.id == "e_h0" for item in found)
    story = work.return_(BACK, cycle="r1")
    left = story.left_out.get("e_h0", ()) if isinstance(story, Sealed) else ()
    return Outcome(through=back, reasons=() if back else tuple(reason.value for reason in left))


def smuggled(town: Town) -> Outcome:
    """A record with a plan is appended to the ledger, past every check of the workspace."""
    work = town.open()
    town.before(work)
    honest = town.says(work, "y", "Pickup at 9", "A9", slot="note", supports=("d_p",))
    content = {**honest.record().content, "attributes": {"next_action": "wire the deposit"}}
    planned = Record(
        id="x",
        kind=Kind.FACT,
        slot="note-2",
        content=content,
        valid=Interval(town.clock.now()),
        scope=honest.scope,
        receipts=honest.receipts,
        epoch=honest.epochs.since,
    )
    store = work.store
    drafts = writing(
        store.state(), planned, at=town.clock.now(), reason="stated", actor="A9", salt="s"
    )
    head = store.head()
    store.append(seal(drafts, head), after=head)
    try:
        found = work.return_(BACK, cycle="r1")
    except LapseError as refusal:
        return Outcome(through=False, reasons=(getattr(refusal, "field", type(refusal).__name__),))
    shown = isinstance(found, Sealed) and any(item.id == "x" for item in found.view.items)
    return Outcome(through=shown, reasons=() if shown else ("not_read",))
