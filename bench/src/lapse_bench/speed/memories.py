"""Memories that are filled in advance, for measuring one thing at a time."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from lapse.contract import A2D
from lapse.ledger import Mark, Source, State, genesis
from lapse.runtime import Memory
from lapse.storage import RandomIds, SystemClock
from lapse_bench.speed.records import ISSUER, TABLES, many

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from lapse.ledger import Change, Head

__all__ = ["Undurable", "filled", "memory_over"]


class Undurable:
    """A store that acknowledges everything and keeps nothing: what is left is not durability.

    Args:
        state: what it says it holds.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._head = state.head

    @property
    def ledger(self) -> str:
        """A fixed id."""
        return "speed"

    def head(self) -> Head:
        """The end of the chain that was acknowledged."""
        return self._head

    def append(self, changes: Sequence[Change], *, after: Head) -> None:
        """Acknowledge."""
        del after
        self._head = changes[-1].head

    def changes(
        self, *, after: int = 0, record: str | None = None, sources: Collection[Source] = ()
    ) -> Iterator[Change]:
        """Nothing was kept."""
        del after, record, sources
        return iter(())

    def state(self) -> State:
        """The state it was given."""
        return self._state

    def close(self) -> None:
        """Nothing to give back."""


def filled(records: int, *, unsettled: bool = False) -> State:
    """A state of so many fixes, two stamps each, ten to a row, all reconciled.

    Args:
        records: how many.
        unsettled: whether one more table, under none of them, waits to be reconciled.
    """
    marks = {
        Source.table(ISSUER, f"table_{number}"): Mark("1.0.0", "1.0.0") for number in range(TABLES)
    }
    if unsettled:
        marks[Source.table(ISSUER, "table_that_moved")] = Mark("1.0.0", "1.0.1")
    marks[Source.rules(ISSUER)] = Mark("ec524f499ebe", "ec524f499ebe")
    gc.disable()  # millions of new objects, none of them garbage: looking for it takes longer
    try:
        return State.restore(genesis("speed"), many(records), marks)
    finally:
        gc.enable()


def memory_over(state: State) -> Memory:
    """A memory at row granularity over a state, durability apart."""
    return Memory(Undurable(state), clock=SystemClock(), ids=RandomIds(), policy=A2D)
