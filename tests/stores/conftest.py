"""Places and guards that the tests of this folder share."""

# pyright: reportMissingTypeStubs=false
# LangGraph's SQLite store is one package with others that carry no types.

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from langgraph.store.base import IndexConfig
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from lapse.storage import InMemoryStore as Ledger
from lapse.stores import Sidecar
from lapse.testing import ManualClock, SequenceIds

DIMENSIONS = 64

Beside = Callable[[str], Sidecar]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000)


@pytest.fixture
def beside(clock: ManualClock) -> Beside:
    """Makes sidecars of one ledger, as several processes would hold it."""
    ids = SequenceIds("r")
    ledger = Ledger(ids=ids)

    def made(store: str) -> Sidecar:
        return Sidecar(ledger.again(), store, clock=clock, ids=ids)

    return made


@pytest.fixture
def lang_in_memory() -> Callable[..., InMemoryStore]:
    """LangGraph's store in memory; with fields, it finds texts by their words."""

    def made(*fields: str) -> InMemoryStore:
        index = IndexConfig(dims=DIMENSIONS, embed=_embedded, fields=list(fields))
        return InMemoryStore(index=index if fields else None)

    return made


@pytest.fixture
def lang_sqlite(tmp_path: Path) -> Iterator[Callable[[], SqliteStore]]:
    """LangGraph's store in a file: each call opens the same one.

    Its vectors need an SQLite that loads extensions, which not every Python has; so it has none.
    """
    with ExitStack() as stack:

        def made() -> SqliteStore:
            path = tmp_path / "store.sqlite"
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            store = SqliteStore(
                stack.enter_context(closing(connection)), ttl={"refresh_on_read": True}
            )
            store.setup()
            return store

        yield made


def _embedded(texts: Sequence[str]) -> list[list[float]]:
    """Counts words by their checksum: equal texts are equal, similar ones are near."""
    vectors: list[list[float]] = []
    for text in texts:
        vector = [0.0] * DIMENSIONS
        for word in text.casefold().split():
            vector[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
        vector[-1] += 0.01
        vectors.append(vector)
    return vectors
