"""The client's memory of fixes: takes responses in, gives valid fixes out.

It refuses to serve what is not known to hold: a fix whose table moved is held back until the
service says what changed, and no time passing makes it good again. It never decides whether a fix
applies to the task; it says which ones are true.

A response is taken in by `receive`, a generator that asks its questions (which table changed how?)
of whoever does the I/O::

    steps = memory.receive(lesson)
    question = next(steps)            # a Moved, or StopIteration: nothing to ask
    steps.send(answer)                # TableChanges, or None when the service cannot be reached
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from lapse.contract import (
    A2DC,
    Consumption,
    Fix,
    drafts,
    learn,
    moved,
    needs_changes,
    settle,
    unvouched,
    word,
)
from lapse.errors import InvalidValue
from lapse.ledger import EVERYWHERE, ChangeKind, Draft, Kind, Scope, Status, story
from lapse.runtime.applying import Applying
from lapse.runtime.asking import answers, ask
from lapse.runtime.digests import Digests
from lapse.runtime.events import Event
from lapse.runtime.quarantine import Guard
from lapse.runtime.session import Session
from lapse.runtime.telling import Telling, events_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence

    from lapse.contract import (
        EvictionPolicy,
        Learnt,
        Lesson,
        Moved,
        Settlement,
        TableChanges,
    )
    from lapse.ledger import Chapter, Clock, Head, Ids, JsonObject, Record, State, Store
    from lapse.runtime.asking import Asked
    from lapse.runtime.events import Observer
    from lapse.runtime.quarantine import Trust, Weighed

__all__ = ["Memory"]

_MOST_ROUNDS = 4
"""How often a response's questions are asked anew because another process settled in between."""


