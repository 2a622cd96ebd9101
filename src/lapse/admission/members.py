"""Members of a workspace, and where each of them is in the cycle of leaving and returning.

::

    active | admitted ──depart──► absent ──begin_return──► returning ──admit──► admitted
                                                            │  ▲  ▲│
                                                        block  │  └┘ begin_return
                                                            ▼  │ begin_return
                                                           blocked

A member keeps principal, role and task over an absence; nothing else is assumed to survive it. Each
step gives a new value, which is written as a version of the same slot.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# JSON is anything until its shape is matched.

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from lapse.errors import IllegalChange, InvalidValue
from lapse.ledger import Instant, Interval, Kind, Record, Scope, encode

__all__ = ["Member", "Presence"]

_FORM = "member"
"""The member of a record's content that makes it a membership."""


class Presence(StrEnum):
    """Where a member is."""

    ACTIVE = "active"
    ABSENT = "absent"
    RETURNING = "returning"
    ADMITTED = "admitted"
    BLOCKED = "blocked"


_MAY_FOLLOW = {
    Presence.ABSENT: frozenset({Presence.ACTIVE, Presence.ADMITTED}),
    Presence.RETURNING: frozenset({Presence.ABSENT, Presence.BLOCKED, Presence.RETURNING}),
    Presence.ADMITTED: frozenset({Presence.RETURNING}),
    Presence.BLOCKED: frozenset({Presence.RETURNING}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """An agent under its principal, role and task.

    Attributes:
        identity: tenant, principal, role and task; the principal and the role are named.
        presence: where it is.
        epoch: the revision of the workspace at its last step.
        at: when that was.
        cycle: the return cycle of that step; empty before the first return.
        departed: the last revision that it saw; None while it never left.
    """

    identity: Scope
    presence: Presence
    epoch: int
    at: Instant
    cycle: str = ""
    departed: int | None = None

    def __post_init__(self) -> None:
        """Refuse a member that nobody could recognise when it returns."""
        if self.identity.principal is None or self.identity.role is None:
            raise InvalidValue("identity", self.identity, "name the principal and the role")
        if self.identity.purpose is not None:
            raise InvalidValue("identity", self.identity, "a purpose belongs to a return")

    def depart(self, *, epoch: int, at: Instant) -> Member:
        """It left; `epoch` is the last revision that it saw.

        Raises:
            IllegalChange: it is not here.
        """
        return replace(self._step(Presence.ABSENT, epoch, at), departed=epoch)

    def begin_return(self, *, cycle: str, epoch: int, at: Instant) -> Member:
        """It is back, and nothing is decided; a blocked member may try again in another cycle.

        So may one whose return was broken off: the new cycle takes over.

        Raises:
            IllegalChange: it never left, or the cycle was used already.
        """
        if cycle == self.cycle:
            raise IllegalChange(f"cycle {cycle!r} was used already; begin another")
        return replace(self._step(Presence.RETURNING, epoch, at), cycle=cycle)

    def admit(self, *, epoch: int, at: Instant) -> Member:
        """It works again, with a view or with nothing inherited.

        Raises:
            IllegalChange: it is not returning.
        """
        return self._step(Presence.ADMITTED, epoch, at)

    def block(self, *, epoch: int, at: Instant) -> Member:
        """It waits until what is missing is there.

        Raises:
            IllegalChange: it is not returning.
        """
        return self._step(Presence.BLOCKED, epoch, at)

    def _step(self, presence: Presence, epoch: int, at: Instant) -> Member:
        if self.presence not in _MAY_FOLLOW[presence]:
            raise IllegalChange(f"a member that is {self.presence} cannot become {presence}")
        if epoch < self.epoch:
            raise IllegalChange(f"revision {epoch} is before the member's last, {self.epoch}")
        return replace(self, presence=presence, epoch=epoch, at=at)

    @property
    def slot(self) -> str:
        """The slot of its records: one for each identity."""
        return f"workspace/member/{encode(self.identity.as_json()).decode()}"

    def record(self, record_id: str) -> Record:
        """The ledger record that says this."""
        return Record(
            id=record_id,
            kind=Kind.FACT,
            slot=self.slot,
            content={
                "form": _FORM,
                "presence": self.presence.value,
                "cycle": self.cycle,
                "departed": self.departed,
            },
            valid=Interval(self.at),
            scope=self.identity,
            epoch=self.epoch,
        )

    @classmethod
    def of(cls, record: Record) -> Member:
        """Read a record that `record` wrote.

        Raises:
            InvalidValue: it holds something else.
        """
        match record.content:
            case {
                "form": "member",
                "presence": ("active" | "absent" | "returning" | "admitted" | "blocked") as name,
                "cycle": str(cycle),
                "departed": (int() | None) as departed,
            }:
                return cls(
                    identity=record.scope,
                    presence=Presence(name),
                    epoch=record.epoch,
                    at=record.valid.since,
                    cycle=cycle,
                    departed=departed,
                )
            case _:
                raise InvalidValue("content", record.content, "pass what Member.record() gives")
