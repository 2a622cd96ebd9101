"""Many processes on one ledger, some of them dying: every acknowledged change is there once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from lapse.ledger import Intact, Store, examine
from lapse.storage.postgres import PostgresStore
from lapse.storage.sqlite import SqliteStore
from lapse.testing import SequenceIds

CHILD = Path(__file__).with_name("writer.py")

Pair = tuple[int, str]


def started(target: str, name: str, count: int) -> subprocess.Popen[str]:
    """A process that appends as one of many; for ever when the count is 0."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter and words
        [sys.executable, str(CHILD), target, "append", name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )


def acknowledged(line: str) -> Pair:
    what, ((seq, digest),) = json.loads(line)
    assert what == "acknowledged"
    return seq, digest


def heard(process: subprocess.Popen[str], lines: int) -> list[Pair]:
    """The next lines of a process; waits for them."""
    assert process.stdout is not None
    return [acknowledged(process.stdout.readline()) for _ in range(lines)]


def last_words(process: subprocess.Popen[str]) -> list[Pair]:
    """What a process said before it ended; half a line was never said."""
    said, _ = process.communicate()
    return [acknowledged(line) for line in said.splitlines(keepends=True) if line.endswith("\n")]


def check(store: Store, told: list[Pair], unheard: int) -> None:
    """The chain is what was acknowledged, once each, and at most what was under way at a kill."""
    changes = list(store.changes())
    chain = [(change.seq, change.digest) for change in changes]
    assert len(set(told)) == len(told)
    assert set(told) <= set(chain)
    assert len(chain) - len(told) <= unheard
    assert isinstance(examine(store.ledger, changes, kept=store.state()), Intact)


def many_write(target: str, *, processes: int, each: int) -> list[Pair]:
    """Every acknowledgement of some processes that write at the same time."""
    running = [started(target, f"writer-{number}", each) for number in range(processes)]
    told = [pair for process in running for pair in last_words(process)]
    assert [process.returncode for process in running] == [0] * processes
    assert len(told) == processes * each
    return told


def some_die(target: str, *, seed: int, kills: int) -> list[Pair]:
    """Every acknowledgement of three writers, of which one after another is killed and replaced."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    running = [started(target, f"writer-{number}", 0) for number in range(3)]
    told: list[Pair] = []
    for kill in range(kills):
        victim = chance.randrange(3)
        told += heard(running[victim], chance.randrange(1, 12))
        running[victim].kill()
        told += last_words(running[victim])
        running[victim] = started(target, f"heir-{kill}", 0)
    for process in running:
        told += heard(process, 1)
        process.kill()
        told += last_words(process)
    return told


def test_processes_share_a_sqlite_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    told = many_write(str(path), processes=4, each=40)
    with closing(SqliteStore(path, ids=SequenceIds())) as store:
        check(store, told, unheard=0)


@pytest.mark.postgres
def test_processes_share_a_postgres_schema(postgres_url: str) -> None:
    told = many_write(f"{postgres_url} shared", processes=4, each=40)
    with closing(PostgresStore(postgres_url, ids=SequenceIds(), schema="shared")) as store:
        check(store, told, unheard=0)


def test_writers_of_a_sqlite_file_may_die(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    told = some_die(str(path), seed=1, kills=6)
    with closing(SqliteStore(path, ids=SequenceIds())) as store:
        check(store, told, unheard=9)


@pytest.mark.postgres
def test_writers_of_a_postgres_schema_may_die(postgres_url: str) -> None:
    told = some_die(f"{postgres_url} dying", seed=2, kills=4)
    with closing(PostgresStore(postgres_url, ids=SequenceIds(), schema="dying")) as store:
        check(store, told, unheard=7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_many_writers_of_a_sqlite_file_may_die(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "ledger.sqlite"
    told = some_die(str(path), seed=seed, kills=60)
    with closing(SqliteStore(path, ids=SequenceIds())) as store:
        check(store, told, unheard=63)
