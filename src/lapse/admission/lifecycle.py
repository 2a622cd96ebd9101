"""What the workspace's own history says about each item: the explicit rules.

1. A status other than active decides alone: superseded, revoked (never true), closed (was true and
   is no longer), disputed, suspended.
2. An item whose interval of instants or of revisions does not cover the return does not stand; one
   that holds later does not act on others yet.
3. A link replaces what it names, and needs the writer or at least the authority of what is
   replaced. Over what has ended already nobody's authority is needed. A link to the same words of
   its slot restates them, whatever was said in between.
4. Without a link, a later item of a slot replaces an earlier one of the same writer or of lower
   authority; the same words again restate it, unless they rest on it: then they add nothing; a
   lower authority changes nothing; equals who differ are both out until a later item replaces
   both. A revoked item still counts as an opponent, so a revocation alone brings nothing back; a
   closed or superseded one, or one whose time was over when the later one's began, does not.
5. A link leads to what is not later than itself. Items that replace each other are all out.
6. What rests on an item that does not stand falls with it, however long the chain is; a
   restatement carries on what rested on the words before.

No rule depends on the order in which items are given, and none makes an item stand again because
time passed or because another item was revoked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lapse.admission.reasons import Fallen, Reason
from lapse.errors import InvalidValue
from lapse.ledger import LIVE, Kind, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from lapse.admission.checkpoint import Checkpoint
    from lapse.admission.items import WorkItem

__all__ = [
    "ENDED",
    "RANKS",
    "History",
    "UnknownCurrent",
    "cascade",
    "chain_end",
    "explicit",
    "in_cycles",
    "in_time",
    "may_replace",
    "same_words",
    "unknown_current",
]

RANKS: Mapping[str, int] = {"user": 3, "tool": 2, "agent": 1, "inference": 0}
"""How the usual sorts of statement rank: an inference never outranks what a user said."""

_BY_STATUS = {
    Status.SUPERSEDED: Reason.SUPERSEDED,
    Status.REVOKED: Reason.REVOKED,
    Status.EVICTED: Reason.CLOSED,
    Status.DISPUTED: Reason.DISPUTED,
    Status.SUSPENDED: Reason.SUSPENDED,
}

_SETTLED = frozenset({Status.SUPERSEDED, Status.EVICTED})
"""The statuses of what ended as things end: it opposes nothing that comes later."""


ENDED = frozenset({Reason.CLOSED, Reason.EXPIRED, Reason.EPOCH_ENDED})
"""The reasons after which it is known that there is nothing now."""


@dataclass(slots=True)
class History:
    """What the rules found.

    Attributes:
        fallen: the items that do not stand, by id; the first rule that applied.
        restated: for an item whose words were said again, the id of the item that said them.
    """

    fallen: dict[str, Fallen] = field(default_factory=dict[str, Fallen])
    restated: dict[str, str] = field(default_factory=dict[str, str])

    def drop(self, item_id: str, reason: Reason, by: str = "") -> None:
        """Let an item fall, unless it has fallen already."""
        self.fallen.setdefault(item_id, Fallen(reason, by))

    def restate(self, item_id: str, by: str) -> None:
        """Note which item says another's words; the first one counts, and no chain is a circle."""
        if item_id not in self.restated and chain_end(self.restated, by) != item_id:
            self.restated[item_id] = by


@dataclass(frozen=True, slots=True)
class UnknownCurrent:
    """A slot whose old value is dead and whose new one nobody knows.

    Attributes:
        slot: which.
        last: the id of its latest item.
        reason: why that does not stand.
        by: the item that brought it down; empty where none did.
    """

    slot: str
    last: str
    reason: Reason
    by: str


def explicit(checkpoint: Checkpoint, ranks: Mapping[str, int]) -> History:
    """Apply rules 1 to 5 to every item of a checkpoint.

    Args:
        checkpoint: the state that the cycle decides on.
        ranks: the rank of each name of authority; a name that is not there ranks lowest.
    """
    history, returning = History(), checkpoint.returning
    acting: list[WorkItem] = []
    for item in checkpoint.items:
        told = _BY_STATUS.get(item.status)
        if told is not None:
            history.drop(item.id, told)
        untimely = _out_of_time(item, at=returning.at, epoch=returning.epoch)
        if untimely is not None:
            history.drop(item.id, untimely)
        if untimely is not Reason.NOT_YET:
            acting.append(item)
    lowest = min(ranks.values(), default=0)
    ranked = {item.id: ranks.get(item.authority, lowest) for item in acting}
    by_id = {item.id: item for item in acting}
    _follow_links(history, by_id, ranked)
    slots: dict[str, list[WorkItem]] = {}
    for item in acting:
        slots.setdefault(item.slot, []).append(item)
    for versions in slots.values():
        if len(versions) > 1:
            _settle_slot(history, sorted(versions, key=in_time), ranked)
    return history


