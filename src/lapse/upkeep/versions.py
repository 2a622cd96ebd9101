"""What a look does to what is remembered: drafts for the ledger.

An item is doubted, seen to hold, seen to be gone, or seen to be back. Use is closed by suspending,
and the comparator goes on watching: whatever passes by is compared with every version of the item
that may come back, the suspended ones too. So a world that returns to where it was brings the old
version back, and nothing is written anew; a world that goes somewhere new is answered with another
version, never with a deletion (docs/decisions/0097).

A version is known by what was seen when it was confirmed: a receipt with the same source and the
same digest fits it. Trust comes back with a receipt and never with time.

::

    answer = respond(state, item.id, seen, repair=None, at=now, actor="upkeep", salt=salt)
    store.append(seal(answer.drafts, state.head), after=state.head)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue
from lapse.ledger import LIVE, ChangeKind, Draft, Outcome, Part, Source, Status, writing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from lapse.ledger import Instant, Receipt, Record, State

__all__ = ["Finding", "Repair", "Response", "close", "fits", "respond", "versions"]

_LAPSED_BELOW = "dependency_lapsed"
"""The reason under which what rests on something that lapsed is suspended, as admission has it."""


class Finding(StrEnum):
    """What a look has found; also the reason code of the changes that follow."""

    CONFIRMED = "confirmed"
    """The version in use holds."""
    RETURNED = "returned"
    """A version that was suspended holds."""
    REPLACED = "replaced"
    """None does, and what does was found out: it is written as another version."""
    CONTRADICTED = "contradicted"
    """None does, and what does is not known: use is closed."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What holds instead, found out by looking.

    Attributes:
        version: the record to write; it carries a receipt that what was seen fits.
        keep: how many versions may come back, this one included: 1 supersedes every other.
    """

    version: Record
    keep: int = 2

    def __post_init__(self) -> None:
        """Refuse to keep nothing."""
        if self.keep < 1:
            raise InvalidValue("keep", self.keep, "keep at least the new version")


@dataclass(frozen=True, slots=True)
class Response:
    """What a look has found, and what to do about it.

    Attributes:
        finding: what it has found.
        version: the id of the version that holds; None where none that is known does.
        drafts: what happens to the ledger.
    """

    finding: Finding
    version: str | None
    drafts: tuple[Draft, ...]


def versions(state: State, item: Record) -> tuple[Record, ...]:
    """The live versions of an item, itself included: one slot, issuer, kind and scope."""
    return tuple(
        one
        for one in state.in_slot(item.issuer, item.slot)
        if one.kind is item.kind and one.scope == item.scope
    )


def fits(version: Record, seen: Receipt) -> bool:
    """Whether what was seen is what was seen when the version was confirmed."""
    return bool(seen.digest) and any(
        one.outcome is Outcome.CONFIRMS and (one.source, one.digest) == (seen.source, seen.digest)
        for one in version.receipts
    )


def close(
    state: State, ids: Collection[str], *, at: Instant, actor: str, salt: str
) -> tuple[Draft, ...]:
    """Close the use of items whose doubt is past the threshold, and of what rests on them.

    Args:
        state: the ledger as it is.
        ids: active items; at least one.
        at: when it is decided.
        actor: who decides.
        salt: random text, of its own for each decision.

    Raises:
        InvalidValue: there are none, or one of them is not active.
        UnknownRecord: there is no such item.
    """
    if not ids:
        raise InvalidValue("ids", ids, "name at least one item")
    for name in ids:
        if state.record(name).status is not Status.ACTIVE:
            raise InvalidValue("ids", name, "name active items")
    pen = _Pen(state, at, actor, salt)
    return (*pen.about(ChangeKind.SUSPENDED, "doubted", ids), *pen.below(ids))


def respond(
    state: State,
    item_id: str,
    seen: Receipt,
    *,
    repair: Repair | None,
    at: Instant,
    actor: str,
    salt: str,
) -> Response:
    """What a look at an item means, and what happens.

    Args:
        state: the ledger as it is.
        item_id: any live version of the item.
        seen: what was seen. Its outcome counts only where it has no digest: then nothing but the
            active version can be confirmed, and nothing can be recognised.
        repair: what holds now, if it was found out; written only where no version fits.
        at: when it is decided.
        actor: who decides.
        salt: random text, of its own for each decision.

    Raises:
        InvalidValue: the item has ended, or the repair is not a version of it or not known by what
            was seen.
        UnknownRecord: there is no such item.
    """
    item = state.record(item_id)
    if item.status not in LIVE:
        raise InvalidValue("item_id", item_id, "name an item that has not ended")
    known = versions(state, item)
    active = [one for one in known if one.status is Status.ACTIVE]
    if seen.digest:
        fitting = [one for one in known if fits(one, seen)]
    else:
        fitting = active if seen.outcome is Outcome.CONFIRMS else []
    pen = _Pen(state, at, actor, salt)
    if fitting:
        return _holds(pen, fitting[-1], active, seen)
    if repair is not None:
        _check_repair(item, repair.version, seen)
        return _replaced(pen, item, known, repair, seen)
    reason = Finding.CONTRADICTED
    drafts = pen.witnessed(active or [item], seen, Outcome.CONTRADICTS, reason)
    return Response(reason, None, (*drafts, *pen.suspended(active, reason)))


def _holds(pen: _Pen, version: Record, active: list[Record], seen: Receipt) -> Response:
    """A version that is known holds; whatever else is in use does not."""
    back = version.status is Status.SUSPENDED
    reason = Finding.RETURNED if back else Finding.CONFIRMED
    gone = [one for one in active if seen.digest and not fits(one, seen)]
    drafts = [
        *pen.witnessed(gone, seen, Outcome.CONTRADICTS, Finding.CONTRADICTED),
        *pen.suspended(gone, Finding.CONTRADICTED),
        *pen.witnessed([version], seen, Outcome.CONFIRMS, reason),
    ]
    if back:
        drafts += pen.about(ChangeKind.REINSTATED, reason, [version.id])
    return Response(reason, version.id, tuple(drafts))


def _replaced(
    pen: _Pen, item: Record, known: tuple[Record, ...], repair: Repair, seen: Receipt
) -> Response:
    """None that is known holds: the rest waits, as many as may come back, and one is written."""
    reason = Finding.REPLACED
    active = [one for one in known if one.status is Status.ACTIVE]
    waiting = [one for one in known if one.status is not Status.DISPUTED]
    waiting.sort(key=_confirmed_at, reverse=True)
    over, version = waiting[repair.keep - 1 :], repair.version
    kept = [one for one in active if one not in over]
    writes = writing(pen.state, version, at=pen.at, reason=reason, actor=pen.actor, salt=pen.salt)
    drafts = (
        *pen.witnessed(active or [item], seen, Outcome.CONTRADICTS, Finding.CONTRADICTED),
        *pen.about(ChangeKind.SUSPENDED, Finding.CONTRADICTED, [one.id for one in kept]),
        *writes,
        *pen.about(ChangeKind.SUPERSEDED, reason, [one.id for one in over], by=version.id),
        *pen.below([one.id for one in (*kept, *over)]),
    )
    return Response(reason, version.id, drafts)


def _confirmed_at(version: Record) -> Instant:
    """When a version was last seen to hold; when it was to begin, if never."""
    seen = [one.at for one in version.receipts if one.outcome is Outcome.CONFIRMS]
    return max(seen, default=version.valid.since)


def _check_repair(item: Record, repair: Record, seen: Receipt) -> None:
    """Refuse a repair that is not a version of the item, or could not be recognised."""
    for field in ("slot", "issuer", "kind", "scope"):
        if getattr(repair, field) != getattr(item, field):
            remedy = f"write it with the {field} of the item, {getattr(item, field)!r}"
            raise InvalidValue(f"repair.{field}", getattr(repair, field), remedy)
    if not fits(repair, seen):
        remedy = "give it a receipt that confirms it, with the source and digest of what was seen"
        raise InvalidValue("repair.receipts", repair.receipts, remedy)


@dataclass(frozen=True, slots=True)
class _Pen:
    """What all drafts of one decision have in common."""

    state: State
    at: Instant
    actor: str
    salt: str

    def about(
        self, kind: ChangeKind, reason: str, ids: Collection[str], *, by: str = ""
    ) -> tuple[Draft, ...]:
        """One change for some records; none for none."""
        said = {"by": by} if by else {}
        parts = tuple(Part.of(name, said, salt=self.salt) for name in sorted(ids))
        if not parts:
            return ()
        return (Draft(kind=kind, at=self.at, reason=reason, actor=self.actor, parts=parts),)

    def witnessed(
        self, records: Iterable[Record], seen: Receipt, outcome: Outcome, reason: Finding
    ) -> tuple[Draft, ...]:
        """A receipt for each of some records."""
        said = replace(seen, outcome=outcome).as_json()
        parts = tuple(Part.of(one.id, said, salt=self.salt) for one in records)
        if not parts:
            return ()
        kind = ChangeKind.WITNESSED
        return (Draft(kind=kind, at=self.at, reason=reason, actor=self.actor, parts=parts),)

    def suspended(self, records: Collection[Record], reason: Finding) -> tuple[Draft, ...]:
        """Some records suspended, and what rests on them."""
        ids = [one.id for one in records]
        return (*self.about(ChangeKind.SUSPENDED, reason, ids), *self.below(ids))

    def below(self, ids: Collection[str]) -> tuple[Draft, ...]:
        """What is active and rests on some records, however far up, suspended."""
        found: dict[str, str] = {}
        reached, waiting = set(ids), sorted(ids)
        while waiting:
            needed = waiting.pop()
            for name in sorted(self.state.index.on(Source.record(needed))):
                if name not in reached:
                    reached.add(name)
                    waiting.append(name)
                    if self.state.record(name).status is Status.ACTIVE:
                        found[name] = needed
        parts = tuple(
            Part.of(name, {"by": needed}, salt=self.salt) for name, needed in sorted(found.items())
        )
        if not parts:
            return ()
        kind, reason = ChangeKind.SUSPENDED, _LAPSED_BELOW
        return (Draft(kind=kind, at=self.at, reason=reason, actor=self.actor, parts=parts),)
