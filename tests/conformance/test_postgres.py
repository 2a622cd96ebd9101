# pyright: reportPrivateUsage=false
"""What the PostgreSQL store says when the server, the role or the schema is not as it should be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from lapse.errors import (
    InvalidValue,
    LedgerNotTrusted,
    StoreCorrupt,
    StoreForeign,
    StoreLocked,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
)
from lapse.ledger import BreakKind
from lapse.storage import TrustedStore
from lapse.storage.postgres import PostgresStore
from lapse.storage.postgres_link import lock_number
from lapse.storage.postgres_schema import NEWEST
from lapse.testing import InMemoryAnchor, ManualClock, Scribe, SequenceIds, sample

pytestmark = pytest.mark.postgres


@pytest.fixture
def raw(postgres_url: str, postgres_schema: str) -> Iterator[psycopg.Connection]:
    """Another connection to the test's schema, for breaking things."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = sql.Identifier(postgres_schema)
        connection.execute(sql.SQL("SET search_path TO {}").format(name))
        yield connection


def opened(url: str, schema: str, *, lock_timeout_ms: int = 5_000) -> PostgresStore:
    ids = SequenceIds("ledger")
    return PostgresStore(url, ids=ids, schema=schema, lock_timeout_ms=lock_timeout_ms)


def make_schema(raw: psycopg.Connection, schema: str) -> None:
    raw.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))


def cut_off(raw: psycopg.Connection) -> None:
    """End every other connection of ours, as an administrator or a failing network does."""
    raw.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE application_name = 'lapse' AND pid <> pg_backend_pid()"
    )


def test_tables_of_something_else_are_refused_and_left_as_they_were(
    postgres_url: str, postgres_schema: str, raw: psycopg.Connection
) -> None:
    make_schema(raw, postgres_schema)
    raw.execute("CREATE TABLE notes (body text)")
    with pytest.raises(StoreForeign, match="belongs to something else \\(notes\\)"):
        opened(postgres_url, postgres_schema)
    query = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
    assert raw.execute(query, (postgres_schema,)).fetchall() == [("notes",)]


def test_an_empty_schema_that_is_there_is_used(
    postgres_url: str, postgres_schema: str, raw: psycopg.Connection
) -> None:
    make_schema(raw, postgres_schema)
    with closing(opened(postgres_url, postgres_schema)) as store:
        assert store.ledger == "ledger-1"


def test_a_newer_schema_is_refused(
    postgres_url: str, postgres_schema: str, raw: psycopg.Connection
) -> None:
    opened(postgres_url, postgres_schema).close()
    raw.execute("UPDATE ledger SET version = version + 1")
    with pytest.raises(StoreNewer, match=f"has version {NEWEST + 1}, this lapse knows {NEWEST}"):
        opened(postgres_url, postgres_schema)


def test_a_role_that_may_only_read_reads_and_is_refused_the_rest(
    postgres_url: str, postgres_schema: str, raw: psycopg.Connection
) -> None:
    with closing(opened(postgres_url, postgres_schema)) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"))
    schema = sql.Identifier(postgres_schema)
    role = sql.Identifier(f"reader of {postgres_schema}")
    raw.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
    raw.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role))
    raw.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {}").format(schema, role))
    url = make_conninfo(postgres_url, user=f"reader of {postgres_schema}")
    with closing(opened(url, postgres_schema)) as reader:
        assert reader.state() == scribe.expected
        late = Scribe(reader)
        with pytest.raises(StoreReadOnly, match="grant it INSERT"):
            late.write(sample("b"))
        assert reader.state() == scribe.expected
    with pytest.raises(StoreReadOnly):
        opened(url, f"{postgres_schema} not made yet")


def test_a_lock_that_is_held_too_long_is_said(postgres_url: str, postgres_schema: str) -> None:
    with (
        closing(opened(postgres_url, postgres_schema)) as store,
        closing(opened(postgres_url, postgres_schema, lock_timeout_ms=10)) as late,
    ):
        scribe = Scribe(late)
        holder = store._live()
        with holder.transaction():
            number = lock_number(postgres_schema)
            holder.execute("SELECT pg_advisory_xact_lock(%s)", (number,))
            with pytest.raises(StoreLocked, match="lock_timeout_ms"):
                scribe.write(sample("a"))
            assert late.state() == scribe.expected
        scribe.write(sample("b"))
        assert store.state() == scribe.expected


def test_a_connection_that_broke_is_made_anew(
    postgres_url: str, postgres_schema: str, raw: psycopg.Connection
) -> None:
    with closing(opened(postgres_url, postgres_schema)) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"))
        for call in (store.head, store.state, lambda: list(store.changes())):
            cut_off(raw)
            with pytest.raises(StoreUnavailable):
                call()
            assert store.state() == scribe.expected
        cut_off(raw)
        with pytest.raises(StoreUnavailable):
            scribe.write(sample("b"))
        scribe.write(sample("c"))
        assert store.state() == scribe.expected