def may_replace(item: WorkItem, target: WorkItem, ranks: Mapping[str, int]) -> bool:
    """Whether an item may replace another by a link: rule 3."""
    lowest = min(ranks.values(), default=0)
    mine, theirs = (ranks.get(one.authority, lowest) for one in (item, target))
    return _suffices(item, target, mine, theirs)


def cascade(items: Iterable[WorkItem], history: History, settled: Collection[str] = ()) -> None:
    """Apply rule 6: let fall what rests on something that does not stand, or is not there.

    An item that rests on several is told the first of them that is not there, else the first that
    does not stand; in which order they fell does not matter.

    Args:
        items: the items, and every item that they rest on.
        history: what the rules found so far; it grows.
        settled: ids among them that stand or fell already, whatever they rest on.
    """
    there: set[str] = set()
    resting: dict[str, list[tuple[str, str]]] = {}
    for item in items:
        there.add(item.id)
        if item.stamps and item.id not in settled:
            ends = [(name, chain_end(history.restated, name)) for name in item.rests_on]
            resting[item.id] = ends
    dependents: dict[str, list[str]] = {}
    for item_id, needed in resting.items():
        for name, kept in needed:
            dependents.setdefault(kept, []).append(item_id)
            if kept not in there:
                history.drop(item_id, Reason.DEPENDENCY_UNKNOWN, name)
    waiting = [kept for kept in dependents if kept in history.fallen]
    lapsed: set[str] = set()
    while waiting:
        for item_id in dependents.get(waiting.pop(), ()):
            if item_id not in history.fallen and item_id not in lapsed:
                lapsed.add(item_id)
                waiting.append(item_id)
    brought_down = {
        item_id: next(k for _, k in resting[item_id] if k in lapsed or k in history.fallen)
        for item_id in lapsed
    }
    for item_id, kept in brought_down.items():
        history.drop(item_id, Reason.DEPENDENCY_LAPSED, kept)


def chain_end(successors: Mapping[str, str], item_id: str) -> str:
    """The last item of a chain of successors; the item itself where it has none.

    Raises:
        InvalidValue: the chain leads back to where it was.
    """
    passed = {item_id}
    while (following := successors.get(item_id)) is not None:
        if following in passed:
            raise InvalidValue("successors", following, "a chain of successors must end somewhere")
        passed.add(following)
        item_id = following
    return item_id


def unknown_current(
    items: Iterable[WorkItem], fallen: Mapping[str, Fallen]
) -> tuple[UnknownCurrent, ...]:
    """The slots whose value is dead with no other in its place; what simply ended is known."""
    latest: dict[str, WorkItem] = {}
    standing: set[str] = set()
    for item in items:
        if item.kind is Kind.EXPERIENCE:
            continue  # it is about its owner, and no slot of the workspace
        if item.id not in fallen:
            standing.add(item.slot)
        if item.slot not in latest or in_time(latest[item.slot]) < in_time(item):
            latest[item.slot] = item
    return tuple(
        UnknownCurrent(slot, item.id, fallen[item.id].reason, fallen[item.id].by)
        for slot, item in sorted(latest.items())
        if slot not in standing and fallen[item.id].reason not in ENDED
    )


def in_time(item: WorkItem) -> tuple[int, int, str]:
    """What items are ordered by: revision, then wall clock, then id."""
    return *item.moment, item.id


def _out_of_time(item: WorkItem, *, at: int, epoch: int) -> Reason | None:
    if item.epochs.since > epoch or item.valid.since > at:
        return Reason.NOT_YET
    if not item.epochs.holds_at(epoch):
        return Reason.EPOCH_ENDED
    return None if item.valid.holds_at(at) else Reason.EXPIRED


