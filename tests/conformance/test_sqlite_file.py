"""What the SQLite store says when the file, the disk or the caller is not as it should be."""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
# It looks behind the store, to break what is there; the driver's stubs are incomplete.

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from lapse.errors import (
    InvalidValue,
    StoreClosed,
    StoreCorrupt,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
)
from lapse.ledger import ChangeKind, Head, Source, State, genesis
from lapse.storage.sqlite import SqliteStore
from lapse.storage.sqlite_schema import APPLICATION_ID, MIGRATIONS, NEWEST
from lapse.testing import Scribe, SequenceIds, sample


def opened(path: Path, *, busy_timeout_ms: int = 50) -> SqliteStore:
    return SqliteStore(path, ids=SequenceIds("ledger"), busy_timeout_ms=busy_timeout_ms)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def written(path: Path) -> State:
    """A ledger with two records, closed; the state it has to have."""
    with closing(opened(path)) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"), sample("b"))
        return scribe.expected


def contents(directory: Path) -> dict[str, str]:
    return {
        found.name: hashlib.sha256(found.read_bytes()).hexdigest()
        for found in sorted(directory.iterdir())
    }


def in_a_child(script: str, path: Path) -> str:
    """What a child process prints that puts itself under a limit."""
    done = subprocess.run(  # noqa: S603 - our own interpreter and words
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def read_everything(path: Path) -> None:
    with closing(opened(path)) as store:
        list(store.changes())
        list(store.changes(record="a"))
        store.state()


# -- what is there is not ours --------------------------------------------------------------------


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_of_something_else_is_refused_and_left_as_it_was(
    tmp_path: Path, journal: str
) -> None:
    owner = apsw.Connection(str(tmp_path / "other.sqlite"))
    owner.pragma("journal_mode", journal)
    owner.execute("CREATE TABLE notes (body TEXT); INSERT INTO notes VALUES ('mine')")
    before = contents(tmp_path)
    before.pop("other.sqlite-shm", None)  # locks, no data
    with pytest.raises(StoreForeign, match="application id 0"):
        opened(tmp_path / "other.sqlite")
    after = contents(tmp_path)
    after.pop("other.sqlite-shm", None)
    assert after == before
    owner.close()


def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(path: Path) -> None:
    path.write_text("Dear diary,\n" * 1_000)
    before = contents(path.parent)
    with pytest.raises(StoreForeign, match="not a SQLite database"):
        opened(path)
    assert contents(path.parent) == before


def test_a_newer_schema_is_refused_and_left_as_it_was(path: Path, written: State) -> None:
    raw = apsw.Connection(str(path))
    raw.pragma("user_version", NEWEST + 1)
    raw.close()
    before = contents(path.parent)
    with pytest.raises(StoreNewer, match=f"has schema {NEWEST + 1}, this lapse knows {NEWEST}"):
        opened(path)
    assert contents(path.parent) == before
    assert written.head.seq == 4


@pytest.mark.parametrize("size", [0, 1])
def test_an_empty_file_becomes_a_ledger(path: Path, size: int) -> None:
    path.touch()
    if size:  # a database in which nothing was ever made
        raw = apsw.Connection(str(path))
        raw.execute("CREATE TABLE t (a); DROP TABLE t")
        raw.close()
    with closing(opened(path)) as store:
        assert store.head() == genesis("ledger-1")


def test_a_ledger_is_recognised_by_its_header(path: Path, written: State) -> None:
    header = path.read_bytes()[:100]
    assert header[68:72] == APPLICATION_ID.to_bytes(4) == b"laps"
    assert int.from_bytes(header[60:64]) == NEWEST == len(MIGRATIONS)
    assert written


# -- the place may not be used --------------------------------------------------------------------


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="check that its directory is there"):
        opened(tmp_path / "nowhere" / "ledger.sqlite")


def test_a_path_that_is_a_directory_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        opened(tmp_path)


READ_ONLY = """
import os, sys
from lapse.errors import StoreReadOnly
from lapse.storage.sqlite import SqliteStore
from lapse.testing import SequenceIds
if os.geteuid() == 0:  # root may write anything: become somebody who may not
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    SqliteStore(sys.argv[1], ids=SequenceIds())
except StoreReadOnly as refusal:
    print(refusal)
"""


@pytest.mark.parametrize("closed", ["file", "directory"])
def test_a_read_only_path_is_refused(
    tmp_path: Path, written: State, path: Path, closed: str
) -> None:
    for above in (tmp_path, *tmp_path.parents):
        if not above.stat().st_mode & stat.S_IXOTH:  # pytest's own folders: private by default
            above.chmod(above.stat().st_mode | stat.S_IXOTH)
    if closed == "file":
        tmp_path.chmod(0o777)
        path.chmod(0o444)
    else:
        path.chmod(0o666)
        tmp_path.chmod(0o555)
    try:
        said = in_a_child(READ_ONLY, path)
    finally:
        tmp_path.chmod(0o755)
        path.chmod(0o644)
    assert "may not be written" in said
    with closing(opened(path)) as store:
        assert store.state() == written


