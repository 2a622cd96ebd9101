"""The PostgreSQL schema: its tables, and how older ones are brought up to date.

The tables of the SQLite file, with two differences. Texts that come from outside are JSON texts,
because PostgreSQL stores no NUL; look-ups go by SHA-256 of the id or source, because its indexes
hold no long keys.
"""

from __future__ import annotations

__all__ = ["MIGRATIONS", "NEWEST", "TABLES"]

TABLES = frozenset({"ledger", "changes", "records", "marks"})
"""What a schema of ours holds; one that holds tables and not these is somebody else's."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE ledger (
            id text NOT NULL,
            version integer NOT NULL
        )
        """,
        """
        CREATE TABLE changes (
            seq bigint PRIMARY KEY,
            kind text NOT NULL,
            at bigint NOT NULL,
            reason text NOT NULL,
            actor text NOT NULL,
            source text,
            version text,
            previous text NOT NULL,
            digest text NOT NULL,
            parts text NOT NULL,
            bodies bytea NOT NULL,
            source_key bytea
        )
        """,
        "CREATE INDEX changes_of_source ON changes (source_key) WHERE source_key IS NOT NULL",
        """
        CREATE TABLE records (
            key bytea PRIMARY KEY,
            id text NOT NULL,
            status text NOT NULL,
            history text NOT NULL
        )
        """,
        """
        CREATE TABLE marks (
            key bytea PRIMARY KEY,
            source text NOT NULL,
            reconciled text,
            observed text,
            seq bigint NOT NULL
        )
        """,
    ),
)
"""Statements by schema version, from 1 on. Databases in the field have run them: append only."""

NEWEST = len(MIGRATIONS)
"""The schema version this code reads and writes."""
