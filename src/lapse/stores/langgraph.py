"""A LangGraph store of which only what stands is served: the drop-in for any `BaseStore`.

::

    store = GuardedStore(InMemoryStore(), lapse.sidecar("memory.db", "langgraph"))
    graph = builder.compile(store=store)

What a `BaseStore` does is done by the store inside, sync or async; in between, items that lapsed,
drifted or came from elsewhere are left out, and searches go on until enough were found. As in the
stores of LangGraph, a batch reads before it writes, and of several writes to a key the last counts.
Otherwise than in a bare store:

1. Putting over a key supersedes what was there, and the ledger keeps it.
2. Deleting closes the memory and leaves it in the store, unless `deletes` says otherwise.
3. `created_at` is when the memory was first written, also where the store forgets that.
4. Values are plain JSON and come back as copies: changing one changes nothing in the store.
5. What is left out is not kept alive: its time to live is not refreshed by reading.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lapse.stores.guarded import Guarded
from lapse.stores.langgraph_items import LangGraphStore, memory_name
from lapse.stores.langgraph_steps import Manner, Steps

# isort: split
from langgraph.store.base import BaseStore

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from langgraph.store.base import Op, Result

    from lapse.admission import Ending
    from lapse.ledger import Record, Scope
    from lapse.stores.entries import Provenance
    from lapse.stores.reading import LeftOut, Served
    from lapse.stores.sidecar import Sidecar

__all__ = ["GuardedStore", "LangGraphStore", "Manner", "memory_name"]

_MANNER = Manner()


class GuardedStore(BaseStore):
    """A LangGraph store that serves what stands.

    Args:
        store: the store inside, of any make.
        sidecar: the ledger beside it.
        manner: how it serves and writes.
    """

    def __init__(self, store: BaseStore, sidecar: Sidecar, *, manner: Manner = _MANNER) -> None:
        self.inner = store
        self.sidecar = sidecar
        self.supports_ttl = store.supports_ttl
        self.ttl_config = store.ttl_config
        self.manner = manner

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations on the store inside, and leave out what does not stand.

        Raises:
            InvalidValue: a value holds what JSON cannot carry, or the member ``_lapse``, or another
                writer of higher authority put what stands there; nothing was written.
            StoreError: the ledger could not be read or written; what was put is not served until
                it is attested.
        """
        steps = self._steps(ops)
        results, asked = _advanced(steps, None)
        while results is None:
            results, asked = _advanced(steps, self.inner.batch(asked))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`; the ledger is asked in a thread, so the loop goes on."""
        steps = self._steps(ops)
        results, asked = await asyncio.to_thread(_advanced, steps, None)
        while results is None:
            found = await self.inner.abatch(asked)
            results, asked = await asyncio.to_thread(_advanced, steps, found)
        return results

    def saying(self, said: Provenance | None = None, *, who: Scope | None = None) -> GuardedStore:
        """The same store for another writer or asker, over the same ledger.

        Args:
            said: what is said of what is put through it; None: as here.
            who: who asks; None: as here.
        """
        manner = replace(
            self.manner,
            said=self.manner.said if said is None else said,
            who=self.manner.who if who is None else who,
        )
        return GuardedStore(self.inner, self.sidecar, manner=manner)

    def memories(self, namespace: tuple[str, ...]) -> Guarded:
        """The memories of a namespace and below, as of any other store; for `items_of`, too."""
        adapter = LangGraphStore(
            self.inner,
            namespace,
            ids=self.sidecar.ids,
            name=self.sidecar.store,
            text=self.manner.text,
        )
        return Guarded(adapter, self.sidecar, legacy=self.manner.legacy)

    def standing(self, namespace: tuple[str, ...], key: str) -> Served | LeftOut | None:
        """Why an item is served or left out; None when the store does not have it."""
        guarded = self.memories(namespace)
        return guarded.standing(memory_name(namespace, key), who=self.manner.who)

    def history(self, namespace: tuple[str, ...], key: str) -> tuple[Record, ...]:
        """Every version of an item that the ledger knows, oldest first, with its status."""
        return self.sidecar.history(memory_name(namespace, key))

    def attest(
        self, namespace: tuple[str, ...], key: str, said: Provenance | None = None
    ) -> Served:
        """Vouch for an item as the store has it now.

        Raises:
            InvalidValue: the store does not have it.
        """
        return self.memories(namespace).attest(memory_name(namespace, key), said)

    def invalidate(
        self,
        namespace: tuple[str, ...],
        key: str,
        *,
        by: str,
        reason: str = "",
        ending: Ending | None = None,
    ) -> Record:
        """Serve an item no longer, and hold back what rests on it; `Guarded.invalidate` says how.

        Raises:
            InvalidValue: the ledger never saw it, or it has ended already.
        """
        name = memory_name(namespace, key)
        return self.memories(namespace).invalidate(name, by=by, reason=reason, ending=ending)

    def restore(self, namespace: tuple[str, ...], key: str, *, by: str) -> Served:
        """Let an item stand again, as the store has it.

        Raises:
            InvalidValue: the store does not have it, it was changed outside, or the ledger never
                saw it.
        """
        return self.memories(namespace).restore(memory_name(namespace, key), by=by)

    def _steps(self, ops: Iterable[Op]) -> Generator[list[Op], list[Result], list[Result]]:
        return Steps(self.sidecar, self.manner, ttl=self.supports_ttl).run(list(ops))


def _advanced(
    steps: Generator[list[Op], list[Result], list[Result]], found: Any
) -> tuple[list[Result] | None, list[Op]]:
    """One step on: what the steps add up to when they are done, or what they ask for next."""
    try:
        return None, steps.send(found)
    except StopIteration as done:
        return done.value, []