def _follow_links(
    history: History, by_id: Mapping[str, WorkItem], ranked: Mapping[str, int]
) -> None:
    latest: dict[str, WorkItem] = {}
    for item in sorted(by_id.values(), key=in_time):
        for name in item.replaces:
            target = by_id.get(name)
            if target is None or target.moment > item.moment:
                continue
            if _may_replace(item, target, ranked):
                latest[name] = item
            else:
                history.drop(item.id, Reason.LACKS_AUTHORITY, name)
    for name in in_cycles({name: item.id for name, item in latest.items()}):
        history.drop(name, Reason.CYCLE, latest[name].id)
    for name, item in latest.items():
        target = by_id[name]
        if item.slot == target.slot and name not in item.rests_on and same_words(item, target):
            history.restate(name, item.id)
        history.drop(name, Reason.SUPERSEDED, item.id)


def _may_replace(item: WorkItem, target: WorkItem, ranked: Mapping[str, int]) -> bool:
    return _suffices(item, target, ranked[item.id], ranked[target.id])


def _suffices(item: WorkItem, target: WorkItem, mine: int, theirs: int) -> bool:
    return item.writer == target.writer or mine >= theirs or target.status not in LIVE


def in_cycles(successors: Mapping[str, str]) -> list[str]:
    """The names that a walk along the successors comes back to."""
    found: list[str] = []
    walked: set[str] = set()
    for start in successors:
        path: dict[str, int] = {}
        name = start
        while name in successors and name not in walked:
            walked.add(name)
            path[name] = len(path)
            name = successors[name]
        if name in path:
            found += list(path)[path[name] :]
    return found


def same_words(one: WorkItem, other: WorkItem) -> bool:
    """Whether two items of a slot say the same: a value, or the text where there is none."""
    return _words(one) == _words(other)


def _settle_slot(history: History, versions: list[WorkItem], ranked: Mapping[str, int]) -> None:
    """Rule 4, over the versions of one slot from the earliest to the latest."""
    holding: list[WorkItem] = []
    for item in versions:
        holding = _meet(history, item, holding, ranked)


def _meet(
    history: History, item: WorkItem, holding: list[WorkItem], ranked: Mapping[str, int]
) -> list[WorkItem]:
    """A version meets those that hold the slot; gives those that hold it afterwards."""
    left: list[WorkItem] = []
    holds = True
    for other in holding:
        higher = ranked[item.id] > ranked[other.id]
        equal = ranked[item.id] == ranked[other.id]
        own = item.writer == other.writer
        back = item.id in other.replaces and other.moment == item.moment  # rule 5
        if back and _may_replace(other, item, ranked):
            left.append(other)
            holds = False
        elif same_words(item, other) and _rests_on(item, other, history):
            history.restate(item.id, other.id)  # it adds nothing to what it was concluded from
            history.drop(item.id, Reason.RESTATED, other.id)
            left.append(other)
            holds = False
        elif same_words(item, other) and (higher or equal or own):
            history.restate(other.id, item.id)
            history.drop(other.id, Reason.RESTATED, item.id)
        elif other.id in item.replaces and _may_replace(item, other, ranked):
            continue  # the link has decided
        elif other.status in _SETTLED or _over_before(other, item):
            continue
        elif higher or (own and item.moment > other.moment):
            history.drop(other.id, Reason.SUPERSEDED, item.id)
        elif equal or own:
            history.drop(other.id, Reason.CONTESTED, item.id)
            history.drop(item.id, Reason.CONTESTED, other.id)
            left.append(other)
        else:
            history.drop(item.id, Reason.LACKS_AUTHORITY, other.id)
            left.append(other)
            holds = False
    return [*left, item] if holds else left


def _over_before(other: WorkItem, item: WorkItem) -> bool:
    """Whether an item's time was over, by either measure, when another's began."""
    ends = ((other.epochs.until, item.epochs.since), (other.valid.until, item.valid.since))
    return any(until is not None and until <= since for until, since in ends)


def _rests_on(item: WorkItem, other: WorkItem, history: History) -> bool:
    return any(chain_end(history.restated, needed) == other.id for needed in item.rests_on)


def _words(item: WorkItem) -> tuple[object, ...]:
    says = (item.value,) if item.value else ("", item.text)
    return says, item.supports, item.required, item.critical, item.scope, item.purposes
