"""One caller's seat at a workspace: every verb, bound to who the caller is.

Who calls was established before, by a token or by whoever started the process; nothing in a request
can change it. What a caller may not see it cannot name either: an item or a return of somebody else
is as unknown as one that never was.

::

    seat = Seat(workspace, Grant(principal="A1", role="planner", task="trip"))
    seat.depart(Leaving())
    outcome = seat.return_(Returned(purpose="booking"))
"""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from lapse.admission import Refused, SignedView
from lapse.errors import InvalidValue, UnknownRecord
from lapse.ledger import Kind, Scope, Source
from lapse.runtime import CycleStory, ItemStory
from lapse.server.workspace_asked import scope_of
from lapse.server.workspace_grants import Grant, NotAllowed, NotShown
from lapse.server.workspace_standing import Items, StandingTold, StoryTold
from lapse.server.workspace_told import (
    Left,
    Membership,
    Notices,
    Outcome,
    Scanned,
    Written,
)

if TYPE_CHECKING:
    from lapse.admission import WorkItem
    from lapse.runtime import Changing, Workspace
    from lapse.server.workspace_asked import (
        Ended,
        Leaving,
        Looking,
        Resolved,
        Returned,
        Said,
        SaidAgain,
        SaidInstead,
    )

__all__ = ["Seat"]


