"""A store and the ledger beside it: reads give what stands, writes leave a receipt.

Reads filter inside: more is fetched until enough valid memories were found, the store has no more,
or a bound is reached. Nothing is deleted in the store; a memory that lapsed is left out, is still
in the store and in the ledger, and can be restored.

::

    memories = Guarded(adapter, sidecar)
    tea = memories.add("Ana drinks tea", Provenance(writer="Ana", authority="user"))
    memories.update(tea.memory.external_id, "Ana drinks coffee", Provenance(writer="Ana"))
    [one.text for one in memories.search("what does Ana drink?").memories]

A crash between the store and the ledger leaves a memory that is not served until it is attested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.admission import Ending
from lapse.errors import InvalidValue
from lapse.ledger import EVERYWHERE, Stamp, Status, encode
from lapse.stores.drafts import Write
from lapse.stores.entries import Provenance, memory_source, provenance_of
from lapse.stores.reading import LeftOut, Legacy, Reading, Served, Standing, with_created

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lapse.ledger import Instant, JsonObject, Receipt, Record, Scope
    from lapse.stores.port import MemoryStore, Remembered
    from lapse.stores.sidecar import Sidecar

__all__ = ["MOST_FETCHED", "Guarded"]

MOST_FETCHED = 1_000
"""Memories that one search may fetch before it gives up on finding enough that stand."""

_GROWTH = 4
"""How many times as many are fetched when too few of them stand."""

_BATCH = 256
"""Memories that are weighed together while a store is listed."""

_UNSAID = Provenance()


class Guarded:
    """A store of memories of which only what stands is served.

    Safe to call from several threads as far as the store is.

    Args:
        store: the adapter over the store.
        sidecar: the ledger beside it, under the adapter's name.
        legacy: what to do with memories that the ledger never saw.
        write_back: mark what lapses in the store, too, where the store has a place for it.
        most_fetched: memories that one search may fetch.

    Raises:
        InvalidValue: the sidecar is another store's, or the bound is none.
        Incapable: `write_back` was asked for and the store has no place for it.
    """

    def __init__(
        self,
        store: MemoryStore,
        sidecar: Sidecar,
        *,
        legacy: Legacy = Legacy.REFUSE,
        write_back: bool = False,
        most_fetched: int = MOST_FETCHED,
    ) -> None:
        if sidecar.store != store.name:
            raise InvalidValue("sidecar", sidecar.store, f"make one for {store.name!r}")
        if most_fetched < 1:
            raise InvalidValue("most_fetched", most_fetched, "pass 1 or more")
        if write_back:
            store.capabilities.demand("soft_invalidate", store.name)
        self.store = store
        self.sidecar = sidecar
        self.legacy = legacy
        self.write_back = write_back
        self._most = most_fetched

    # -- reading -----------------------------------------------------------------------------

    def get(self, external_id: str, *, who: Scope = EVERYWHERE) -> Served | None:
        """One memory, if it stands; None when it does not, or when there is none."""
        memory = self.store.get(external_id)
        served = () if memory is None else self.sift([memory], who=who).served
        return served[0] if served else None

    def standing(self, external_id: str, *, who: Scope = EVERYWHERE) -> Served | LeftOut | None:
        """One memory with why it is served or left out; None when there is none."""
        memory = self.store.get(external_id)
        if memory is None:
            return None
        reading = self.sift([memory], who=who)
        return (*reading.served, *reading.left_out)[0]

    def search(self, query: str, *, limit: int = 10, who: Scope = EVERYWHERE) -> Reading:
        """The memories that fit a text and stand, at most `limit`, best first.

        Raises:
            InvalidValue: the limit is negative.
            Incapable: the store cannot search.
        """
        if limit < 0:
            raise InvalidValue("limit", limit, "pass 0 or more")
        self.store.capabilities.demand("text_search", self.store.name)
        at, asked = self.sidecar.now(), min(max(limit, 1), self._most)
        while True:
            found = self.store.search(query, limit=asked)
            reading = self.sift(found, who=who, at=at, exhausted=len(found) < asked)
            if len(reading.served) >= limit or reading.exhausted or asked == self._most:
                return Reading(reading.served[:limit], reading.left_out, reading.exhausted)
            asked = min(asked * _GROWTH, self._most)

    def list(self, *, who: Scope = EVERYWHERE) -> Iterator[Served]:
        """Every memory that stands, in the store's order, weighed in batches as they are taken.

        Raises:
            Incapable: the store cannot list.
        """
        self.store.capabilities.demand("list_all", self.store.name)
        return self._listed(who)

    def sift(
        self,
        memories: Sequence[Remembered],
        *,
        who: Scope = EVERYWHERE,
        at: Instant | None = None,
        exhausted: bool = True,
    ) -> Reading:
        """Take apart what the store gave, by whatever way it was asked."""
        served: list[Served] = []
        left_out: list[LeftOut] = []
        instant = self.sidecar.now() if at is None else at
        weighed = self.sidecar.weigh(memories, at=instant, who=who)
        for memory, (standing, record, by) in zip(memories, weighed, strict=True):
            name = "" if record is None else record.id
            if standing is Standing.ACTIVE and record is not None:
                served.append(Served(with_created(memory, record), standing, name))
            elif standing is Standing.LEGACY and self.legacy is Legacy.ADMIT:
                served.append(Served(memory, standing, name))
            else:
                left_out.append(LeftOut(memory.external_id, standing, name, by))
        return Reading(tuple(served), tuple(left_out), exhausted)

    def stamp(self, external_id: str) -> Stamp:
        """What somebody says who rests on a memory as it is: work state, a record, another memory.

        Whatever carries it is held back in the append in which the memory ends or changes.

        Raises:
            InvalidValue: there is no such memory, or it does not stand.
        """
        served = self.get(external_id)
        if served is None or served.standing is not Standing.ACTIVE:
            raise InvalidValue("external_id", external_id, "name a memory that stands")
        source = memory_source(self.store.name, external_id)
        return Stamp(source, served.memory.text_sha256)

    # -- writing -----------------------------------------------------------------------------

    def add(
        self, text: str, said: Provenance = _UNSAID, *, metadata: JsonObject | None = None
    ) -> Served:
        """Keep a memory in the store, and a receipt of it in the ledger.

        Raises:
            InvalidValue: `said` rests on a memory that does not stand; the store was not asked.
        """
        self._check(said, metadata)
        memory = self.store.add(text, metadata=metadata)
        return self._served(memory, self.sidecar.remember(memory, said))

    def update(
        self,
        external_id: str,
        text: str,
        said: Provenance | None = None,
        *,
        metadata: JsonObject | None = None,
    ) -> Served:
        """Put another text in a memory's place; what stood there is kept in the ledger.

        Args:
            external_id: which memory.
            text: what it says now.
            said: what its writer says; None: what was said of the version before.
            metadata: what else; None: as it is.

        Raises:
            InvalidValue: there is no such memory, `said` rests on one that does not stand, or its
                authority is lower than that of another writer whose memory stands there.
        """
        before = self._there(external_id)
        told = self._said(external_id) if said is None else said
        self._check(told, metadata)
        self.sidecar.check_write(external_id, told)
        memory = self.store.update(external_id, text, metadata=metadata)
        return self._served(memory, self.sidecar.remember(memory, told, before=before))

    def attest(self, external_id: str, said: Provenance | None = None) -> Served:
        """Vouch for a memory as the store has it now: a legacy one, or one changed outside.

        Raises:
            InvalidValue: there is no such memory.
        """
        memory = self._there(external_id)
        told = self._said(external_id) if said is None else said
        return self._served(memory, self.sidecar.remember(memory, told))

    def adopt(self, said: Provenance = _UNSAID) -> tuple[Served, ...]:
        """Vouch for every memory that the ledger never saw, as the store has it now.

        What drifted is not among them: somebody has to look at it, one by one.

        Raises:
            Incapable: the store cannot list.
        """
        self.store.capabilities.demand("list_all", self.store.name)
        there = list(self.store.list())
        weighed = self.sidecar.weigh(there, at=self.sidecar.now())
        legacy = [
            memory
            for memory, (standing, _, _) in zip(there, weighed, strict=True)
            if standing is Standing.LEGACY
        ]
        records = self.sidecar.remember_all([Write(memory, said) for memory in legacy])
        return tuple(map(self._served, legacy, records))

    def audit(self, *, by: str) -> tuple[LeftOut, ...]:
        """Hold back in the ledger what was changed outside, and what rests on it.

        A read leaves out what drifted by itself; this tells whatever rests on it, in the ledger,
        without being asked about it. Run it in the background.

        Returns:
            What has drifted.

        Raises:
            Incapable: the store cannot list.
        """
        self.store.capabilities.demand("list_all", self.store.name)
        there = {memory.external_id: memory for memory in self.store.list()}
        left_out = self.sift(list(there.values())).left_out
        drifted = tuple(one for one in left_out if one.standing is Standing.DRIFT)
        for one in drifted:
            self.sidecar.hold_drifted(there[one.external_id], by=by)
        return drifted

    def invalidate(
        self,
        external_id: str,
        *,
        by: str,
        reason: str = "",
        ending: Ending | None = None,
    ) -> Record:
        """Serve a memory no longer, and hold back what rests on it.

        Args:
            external_id: which.
            by: who says so.
            reason: why, in words.
            ending: superseded, revoked (never true), closed (over) or disputed; None: it is held
                until somebody looked.

        Raises:
            InvalidValue: the ledger never saw it, or it has ended already.
        """
        if ending is None:
            record = self.sidecar.suspend(external_id, by=by, why=reason)
        else:
            record = self.sidecar.end(external_id, ending, by=by, why=reason)
        if self.write_back:  # the ledger first: a crash in between leaves it out all the same
            self.store.invalidate(external_id, reason=reason or record.status.value, by=by)
        return record

    def restore(self, external_id: str, *, by: str, receipt: Receipt | None = None) -> Served:
        """Let a memory stand again, as the store has it.

        Raises:
            InvalidValue: there is no such memory, it was changed outside, the ledger never saw it,
                or the receipt speaks against it.
        """
        memory = self._there(external_id)
        record = self.sidecar.restore(memory, by=by, receipt=receipt)
        if self.write_back:  # the store last: a crash in between leaves a mark, not a wrong memory
            self.store.restore(external_id)
            memory = self._there(external_id)
        return self._served(memory, record)

    def revert(self, external_id: str, record_id: str, *, by: str) -> Served:
        """Put back the text of an earlier version, as a new one.

        Raises:
            InvalidValue: there is no such memory, or the record is none of its versions.
        """
        versions = {record.id: record for record in self.sidecar.history(external_id)}
        record = versions.get(record_id)
        if record is None or record.status is Status.PURGED:
            raise InvalidValue("record_id", record_id, f"pass one of {sorted(versions)}")
        content = record.content
        said = provenance_of(record)
        told = Provenance(
            writer=by,
            authority=said.authority,
            kind=said.kind,
            slot=said.slot,
            scope=said.scope,
            purposes=said.purposes,
            supports=said.supports,
        )
        return self.update(external_id, content["text"], told, metadata=content["metadata"])

    # -- inside ------------------------------------------------------------------------------

    def _listed(self, who: Scope) -> Iterator[Served]:
        batch: list[Remembered] = []
        for memory in self.store.list():
            batch.append(memory)
            if len(batch) == _BATCH:
                yield from self.sift(batch, who=who).served
                batch = []
        yield from self.sift(batch, who=who).served

    def _there(self, external_id: str) -> Remembered:
        memory = self.store.get(external_id)
        if memory is None:
            raise InvalidValue("external_id", external_id, "name a memory that the store has")
        return memory

    def _said(self, external_id: str) -> Provenance:
        """What was said of the version before, which its own time and evidence stay with."""
        versions = self.sidecar.history(external_id)
        if not versions or versions[-1].status is Status.PURGED:
            return _UNSAID
        had = provenance_of(versions[-1])
        return Provenance(
            writer=had.writer,
            authority=had.authority,
            kind=had.kind,
            slot=had.slot,
            scope=had.scope,
            purposes=had.purposes,
            supports=had.supports,
            epoch=had.epoch,
        )

    def _check(self, said: Provenance, metadata: JsonObject | None) -> None:
        """Refuse before the store is asked what the ledger would refuse after."""
        encode(dict(metadata or {}))
        for name in said.rests_on:
            versions = self.sidecar.history(name)
            if not versions or not self.sidecar.usable(versions[-1]):
                raise InvalidValue("rests_on", name, "name other memories that are active here")

    @staticmethod
    def _served(memory: Remembered, record: Record) -> Served:
        standing = Standing.ACTIVE if record.status is Status.ACTIVE else Standing.DISPUTED
        return Served(with_created(memory, record), standing, record.id)
