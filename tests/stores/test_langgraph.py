"""The guard over LangGraph's stores: everything a BaseStore does, without what lapsed."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# LangGraph's graphs and its SQLite store carry no complete types.

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypedDict, cast

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from lapse.admission import Ending
from lapse.errors import InvalidValue, StoreUnavailable
from lapse.ledger import EVERYWHERE, Interval, Scope, Status, Store
from lapse.storage import InMemoryStore as Ledger
from lapse.stores import LeftOut, Legacy, Provenance, Served, Sidecar, Standing, items_of
from lapse.stores.langgraph import GuardedStore, Manner, memory_name
from lapse.testing import ManualClock, SequenceIds

ANA, BO = ("users", "ana"), ("users", "bo")
Beside = Callable[[str], Sidecar]


@pytest.fixture(params=["in memory", "sqlite"])
def inner(
    request: pytest.FixtureRequest,
    lang_in_memory: Callable[..., InMemoryStore],
    lang_sqlite: Callable[[], SqliteStore],
) -> BaseStore:
    return lang_in_memory() if request.param == "in memory" else lang_sqlite()


@pytest.fixture
def store(inner: BaseStore, beside: Beside) -> GuardedStore:
    return GuardedStore(inner, beside("langgraph"))


def keys(items: list[Any]) -> list[str]:
    return sorted(item.key for item in items)


def value(item: Item | None) -> dict[str, Any] | None:
    return None if item is None else item.value


# -- what lapsed is left out ---------------------------------------------------------------------


def test_an_item_that_ended_is_left_out_of_get_and_search(store: GuardedStore) -> None:
    store.put(ANA, "drink", {"text": "green tea"})
    store.put(ANA, "town", {"text": "Lyon"})
    store.invalidate(ANA, "drink", by="ana", reason="she stopped", ending=Ending.CLOSED)
    assert store.get(ANA, "drink") is None
    assert keys(store.search(ANA)) == ["town"]
    assert value(store.inner.get(ANA, "drink")) == {"text": "green tea"}
    store.restore(ANA, "drink", by="ana")
    assert value(store.get(ANA, "drink")) == {"text": "green tea"}


def test_putting_over_a_key_supersedes_and_keeps_the_loser(store: GuardedStore) -> None:
    store.put(ANA, "town", {"text": "Lyon", "since": 2019})
    store.put(ANA, "town", {"text": "Nice", "since": 2024})
    assert value(store.get(ANA, "town")) == {"text": "Nice", "since": 2024}
    lost, won = store.history(ANA, "town")
    assert (lost.status, lost.content["metadata"]) == (
        Status.SUPERSEDED,
        {"text": "Lyon", "since": 2019},
    )
    assert (won.status, won.content["replaces"]) == (Status.ACTIVE, [lost.id])


def test_the_loser_that_was_there_before_us_is_kept(inner: BaseStore, beside: Beside) -> None:
    inner.put(ANA, "town", {"text": "Lyon", "since": 2019})
    store = GuardedStore(inner, beside("langgraph"))
    store.put(ANA, "town", {"text": "Lyon", "since": 2024})
    values = [
        (r.content["metadata"]["since"], r.content["writer"]) for r in store.history(ANA, "town")
    ]
    assert values == [(2019, "unknown"), (2024, "agent")]


def test_created_at_survives_an_overwrite(store: GuardedStore, clock: ManualClock) -> None:
    clock.jump(1_700_000_000_000_000)
    store.put(ANA, "town", {"text": "Lyon"})
    clock.advance(seconds=86_400)
    store.put(ANA, "town", {"text": "Nice"})
    item = store.get(ANA, "town")
    assert item is not None
    assert item.created_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert [found.created_at for found in store.search(ANA)] == [item.created_at]


def test_any_field_that_changes_outside_is_drift(store: GuardedStore) -> None:
    store.put(ANA, "town", {"text": "Lyon", "since": 2019})
    store.inner.put(ANA, "town", {"text": "Lyon", "since": 2018})
    assert (store.get(ANA, "town"), store.search(ANA)) == (None, [])
    found = store.standing(ANA, "town")
    assert isinstance(found, LeftOut)
    assert found.standing is Standing.DRIFT
    store.attest(ANA, "town")
    assert value(store.get(ANA, "town")) == {"text": "Lyon", "since": 2018}


def test_what_was_there_before_us_waits_or_is_marked(inner: BaseStore, beside: Beside) -> None:
    inner.put(ANA, "town", {"text": "Lyon"})
    strict = GuardedStore(inner, beside("langgraph"))
    assert (strict.get(ANA, "town"), strict.list_namespaces()) == (None, [])
    lenient = GuardedStore(inner, beside("langgraph"), manner=Manner(legacy=Legacy.ADMIT))
    marked = {"text": "Lyon", "_lapse": {"standing": "legacy"}}
    assert value(lenient.get(ANA, "town")) == marked
    assert [found.value for found in lenient.search(ANA)] == [marked]
    assert lenient.list_namespaces() == [ANA]
    lenient.delete(ANA, "town")
    assert (lenient.get(ANA, "town"), lenient.list_namespaces()) == (None, [])


def test_a_deleted_item_stays_in_the_store_unless_told_otherwise(
    inner: BaseStore, beside: Beside
) -> None:
    store = GuardedStore(inner, beside("langgraph"))
    for key in ("drink", "town"):
        store.put(ANA, key, {"text": key})
    store.delete(ANA, "drink")
    harder = GuardedStore(inner, beside("langgraph"), manner=Manner(deletes=True))
    harder.delete(ANA, "town")
    store.delete(ANA, "never-there")
    assert (keys(store.search(ANA)), store.list_namespaces()) == ([], [])
    assert keys(inner.search(ANA)) == ["drink"]
    statuses = [[r.status for r in store.history(ANA, key)] for key in ("drink", "town")]
    assert statuses == [[Status.EVICTED], [Status.EVICTED]]
    store.put(ANA, "drink", {"text": "drink"})
    assert keys(store.search(ANA)) == ["drink"]


def test_an_interval_and_a_scope_are_kept_to(store: GuardedStore, clock: ManualClock) -> None:
    lent = Provenance(valid=Interval(0, 2_000))
    store.saying(lent).put(ANA, "car", {"text": "Ana has the car"})
    private = Provenance(scope=Scope(principal="ana"))
    store.saying(private).put(ANA, "diary", {"text": "Dear diary"})
    assert keys(store.search(ANA)) == ["car"]
    assert keys(store.saying(who=Scope(principal="ana")).search(ANA)) == ["car", "diary"]
    clock.jump(2_000)
    assert store.search(ANA) == []


def test_what_rests_on_an_item_is_held_when_it_is_overwritten(store: GuardedStore) -> None:
    store.put(ANA, "town", {"text": "Ana lives in Lyon"})
    derived = Provenance(writer="summary", rests_on=(memory_name(ANA, "town"),))
    store.saying(derived).put(ANA, "commute", {"text": "Ana takes the Lyon metro"})
    store.put(ANA, "town", {"text": "Ana lives in Nice"})
    assert keys(store.search(ANA)) == ["town"]
    assert [r.status for r in store.history(ANA, "commute")] == [Status.SUSPENDED]


def test_a_guess_does_not_overwrite_what_a_user_said(store: GuardedStore) -> None:
    user = store.saying(Provenance(writer="ana", authority="user"))
    user.put(ANA, "town", {"text": "Lyon"})
    bot = store.saying(Provenance(writer="bot", authority="inference"))
    with pytest.raises(InvalidValue, match="higher"):
        bot.batch([PutOp(ANA, "pet", {"text": "cat"}), PutOp(ANA, "town", {"text": "Nice"})])
    assert [item.value for item in store.inner.search(ANA)] == [{"text": "Lyon"}]
    user.put(ANA, "town", {"text": "Nice"})
    assert value(bot.get(ANA, "town")) == {"text": "Nice"}


# -- searching goes on ---------------------------------------------------------------------------


def test_a_page_is_filled_past_what_lapsed(store: GuardedStore) -> None:
    for number in range(30):
        store.put(ANA, f"n{number:02}", {"text": f"note {number}", "even": number % 2 == 0})
    for number in range(20):
        store.invalidate(ANA, f"n{number:02}", by="test", ending=Ending.REVOKED)
    pages = [store.search(ANA, limit=4, offset=offset) for offset in (0, 4, 8)]
    assert [len(page) for page in pages] == [4, 4, 2]
    found = [item.key for page in pages for item in page]
    assert sorted(found) == [f"n{number}" for number in range(20, 30)]
    assert keys(store.search(ANA, filter={"even": True}, limit=9)) == [
        "n20",
        "n22",
        "n24",
        "n26",
        "n28",
    ]
    assert store.search(ANA, limit=0) == []


def test_searching_by_meaning_goes_on_too(
    lang_in_memory: Callable[..., InMemoryStore], beside: Beside
) -> None:
    store = GuardedStore(lang_in_memory("text"), beside("langgraph"))
    for number in range(12):
        store.put(ANA, f"n{number:02}", {"text": "tea " * (12 - number) + "cup"})
    first = [item.key for item in store.search(ANA, query="tea", limit=3)]
    for key in first:
        store.invalidate(ANA, key, by="test")
    second = store.search(ANA, query="tea", limit=3)
    assert len(second) == 3
    assert not {item.key for item in second} & set(first)
    assert all(item.score is not None for item in second)


class Joining(InMemoryStore):
    """Finds by meaning fewer items than it was asked for, as a join of vectors to items does."""

    def batch(self, ops: Any) -> Any:
        asked = list(ops)
        results: list[Any] = [*super().batch(asked)]
        for number, op in enumerate(asked):
            if isinstance(op, SearchOp) and op.query:
                results[number] = results[number][: (op.limit + 1) // 2]
        return results


def test_a_store_that_stops_too_early_is_asked_for_more(beside: Beside) -> None:
    store = GuardedStore(Joining(), beside("langgraph"))
    for number in range(12):
        store.put(ANA, f"n{number:02}", {"text": f"note {number}"})
    store.invalidate(ANA, "n00", by="test")
    assert len(store.search(ANA, query="note", limit=4)) == 4
    assert len(store.search(ANA, query="note", limit=50)) == 11
    assert store.search(BO, query="note", limit=4) == []


class Counted(InMemoryStore):
    """Counts the items that searches give."""

    given = 0

    def batch(self, ops: Any) -> Any:
        results = super().batch(ops)
        self.given += sum(len(one) for one in results if isinstance(one, list))
        return results


def test_a_search_gives_up_at_its_bound(beside: Beside) -> None:
    inner = Counted()
    store = GuardedStore(inner, beside("langgraph"), manner=Manner(most_fetched=20))
    for number in range(100):
        inner.put(ANA, f"n{number:02}", {"text": "from elsewhere"})
    assert store.search(ANA, limit=5) == []
    assert inner.given == 5 + 20 + 25


def test_reading_does_not_keep_alive_what_lapsed(
    lang_sqlite: Callable[[], SqliteStore], beside: Beside
) -> None:
    inner = lang_sqlite()
    store = GuardedStore(inner, beside("langgraph"))
    for key in ("dead", "live"):
        store.put(ANA, key, {"text": key}, ttl=60)
    store.invalidate(ANA, "dead", by="test")
    with inner.conn:
        inner.conn.execute("UPDATE store SET expires_at = '2001-01-01 00:00:00'")
    store.search(ANA)
    assert (store.get(ANA, "dead"), inner.sweep_ttl()) == (None, 1)
    assert [item.key for item in inner.search(ANA)] == ["live"]


# -- everything else is the store's --------------------------------------------------------------


def test_a_time_to_live_is_refused_where_the_store_has_none(
    lang_in_memory: Callable[..., InMemoryStore], beside: Beside
) -> None:
    store = GuardedStore(lang_in_memory(), beside("langgraph"))
    with pytest.raises(NotImplementedError, match="TTL is not supported"):
        store.put(ANA, "town", {"text": "Lyon"}, ttl=5)


@pytest.mark.parametrize("namespace", [(), ("langgraph",), ("a.b",), ("",)])
def test_namespaces_are_checked_as_ever(store: GuardedStore, namespace: tuple[str, ...]) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "key", {"text": "text"})


def test_what_json_cannot_carry_is_refused_before_anything_is_written(store: GuardedStore) -> None:
    bad_ones: list[dict[str, Any]] = [{"text": object()}, {"n": float("nan")}, {"_lapse": {}}]
    for bad in bad_ones:
        with pytest.raises(InvalidValue):
            store.batch([PutOp(ANA, "good", {"text": "good"}), PutOp(ANA, "bad", bad)])
    assert store.inner.search(ANA) == []


def test_a_served_value_is_a_copy(store: GuardedStore) -> None:
    store.put(ANA, "town", {"text": "Lyon", "tags": ["home"]})
    item = store.get(ANA, "town")
    assert item is not None
    item.value["tags"].append("changed")
    assert value(store.get(ANA, "town")) == {"text": "Lyon", "tags": ["home"]}


def test_a_batch_reads_before_it_writes_and_the_last_write_counts(store: GuardedStore) -> None:
    store.put(ANA, "town", {"text": "Lyon"})
    got, _, _, found, names = store.batch(
        [
            GetOp(ANA, "town"),
            PutOp(ANA, "town", {"text": "Paris"}),
            PutOp(ANA, "town", {"text": "Nice"}),
            SearchOp(ANA),
            ListNamespacesOp(),
        ]
    )
    assert isinstance(got, Item)
    assert got.value == {"text": "Lyon"}
    assert isinstance(found, list)
    assert keys(found) == ["town"]
    assert names == [ANA]
    assert value(store.get(ANA, "town")) == {"text": "Nice"}
    assert [r.content["text"] for r in store.history(ANA, "town")] == ["Lyon", "Nice"]


def test_namespaces_with_nothing_that_stands_are_not_listed(store: GuardedStore) -> None:
    for namespace in (ANA, BO, ("teams", "red", "ana")):
        store.put(namespace, "key", {"text": "text"})
    assert store.list_namespaces() == [("teams", "red", "ana"), ANA, BO]
    assert store.list_namespaces(prefix=("users",)) == [ANA, BO]
    assert store.list_namespaces(suffix=("ana",)) == [("teams", "red", "ana"), ANA]
    assert store.list_namespaces(max_depth=1) == [("teams",), ("users",)]
    assert store.list_namespaces(limit=1, offset=1) == [ANA]
    store.invalidate(ANA, "key", by="test")
    assert store.list_namespaces() == [("teams", "red", "ana"), BO]


async def test_the_async_surface_does_the_same(
    lang_in_memory: Callable[..., InMemoryStore], beside: Beside
) -> None:
    store = GuardedStore(lang_in_memory("text"), beside("langgraph"))
    await store.aput(ANA, "drink", {"text": "green tea"})
    await store.aput(ANA, "drink", {"text": "black coffee"})
    await store.aput(ANA, "town", {"text": "Lyon"})
    store.invalidate(ANA, "town", by="test")
    assert value(await store.aget(ANA, "drink")) == {"text": "black coffee"}
    assert await store.aget(ANA, "town") is None
    assert keys(await store.asearch(ANA, query="coffee", limit=2)) == ["drink"]
    assert await store.alist_namespaces() == [ANA]
    await store.adelete(ANA, "drink")
    assert await store.asearch(ANA) == []
    assert len(store.history(ANA, "drink")) == 2


class Torn:
    """A ledger that reads as ever and cannot be written to."""

    def __init__(self, ledger: Store) -> None:
        self._ledger = ledger

    def append(self, changes: object, *, after: object) -> None:
        raise StoreUnavailable(f"no {changes} after {after}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)


def test_what_the_ledger_could_not_keep_is_not_served(
    lang_in_memory: Callable[..., InMemoryStore], clock: ManualClock
) -> None:
    ids, inner = SequenceIds("r"), lang_in_memory()
    ledger = Ledger(ids=ids)
    store = GuardedStore(inner, Sidecar(ledger, "langgraph", clock=clock, ids=ids))
    store.put(ANA, "town", {"text": "Lyon"})
    torn = Sidecar(cast("Store", Torn(ledger.again())), "langgraph", clock=clock, ids=ids)
    with pytest.raises(StoreUnavailable):
        GuardedStore(inner, torn).put(ANA, "town", {"text": "Nice"})
    assert value(inner.get(ANA, "town")) == {"text": "Nice"}
    assert store.get(ANA, "town") is None
    served = store.attest(ANA, "town")
    assert served.memory.text == "Nice"
    assert [r.content["text"] for r in store.history(ANA, "town")] == ["Lyon", "Nice"]


# -- with the rest -------------------------------------------------------------------------------


class Talk(TypedDict):
    asked: str
    answer: str


def test_a_graph_is_served_what_stands(store: GuardedStore) -> None:
    def answer(state: Talk, *, store: BaseStore) -> dict[str, str]:
        found = store.search(ANA, limit=5)
        store.put(ANA, "asked", {"text": state["asked"]})
        return {"answer": ", ".join(item.value["text"] for item in found)}

    builder = StateGraph(Talk)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    graph = builder.compile(store=store)
    store.put(ANA, "town", {"text": "Lyon"})
    assert graph.invoke({"asked": "where?", "answer": ""})["answer"] == "Lyon"
    store.put(ANA, "town", {"text": "Nice"})
    store.invalidate(ANA, "asked", by="test")
    assert graph.invoke({"asked": "and now?", "answer": ""})["answer"] == "Nice"


def test_a_namespace_is_a_store_of_memories(store: GuardedStore) -> None:
    store.put(ANA, "town", {"text": "Lyon"})
    store.put(BO, "town", {"text": "Rome"})
    memories = store.memories(ANA)
    assert [one.memory.text for one in memories.list()] == ["Lyon"]
    assert memories.get(memory_name(BO, "town")) is None
    added = memories.add("Ana plays chess").memory
    assert keys(store.search(ANA)) == sorted(["town", added.external_id.split('"')[-2]])
    store.put(ANA, "town", {"text": "Nice"})
    statuses = {item.text: item.status for item in items_of(memories)}
    assert statuses == {
        "Lyon": Status.SUPERSEDED,
        "Nice": Status.ACTIVE,
        "Ana plays chess": Status.ACTIVE,
    }
    found = memories.standing(memory_name(ANA, "town"), who=EVERYWHERE)
    assert isinstance(found, Served)
