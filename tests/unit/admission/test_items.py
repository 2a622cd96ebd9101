"""Work state as records: what an item may hold, and that a ledger gives back what was written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lapse.admission import LONGEST_TEXT, Epochs, WorkItem, work_items
from lapse.errors import InvalidValue
from lapse.ledger import (
    ChangeKind,
    Draft,
    Interval,
    Kind,
    Part,
    Record,
    Scope,
    Source,
    Stamp,
    State,
    Status,
    genesis,
    seal,
    writing,
)
from lapse.testing.workspace import statement


def full() -> WorkItem:
    """An obligation with every field set."""
    return statement(
        "o-hotel",
        "Book the hotel",
        kind=Kind.OBLIGATION,
        rests_on=(statement("c"),),
        authority="user",
        scope=Scope(tenant="t", role="planner", task="trip"),
        purposes=("report", "booking", "report"),
        epochs=Epochs(3, 9),
        valid=Interval(3, 90),
        replaces=("old",),
        required=("d_h", "d_c"),
        critical=("d_c",),
        attributes={"price": {"max": 300}, "rooms": [1, "quiet"]},
    )


def test_a_record_gives_back_the_item_it_was_written_from() -> None:
    item = full()
    record = Record.from_json(item.id, item.record().as_json())
    assert WorkItem.of(record) == item
    assert item.purposes == ("booking", "report")
    assert item.rests_on == ("c",)
    assert item.moment == (3, 3)
    evidence = statement("h", supports=("d_h", "d_c"))
    assert WorkItem.of(evidence.record()).supports == ("d_c", "d_h")


def test_the_digest_covers_what_is_said_and_not_what_is_known_about_it() -> None:
    item = full()
    assert replace(item, receipts=(), status=Status.REVOKED).digest() == item.digest()
    assert replace(item, text="Book a tent").digest() != item.digest()
    assert replace(item, id="other").digest() != item.digest()
    assert item.with_status(Status.ACTIVE) is item
    assert item.as_json()["status"] == "active"


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"kind": Kind.FIX}, "kind"),
        ({"text": ""}, "text"),
        ({"slot": ""}, "slot"),
        ({"writer": ""}, "writer"),
        ({"id": ""}, "id"),
        ({"text": "x" * (LONGEST_TEXT + 1)}, "text"),
        ({"replaces": ("o-hotel",)}, "id"),
        ({"stamps": (Stamp(Source.record("o-hotel"), "1"),)}, "id"),
        ({"obligation": ""}, "obligation"),
        ({"kind": Kind.FACT}, "obligation"),
        ({"kind": Kind.FRONTIER}, "required"),
        ({"supports": ("d_h",)}, "supports"),
        ({"critical": ("d_x",)}, "critical"),
        ({"attributes": {"next_action": "send"}}, "attributes"),
        ({"attributes": {"a": [{"Plan": 1}]}}, "attributes"),
    ],
)
def test_what_could_not_be_judged_is_refused(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        replace(full(), **changed)
    assert refused.value.field == field


def test_how_far_something_got_is_no_evidence_for_it() -> None:
    with pytest.raises(InvalidValue, match="stands in for no evidence"):
        statement("f", kind=Kind.FRONTIER, obligation="o", supports=("d",))


@pytest.mark.parametrize("epochs", [(-1, None), (4, 3)])
def test_revisions_that_nobody_could_count_are_refused(epochs: tuple[int, int | None]) -> None:
    with pytest.raises(InvalidValue):
        Epochs(*epochs)


def test_epochs_hold_from_their_first_until_before_their_last() -> None:
    assert [Epochs(2, 4).holds_at(epoch) for epoch in (1, 2, 3, 4)] == [False, True, True, False]
    assert Epochs(2).holds_at(10**9)


@pytest.mark.parametrize("changed", [{"text": 1}, {"supports": [1]}, {"form": "other"}])
def test_a_record_that_holds_something_else_is_not_read(changed: dict[str, Any]) -> None:
    record = full().record()
    with pytest.raises(InvalidValue):
        WorkItem.of(replace(record, content={**record.content, **changed}))


def test_a_ledger_gives_its_work_state_and_nothing_else() -> None:
    state = State(genesis("w"))
    rows = Source.table("https://api.example", "rooms")
    plain, resting = statement("a"), statement("b", stamps=(Stamp(rows, "v1"),))
    fix = Record(id="f", kind=Kind.FIX, slot="s", content={}, valid=Interval(1))
    for record in (plain.record(), resting.record(), fix):
        drafts = writing(state, record, at=1, reason="written", actor="A2", salt="s")
        for change in seal(drafts, state.head):
            state.apply(change)
    assert list(work_items(state)) == [plain, resting]

    moved = Draft(
        kind=ChangeKind.OBSERVED, at=2, reason="moved", actor="t", source=rows, version="v2"
    )
    part = Part.of("a", {}, salt="s")
    revoked = Draft(kind=ChangeKind.REVOKED, at=2, reason="false", actor="A2", parts=(part,))
    for change in seal((moved, revoked), state.head):
        state.apply(change)
    held = {item.id: item.status for item in work_items(state)}
    assert held == {"a": Status.REVOKED, "b": Status.SUSPENDED}
