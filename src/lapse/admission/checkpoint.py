"""What a member knew when it left, what happened since, and both together: C = D ⊕ Δ (paper, 3.1).

A departure holds what the member could see. A delta is what the workspace gained, lost and judged
otherwise since. The checkpoint of a return is made of the two, is never changed, and its digest is
cited by every decision that follows; a later return makes another. A digest is SHA-256 over a head
and the root of the items (see `lapse.admission.digests`), as compact JSON, and any change of any
item changes it.

The delta is broad on purpose: an item that the member may not see can still end one that it may.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lapse.admission.digests import Root
from lapse.errors import InvalidValue
from lapse.ledger import Instant, Scope, digest, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lapse.admission.items import WorkItem

__all__ = [
    "Checkpoint",
    "Delta",
    "Departure",
    "Returning",
    "capture",
    "difference",
    "further",
    "merge",
    "same_record",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """D: what a member could see when it left.

    Attributes:
        member: its tenant, principal, role and task.
        epoch: the last revision that it saw.
        at: when it left.
        items: by id, each as it was then.
    """

    member: Scope
    epoch: int
    at: Instant
    items: tuple[WorkItem, ...]
    _root: list[Root] = field(default_factory=list[Root], init=False, repr=False, compare=False)

    @property
    def root(self) -> Root:
        """The digest of its items; computed once."""
        return _once(self._root, self.items)

    def digest(self) -> str:
        """SHA-256 of the whole, in hex."""
        root = self.root
        head = ["lapse departure", 2, self.member.as_json(), self.epoch, self.at]
        return digest(encode([*head, root.count, root.hex()]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """Δ: what is otherwise in the workspace than the member knew.

    Attributes:
        departure: the digest of the departure it starts from.
        since: that departure's revision.
        until: the revision it leads to.
        added: items that the member did not have, by id.
        changed: items that it had and whose status or receipts are others now, as they are now.
        gone: ids of items that it had and that were purged since.
    """

    departure: str
    since: int
    until: int
    added: tuple[WorkItem, ...]
    changed: tuple[WorkItem, ...]
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Returning:
    """Who returns, into which revision, when; all of a cycle's decisions are bound to it.

    Attributes:
        cycle: the id of this return; never used twice.
        who: principal, role and purpose are named; the task and tenant where there are any.
        epoch: the revision of the workspace that the return is decided in.
        at: the one instant that the cycle sees.
    """

    cycle: str
    who: Scope
    epoch: int
    at: Instant

    def __post_init__(self) -> None:
        """Refuse a return that no view could be bound to."""
        if not self.cycle:
            raise InvalidValue("cycle", self.cycle, "pass an id of its own for each return")
        for name in ("principal", "role", "purpose"):
            if getattr(self.who, name) is None:
                raise InvalidValue(name, None, "name principal, role and purpose of the return")

    def as_json(self) -> list[Any]:
        """The form that is digested and signed."""
        return [self.cycle, self.who.as_json(), self.epoch, self.at]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """C: the one state that a return cycle decides on.

    Attributes:
        returning: who returns, when.
        departure: the digest of the departure it starts from.
        departed: that departure's revision; what was written later came while the member was away.
        items: every candidate, by id.
    """

    returning: Returning
    departure: str
    departed: int
    items: tuple[WorkItem, ...]
    _root: list[Root] = field(default_factory=list[Root], init=False, repr=False, compare=False)

    @property
    def root(self) -> Root:
        """The digest of its items; computed once, from that of the departure where there is one."""
        return _once(self._root, self.items)

    @classmethod
    def under(
        cls,
        root: Root,
        *,
        returning: Returning,
        departure: str,
        departed: int,
        items: tuple[WorkItem, ...],
    ) -> Checkpoint:
        """A checkpoint over items whose digest is known already, by whoever calls."""
        made = cls(returning=returning, departure=departure, departed=departed, items=items)
        made._root.append(root)
        return made

    def digest(self) -> str:
        """SHA-256 of the whole, in hex."""
        root = self.root
        head = ["lapse checkpoint", 2, self.returning.as_json(), self.departure, self.departed]
        return digest(encode([*head, root.count, root.hex()]))


def capture(items: Iterable[WorkItem], member: Scope, *, epoch: int, at: Instant) -> Departure:
    """What a member can see now, under its tenant, principal, role and task.

    For which purpose it will return is not known yet, so purposes are left to the gates.
    """
    seen = (item for item in items if replace(item.scope, purpose=None).admits(member))
    return Departure(member=member, epoch=epoch, at=at, items=_by_id(seen))


def difference(departure: Departure, items: Iterable[WorkItem], *, epoch: int) -> Delta:
    """What is otherwise now than at the departure.

    Args:
        departure: what the member had.
        items: the whole work state now, ended items too.
        epoch: the revision now.

    Raises:
        InvalidValue: the revision is before the departure's, or an item says something else than it
            did: no record ever changes, so the ledger behind it has to be examined.
    """
    return _delta(departure.items, items, departure.digest(), departure.epoch, epoch)


def further(checkpoint: Checkpoint, items: Iterable[WorkItem], *, epoch: int) -> Delta:
    """What is otherwise now than in a checkpoint: from the departure's digest, since its revision.

    Args:
        checkpoint: what was decided on.
        items: the whole work state now, ended items too.
        epoch: the revision now.

    Raises:
        InvalidValue: as `difference`.
    """
    since = checkpoint.returning.epoch
    return _delta(checkpoint.items, items, checkpoint.departure, since, epoch)


def _delta(
    before: Iterable[WorkItem], items: Iterable[WorkItem], departure: str, since: int, until: int
) -> Delta:
    if until < since:
        raise InvalidValue("epoch", until, f"pass a revision from {since} on")
    had = {item.id: item for item in before}
    added: list[WorkItem] = []
    changed: list[WorkItem] = []
    for item in items:
        known = had.pop(item.id, None)
        if known is None:
            added.append(item)
        elif known is not item and known != item:
            same_record(known, item)
            changed.append(item)
    return Delta(
        departure=departure,
        since=since,
        until=until,
        added=_by_id(added),
        changed=_by_id(changed),
        gone=tuple(sorted(had)),
    )


def same_record(before: WorkItem, now: WorkItem) -> None:
    """Refuse an item that says something else than it did; status and receipts may be others.

    Raises:
        InvalidValue: it does.
    """
    if replace(now, status=before.status, receipts=before.receipts) != before:
        remedy = "a record never changes; run 'lapse ledger verify'"
        raise InvalidValue("items", now.id, remedy)


def merge(departure: Departure, delta: Delta, returning: Returning) -> Checkpoint:
    """D ⊕ Δ, for one return.

    Raises:
        InvalidValue: the delta starts or ends elsewhere, or somebody else returns than left.
    """
    if delta.departure != departure.digest():
        raise InvalidValue("departure", delta.departure, "pass the departure the delta starts from")
    if returning.epoch != delta.until:
        raise InvalidValue("epoch", returning.epoch, f"return into the revision {delta.until}")
    if replace(returning.who, purpose=None) != departure.member:
        raise InvalidValue("who", returning.who, "return under the identity that left")
    items = {item.id: item for item in departure.items}
    less = [_had(items, name) for name in (*delta.gone, *(item.id for item in delta.changed))]
    more = (*delta.added, *delta.changed)
    return Checkpoint.under(
        departure.root.changed(less=less, more=more),
        returning=returning,
        departure=delta.departure,
        departed=departure.epoch,
        items=_by_id((*items.values(), *more)),
    )


def _once(known: list[Root], items: Iterable[WorkItem]) -> Root:
    if not known:
        known.append(Root.of(items))
    return known[0]


def _had(items: dict[str, WorkItem], item_id: str) -> WorkItem:
    try:
        return items.pop(item_id)
    except KeyError:
        remedy = "pass what difference() gave: each item of the departure at most once"
        raise InvalidValue("delta", item_id, remedy) from None


def _by_id(items: Iterable[WorkItem]) -> tuple[WorkItem, ...]:
    ordered: Sequence[WorkItem] = sorted(items, key=lambda item: item.id)
    for first, second in pairwise(ordered):
        if first.id == second.id:
            raise InvalidValue("items", first.id, "pass each item once")
    return tuple(ordered)
