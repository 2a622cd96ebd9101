"""A Mem0 memory of which only what stands is served: the drop-in for `mem0.Memory`.

::

    memory = GuardedMemory(Memory.from_config(config), lapse.sidecar("memory.db", "mem0"))
    memory.add("Ana drinks tea", user_id="ana", infer=False)
    memory.search("what does Ana drink?", filters={"user_id": "ana"})

Arguments and results are Mem0's own. In between, memories that lapsed, were changed past the guard,
or came from elsewhere are left out, and searches fetch more until enough were found. Otherwise
than in a bare memory:

1. Updating a memory supersedes what it said, and the ledger keeps that.
2. Deleting closes a memory and leaves it in the store, unless `deletes` says otherwise.
3. A later memory of a slot (`Provenance.slot`) takes the place of the earlier one.
4. With ``infer=True`` Mem0's model decides what is kept; what it adds, changes or deletes is
   written down as it says.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Mem0 carries no types; what it gives is anything until its shape is matched.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from lapse.admission import Ending
from lapse.errors import InvalidValue
from lapse.ledger import EVERYWHERE, LIVE
from lapse.stores.entries import Provenance
from lapse.stores.guarded import MOST_FETCHED, Guarded
from lapse.stores.mem0_items import OWNERS, Mem0Store, failures_told, remembered_row
from lapse.stores.mem0_offline import offline_memory
from lapse.stores.reading import Legacy, Standing

if TYPE_CHECKING:
    from collections.abc import Callable

    from mem0 import Memory

    from lapse.ledger import Record, Scope
    from lapse.stores.port import Remembered
    from lapse.stores.reading import LeftOut, Served
    from lapse.stores.sidecar import Sidecar

__all__ = ["GuardedMemory", "Mem0Store", "offline_memory"]

_UNSAID = Provenance()
_FOUND = Provenance(writer="unknown", authority="")
"""What is said of a memory that nobody wrote down and that is deleted."""
_GROWTH = 4
"""How many times as many are fetched when too few of them stand."""
_MARKED = "_lapse_standing"
"""The member of a result that says that nobody here saw the memory."""


class GuardedMemory:
    """A `mem0.Memory` that serves what stands.

    Args:
        memory: the memory inside.
        sidecar: the ledger beside it.
        said: what is said of the memories that are written.
        who: who asks.
        legacy: what to do with memories that the ledger never saw; admitted ones are marked.
        deletes: delete in the store, too; the ledger keeps what it knows.
        most_fetched: memories that one search may fetch beyond what it is asked for.
    """

    def __init__(
        self,
        memory: Memory,
        sidecar: Sidecar,
        *,
        said: Provenance = _UNSAID,
        who: Scope = EVERYWHERE,
        legacy: Legacy = Legacy.REFUSE,
        deletes: bool = False,
        most_fetched: int = MOST_FETCHED,
    ) -> None:
        if most_fetched < 0:
            raise InvalidValue("most_fetched", most_fetched, "pass 0 or more")
        self.inner = memory
        self.sidecar = sidecar
        self.said = said
        self.who = who
        self.legacy = legacy
        self.deletes = deletes
        self.most_fetched = most_fetched
        self._one = Guarded(Mem0Store(memory, {}, name=sidecar.store), sidecar, legacy=legacy)

    # -- as in Mem0 --------------------------------------------------------------------------

    def add(
        self, messages: Any, *, said: Provenance | None = None, **options: Any
    ) -> dict[str, Any]:
        """Keep what messages say; Mem0's `add`, with a receipt for each memory that came of it.

        Args:
            messages: a text, a message or a list of them.
            said: what is said of these; None: what is said of all.
            options: as Mem0 takes them: ``user_id``, ``metadata``, ``infer``, …

        Raises:
            InvalidValue: `said` rests on a memory that does not stand; nothing was asked of Mem0.
            StoreError: Mem0 failed, or the ledger could not be written: what was added is not
                served until it is attested.
        """
        told = self.said if said is None else said
        self._check(told)
        with failures_told(self.sidecar.store):
            result: Any = self.inner.add(messages, **options)
        for event in _rows(result):
            self._follow(event, told)
        return cast("dict[str, Any]", result)

    def search(self, query: str, *, top_k: int = 20, **options: Any) -> dict[str, Any]:
        """The memories that fit and stand, at most `top_k`, best first; Mem0's `search`."""

        def fetch(limit: int) -> list[dict[str, Any]]:
            with failures_told(self.sidecar.store):
                return _rows(self.inner.search(query, top_k=limit, **options))

        return {"results": self._served(fetch, top_k)}

    def get_all(self, *, top_k: int = 20, **options: Any) -> dict[str, Any]:
        """The memories of an owner that stand, at most `top_k`; Mem0's `get_all`."""

        def fetch(limit: int) -> list[dict[str, Any]]:
            with failures_told(self.sidecar.store):
                return _rows(self.inner.get_all(top_k=limit, **options))

        return {"results": self._served(fetch, top_k)}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """One memory, if it stands; None when it does not, or when there is none."""
        memory = self._one.store.get(memory_id)
        if memory is None:
            return None
        row = cast("dict[str, Any]", self.inner.get(memory_id))
        return next(iter(self._sift([row])), None)

    def update(self, memory_id: str, text: str | None = None, **options: Any) -> dict[str, Any]:
        """Let a memory say something else; Mem0's `update`.

        Raises:
            InvalidValue: there is no such memory.
        """
        before = self._there(memory_id)
        with failures_told(self.sidecar.store):
            result: Any = self.inner.update(memory_id, text=text, **options)
        self.sidecar.remember(self._there(memory_id), self.said, before=before)
        return cast("dict[str, Any]", result)

    def delete(self, memory_id: str) -> dict[str, Any]:
        """Close a memory; it stays in the store unless `deletes`.

        Raises:
            InvalidValue: there is no such memory.
        """
        self._close(self._there(memory_id))
        if self.deletes:
            with failures_told(self.sidecar.store):
                return cast("dict[str, Any]", self.inner.delete(memory_id))
        return {"message": "Memory closed; it is served no longer."}

    def delete_all(self, **owner: Any) -> dict[str, Any]:
        """Close every memory of an owner (``user_id``, ``agent_id``, ``run_id``)."""
        for memory in list(self.memories(**owner).store.list()):
            self.delete(memory.external_id)
        return {"message": "Memories closed; they are served no longer."}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """What Mem0 recorded of a memory; what the ledger did is in `records`."""
        with failures_told(self.sidecar.store):
            return self.inner.history(memory_id)

    # -- beyond it ---------------------------------------------------------------------------

    def saying(self, said: Provenance | None = None, *, who: Scope | None = None) -> GuardedMemory:
        """The same memory for another writer or asker, over the same ledger."""
        return GuardedMemory(
            self.inner,
            self.sidecar,
            said=self.said if said is None else said,
            who=self.who if who is None else who,
            legacy=self.legacy,
            deletes=self.deletes,
            most_fetched=self.most_fetched,
        )

    def memories(self, **owner: str) -> Guarded:
        """An owner's memories as of any other store: to adopt them, and for `items_of`."""
        if not owner:
            raise InvalidValue("owner", {}, f"name {' or '.join(OWNERS)}")
        store = Mem0Store(self.inner, owner, name=self.sidecar.store)
        return Guarded(store, self.sidecar, legacy=self.legacy)

    def standing(self, memory_id: str) -> Served | LeftOut | None:
        """Why a memory is served or left out; None when the store does not have it."""
        return self._one.standing(memory_id, who=self.who)

    def records(self, memory_id: str) -> tuple[Record, ...]:
        """Every version of a memory that the ledger knows, oldest first, with its status."""
        return self.sidecar.history(memory_id)

    def invalidate(
        self, memory_id: str, *, by: str, reason: str = "", ending: Ending | None = None
    ) -> Record:
        """Serve a memory no longer; see `Guarded.invalidate`."""
        return self._one.invalidate(memory_id, by=by, reason=reason, ending=ending)

    def restore(self, memory_id: str, *, by: str) -> Served:
        """Let a memory stand again, as the store has it; see `Guarded.restore`."""
        return self._one.restore(memory_id, by=by)

    def attest(self, memory_id: str) -> Served:
        """Vouch for a memory as the store has it: a legacy one, or one changed outside."""
        return self._one.attest(memory_id, self.said)

    # -- inside ------------------------------------------------------------------------------

    def _served(
        self, fetch: Callable[[int], list[dict[str, Any]]], limit: int
    ) -> list[dict[str, Any]]:
        if limit < 0:
            raise InvalidValue("top_k", limit, "pass 0 or more")
        most = limit + self.most_fetched
        asked = min(max(limit, 1), most)
        while True:
            rows = fetch(asked)
            served = self._sift(rows)
            if len(served) >= limit or len(rows) < asked or asked >= most:
                return served[:limit]
            asked = min(asked * _GROWTH, most)

    def _sift(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        memories = [remembered_row(row) for row in rows]
        reading = self._one.sift(memories, who=self.who)
        standing = {one.memory.external_id: one.standing for one in reading.served}
        served: list[dict[str, Any]] = []
        for row in rows:
            if row["id"] in standing:
                legacy = standing[row["id"]] is Standing.LEGACY
                served.append({**row, _MARKED: "legacy"} if legacy else row)
        return served

    def _follow(self, event: dict[str, Any], said: Provenance) -> None:
        """Write down what Mem0 says that it did with one memory."""
        name, what = event.get("id"), event.get("event", "ADD")
        if not isinstance(name, str):
            return
        memory = self._one.store.get(name)
        if memory is not None:
            self.sidecar.remember(memory, said)
        elif what == "DELETE":
            self._ended(name)

    def _close(self, memory: Remembered) -> None:
        """Close it; what nobody wrote down is written down first, so that it stays closed."""
        standing = self._one.standing(memory.external_id)
        if standing is not None and standing.standing in (Standing.LEGACY, Standing.DRIFT):
            self.sidecar.remember(memory, _FOUND)
        self._ended(memory.external_id)

    def _ended(self, name: str) -> None:
        history = self.sidecar.history(name)
        if history and history[-1].status in LIVE:
            self.sidecar.end(name, Ending.CLOSED, by=self.said.writer, why="deleted")

    def _check(self, said: Provenance) -> None:
        """Refuse before Mem0 is asked what the ledger would refuse after."""
        for name in said.rests_on:
            versions = self.sidecar.history(name)
            if not versions or not self.sidecar.usable(versions[-1]):
                raise InvalidValue("rests_on", name, "name other memories that are active here")

    def _there(self, memory_id: str) -> Remembered:
        memory = self._one.store.get(memory_id)
        if memory is None:
            raise InvalidValue("memory_id", memory_id, "name a memory that the store has")
        return memory


def _rows(found: Any) -> list[dict[str, Any]]:
    match found:
        case {"results": list(rows)}:
            return cast("list[dict[str, Any]]", rows)
        case _:
            return []
