"""Says how a workspace stands, what happened to an item, and why a return ended as it did."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lapse.admission import (
    Dispute,
    Judgement,
    Obligation,
    Reason,
    Returning,
    UnknownCurrent,
    disputes_in,
    measure,
    missing,
    obligations_in,
    owed,
    unknown_current,
)
from lapse.errors import InvalidValue, UnknownRecord
from lapse.ledger import LIVE, Kind, Status, story
from lapse.runtime.workspace_forms import Notice

if TYPE_CHECKING:
    from lapse.admission import Coverage, Failure, Fallen, Incomplete, Member, Missing, WorkItem
    from lapse.ledger import Chapter, Scope, State
    from lapse.runtime.decided import Decided, Spent
    from lapse.runtime.returns import Returns
    from lapse.runtime.workstate import Holding, Snapshot

__all__ = ["CycleStory", "Explaining", "ItemStory", "LeftOut", "Standing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a workspace stands now; it names items, and repeats none.

    Attributes:
        tenant: whose workspace.
        epoch: its revision.
        items: how many items have each status.
        members: those who ever left, and where they are.
        obligations: what is open, and stands by the workspace's own history.
        disputed: ids of items that are disputed.
        disputes: slots about which the workspace says different things.
        suspended: ids of items that are suspended, or held because a source moved.
        unknown: slots whose old value is dead and whose new one nobody knows.
    """

    tenant: str | None
    epoch: int
    items: Mapping[Status, int]
    members: tuple[Member, ...]
    obligations: tuple[Obligation, ...]
    disputed: tuple[str, ...]
    disputes: tuple[Dispute, ...]
    suspended: tuple[str, ...]
    unknown: tuple[UnknownCurrent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStory:
    """What became of an item.

    Attributes:
        item: the item as it is now.
        chapters: what happened to it, and to what it rests on in services, in order.
        notices: who ended, disputed or brought it back, and why.
        fallen: why it does not stand by the workspace's own history; None: it does.
    """

    item: WorkItem
    chapters: tuple[Chapter, ...]
    notices: tuple[Notice, ...]
    fallen: Fallen | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why an item was left out of a return.

    Attributes:
        reasons: everything that spoke against it.
        by: the id of the item that brought it down; empty where none did.
    """

    reasons: tuple[Reason, ...]
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleStory:
    """How a return ended; it names items, and repeats none.

    Attributes:
        returning: who returned into which revision, when, in which cycle.
        outcome: None: admitted with a view; else what a return without one comes to.
        shown: ids of what the view shows; of a blocked return, of what was not enough.
        experience: ids of the private experience that came back.
        left_out: the items that had not ended and were left out, by id. Of those that might have
            been acted on and were not needed, the ones that still live.
        coverage: how far the chosen items reach.
        failures: why they were not enough.
        missing: the dependencies that they lack, who needs them, who spoke about them last.
        unknown: slots whose old value was dead and whose new one nobody knew.
        spent: what the answers took.
        workload: what the member came back for.
    """

    returning: Returning
    outcome: Incomplete | None
    shown: tuple[str, ...]
    experience: tuple[str, ...]
    left_out: Mapping[str, LeftOut]
    coverage: Coverage
    failures: tuple[Failure, ...]
    missing: tuple[Missing, ...]
    unknown: tuple[UnknownCurrent, ...]
    spent: Spent
    workload: str


class Explaining:
    """Explains one workspace. Safe to call from several threads."""

    __slots__ = ("_clock", "_ranks", "_returns", "_session", "_workstate")

    def __init__(
        self,
        held: Holding,
        returns: Returns,
        *,
        ranks: Mapping[str, int],
    ) -> None:
        self._session = held.session
        self._workstate = held.workstate
        self._returns = returns
        self._clock = held.clock
        self._ranks = ranks

    def standing(self) -> Standing:
        """How the workspace stands now.

        Raises:
            StoreError: the store could not be read.
        """
        with self._session.lock:
            snapshot = self._workstate.at(self._session.catch_up())
        fallen = snapshot.fallen(self._ranks, self._clock.now())
        counts = dict.fromkeys(Status, 0)
        for item in snapshot.items:
            counts[item.status] += 1
        open_items = (item for item in snapshot.items if item.id not in fallen)
        return Standing(
            tenant=self._workstate.tenant,
            epoch=snapshot.epoch,
            items={status: number for status, number in counts.items() if number},
            members=tuple(snapshot.members.values()),
            obligations=obligations_in(open_items),
            disputed=_of(snapshot, Status.DISPUTED),
            disputes=disputes_in(snapshot.items, fallen),
            suspended=_of(snapshot, Status.SUSPENDED),
            unknown=unknown_current(snapshot.items, fallen),
        )

    def member(self, identity: Scope) -> Member | None:
        """Where a member is; None for who never left.

        Raises:
            StoreError: the store could not be read.
        """
        with self._session.lock:
            return self._workstate.at(self._session.catch_up()).members.get(identity)

    def explained(self, name: str) -> ItemStory | CycleStory:
        """The story of an item, or of a cycle.

        Raises:
            UnknownRecord: this workspace has neither of this id.
            StoreError: the store could not be read.
        """
        with self._session.lock:
            state = self._session.catch_up()
            snapshot = self._workstate.at(state)
            item = snapshot.by_id.get(name)
            decided = self._returns.found(state, name) if item is None else None
            if item is not None:
                return self._item_story(state, snapshot, item)
        if decided is None:
            msg = f"this workspace has no item and no ended return {name!r}; status() lists both"
            raise UnknownRecord(msg)
        return _cycle_story(snapshot, decided)

    def _item_story(self, state: State, snapshot: Snapshot, item: WorkItem) -> ItemStory:
        record = state.record(item.id)
        sources = {stamp.source.container for stamp in record.stamps}
        changes = self._session.store.changes(record=item.id, sources=sources)
        return ItemStory(
            item=item,
            chapters=story(record, changes),
            notices=self._notices(state, item.id),
            fallen=snapshot.fallen(self._ranks, self._clock.now()).get(item.id),
        )

    def _notices(self, state: State, item_id: str) -> tuple[Notice, ...]:
        """Who decided about an item, in order; what cannot be read tells nothing."""
        found: list[Notice] = []
        for record in state.records():
            mine = record.scope.tenant == self._workstate.tenant
            if mine and record.content.get("form") == "notice":
                with suppress(InvalidValue):
                    found.append(Notice.of(record))
        return tuple(sorted((n for n in found if item_id in n.items), key=lambda n: n.epoch))


def _of(snapshot: Snapshot, status: Status) -> tuple[str, ...]:
    return tuple(item.id for item in snapshot.items if item.status is status)


def _cycle_story(snapshot: Snapshot, decided: Decided) -> CycleStory:
    there = snapshot.by_id
    judgements = [Judgement(there[name], ()) for name in decided.shown if name in there]
    judgements += (
        Judgement(there[name], reasons, by)
        for name, (reasons, by) in decided.against.items()
        if name in there and name not in decided.shown
        if there[name].kind is not Kind.EXPERIENCE
    )
    chosen = [there[name] for name in decided.shown if name in there]
    supported = {dependency for item in chosen for dependency in item.supports}
    obligations, _ = owed(judgements)
    return CycleStory(
        returning=decided.returning,
        outcome=decided.outcome,
        shown=decided.shown,
        experience=decided.experience,
        left_out=_left_out(snapshot, decided),
        coverage=measure(obligations, supported),
        failures=decided.failures,
        missing=missing(obligations, supported, judgements),
        unknown=tuple(
            UnknownCurrent(there[last].slot, last, fallen.reason, fallen.by)
            for last, fallen in decided.unknown.items()
            if last in there
        ),
        spent=decided.basis.spent,
        workload=decided.basis.workload,
    )


def _left_out(snapshot: Snapshot, decided: Decided) -> dict[str, LeftOut]:
    found = {
        name: LeftOut(reasons, by) for name, (reasons, by) in decided.against.items() if reasons
    }
    if decided.sealing is None:
        return found
    chosen = {*decided.shown, *decided.experience, *decided.against}
    for item in snapshot.items:
        there = item.epochs.since <= decided.returning.epoch and item.status in LIVE
        if there and item.id not in chosen and item.kind is not Kind.EXPERIENCE:
            found[item.id] = LeftOut((Reason.NOT_NEEDED,), "")
    return found
