"""Lets members leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.admission import Member, Presence, capture
from lapse.runtime.returns import in_place, stepping
from lapse.runtime.workspace_forms import Departed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.admission import Departure
    from lapse.ledger import Draft, Scope, State
    from lapse.runtime.workstate import Holding

__all__ = ["Leaving"]


class Leaving:
    """The departures of one workspace. Safe to call from several threads."""

    __slots__ = ("_clock", "_ids", "_session", "_workstate")

    def __init__(self, held: Holding) -> None:
        self._session = held.session
        self._workstate = held.workstate
        self._clock = held.clock
        self._ids = held.ids

    def depart(self, identity: Scope) -> Departure:
        """Keep what a member can see, and that it left; one append.

        Raises:
            IllegalChange: it is away, or on its way back.
            StoreError: nothing was written.
        """

        def decide(state: State) -> tuple[Departure, Sequence[Draft]]:
            snapshot = self._workstate.at(state)
            epoch, at = snapshot.epoch, self._clock.now()
            member = snapshot.members.get(identity)
            if member is None:
                member = Member(identity=identity, presence=Presence.ACTIVE, epoch=epoch, at=at)
            step = member.depart(epoch=epoch, at=at)
            departure = capture(snapshot.items, identity, epoch=epoch, at=at)
            departed = Departed.of_departure(self._ids.new(), departure, snapshot.head)
            who = str(identity.principal)
            return departure, (
                *stepping(state, step, ids=self._ids, reason="departed"),
                *in_place(state, departed.record(), ids=self._ids, reason="departed", actor=who),
            )

        return self._session.write(decide)
