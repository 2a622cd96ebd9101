"""Writes amendments of requests into the ledger, before the requests leave.

A request that is amended and not on record could not be explained afterwards, so the order is:
decide, write, send. What is written is which record was merged, for which operation, and the
digests of the request before and after; nothing of the request itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.contract import Declined, fingerprint_of
from lapse.errors import LapseError
from lapse.ledger import ChangeKind, Draft, Part
from lapse.runtime.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse.contract import Amendment
    from lapse.ledger import Clock, Ids, Record, State
    from lapse.runtime.session import Session
    from lapse.runtime.telling import Telling

__all__ = ["Applying"]

ACTOR = "transport"
"""Who merged it, in the ledger."""


class Applying:
    """Records amendments for one memory. Safe to call from several threads."""

    __slots__ = ("_clock", "_ids", "_may_serve", "_session", "_telling")

    def __init__(
        self,
        session: Session,
        *,
        clock: Clock,
        ids: Ids,
        telling: Telling,
        may_serve: Callable[[State, Record], bool],
    ) -> None:
        self._session = session
        self._clock = clock
        self._ids = ids
        self._telling = telling
        self._may_serve = may_serve

    def recorded(self, amendment: Amendment, *, reason: str) -> Amendment:
        """The amendment as it may be sent: durable, or with nothing merged at all.

        It never raises: what cannot be written down is not done, and that is told.

        Args:
            amendment: what was decided.
            reason: why it was merged, for the ledger: ``merged``, or ``agreed`` by the user.
        """
        if amendment.merged:
            try:
                if not self._write(amendment, reason):
                    amendment = amendment.without(Declined.LAPSED)
            except LapseError as failure:
                self._tell(amendment, "failed", type(failure).__name__)
                amendment = amendment.without(Declined.NOT_RECORDED)
        self.told(amendment, reason=reason)
        return amendment

    def told(self, amendment: Amendment, *, reason: str) -> None:
        """Tell the observers what was merged and what was declined."""
        for fix in amendment.merged:
            self._tell(amendment, "applied", reason, record=fix.id)
        for one in amendment.declined:
            self._tell(amendment, "declined", one.reason, record=one.fix.id)

    def _write(self, amendment: Amendment, reason: str) -> bool:
        at = self._clock.now()
        detail = {
            "operation": amendment.operation,
            "before": fingerprint_of(amendment.before),
            "after": fingerprint_of(amendment.after),
        }

        def decide(state: State) -> tuple[bool, Sequence[Draft]]:
            if not all(self._may_serve(state, state.record(fix.id)) for fix in amendment.merged):
                return False, ()
            parts = tuple(Part.of(f.id, detail, salt=self._ids.new()) for f in amendment.merged)
            kind = ChangeKind.APPLIED
            return True, [Draft(kind=kind, at=at, reason=reason, actor=ACTOR, parts=parts)]

        return self._session.write(decide)

    def _tell(
        self, amendment: Amendment, what: str, reason: str, *, record: str | None = None
    ) -> None:
        event = Event(
            what=what, reason=reason, at=self._clock.now(), issuer=amendment.issuer, record=record
        )
        self._telling.tell(event)
