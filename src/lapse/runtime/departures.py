"""What a member knew when it left, made again from the ledger.

A departure is not copied: it is what the chain added up to at the head that the member left with.
The head vouches for everything before it, so a departure cannot be altered without breaking the
chain, and one that is kept takes the same few bytes whatever the workspace holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.admission import capture
from lapse.errors import LedgerNotTrusted
from lapse.ledger import Break, BreakKind, ChangeKind, State, genesis
from lapse.runtime.workstate import Workstate

if TYPE_CHECKING:
    from lapse.admission import Departure
    from lapse.ledger import Head, Store
    from lapse.runtime.workspace_forms import Departed

__all__ = ["departure_of", "state_at"]


def state_at(store: Store, head: Head) -> State:
    """The state as it was at a head of the chain.

    Raises:
        LedgerNotTrusted: the chain has another change in this place.
    """
    state = State(genesis(store.ledger))
    for change in store.changes():
        if change.seq > head.seq:
            break
        state.apply(change)
    if state.head != head:
        detail = "the workspace's own record knows another change in this place"
        raise LedgerNotTrusted(Break(BreakKind.FORKED, head.seq, detail))
    return state


def departure_of(store: Store, departed: Departed) -> Departure:
    """The departure that a record tells of.

    What was purged since is not in it, and is in nothing else either.

    Raises:
        LedgerNotTrusted: the ledger does not add up to what the member left with.
    """
    workstate = Workstate(departed.member.tenant)
    snapshot = workstate.at(state_at(store, departed.head))
    found = capture(snapshot.items, departed.member, epoch=departed.epoch, at=departed.at)
    if found.digest() != departed.digest and not _purged(store, departed.head):
        detail = "the items are not what the member left with"
        raise LedgerNotTrusted(Break(BreakKind.TAMPERED, departed.head.seq, detail))
    return found


def _purged(store: Store, head: Head) -> bool:
    """Whether content was purged after a head; what was there before cannot be digested again."""
    return any(change.kind is ChangeKind.PURGED for change in store.changes(after=head.seq))
