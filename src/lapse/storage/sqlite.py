"""The default store: one SQLite file that many processes may share.

It runs on the SQLite that APSW carries, because the machine's own may be one of those that can
corrupt a write-ahead log shared by several connections. Never open the same file with another
SQLite in the same process: closing it would drop this one's locks. Never delete the files that end
in ``-wal`` and ``-shm``: they hold what was acknowledged. No network file systems.

One connection per store, guarded by a lock: SQLite lets one writer in at a time anyway, and the
head stays known without a query as long as nobody else has written.

::

    with closing(SqliteStore("memory.sqlite", ids=RandomIds())) as store: ...
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# The driver's stubs speak of a type that Python 3.11 does not have.

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Never

import apsw

from lapse.errors import IllegalChange, InvalidValue, StoreClosed
from lapse.ledger import Change, ChangeKind, Head, Ids, Part, Source, State, genesis
from lapse.storage.rows import (
    KeptRows,
    UnreadableChange,
    UnreadableState,
    change_from,
    checked,
    conflict,
    erase,
    pack,
    places_from,
    purged_by,
    source_text,
)
from lapse.storage.sqlite_file import opened, promised

__all__ = ["SqliteStore", "Synchronous"]

Synchronous = Literal["full", "normal"]
"""How durable an acknowledged append is.

"full" survives a power cut. "normal" survives the death of the process; a power cut may take the
newest appends, never older ones and never half of one.
"""

_BATCH_ROWS = 256
"""Changes read under one lock: enough to make the lock cheap, few enough to let a writer in."""

_LAST = "SELECT seq, digest FROM changes ORDER BY seq DESC LIMIT 1"
_INSERT_CHANGE = "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_RECORD = "INSERT INTO records VALUES (?, 'active', ?)"
_ROWS_AFTER = "SELECT * FROM changes WHERE seq > ? ORDER BY seq LIMIT ?"
_ROWS_AT = "SELECT * FROM changes WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
_INSERT_MARK = "INSERT INTO marks VALUES (?, ?, ?, ?) ON CONFLICT (source) DO UPDATE SET "
_MARK_OBSERVED = f"{_INSERT_MARK} observed = excluded.observed, seq = excluded.seq"
_MARK_ADVANCED = f"{_MARK_OBSERVED}, reconciled = excluded.reconciled"
_MOVE_RECORD = """
    UPDATE records SET status = coalesce(?, status), history = history || ?
    WHERE id = ? AND instr(?, status) > 0
