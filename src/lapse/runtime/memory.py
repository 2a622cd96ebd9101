"""The client's memory of fixes: takes responses in, gives valid fixes out.

It refuses to serve what is not known to hold: a fix whose table moved is held back until the service
says what changed, and no time passing makes it good again. It never decides whether a fix applies to
the task; it says which ones are true.

A response is taken in by `receive`, a generator that asks its questions (which table changed how?)
of whoever does the I/O::

    steps = memory.receive(lesson)
    question = next(steps)            # a Moved, or StopIteration when there is nothing to ask
    steps.send(answer)                # TableChanges, or None when the service cannot be reached
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Self

from lapse.contract import (
    A2DC,
    Consumption,
    Evict,
    Fix,
    Keep,
    Reject,
    Restamp,
    Supersede,
    Suspend,
    Write,
    drafts,
    learn,
    moved,
    needs_changes,
    settle,
    unvouched,
    word,
)
from lapse.errors import InvalidValue
from lapse.ledger import EVERYWHERE, ChangeKind, Draft, Part, Scope, Status, story
from lapse.runtime.events import Event
from lapse.runtime.session import Session

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from lapse.contract import Answers, EvictionPolicy, Learnt, Lesson, Moved, Settlement, TableChanges
    from lapse.ledger import Chapter, Clock, Ids, JsonObject, Record, Source, State, Store
    from lapse.runtime.events import Observer

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
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        ids: Ids,
        policy: EvictionPolicy = A2DC,
        observers: Iterable[Observer] = (),
    ) -> None:
        self.policy = policy
        self._session = Session(store)
        self._clock = clock
        self._ids = ids
        self._observers = list(observers)
        self._counts: Counter[str] = Counter()
        self._seen: dict[str, tuple[Mapping[str, str] | None, str | None]] = {}

    # -- taking in ---------------------------------------------------------------------------

    def unchanged(self, issuer: str, table_versions: Mapping[str, str] | None, rules_version: str | None) -> bool:
        """Whether a response without suggestions says what the last one of this issuer said.

        The fast path: one comparison, no store is read. False settles nothing; call `receive` then.
        """
        seen = self._seen.get(issuer)
        return seen is not None and seen[1] == rules_version and seen[0] == table_versions

    def receive(self, lesson: Lesson) -> Generator[Moved, TableChanges | None, None]:
        """Take a response in: reconcile what is remembered, then remember what it suggests.

        Yields:
            What moved and how is not known; send the service's answer, or None if there is none.

        Raises:
            StoreError: what could not be written was not done; the memory serves nothing it should not.
        """
        answers: dict[tuple[Source, str | None], TableChanges] = {}
        asked: set[tuple[Source, str | None]] = set()
        for attempt in range(_MOST_ROUNDS):
            questions = [q for q in self._questions(lesson) if (q.source, q.was) not in asked]
            if attempt and not questions:
                break
            yield from _ask(questions, answers, asked)
            self._settle(lesson, answers)
        if lesson.envelope.suggestions:
            unsure = [q for q in self._unvouched(lesson, answers) if (q.source, q.was) not in asked]
            yield from _ask(unsure, answers, asked)
            self._learn(lesson, answers)
        self._remember_seen(lesson)

    def _questions(self, lesson: Lesson) -> Sequence[Moved]:
        if not self.policy.watches:
            return ()
        with self._session.lock:
            state = self._session.catch_up()
            return needs_changes(self.policy, moved(state, lesson.issuer, lesson.envelope))

    def _unvouched(self, lesson: Lesson, answers: Answers) -> Sequence[Moved]:
        with self._session.lock:
            return unvouched(self._session.catch_up(), self.policy, lesson, answers)

    def _settle(self, lesson: Lesson, answers: Answers) -> None:
        if not self.policy.watches:
            return

        def decide(state: State) -> tuple[Sequence[Settlement], Sequence[Draft]]:
            moves = moved(state, lesson.issuer, lesson.envelope)
            verdicts = settle(state, self.policy, moves, answers)
            return verdicts, drafts(verdicts, state, lesson, new_id=self._ids.new)

        self._tell(self._session.write(decide), lesson)

    def _learn(self, lesson: Lesson, answers: Answers) -> None:
        def decide(state: State) -> tuple[Sequence[Learnt], Sequence[Draft]]:
            verdicts = learn(state, self.policy, lesson, answers, new_id=self._ids.new)
            return verdicts, drafts(verdicts, state, lesson, new_id=self._ids.new)

        self._tell(self._session.write(decide), lesson)

    def _remember_seen(self, lesson: Lesson) -> None:
        envelope = lesson.envelope
        with self._session.lock:
            settled = not moved(self._session.state, lesson.issuer, envelope)
            if settled or not self.policy.watches:
                self._seen[lesson.issuer] = (envelope.table_versions, envelope.rules_version)
            else:
                self._seen.pop(lesson.issuer, None)

    # -- giving out --------------------------------------------------------------------------

    def fixes(self, operation: str, request: JsonObject | None = None, *, issuer: str | None = None) -> tuple[Fix, ...]:
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
        """The fixes that hold, worded for a planner at consumption Level 2 or 3; empty if there are none."""
        return word(self.fixes(operation, request, issuer=issuer), request=request, level=level)

    def get(self, issuer: str, slot: str) -> Record | None:
        """The newest record of a slot that may be acted on, as this process knows it.

        In-process: what other processes wrote since the last response, `fixes` or write is not read.
        """
        with self._session.lock:
            return self._session.state.first_usable(issuer, slot)

    def _may_serve(self, state: State, record: Record) -> bool:
        if not self.policy.watches:
            return record.status is Status.ACTIVE
        # A fix without stamps was kept by a policy that does not watch: nothing could ever evict it.
        return bool(record.stamps) and state.usable(record)

    @staticmethod
    def _only_issuer(state: State) -> str:
        issuers = {record.issuer for record in state}
        if len(issuers) > 1:
            raise InvalidValue("issuer", None, f"name one of {sorted(issuers)}")
        return next(iter(issuers), "")

    # -- looking and removing ----------------------------------------------------------------

    def records(self, *, live: bool = True) -> tuple[Record, ...]:
        """What is remembered, oldest first; with `live=False`, what ended too.

        A record held back because its table moved shows as suspended.
        """
        with self._session.lock:
            state = self._session.catch_up()
            found = list(state) if live else list(state.records())
            return tuple(
                record
                if record.status is not Status.ACTIVE or state.usable(record)
                else record.with_status(Status.SUSPENDED)
                for record in found
            )

    def record(self, record_id: str) -> Record:
        """One record, whatever its status.

        Raises:
            UnknownRecord: there is none of this id.
        """
        with self._session.lock:
            return self._session.catch_up().record(record_id)

    def why(self, record_id: str) -> tuple[Chapter, ...]:
        """The whole story of a record, in order, with reasons.

        Raises:
            UnknownRecord: there is none of this id.
        """
        record = self.record(record_id)
        sources = {stamp.source.container for stamp in record.stamps}
        return story(record, self._session.store.changes(record=record_id, sources=sources))

    def purge(self, record_ids: Collection[str], *, reason: str = "asked", actor: str = "user") -> int:
        """Remove the content of records everywhere; tombstones with digests stay. Returns how many.

        Raises:
            UnknownRecord: one of the ids is not known; nothing was purged.
            StoreError: nothing was purged.
        """

        def decide(state: State) -> tuple[tuple[str, ...], Sequence[Draft]]:
            asked = [state.record(record_id) for record_id in dict.fromkeys(record_ids)]
            ids = tuple(record.id for record in asked if record.status is not Status.PURGED)
            parts = tuple(self._tombstone(record_id) for record_id in ids)
            if not parts:
                return (), ()
            at = self._clock.now()
            return ids, [Draft(kind=ChangeKind.PURGED, at=at, reason=reason, actor=actor, parts=parts)]

        purged = self._session.write(decide)
        self._emit(Event(what="purged", reason=reason, at=self._clock.now(), record=i) for i in purged)
        return len(purged)

    def purge_scope(self, scope: Scope, *, issuer: str | None = None, reason: str = "asked", actor: str = "user") -> int:
        """Purge every record written under a scope: each respect that is given has to be equal.

        Raises:
            InvalidValue: neither a scope nor an issuer was given; that would purge everything.
            StoreError: nothing was purged.
        """
        if scope == EVERYWHERE and issuer is None:
            raise InvalidValue("scope", scope, "give at least one of tenant, principal, role, task, purpose, issuer")
        wanted = scope.as_json()
        found = [
            record.id
            for record in self.records(live=False)
            if record.status is not Status.PURGED
            and issuer in (None, record.issuer)
            and all(w in (None, is_) for w, is_ in zip(wanted, record.scope.as_json(), strict=True))
        ]
        return self.purge(found, reason=reason, actor=actor)

    def _tombstone(self, record_id: str) -> Part:
        for change in self._session.store.changes(record=record_id):
            for part in change.parts:
                if part.record == record_id:
                    return part.erased()
        raise InvalidValue("record", record_id, "the ledger has no change about it")

    # -- telling -----------------------------------------------------------------------------

    @property
    def counters(self) -> Mapping[str, int]:
        """How often each thing happened since the memory was opened, by the name of its event.

        ``restamped`` counts records; ``unchanged``, ``questions`` and ``failed`` come from the
        transport.
        """
        return dict(self._counts)

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter; transports count what they see."""
        with self._session.lock:
            self._counts[name] += number

    def observe(self, observer: Observer) -> None:
        """Tell this observer about every decision from now on."""
        self._observers.append(observer)

    def failed(self, issuer: str, failure: Exception) -> None:
        """Take note that a response could not be taken in; the wrapped call goes on."""
        self._emit([Event(what="failed", reason=type(failure).__name__, at=self._clock.now(), issuer=issuer)])

    def refused(self, issuer: str, reason: str) -> None:
        """Take note that a member of a response was not read."""
        self._emit([Event(what="refused", reason=reason, at=self._clock.now(), issuer=issuer)])

    def _tell(self, verdicts: Sequence[Settlement | Learnt], lesson: Lesson) -> None:
        self._emit(_event(verdict, lesson) for verdict in verdicts)

    def _emit(self, events: Iterable[Event] | Iterator[Event]) -> None:
        for event in events:
            self.count(event.what, event.count)
            for observer in self._observers:
                try:
                    observer(event)
                except Exception:  # noqa: BLE001 - a listener must not break what it listens to
                    self.count("observer_failed")

    # -- life --------------------------------------------------------------------------------

    @property
    def store(self) -> Store:
        """The store behind it."""
        return self._session.store

    @property
    def now(self) -> int:
        """The memory's clock, in microseconds since 1970-01-01T00:00:00Z."""
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _ask(
    questions: Sequence[Moved],
    answers: dict[tuple[Source, str | None], TableChanges],
    asked: set[tuple[Source, str | None]],
) -> Generator[Moved, TableChanges | None, None]:
    for question in questions:
        asked.add((question.source, question.was))
        answer = yield question
        if answer is not None:
            answers[question.source, question.was] = answer


def _event(verdict: Settlement | Learnt, lesson: Lesson) -> Event:
    at, issuer = lesson.at, lesson.issuer
    match verdict:
        case Evict(record, reason, cause, _, _):
            return Event(what="evicted", reason=reason, at=at, issuer=issuer, record=record.id, source=cause)
        case Restamp(move, count, reason):
            what = "restamped" if move.source.kind == "table" else "rules_moved"
            return Event(what=what, reason=reason, at=at, issuer=issuer, source=move.source, count=count)
        case Suspend(move, count, reason):
            return Event(what="suspended", reason=reason, at=at, issuer=issuer, source=move.source, count=count)
        case Write(record, reason):
            return Event(what="stored", reason=reason, at=at, issuer=issuer, record=record.id)
        case Supersede(record, _, reason):
            return Event(what="superseded", reason=reason, at=at, issuer=issuer, record=record.id)
        case Keep(record, _, reason):
            return Event(what="confirmed", reason=reason, at=at, issuer=issuer, record=record.id)
        case Reject(_, reason):
            return Event(what="refused", reason=reason, at=at, issuer=issuer)
