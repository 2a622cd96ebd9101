"""What may happen to work state, as drafts for the ledger.

An item is replaced, withdrawn as false, closed because it is over, or disputed: four things that
the ledger keeps apart. What rests on it, however far up, is suspended in the same breath and never
ended: it may be right for another reason. What is replaced by the same words takes nothing along.
Everything is undone by writing and nothing by unwriting: a receipt lifts what is suspended or
disputed, and what has ended is said again in a new item.

::

    drafts = end(state, [sunrise.id], Ending.CLOSED, at=now, actor="A2", salt=salt)
    store.append(seal(drafts, state.head), after=state.head)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from lapse.admission.inventory import live_item
from lapse.admission.lifecycle import may_replace, same_words
from lapse.admission.premises import premise_cycle
from lapse.admission.reasons import Reason
from lapse.errors import InvalidValue
from lapse.ledger import ChangeKind, Draft, Outcome, Part, Receipt, Source, Status, writing

if TYPE_CHECKING:
    from lapse.admission.items import WorkItem
    from lapse.ledger import Instant, State

__all__ = ["Ending", "end", "give_way", "lift", "put"]


class Ending(StrEnum):
    """How an item stops standing; also the reason code of the change."""

    SUPERSEDED = "superseded"
    """Another item took its place."""
    REVOKED = "revoked"
    """It was never true."""
    CLOSED = "closed"
    """It was true, and it is over."""
    DISPUTED = "disputed"
    """It is contradicted, and nobody has decided."""


_CHANGES = {
    Ending.SUPERSEDED: ChangeKind.SUPERSEDED,
    Ending.REVOKED: ChangeKind.REVOKED,
    Ending.CLOSED: ChangeKind.EVICTED,
    Ending.DISPUTED: ChangeKind.DISPUTED,
}


def put(
    state: State,
    item: WorkItem,
    ranks: Mapping[str, int],
    *,
    at: Instant,
    actor: str,
    salt: str,
) -> tuple[Draft, ...]:
    """Write an item, and end what it replaces where its authority suffices.

    Where it does not, the item is disputed as soon as it is written: it is kept, it changes
    nothing, and it does not come up by itself when what it opposes is withdrawn.

    Args:
        state: the ledger as it is.
        item: the new item.
        ranks: the rank of each name of authority, as for `explicit`.
        at: when it is decided.
        actor: who decides.
        salt: random text, of its own for each decision.

    Raises:
        InvalidValue: it would take for granted, through others, what it states itself; the message
            names the circle.
    """
    circle = premise_cycle(state, item)
    if circle:
        remedy = "stamp what it was observed from, and not what was concluded from it"
        raise InvalidValue("stamps", " > ".join((*circle, circle[0])), remedy)
    drafts = writing(state, item.record(), at=at, reason="stated", actor=actor, salt=salt)
    replaced = [one for name in item.replaces if (one := live_item(state, name)) is not None]
    opposed = [one.id for one in replaced if not may_replace(item, one, ranks)]
    if opposed:
        part = Part.of(item.id, {"by": opposed[0]}, salt=salt)
        reason = Reason.LACKS_AUTHORITY.value
        disputed = ChangeKind.DISPUTED
        return (*drafts, Draft(kind=disputed, at=at, reason=reason, actor=actor, parts=(part,)))
    return drafts + give_way(state, item, replaced, at=at, actor=actor, salt=salt)


def give_way(
    state: State,
    item: WorkItem,
    replaced: Collection[WorkItem],
    *,
    at: Instant,
    actor: str,
    salt: str,
) -> tuple[Draft, ...]:
    """End what an item replaces; what rests on the same words rests on it, and is not suspended.

    Args:
        state: the ledger as it is.
        item: the new item.
        replaced: live items; none: nothing happens.
        at: when it is decided.
        actor: who decides.
        salt: random text, of its own for each decision.
    """
    again = {
        one.id
        for one in replaced
        if one.slot == item.slot and one.id not in item.rests_on and same_words(one, item)
    }
    drafts: tuple[Draft, ...] = ()
    if again:
        parts = tuple(Part.of(name, {"by": item.id}, salt=salt) for name in sorted(again))
        kind, told = ChangeKind.SUPERSEDED, Ending.SUPERSEDED.value
        drafts = (Draft(kind=kind, at=at, reason=told, actor=actor, parts=parts),)
    others = [one.id for one in replaced if one.id not in again]
    if others:
        ending = Ending.SUPERSEDED
        drafts += end(state, others, ending, at=at, actor=actor, salt=salt, by=item.id)
    return drafts


def end(
    state: State,
    ids: Collection[str],
    ending: Ending,
    *,
    at: Instant,
    actor: str,
    salt: str,
    by: str = "",
) -> tuple[Draft, ...]:
    """Let items stop standing, and suspend what rests on them.

    Args:
        state: the ledger as it is.
        ids: the items; at least one.
        ending: how.
        at: when it is decided.
        actor: who decides.
        salt: random text, of its own for each decision.
        by: the id of the item that brought them down; empty where none did.

    Raises:
        InvalidValue: there is no such item, or it has ended already.
    """
    for item_id in ids:
        if live_item(state, item_id) is None:
            raise InvalidValue("ids", item_id, "name work-state items that have not ended")
    told = tuple(Part.of(name, {"by": by}, salt=salt) for name in sorted(ids))
    kind = _CHANGES[ending]
    drafts = [Draft(kind=kind, at=at, reason=ending.value, actor=actor, parts=told)]
    resting = tuple(
        Part.of(name, {"by": needed}, salt=salt) for name, needed in _resting_on(state, ids)
    )
    if resting:
        drafts.append(
            Draft(
                kind=ChangeKind.SUSPENDED,
                at=at,
                reason=Reason.DEPENDENCY_LAPSED.value,
                actor=actor,
                parts=resting,
            )
        )
    return tuple(drafts)


def lift(
    state: State, item_id: str, receipt: Receipt, *, at: Instant, actor: str, salt: str
) -> tuple[Draft, ...]:
    """Let a suspended or disputed item stand again, for a receipt that confirms it.

    Raises:
        InvalidValue: the receipt speaks against it, or the item is neither suspended nor disputed.
    """
    if receipt.outcome is not Outcome.CONFIRMS:
        raise InvalidValue("receipt", receipt.outcome.value, "pass a receipt that confirms it")
    item = live_item(state, item_id)
    if item is None or item.status is Status.ACTIVE:
        raise InvalidValue("item_id", item_id, "name an item that is suspended or disputed")
    seen = Part.of(item_id, receipt.as_json(), salt=salt)
    back = Part.of(item_id, {}, salt=salt)
    reason = "confirmed"
    return (
        Draft(kind=ChangeKind.WITNESSED, at=at, reason=reason, actor=actor, parts=(seen,)),
        Draft(kind=ChangeKind.REINSTATED, at=at, reason=reason, actor=actor, parts=(back,)),
    )


def _resting_on(state: State, ids: Collection[str]) -> list[tuple[str, str]]:
    """What is active and rests on these, however far up, by id, each with what it rests on."""
    found: dict[str, str] = {}
    reached, waiting = set(ids), sorted(ids)
    while waiting:
        needed = waiting.pop()
        for name in sorted(state.index.on(Source.record(needed))):
            if name not in reached:
                reached.add(name)
                waiting.append(name)
                if state.record(name).status is Status.ACTIVE:
                    found[name] = needed
    return sorted(found.items())
