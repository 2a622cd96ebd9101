"""A shared workspace: who leaves it, what is said meanwhile, and what a returning agent may act on.

It keeps work state in a ledger that any number of processes share, and runs the return cycle over
it. It never shows a part of what a return needs, nor anything that was not durable first, nor a
view that was not checked again at that moment. Who may call which method is decided before.

::

    workspace.record("Sunrise is booked", slot="hotel", by="A2", observer="desk")
    workspace.depart(planner)
    ...                                     # others work on
    back = workspace.return_(planner_for_booking)
    if isinstance(back, Sealed):
        text = workspace.brief(back.view.returning.cycle, planner_for_booking)

1. A workspace belongs to one tenant; what another tenant wrote is not there.
2. Its revision counts decisions about its items. Leaving, returning and storing a view do not move
   it, so a view is good after it was stored.
3. Every write is one append, and names who decided.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

from lapse.admission import Ending, Refused, Sealed, render
from lapse.errors import InvalidValue
from lapse.ledger import Scope
from lapse.runtime.events import Event
from lapse.runtime.explaining import Explaining
from lapse.runtime.exposing import Exposing
from lapse.runtime.judging import RulingsInLedger, RulingsInMemory
from lapse.runtime.leaving import Leaving
from lapse.runtime.returns import Returns
from lapse.runtime.saying import Vouched, change, say
from lapse.runtime.session import Session
from lapse.runtime.statements import Statements
from lapse.runtime.telling import Telling
from lapse.runtime.workstate import Holding, Workstate, asking, within

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Unpack

    from lapse.admission import (
        Blocked,
        Departure,
        Member,
        Policy,
        ReturnView,
        SignedView,
        WorkItem,
    )
    from lapse.ledger import Clock, Ids, Signer, Source, Store, Verifier
    from lapse.runtime.events import Observer
    from lapse.runtime.explaining import CycleStory, ItemStory, Standing
    from lapse.runtime.exposing import Exposed
    from lapse.runtime.judging import Allowance, Judging, Looked
    from lapse.runtime.saying import Changing, Saying
    from lapse.runtime.workspace_forms import Notice

__all__ = ["Workspace"]

_LONGEST_WORKLOAD = 4096
"""Characters of what a member says that it came back for; as many as one item may have."""


class Workspace:
    """One tenant's workspace in a ledger. Safe to call from several threads and processes.

    Args:
        store: where it is kept, closed with the workspace; or a session that is held already.
        clock: tells the time.
        ids: makes up ids of items, cycles and records, and salts.
        policy: how returns are decided, whose receipts count, and how authorities rank.
        signer: signs views.
        verifier: knows the keys that views may be signed with.
        judging: who answers what the workspace's history does not say; its rulings are kept in the
            ledger, unless it brings another place than memory. None: nobody, so an item that is
            followed by another is left out.
        tenant: whose workspace; None: that of nobody in particular.
        listeners: who is told about every decision.
    """

    def __init__(  # noqa: PLR0913 - each is a part that is put in, and named
        self,
        store: Store | Session,
        *,
        clock: Clock,
        ids: Ids,
        policy: Policy,
        signer: Signer,
        verifier: Verifier,
        judging: Judging | None = None,
        tenant: str | None = None,
        listeners: Iterable[Observer] = (),
    ) -> None:
        self.policy = policy
        self.tenant = tenant
        self._session = session = store if isinstance(store, Session) else Session(store)
        self._clock = clock
        self._ids = ids
        self._telling = Telling(listeners)
        if judging is not None and isinstance(judging.rulings, RulingsInMemory):
            scope = Scope(tenant=tenant)
            kept = RulingsInLedger(session, clock=clock, ids=ids, scope=scope)
            judging = replace(judging, rulings=kept)
        state = Workstate(tenant, lambda seq: session.store.changes(after=seq))
        held = Holding(session, state, clock, ids)
        self._statements = Statements(held, policy=policy, telling=self._telling)
        self._leaving = Leaving(held)
        self._returns = returns = Returns(
            held, policy=policy, signer=signer, verifier=verifier, judging=judging
        )
        self._exposing = Exposing(held, returns, policy=policy, verifier=verifier)
        self._explaining = Explaining(held, returns, ranks=policy.ranks)

    # -- saying ------------------------------------------------------------------------------

    def record(self, text: str, **saying: Unpack[Saying]) -> WorkItem:
        """Write a statement, with the evidence for it.

        Args:
            text: what is said.
            saying: `slot`, `by` and what else goes with it: see `Saying`.

        Returns:
            The item as it is now; disputed where it replaces what it may not replace.

        Raises:
            InvalidValue: a field holds what it may not hold, or names an item that has ended.
            UnknownRecord: it names an item that this workspace does not have.
            IllegalChange: the id was used for something else, or a source that it rests on moved.
            StoreError: nothing was written.
        """
        said, vouched, item_id = say(text, saying)
        said = replace(said, scope=within(self.tenant, "scope", said.scope))
        return self._statements.write(said, vouched, item_id)

    def supersede(
        self, item_id: str, text: str, *, by: str, **changing: Unpack[Changing]
    ) -> WorkItem:
        """Say something else in place of an item, in its slot, scope and obligation.

        What rests on the old item is suspended. See `Changing` for what else may be otherwise.

        Raises:
            InvalidValue: the item has ended, or a field holds what it may not hold.
            UnknownRecord: this workspace has no such item.
            StoreError: nothing was written.
        """
        changed, vouched = change(text, changing)
        return self._statements.replace(item_id, by, changed, vouched)

    # -- unsaying ----------------------------------------------------------------------------

    def revoke(self, item_id: str, *, by: str, why: str = "", authority: str = "") -> Notice:
        """Say that an item was never true; its writer may, or somebody of at least its authority.

        Raises:
            InvalidValue: it has ended, or the authority does not suffice.
            UnknownRecord: this workspace has no such item.
            StoreError: nothing was written.
        """
        return self._statements.end(item_id, Ending.REVOKED, by=by, authority=authority, why=why)

    def close(self, item_id: str, *, by: str, why: str = "", authority: str = "") -> Notice:
        """Say that an item was true and is over; who may, and what it raises: as `revoke`."""
        return self._statements.end(item_id, Ending.CLOSED, by=by, authority=authority, why=why)

    def dispute(self, item_id: str, *, by: str, why: str = "") -> Notice:
        """Say that an item is contradicted; anybody may; nobody is shown it until it is decided.

        Raises as `revoke`, and IllegalChange: it is disputed already.
        """
        return self._statements.end(item_id, Ending.DISPUTED, by=by, authority="", why=why)

    def restore(
        self,
        item_id: str,
        *,
        by: str,
        observer: str,
        why: str = "",
        authority: str = "",
        source: Source | None = None,
    ) -> WorkItem:
        """Let an item stand again, for a receipt that is issued here and now.

        What is suspended or disputed stands again, and what has ended is said again in a new item;
        what fell with it, and only that, stands again too.

        Raises as `revoke`: it stands, or nobody vouches for it.
        """
        vouched = Vouched(observer=observer, source=source)
        return self._statements.restore(item_id, vouched, by=by, authority=authority, why=why)

    def resolve(
        self,
        winner: str,
        *,
        by: str,
        why: str = "",
        observer: str = "",
        source: Source | None = None,
        authority: str | None = None,
    ) -> WorkItem:
        """Let one side of a dispute hold from now on, in a new item; all sides end.

        An observer who looks again and confirms it decides. So does `by`, with an authority that
        suffices against every side. With neither, the winner's own authority has to be the highest.
        That it was said last is no ground.

        Raises as `revoke`: it is in no dispute, or nothing decides for it.
        """
        vouched = Vouched(observer=observer, source=source)
        return self._statements.resolve(winner, vouched, by=by, authority=authority, why=why)

    def purge(self, item_id: str, *, by: str, reason: str = "asked") -> tuple[str, ...]:
        """Remove what an item says for ever, from every file, and every ruling about it.

        Departures and decisions name it by id and stay; a view that showed it is refused. What
        rested on it is left out, and keeps the digest of it. Gives the ids of what was purged.

        Raises:
            UnknownRecord: this workspace has no such item.
            StoreError: nothing was purged.
        """
        return self._statements.purge(item_id, by=by, reason=reason)

    # -- leaving and returning ---------------------------------------------------------------

    def depart(self, identity: Scope) -> Departure:
        """Keep what a member can see now, and that it left; one append.

        Args:
            identity: its principal, role and task; whoever was never here is taken in first.

        Raises:
            InvalidValue: principal or role is not named, a purpose is, or the tenant is another.
            IllegalChange: it is away already, or on its way back.
            StoreError: nothing was written.
        """
        member = within(self.tenant, "identity", identity)
        departure = self._leaving.depart(member)
        self._tell("departed", str(member.role))
        return departure

    def scan(self, identity: Scope, *, allowance: Allowance | None = None) -> Looked | None:
        """Answer, while a member is away, what its return would ask now; rulings are kept.

        Nothing but rulings is written. Repeat it until nothing is left: what is kept costs nothing.

        Returns:
            What was answered within the allowance; None where this workspace has nobody to ask.

        Raises:
            InvalidValue: the member never left, or is here.
            StoreError: rulings could not be read or kept.
        """
        member = replace(within(self.tenant, "identity", identity), purpose=None)
        looked = self._returns.look_ahead(member, allowance)
        if looked is not None:
            self._tell("scanned", "left" if looked.left else "complete", count=looked.asked)
        return looked

    def return_(
        self,
        identity: Scope,
        *,
        cycle: str | None = None,
        workload: str = "",
        allowance: Allowance | None = None,
    ) -> Sealed | Blocked:
        """Decide what a returning member may act on: a complete view, or what is missing for one.

        The member's step, the decision and the view are one append, and durable before this
        returns. A cycle that ended is not decided again: its decision is made again from the
        ledger. One that was killed goes on under its id, or another takes over.

        Args:
            identity: the identity that left, with the purpose of the return.
            cycle: the id of this return, never used for another; made up when left out.
            workload: what it comes back for, kept with the decision.
            allowance: how much may be asked; None: all of it.

        Raises:
            InvalidValue: no purpose is named, or the member never left.
            IllegalChange: it is not away, or another return took over.
            StoreConflict: the workspace moved all the time; the member is still returning.
            LedgerNotTrusted: the ledger does not add up to what the member left with.
            StoreError: the step that failed was not taken.
        """
        who = asking(self.tenant, identity)
        if len(workload) > _LONGEST_WORKLOAD:
            shown = f"{len(workload)} characters"
            raise InvalidValue("workload", shown, f"say it in {_LONGEST_WORKLOAD} at most")
        if cycle == "":
            raise InvalidValue("cycle", cycle, "pass an id of its own for each return, or None")
        name = cycle or self._ids.new()
        decided, ended, new = self._returns.run(who, name, workload, allowance)
        if new:
            what = "admitted" if isinstance(ended, Sealed) else "blocked"
            self._tell(what, ",".join(decided.failures) or "complete", count=len(decided.shown))
        return ended

    # -- showing -----------------------------------------------------------------------------

    def view(self, cycle: str, identity: Scope) -> ReturnView | Refused:
        """The view of a return, if nothing speaks against it now for whoever asks.

        Raises:
            UnknownRecord: no return of this cycle ended.
            InvalidValue: no purpose is named, or the return was blocked.
            StoreError: the store could not be read.
        """
        found = self._exposed(cycle, identity)
        return found if isinstance(found, Refused) else found.view

    def brief(self, cycle: str, identity: Scope) -> str | Refused:
        """The view worded for a model: evidence with its dates; checked and raising as `view`."""
        found = self._exposed(cycle, identity)
        return found if isinstance(found, Refused) else render(found.view)

    def signed_view(self, cycle: str, identity: Scope) -> SignedView | Refused:
        """The view as it travels, with its signature; checked and raising as `view`."""
        found = self._exposed(cycle, identity)
        return found if isinstance(found, Refused) else found.signed

    def experience(self, cycle: str, identity: Scope) -> tuple[WorkItem, ...] | Refused:
        """The private experience whose sources the view shows; there is no other way to it.

        Checked and raising as `view`.
        """
        found = self._exposed(cycle, identity)
        return found if isinstance(found, Refused) else found.experience

    def _exposed(self, cycle: str, identity: Scope) -> Exposed | Refused:
        found = self._exposing.exposed(cycle, asking(self.tenant, identity))
        if isinstance(found, Refused):
            self._tell("refused", ",".join(found.reasons), cycle)
        else:
            self._tell("exposed", "checked", cycle)
        return found

    # -- explaining --------------------------------------------------------------------------

    def status(self) -> Standing:
        """How the workspace stands: members, open obligations, disputes, what nobody knows.

        Raises:
            StoreError: the store could not be read.
        """
        return self._explaining.standing()

    def member(self, identity: Scope) -> Member | None:
        """Where a member is; None for who never left.

        Raises:
            StoreError: the store could not be read.
        """
        return self._explaining.member(
            replace(within(self.tenant, "identity", identity), purpose=None)
        )

    def explain(self, name: str) -> ItemStory | CycleStory:
        """What became of an item, or why a return ended as it did. For operators.

        An item's story holds its words, whoever they were meant for: it is no way for an agent to
        what its view leaves out.

        Raises:
            UnknownRecord: this workspace has neither.
            StoreError: the store could not be read.
        """
        return self._explaining.explained(name)

    # -- life --------------------------------------------------------------------------------

    @property
    def store(self) -> Store:
        """The store behind it."""
        return self._session.store

    def close_store(self) -> None:
        """Give the store back; calling it twice does no harm."""
        self._session.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close_store()

    def _tell(self, what: str, reason: str, record: str | None = None, *, count: int = 1) -> None:
        event = Event(what=what, reason=reason, at=self._clock.now(), record=record, count=count)
        self._telling.tell(event)
