"""What a type checker makes of the public names; it is checked, and never run."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import assert_type

import httpx2

import lapse
from lapse.contract import (
    A2D,
    Consumption,
    Evict,
    EvictionPolicy,
    Fix,
    Lesson,
    Moved,
    TableChanges,
    word,
)
from lapse.ledger import Chapter, JsonObject, Record, Source, State, Store
from lapse.runtime import Event, Memory, Observer
from lapse.storage import InMemoryStore
from lapse.stores import Sidecar
from lapse.testing import SequenceIds
from lapse.transports.http import AsyncTransport, Transport


class Mine:
    """A policy of somebody else."""

    name = "mine"
    remembers = True
    watches = True
    asks = False

    def evictions(
        self, state: State, moved: Moved, changes: TableChanges | None
    ) -> tuple[Evict, ...]:
        return A2D.evictions(state, moved, changes)


def listen(event: Event, /) -> None:
    assert_type(event.source, Source | None)
    assert_type(event.count, int)


def memories(path: Path) -> None:
    policy: EvictionPolicy = Mine()
    observer: Observer = listen
    memory = lapse.open(path, policy=policy, observers=[observer])
    assert_type(memory, Memory)
    with lapse.open("memory:") as inside:
        assert_type(inside, Memory)
    assert_type(lapse.sidecar(path, "langgraph"), Sidecar)
    assert_type(memory.fixes("POST /x", {"a": 1}, issuer="i"), tuple[Fix, ...])
    assert_type(memory.brief("POST /x", level=Consumption.PATCH), str)
    assert_type(memory.get("i", "slot"), Record | None)
    assert_type(memory.records(live=False), tuple[Record, ...])
    assert_type(memory.why("id"), tuple[Chapter, ...])
    assert_type(memory.purge(["id"]), int)
    assert_type(memory.counters["evicted"], int)


def steps(memory: Memory, lesson: Lesson, answer: TableChanges) -> None:
    taking = memory.receive(lesson)
    assert_type(taking, Generator[Moved, TableChanges | None, None])
    assert_type(taking.send(answer), Moved)
    taking.send(None)


def fixes(fix: Fix, request: JsonObject) -> None:
    assert_type(fix.id, str)
    assert_type(fix.holds_for(request), bool)
    assert_type(word([fix], request=request), str)


def transports(memory: Memory, request: httpx2.Request) -> None:
    def named(request: httpx2.Request) -> str:
        return request.url.path

    sync = Transport(memory, httpx2.HTTPTransport(), issuer="i", operation=named)
    assert_type(sync.handle_request(request), httpx2.Response)
    httpx2.Client(transport=sync)
    httpx2.AsyncClient(transport=AsyncTransport(memory, forwarded=("x-api-key",)))


def stores() -> None:
    store: Store = InMemoryStore(ids=SequenceIds())
    assert_type(store.state(), State)
