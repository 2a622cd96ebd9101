"""Opens a SQLite file as a ledger, or says why not; turns the driver's errors into ours."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# The driver's stubs speak of a type that Python 3.11 does not have.

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import apsw

from lapse.errors import (
    StoreClosed,
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
from lapse.storage.space import NO_SPACE
from lapse.storage.sqlite_schema import APPLICATION_ID, MIGRATIONS, NEWEST

__all__ = ["opened", "promised"]

_WAL_RETRIES = 100
_WAL_RETRY_SECONDS = 0.01
"""Changing the journal mode does not wait for other openers by itself; together, a second."""


def opened(
    path: Path,
    *,
    ids: Ids,
    synchronous: str,
    busy_timeout_ms: int,
    failpoint: Callable[[str], None],
) -> apsw.Connection:
    """A connection to a ledger of the newest schema; a new file gets one.

    Raises:
        StoreError: of the kind that fits, and the file is as it was.
    """
    try:
        if path.exists() and path.stat().st_size > 0:
            _look(path, busy_timeout_ms)
        connection = apsw.Connection(
            str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        )
        try:
            _refuse_read_only(connection, path)
            _configure(connection, synchronous, busy_timeout_ms)
            _migrate(connection, path, ids, failpoint)
            _write_ahead(connection)
        except BaseException:
            connection.close()
            raise
    except apsw.Error as failure:
        raise promised(failure, path) from failure
    except PermissionError as failure:
        raise _read_only(path) from failure
    except OSError as failure:
        msg = f"{path} cannot be opened ({failure.strerror}); check that its directory is there"
        raise StoreUnavailable(msg) from failure
    return connection


def _look(path: Path, busy_timeout_ms: int) -> None:
    """Refuse what is not ours before anything could touch it."""
    # Without a log beside it the file is all there is: read it as it lies, and make no files.
    lies_still = not path.with_name(f"{path.name}-wal").exists()
    name = f"{path.absolute().as_uri()}?immutable=1" if lies_still else str(path)
    flags = apsw.SQLITE_OPEN_READONLY | (apsw.SQLITE_OPEN_URI if lies_still else 0)
    connection = apsw.Connection(name, flags=flags)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # leaves its log as it is
        connection.set_busy_timeout(busy_timeout_ms)
        _recognise(connection, path)
    except apsw.NotADBError:
        msg = f"{path} is not a SQLite database; pass a lapse ledger's path, or one to make"
        raise StoreForeign(msg) from None
    finally:
        connection.close()


def _recognise(connection: apsw.Connection, path: Path) -> int:
    """The schema version of a ledger; 0 for an empty database."""
    application: int = connection.pragma("application_id")
    version: int = connection.pragma("user_version")
    tables = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    if application == 0 and version == 0 and not tables:
        return 0
    if application != APPLICATION_ID:
        msg = f"{path} belongs to something else (application id {application}); pass another"
        raise StoreForeign(msg)
    if version > NEWEST:
        msg = f"{path} has schema {version}, this lapse knows {NEWEST}: install a later lapse"
        raise StoreNewer(msg)
    return version


def _refuse_read_only(connection: apsw.Connection, path: Path) -> None:
    """SQLite opens for reading what it may not write; a ledger has to be written."""
    if connection.readonly("main"):
        raise _read_only(path)


def _configure(connection: apsw.Connection, synchronous: str, busy_timeout_ms: int) -> None:
    connection.set_busy_timeout(busy_timeout_ms)
    # Whoever can write the file could leave code in it that runs inside our transactions.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.pragma("synchronous", synchronous)
    connection.pragma("secure_delete", "on")
    connection.pragma("temp_store", "memory")
    connection.pragma("cell_size_check", "on")


def _migrate(
    connection: apsw.Connection, path: Path, ids: Ids, failpoint: Callable[[str], None]
) -> None:
    """Bring the file to the newest schema in one transaction."""
    if _recognise(connection, path) == NEWEST:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        failpoint("migrate: begun")
        version = _recognise(connection, path)  # another process may have been faster
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                connection.execute(statement)
                failpoint("migrate: one statement done")
        if version == 0:
            connection.execute("INSERT INTO ledger VALUES (?, 0)", (ids.new(),))
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", NEWEST)
        failpoint("migrate: written, not committed")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    failpoint("migrate: committed")


def _write_ahead(connection: apsw.Connection) -> None:
    for _ in range(_WAL_RETRIES):
        try:
            if connection.pragma("journal_mode") != "wal":
                connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            time.sleep(_WAL_RETRY_SECONDS)
        else:
            return
    connection.pragma("journal_mode", "wal")


def promised(failure: apsw.Error, path: Path, *, system_errno: int = 0) -> StoreError:
    """The error that the port promises, for one of the driver's and what the system said to it."""
    if isinstance(failure, apsw.IOError) and system_errno in NO_SPACE:
        return StoreFull(f"{path} may not grow any more; free space, or raise the limit")
    for kinds, error, words in _PROMISES:
        if isinstance(failure, kinds):
            return error(f"{path} {words} ({failure})")
    return StoreUnavailable(f"{path} cannot be used; check the disk ({failure})")


_PROMISES: tuple[tuple[tuple[type[apsw.Error], ...], type[StoreError], str], ...] = (
    (
        (apsw.BusyError, apsw.LockedError),
        StoreLocked,
        "is locked by another process; try again, or raise busy_timeout_ms",
    ),
    ((apsw.FullError,), StoreFull, "has no space left; free some, then try again"),
    (
        (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError),
        StoreReadOnly,
        "may not be written; change its mode and its directory's, or copy it elsewhere",
    ),
    (
        (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError),
        StoreCorrupt,
        "is damaged; restore it from a backup",
    ),
    ((apsw.ConnectionClosedError,), StoreClosed, "was closed; open it again"),
    (
        (apsw.CantOpenError,),
        StoreUnavailable,
        "cannot be opened; check that its directory is there",
    ),
)
"""What the driver says, what the port promises for it, and what the caller can do."""


def _read_only(path: Path) -> StoreReadOnly:
    return StoreReadOnly(
        f"{path} may not be written by this user; change its mode, or copy it elsewhere"
    )
