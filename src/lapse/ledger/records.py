"""One remembered thing, and the evidence for it.

A record never changes; what happens to it is a `Change`. Its status is derived from the changes:

::

    active ──► suspended ──► active              only a receipt or a diff leads back
    active | suspended | disputed ──► superseded | revoked | evicted
    active | suspended ──► disputed ──► active
    any of these ──► purged                      content gone, tombstone stays

Instants are whole microseconds since 1970-01-01T00:00:00Z: exact, ordered, and the same number in
every language.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# JSON is anything until its shape is matched.

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from sys import intern
from typing import TYPE_CHECKING, Any

from lapse.errors import InvalidValue
from lapse.ledger.encoding import JsonObject
from lapse.ledger.sources import Source
from lapse.ledger.stamps import Stamp

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "EVERYWHERE",
    "LIVE",
    "Instant",
    "Interval",
    "Kind",
    "Outcome",
    "Receipt",
    "Record",
    "Scope",
    "Status",
]

Instant = int
"""Microseconds since 1970-01-01T00:00:00Z."""


class Kind(StrEnum):
    """What sort of thing is remembered."""

    FIX = "fix"
    FACT = "fact"
    EXPERIENCE = "experience"
    OBLIGATION = "obligation"
    FRONTIER = "frontier"
    CONSTRAINT = "constraint"


class Status(StrEnum):
    """What may be done with a record now."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    SUPERSEDED = "superseded"
    REVOKED = "revoked"
    DISPUTED = "disputed"
    EVICTED = "evicted"
    PURGED = "purged"


LIVE = frozenset({Status.ACTIVE, Status.SUSPENDED, Status.DISPUTED})
"""The statuses from which a record can still become usable again."""


