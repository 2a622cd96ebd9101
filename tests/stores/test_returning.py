"""Memories and a shared workspace: what falls with a memory, and views that are drawn from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import lapse
from lapse.admission import (
    Blocked,
    Captured,
    Ending,
    Policy,
    Reason,
    Returning,
    Sealed,
    WorkItem,
    capture,
    difference,
    merge,
)
from lapse.ledger import Kind, Scope, Source, Status
from lapse.runtime import ItemStory, Workspace
from lapse.stores import Guarded, Provenance, items_of
from lapse.testing import Notebook
from lapse.testing.workspace import receipt, statement

ME = Scope(principal="A1", role="planner")
BACK = Scope(principal="A1", role="planner", purpose="booking")
DESK_SAW = (replace(receipt(Source.probe("desk", "trip"), ""), observer="desk"),)
DESK = Provenance(writer="desk", authority="tool", supports=("hotel",))


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    sidecar = lapse.sidecar(tmp_path / "ledger.db", "notebook", observer="desk")
    yield Guarded(Notebook(), sidecar)
    sidecar.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with lapse.workspace(
        tmp_path / "ledger.db", key=b"a key of at least 32 random bytes!", observers=("desk",)
    ) as opened:
        yield opened


def status(workspace: Workspace, item: WorkItem) -> Status:
    found = workspace.explain(item.id)
    assert isinstance(found, ItemStory)
    return found.item.status


def returned(
    before: Sequence[WorkItem], now: Sequence[WorkItem], extra: Sequence[WorkItem] = ()
) -> Captured:
    at = max(item.valid.since for item in (*before, *now)) + 1
    departure = capture((*before, *extra), ME, epoch=0, at=at)
    delta = difference(departure, (*now, *extra), epoch=1)
    returning = Returning(cycle="r", who=BACK, epoch=1, at=at + 1)
    return Captured(merge(departure, delta, returning), Policy(observers=frozenset({"desk"})))


def test_a_view_is_drawn_from_memories_that_stand(guarded: Guarded) -> None:
    hotel = guarded.add("Riverside is booked", DESK).memory
    old = guarded.add("Sunrise was asked", Provenance(writer="desk")).memory
    shown = guarded.add(
        "Breakfast is at Riverside",
        Provenance(writer="desk", rests_on=(hotel.external_id,)),
    ).memory
    edited = guarded.add("The train leaves at 9", Provenance(writer="desk")).memory
    before = items_of(guarded)
    guarded.invalidate(old.external_id, by="desk", ending=Ending.CLOSED)
    guarded.store.update(edited.external_id, "The train leaves at 10")
    screened = returned(before, items_of(guarded)).next()
    eligible = screened.next({scan.older.id: [] for scan in screened.scans}, {}).next()
    reasons = {j.item.text: list(j.reasons) for j in eligible.judgements}
    assert reasons == {
        hotel.text: [],
        shown.text: [],
        old.text: [Reason.CLOSED],
        edited.text: [Reason.SUSPENDED],
    }
    guarded.update(hotel.external_id, "Hilltop is booked")
    screened = returned(before, items_of(guarded)).next()
    eligible = screened.next({scan.older.id: [] for scan in screened.scans}, {}).next()
    assert {j.item.text for j in eligible.judgements if j.eligible} == {"Hilltop is booked"}


def test_work_falls_with_the_memory_that_it_rests_on(
    guarded: Guarded, workspace: Workspace
) -> None:
    hotel = guarded.add("Riverside is booked", DESK).memory
    item = workspace.record(
        "Pick the family up at Riverside",
        slot="pickup",
        by="A2",
        observer="desk",
        stamps=[guarded.stamp(hotel.external_id)],
    )
    workspace.record(
        "Bring them home",
        slot="trip",
        by="A2",
        kind=Kind.OBLIGATION,
        obligation="trip",
        observer="desk",
    )
    workspace.record(
        "Nothing is done",
        slot="progress",
        by="A2",
        kind=Kind.FRONTIER,
        obligation="trip",
        observer="desk",
    )
    workspace.depart(ME)
    guarded.update(hotel.external_id, "Hilltop is booked", DESK)
    found = workspace.return_(BACK)
    assert isinstance(found, Sealed)
    assert item.id not in {one.id for one in found.view.items}
    judged = {j.item.id: list(j.reasons) for j in found.eligible.judgements}
    assert Reason.SUSPENDED in judged[item.id]


def test_an_audit_holds_what_rests_on_what_drifted(guarded: Guarded, workspace: Workspace) -> None:
    hotel = guarded.add("Riverside is booked", DESK).memory
    other = guarded.add("Breakfast is included", DESK).memory
    item = workspace.record(
        "Pick them up there",
        slot="pickup",
        by="A2",
        observer="desk",
        stamps=[guarded.stamp(hotel.external_id)],
    )
    assert guarded.audit(by="patrol") == ()
    guarded.store.update(hotel.external_id, "Hilltop is booked")
    assert [one.external_id for one in guarded.audit(by="patrol")] == [hotel.external_id]
    assert [one.external_id for one in guarded.audit(by="patrol")] == [hotel.external_id]
    assert status(workspace, item) is Status.SUSPENDED
    assert [record.status for record in guarded.sidecar.history(hotel.external_id)] == [
        Status.SUSPENDED
    ]
    assert guarded.get(other.external_id) is not None
    guarded.attest(hotel.external_id)
    assert guarded.get(hotel.external_id) is not None
    assert status(workspace, item) is Status.SUSPENDED  # it needs a receipt of its own


def test_a_return_without_what_a_memory_said_is_blocked(guarded: Guarded) -> None:
    hotel = guarded.add("Riverside is booked", DESK).memory
    before = items_of(guarded)
    guarded.invalidate(hotel.external_id, by="desk", ending=Ending.REVOKED)
    owed = (
        statement("o", kind=Kind.OBLIGATION, epoch=0, required=("hotel",), receipts=DESK_SAW),
        statement("f", kind=Kind.FRONTIER, epoch=0, obligation="o", receipts=DESK_SAW),
    )
    screened = returned(before, items_of(guarded), owed).next()
    blocked = screened.next({scan.older.id: [] for scan in screened.scans}, {}).next().next()
    assert isinstance(blocked, Blocked)
    assert [one.dependency for one in blocked.missing] == ["hotel"]