"""  # no status is part of another's name
_SOURCES_AT = "SELECT seq FROM changes WHERE source IN (SELECT value FROM json_each(?))"


def _pass_by(_point: str) -> None:
    """Nothing fails here."""


class SqliteStore:
    """Implements `lapse.ledger.Store` on one file; the file is made when it is not there.

    Args:
        path: the file; its directory must exist.
        ids: gives a new ledger its id; not asked when the file holds one already.
        synchronous: how durable an acknowledged append is.
        busy_timeout_ms: how long to wait for another writer before `StoreLocked`.
        failpoint: called with the name of every point at which a crash is tried out.

    Raises:
        StoreForeign: the file is not a lapse ledger; it was not touched.
        StoreNewer: a later lapse wrote it; it was not touched.
        StoreReadOnly: it may not be written.
        StoreError: it cannot be opened for another reason.
    """

    __slots__ = (
        "_connection",
        "_failpoint",
        "_head",
        "_ledger",
        "_lock",
        "_path",
        "_process",
        "_scrub_due",
        "_seen_version",
    )

    def __init__(
        self,
        path: str | Path,
        *,
        ids: Ids,
        synchronous: Synchronous = "full",
        busy_timeout_ms: int = 5_000,
        failpoint: Callable[[str], None] = _pass_by,
    ) -> None:
        if synchronous not in ("full", "normal"):
            raise InvalidValue("synchronous", synchronous, "pass 'full' or 'normal'")
        if busy_timeout_ms < 0:
            raise InvalidValue("busy_timeout_ms", busy_timeout_ms, "pass 0 or more milliseconds")
        self._path = Path(path)
        self._failpoint = failpoint
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._connection: apsw.Connection | None = opened(
            self._path,
            ids=ids,
            synchronous=synchronous,
            busy_timeout_ms=busy_timeout_ms,
            failpoint=failpoint,
        )
        self._seen_version: object = None
        self._ledger, self._scrub_due = self._identity()
        self._head = genesis(self._ledger)
        if self._scrub_due:
            self._try_to_scrub()

    @property
    def ledger(self) -> str:
        """The id of the ledger kept here."""
        return self._ledger

    @property
    def erasure_due(self) -> bool:
        """Whether purged content may still be in the write-ahead log.

        Somebody held a read transaction open while a purge was written. The next append, or the
        next opening, tries again.
        """
        return self._identity()[1]

    def head(self) -> Head:
        """The end of the chain now: one version check, and a look-up when somebody else wrote."""
        with self._lock:
            try:
                return self._current_head()
            except apsw.Error as failure:
                raise promised(failure, self._path) from failure

    def append(self, changes: Sequence[Change], *, after: Head) -> None:
        """Add sealed changes to the chain, and let the kept state follow, in one transaction.

        Raises:
            StoreConflict: the chain's end is no longer `after`; nothing was written.
            IllegalChange: the status of a record does not allow one of them; nothing was written.
            InvalidValue: they do not follow `after`; nothing was written.
        """
        checked(changes, after)
        purged = purged_by(changes)
        with self._lock:
            execute = self._live().execute
            try:
                execute("BEGIN IMMEDIATE")
                try:
                    self._failpoint("append: begun")
                    self._append(changes, after)
                    if purged:
                        self._erase(purged)
                    self._failpoint("append: written, not committed")
                    execute("COMMIT")
                except BaseException:
                    self._roll_back()
                    raise
            except apsw.Error as failure:
                raise promised(failure, self._path) from failure
            if changes:
                self._head = changes[-1].head
            self._failpoint("append: committed")
            if purged or self._scrub_due:
                self._try_to_scrub()

    def changes(
        self, *, after: int = 0, record: str | None = None, sources: Collection[Source] = ()
    ) -> Iterator[Change]:
        """Changes in order, from a place on; with `record` or `sources`, only those about them.

        No transaction stays open between the changes, so a slow reader holds nobody up.
        """
        if record is None and not sources:
            yield from self._everything(after)
            return
        places = self._places_about(record, sources)
        wanted = [seq for seq in places if seq > after]
        for start in range(0, len(wanted), _BATCH_ROWS):
            batch = json.dumps(wanted[start : start + _BATCH_ROWS])
            yield from map(change_from, self._rows(_ROWS_AT, (batch,)))

    def state(self) -> State:
        """The kept current state, read in one transaction from the kept rows."""
        with self._lock:
            try:
                self._live().execute("BEGIN")
                try:
                    return self._kept_state()
                finally:
                    self._roll_back()
            except apsw.Error as failure:
                raise promised(failure, self._path) from failure

    def close(self) -> None:
        """Close the connection; the last one out folds the write-ahead log into the file."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    # -- writing -----------------------------------------------------------------------------

    def _append(self, changes: Sequence[Change], after: Head) -> None:
        head = self._read_head()
        if head != after:
            raise conflict(head, after)
        execute = self._live().execute
        for change in changes:
            source = None if change.source is None else source_text(change.source)
            parts, bodies = pack(change.parts)
            execute(
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
            self._failpoint("append: change without state")
            if source is not None:
                self._move_mark(source, change)
            self._keep(change)

    def _move_mark(self, source: str, change: Change) -> None:
        reconciles = change.kind is ChangeKind.ADVANCED
        self._live().execute(
            _MARK_ADVANCED if reconciles else _MARK_OBSERVED,
            (source, change.version, change.version, change.seq),
        )

    def _keep(self, change: Change) -> None:
        connection = self._live()
        place = f"{change.seq},"
        if change.kind is ChangeKind.WRITTEN:
            for part in change.parts:
                try:
                    connection.execute(_INSERT_RECORD, (part.record, place))
                except apsw.ConstraintError:
                    msg = f"record {part.record} exists already; a repair writes another record"
                    raise IllegalChange(msg) from None
            return
        leads_to = change.kind.leads_to
        status = None if leads_to is None else leads_to.value
        allowed = " ".join(change.kind.may_find)
        for part in change.parts:
            connection.execute(_MOVE_RECORD, (status, place, part.record, allowed))
            if connection.changes() == 0:
                self._refuse(change, part)

    def _refuse(self, change: Change, part: Part) -> Never:
        found = self._one("SELECT status FROM records WHERE id = ?", (part.record,))
        status = "not there" if found is None else found[0]
        msg = f"record {part.record} is {status}: it cannot be {change.kind}"
        raise IllegalChange(msg)

    def _erase(self, purged: Collection[str]) -> None:
        """Overwrite the bodies about these records in every change, in place."""
        connection = self._live()
        connection.execute("UPDATE ledger SET scrub_due = 1")
        places: set[int] = set()
        for record in purged:
            places.update(self._history(record))
        for seq in sorted(places):
            found = self._one("SELECT parts, bodies FROM changes WHERE seq = ?", (seq,))
            if found is None:
                raise UnreadableChange(seq, "it is gone")
            left = erase(seq, found[0], found[1], purged)
            connection.execute(
                "UPDATE changes SET parts = ?, bodies = ? WHERE seq = ?", (*left, seq)
            )
            self._failpoint("purge: one change erased")

    def _try_to_scrub(self) -> None:
        """Empty the log of what was purged; put off while somebody reads an older state."""
        self._failpoint("purge: log not emptied")
        connection = self._live()
        self._scrub_due = True
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._failpoint("purge: log emptied")
            connection.execute("UPDATE ledger SET scrub_due = 0")
        except apsw.BusyError:
            return
        except apsw.Error as failure:
            raise promised(failure, self._path) from failure
        self._scrub_due = False

    def _roll_back(self) -> None:
        connection = self._connection
        if connection is not None and connection.in_transaction:
            connection.execute("ROLLBACK")

    # -- reading -----------------------------------------------------------------------------

    def _live(self) -> apsw.Connection:
        connection = self._connection
        if connection is None:
            msg = f"the store at {self._path} was closed; open it again"
            raise StoreClosed(msg)
        if self._process != os.getpid():
            msg = f"the store at {self._path} was opened before a fork; open it again here"
            raise StoreClosed(msg)
        return connection

    def _one(self, query: str, bindings: tuple[object, ...] = ()) -> tuple[Any, ...] | None:
        return self._live().execute(query, bindings).fetchone()

    def _rows(self, query: str, bindings: tuple[object, ...]) -> list[Any]:
        with self._lock:
            try:
                return self._live().execute(query, bindings).fetchall()
            except apsw.Error as failure:
                raise promised(failure, self._path) from failure

    def _identity(self) -> tuple[str, bool]:
        rows = self._rows("SELECT id, scrub_due FROM ledger", ())
        if len(rows) != 1:
            raise UnreadableState("the ledger", f"{len(rows)} rows say whose it is")
        return rows[0][0], bool(rows[0][1])

    def _current_head(self) -> Head:
        version = self._one("PRAGMA data_version")
        if version != self._seen_version:
            self._head = self._read_head()
            self._seen_version = version
        return self._head

    def _read_head(self) -> Head:
        found = self._one(_LAST)
        return genesis(self._ledger) if found is None else Head(*found)

    def _everything(self, after: int) -> Iterator[Change]:
        while True:
            rows = self._rows(_ROWS_AFTER, (after, _BATCH_ROWS))
            yield from map(change_from, rows)
            if len(rows) < _BATCH_ROWS:
                return
            after = rows[-1][0]

    def _places_about(self, record: str | None, sources: Collection[Source]) -> list[int]:
        with self._lock:
            places: set[int] = set() if record is None else set(self._history(record))
            if sources:
                texts = json.dumps([source_text(source) for source in sources])
                places.update(seq for (seq,) in self._rows(_SOURCES_AT, (texts,)))
        return sorted(places)

    def _history(self, record: str) -> list[int]:
        rows = self._rows("SELECT history FROM records WHERE id = ?", (record,))
        return [] if not rows else places_from(record, rows[0][0])

    def _kept_state(self) -> State:
        records = self._rows("SELECT id, status, history FROM records", ())
        marks = self._rows("SELECT source, reconciled, observed, seq FROM marks", ())
        bodies = self._live().execute(
            "SELECT seq, parts, bodies FROM changes"
            " WHERE kind IN ('written', 'witnessed') ORDER BY seq"
        )
        kept = KeptRows(records, marks)
        for seq, parts, stored in bodies:
            kept.take(seq, parts, stored)
        found = self._one("SELECT seq, digest FROM changes WHERE seq = ?", (kept.seq,))
        head = Head(*found) if found else Head(kept.seq, "") if kept.seq else genesis(self._ledger)
        return kept.state(head)