class Memory:
    """What an agent remembers of the services it calls. Safe to call from several threads.

    Args:
        store: where it is kept; closed with the memory.
        clock: tells the time.
        ids: makes up record ids and salts.
        policy: which fixes go when something moved.
        observers: who is told about every decision.
        trust: what is demanded of services before they are believed; None: nothing.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        ids: Ids,
        policy: EvictionPolicy = A2DC,
        observers: Iterable[Observer] = (),
        trust: Trust | None = None,
    ) -> None:
        self.policy = policy
        self._session = Session(store)
        self._clock = clock
        self._ids = ids
        self._telling = Telling(observers)
        self.guard = Guard(trust, clock=clock, telling=self._telling)
        self.applying = Applying(
            self._session, clock=clock, ids=ids, telling=self._telling, may_serve=self._may_serve
        )
        self.digests = Digests()
        self._seen: dict[str, tuple[Head, Mapping[str, str] | None, str | None]] = {}
        self._doubted: set[str] = set()

    # -- taking in ---------------------------------------------------------------------------

    def unchanged(
        self, issuer: str, table_versions: Mapping[str, str] | None, rules_version: str | None
    ) -> bool:
        """Whether a response without suggestions says what the last one of this issuer said.

        The fast path: one comparison, no store is read. It counts for the state that the last one
        was compared with: what was written since, here or by others, may be stamped otherwise.
        False settles nothing; call `receive` then.
        """
        seen = self._seen.get(issuer)
        return (
            seen is not None
            and seen[0] is self._session.state.head
            and seen[2] == rules_version
            and (seen[1] is table_versions or seen[1] == table_versions)
        )

    def receive(self, lesson: Lesson) -> Generator[Moved, TableChanges | None, None]:
        """Take a response in: reconcile what is remembered, then remember what it suggests.

        What moved is held back, durably, before the first question is asked: nobody is served it
        while the service thinks, nor when the exchange is broken off.

        Yields:
            What moved and how is not known; send the service's answer, or None if there is none.

        Raises:
            StoreError: what could not be written was not done. If that was the news that something
                moved, no fix of this issuer is served until a later response could be reconciled.
        """
        asked: Asked = {}
        self._settle(lesson, asked)
        for _ in range(_MOST_ROUNDS):
            before = len(asked)
            yield from ask(self._questions(lesson), asked)
            if len(asked) == before:
                break
            self._settle(lesson, asked)
        if lesson.teaches:
            yield from ask(self._unvouched(lesson, asked), asked)
            self._learn(lesson, asked)
        self._remember_seen(lesson)

    def _questions(self, lesson: Lesson) -> Sequence[Moved]:
        if not self.policy.asks:
            return ()
        with self._session.lock:
            state = self._session.catch_up()
            moves = moved(state, lesson.issuer, lesson.envelope)
            return self.guard.askable(lesson, needs_changes(self.policy, moves))

    def _unvouched(self, lesson: Lesson, asked: Asked) -> Sequence[Moved]:
        with self._session.lock:
            found = unvouched(self._session.catch_up(), self.policy, lesson, answers(asked))
            return self.guard.askable(lesson, found)

    def _settle(self, lesson: Lesson, asked: Asked) -> None:
        if not self.policy.watches:
            return

        def decide(state: State) -> tuple[Weighed, Sequence[Draft]]:
            moves = moved(state, lesson.issuer, lesson.envelope)
            verdicts = settle(state, self.policy, moves, answers(asked))
            weighed = self.guard.weighed(state, lesson, moves, verdicts)
            return weighed, drafts(weighed.verdicts, state, lesson, new_id=self._ids.new)

        try:
            weighed = self._session.write(decide)
        except Exception:
            # It may have said that fixes held here have lapsed, and that could not be written down.
            self._doubted.add(lesson.issuer)
            self._seen.pop(lesson.issuer, None)
            raise
        if lesson.envelope.table_versions is not None:
            self._doubted.discard(lesson.issuer)
        self.guard.carried_out(lesson, weighed)
        self._tell(weighed.verdicts, lesson)

    def _learn(self, lesson: Lesson, asked: Asked) -> None:
        def decide(state: State) -> tuple[Sequence[Learnt], Sequence[Draft]]:
            verdicts = learn(state, self.policy, lesson, answers(asked), new_id=self._ids.new)
            return verdicts, drafts(verdicts, state, lesson, new_id=self._ids.new)

        verdicts = self._session.write(decide)
        self._tell(verdicts, lesson)

    def _tell(self, verdicts: Sequence[Settlement | Learnt], lesson: Lesson) -> None:
        self._telling.tell(*(event for verdict in verdicts for event in events_of(verdict, lesson)))

    def _remember_seen(self, lesson: Lesson) -> None:
        envelope = lesson.envelope
        with self._session.lock:
            state = self._session.state
            said = state.head, envelope.table_versions, envelope.rules_version
            self._seen[lesson.issuer] = said
            if self.policy.watches and moved(state, lesson.issuer, envelope):
                del self._seen[lesson.issuer]

    # -- giving out --------------------------------------------------------------------------

    def fixes(
        self, operation: str, request: JsonObject | None = None, *, issuer: str | None = None
    ) -> tuple[Fix, ...]:
        """The fixes that hold now for an operation, oldest first.

        Args:
            operation: the operation as the transport names it, such as ``POST /v1/subscriptions``.
            request: the request about to be made; leaves out the fixes that were given for others.
            issuer: whose fixes; None when the memory knows a single issuer.

        Raises:
            InvalidValue: no issuer was named and the memory knows several.
            StoreError: the store could not be read.
        """
        with self._session.lock:
            state = self._session.catch_up()
            whose = self._only_issuer(state) if issuer is None else issuer
            held = [r for r in state.on_topic(whose, operation) if self._may_serve(state, r)]
        found = map(Fix.of, held)
        return tuple(fix for fix in found if request is None or fix.holds_for(request))

    def brief(
        self,
        operation: str,
        request: JsonObject | None = None,
        *,
        issuer: str | None = None,
        level: Consumption = Consumption.AMENDED,
    ) -> str:
        """The fixes that hold, worded for a planner at Level 2 or 3; empty if there are none.

        Raises:
            InvalidValue: as `fixes`, or the request is not JSON.
            StoreError: the store could not be read.
        """
        fixes = self.fixes(operation, request, issuer=issuer)
        return word(fixes, request=request, level=level)

    def get(self, issuer: str, slot: str) -> Record | None:
        """The newest record of a slot that may be acted on, as this process knows it.

        In-process: what others wrote since the last response, `fixes` or write is not read.
        """
        with self._session.lock:
            if issuer in self._doubted:
                return None
            found = self._session.state.first_usable(issuer, slot)
            return None if found is None or self.guard.withholds(found) else found

    def _may_serve(self, state: State, record: Record) -> bool:
        if record.kind is not Kind.FIX or record.issuer in self._doubted:
            return False
        if self.guard.withholds(record):
            return False
        if not self.policy.watches:
            return record.status is Status.ACTIVE
        # One without stamps was kept by a policy that does not watch: nothing could ever evict it.
        return bool(record.stamps) and state.usable(record)

    @staticmethod
    def _only_issuer(state: State) -> str:
        issuers = sorted(filter(None, state.issuers()))  # without ours: work state and memories
        if len(issuers) > 1:
            raise InvalidValue("issuer", None, f"name one of {issuers}")
        return issuers[0] if issuers else ""

    # -- looking and removing ----------------------------------------------------------------

    def records(self, *, live: bool = True) -> tuple[Record, ...]:
        """What is remembered, oldest first; with `live=False`, what ended too.

        A record held back, because its table moved or by `trust`, shows as suspended.
        """
        with self._session.lock:
            state = self._session.catch_up()
            return tuple(self._shown(state, r) for r in (state if live else state.records()))

    def record(self, record_id: str) -> Record:
        """One record, whatever its status; shown as in `records`.

        Raises:
            UnknownRecord: there is none of this id.
        """
        with self._session.lock:
            return self._shown(state := self._session.catch_up(), state.record(record_id))

    def _shown(self, state: State, record: Record) -> Record:
        usable = state.usable(record) and not self.guard.withholds(record)
        held_back = record.status is Status.ACTIVE and not usable
        return record.with_status(Status.SUSPENDED) if held_back else record

    def why(self, record_id: str) -> tuple[Chapter, ...]:
        """The whole story of a record, in order, with reasons.

        Raises:
            UnknownRecord: there is none of this id.
        """
        record = self.record(record_id)
        sources = {stamp.source.container for stamp in record.stamps}
        return story(record, self._session.store.changes(record=record_id, sources=sources))

    def purge(
        self, record_ids: Collection[str], *, reason: str = "asked", actor: str = "user"
    ) -> int:
        """Remove the content of records for ever; tombstones with digests stay. Returns how many.

        Raises:
            UnknownRecord: one of the ids is not known; nothing was purged.
            StoreError: nothing was purged.
        """
        wanted = tuple(dict.fromkeys(record_ids))
        return self._purge(lambda state: map(state.record, wanted), reason, actor)

    def purge_scope(
        self, scope: Scope, *, issuer: str | None = None, reason: str = "asked", actor: str = "user"
    ) -> int:
        """Purge every record written under a scope: each respect that is given has to be equal.

        Raises:
            InvalidValue: neither a scope nor an issuer was given; that would purge everything.
            StoreError: nothing was purged.
        """
        if scope == EVERYWHERE and issuer is None:
            remedy = "give at least one of tenant, principal, role, task, purpose, issuer"
            raise InvalidValue("scope", scope, remedy)

        def is_meant(record: Record) -> bool:
            return issuer in (None, record.issuer) and scope.admits(record.scope)

        return self._purge(lambda state: filter(is_meant, state.records()), reason, actor)

    def _purge(self, choose: Callable[[State], Iterable[Record]], reason: str, actor: str) -> int:
        at = self._clock.now()

        def decide(state: State) -> tuple[tuple[str, ...], Sequence[Draft]]:
            ids = tuple(r.id for r in choose(state) if r.status is not Status.PURGED)
            if not ids:
                return (), ()
            parts = tuple(map(self._session.tombstone, ids))
            kind = ChangeKind.PURGED
            return ids, [Draft(kind=kind, at=at, reason=reason, actor=actor, parts=parts)]

        ids = self._session.write(decide)
        self._telling.tell(*(Event(what="purged", reason=reason, at=at, record=i) for i in ids))
        return len(ids)

    # -- telling -----------------------------------------------------------------------------

    @property
    def counters(self) -> Mapping[str, int]:
        """How often each thing happened since the memory was opened, by the name of its event.

        ``restamped`` counts records; ``unchanged``, ``questions`` and ``failed`` come from the
        transport.
        """
        return self._telling.counted()

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter; transports count what they see."""
        self._telling.count(name, number)

    def observe(self, observer: Observer) -> None:
        """Tell this observer about every decision from now on."""
        self._telling.add(observer)

    def failed(self, issuer: str, failure: Exception) -> None:
        """Take note that a response could not be taken in; the wrapped call goes on."""
        reason = type(failure).__name__
        self._telling.tell(Event(what="failed", reason=reason, at=self.now, issuer=issuer))

    def refused(self, issuer: str, reason: str, where: str = "") -> None:
        """Take note that a member of a response was not read, and where it stands."""
        event = Event(what="refused", reason=reason, at=self.now, issuer=issuer, where=where)
        self._telling.tell(event)

    # -- life --------------------------------------------------------------------------------

    @property
    def store(self) -> Store:
        """The store behind it."""
        return self._session.store

    @property
    def now(self) -> int:
        """The instant that the memory's clock shows."""
        return self._clock.now()

    def __len__(self) -> int:
        """How many records are live."""
        with self._session.lock:
            return len(self._session.catch_up())

    def close(self) -> None:
        """Give the store back; calling it twice does no harm."""
        self._session.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
