"""LangGraph's PostgreSQL store, for real: it keeps JSON in a way of its own."""

# pyright: reportMissingTypeStubs=false
# LangGraph's PostgreSQL store is one package with others that carry no types.

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from langgraph.store.base import BaseStore
from langgraph.store.postgres import PostgresStore
from psycopg.rows import DictRow, dict_row

from lapse.stores import Sidecar
from lapse.stores.langgraph import GuardedStore, LangGraphStore
from lapse.testing import MEMORY_STORE_CASES, ManualClock, SequenceIds
from lapse.testing.memory_store_cases import Place

pytestmark = pytest.mark.postgres

ANA = ("users", "ana")


@pytest.fixture
def lang_postgres(postgres_url: str, postgres_schema: str) -> Iterator[Callable[[], PostgresStore]]:
    """LangGraph's store in a schema of its own; each call is a store over the same connection."""
    connection = psycopg.Connection[DictRow].connect(
        postgres_url, autocommit=True, prepare_threshold=0, row_factory=dict_row
    )
    with closing(connection):
        connection.execute(f'CREATE SCHEMA "{postgres_schema}"'.encode())
        connection.execute(f'SET search_path TO "{postgres_schema}"'.encode())
        PostgresStore(connection).setup()
        yield lambda: PostgresStore(connection)


@pytest.mark.parametrize("case", MEMORY_STORE_CASES, ids=lambda case: case.__name__)
def test_the_adapter(
    case: Callable[[Place], None], lang_postgres: Callable[[], PostgresStore]
) -> None:
    keys = SequenceIds("k")
    case(lambda: LangGraphStore(lang_postgres(), ("memories", "ana"), ids=keys))


VALUES: list[dict[str, Any]] = [
    {"text": "naïve — „ü“ 🌊", "a": None, "b": [True, False]},
    {"n": 1.0, "m": 1, "z": -0.0, "half": 0.5, "third": 1 / 3},
    {"big": 1e16, "bigger": 1e22, "tiny": 1e-7, "whole": 2**53},
    {"beyond": 2**60 + 1},
    {"": "empty name", "B": 1, "a": {"z": 1, "y": [[], {}]}},
    {"text": 'line\nand\ttab \\ " quote'},
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
@pytest.mark.parametrize("make", ["memory", "sqlite", "postgres"])
def test_no_value_drifts_by_being_stored(
    value: dict[str, Any],
    make: str,
    request: pytest.FixtureRequest,
    beside: Callable[[str], Sidecar],
) -> None:
    fixture = {"memory": "lang_in_memory", "sqlite": "lang_sqlite", "postgres": "lang_postgres"}
    inner: BaseStore = request.getfixturevalue(fixture[make])()
    store = GuardedStore(inner, beside("langgraph"))
    store.put(ANA, "key", value)
    item = store.get(ANA, "key")
    assert item is not None
    assert item.value == value


def test_the_instant_of_the_first_write_is_the_ledgers(
    lang_postgres: Callable[[], PostgresStore], beside: Callable[[str], Sidecar], clock: ManualClock
) -> None:
    store = GuardedStore(lang_postgres(), beside("langgraph"))
    clock.jump(1_700_000_000_000_000)
    store.put(ANA, "town", {"text": "Lyon"})
    clock.advance(seconds=5)
    store.put(ANA, "town", {"text": "Nice"})
    item = store.get(ANA, "town")
    assert item is not None
    assert item.created_at.timestamp() == 1_700_000_000
    assert [found.key for found in store.search(("users",), filter={"text": "Nice"})] == ["town"]
