"""The items that a ledger holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.admission.items import WorkItem
from lapse.errors import UnknownRecord
from lapse.ledger import LIVE, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse.ledger import State

__all__ = ["live_item", "work_items"]


def work_items(state: State) -> Iterator[WorkItem]:
    """The work state of a ledger, ended items too, in the order in which the state holds it.

    What is active and rests on a source that moved and was not reconciled is held, so it is read as
    suspended: whoever moved the source need not know that work rests on it.
    """
    for record in state.records():
        if WorkItem.is_in(record):
            item = WorkItem.of(record)
            held = item.status is Status.ACTIVE and not state.usable(record)
            yield item.with_status(Status.SUSPENDED) if held else item


def live_item(state: State, item_id: str) -> WorkItem | None:
    """A work-state item that has not ended; None when there is none of this id."""
    try:
        record = state.record(item_id)
    except UnknownRecord:
        return None
    return WorkItem.of(record) if record.status in LIVE and WorkItem.is_in(record) else None
