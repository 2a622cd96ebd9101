"""The shared store: a schema in a PostgreSQL database, for when one machine is outgrown.

Needs the extra `postgres`. Writers take turns by an advisory lock, so the head is compared and
moved by one at a time; readers are never held up. A connection that broke is made anew by the next
call. Use a direct connection or a pooler in session mode: the store sets the session's search path.

What a purge can reach here is every row. Older versions of rows, the write-ahead log, replicas and
backups are the server's: after a purge, ``VACUUM FULL changes`` rewrites the table without them,
and the rest follows the operator's retention.

::

    with closing(PostgresStore("postgresql://host/db", ids=RandomIds())) as store: ...
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from lapse.errors import IllegalChange, InvalidValue, StoreClosed, StoreError
from lapse.ledger import Change, ChangeKind, Head, Ids, Part, Source, State, genesis
from lapse.storage.postgres_link import (
    Connection,
    connected,
    lock_number,
    migrated,
    promised,
    psycopg,
)
from lapse.storage.rows import (
    KeptRows,
    UnreadableChange,
    change_from,
    check_links,
    conflict,
    erase,
    pack,
    places_from,
    purged_by,
    source_text,
    text_from,
    text_of,
)

__all__ = ["PostgresStore"]

_BATCH_ROWS = 256
"""Changes fetched at a time: enough to make the round trip cheap, few enough to hold."""

_COLUMNS = "seq, kind, at, reason, actor, source, version, previous, digest, parts, bodies"
_LAST = "SELECT seq, digest FROM changes ORDER BY seq DESC LIMIT 1"
_ROWS_AFTER = f"SELECT {_COLUMNS} FROM changes WHERE seq > %s ORDER BY seq LIMIT %s"  # noqa: S608
_ROWS_AT = f"SELECT {_COLUMNS} FROM changes WHERE seq = ANY(%s) ORDER BY seq"  # noqa: S608
_BODIES = (
    "SELECT seq, parts, bodies FROM changes WHERE kind IN ('written', 'witnessed') ORDER BY seq"
)
_INSERT_CHANGE = "INSERT INTO changes VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_INSERT_RECORD = "INSERT INTO records VALUES (%s, %s, 'active', %s) ON CONFLICT DO NOTHING"
_MOVE_RECORD = """
    UPDATE records SET status = coalesce(%s, status), history = history || %s
    WHERE key = %s AND status = ANY(%s)