def test_a_file_that_became_read_only_refuses_the_append(path: Path, written: State) -> None:
    with closing(opened(path)) as store:
        scribe = Scribe(store)
        raw = store._connection
        assert raw is not None
        raw.execute("PRAGMA query_only = 1")
        with pytest.raises(StoreReadOnly):
            scribe.write(sample("c"))
        raw.execute("PRAGMA query_only = 0")
        assert store.state() == written


# -- no space -------------------------------------------------------------------------------------


def test_a_full_database_loses_nothing(path: Path, written: State) -> None:
    with closing(opened(path)) as store:
        scribe = Scribe(store)
        raw = store._connection
        assert raw is not None
        raw.pragma("max_page_count", raw.pragma("page_count") + 2)
        with pytest.raises(StoreFull, match="no space left"):
            scribe.write(*(sample(f"more-{number}") for number in range(1_000)))
        acknowledged = scribe.expected
        assert store.head() == acknowledged.head
        assert store.state() == acknowledged
        assert len(acknowledged) > len(written)
    with closing(opened(path)) as store:
        assert store.state() == acknowledged


FILL = """
import json, resource, signal, sys
from lapse.errors import StoreFull
from lapse.storage.sqlite import SqliteStore
from lapse.testing import Scribe, SequenceIds, sample
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
store = SqliteStore(sys.argv[1], ids=SequenceIds())
scribe = Scribe(store, ids=SequenceIds("more"))
try:
    for number in range(10_000):
        scribe.write(sample(f"more-{number}"))
except StoreFull as refusal:
    assert store.state() == scribe.expected
    print(json.dumps([scribe.expected.head.seq, scribe.expected.head.digest]))
"""


def test_a_disk_that_is_full_loses_nothing(path: Path, written: State) -> None:
    acknowledged = Head(*json.loads(in_a_child(FILL, path)))
    assert acknowledged.seq > written.head.seq
    with closing(opened(path)) as store:
        assert store.head() == acknowledged
        assert store.state().head == acknowledged


# -- locked, damaged, closed ----------------------------------------------------------------------


def test_a_lock_that_is_held_too_long_is_said(path: Path, written: State) -> None:
    with closing(opened(path)) as store, closing(opened(path, busy_timeout_ms=0)) as other:
        holder = store._connection
        assert holder is not None
        holder.execute("BEGIN IMMEDIATE")
        late = Scribe(other)
        with pytest.raises(StoreLocked, match="busy_timeout_ms"):
            late.write(sample("c"))
        assert other.state() == written  # readers are not held up
        holder.execute("ROLLBACK")
        late.write(sample("d"))
        assert store.state() == late.expected


def test_a_damaged_file_is_said(path: Path, written: State) -> None:
    with path.open("r+b") as file:
        file.seek(4_096)
        file.write(b"\xa5" * 20_000)
    with pytest.raises(StoreCorrupt, match="restore it from a backup"):
        read_everything(path)
    assert written


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE marks",
        "DELETE FROM ledger",
        "UPDATE records SET history = 'x,'",
        "UPDATE records SET history = ''",
        "UPDATE records SET status = 'fine'",
        "UPDATE marks SET source = '[]' WHERE source LIKE '%limits%'",
        "UPDATE changes SET parts = 'x'",
        "UPDATE changes SET parts = '[[1]]'",
        "UPDATE changes SET parts = '{}'",
        "UPDATE changes SET bodies = x'00'",
        "UPDATE changes SET kind = 'x'",
        "UPDATE changes SET source = 'x' WHERE source IS NOT NULL",
        "DELETE FROM changes WHERE kind = 'written'",
    ],
)
def test_rows_that_no_store_wrote_are_said(path: Path, written: State, damage: str) -> None:
    raw = apsw.Connection(str(path))
    raw.execute(damage)
    raw.close()
    with pytest.raises(StoreCorrupt):
        read_everything(path)
    assert written


@pytest.mark.parametrize("damage", ["UPDATE changes SET parts = 'x'", "DELETE FROM changes"])
def test_a_purge_that_cannot_reach_the_content_is_refused(
    path: Path, written: State, damage: str
) -> None:
    with closing(opened(path)) as store:
        scribe = Scribe(store)
        scribe.write(sample("c"), sample("d"))
        raw = store._connection
        assert raw is not None
        raw.execute(f"{damage} WHERE seq = 5")
        purge = scribe.sealed(scribe.purged("c"))
        with pytest.raises(StoreCorrupt):
            store.append(purge, after=scribe.expected.head)
        kept = raw.execute("SELECT status FROM records WHERE id = 'c'").fetchall()
        assert kept == [("active",)]
        assert store.head() == scribe.expected.head
    assert written


