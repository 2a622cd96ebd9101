"""Connects to PostgreSQL, makes the schema, and turns the driver's errors into ours."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from lapse.errors import (
    MissingExtra,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
)
from lapse.ledger import Ids
from lapse.storage.postgres_schema import MIGRATIONS, NEWEST, TABLES

try:
    import psycopg
    from psycopg import errors, sql
except ImportError as missing:
    raise MissingExtra("the PostgreSQL store", "postgres") from missing

__all__ = ["Connection", "connected", "lock_number", "migrated", "promised"]

Connection = psycopg.Connection[tuple[Any, ...]]


def connected(url: str, *, schema: str, lock_timeout_ms: int, connect_timeout_s: int) -> Connection:
    """A connection that looks into one schema and waits for locks no longer than it should.

    Raises:
        psycopg.Error: the server does not answer, or does not let us in.
    """
    connection = psycopg.connect(
        url, autocommit=True, connect_timeout=connect_timeout_s, application_name="lapse"
    )
    try:
        path = sql.SQL("SET search_path TO {}").format(sql.Identifier(schema))
        connection.execute(path)
        connection.execute(
            "SELECT set_config('lock_timeout', %s, false)", (f"{lock_timeout_ms}ms",)
        )
    except BaseException:
        connection.close()
        raise
    return connection


def lock_number(schema: str) -> int:
    """The advisory lock that writers of a schema's ledger hold: any 64 bits of one's own."""
    digest = hashlib.sha256(b"lapse ledger\0" + schema.encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


def migrated(
    connection: Connection, *, schema: str, ids: Ids, failpoint: Callable[[str], None]
) -> str:
    """The id of the ledger in a schema, which is brought to the newest version in one transaction.

    Raises:
        StoreForeign: the schema holds other tables.
        StoreNewer: a later lapse made it.
        psycopg.Error: as the server says.
    """
    version, ledger = _recognise(connection, schema)
    if version == NEWEST:
        return ledger
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_number(schema),))
        failpoint("migrate: begun")
        version, ledger = _recognise(connection, schema)  # another process may have been faster
        if version == 0:
            create = sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema))
            connection.execute(create)
            ledger = ids.new()
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                connection.execute(statement.encode())
                failpoint("migrate: one statement done")
        if version == 0:
            connection.execute("INSERT INTO ledger VALUES (%s, %s)", (ledger, NEWEST))
        else:
            connection.execute("UPDATE ledger SET version = %s", (NEWEST,))
        failpoint("migrate: written, not committed")
    failpoint("migrate: committed")
    return ledger


def _recognise(connection: Connection, schema: str) -> tuple[int, str]:
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,))
    tables = {name for (name,) in found}
    if not tables:
        return 0, ""
    if not tables >= TABLES:
        shown = ", ".join(sorted(tables)[:3])
        raise StoreForeign(f"schema {schema} belongs to something else ({shown}); pass another")
    rows = connection.execute("SELECT version, id FROM ledger").fetchall()
    if len(rows) != 1:
        raise StoreCorrupt(f"{len(rows)} rows say whose ledger is in schema {schema}; restore it")
    version, ledger = rows[0]
    if version > NEWEST:
        words = f"schema {schema} has version {version}, this lapse knows {NEWEST}"
        raise StoreNewer(f"{words}: install a later lapse")
    return version, ledger


def promised(failure: psycopg.Error, schema: str) -> StoreError:
    """The error that the port promises, for one of the driver's."""
    for kinds, error, words in _PROMISES:
        if isinstance(failure, kinds):
            return error(f"schema {schema} {words} ({failure})")
    return StoreUnavailable(f"the PostgreSQL server does not answer; try again ({failure})")


_PROMISES: tuple[tuple[tuple[type[psycopg.Error], ...], type[StoreError], str], ...] = (
    (
        (errors.LockNotAvailable, errors.DeadlockDetected),
        StoreLocked,
        "is locked by another process; try again, or raise lock_timeout_ms",
    ),
    (
        (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction),
        StoreReadOnly,
        "may not be written by this role; grant it INSERT, UPDATE and, at first, CREATE",
    ),
    ((errors.DiskFull,), StoreFull, "has no space left; free some, then try again"),
    (
        (
            errors.DataCorrupted,
            errors.IndexCorrupted,
            errors.UndefinedTable,
            errors.UndefinedColumn,
        ),
        StoreCorrupt,
        "is damaged; restore it from a backup",
    ),
)
"""What the server says, what the port promises for it, and what the caller can do."""
