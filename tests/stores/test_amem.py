"""A-MEM's notes: the adapter over the surface of its memory system.

The authors' package cannot be installed from an index, and needs a model and weights to run, so
`System` stands for it here: its notes, their fields, what it keeps and what it forgets, and a model
that rewrites the tags of neighbours, are written after the public source.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from lapse.errors import InvalidValue, StoreError
from lapse.stores import Provenance, Sidecar, Standing
from lapse.stores.amem import AMemStore
from lapse.stores.guarded import Guarded
from lapse.stores.matching import likeness, words
from lapse.testing import MEMORY_STORE_CASES
from lapse.testing.memory_store_cases import Place


class Note:
    def __init__(self, content: str, id: str | None = None, **fields: Any) -> None:  # noqa: A002
        self.content = content
        self.id = id or str(uuid.uuid5(uuid.NAMESPACE_OID, content))
        self.keywords: list[str] = fields.get("keywords") or []
        self.links: list[Any] = list(fields.get("links") or [])
        self.context: str = fields.get("context") or "General"
        self.category: str = fields.get("category") or "Uncategorized"
        self.tags: list[str] = fields.get("tags") or []
        self.timestamp: str = fields.get("timestamp") or "202501060900"
        self.last_accessed: str = fields.get("last_accessed") or "202501060900"
        self.retrieval_count: int = fields.get("retrieval_count") or 0
        self.evolution_history: list[Any] = fields.get("evolution_history") or []


class System:
    """Keeps notes in a dictionary; each new one makes its nearest neighbour evolve."""

    def __init__(self) -> None:
        self.memories: dict[str, Note] = {}
        self.reads = 0

    def add_note(self, content: str, time: str | None = None, **fields: Any) -> str:
        if time is not None:
            fields["timestamp"] = time
        note = Note(content, **fields)
        note.links = [one for one in note.links if str(one) in self.memories]
        for near in self._nearest(content, 1):
            near.tags = [*near.tags, "evolved"]
            near.context = f"{near.context}, beside {content[:10]}"
        self.memories[note.id] = note
        return note.id

    def read(self, memory_id: str) -> Note | None:
        self.reads += 1
        return self.memories.get(memory_id)

    def update(self, memory_id: str, **fields: Any) -> bool:
        note = self.memories.get(memory_id)
        if note is None:
            return False
        for name, value in fields.items():
            if hasattr(note, name):
                setattr(note, name, value)
        return True

    def search(self, query: str, k: int = 5) -> list[dict[str, Any]]:
        return [
            {"id": note.id, "content": note.content, "score": 1 - self._near(query, note)}
            for note in self._nearest(query, k)
        ]

    def _near(self, query: str, note: Note) -> float:
        return likeness(words(query), words(note.content))

    def _nearest(self, query: str, k: int) -> list[Note]:
        ranked = sorted(
            self.memories.values(), key=lambda note: (-self._near(query, note), note.id)
        )
        return ranked[:k]


@pytest.mark.parametrize("case", MEMORY_STORE_CASES, ids=lambda case: case.__name__)
def test_the_adapter_keeps_the_promises_of_the_port(case: Callable[[Place], None]) -> None:
    system = System()
    case(lambda: AMemStore(system))


def test_what_a_neighbour_changes_is_no_drift(beside: Callable[[str], Sidecar]) -> None:
    guarded = Guarded(AMemStore(System()), beside("a-mem"))
    tea = guarded.add("Ana drinks tea", metadata={"tags": ["drink"]}).memory
    guarded.add("Ana drinks tea and coffee")
    served = guarded.get(tea.external_id)
    assert served is not None
    assert served.memory.metadata["tags"] == ["drink", "evolved"]


def test_another_content_is_drift(beside: Callable[[str], Sidecar]) -> None:
    system = System()
    guarded = Guarded(AMemStore(system), beside("a-mem"))
    rent = guarded.add("rent is 900").memory
    system.update(rent.external_id, content="rent is 1900")
    left = guarded.standing(rent.external_id)
    assert left is not None
    assert left.standing is Standing.DRIFT


def test_what_it_forgot_is_put_back_and_served_again(beside: Callable[[str], Sidecar]) -> None:
    before, sidecar = System(), beside("a-mem")
    guarded = Guarded(AMemStore(before), sidecar, write_back=True)
    one = guarded.add("Ana lives in Lyon", Provenance(writer="Ana")).memory
    two = guarded.add("Ana takes line T3", metadata={"links": [one.external_id]}).memory
    guarded.invalidate(one.external_id, by="Ana", reason="moved")
    exported = AMemStore(before).export()
    restarted = System()
    AMemStore(restarted).import_(list(reversed(exported)))
    assert AMemStore(restarted).export() == list(reversed(exported))
    again = Guarded(AMemStore(restarted), sidecar, write_back=True)
    assert [served.memory.text for served in again.list()] == [two.text]
    again.restore(one.external_id, by="Ana")
    assert len(list(again.list())) == 2
    assert restarted.memories[one.external_id].tags == ["evolved"]


def test_reading_is_not_counted_as_use() -> None:
    system = System()
    store = AMemStore(system)
    note = store.add("tea")
    store.get(note.external_id)
    list(store.list())
    assert (system.reads, system.memories[note.external_id].retrieval_count) == (0, 0)


@pytest.mark.parametrize(
    ("exported", "field"),
    [({"id": 3}, "exported"), ({"id": "a", "content": "b"}, "keywords")],
)
def test_only_what_was_exported_is_imported(exported: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidValue, match=field):
        AMemStore(System()).import_([exported])


def test_a_note_has_no_other_fields() -> None:
    with pytest.raises(InvalidValue, match="mood"):
        AMemStore(System()).add("tea", metadata={"mood": "calm"})


def test_a_time_that_is_none_is_no_time() -> None:
    system = System()
    system.add_note("tea", time="yesterday")
    (tea,) = AMemStore(system).list()
    assert tea.created_at is None


class Forgetful(System):
    def update(self, memory_id: str, **fields: Any) -> bool:
        return not (memory_id or fields)


def test_a_note_that_vanished_meanwhile_is_a_store_error() -> None:
    store = AMemStore(Forgetful())
    note = store.add("tea")
    with pytest.raises(StoreError, match="any more"):
        store.update(note.external_id, "coffee")
