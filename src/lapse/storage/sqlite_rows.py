"""Writes the rows of changes, and erases them, inside a transaction that somebody else holds."""

# pyright: reportUnknownMemberType=false
# The driver's stubs speak of a type that Python 3.11 does not have.

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import apsw

from lapse.errors import IllegalChange
from lapse.ledger import Change, ChangeKind, Part
from lapse.storage.rows import UnreadableChange, erase, pack, places_from, source_text

__all__ = ["erase_rows", "write_rows"]

_INSERT_CHANGE = "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_RECORD = "INSERT INTO records VALUES (?, 'active', ?)"
_MOVE_RECORD = """
    UPDATE records SET status = coalesce(?, status), history = history || ?
    WHERE id = ? AND instr(?, status) > 0
"""  # no status is part of another's name
_INSERT_MARK = "INSERT INTO marks VALUES (?, ?, ?, ?) ON CONFLICT (source) DO UPDATE SET "
_MARK_OBSERVED = f"{_INSERT_MARK} observed = excluded.observed, seq = excluded.seq"
_MARK_ADVANCED = f"{_MARK_OBSERVED}, reconciled = excluded.reconciled"
_HISTORY = "SELECT history FROM records WHERE id = ?"


def write_rows(
    connection: apsw.Connection, changes: Sequence[Change], failpoint: Callable[[str], None]
) -> None:
    """Add changes to the chain, and move the rows of the kept state with each.

    Raises:
        IllegalChange: the status of a record does not allow one of them.
        apsw.Error: as the driver says.
    """
    for change in changes:
        source = None if change.source is None else source_text(change.source)
        parts, bodies = pack(change.parts)
        connection.execute(
            _INSERT_CHANGE,
            (
                change.seq,
                change.kind.value,
                change.at,
                change.reason,
                change.actor,
                source,
                change.version,
                change.previous,
                change.digest,
                parts,
                bodies,
            ),
        )
        failpoint("append: change without state")
        if source is not None:
            reconciles = change.kind is ChangeKind.ADVANCED
            connection.execute(
                _MARK_ADVANCED if reconciles else _MARK_OBSERVED,
                (source, change.version, change.version, change.seq),
            )
        elif change.kind is ChangeKind.WRITTEN:
            _enter(connection, change)
        else:
            _move(connection, change)


def _enter(connection: apsw.Connection, change: Change) -> None:
    place = f"{change.seq},"
    for part in change.parts:
        try:
            connection.execute(_INSERT_RECORD, (part.record, place))
        except apsw.ConstraintError:
            msg = f"record {part.record} exists already; a repair writes another record"
            raise IllegalChange(msg) from None


def _move(connection: apsw.Connection, change: Change) -> None:
    place = f"{change.seq},"
    leads_to = change.kind.leads_to
    status = None if leads_to is None else leads_to.value
    allowed = " ".join(change.kind.may_find)
    for part in change.parts:
        connection.execute(_MOVE_RECORD, (status, place, part.record, allowed))
        if connection.changes() == 0:
            raise _refusal(connection, change, part)


def _refusal(connection: apsw.Connection, change: Change, part: Part) -> IllegalChange:
    query = "SELECT status FROM records WHERE id = ?"
    found: tuple[Any, ...] | None = connection.execute(query, (part.record,)).fetchone()
    status = "not there" if found is None else found[0]
    return IllegalChange(f"record {part.record} is {status}: it cannot be {change.kind}")


def erase_rows(
    connection: apsw.Connection, purged: Collection[str], failpoint: Callable[[str], None]
) -> None:
    """Overwrite the bodies about these records in every change, in place, and note it in the file.

    Raises:
        UnreadableChange: a change about one of them cannot be reached.
        apsw.Error: as the driver says.
    """
    connection.execute("UPDATE ledger SET scrub_due = 1")
    places: set[int] = set()
    for record in purged:
        known: tuple[Any, ...] | None = connection.execute(_HISTORY, (record,)).fetchone()
        if known is not None:
            places.update(places_from(record, known[0]))
    for seq in sorted(places):
        query = "SELECT parts, bodies FROM changes WHERE seq = ?"
        found: tuple[Any, ...] | None = connection.execute(query, (seq,)).fetchone()
        if found is None:
            raise UnreadableChange(seq, "it is gone")
        left = erase(seq, found[0], found[1], purged)
        connection.execute("UPDATE changes SET parts = ?, bodies = ? WHERE seq = ?", (*left, seq))
        failpoint("purge: one change erased")
