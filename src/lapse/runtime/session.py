"""A ledger held open: the state in memory, the store behind it, and one loop that writes.

The state in memory follows the store by its changes, so several processes can share one ledger:
before anything is decided, what others have written is read, and if somebody is faster the decision
is taken again. What a store has acknowledged is durable; only then does the state move.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from lapse.errors import IllegalChange, StoreConflict
from lapse.ledger import seal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse.ledger import Draft, Part, State, Store

__all__ = ["Session"]

_MOST_RACES = 1_000
"""How often a decision is taken again because others wrote first, before that is reported."""

T = TypeVar("T")


class Session:
    """One process's hold on a ledger. Safe to call from several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.lock = RLock()
        self._state = store.state()

    @property
    def state(self) -> State:
        """The state as this process knows it; hold `lock` while using it."""
        return self._state

    def catch_up(self) -> State:
        """Take in what other processes have written since; returns the state. Hold `lock`."""
        if self.store.head() == self._state.head:
            return self._state
        followed = False
        try:
            for change in self.store.changes(after=self._state.head.seq):
                self._state.apply(change)
                followed = True
        except IllegalChange:
            followed = False
        if not followed:
            # Another chain stands where ours was: the store was replaced under us. An anchored
            # store refuses that by itself; an unanchored one is taken as it is now.
            self._state = self.store.state()
        return self._state

    def tombstone(self, record_id: str) -> Part:
        """What is left of a record when it is purged: its id, and the digest of what was written.

        Raises:
            StoreError: the store could not be read.
        """
        written = next(self.store.changes(record=record_id))
        return next(part.erased() for part in written.parts if part.record == record_id)

    def write(self, decide: Callable[[State], tuple[T, Sequence[Draft]]]) -> T:
        """Decide on the current state and carry it out, as one transaction.

        Args:
            decide: from the state to a result and the drafts that carry it out; called again when
                another process wrote first, so it must not have effects of its own.

        Raises:
            StoreError: nothing was written.
            IllegalChange: the decision cannot follow the state; nothing was written.
        """
        with self.lock:
            for _ in range(_MOST_RACES):
                state = self.catch_up()
                result, drafts = decide(state)
                if not drafts:
                    return result
                changes = seal(drafts, state.head)
                state.check(changes)
                try:
                    self.store.append(changes, after=state.head)
                except StoreConflict:
                    continue
                for change in changes:
                    state.apply(change)
                return result
        msg = (
            f"other processes wrote first {_MOST_RACES} times in a row; "
            "write less often, or from fewer processes"
        )
        raise StoreConflict(msg)
