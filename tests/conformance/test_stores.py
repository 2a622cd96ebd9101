"""Our own stores keep every promise of the port."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lapse.ledger import Store
from lapse.storage import FileAnchor, InMemoryStore, TrustedStore
from lapse.storage.postgres import PostgresStore
from lapse.storage.sqlite import SqliteStore
from lapse.testing import STORE_CASES, ManualClock, SequenceIds

Case = Callable[[Callable[[], Store]], None]

every_case = pytest.mark.parametrize("case", STORE_CASES, ids=lambda case: case.__name__)


@every_case
def test_in_memory(case: Case) -> None:
    store = InMemoryStore(ids=SequenceIds())
    case(store.again)


@every_case
def test_sqlite(case: Case, tmp_path: Path) -> None:
    case(lambda: SqliteStore(tmp_path / "ledger.sqlite", ids=SequenceIds()))


@every_case
def test_sqlite_that_syncs_less(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    case(lambda: SqliteStore(path, ids=SequenceIds(), synchronous="normal"))


@pytest.mark.postgres
@every_case
def test_postgres(case: Case, postgres_url: str, postgres_schema: str) -> None:
    case(lambda: PostgresStore(postgres_url, ids=SequenceIds(), schema=postgres_schema))


@every_case
def test_anchored_memory(case: Case, tmp_path: Path) -> None:
    store = InMemoryStore(ids=SequenceIds())
    anchor = FileAnchor(tmp_path / "anchor")
    case(lambda: TrustedStore(store.again(), anchor, clock=ManualClock()))


@every_case
def test_anchored_sqlite(case: Case, tmp_path: Path) -> None:
    def place() -> Store:
        store = SqliteStore(tmp_path / "ledger.sqlite", ids=SequenceIds())
        return TrustedStore(store, FileAnchor(tmp_path / "anchor"), clock=ManualClock())

    case(place)


def test_opening_gives_a_new_ledger_the_id_it_asked_for(tmp_path: Path) -> None:
    ids = SequenceIds("ledger")
    with closing(SqliteStore(tmp_path / "a", ids=ids)) as first:
        assert first.ledger == "ledger-1"
    with closing(SqliteStore(tmp_path / "a", ids=ids)) as again:
        assert again.ledger == "ledger-1"
    assert ids.new() == "ledger-2"
