"""What a ledger's state says when it is read as the workspace of one tenant.

A tenant's workspace is what was written under exactly that tenant: what names another, or none, is
not part of it. Its revision is the latest that any of its own records names; a fix that was learnt,
a ruling that was kept, or another tenant's work does not move it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lapse.admission import Checkpoint, Member, Returning, WorkItem, explicit, settle
from lapse.errors import InvalidValue, StoreCorrupt, UnknownRecord
from lapse.ledger import LIVE, ChangeKind, Kind, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from lapse.admission import Fallen
    from lapse.ledger import Change, Clock, Head, Ids, Instant, Record, State
    from lapse.runtime.session import Session

__all__ = ["Holding", "Snapshot", "Workstate", "asking", "within"]

_FORMS = frozenset({"work", "member", "departure", "cycle", "notice"})
"""The forms of content that belong to a workspace and count for its revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One moment of a workspace.

    Attributes:
        head: the end of the chain at that moment.
        epoch: the revision; 0 before anything was recorded.
        by_id: every item, ended ones too, in no particular order.
        members: those who ever left, by identity.
    """

    head: Head
    epoch: int
    by_id: Mapping[str, WorkItem]
    members: Mapping[Scope, Member]

    @property
    def items(self) -> Collection[WorkItem]:
        """Every item, ended ones too."""
        return self.by_id.values()

    def item(self, item_id: str, field: str = "item_id") -> WorkItem:
        """The item of this id.

        Raises:
            UnknownRecord: this workspace has none; `field` is where it was named.
        """
        found = self.by_id.get(item_id)
        if found is None:
            msg = f"{field} is {item_id!r}: this workspace has no such item; status() lists them"
            raise UnknownRecord(msg)
        return found

    def live(self, item_id: str, field: str = "item_id") -> WorkItem:
        """The item of this id, which has not ended.

        Raises:
            UnknownRecord: this workspace has no such item.
            InvalidValue: it has ended.
        """
        found = self.item(item_id, field)
        if found.status not in LIVE:
            shown = f"{item_id} ({found.status.value})"
            raise InvalidValue(
                field, shown, "name an item that has not ended; restore() says again"
            )
        return found

    def fallen(self, ranks: Mapping[str, int], at: Instant) -> Mapping[str, Fallen]:
        """What does not stand at an instant, by the workspace's own history.

        Args:
            ranks: the rank of each name of authority.
            at: the instant.
        """
        nobody = Scope(principal="-", role="-", purpose="-")
        items = tuple(sorted(self.items, key=lambda item: item.id))
        checkpoint = Checkpoint(
            returning=Returning(cycle="-", who=nobody, epoch=self.epoch, at=at),
            departure="",
            departed=self.epoch,
            items=items,
        )
        history = explicit(checkpoint, ranks)
        settle(items, history)
        return history.fallen

    def successor(self, item_id: str) -> str:
        """The live item that says what an item said before it ended; its own id where none does."""
        while (found := self.by_id.get(item_id)) is not None and found.status not in LIVE:
            said = (found.slot, found.text, found.value)
            later = (
                one.id
                for one in self.by_id.values()
                if item_id in one.replaces and (one.slot, one.text, one.value) == said
            )
            following = next(later, None)
            if following is None:
                break
            item_id = following
        return item_id


class Workstate:
    """Reads states as one tenant's workspace; single-owner: hold the session's lock.

    What came since the last reading is read from the changes, so a decision costs what others
    decided since, however much there is.

    Args:
        tenant: whose; None: what was written under no tenant.
        changes: gives the changes of the ledger after a place; None to read each state whole.
    """

    __slots__ = ("_changes", "_known", "_of", "tenant")

    def __init__(
        self, tenant: str | None, changes: Callable[[int], Iterable[Change]] | None = None
    ) -> None:
        self.tenant = tenant
        self._changes = changes
        self._of: State | None = None
        self._known: Snapshot | None = None

    def at(self, state: State) -> Snapshot:
        """The workspace as a state has it."""
        known = self._known
        if state is not self._of or known is None:  # another chain may stand there, with these ids
            self._of = state
            known = self._read(state)
        elif known.head != state.head:
            touched = self._touched(state, known)
            known = self._read(state) if touched is None else self._with(state, known, touched)
        self._known = known
        return known

    def _read(self, state: State) -> Snapshot:
        nothing = Snapshot(head=state.head, epoch=0, by_id={}, members={})
        return self._with(state, nothing, state.records())

    def _touched(self, state: State, known: Snapshot) -> Iterable[Record] | None:
        """The records that changes since a snapshot are about; None where all have to be read.

        A purge leaves nothing that would tell what its record was.
        """
        if self._changes is None:
            return None
        touched: dict[str, None] = {}
        for change in self._changes(known.head.seq):
            if change.seq > state.head.seq:
                break
            if change.kind is ChangeKind.PURGED:
                return None
            touched.update(dict.fromkeys(part.record for part in change.parts))
            if change.source is not None:
                touched.update(dict.fromkeys(state.index.on(change.source)))
        return map(state.record, touched)

    def _with(self, state: State, known: Snapshot, records: Iterable[Record]) -> Snapshot:
        """A snapshot with some records as the state has them."""
        epoch, items, members = known.epoch, dict(known.by_id), dict(known.members)
        for record in records:
            if record.kind is Kind.FIX or record.scope.tenant != self.tenant:
                continue
            form = record.content.get("form")
            if form not in _FORMS:
                continue
            epoch = max(epoch, record.epoch)
            try:
                if form == "work":
                    items[record.id] = _item(state, record, items.get(record.id))
                elif form == "member" and record.status is Status.ACTIVE:
                    members[record.scope] = Member.of(record)
            except InvalidValue as failure:
                if record.status in LIVE:  # it may be what somebody owes, so it is not passed over
                    msg = f"record {record.id} cannot be read ({failure}); end or purge it"
                    raise StoreCorrupt(msg) from failure
        return Snapshot(head=state.head, epoch=epoch, by_id=items, members=members)


def _item(state: State, record: Record, known: WorkItem | None) -> WorkItem:
    """The item that a record holds; what is active and held reads as suspended."""
    status = record.status
    if status is Status.ACTIVE and not state.usable(record):
        status = Status.SUSPENDED
    if known is None or len(known.receipts) != len(record.receipts):
        known = WorkItem.of(record)
    return known.with_status(status)


@dataclass(frozen=True, slots=True)
class Holding:
    """What every part of one workspace works with.

    Attributes:
        session: the hold on the ledger.
        workstate: reads it as this workspace; used under the session's lock.
        clock: tells the time.
        ids: makes up ids and salts.
    """

    session: Session
    workstate: Workstate
    clock: Clock
    ids: Ids


def within(tenant: str | None, field: str, scope: Scope) -> Scope:
    """A scope in a tenant's workspace: the tenant may be left out, and may not be another.

    Raises:
        InvalidValue: it is another.
    """
    if scope.tenant not in (None, tenant):
        remedy = f"leave the tenant out or pass {tenant!r}, whose workspace this is"
        raise InvalidValue(f"{field}.tenant", scope.tenant, remedy)
    return replace(scope, tenant=tenant)


def asking(tenant: str | None, identity: Scope) -> Scope:
    """Whoever returns, or asks for a view.

    Raises:
        InvalidValue: principal, role or purpose is not named, or the tenant is another.
    """
    who = within(tenant, "identity", identity)
    for name in ("principal", "role", "purpose"):
        if getattr(who, name) is None:
            raise InvalidValue(f"identity.{name}", None, "name principal, role and purpose")
    return who