"""
_INSERT_MARK = "INSERT INTO marks VALUES (%s, %s, %s, %s, %s) ON CONFLICT (key) DO UPDATE SET "
_MARK_OBSERVED = f"{_INSERT_MARK} observed = excluded.observed, seq = excluded.seq"
_MARK_ADVANCED = f"{_MARK_OBSERVED}, reconciled = excluded.reconciled"


def _pass_by(_point: str) -> None:
    """Nothing fails here."""


class PostgresStore:
    """Implements `lapse.ledger.Store` in one schema; the schema is made when it is not there.

    Args:
        url: a ``postgresql://`` URL, or libpq's ``key=value`` form.
        ids: gives a new ledger its id; not asked when the schema holds one already.
        schema: where the tables are; one ledger per schema.
        lock_timeout_ms: how long to wait for another writer before `StoreLocked`.
        connect_timeout_s: how long to wait for the server before `StoreUnavailable`; 2 at least.
        failpoint: called with the name of every point at which a crash is tried out.

    Raises:
        StoreForeign: the schema holds other tables; it was not touched.
        StoreNewer: a later lapse made it; it was not touched.
        StoreReadOnly: the role may not make it.
        StoreUnavailable: the server does not answer.
        StoreError: it cannot be opened for another reason.
    """

    __slots__ = (
        "_closed",
        "_connect",
        "_connection",
        "_failpoint",
        "_ledger",
        "_lock",
        "_process",
        "_schema",
    )

    def __init__(
        self,
        url: str,
        *,
        ids: Ids,
        schema: str = "lapse",
        lock_timeout_ms: int = 5_000,
        connect_timeout_s: int = 5,
        failpoint: Callable[[str], None] = _pass_by,
    ) -> None:
        if lock_timeout_ms < 1:
            raise InvalidValue(
                "lock_timeout_ms", lock_timeout_ms, "pass 1 or more: 0 waits for ever"
            )
        if not schema or "\0" in schema:
            raise InvalidValue("schema", schema, "pass the name of a schema")
        self._schema = schema
        self._failpoint = failpoint
        self._lock = threading.RLock()
        self._closed = False
        self._process = os.getpid()
        self._connection: Connection | None = None
        self._connect: Callable[[], Connection] = lambda: connected(
            url,
            schema=schema,
            lock_timeout_ms=lock_timeout_ms,
            connect_timeout_s=connect_timeout_s,
        )
        with self._promising() as connection:
            try:
                self._ledger = migrated(connection, schema=schema, ids=ids, failpoint=failpoint)
            except BaseException:
                self.close()
                raise

    @property
    def ledger(self) -> str:
        """The id of the ledger kept here."""
        return self._ledger

    def head(self) -> Head:
        """The end of the chain now: one look-up by primary key, one round trip."""
        with self._promising() as connection:
            return self._read_head(connection)

    def append(self, changes: Sequence[Change], *, after: Head) -> None:
        """Add sealed changes to the chain, and let the kept state follow, in one transaction.

        When the connection breaks, the server is asked once more whether it took them: only if that
        cannot be found out is `StoreUnavailable` raised, and then the head tells later.

        Raises:
            StoreConflict: the chain's end is no longer `after`; nothing was written.
            IllegalChange: the status of a record does not allow one of them; nothing was written.
            InvalidValue: they do not follow `after`; nothing was written.
        """
        check_links(changes, after)
        with self._lock:
            connection = self._live()
            try:
                with connection.transaction():
                    self._append(connection, changes, after)
            except psycopg.Error as failure:
                if not (connection.broken and self._landed(changes)):
                    raise promised(failure, self._schema) from failure
        self._failpoint("append: committed")

    def changes(
        self, *, after: int = 0, record: str | None = None, sources: Collection[Source] = ()
    ) -> Iterator[Change]:
        """Changes in order, from a place on; with `record` or `sources`, only those about them.

        No transaction stays open between the changes.
        """
        if record is None and not sources:
            while rows := self._rows(_ROWS_AFTER, (after, _BATCH_ROWS)):
                yield from map(_change, rows)
                after = rows[-1][0]
            return
        wanted = [seq for seq in self._places_about(record, sources) if seq > after]
        for start in range(0, len(wanted), _BATCH_ROWS):
            batch = wanted[start : start + _BATCH_ROWS]
            yield from map(_change, self._rows(_ROWS_AT, (batch,)))

    def state(self) -> State:
        """The kept current state, read in one snapshot from the kept rows."""
        with self._promising() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return self._kept_state(connection)

    @contextmanager
    def watch(self, *, timeout_s: float) -> Generator[Iterator[int]]:
        """Listen for appends: gives the chain's length after each, from now on, until it is quiet.

        It holds a connection of its own. A wake-up call, not a record: `changes` is what counts.

        Args:
            timeout_s: how long it has to be quiet before the iteration ends.
        """
        with self._translated(), closing(self._connect()) as connection:
            connection.execute(f'LISTEN "{_channel(self._schema)}"'.encode())
            yield _heard(connection, timeout_s)

    def close(self) -> None:
        """Close the connection; calling it twice does no harm."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()

    # -- writing -----------------------------------------------------------------------------

    def _append(self, connection: Connection, changes: Sequence[Change], after: Head) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_number(self._schema),))
        self._failpoint("append: begun")
        head = self._read_head(connection)
        if head != after:
            raise conflict(head, after)
        for change in changes:
            source = None if change.source is None else source_text(change.source)
            connection.execute(_INSERT_CHANGE, _row(change, source))
            self._failpoint("append: change without state")
            if source is not None:
                self._move_mark(connection, source, change)
            self._keep(connection, change)
        if purged := purged_by(changes):
            self._erase(connection, purged)
        if changes:
            place = str(changes[-1].seq)
            connection.execute("SELECT pg_notify(%s, %s)", (_channel(self._schema), place))
        self._failpoint("append: written, not committed")

    def _move_mark(self, connection: Connection, source: str, change: Change) -> None:
        reconciles = change.kind is ChangeKind.ADVANCED
        version = text_of(change.version)
        connection.execute(
            _MARK_ADVANCED if reconciles else _MARK_OBSERVED,
            (_key(source), source, version, version, change.seq),
        )

    def _keep(self, connection: Connection, change: Change) -> None:
        place = f"{change.seq},"
        leads_to = change.kind.leads_to
        status = None if leads_to is None else leads_to.value
        allowed = [found.value for found in change.kind.may_find]
        for part in change.parts:
            key = _key(part.record)
            if change.kind is ChangeKind.WRITTEN:
                done = connection.execute(_INSERT_RECORD, (key, text_of(part.record), place))
            else:
                done = connection.execute(_MOVE_RECORD, (status, place, key, allowed))
            if done.rowcount == 0:
                raise self._refusal(connection, change, part)

    def _refusal(self, connection: Connection, change: Change, part: Part) -> IllegalChange:
        query = "SELECT status FROM records WHERE key = %s"
        found = connection.execute(query, (_key(part.record),)).fetchone()
        status = "not there" if found is None else found[0]
        return IllegalChange(f"record {part.record} is {status}: it cannot be {change.kind}")

    def _erase(self, connection: Connection, purged: Collection[str]) -> None:
        """Overwrite the bodies about these records in every change."""
        query = "SELECT history, id FROM records WHERE key = ANY(%s)"
        rows = connection.execute(query, ([_key(record) for record in purged],))
        places = {seq for history, record in rows for seq in places_from(record, history)}
        for seq in sorted(places):
            query = "SELECT parts, bodies FROM changes WHERE seq = %s"
            found = connection.execute(query, (seq,)).fetchone()
            if found is None:
                raise UnreadableChange(seq, "it is gone")
            left = erase(seq, found[0], found[1], purged)
            query = "UPDATE changes SET parts = %s, bodies = %s WHERE seq = %s"
            connection.execute(query, (*left, seq))
            self._failpoint("purge: one change erased")

    def _landed(self, changes: Sequence[Change]) -> bool:
        """Whether changes whose acknowledgement was lost are in the chain."""
        try:
            query = "SELECT digest FROM changes WHERE seq = %s"
            found = self._live().execute(query, (changes[-1].seq,)).fetchone()
        except (psycopg.Error, StoreError):
            return False
        return found is not None and found[0] == changes[-1].digest

    # -- reading -----------------------------------------------------------------------------

    def _live(self) -> Connection:
        if self._closed:
            raise StoreClosed(f"the store in schema {self._schema} was closed; open it again")
        if self._process != os.getpid():  # two processes on one connection would mix their answers
            raise StoreClosed(f"schema {self._schema} was opened before a fork; open it again here")
        connection = self._connection
        if connection is None or connection.closed:
            connection = self._connection = self._connect()
        return connection

    @contextmanager
    def _promising(self) -> Generator[Connection]:
        """The connection, held alone, its errors turned into the port's."""
        with self._lock, self._translated():
            yield self._live()

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except psycopg.Error as failure:
            raise promised(failure, self._schema) from failure

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._promising() as connection:
            return connection.execute(query.encode(), values).fetchall()

    def _read_head(self, connection: Connection) -> Head:
        found = connection.execute(_LAST).fetchone()
        return genesis(self._ledger) if found is None else Head(*found)

    def _places_about(self, record: str | None, sources: Collection[Source]) -> list[int]:
        places: set[int] = set()
        if record is not None:
            query = "SELECT history FROM records WHERE key = %s"
            for (history,) in self._rows(query, (_key(record),)):
                places.update(places_from(record, history))
        if sources:
            keys = [_key(source_text(source)) for source in sources]
            query = "SELECT seq FROM changes WHERE source_key = ANY(%s)"
            places.update(seq for (seq,) in self._rows(query, (keys,)))
        return sorted(places)

    def _kept_state(self, connection: Connection) -> State:
        records = connection.execute("SELECT id, status, history FROM records").fetchall()
        marks = connection.execute("SELECT source, reconciled, observed, seq FROM marks").fetchall()
        kept = KeptRows(
            ((text_from(record) or "", status, history) for record, status, history in records),
            ((source, text_from(old), text_from(new), seq) for source, old, new, seq in marks),
        )
        with connection.cursor(name="bodies") as bodies:
            for seq, parts, stored in bodies.execute(_BODIES):
                kept.take(seq, parts, stored)
        query = "SELECT seq, digest FROM changes WHERE seq = %s"
        found = connection.execute(query, (kept.seq,)).fetchone()
        if found is None and kept.seq == 0:
            return kept.state(genesis(self._ledger))
        return kept.state(Head(kept.seq, "") if found is None else Head(*found))


def _row(change: Change, source: str | None) -> tuple[object, ...]:
    parts, bodies = pack(change.parts)
    return (
        change.seq,
        change.kind.value,
        change.at,
        text_of(change.reason),
        text_of(change.actor),
        source,
        text_of(change.version),
        change.previous,
        change.digest,
        parts,
        bodies,
        None if source is None else _key(source),
    )


def _change(row: tuple[Any, ...]) -> Change:
    seq, kind, at, reason, actor, source, version, *rest = row
    try:
        said = (text_from(reason), text_from(actor), source, text_from(version))
    except ValueError as failure:
        raise UnreadableChange(seq, failure) from None
    return change_from((seq, kind, at, *said, *rest))


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _channel(schema: str) -> str:
    return f"lapse_{lock_number(schema) & 0xFFFF_FFFF_FFFF_FFFF:x}"


def _heard(connection: Connection, timeout_s: float) -> Iterator[int]:
    while heard := next(connection.notifies(timeout=timeout_s, stop_after=1), None):
        yield int(heard.payload)