def test_an_acknowledgement_that_was_lost_is_asked_for(
    postgres_url: str, postgres_schema: str, raw: psycopg.Connection
) -> None:
    passed: list[str] = []
    store = PostgresStore(
        postgres_url, ids=SequenceIds("l"), schema=postgres_schema, failpoint=passed.append
    )
    with closing(store):
        scribe = Scribe(store)
        scribe.write(sample("a"))
        (change,) = scribe.sealed(*scribe.written_by(sample("b")))
        with closing(opened(postgres_url, postgres_schema)) as other:
            other.append((change,), after=scribe.expected.head)
        assert store._landed((change,))
        cut_off(raw)
        assert not store._landed((change,))  # nobody there to ask
        assert store._landed((change,))


def test_a_server_that_is_not_there_is_said(tmp_path_factory: pytest.TempPathFactory) -> None:
    nowhere = tmp_path_factory.mktemp("s")
    with pytest.raises(StoreUnavailable, match="does not answer"):
        PostgresStore(f"postgresql:///db?host={nowhere}", ids=SequenceIds())


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE marks",
        "DELETE FROM ledger",
        "UPDATE changes SET reason = 'x'",
        "UPDATE changes SET reason = '1'",
        "UPDATE changes SET kind = 'x'",
        "UPDATE changes SET parts = '[]' WHERE kind = 'written'",
        "UPDATE records SET status = 'x'",
        "UPDATE records SET history = 'x,'",
    ],
)
def test_rows_that_no_store_wrote_are_said(
    postgres_url: str, postgres_schema: str, raw: psycopg.Connection, damage: str
) -> None:
    with closing(opened(postgres_url, postgres_schema)) as store:
        Scribe(store).write(sample("a"))
    raw.execute(damage.encode())

    def read_everything() -> None:
        with closing(opened(postgres_url, postgres_schema)) as store:
            list(store.changes())
            list(store.changes(record="a"))
            store.state()

    with pytest.raises((StoreCorrupt, StoreForeign)):
        read_everything()


def test_an_edited_row_is_refused_under_an_anchor(
    postgres_url: str, postgres_schema: str, raw: psycopg.Connection
) -> None:
    store = TrustedStore(
        opened(postgres_url, postgres_schema), InMemoryAnchor(), clock=ManualClock()
    )
    with closing(store):
        scribe = Scribe(store)
        scribe.write(sample("a"), sample("b"))
        assert store.state() == scribe.expected
        raw.execute("UPDATE records SET status = 'suspended'")
        with pytest.raises(LedgerNotTrusted) as refusal:
            store.state()
        assert refusal.value.found.kind == BreakKind.STATE_ALTERED
        raw.execute("DELETE FROM changes WHERE seq = 4")
        with pytest.raises(LedgerNotTrusted) as refusal:
            store.head()
        assert refusal.value.found.kind == BreakKind.TRUNCATED


def test_purged_content_is_in_no_row(
    postgres_url: str, postgres_schema: str, raw: psycopg.Connection
) -> None:
    with closing(opened(postgres_url, postgres_schema)) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"), sample("b"))
        scribe.carry_out(scribe.witnessed("a"), scribe.purged("a"))
        query = "SELECT count(*) FROM changes WHERE position('payments/a'::bytea IN bodies) > 0"
        assert raw.execute(query).fetchall() == [(0,)]
        query = "SELECT count(*) FROM changes WHERE position('payments/b'::bytea IN bodies) > 0"
        assert raw.execute(query).fetchall() == [(1,)]


def test_a_watcher_hears_of_every_append(postgres_url: str, postgres_schema: str) -> None:
    with (
        closing(opened(postgres_url, postgres_schema)) as store,
        closing(opened(postgres_url, postgres_schema)) as other,
        other.watch(timeout_s=30) as places,
    ):
        scribe = Scribe(store)
        for record in ("a", "b", "c"):
            scribe.carry_out(*scribe.written_by(sample(record)))
            assert next(places) == scribe.expected.head.seq
    with closing(opened(postgres_url, postgres_schema)) as quiet, quiet.watch(timeout_s=0.01) as it:
        assert list(it) == []


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({"lock_timeout_ms": 0}, "lock_timeout_ms"), ({"schema": ""}, "schema")],
)
def test_settings_are_checked(arguments: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        PostgresStore("postgresql:///", ids=SequenceIds(), **arguments)  # type: ignore[arg-type]
    assert refusal.value.field == field
