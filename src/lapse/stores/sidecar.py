"""The ledger beside a store: what it knows of each memory, and what happened to it.

It never calls the store. Several sidecars, work state and fixes may share one ledger; each sidecar
follows it, so other processes' writes are seen before anything is decided or served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.admission import RANKS
from lapse.errors import InvalidValue
from lapse.ledger import EVERYWHERE, ChangeKind, Status
from lapse.runtime import Session
from lapse.stores.drafts import Write, may_replace, remembered_together, restored
from lapse.stores.endings import Act, ended, held
from lapse.stores.entries import Entries, is_entry
from lapse.stores.reading import Standing, judged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lapse.admission import Ending
    from lapse.ledger import Clock, Draft, Ids, Instant, Receipt, Record, Scope, State, Store
    from lapse.stores.endings import Drafted
    from lapse.stores.entries import Provenance
    from lapse.stores.port import Remembered

__all__ = ["Sidecar", "Weighed"]

_TOGETHER = 500
"""Memories that are written down in one append: a few hundred kilobytes."""

Weighed = tuple[Standing, "Record | None", str]
"""A memory's standing, the ledger's latest record of it, and the id of what took its place."""


class Sidecar:
    """What the ledger knows of the memories of one store. Safe to call from several threads.

    Args:
        ledger: where it is kept.
        store: the store's name; it stays the same as long as the store does.
        clock: tells the time.
        ids: makes up record ids and salts.
        observer: who vouches for what is written here: the observer of its receipts.
        ranks: the rank of each name of authority; one that is not there ranks lowest.
    """

    def __init__(
        self,
        ledger: Store,
        store: str,
        *,
        clock: Clock,
        ids: Ids,
        observer: str = "writer",
        ranks: Mapping[str, int] = RANKS,
    ) -> None:
        for name, value in (("store", store), ("observer", observer)):
            if not value or "/" in value:
                raise InvalidValue(name, value, "pass a name without slashes, always the same")
        self.store = store
        self.observer = observer
        self._session = Session(ledger)
        self._clock = clock
        self._ids = ids
        self._ranks = ranks
        self._entries = Entries(store)
        self._followed: State | None = None
        self._seq = 0

    def close(self) -> None:
        """Give the ledger back; calling it twice does no harm."""
        self._session.store.close()

    @property
    def ids(self) -> Ids:
        """What makes up ids here."""
        return self._ids

    def now(self) -> Instant:
        """The instant by this sidecar's clock."""
        return self._clock.now()

    # -- asking ------------------------------------------------------------------------------

    def weigh(
        self, memories: Sequence[Remembered], *, at: Instant, who: Scope = EVERYWHERE
    ) -> list[Weighed]:
        """What is known of each memory, in order, all in one state of the ledger.

        Args:
            memories: as the store gives them.
            at: the instant that they are asked for.
            who: who asks, and for what.
        """
        with self._session.lock:
            state = self._caught_up()
            found: list[Weighed] = []
            for memory in memories:
                record = self._entries.latest(memory.external_id, state)
                standing = judged(memory, record, state, at=at, who=who)
                by = "" if record is None else self._entries.replaced.get(record.id, "")
                found.append((standing, record, by))
            return found

    def history(self, external_id: str) -> tuple[Record, ...]:
        """Every record of a memory, oldest first, with its status; the losers are among them."""
        with self._session.lock:
            state = self._caught_up()
            return tuple(map(state.record, self._entries.versions.get(external_id, ())))

    def known(self) -> tuple[Record, ...]:
        """The latest record of every memory that the ledger ever saw."""
        with self._session.lock:
            state = self._caught_up()
            return tuple(state.record(ids[-1]) for ids in self._entries.versions.values())

    def active(self, *, at: Instant, who: Scope = EVERYWHERE) -> tuple[Record, ...]:
        """The latest records that stand, as far as that is known without asking the store."""
        with self._session.lock:
            state = self._caught_up()
            latest = (state.record(ids[-1]) for ids in self._entries.versions.values())
            return tuple(
                record
                for record in latest
                if state.usable(record) and record.valid.holds_at(at) and record.scope.admits(who)
            )

    def usable(self, record: Record) -> bool:
        """Whether a record is active and nothing that it rests on moved unreconciled."""
        with self._session.lock:
            return self._caught_up().usable(record)

    def check_write(self, external_id: str, said: Provenance) -> None:
        """Refuse, before a store is asked, a writer who may not replace what stands there.

        Raises:
            InvalidValue: the memory stands, by another writer of higher authority.
        """
        history = self.history(external_id)
        if not history or history[-1].status is not Status.ACTIVE:
            return
        if not may_replace(said, history[-1], self._ranks):
            remedy = f"{external_id} was written with a higher one; add a memory of its own"
            raise InvalidValue("authority", said.authority, remedy)

    # -- writing -----------------------------------------------------------------------------

    def remember(
        self, memory: Remembered, said: Provenance, *, before: Remembered | None = None
    ) -> Record:
        """Write down a memory as it was just written or read, with a receipt.

        Args:
            memory: as the store has it now.
            said: what its writer says of it.
            before: what the store had under this name until now; if the ledger does not know it,
                it is written down too, so that the loser is kept.

        Raises:
            InvalidValue: `said` rests on a memory that is not active here.
            StoreError: nothing was written; the memory is legacy, or drifted, until it is attested.
        """
        return self.remember_all([Write(memory, said, before)])[0]

    def remember_all(self, writes: Sequence[Write]) -> tuple[Record, ...]:
        """Write down many memories, in few appends.

        Raises:
            InvalidValue: as `remember` says; those before it may have been written down.
            StoreError: as `remember` says, for those that were not written down yet.
        """
        waiting = [(write, self._act(write.said.writer)) for write in writes]
        records: list[Record] = []
        while waiting:
            now = waiting[:_TOGETHER]

            def decided(
                state: State, now: Sequence[tuple[Write, Act]] = now
            ) -> tuple[list[str], Sequence[Draft]]:
                self._follow(state)
                return remembered_together(state, self._entries, now)

            with self._session.lock:
                ids = self._session.write(decided)
                records += map(self._session.state.record, ids)
            waiting = waiting[len(ids) :]
        return tuple(records)

    def end(self, external_id: str, ending: Ending, *, by: str, why: str = "") -> Record:
        """Let a memory stop standing, and suspend what rests on it.

        Args:
            external_id: which.
            ending: how: superseded, revoked (never true), closed (over) or disputed.
            by: who says so.
            why: in words; kept beside the change.

        Raises:
            InvalidValue: the ledger does not know it, or it has ended already.
        """
        act = self._act(by)
        return self._write(lambda s: ended(s, self._latest(external_id, s), ending, act, why=why))

    def suspend(self, external_id: str, *, by: str, why: str = "") -> Record:
        """Hold a memory back, and what rests on it, until somebody looked.

        Raises:
            InvalidValue: the ledger does not know it, or it has ended already.
        """
        act = self._act(by)
        return self._write(lambda s: held(s, self._latest(external_id, s), act, why=why))

    def hold_drifted(self, memory: Remembered, *, by: str) -> Record:
        """Hold back, with what rests on it, a memory whose text was changed outside.

        Nothing happens where it did not drift, or is held already.

        Raises:
            InvalidValue: the ledger never saw it.
        """
        act = self._act(by)

        def decided(state: State) -> Drafted:
            record = self._latest(memory.external_id, state)
            standing = judged(memory, record, state, at=act.at, who=EVERYWHERE)
            if standing is not Standing.DRIFT or record.status is not Status.ACTIVE:
                return record.id, ()
            return held(state, record, act, why=memory.text_sha256, reason=standing.value)

        return self._write(decided)

    def restore(self, memory: Remembered, *, by: str, receipt: Receipt | None = None) -> Record:
        """Let a memory stand again: what is held is lifted, what has ended is said again.

        Args:
            memory: as the store has it now.
            by: who vouches for it.
            receipt: the evidence; without one, `by` vouches for the text as it is.

        Raises:
            InvalidValue: the ledger does not know it, its text was changed outside, or the receipt
                speaks against it.
        """
        act = self._act(by, observer=by)
        return self._write(lambda s: restored(s, self._entries, memory, act, receipt))

    # -- inside ------------------------------------------------------------------------------

    def _act(self, actor: str, *, observer: str = "") -> Act:
        if not actor:
            raise InvalidValue("by", actor, "name who says so")
        return Act(
            at=self._clock.now(),
            actor=actor,
            observer=observer or self.observer,
            record_id=self._ids.new(),
            lost_id=self._ids.new(),
            salt=self._ids.new(),
            ranks=self._ranks,
        )

    def _write(self, decide: Callable[[State], Drafted]) -> Record:
        def decided(state: State) -> Drafted:
            self._follow(state)
            return decide(state)

        with self._session.lock:
            return self._session.state.record(self._session.write(decided))

    def _latest(self, external_id: str, state: State) -> Record:
        record = self._entries.latest(external_id, state)
        if record is None:
            remedy = "attest it first: the ledger never saw it"
            raise InvalidValue("external_id", external_id, remedy)
        return record

    def _caught_up(self) -> State:
        state = self._session.catch_up()
        self._follow(state)
        return state

    def _follow(self, state: State) -> None:
        """Take in what was written since; everything again when another state stands there."""
        if self._followed is not state:
            self._entries = Entries.of(self.store, state.records())
            self._followed = state
        elif state.head.seq > self._seq:
            for change in self._session.store.changes(after=self._seq):
                if change.seq > state.head.seq:
                    break
                for part in change.parts if change.kind is ChangeKind.WRITTEN else ():
                    record = state.record(part.record)
                    if is_entry(record, self.store):  # what was purged since is none
                        self._entries.take(record)
        self._seq = state.head.seq
