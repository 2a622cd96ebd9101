"""A real Mem0, in a folder and without a model: the adapter, and the guard around it."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# Mem0 carries no types.

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from mem0 import Memory

from lapse.admission import Ending
from lapse.errors import InvalidValue, StoreError
from lapse.ledger import Scope, Status
from lapse.stores import Legacy, Provenance, Sidecar, Standing, items_of
from lapse.stores.mem0 import GuardedMemory, Mem0Store, offline_memory
from lapse.testing import MEMORY_STORE_CASES
from lapse.testing.memory_store_cases import Place

DIMENSIONS = 64
ANA = {"user_id": "ana"}
TEA = Provenance(writer="Ana", authority="user", slot="ana/drink")


def vectors(texts: Sequence[str]) -> list[list[float]]:
    """Counts words by their checksum: equal texts are equal, similar ones are near."""
    found: list[list[float]] = []
    for text in texts:
        vector = [0.0] * DIMENSIONS
        for word in text.casefold().split():
            vector[zlib.crc32(word.encode()) % (DIMENSIONS - 1)] += 1.0
        vector[-1] = 0.01
        found.append(vector)
    return found


class Opened:
    """Opens one folder again and again, as one process after another would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory: Memory | None = None

    def __call__(self) -> Memory:
        self.close()
        self.memory = offline_memory(self.folder, vectors)
        return self.memory

    def close(self) -> None:
        if self.memory is not None:
            vector_store: Any = self.memory.vector_store
            vector_store.client.close()
            self.memory.close()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    place = Opened(tmp_path / "mem0")
    yield place
    place.close()


@pytest.fixture
def memory(opened: Opened) -> Memory:
    return opened()


@pytest.fixture
def guarded(memory: Memory, beside: Callable[[str], Sidecar]) -> GuardedMemory:
    return GuardedMemory(memory, beside("mem0"))


def added(guarded: GuardedMemory, text: str, **options: Any) -> str:
    kept: dict[str, Any] = {**ANA, "infer": False, **options}
    result = guarded.add(text, **kept)
    name: str = result["results"][0]["id"]
    return name


def texts(found: dict[str, Any]) -> list[str]:
    return [row["memory"] for row in found["results"]]


@pytest.mark.parametrize("case", MEMORY_STORE_CASES, ids=lambda case: case.__name__)
def test_the_adapter_keeps_the_promises_of_the_port(
    case: Callable[[Place], None], opened: Opened
) -> None:
    case(lambda: Mem0Store(opened(), ANA))


def test_owners_do_not_meet(memory: Memory) -> None:
    ana, bo = Mem0Store(memory, ANA), Mem0Store(memory, {"user_id": "bo", "run_id": "r"})
    tea, coffee = ana.add("tea"), bo.add("coffee")
    assert [one.text for one in ana.list()] == ["tea"]
    assert [one.text for one in bo.search("coffee", limit=5)] == ["coffee"]
    assert (ana.get(coffee.external_id), bo.get(tea.external_id)) == (None, None)
    assert Mem0Store(memory, {}).get(tea.external_id) == tea


@pytest.mark.parametrize("owner", [{"user": "ana"}, {"user_id": " "}])
def test_an_owner_is_named_as_mem0_names_it(memory: Memory, owner: dict[str, str]) -> None:
    with pytest.raises(InvalidValue, match="owner"):
        Mem0Store(memory, owner)


def test_nothing_is_added_for_nobody(memory: Memory) -> None:
    with pytest.raises(InvalidValue, match="user_id"):
        Mem0Store(memory, {}).add("tea")


def test_a_mark_hides_it_in_mem0_and_gives_back_its_date(memory: Memory) -> None:
    store = Mem0Store(memory, ANA)
    memory.add("tea", user_id="ana", infer=False, expiration_date="2999-12-31")
    (tea,) = store.list()
    assert tea.valid_until == 32_503_680_000_000_000  # the first instant of the year 3000
    store.invalidate(tea.external_id, reason="over", by="Ana")
    assert memory.search("tea", filters=ANA)["results"] == []
    (marked,) = store.list()
    assert (marked.valid_until, marked.metadata) == (tea.valid_until, {})
    store.restore(tea.external_id)
    row: Any = memory.get(tea.external_id)
    assert row["expiration_date"] == "2999-12-31"
    assert texts(memory.search("tea", filters=ANA)) == ["tea"]


def test_what_expired_in_mem0_is_served_by_nobody(guarded: GuardedMemory) -> None:
    name = added(guarded, "tea", expiration_date="2020-01-01")
    assert texts(guarded.get_all(filters=ANA)) == []
    row: Any = guarded.inner.get(name)
    assert row["memory"] == "tea"


