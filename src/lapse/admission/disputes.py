"""Disputes: items of one slot that contradict each other, and the three grounds that decide one.

Equals who differ are both out (rule 4 of `lapse.admission.lifecycle`), and so is what somebody
disputed. Nothing of a dispute is shown until it is resolved, and it is never resolved because one
side was written later: whoever writes last would always win.

| ground | decides when |
| --- | --- |
| `Outranks` | the winner's authority is above that of every other side |
| `Evidence` | an accepted observer confirmed the winner later than anything was said or seen |
| `Decision` | somebody of an authority that suffices against every side says so, by name |

The winner is said again in a new item that replaces all sides, the winner's old item too. So the
losers end as superseded and not as revoked: the ground tells what to go by from now on, and not
that the other was never true. What rested on the winner rests on the new item; what rested on a
loser is suspended. It is undone by writing: whoever may replace the new item can.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from lapse.admission.endings import give_way
from lapse.admission.inventory import live_item
from lapse.admission.items import Epochs, WorkItem
from lapse.admission.lifecycle import in_time, may_replace
from lapse.admission.reasons import Fallen, Reason
from lapse.admission.recovery import revive
from lapse.errors import InvalidValue
from lapse.ledger import (
    LIVE,
    Draft,
    Instant,
    Interval,
    Kind,
    Outcome,
    Receipt,
    Status,
    writing,
)

if TYPE_CHECKING:
    from lapse.ledger import State

__all__ = [
    "Decision",
    "Dispute",
    "Evidence",
    "Ground",
    "Outranks",
    "disputes_in",
    "resolve",
    "settlement",
]


@dataclass(frozen=True, slots=True)
class Dispute:
    """A slot about which the workspace says different things.

    Attributes:
        slot: which.
        sides: the ids of the items that contradict each other, from the earliest on; a single one
            was disputed and has no opponent in its slot.
        since: the revision in which the second side was written, or the only one.
        stands: the id of the side that stands all the same; empty: none does.
    """

    slot: str
    sides: tuple[str, ...]
    since: int
    stands: str = ""


@dataclass(frozen=True, slots=True)
class Outranks:
    """The winner's authority is above every other side's, and its writer says it again."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """An accepted observer looked again, and confirms the winner.

    Attributes:
        receipt: what was observed, later than every statement and every accepted receipt about it.
        observers: whose receipts count.
    """

    receipt: Receipt
    observers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Decision:
    """Somebody decides, by name.

    Attributes:
        who: the writer of what holds from now on.
        authority: the name of that one's authority, given by whoever lets it be decided.
    """

    who: str
    authority: str = "user"


Ground = Outranks | Evidence | Decision
"""Why one side holds. That it was written last is no ground."""


def disputes_in(items: Iterable[WorkItem], fallen: Mapping[str, Fallen]) -> tuple[Dispute, ...]:
    """The open disputes among items, by slot; private experience is nobody's to dispute.

    Args:
        items: every candidate.
        fallen: what does not stand, and why.
    """
    doubted = {name for name, fall in fallen.items() if fall.reason in _IN_DISPUTE}
    if not doubted:  # nearly always
        return ()
    by_slot: dict[str, list[WorkItem]] = {}
    for item in items:
        if item.kind is not Kind.EXPERIENCE:
            by_slot.setdefault(item.slot, []).append(item)
    found = (
        _dispute(slot, sorted(versions, key=in_time), fallen)
        for slot, versions in sorted(by_slot.items())
        if any(item.id in doubted for item in versions)
    )
    return tuple(dispute for dispute in found if dispute is not None)


_IN_DISPUTE = frozenset({Reason.CONTESTED, Reason.DISPUTED})

_DECIDED = frozenset(
    {
        Reason.SUPERSEDED,
        Reason.RESTATED,
        Reason.NOT_YET,
        Reason.CLOSED,
        Reason.EXPIRED,
        Reason.EPOCH_ENDED,
    }
)
"""The reasons of what opposes nothing any more; what is revoked or held still does."""


def _dispute(
    slot: str, versions: Sequence[WorkItem], fallen: Mapping[str, Fallen]
) -> Dispute | None:
    standing = [at for at, item in enumerate(versions) if item.id not in fallen]
    after = standing[-1] if standing else 0  # whatever stands has settled what came before it
    doubted = [item.id for item in versions[after:] if _reason(item, fallen) in _IN_DISPUTE]
    if not doubted:
        return None
    by = {fallen[name].by for name in doubted}
    ids = {item.id for item in versions}
    sides = [i for i in versions[after:] if i.id in by or not _decided_in(ids, i, fallen)]
    return Dispute(
        slot=slot,
        sides=tuple(item.id for item in sides),
        since=sides[:2][-1].epochs.since,
        stands=versions[after].id if standing else "",
    )


def _reason(item: WorkItem, fallen: Mapping[str, Fallen]) -> Reason | None:
    fall = fallen.get(item.id)
    return None if fall is None else fall.reason


def _decided_in(slot: Collection[str], item: WorkItem, fallen: Mapping[str, Fallen]) -> bool:
    """Whether an item of a slot opposes nobody there any more."""
    fall = fallen.get(item.id)
    return fall is not None and (
        fall.reason in _DECIDED or (fall.reason is Reason.LACKS_AUTHORITY and fall.by in slot)
    )


def settlement(
    sides: Collection[WorkItem],
    winner: str,
    ground: Ground,
    ranks: Mapping[str, int],
    *,
    item_id: str,
    epoch: int,
    at: Instant,
) -> WorkItem:
    """The item that says the winner again and replaces all sides; write it with `resolve`.

    Args:
        sides: the items that contradict each other, the winner among them.
        winner: the id of the one that holds.
        ground: why.
        ranks: the rank of each name of authority, as for `explicit`.
        item_id: the id of the new item.
        epoch: the revision that it makes.
        at: when it is decided.

    Raises:
        InvalidValue: the winner is no side that lives, the sides are of several slots, or the
            ground does not decide; the message says what would.
    """
    others = {side.id: side for side in sides}
    won = others.pop(winner, None)
    if won is None or won.status not in LIVE:
        raise InvalidValue("winner", winner, "name one of the sides that has not ended")
    if any(side.slot != won.slot for side in others.values()):
        raise InvalidValue("sides", sorted(others), f"name items of the slot {won.slot!r}")
    settled = replace(
        _decided(won, others.values(), ground, ranks, at),
        id=item_id,
        epochs=Epochs(epoch, won.epochs.until),
        valid=Interval(at, won.valid.until),
        replaces=(winner, *others),
        status=Status.ACTIVE,
    )
    for side in (won, *others.values()):
        if not may_replace(settled, side, ranks):
            remedy = f"it takes the authority {side.authority!r} of {side.id!r}: pass a decision"
            raise InvalidValue("ground", settled.authority, remedy)
    return settled


def resolve(
    state: State,
    settled: WorkItem,
    ground: Ground,
    *,
    at: Instant,
    actor: str,
    salt: str,
    held: Collection[str] = (),
) -> tuple[Draft, ...]:
    """Let one side hold from now on.

    Args:
        state: the ledger as it is.
        settled: what `settlement` gave.
        ground: why: the reason code of the change.
        at: when it is decided.
        actor: who decides.
        salt: random text, of its own for each decision.
        held: what was suspended because of what it rests on (see `lapsed`): what fell with the
            winner comes back with it.
    """
    sides = [side for name in settled.replaces if (side := live_item(state, name)) is not None]
    reason = _REASONS[type(ground)]
    drafts = writing(state, settled.record(), at=at, reason=reason, actor=actor, salt=salt)
    drafts += give_way(state, settled, sides, at=at, actor=actor, salt=salt)
    return drafts + revive(state, held, settled, at=at, actor=actor, salt=salt)


_REASONS: Mapping[type[Ground], str] = {
    Outranks: "resolved_by_authority",
    Evidence: "resolved_by_evidence",
    Decision: "resolved_by_decision",
}


def _decided(
    won: WorkItem,
    others: Collection[WorkItem],
    ground: Ground,
    ranks: Mapping[str, int],
    at: Instant,
) -> WorkItem:
    """The winner as it holds from now on, or a refusal."""
    match ground:
        case Outranks():
            lowest = min(ranks.values(), default=0)
            above = ranks.get(won.authority, lowest)
            if any(ranks.get(other.authority, lowest) >= above for other in others):
                remedy = "it is not above every other side: pass evidence or a decision"
                raise InvalidValue("ground", won.authority, remedy)
            return won
        case Evidence(receipt, observers):
            _check_evidence(receipt, observers, won, others, at)
            return replace(won, receipts=(*won.receipts, receipt))
        case Decision(who, authority):
            if not who:
                raise InvalidValue("who", who, "name who decides")
            return replace(won, writer=who, authority=authority)
    assert_never(ground)


def _check_evidence(
    receipt: Receipt,
    observers: Collection[str],
    won: WorkItem,
    others: Collection[WorkItem],
    at: Instant,
) -> None:
    if receipt.outcome is not Outcome.CONFIRMS:
        raise InvalidValue("receipt", receipt.outcome.value, "pass a receipt that confirms a side")
    if receipt.observer not in observers:
        raise InvalidValue("receipt", receipt.observer, "pass a receipt of an accepted observer")
    if receipt.source.kind == "record" and receipt.source.name != won.id:
        raise InvalidValue("receipt", str(receipt.source), "pass a receipt about the winner")
    said = [moment for side in (won, *others) for moment in _seen(side, observers)]
    if not max(said) < receipt.at <= at:
        remedy = f"look again: a receipt after {max(said)} decides, and none from the future"
        raise InvalidValue("receipt", receipt.at, remedy)


def _seen(side: WorkItem, observers: Collection[str]) -> Iterable[Instant]:
    """When a side was said, and when an accepted observer looked at it."""
    return side.valid.since, *(r.at for r in side.receipts if r.observer in observers)
