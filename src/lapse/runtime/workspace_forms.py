"""What a workspace keeps beside its items, as ordinary records.

None of these repeats what an item says: they name items by id, so a purge of an item takes its
words out of every departure, decision and view as well.

| form | slot | says |
| --- | --- | --- |
| departure | one for each identity | after which change a member left; a digest of what it saw |
| cycle | one for each return | how a return was decided, and the signature of its view |
| notice | its own | who ended, disputed or brought back which items, and why |
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# JSON is anything until its shape is matched.

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapse.errors import InvalidValue
from lapse.ledger import Head, Instant, Interval, Kind, Record, Scope, encode

if TYPE_CHECKING:
    from lapse.admission import Departure

__all__ = ["Departed", "Notice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Departed:
    """That a member left: what it could see is what the chain adds up to at `head`.

    Attributes:
        id: the record's id.
        member: its tenant, principal, role and task.
        epoch: the last revision that it saw.
        at: when it left.
        head: the end of the chain that it left with.
        digest: of the `Departure`.
    """

    id: str
    member: Scope
    epoch: int
    at: Instant
    head: Head
    digest: str

    @classmethod
    def of_departure(cls, record_id: str, departure: Departure, head: Head) -> Departed:
        """What is kept of a departure that was captured at the head of a chain."""
        return cls(
            id=record_id,
            member=departure.member,
            epoch=departure.epoch,
            at=departure.at,
            head=head,
            digest=departure.digest(),
        )

    @staticmethod
    def slot(member: Scope) -> str:
        """The slot of an identity's departures; the live one is the latest."""
        return f"workspace/departure/{encode(member.as_json()).decode()}"

    def record(self) -> Record:
        """The ledger record that says this."""
        return Record(
            id=self.id,
            kind=Kind.FACT,
            slot=self.slot(self.member),
            content={
                "form": "departure",
                "after": [self.head.seq, self.head.digest],
                "digest": self.digest,
            },
            valid=Interval(self.at),
            scope=self.member,
            epoch=self.epoch,
        )

    @classmethod
    def of(cls, record: Record) -> Departed:
        """Read a record that `record` wrote.

        Raises:
            InvalidValue: it holds something else.
        """
        match record.content:
            case {"form": "departure", "after": [int(seq), str(link)], "digest": str(seen)}:
                return cls(
                    id=record.id,
                    member=record.scope,
                    epoch=record.epoch,
                    at=record.valid.since,
                    head=Head(seq, link),
                    digest=seen,
                )
            case _:
                remedy = "pass what Departed.record() gives"
                raise InvalidValue("content", record.content, remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A decision about items that wrote none.

    Attributes:
        id: the record's id.
        what: ``revoked``, ``closed``, ``disputed``, ``restored`` or ``resolved``.
        items: the ids of the items concerned, the one that was named first.
        by: who decided.
        why: in that one's words.
        epoch: the revision that it made.
        at: when.
    """

    id: str
    what: str
    items: tuple[str, ...]
    by: str
    why: str
    epoch: int
    at: Instant

    def record(self, tenant: str | None) -> Record:
        """The ledger record that says this."""
        return Record(
            id=self.id,
            kind=Kind.FACT,
            slot=f"workspace/notice/{self.id}",
            content={
                "form": "notice",
                "what": self.what,
                "items": list(self.items),
                "by": self.by,
                "why": self.why,
            },
            valid=Interval(self.at),
            scope=Scope(tenant=tenant),
            epoch=self.epoch,
        )

    @classmethod
    def of(cls, record: Record) -> Notice:
        """Read a record that `record` wrote.

        Raises:
            InvalidValue: it holds something else.
        """
        match record.content:
            case {
                "form": "notice",
                "what": str(what),
                "items": list(items),
                "by": str(by),
                "why": str(why),
            }:
                return cls(
                    id=record.id,
                    what=what,
                    items=ids("items", items),
                    by=by,
                    why=why,
                    epoch=record.epoch,
                    at=record.valid.since,
                )
            case _:
                raise InvalidValue("content", record.content, "pass what Notice.record() gives")


def ids(field: str, values: list[Any]) -> tuple[str, ...]:
    """A list of ids as it was stored.

    Raises:
        InvalidValue: it holds something else.
    """
    for value in values:
        if not isinstance(value, str):
            raise InvalidValue(field, value, "pass a list of ids")
    return tuple(values)
