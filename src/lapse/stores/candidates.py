"""The memories of a store as candidates for a return."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue
from lapse.ledger import Status
from lapse.stores.entries import is_entry, item_of
from lapse.stores.reading import Standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lapse.admission import WorkItem
    from lapse.ledger import Record
    from lapse.stores.guarded import Guarded

__all__ = ["items_of"]


def items_of(guarded: Guarded) -> tuple[WorkItem, ...]:
    """The memories of a store as candidates for a return, by what is known of them now.

    Each version that the ledger knows is an item, the ended ones too, so that a view can say what
    took whose place. The latest is suspended when its text was changed outside. Legacy memories
    and what is gone from the store are no candidates; nor is what does not fit into one item.

    Raises:
        Incapable: the store cannot list.
    """
    guarded.store.capabilities.demand("list_all", guarded.store.name)
    there = list(guarded.store.list())
    weighed = guarded.sidecar.weigh(there, at=guarded.sidecar.now())
    held = {Standing.DRIFT, Standing.MOVED}
    items: list[WorkItem] = []
    for memory, (standing, _, _) in zip(there, weighed, strict=True):
        *earlier, latest = guarded.sidecar.history(memory.external_id) or (None,)
        if latest is None:
            continue
        items += _item(earlier)
        active = latest.status is Status.ACTIVE
        items += _item([latest], Status.SUSPENDED if active and standing in held else None)
    return tuple(items)


def _item(records: Iterable[Record], status: Status | None = None) -> Iterator[WorkItem]:
    for record in records:
        if is_entry(record):  # a tombstone is none any longer
            with suppress(InvalidValue):  # empty, or longer than an item may be
                yield item_of(record, status=status)
