"""Where nothing lapsed, a guarded store gives what the bare one gives, whatever is asked of it."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from lapse.storage import InMemoryStore as Ledger
from lapse.stores import Sidecar
from lapse.stores.langgraph import GuardedStore, Manner
from lapse.testing import ManualClock, SequenceIds

LABELS = st.sampled_from(["a", "b"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(LABELS, max_size=2).map(tuple)
KEYS = st.sampled_from(["k1", "k2", "k3"])
VALUES = st.fixed_dictionaries(
    {"text": st.sampled_from(["tea", "coffee"]), "n": st.integers(0, 3)},
    optional={"tags": st.lists(LABELS, max_size=2), "f": st.sampled_from([1.0, 1, 0.5])},
)
FILTERS = st.none() | st.sampled_from(
    [{"n": 1}, {"n": {"$gte": 2}}, {"text": "tea"}, {"text": {"$ne": "tea"}, "n": {"$lt": 3}}]
)
SMALL = st.integers(0, 4)
CONDITIONS = st.none() | st.lists(
    st.builds(
        MatchCondition,
        match_type=st.sampled_from(["prefix", "suffix"]),
        path=st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2).map(tuple),
    ),
    max_size=2,
).map(tuple)
OPS: st.SearchStrategy[Op] = st.one_of(
    st.builds(PutOp, NAMESPACES, KEYS, VALUES, index=st.sampled_from([None, False])),
    st.builds(PutOp, NAMESPACES, KEYS, VALUES),
    st.builds(PutOp, NAMESPACES, KEYS, st.none()),
    st.builds(GetOp, NAMESPACES, KEYS),
    st.builds(SearchOp, PREFIXES, FILTERS, SMALL, SMALL),
    st.builds(
        ListNamespacesOp, CONDITIONS, st.none() | st.integers(1, 3), st.integers(0, 5), SMALL
    ),
)
BATCHES = st.lists(st.lists(OPS, min_size=1, max_size=5), max_size=12)


def plain(result: Any) -> Any:
    """A result without its times, which two stores cannot share."""
    if isinstance(result, Item):
        return result.namespace, result.key, result.value
    if isinstance(result, list):
        return [plain(one) for one in cast("list[Any]", result)]
    return result


def bare_and_guarded() -> tuple[InMemoryStore, GuardedStore]:
    ids = SequenceIds("r")
    sidecar = Sidecar(Ledger(ids=ids), "langgraph", clock=ManualClock(5), ids=ids)
    return InMemoryStore(), GuardedStore(InMemoryStore(), sidecar, manner=Manner(deletes=True))


def compare(batches: list[list[Op]]) -> None:
    bare, guarded = bare_and_guarded()
    for batch in batches:
        mine, theirs = guarded.batch(batch), bare.batch(batch)
        for op, one, other in zip(batch, mine, theirs, strict=True):
            if not isinstance(op, ListNamespacesOp):  # emptied namespaces stay listed in a bare one
                assert plain(one) == plain(other)
    assert items(guarded) == items(bare)
    assert set(guarded.list_namespaces()) == {namespace for namespace, _, _ in items(bare)}


def items(store: Any) -> list[Any]:
    return [plain(one) for one in store.search((), limit=1_000)]


@settings(max_examples=25, deadline=None)
@given(BATCHES)
def test_every_operation_is_the_same(batches: list[list[Op]]) -> None:
    compare(batches)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(BATCHES)
def test_every_operation_is_the_same_for_long(batches: list[list[Op]]) -> None:
    compare(batches)


@settings(max_examples=20, deadline=None)
@given(BATCHES)
def test_the_async_surface_is_the_same(batches: list[list[Op]]) -> None:
    async def run() -> None:
        sync, guarded = bare_and_guarded()[1], bare_and_guarded()[1]
        for batch in batches:
            one, other = await guarded.abatch(batch), sync.batch(batch)
            assert [plain(result) for result in one] == [plain(result) for result in other]

    asyncio.run(run())


@settings(max_examples=25, deadline=None)
@given(st.sets(NAMESPACES, min_size=1), CONDITIONS, st.integers(0, 5), SMALL)
def test_namespaces_are_the_same(
    namespaces: set[tuple[str, ...]],
    conditions: tuple[MatchCondition, ...] | None,
    limit: int,
    offset: int,
) -> None:
    bare, guarded = bare_and_guarded()
    for namespace in namespaces:
        for store in (bare, guarded):
            store.put(namespace, "key", {"text": "tea"})
    for depth in (None, 1, 2):
        op = ListNamespacesOp(conditions, depth, limit, offset)
        assert guarded.batch([op]) == bare.batch([op])


@settings(max_examples=20, deadline=None)
@given(BATCHES, st.sets(st.tuples(NAMESPACES, KEYS)), SMALL, SMALL)
def test_a_page_is_the_page_of_what_stands(
    batches: list[list[Op]], gone: set[tuple[tuple[str, ...], str]], limit: int, offset: int
) -> None:
    _, guarded = bare_and_guarded()
    for batch in batches:
        guarded.batch(batch)
    for namespace, key in gone:
        if guarded.get(namespace, key) is not None:
            guarded.invalidate(namespace, key, by="test")
    standing = [
        plain(one)
        for one in guarded.inner.search((), limit=1_000)
        if (one.namespace, one.key) not in gone
    ]
    assert items(guarded) == standing
    page = [plain(one) for one in guarded.search((), limit=limit, offset=offset)]
    assert page == standing[offset : offset + limit]