class Seat:
    """The verbs of one caller. As safe to call from several threads as the workspace is.

    Args:
        workspace: the workspace of the caller's tenant.
        grant: who calls.
        turn: is held while questions are answered, because whoever answers is asked from one thread
            at a time; seats whose workspaces share a judge share it.
    """

    def __init__(self, workspace: Workspace, grant: Grant, *, turn: Lock | None = None) -> None:
        if workspace.tenant != grant.tenant:
            remedy = "seat a caller at the workspace of its own tenant"
            raise InvalidValue("tenant", grant.tenant, remedy)
        self._workspace = workspace
        self.grant = grant
        self._turn = Lock() if turn is None else turn

    # -- saying ------------------------------------------------------------------------------

    def record(self, said: Said) -> Written:
        """Write a statement."""
        grant = self.grant
        member = grant.member(said.task)
        audience = "me" if said.kind == Kind.EXPERIENCE.value else said.audience
        for name in (*said.rests_on, *said.assumes, *said.replaces):
            self._item(name)
        item = self._workspace.record(
            said.text,
            slot=said.slot,
            by=grant.principal,
            kind=Kind(said.kind),
            authority=grant.authority,
            scope=scope_of(audience, principal=grant.principal, role=grant.role, task=member.task),
            purposes=said.purposes,
            supports=said.supports,
            rests_on=said.rests_on,
            assumes=said.assumes,
            stamps=[row.stamp() for row in said.rows],
            replaces=said.replaces,
            obligation=said.obligation or "",
            required=said.required,
            critical=said.critical,
            valid=None if said.valid is None else said.valid.interval(),
            until_epoch=said.until_revision,
            value=said.value,
            attributes=said.attributes,
            observer=grant.observer if said.vouch else "",
            source=_seen(said.looked_at),
            item_id=said.item_id,
        )
        return Written.of(item)

    def supersede(self, item_id: str, said: SaidInstead) -> Written:
        """Say something else in place of an item."""
        self._item(item_id)
        for name in said.rests_on or ():
            self._item(name)
        grant = self.grant
        changing: Changing = {
            "authority": grant.authority,
            "value": said.value,
            "observer": grant.observer if said.vouch else "",
            "source": _seen(said.looked_at),
        }
        if said.supports is not None:
            changing["supports"] = said.supports
        if said.rests_on is not None:
            changing["rests_on"] = said.rests_on
        if said.attributes is not None:
            changing["attributes"] = said.attributes
        if said.valid is not None:
            changing["valid"] = said.valid.interval()
        item = self._workspace.supersede(item_id, said.text, by=grant.principal, **changing)
        return Written.of(item)

    # -- unsaying ----------------------------------------------------------------------------

    def revoke(self, item_id: str, said: Ended) -> Notices:
        """Say that an item was never true."""
        self._item(item_id)
        notice = self._workspace.revoke(
            item_id, by=self.grant.principal, why=said.why, authority=self.grant.authority
        )
        return Notices.of(notice)

    def close(self, item_id: str, said: Ended) -> Notices:
        """Say that an item was true and is over."""
        self._item(item_id)
        notice = self._workspace.close(
            item_id, by=self.grant.principal, why=said.why, authority=self.grant.authority
        )
        return Notices.of(notice)

    def dispute(self, item_id: str, said: Ended) -> Notices:
        """Say that an item is contradicted."""
        self._item(item_id)
        notice = self._workspace.dispute(item_id, by=self.grant.principal, why=said.why)
        return Notices.of(notice)

    def restore(self, item_id: str, said: SaidAgain) -> Written:
        """Let an item stand again, for a receipt of this caller."""
        self._item(item_id)
        if not self.grant.observer:
            raise NotAllowed("this caller vouches for nothing, and only a receipt restores an item")
        item = self._workspace.restore(
            item_id,
            by=self.grant.principal,
            observer=self.grant.observer,
            why=said.why,
            authority=self.grant.authority,
            source=_seen(said.looked_at),
        )
        return Written.of(item)

    def resolve(self, item_id: str, said: Resolved) -> Written:
        """Let one side of a dispute hold, by what the caller has seen or by its authority."""
        self._item(item_id)
        grant = self.grant
        if said.vouch and not grant.observer:
            raise NotAllowed("this caller vouches for nothing")
        item = self._workspace.resolve(
            item_id,
            by=grant.principal,
            why=said.why,
            observer=grant.observer if said.vouch else "",
            source=_seen(said.looked_at),
            authority=grant.authority or None,
        )
        return Written.of(item)

    # -- leaving and returning ---------------------------------------------------------------

    def depart(self, leaving: Leaving) -> Left:
        """Keep what the caller can see, and that it left."""
        return Left.of(self._workspace.depart(self.grant.member(leaving.task)))

    def scan(self, looking: Looking) -> Scanned:
        """Answer ahead what the caller's return would ask now."""
        member = self.grant.member(looking.task)
        with self._turn:
            looked = self._workspace.scan(member, allowance=looking.allowance())
        return Scanned.of(looked)

    def return_(self, returned: Returned) -> Outcome:
        """Decide what the caller may act on."""
        who = self.grant.back_for(returned.purpose, returned.task)
        with self._turn:
            ended = self._workspace.return_(
                who,
                cycle=returned.cycle,
                workload=returned.workload,
                allowance=returned.allowance(),
            )
        return self.outcome(ended.eligible.checkpoint.returning.cycle)

    def me(self, task: str | None = None) -> Membership:
        """Where the caller is.

        Raises:
            UnknownRecord: it never left.
        """
        member = self._workspace.member(self.grant.member(task))
        if member is None:
            raise UnknownRecord("this member never left; depart() takes it in")
        return Membership.of(member)

    # -- showing -----------------------------------------------------------------------------

    def signed_view(self, cycle: str, purpose: str, task: str | None = None) -> SignedView:
        """The view of a return as it travels, if nothing speaks against it now.

        Raises:
            NotShown: something does.
            UnknownRecord: no return of the caller's ended under this cycle.
        """
        found = self._workspace.signed_view(cycle, self._asking(cycle, purpose, task))
        if isinstance(found, Refused):
            raise NotShown(found.reasons)
        return found

    def brief(self, cycle: str, purpose: str, task: str | None = None) -> str:
        """The view worded for a model; raises as `signed_view`."""
        found = self._workspace.brief(cycle, self._asking(cycle, purpose, task))
        if isinstance(found, Refused):
            raise NotShown(found.reasons)
        return found

    def experience(self, cycle: str, purpose: str, task: str | None = None) -> Items:
        """The private experience that came back with the view; raises as `signed_view`."""
        found = self._workspace.experience(cycle, self._asking(cycle, purpose, task))
        if isinstance(found, Refused):
            raise NotShown(found.reasons)
        return Items.of(found)

    # -- explaining --------------------------------------------------------------------------

    def outcome(self, cycle: str) -> Outcome:
        """How a return of the caller's ended, or any return for an operator.

        Raises:
            UnknownRecord: there is none.
        """
        return Outcome.of(self._cycle(cycle))

    def story(self, item_id: str) -> StoryTold:
        """What became of an item.

        Raises:
            NotAllowed: the caller is no operator: a story holds words that a view may leave out.
            UnknownRecord: there is no such item.
        """
        self._check_operator()
        found = self._workspace.explain(item_id)
        if not isinstance(found, ItemStory):
            raise UnknownRecord(_NO_ITEM.format(item_id))
        return StoryTold.of(found)

    def status(self) -> StandingTold:
        """How the workspace stands.

        Raises:
            NotAllowed: the caller is no operator.
        """
        self._check_operator()
        return StandingTold.of(self._workspace.status())

    # -- who may -----------------------------------------------------------------------------

    def _check_operator(self) -> None:
        if not self.grant.operator:
            raise NotAllowed("only an operator may ask for this")

    def _item(self, item_id: str) -> WorkItem:
        """An item that the caller may name.

        Raises:
            UnknownRecord: there is none, or none that it may see.
        """
        try:
            found = self._workspace.explain(item_id)
        except UnknownRecord:
            found = None
        if isinstance(found, ItemStory):
            # Its purpose and, for a caller of any task, its task are looked at when it returns.
            limits = replace(found.item.scope, purpose=None)
            mine = self.grant.member(None if self.grant.task else limits.task)
            if self.grant.operator or limits.admits(mine):
                return found.item
        raise UnknownRecord(_NO_ITEM.format(item_id))

    def _cycle(self, cycle: str) -> CycleStory:
        try:
            found = self._workspace.explain(cycle)
        except UnknownRecord:
            found = None
        if isinstance(found, CycleStory):
            who = found.returning.who
            mine = (who.principal, who.role) == (self.grant.principal, self.grant.role)
            if self.grant.operator or (mine and self.grant.task in (None, who.task)):
                return found
        raise UnknownRecord(f"no return of cycle {cycle!r} ended for this caller")

    def _asking(self, cycle: str, purpose: str, task: str | None) -> Scope:
        story = self._cycle(cycle)
        if story.outcome is not None:
            raise NotShown(story.failures or (story.outcome,))
        return self.grant.back_for(purpose, task)


_NO_ITEM = "there is no item {0!r} that this caller may name"


def _seen(looked_at: str | None) -> Source | None:
    return None if looked_at is None else Source.probe("look", looked_at)