class Outcome(StrEnum):
    """What an observation said about the record."""

    CONFIRMS = "confirms"
    CONTRADICTS = "contradicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """For whom and for what a record may be used. None means: not limited in this respect."""

    tenant: str | None = None
    principal: str | None = None
    role: str | None = None
    task: str | None = None
    purpose: str | None = None

    def admits(self, asked: Scope) -> bool:
        """Whether a record of this scope may be used by somebody who asks under another.

        Every limit of the record has to be met by name: an asker that says nothing about a limited
        respect is refused.
        """
        return all(
            mine is None or mine == theirs
            for mine, theirs in zip(self.as_json(), asked.as_json(), strict=True)
        )

    def as_json(self) -> list[str | None]:
        """The form that is stored and digested."""
        return [self.tenant, self.principal, self.role, self.task, self.purpose]

    @classmethod
    def from_json(cls, value: Any) -> Scope:
        """Read what `as_json` wrote.

        Raises:
            InvalidValue: the value has another shape.
        """
        match value:
            case [
                (str() | None) as tenant,
                (str() | None) as principal,
                (str() | None) as role,
                (str() | None) as task,
                (str() | None) as purpose,
            ]:
                scope = cls(
                    tenant=tenant, principal=principal, role=role, task=task, purpose=purpose
                )
                return EVERYWHERE if scope == EVERYWHERE else scope
            case _:
                raise InvalidValue("scope", value, "pass [tenant, principal, role, task, purpose]")


EVERYWHERE = Scope()
"""No limits."""


@dataclass(frozen=True, slots=True)
class Interval:
    """When something holds: from `since` (inclusive) until `until` (exclusive; None: not ended)."""

    since: Instant
    until: Instant | None = None

    def __post_init__(self) -> None:
        """Refuse an interval that ends before it begins."""
        if self.until is not None and self.until < self.since:
            raise InvalidValue(
                "until", self.until, f"pass an instant at or after since ({self.since})"
            )

    def holds_at(self, instant: Instant) -> bool:
        """Whether the instant lies inside."""
        return self.since <= instant and (self.until is None or instant < self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Evidence, issued when a thing was written or observed, never when it is judged.

    Attributes:
        observer: who looked.
        source: what was looked at.
        at: when.
        digest: SHA-256 of what was seen, in hex; empty when only the outcome is known.
        outcome: whether it speaks for or against the record.
    """

    observer: str
    source: Source
    at: Instant
    digest: str
    outcome: Outcome

    def as_json(self) -> list[object]:
        """The form that is stored and digested."""
        return [self.observer, list(self.source), self.at, self.digest, self.outcome.value]

    @classmethod
    def from_json(cls, value: Any) -> Receipt:
        """Read what `as_json` wrote.

        Raises:
            InvalidValue: the value has another shape.
        """
        match value:
            case [
                str(observer),
                source,
                int(at),
                str(seen),
                ("confirms" | "contradicts") as outcome,
            ]:
                return cls(
                    observer=intern(observer),
                    source=Source.from_parts(source),
                    at=at,
                    digest=seen,
                    outcome=Outcome(outcome),
                )
            case _:
                raise InvalidValue("receipt", value, "pass [observer, source, at, digest, outcome]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One remembered thing.

    Attributes:
        id: opaque and unique in its ledger; it outlives a purge, so it must carry no personal data.
        kind: what sort of thing.
        slot: its stable key: who, what, which attribute. Two records of one slot are versions of
            the same thing.
        topic: what it is found by when the slot is not known: a fix's operation, a fact's subject.
        content: what is remembered, a JSON object; not to be changed after the record is built.
        valid: when it holds, by the wall clock.
        issuer: who the content came from; a fix is never used with another issuer. Empty: our own.
        scope: for whom and for what.
        stamps: what it depends on, as `vector` orders it.
        receipts: the evidence it was written with.
        epoch: the revision of the workspace it was written in; 0 where nobody counts.
        status: what may be done with it now.
    """

    id: str
    kind: Kind
    slot: str
    content: JsonObject
    valid: Interval
    topic: str = ""
    issuer: str = ""
    scope: Scope = EVERYWHERE
    stamps: tuple[Stamp, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    epoch: int = 0
    status: Status = Status.ACTIVE

    def with_status(self, status: Status) -> Record:
        """The same record in another status."""
        return self if status is self.status else replace(self, status=status)

    def with_receipt(self, receipt: Receipt) -> Record:
        """The same record with one more piece of evidence."""
        return replace(self, receipts=(*self.receipts, receipt))

    def rests_on(self) -> Iterator[tuple[Source, str | None]]:
        """The tables and rule sets under the stamps, each with the version it was seen at."""
        for stamp in self.stamps:
            source = stamp.source
            if source.kind == "row":
                if stamp.within is not None:
                    yield source.container, stamp.within
            elif source.kind in ("table", "rules"):
                yield source, stamp.version

    def restamped(self, table: Source, version: str) -> Record:
        """The same record, seen in a later version of a table in which its rows are the same."""
        return replace(
            self,
            stamps=tuple(
                replace(stamp, within=version)
                if stamp.source.kind == "row" and stamp.source.container == table
                else (replace(stamp, version=version) if stamp.source == table else stamp)
                for stamp in self.stamps
            ),
        )

    @classmethod
    def purged(cls, record_id: str) -> Record:
        """The tombstone of a purged record: its id, and that it was there."""
        return cls(
            id=record_id,
            kind=Kind.FACT,
            slot="",
            content={},
            valid=Interval(0),
            status=Status.PURGED,
        )

    def as_json(self) -> dict[str, object]:
        """Everything but id and status: the part that a purge removes."""
        return {
            "kind": self.kind.value,
            "slot": self.slot,
            "content": self.content,
            "valid": [self.valid.since, self.valid.until],
            "topic": self.topic,
            "issuer": self.issuer,
            "scope": self.scope.as_json(),
            "stamps": [stamp.as_json() for stamp in self.stamps],
            "receipts": [receipt.as_json() for receipt in self.receipts],
            "epoch": self.epoch,
        }

    @classmethod
    def from_json(cls, record_id: str, value: Any, status: Status = Status.ACTIVE) -> Record:
        """Read what `as_json` wrote.

        Raises:
            InvalidValue: the value has another shape; the message names the field.
        """
        match value:
            case {
                "kind": str(kind),
                "slot": str(slot),
                "content": dict(content),
                "valid": [int(since), (int() | None) as until],
                "topic": str(topic),
                "issuer": str(issuer),
                "scope": scope,
                "stamps": list(stamps),
                "receipts": list(receipts),
                "epoch": int(epoch),
            }:
                return cls(
                    id=record_id,
                    kind=_kind(kind),
                    slot=slot,
                    content=_named(
                        {n: _named(v) if isinstance(v, dict) else v for n, v in content.items()}
                    ),
                    valid=Interval(since, until),
                    topic=intern(topic),
                    issuer=intern(issuer),
                    scope=Scope.from_json(scope),
                    stamps=tuple(Stamp.from_json(stamp) for stamp in stamps),
                    receipts=tuple(Receipt.from_json(receipt) for receipt in receipts),
                    epoch=epoch,
                    status=status,
                )
            case _:
                raise InvalidValue("record", value, "pass an object as Record.as_json() gives it")


def _kind(name: str) -> Kind:
    try:
        return Kind(name)
    except ValueError:
        raise InvalidValue("kind", name, f"pass one of {', '.join(Kind)}") from None


def _named(members: dict[str, Any]) -> dict[str, Any]:
    """The same object with one string for each name that a million records use."""
    return {intern(name): value for name, value in members.items()}