def test_sources_and_metadata_come_back(memory: Memory) -> None:
    store = Mem0Store(memory, ANA)
    one = store.add("tea", metadata={"source_ids": ["chat-1", 3], "mood": {"calm": [1, 2]}})
    assert one.source_ids == ("chat-1",)
    assert one.metadata["mood"] == {"calm": [1, 2]}
    merged = store.update(one.external_id, "tea", metadata={"mood": None})
    assert merged.metadata == {"source_ids": ["chat-1", 3]}
    with pytest.raises(InvalidValue, match="_lapse"):
        store.add("tea", metadata={"_lapse": 1})


def test_what_is_gone_is_imported_under_a_new_name(memory: Memory) -> None:
    store = Mem0Store(memory, ANA)
    tea = store.add("tea", metadata={"mood": "calm"})
    store.invalidate(tea.external_id, reason="over", by="Ana")
    exported = store.export()
    memory.delete(tea.external_id)
    (back,) = store.import_(exported)
    assert back.external_id != tea.external_id
    assert (back.text, back.metadata) == ("tea", {"mood": "calm"})
    assert memory.search("tea", filters=ANA)["results"] == []  # the mark came along
    with pytest.raises(InvalidValue, match="exported"):
        store.import_([{"id": 3}])


def test_a_failure_of_mem0_is_a_store_error_with_its_words(memory: Memory) -> None:
    store = Mem0Store(memory, ANA)

    def fail(texts: Sequence[str]) -> Any:
        raise RuntimeError(f"no vector for {texts[0]}")

    memory.embedding_model = offline_embedder(fail)
    with pytest.raises(StoreError, match="RuntimeError: no vector for tea"):
        store.add("tea")


def offline_embedder(embed: Callable[[Sequence[str]], Any]) -> Any:
    class Embedder:
        def embed(self, text: str, memory_action: object = None) -> Any:
            del memory_action
            return embed([text])

    return Embedder()


