"""Every adapter of this package keeps the promises of the port."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from langgraph.store.base import BaseStore

from lapse.storage import InMemoryStore
from lapse.stores import Capabilities, OwnStore
from lapse.stores.langgraph import LangGraphStore
from lapse.testing import MEMORY_STORE_CASES, ManualClock, Notebook, SequenceIds
from lapse.testing.memory_store_cases import Place

Case = Callable[[Place], None]

each = pytest.mark.parametrize("case", MEMORY_STORE_CASES, ids=lambda case: case.__name__)


@each
def test_a_notebook(case: Case) -> None:
    book = Notebook()
    case(lambda: book)


@each
def test_a_store_that_can_do_nothing_more_than_it_must(case: Case) -> None:
    book = Notebook(capabilities=Capabilities())
    case(lambda: book)


@each
def test_a_store_without_revisions_and_marks(case: Case) -> None:
    can = replace(Notebook().capabilities, versions=False, soft_invalidate=False)
    book = Notebook(capabilities=can)
    case(lambda: book)


@each
def test_our_own_ledger(case: Case) -> None:
    ledger = InMemoryStore(ids=SequenceIds("ledger"))
    names = SequenceIds("own")

    def place() -> OwnStore:
        return OwnStore(ledger.again(), clock=ManualClock(5), ids=names)

    case(place)


@each
@pytest.mark.parametrize("fields", [(), ("text",), ("text", "more")], ids=["", "text", "two"])
def test_langgraph_in_memory(
    case: Case, fields: tuple[str, ...], lang_in_memory: Callable[..., BaseStore]
) -> None:
    inner, keys = lang_in_memory(*fields), SequenceIds("k")
    case(lambda: LangGraphStore(inner, ("memories", "ana"), ids=keys))


@each
def test_langgraph_sqlite(case: Case, lang_sqlite: Callable[[], BaseStore]) -> None:
    keys = SequenceIds("k")
    case(lambda: LangGraphStore(lang_sqlite(), ("memories", "ana"), ids=keys))
