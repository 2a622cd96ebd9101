"""A workspace for event loops: the same methods as coroutines, each run on a thread.

Nothing is decided twice: every method hands its arguments to `Workspace`, whose documentation says
what it does, what it returns and what it raises. A coroutine that is cancelled does not take back
what its thread has begun; repeat the call under the same `item_id` or `cycle`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from typing import Unpack

    from lapse.admission import (
        Blocked,
        Departure,
        Member,
        Policy,
        Refused,
        ReturnView,
        Sealed,
        SignedView,
        WorkItem,
    )
    from lapse.ledger import Scope, Source, Store
    from lapse.runtime.explaining import CycleStory, ItemStory, Standing
    from lapse.runtime.judging import Allowance, Looked
    from lapse.runtime.saying import Changing, Saying
    from lapse.runtime.workspace import Workspace
    from lapse.runtime.workspace_forms import Notice

__all__ = ["AsyncWorkspace"]


class AsyncWorkspace:
    """One tenant's workspace, off the event loop. Safe to use from several tasks.

    Args:
        workspace: the workspace; closed with this one.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def policy(self) -> Policy:
        """How returns are decided."""
        return self._workspace.policy

    @property
    def tenant(self) -> str | None:
        """Whose workspace it is."""
        return self._workspace.tenant

    @property
    def store(self) -> Store:
        """The store behind it."""
        return self._workspace.store

    async def record(self, text: str, **saying: Unpack[Saying]) -> WorkItem:
        """See `Workspace.record`."""
        return await asyncio.to_thread(self._workspace.record, text, **saying)

    async def supersede(
        self, item_id: str, text: str, *, by: str, **changing: Unpack[Changing]
    ) -> WorkItem:
        """See `Workspace.supersede`."""
        supersede = self._workspace.supersede
        return await asyncio.to_thread(supersede, item_id, text, by=by, **changing)

    async def revoke(self, item_id: str, *, by: str, why: str = "", authority: str = "") -> Notice:
        """See `Workspace.revoke`."""
        revoke = self._workspace.revoke
        return await asyncio.to_thread(revoke, item_id, by=by, why=why, authority=authority)

    async def close(self, item_id: str, *, by: str, why: str = "", authority: str = "") -> Notice:
        """See `Workspace.close`."""
        close = self._workspace.close
        return await asyncio.to_thread(close, item_id, by=by, why=why, authority=authority)

    async def dispute(self, item_id: str, *, by: str, why: str = "") -> Notice:
        """See `Workspace.dispute`."""
        return await asyncio.to_thread(self._workspace.dispute, item_id, by=by, why=why)

    async def restore(
        self,
        item_id: str,
        *,
        by: str,
        observer: str,
        why: str = "",
        authority: str = "",
        source: Source | None = None,
    ) -> WorkItem:
        """See `Workspace.restore`."""
        return await asyncio.to_thread(
            self._workspace.restore,
            item_id,
            by=by,
            observer=observer,
            why=why,
            authority=authority,
            source=source,
        )

    async def resolve(
        self,
        winner: str,
        *,
        by: str,
        why: str = "",
        observer: str = "",
        source: Source | None = None,
        authority: str | None = None,
    ) -> WorkItem:
        """See `Workspace.resolve`."""
        return await asyncio.to_thread(
            self._workspace.resolve,
            winner,
            by=by,
            why=why,
            observer=observer,
            source=source,
            authority=authority,
        )

    async def purge(self, item_id: str, *, by: str, reason: str = "asked") -> tuple[str, ...]:
        """See `Workspace.purge`."""
        return await asyncio.to_thread(self._workspace.purge, item_id, by=by, reason=reason)

    async def depart(self, identity: Scope) -> Departure:
        """See `Workspace.depart`."""
        return await asyncio.to_thread(self._workspace.depart, identity)

    async def scan(self, identity: Scope, *, allowance: Allowance | None = None) -> Looked | None:
        """See `Workspace.scan`."""
        return await asyncio.to_thread(self._workspace.scan, identity, allowance=allowance)

    async def return_(
        self,
        identity: Scope,
        *,
        cycle: str | None = None,
        workload: str = "",
        allowance: Allowance | None = None,
    ) -> Sealed | Blocked:
        """See `Workspace.return_`."""
        return await asyncio.to_thread(
            self._workspace.return_,
            identity,
            cycle=cycle,
            workload=workload,
            allowance=allowance,
        )

    async def view(self, cycle: str, identity: Scope) -> ReturnView | Refused:
        """See `Workspace.view`."""
        return await asyncio.to_thread(self._workspace.view, cycle, identity)

    async def brief(self, cycle: str, identity: Scope) -> str | Refused:
        """See `Workspace.brief`."""
        return await asyncio.to_thread(self._workspace.brief, cycle, identity)

    async def signed_view(self, cycle: str, identity: Scope) -> SignedView | Refused:
        """See `Workspace.signed_view`."""
        return await asyncio.to_thread(self._workspace.signed_view, cycle, identity)

    async def experience(self, cycle: str, identity: Scope) -> tuple[WorkItem, ...] | Refused:
        """See `Workspace.experience`."""
        return await asyncio.to_thread(self._workspace.experience, cycle, identity)

    async def status(self) -> Standing:
        """See `Workspace.status`."""
        return await asyncio.to_thread(self._workspace.status)

    async def member(self, identity: Scope) -> Member | None:
        """See `Workspace.member`."""
        return await asyncio.to_thread(self._workspace.member, identity)

    async def explain(self, name: str) -> ItemStory | CycleStory:
        """See `Workspace.explain`."""
        return await asyncio.to_thread(self._workspace.explain, name)

    async def close_store(self) -> None:
        """See `Workspace.close_store`."""
        await asyncio.to_thread(self._workspace.close_store)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close_store()