@pytest.mark.slow  # another process, because Mem0 reads its environment only when it is imported
def test_a_memory_that_would_phone_home_is_refused(tmp_path: Path) -> None:
    program = (
        "from lapse.stores.mem0 import offline_memory\n"
        f"offline_memory({str(tmp_path / 'mem0')!r}, lambda texts: [[1.0]] * len(texts))"
    )
    told = subprocess.run(  # noqa: S603 - this very interpreter
        [sys.executable, "-P", "-c", program],
        env={"MEM0_DIR": str(tmp_path), "MEM0_TELEMETRY": "True", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 1
    assert "MEM0_TELEMETRY" in told.stderr.splitlines()[-1]


# -- the guard -----------------------------------------------------------------------------------


def test_a_later_memory_of_a_slot_takes_the_place_of_the_earlier(guarded: GuardedMemory) -> None:
    tea = added(guarded, "Ana drinks tea", said=TEA)
    added(guarded, "Ana drinks coffee", said=TEA)
    query = "what does Ana drink"
    assert set(texts(guarded.inner.search(query, filters=ANA))) == {
        "Ana drinks tea",
        "Ana drinks coffee",
    }
    assert texts(guarded.search(query, filters=ANA)) == ["Ana drinks coffee"]
    assert texts(guarded.get_all(filters=ANA)) == ["Ana drinks coffee"]
    assert guarded.get(tea) is None
    left = guarded.standing(tea)
    assert left is not None
    assert left.standing is Standing.SUPERSEDED


def test_a_page_is_filled_from_beyond_what_lapsed(guarded: GuardedMemory) -> None:
    names = [added(guarded, f"note {number}") for number in range(12)]
    for name in names[:9]:
        guarded.invalidate(name, by="Ana")
    found = guarded.search("note", filters=ANA, top_k=3, threshold=0.0)
    assert sorted(texts(found)) == ["note 10", "note 11", "note 9"]
    assert len(guarded.get_all(filters=ANA, top_k=2)["results"]) == 2
    narrow = GuardedMemory(guarded.inner, guarded.sidecar, most_fetched=0)
    assert len(narrow.get_all(filters=ANA, top_k=3)["results"]) <= 3


def test_an_update_supersedes_and_keeps_what_was_said(guarded: GuardedMemory) -> None:
    name = added(guarded, "Ana lives in Lyon")
    guarded.update(name, "Ana lives in Nice")
    row = guarded.get(name)
    assert row is not None
    assert row["memory"] == "Ana lives in Nice"
    assert [(r.content["text"], r.status) for r in guarded.records(name)] == [
        ("Ana lives in Lyon", Status.SUPERSEDED),
        ("Ana lives in Nice", Status.ACTIVE),
    ]
    assert [one["event"] for one in guarded.history(name)] == ["ADD", "UPDATE"]


def test_what_changed_past_the_guard_is_not_served_until_attested(guarded: GuardedMemory) -> None:
    name = added(guarded, "rent is 900")
    guarded.inner.update(name, text="rent is 1900")
    assert guarded.get(name) is None
    assert texts(guarded.search("rent", filters=ANA)) == []
    guarded.attest(name)
    assert texts(guarded.search("rent", filters=ANA)) == ["rent is 1900"]


def test_what_was_there_before_is_legacy_until_it_is_adopted(
    memory: Memory, beside: Callable[[str], Sidecar]
) -> None:
    memory.add("an old note", user_id="ana", infer=False)
    guarded = GuardedMemory(memory, beside("mem0"))
    assert texts(guarded.get_all(filters=ANA)) == []
    lenient = GuardedMemory(memory, guarded.sidecar, legacy=Legacy.ADMIT)
    (row,) = lenient.get_all(filters=ANA)["results"]
    assert (row["memory"], row["_lapse_standing"]) == ("an old note", "legacy")
    assert len(guarded.memories(**ANA).adopt()) == 1
    assert texts(guarded.get_all(filters=ANA)) == ["an old note"]


def test_a_deleted_memory_is_closed_and_kept(guarded: GuardedMemory) -> None:
    seen, unseen = added(guarded, "seen"), guarded.inner.add("unseen", user_id="ana", infer=False)
    guarded.delete(seen)
    guarded.delete_all(**ANA)
    other = unseen["results"][0]["id"]
    assert texts(guarded.get_all(filters=ANA)) == []
    assert {row["memory"] for row in guarded.inner.get_all(filters=ANA)["results"]} == {
        "seen",
        "unseen",
    }
    for name in (seen, other):
        left = guarded.standing(name)
        assert left is not None
        assert left.standing is Standing.CLOSED
    guarded.restore(seen, by="Ana")
    assert texts(guarded.get_all(filters=ANA)) == ["seen"]


def test_a_guard_that_deletes_keeps_the_ledger(guarded: GuardedMemory) -> None:
    deleting = GuardedMemory(guarded.inner, guarded.sidecar, deletes=True)
    name = added(deleting, "for a day")
    deleting.delete(name)
    assert guarded.inner.get(name) is None
    assert [r.content["text"] for r in guarded.records(name)] == ["for a day"]
    with pytest.raises(InvalidValue, match="memory_id"):
        deleting.delete(name)


def test_what_was_made_from_a_lapsed_memory_is_held(guarded: GuardedMemory) -> None:
    town = added(guarded, "Ana lives in Lyon")
    tram = added(guarded, "Ana takes line T3", said=Provenance(rests_on=(town,)))
    guarded.invalidate(town, by="Ana", ending=Ending.CLOSED)
    assert guarded.get(tram) is None
    with pytest.raises(InvalidValue, match="rests_on"):
        added(guarded, "Ana likes T3", said=Provenance(rests_on=(tram,)))
    assert len(guarded.inner.get_all(filters=ANA)["results"]) == 2  # Mem0 was not asked


def test_a_memory_for_one_principal_is_served_to_that_one(guarded: GuardedMemory) -> None:
    private = guarded.saying(Provenance(scope=Scope(principal="ana")))
    name = added(private, "dear diary")
    assert private.get(name) is None
    asked = guarded.saying(who=Scope(principal="ana"))
    assert texts(asked.get_all(filters=ANA)) == ["dear diary"]


def test_memories_are_candidates_for_a_return(guarded: GuardedMemory) -> None:
    added(guarded, "Ana drinks tea", said=TEA)
    added(guarded, "Ana drinks coffee", said=TEA)
    items = items_of(guarded.memories(**ANA))
    assert {item.text: item.status for item in items} == {
        "Ana drinks tea": Status.SUPERSEDED,
        "Ana drinks coffee": Status.ACTIVE,
    }
    with pytest.raises(InvalidValue, match="owner"):
        guarded.memories()


@pytest.mark.parametrize("limit", [-1])
def test_a_limit_is_a_number_of_memories(guarded: GuardedMemory, limit: int) -> None:
    with pytest.raises(InvalidValue, match="top_k"):
        guarded.get_all(filters=ANA, top_k=limit)
    with pytest.raises(InvalidValue, match="most_fetched"):
        GuardedMemory(guarded.inner, guarded.sidecar, most_fetched=limit)
