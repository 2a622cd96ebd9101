"""The SQLite file: what marks it as ours, its tables, and how older files are brought up to date.

Three tables. `changes` is the chain, only ever appended to, so that no row moves. `records` and
`marks` are the kept current state: a record's row holds its status and the places of the changes
about it; the content stays in the chain, once. `ledger` has the one row that says whose file it is.
"""

from __future__ import annotations

__all__ = ["APPLICATION_ID", "MIGRATIONS", "NEWEST"]

APPLICATION_ID = 0x6C617073
"""The bytes "laps" in the file's header; `file` and every later lapse recognise it by them."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE ledger (
            id TEXT NOT NULL,
            scrub_due INTEGER NOT NULL -- 1 from a purge until the write-ahead log holds none of it
        ) STRICT
        """,
        """
        CREATE TABLE changes (
            seq INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,
            at INTEGER NOT NULL,       -- microseconds since 1970-01-01T00:00:00Z
            reason TEXT NOT NULL,
            actor TEXT NOT NULL,
            source TEXT,               -- JSON [kind, issuer, name, key]
            version TEXT,
            previous TEXT NOT NULL,
            digest TEXT NOT NULL,
            parts TEXT NOT NULL,       -- JSON [[record, digest, salt size, body size, erased], ...]
            bodies BLOB NOT NULL       -- salt, body, salt, body, ...
        ) STRICT
        """,
        "CREATE INDEX changes_of_source ON changes (source) WHERE source IS NOT NULL",
        """
        CREATE TABLE records (
            id TEXT PRIMARY KEY NOT NULL,
            status TEXT NOT NULL,
            history TEXT NOT NULL      -- places of the changes about it, a comma after each
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE marks (
            source TEXT PRIMARY KEY NOT NULL,
            reconciled TEXT,
            observed TEXT,
            seq INTEGER NOT NULL       -- the change that moved it last
        ) STRICT, WITHOUT ROWID
        """,
    ),
)
"""Statements by schema version, from 1 on. Files in the field have run them: append, never edit."""

NEWEST = len(MIGRATIONS)
"""The schema version this code reads and writes."""
