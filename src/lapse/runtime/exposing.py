"""Shows the view of a return, when nothing speaks against it at the moment it is asked for.

The view is made again from the items that it shows and compared by its signature; then everything
is checked anew: who asks, in which cycle and revision, when, and whether each item still passes the
gates. A member that left again, or that began another return, is not shown the old one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lapse.admission import (
    Captured,
    Checkpoint,
    Presence,
    Refusal,
    Refused,
    Returning,
    ReturnView,
    SignedView,
    expose,
)
from lapse.errors import InvalidValue, UnknownRecord
from lapse.ledger import Kind

if TYPE_CHECKING:
    from lapse.admission import Eligible, Policy, WorkItem
    from lapse.ledger import Scope, Verifier
    from lapse.runtime.decided import Decided
    from lapse.runtime.returns import Returns
    from lapse.runtime.workstate import Holding, Snapshot

__all__ = ["Exposed", "Exposing"]


@dataclass(frozen=True, slots=True)
class Exposed:
    """A view that may be acted on now.

    Attributes:
        view: the view.
        signed: the same as it travels.
        experience: the private experience that comes back with it.
    """

    view: ReturnView
    signed: SignedView
    experience: tuple[WorkItem, ...]


class Exposing:
    """Shows the views of one workspace. Safe to call from several threads."""

    __slots__ = ("_clock", "_policy", "_returns", "_session", "_verifier", "_workstate")

    def __init__(
        self,
        held: Holding,
        returns: Returns,
        *,
        policy: Policy,
        verifier: Verifier,
    ) -> None:
        self._session = held.session
        self._workstate = held.workstate
        self._returns = returns
        self._clock = held.clock
        self._policy = policy
        self._verifier = verifier

    def exposed(self, cycle: str, who: Scope) -> Exposed | Refused:
        """The view of a cycle for whoever asks.

        Raises:
            UnknownRecord: no return of this cycle ended.
            InvalidValue: the return was blocked; there is no view.
            StoreError: the store could not be read.
        """
        with self._session.lock:
            state = self._session.catch_up()
            snapshot = self._workstate.at(state)
            decided = self._returns.found(state, cycle)
        if decided is None:
            msg = f"no return of cycle {cycle!r} ended; status() says where its member is"
            raise UnknownRecord(msg)
        try:
            signed = decided.view(snapshot.by_id.get)
        except InvalidValue:
            if decided.sealing is None:
                raise
            return Refused((Refusal.MALFORMED,))
        if signed is None:
            return Refused((Refusal.ITEM_LAPSED,))
        now = self._clock.now()
        asking = Returning(cycle=cycle, who=who, epoch=snapshot.epoch, at=now)
        eligible = self._eligible(snapshot, decided, asking)
        found = expose(signed, self._verifier, asking, eligible.digests())
        gone = () if _is_here(snapshot, decided) else (Refusal.CYCLE_MISMATCH,)
        if isinstance(found, Refused):
            return Refused((*gone, *found.reasons))
        if gone:
            return Refused(gone)
        return Exposed(found, signed, _experience(eligible, decided, found))

    def _eligible(self, snapshot: Snapshot, decided: Decided, asking: Returning) -> Eligible:
        """What passes the gates now, by what was heard then."""
        checkpoint = Checkpoint(
            returning=asking,
            departure=decided.departure,
            departed=decided.departed,
            items=tuple(sorted(snapshot.items, key=lambda item: item.id)),
        )
        screened = Captured(checkpoint, self._policy).next()
        heard = decided.basis.heard
        return screened.next(heard.scanned(screened.scans), heard.answered()).next()


def _is_here(snapshot: Snapshot, decided: Decided) -> bool:
    """Whether the member works in this cycle: it was admitted, and did not leave again."""
    member = snapshot.members.get(replace(decided.returning.who, purpose=None))
    return (
        member is not None
        and member.presence is Presence.ADMITTED
        and member.cycle == decided.returning.cycle
    )


def _experience(eligible: Eligible, decided: Decided, view: ReturnView) -> tuple[WorkItem, ...]:
    """The experience that came back with the view and still stands.

    The signature covers the view and not this list, so what binds an experience is checked anew.
    """
    unbound = eligible.policy.unsafe_unbound_experience
    shown = {item.id for item in view.items}
    found: list[WorkItem] = []
    for judgement in eligible.judgements:
        item = judgement.item
        mine = item.kind is Kind.EXPERIENCE and item.id in decided.experience
        if mine and item.scope.principal == view.returning.who.principal:
            bound = judgement.eligible and item.rests_on and shown.issuperset(item.rests_on)
            found += (item,) if bound or unbound else ()
    return tuple(found)