def test_a_store_does_not_cross_a_fork(path: Path) -> None:
    with closing(opened(path)) as store:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                store.head()
            except StoreClosed:
                os.write(writer, b"refused")
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reader, 100) == b"refused"
        os.close(reader)
        os.close(writer)
        assert store.head().seq == 0


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({"synchronous": "off"}, "synchronous"), ({"busy_timeout_ms": -1}, "busy_timeout_ms")],
)
def test_settings_are_checked(path: Path, arguments: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        SqliteStore(path, ids=SequenceIds(), **arguments)  # type: ignore[arg-type]  # on purpose
    assert refusal.value.field == field
    assert not path.exists()


# -- purge ----------------------------------------------------------------------------------------


def everywhere(path: Path) -> bytes:
    return b"".join(found.read_bytes() for found in sorted(path.parent.iterdir()))


def test_after_a_purge_no_byte_of_the_content_is_in_any_file(path: Path) -> None:
    with closing(opened(path)) as store, closing(opened(path)) as other:
        scribe = Scribe(store)
        scribe.write(*(sample(name) for name in "abcdefgh"))
        scribe.carry_out(scribe.judged(ChangeKind.SUSPENDED, "c", reason="because of SECRET"))
        wanted = [part for change in store.changes(record="c") for part in change.parts]
        other.state()  # another connection has the pages in its cache, and the log open
        assert b"payments/c" in everywhere(path)
        scribe.carry_out(scribe.purged("c"))
        assert not store.erasure_due
        found = everywhere(path)
        for part in wanted:
            assert part.body is not None
            assert part.body not in found
            assert part.salt.encode() + b"{" not in found
            assert part.digest.encode() in found
        assert b"payments/c" not in found
        assert b"payments/d" in found
        other.state()
    assert b"payments/c" not in everywhere(path)


def test_a_reader_of_an_older_state_puts_the_erasure_off_and_no_further(path: Path) -> None:
    with closing(opened(path)) as store:
        scribe = Scribe(store)
        scribe.write(sample("a"), sample("b"))
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM changes").fetchall()
        scribe.carry_out(scribe.purged("a"))
        assert store.erasure_due
        assert b"payments/a" in everywhere(path)
        reader.execute("COMMIT")
        reader.close()
        scribe.write(sample("c"))
        assert not store.erasure_due
        assert b"payments/a" not in everywhere(path)
        assert store.state() == scribe.expected


def test_opening_again_finishes_an_erasure_that_was_put_off(path: Path) -> None:
    store = opened(path)
    scribe = Scribe(store)
    scribe.write(sample("a"), sample("b"))
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM changes").fetchall()
    scribe.carry_out(scribe.purged("a"))
    store.close()
    reader.execute("COMMIT")
    assert b"payments/a" in everywhere(path)
    with closing(opened(path)) as again:
        assert not again.erasure_due
        assert b"payments/a" not in everywhere(path)
        assert again.state() == scribe.expected
    reader.close()


# -- the file itself ------------------------------------------------------------------------------


def test_code_left_in_the_file_does_not_run(path: Path, written: State) -> None:
    raw = apsw.Connection(str(path))
    raw.execute("CREATE TRIGGER evil AFTER INSERT ON changes BEGIN DELETE FROM records; END;")
    raw.close()
    with closing(opened(path)) as store:
        scribe = Scribe(store)
        scribe.write(sample("c"))
        assert store.state() == scribe.expected
    assert written


def test_settings_that_hold_the_promises(path: Path) -> None:
    with closing(opened(path)) as store:
        raw = store._connection
        assert raw is not None
        found = {
            name: raw.pragma(name)
            for name in ("journal_mode", "synchronous", "secure_delete", "temp_store", "mmap_size")
        }
        assert found == {
            "journal_mode": "wal",
            "synchronous": 2,
            "secure_delete": 1,
            "temp_store": 2,
            "mmap_size": 0,
        }


def test_the_head_is_known_without_a_query_while_nobody_writes(path: Path, written: State) -> None:
    with closing(opened(path)) as store, closing(opened(path)) as other:
        assert store.head() == written.head
        raw = store._connection
        assert raw is not None
        asked: list[str] = []
        raw.exec_trace = lambda _cursor, statement, _bindings: not asked.append(statement)
        assert store.head() == written.head
        assert asked == ["PRAGMA data_version"]
        scribe = Scribe(other)
        scribe.carry_out(scribe.moved(ChangeKind.OBSERVED, Source.rules("i"), "1"))
        assert store.head() == scribe.expected.head
