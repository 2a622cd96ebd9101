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
from typing import Any, Literal

import apsw

from lapse.errors import InvalidValue, StoreClosed, StoreError
from lapse.ledger import Change, Head, Ids, Source, State, genesis
from lapse.storage.rows import (
    KeptRows,
    UnreadableState,
    change_from,
    check_links,
    conflict,
    places_from,
    purged_by,
    source_text,
)
from lapse.storage.sqlite_file import opened, promised
from lapse.storage.sqlite_rows import erase_rows, write_rows

__all__ = ["SqliteStore", "Synchronous"]

Synchronous = Literal["full", "normal"]
"""How durable an acknowledged append is.

"full" survives a power cut. "normal" survives the death of the process; a power cut may take the
newest appends, never older ones and never half of one.
"""

_BATCH_ROWS = 256
"""Changes read under one lock: enough to make the lock cheap, few enough to let a writer in."""

_LAST = "SELECT seq, digest FROM changes ORDER BY seq DESC LIMIT 1"
_BEGIN = f"BEGIN IMMEDIATE; {_LAST}"  # in one call: it is asked at every append
_ROWS_AFTER = "SELECT * FROM changes WHERE seq > ? ORDER BY seq LIMIT ?"
_ROWS_AT = "SELECT * FROM changes WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
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
                raise self._promised(failure) from failure

    def append(self, changes: Sequence[Change], *, after: Head) -> None:
        """Add sealed changes to the chain, and let the kept state follow, in one transaction.

        Raises:
            StoreConflict: the chain's end is no longer `after`; nothing was written.
            IllegalChange: the status of a record does not allow one of them; nothing was written.
            InvalidValue: they do not follow `after`; nothing was written.
        """
        check_links(changes, after)
        purged = purged_by(changes)
        with self._lock:
            connection = self._live()
            try:
                try:
                    self._begin(connection, after)
                    write_rows(connection, changes, self._failpoint)
                    if purged:
                        erase_rows(connection, purged, self._failpoint)
                    self._failpoint("append: written, not committed")
                    connection.execute("COMMIT")
                except BaseException:
                    self._roll_back()
                    raise
            except apsw.Error as failure:
                raise self._promised(failure) from failure
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
                raise self._promised(failure) from failure

    def close(self) -> None:
        """Close the connection; the last one out folds the write-ahead log into the file."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    # -- writing and erasing -----------------------------------------------------------------------

    def _begin(self, connection: apsw.Connection, after: Head) -> None:
        found: tuple[Any, ...] | None = connection.execute(_BEGIN).fetchone()
        self._failpoint("append: begun")
        head = genesis(self._ledger) if found is None else Head(*found)
        if head != after:
            raise conflict(head, after)

    def _try_to_scrub(self) -> None:
        """Empty the log of what was purged; put off when that cannot be done now.

        The purge itself is committed and the file remembers that its log is due, so nothing that
        goes wrong here is the caller's: somebody reads an older state, or the disk is full.
        """
        self._failpoint("purge: log not emptied")
        connection = self._live()
        self._scrub_due = True
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._failpoint("purge: log emptied")
            connection.execute("UPDATE ledger SET scrub_due = 0")
        except apsw.Error:
            return
        self._scrub_due = False

    def _roll_back(self) -> None:
        connection = self._connection
        if connection is not None and connection.in_transaction:
            connection.execute("ROLLBACK")

    def _promised(self, failure: apsw.Error) -> StoreError:
        connection = self._connection
        said = 0 if connection is None else connection.system_errno
        return promised(failure, self._path, system_errno=said)

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

    def _rows(self, query: str, bindings: tuple[object, ...]) -> list[Any]:
        with self._lock:
            try:
                return self._live().execute(query, bindings).fetchall()
            except apsw.Error as failure:
                raise self._promised(failure) from failure

    def _identity(self) -> tuple[str, bool]:
        rows = self._rows("SELECT id, scrub_due FROM ledger", ())
        if len(rows) != 1:
            raise UnreadableState("the ledger", f"{len(rows)} rows say whose it is")
        return rows[0][0], bool(rows[0][1])

    def _current_head(self) -> Head:
        connection = self._live()
        version = connection.execute("PRAGMA data_version").fetchone()
        if version != self._seen_version:
            self._head = self._read_head(connection)
            self._seen_version = version
        return self._head

    def _read_head(self, connection: apsw.Connection) -> Head:
        found: tuple[Any, ...] | None = connection.execute(_LAST).fetchone()
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

    def _kept_state(self) -> State:
        connection = self._live()
        records = self._rows("SELECT id, status, history FROM records", ())
        marks = self._rows("SELECT source, reconciled, observed, seq FROM marks", ())
        kept = KeptRows(records, marks)
        bodies: Iterator[Any] = connection.execute(
            "SELECT seq, parts, bodies FROM changes"
            " WHERE kind IN ('written', 'witnessed') ORDER BY seq"
        )
        for seq, parts, stored in bodies:
            kept.take(seq, parts, stored)
        found = self._rows("SELECT seq, digest FROM changes WHERE seq = ?", (kept.seq,))
        if not found and kept.seq == 0:
            return kept.state(genesis(self._ledger))
        return kept.state(Head(*found[0]) if found else Head(kept.seq, ""))

    def _history(self, record: str) -> list[int]:
        rows = self._rows("SELECT history FROM records WHERE id = ?", (record,))
        return places_from(record, rows[0][0]) if rows else []
