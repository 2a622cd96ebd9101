"""Every adapter of this package keeps the promises of the port."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from langgraph.store.base import BaseStore

from lapse.storage import InMemoryStore
from lapse.stores import Capabilities, OwnStore
from lapse.stores.langgraph import LangGraphStore
from lapse.stores.markdown import MarkdownStore
from lapse.testing import MEMORY_STORE_CASES, ManualClock, Notebook, SequenceIds
from lapse.testing.memory_store_cases import Place

Case = Callable[[Place], None]

START = {
    "absent": b"",
    "front matter": b"---\ntitle: notes\n---\n",
    "windows": b"\xef\xbb\xbf# Notes\r\n\r\n## Empty\r\n",
    "no last line end": b"# Notes",
}
"""Files that hold no memory yet."""

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


@each
@pytest.mark.parametrize("start", START, ids=list(START))
def test_a_markdown_file(case: Case, start: str, tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    if START[start]:
        path.write_bytes(START[start])
    case(lambda: MarkdownStore(path))
