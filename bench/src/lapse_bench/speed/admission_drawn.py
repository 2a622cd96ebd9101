"""Workspaces of any size to return into, drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from lapse.admission import Budget, Epochs, Policy, Returning, WorkItem, capture, difference, merge
from lapse.ledger import Interval, Kind, Outcome, Receipt, Scope, Source, Stamp, Status

if TYPE_CHECKING:
    from lapse.admission import Checkpoint

__all__ = [
    "DRAWN",
    "POLICY",
    "Drawn",
    "drawn_items",
    "drawn_return",
    "drawn_workspace",
    "some_changes",
]

DRAWN: Final = "admission-workspace-1"
"""The name of what is drawn; another way of drawing gets another number."""

_DESK: Final = "desk"
_MEMBER: Final = Scope(principal="A1", role="planner", task="trip")
_DEPARTED, _NOW = 900, 1000
"""The revisions at which the member leaves and returns: a tenth of the items came since."""

_OBLIGATIONS, _REQUIRED, _CRITICAL = 8, 4, 2
_DEPENDENCIES = 200
"""How many there are to support, of which the obligations require 32."""

_SHARE: Final = 0.2
"""How many rest on another item, and how many take a slot that another may have."""

POLICY: Final = Policy(observers=frozenset({_DESK}), budget=Budget(items=60, chars=8_000))


@dataclass(frozen=True, slots=True)
class Drawn:
    """A workspace to return into.

    Attributes:
        items: everything that is in it.
        checkpoint: the return into it.
    """

    items: tuple[WorkItem, ...]
    checkpoint: Checkpoint


def drawn_workspace(size: int, *, seed: int) -> Drawn:
    """A member that left such a workspace and returns into it (see `drawn_items`)."""
    items = drawn_items(size, seed=seed)
    departure = capture(
        (item for item in items if item.epochs.since <= _DEPARTED),
        _MEMBER,
        epoch=_DEPARTED,
        at=_DEPARTED,
    )
    returning = drawn_return()
    checkpoint = merge(departure, difference(departure, items, epoch=_NOW), returning)
    return Drawn(items, checkpoint)


def drawn_return() -> Returning:
    """The return into it."""
    who = replace(_MEMBER, purpose="booking")
    return Returning(cycle="r", who=who, epoch=_NOW, at=_NOW)


def drawn_items(size: int, *, seed: int) -> tuple[WorkItem, ...]:
    """So many items: a fifth rests on another, a fifth may share a slot with some other.

    Args:
        size: how many items, the obligations and frontiers among them.
        seed: decides every draw.
    """
    chance = random.Random(f"{DRAWN} {size} {seed}")
    items = list(_owed(chance))
    first = len(items)
    for number in range(size - first):
        rests = number > 0 and chance.random() < _SHARE
        resting = items[chance.randrange(first, len(items))] if rests else None
        shared = chance.random() < _SHARE
        items.append(
            _item(
                f"i{number:07}",
                "x" * chance.randrange(20, 200),
                chance.randrange(1, _NOW),
                slot=f"slot {chance.randrange(size) if shared else number}",
                supports=tuple(_dependency(chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))),
                rests_on=resting,
            )
        )
    return tuple(items)


def some_changes(
    items: dict[str, WorkItem], chance: random.Random, *, epoch: int, came: int, count: int = 10
) -> dict[str, WorkItem]:
    """The workspace after a few changes: what came, what ended, what was confirmed again.

    Args:
        items: the workspace by id; it stays as it is.
        chance: decides every draw.
        epoch: the revision that the changes lead to.
        came: how many of them are new items.
        count: how many changes there are.
    """
    now = dict(items)
    evidence = sorted(name for name in items if name.startswith("i"))
    for number in range(count):
        name = chance.choice(evidence)
        if number < came:
            text = "y" * chance.randrange(20, 200)
            new = f"n{epoch:05}-{number}"
            now[new] = _item(new, text, epoch, slot=new, supports=(_dependency(chance),))
        elif number % 2:
            seen = _receipt(Source.probe(_DESK, name), epoch)
            now[name] = replace(now[name], receipts=(*now[name].receipts, seen))
        else:
            ending = chance.choice((Status.REVOKED, Status.SUPERSEDED, Status.EVICTED))
            now[name] = now[name].with_status(ending)
    return now


def _owed(chance: random.Random) -> list[WorkItem]:
    found: list[WorkItem] = []
    for number in range(_OBLIGATIONS):
        first = number * _REQUIRED
        needs = tuple(f"d{first + at:03}" for at in range(_REQUIRED))
        since = chance.randrange(1, _DEPARTED)
        opens: dict[str, Any] = {
            "obligation": f"o{number}",
            "required": needs,
            "critical": needs[:_CRITICAL],
        }
        found.append(_item(f"o{number}", "Settle it", since, kind=Kind.OBLIGATION, **opens))
        tells = _item(f"p{number}", "Open", since, kind=Kind.FRONTIER, obligation=f"o{number}")
        found.append(tells)
    return found


def _dependency(chance: random.Random) -> str:
    return f"d{chance.randrange(_DEPENDENCIES):03}"


def _item(
    name: str,
    text: str,
    epoch: int,
    *,
    kind: Kind = Kind.FACT,
    rests_on: WorkItem | None = None,
    **more: Any,
) -> WorkItem:
    stamps: tuple[Stamp, ...] = ()
    receipts = (_receipt(Source.probe(_DESK, name), epoch),)
    if rests_on is not None:
        seen = rests_on.digest()
        stamps = (Stamp(Source.record(rests_on.id), seen),)
        receipts = (*receipts, _receipt(Source.record(rests_on.id), epoch, seen))
    return WorkItem(
        id=name,
        kind=kind,
        slot=more.pop("slot", name),
        text=text,
        writer="A2",
        epochs=Epochs(epoch),
        valid=Interval(epoch),
        stamps=stamps,
        receipts=receipts,
        **more,
    )


def _receipt(source: Source, at: int, seen: str = "") -> Receipt:
    return Receipt(observer=_DESK, source=source, at=at, digest=seen, outcome=Outcome.CONFIRMS)
