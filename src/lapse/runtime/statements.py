"""Writes into a workspace: statements, and what becomes of them. Every write is one append."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lapse.admission import (
    Decision,
    Ending,
    Evidence,
    Ground,
    Outranks,
    Reason,
    WorkItem,
    disputes_in,
    end,
    lapsed,
    lift,
    put,
    resolve,
    revive,
    settlement,
)
from lapse.errors import IllegalChange, InvalidValue
from lapse.ledger import LIVE, ChangeKind, Draft, Kind, Status, writing
from lapse.runtime.events import Event
from lapse.runtime.saying import Said
from lapse.runtime.workspace_forms import Notice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lapse.admission import Policy
    from lapse.ledger import Instant, Record, State
    from lapse.runtime.saying import Vouched
    from lapse.runtime.telling import Telling
    from lapse.runtime.workstate import Holding, Snapshot

__all__ = ["Statements"]

_NEEDS_AUTHORITY = frozenset({Ending.REVOKED, Ending.CLOSED})
"""The endings that only the writer, or the like of the writer, may decide; anybody may dispute."""


class Statements:
    """The writes of one workspace. Safe to call from several threads."""

    __slots__ = ("_clock", "_ids", "_policy", "_session", "_telling", "_workstate")

    def __init__(
        self,
        held: Holding,
        *,
        policy: Policy,
        telling: Telling,
    ) -> None:
        self._session = held.session
        self._workstate = held.workstate
        self._clock = held.clock
        self._ids = held.ids
        self._policy = policy
        self._telling = telling

    def write(
        self, said: Said, vouched: Vouched, item_id: str | None, *, told: str = "recorded"
    ) -> WorkItem:
        """Write a statement.

        As ``restored``, what fell with the items that it says again stands again.

        Raises:
            InvalidValue: as `Said.item` says.
            UnknownRecord: as `Said.item` says.
            IllegalChange: the id was used for something else.
            StoreError: nothing was written.
        """
        name = self._ids.new() if item_id is None else item_id

        def decide(state: State) -> tuple[bool, Sequence[Draft]]:
            snapshot = self._workstate.at(state)
            at = self._clock.now()
            known = snapshot.by_id.get(name)
            if known is not None:
                _check_same(known, said, self._workstate.tenant)
                return False, ()
            item = said.item(name, snapshot, self._workstate.tenant, vouched, at)
            salt = self._ids.new()
            drafts = put(state, item, self._policy.ranks, at=at, actor=said.by, salt=salt)
            if told == "restored":
                drafts = (*drafts, *self._revived(state, snapshot, item, said.by, at))
            return True, drafts

        with self._session.lock:
            new = self._session.write(decide)
            item = self._workstate.at(self._session.state).item(name)
        if new:
            self._tell(told, item.status.value, name)
        return item

    def replace(
        self, item_id: str, by: str, changed: Mapping[str, Any], vouched: Vouched
    ) -> WorkItem:
        """Write a later version of an item, like it in all that is not changed.

        Raises:
            InvalidValue: the item has ended, or as `Said.item` says.
            UnknownRecord: this workspace has no such item.
            StoreError: nothing was written.
        """
        with self._session.lock:
            old = self._workstate.at(self._session.catch_up()).live(item_id)
        said = replace(Said.again(old, by, ""), **changed)
        item = self.write(said, vouched, None)
        if item.status is Status.ACTIVE:
            self._tell("superseded", "superseded", item_id)
        return item

    def end(self, item_id: str, ending: Ending, *, by: str, authority: str, why: str) -> Notice:
        """Let an item stop standing, and suspend what rests on it.

        Raises:
            InvalidValue: it has ended, or another's authority is needed.
            UnknownRecord: this workspace has no such item.
            IllegalChange: it is disputed already.
            StoreError: nothing was written.
        """
        _check_named("by", by)
        name, salt = self._ids.new(), self._ids.new()

        def decide(state: State) -> tuple[Notice, Sequence[Draft]]:
            snapshot = self._workstate.at(state)
            at = self._clock.now()
            item = snapshot.live(item_id)
            if ending in _NEEDS_AUTHORITY:
                self._check_authority(item, by, authority)
            drafts = end(state, [item_id], ending, at=at, actor=by, salt=salt)
            concerned = dict.fromkeys(part.record for draft in drafts for part in draft.parts)
            notice = Notice(
                id=name,
                what=ending.value,
                items=(item_id, *(one for one in concerned if one != item_id)),
                by=by,
                why=why,
                epoch=snapshot.epoch + 1,
                at=at,
            )
            return notice, (*drafts, *self._noticed(state, notice))

        notice = self._session.write(decide)
        self._tell(ending.value, ending.value, item_id)
        for one in notice.items[1:]:
            self._tell("suspended", Reason.DEPENDENCY_LAPSED.value, one)
        return notice

    def restore(
        self, item_id: str, vouched: Vouched, *, by: str, authority: str, why: str
    ) -> WorkItem:
        """Let an item stand again: what has ended is said again, what is held gets a receipt.

        Raises:
            InvalidValue: nobody vouches for it, or it stands.
            UnknownRecord: this workspace has no such item.
            StoreError: nothing was written.
        """
        _check_named("by", by)
        _check_named("observer", vouched.observer)
        with self._session.lock:
            snapshot = self._workstate.at(self._session.catch_up())
            old = snapshot.item(item_id)
        if old.status not in LIVE:
            said = Said.again(old, by, authority)
            needed = tuple(snapshot.successor(name) for name in said.rests_on)
            return self.write(replace(said, rests_on=needed), vouched, None, told="restored")
        with self._session.lock:
            self._session.write(lambda state: self._lifted(state, item_id, vouched, by, why))
            item = self._workstate.at(self._session.state).item(item_id)
        self._tell("restored", "confirmed", item_id)
        return item

    def purge(self, item_id: str, *, by: str, reason: str) -> tuple[str, ...]:
        """Remove what an item says for ever, and every ruling about it; tombstones stay.

        Returns:
            The ids of the records that were purged, the item's first.

        Raises:
            UnknownRecord: this workspace has no such item.
            StoreError: nothing was purged.
        """
        _check_named("by", by)

        def decide(state: State) -> tuple[tuple[str, ...], Sequence[Draft]]:
            self._workstate.at(state).item(item_id)
            rulings = (one.id for one in state.records() if _is_ruling_about(one, item_id))
            names = (item_id, *rulings)
            parts = tuple(map(self._session.tombstone, names))
            at, kind = self._clock.now(), ChangeKind.PURGED
            return names, [Draft(kind=kind, at=at, reason=reason, actor=by, parts=parts)]

        names = self._session.write(decide)
        for name in names:
            self._tell("purged", reason, name)
        return names

    def resolve(
        self, winner: str, vouched: Vouched, *, by: str, authority: str | None, why: str
    ) -> WorkItem:
        """Let one side of a dispute hold from now on: by evidence, by decision, or by its rank.

        Raises:
            InvalidValue: the item is in no dispute, or nothing decides for it; the message says
                what would.
            UnknownRecord: this workspace has no such item.
            StoreError: nothing was written.
        """
        _check_named("by", by)
        name = self._ids.new()

        def decide(state: State) -> tuple[tuple[str, ...], Sequence[Draft]]:
            snapshot = self._workstate.at(state)
            at = self._clock.now()
            won = snapshot.live(winner, "winner")
            sides = self._sides(snapshot, won, at)
            ground: Ground = Outranks() if authority is None else Decision(by, authority)
            if vouched.observer:
                receipt = vouched.issued(Said.again(won, by, ""), (), at)[-1]
                ground = Evidence(receipt, self._policy.observers)
            epoch, ranks = snapshot.epoch + 1, self._policy.ranks
            settled = settlement(sides, winner, ground, ranks, item_id=name, epoch=epoch, at=at)
            held, salt = self._held(snapshot), self._ids.new()
            drafts = resolve(state, settled, ground, at=at, actor=by, salt=salt, held=held)
            notice = Notice(
                id=self._ids.new(),
                what="resolved",
                items=(name, *settled.replaces),
                by=by,
                why=why,
                epoch=epoch,
                at=at,
            )
            return settled.replaces, (*drafts, *self._noticed(state, notice))

        with self._session.lock:
            over = self._session.write(decide)
            item = self._workstate.at(self._session.state).item(name)
        self._tell("resolved", "resolved", name)
        for one in over:
            self._tell("superseded", "resolved", one)
        return item

    def _sides(self, snapshot: Snapshot, won: WorkItem, at: Instant) -> list[WorkItem]:
        """The items of the dispute that an item is in."""
        fallen = snapshot.fallen(self._policy.ranks, at)
        for dispute in disputes_in(snapshot.items, fallen):
            if won.id in dispute.sides:
                return [snapshot.by_id[name] for name in dispute.sides]
        remedy = "name a side of an open dispute; status() lists them"
        raise InvalidValue("winner", won.id, remedy)

    def _lifted(
        self, state: State, item_id: str, vouched: Vouched, by: str, why: str
    ) -> tuple[None, Sequence[Draft]]:
        snapshot = self._workstate.at(state)
        at = self._clock.now()
        item = snapshot.live(item_id)
        if item.status is Status.SUSPENDED and state.record(item_id).status is Status.ACTIVE:
            remedy = (
                "a source that it rests on moved: let that be reconciled, or supersede the item"
            )
            raise InvalidValue("item_id", item_id, remedy)
        receipt = vouched.issued(Said.again(item, by, ""), (), at)[-1]
        drafts = (
            *lift(state, item_id, receipt, at=at, actor=by, salt=self._ids.new()),
            *self._revived(state, snapshot, item, by, at),
        )
        notice = Notice(
            id=self._ids.new(),
            what="restored",
            items=(item_id,),
            by=by,
            why=why,
            epoch=snapshot.epoch + 1,
            at=at,
        )
        return None, (*drafts, *self._noticed(state, notice))

    def _revived(
        self, state: State, snapshot: Snapshot, back: WorkItem, by: str, at: Instant
    ) -> tuple[Draft, ...]:
        """What stands again with an item: what was suspended for want of it alone."""
        held = self._held(snapshot)
        return revive(state, held, back, at=at, actor=by, salt=self._ids.new())

    def _held(self, snapshot: Snapshot) -> set[str]:
        """What is suspended because something that it rests on ended."""
        changes = self._session.store.changes
        suspended = (one.id for one in snapshot.items if one.status is Status.SUSPENDED)
        return {name for name in suspended if name in lapsed(changes(record=name))}

    def _noticed(self, state: State, notice: Notice) -> Sequence[Draft]:
        return writing(
            state,
            notice.record(self._workstate.tenant),
            at=notice.at,
            reason=notice.what,
            actor=notice.by,
            salt=self._ids.new(),
        )

    def _tell(self, what: str, reason: str, record: str) -> None:
        self._telling.tell(Event(what=what, reason=reason, at=self._clock.now(), record=record))

    def _check_authority(self, item: WorkItem, by: str, authority: str) -> None:
        lowest = min(self._policy.ranks.values(), default=0)
        mine, theirs = (
            self._policy.ranks.get(name, lowest) for name in (authority, item.authority)
        )
        if by != item.writer and mine < theirs:
            remedy = f"let {item.writer!r} or somebody of authority {item.authority!r} do it"
            raise InvalidValue("authority", authority, f"{remedy}, or dispute the item")


def _is_ruling_about(record: Record, item_id: str) -> bool:
    match record.content:
        case {"form": "ruling", "pair": [older, later]}:
            return item_id in (older, later)
        case _:
            return False


def _check_named(field_name: str, name: str) -> None:
    if not name:
        raise InvalidValue(field_name, name, "name somebody")


def _check_same(known: WorkItem, said: Said, tenant: str | None) -> None:
    """Refuse another statement under an id that was used; the same one is written once."""
    owner = said.by if said.kind is Kind.EXPERIENCE else None
    scope = replace(said.scope, tenant=tenant, principal=said.scope.principal or owner)
    one = (said.text, said.by, scope, said.attributes)
    other = (known.text, known.writer, known.scope, known.attributes)
    plain = ("kind", "slot", "authority", "obligation", "value")
    listed = ("purposes", "supports", "rests_on", "replaces", "required", "critical")
    if (
        one != other
        or any(getattr(said, name) != getattr(known, name) for name in plain)
        or any(sorted(set(getattr(said, name))) != list(getattr(known, name)) for name in listed)
    ):
        msg = f"item {known.id!r} is there and says something else; write under another id"
        raise IllegalChange(msg)
