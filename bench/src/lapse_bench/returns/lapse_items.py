"""What an episode says, as the work state that a careful writer would have left.

| a claim | in the workspace |
| --- | --- |
| states a value | a fact in its slot, with a receipt of the log |
| names what it replaces | the same, as a link |
| was concluded from others | stamps at their digests, with receipts that bind it to them |
| takes slots for granted | stamps at what those were worth, whoever says so again |
| withdraws | what stands in the slot, and what it names, is closed: it was true and is over |

Nothing here looks at what holds. Receipts are dated when the claim was written, never at the
return.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lapse.admission import LONGEST_TEXT, LONGEST_VALUE, Epochs, WorkItem
from lapse.ledger import (
    Interval,
    Kind,
    Outcome,
    Receipt,
    Scope,
    Source,
    Stamp,
    Status,
    digest,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lapse_bench.returns.episodes import Claim, ReturnEpisode

__all__ = ["LOG", "MEMBER", "OBLIGATION", "SETTLED", "obligation", "ranks_of", "worked"]

LOG: Final = "log"
"""Who saw every claim being made: the workspace's own log."""

MEMBER: Final = Scope(principal="returning agent", role="worker", task="task")
"""Who left and comes back."""

OBLIGATION: Final = "obligation"
"""The id of what the agent comes back to do; its progress is `frontier`."""

SETTLED: Final = "settled"
"""The authority of a ruling on a dispute: above every writer's."""


def ranks_of(episode: ReturnEpisode) -> dict[str, int]:
    """The ranks of the authorities in an episode, and above them that of a ruling."""
    known = sorted({claim.authority for claim in episode.written})
    return {**{str(one): rank for rank, one in enumerate(known)}, SETTLED: len(known)}


def worked(claims: Iterable[Claim], *, premises: bool = True) -> dict[str, WorkItem]:
    """The items that claims come to, by id, in the order in which they were written.

    Args:
        claims: in that order.
        premises: whether declared premises are taken in; without them a conclusion is stamped on
            the claims that it came from, and falls with those for good.
    """
    items: dict[str, WorkItem] = {}
    standing: dict[str, list[str]] = {}
    for claim in claims:
        slot = claim.slot_name
        if claim.does == "withdraw":
            for name in (*standing.pop(slot, ()), *claim.supersedes):
                if name in items:
                    items[name] = replace(items[name], status=Status.EVICTED)
            continue
        item = _item(claim if premises else replace(claim, assumes=()), slot, items)
        items[claim.id] = item
        standing.setdefault(slot, []).append(claim.id)
    return items


def _item(claim: Claim, slot: str, items: Mapping[str, WorkItem]) -> WorkItem:
    text = claim.text or f"{slot}: {claim.value}"
    seen = [_receipt(Source.probe(LOG, claim.id), digest(text.encode()), claim.at)]
    stamps = [Stamp(Source.premise("", name), _worth(value)) for name, value in claim.assumes]
    # Who declares what it takes for granted rests on that, and not on who happened to say it.
    for name in () if claim.assumes else claim.derived_from:
        if name not in items:  # not written yet, so nobody can have concluded anything from it
            stamps.append(Stamp(Source.record(f"unknown/{name}"), None))
            continue
        parent = items[name].digest()
        stamps.append(Stamp(Source.record(name), parent))
        seen.append(_receipt(Source.record(name), parent, claim.at))
    begins = claim.at if claim.valid_from is None else claim.valid_from
    ends = None if claim.valid_to is None else max(begins, claim.valid_to + 1)
    return WorkItem(
        id=claim.id,
        kind=Kind.FACT,
        slot=slot,
        text=text[:LONGEST_TEXT],
        writer=claim.source,
        authority=str(claim.authority),
        value=_worth(claim.value),
        epochs=Epochs(claim.at),
        valid=Interval(begins, ends),
        supports=(slot,),
        stamps=tuple(stamps),
        replaces=tuple(name for name in claim.supersedes if name != claim.id),
        receipts=tuple(seen),
    )


def _worth(value: str) -> str:
    """A value as others may take it for granted; a long one by its digest."""
    return value if len(value) <= LONGEST_VALUE else digest(value.encode())


def obligation(episode: ReturnEpisode, required: Iterable[str]) -> tuple[WorkItem, WorkItem]:
    """What the agent comes back to do, and how far it got: it was open when the agent left."""
    wants = tuple(required)
    at = episode.departed
    owed = WorkItem(
        id=OBLIGATION,
        kind=Kind.OBLIGATION,
        slot=OBLIGATION,
        text=(episode.workload or "the task")[:LONGEST_TEXT],
        writer=LOG,
        epochs=Epochs(at),
        valid=Interval(at),
        obligation=OBLIGATION,
        required=wants,
        critical=wants,
        receipts=(_receipt(Source.probe(LOG, OBLIGATION), "", at),),
    )
    frontier = replace(
        owed,
        id="frontier",
        kind=Kind.FRONTIER,
        slot="frontier",
        text="open",
        required=(),
        critical=(),
    )
    return owed, frontier


def _receipt(source: Source, seen: str, at: int) -> Receipt:
    return Receipt(observer=LOG, source=source, at=at, digest=seen, outcome=Outcome.CONFIRMS)
