"""The workspace for event loops has the methods of the other one, and does what they do."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import pytest

from lapse.admission import Sealed
from lapse.errors import StoreClosed
from lapse.runtime import AsyncWorkspace, Event, Workspace
from lapse.storage import InMemoryStore
from lapse.testing import SequenceIds
from lapse.testing.workspaces import FOR_BOOKING, HER, Town

HERE = {"policy", "tenant"}
"""Attributes of the one that are properties of the other."""


def offered(kind: type) -> dict[str, Any]:
    """The public methods and properties of a class."""
    return {name: value for name, value in vars(kind).items() if not name.startswith("_")}


def parameters(method: Any) -> list[tuple[object, ...]]:
    """Names, kinds, defaults and types of what a method takes, and the type of what it gives."""
    signature = inspect.signature(method)
    given = [(p.name, p.kind, p.default, p.annotation) for p in signature.parameters.values()]
    return [*given, (signature.return_annotation,)]


def test_both_have_the_same_surface() -> None:
    plain, on_loop = offered(Workspace), offered(AsyncWorkspace)
    assert plain.keys() == on_loop.keys() - HERE
    methods = {name for name, value in plain.items() if inspect.isfunction(value)}
    assert {name for name in methods if inspect.iscoroutinefunction(on_loop[name])} == methods
    for name in sorted(methods):
        assert parameters(on_loop[name]) == parameters(plain[name])


@pytest.fixture
def town() -> Town:
    return Town(InMemoryStore(ids=SequenceIds("ledger")))


@pytest.mark.anyio
async def test_it_works_off_the_event_loop(town: Town) -> None:
    threads: set[str] = set()

    def hear(_event: Event) -> None:
        threads.add(threading.current_thread().name)

    work = AsyncWorkspace(Town(town.work.store, "x", clock=town.clock, listeners=[hear]).work)
    town.says("a", supports=["d"])
    town.owes("o", "d")
    async with work:
        await work.depart(HER)
        await work.scan(HER)
        ended = await work.return_(FOR_BOOKING, cycle="r")
        assert isinstance(ended, Sealed)
        assert await work.view("r", FOR_BOOKING) == ended.view
        assert await work.signed_view("r", FOR_BOOKING) == ended.signed
        assert await work.brief("r", FOR_BOOKING) == town.work.brief("r", FOR_BOOKING)
        assert await work.experience("r", FOR_BOOKING) == ()
        assert await work.status() == town.work.status()
        assert await work.member(HER) == town.work.member(HER)
        assert await work.explain("r") == town.work.explain("r")
        assert (work.policy, work.tenant, work.store) == (
            town.work.policy,
            None,
            town.work.store,
        )
    assert threads
    assert threading.current_thread().name not in threads
    with pytest.raises(StoreClosed):
        town.work.status()


@pytest.mark.anyio
async def test_what_is_written_at_the_same_time_is_all_there(town: Town) -> None:
    work = AsyncWorkspace(town.work)
    said = (
        work.record(f"{n}", slot=f"s{n}", by="A2", observer="booking-desk", item_id=f"i{n}")
        for n in range(20)
    )
    items = await asyncio.gather(*said)
    assert sorted(item.epochs.since for item in items) == list(range(1, 21))


@pytest.mark.anyio
async def test_every_verb_writes_what_the_other_one_writes(town: Town) -> None:
    work = AsyncWorkspace(town.work)
    desk: dict[str, Any] = {"by": "A2", "observer": "booking-desk"}
    other: dict[str, Any] = {"by": "A3", "observer": "booking-desk"}
    for name in ("a", "b", "e"):
        await work.record(f"what {name} says", slot=name, item_id=name, **desk)
    await work.record("it is red", slot="c", item_id="c", **desk)
    await work.record("it is blue", slot="c", item_id="d", **other)
    settled = await work.resolve("c", by="boss", authority="user", why="as I see it")
    later = await work.supersede("a", "now otherwise", by="A2", observer="booking-desk")
    town.clock.advance(seconds=1)
    await work.dispute("b", by="A3")
    back = await work.restore("b", by="A3", observer="booking-desk")
    closed, revoked = await work.close("b", by="A2"), await work.revoke("e", by="A2", why="no")
    assert await work.purge("e", by="A2", reason="asked for") == ("e",)
    assert (settled.text, later.replaces, back.id) == ("it is red", ("a",), "b")
    assert (closed.what, revoked.what, revoked.why) == ("closed", "revoked", "no")
