"""What a response means for what is remembered.

Pure, and in a fixed order, because the order is part of the contract (source text, section 3.2;
storing first would evict the fix just learned):

1. `moved`: which tables and rule sets does the response report at another version than their
   records were reconciled with?
2. Ask the service what changed in those, when the policy wants to know (`needs_changes`).
3. `settle`: evict what changed, restamp the rest; what is not known yet stays held and unserved.
4. `unvouched`: which tables do the suggestions rest on that no held record vouches for? A response
   may be late, or come from a cache; ask what changed since *its* version.
5. `learn`: only now turn suggestions that are known to be current into records, after a policy that
   looks at rules has compared their vectors with what is held (`lapse.contract.detection`). Last
   comes what the answer says about the fixes that the request had (`lapse.contract.applied`).

Nothing is read into the order of versions, and a table the response does not mention is reported
unloaded only by a response that carries the whole map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, assert_never

from lapse.contract.applied import came_of, reinstated
from lapse.contract.detection import DetectionPolicy
from lapse.contract.fixes import learned, same_fix
from lapse.contract.verdicts import (
    Alert,
    Dispute,
    Evict,
    Keep,
    Moved,
    Reason,
    Reinstate,
    Reject,
    Restamp,
    Supersede,
    Suspend,
    Write,
)
from lapse.ledger import ChangeKind, Draft, Part, Source, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lapse.contract.eviction import EvictionPolicy
    from lapse.contract.fixes import Lesson
    from lapse.contract.messages import Envelope, TableChanges
    from lapse.ledger import Instant, Record, State

__all__ = [
    "Answers",
    "Learnt",
    "Settlement",
    "drafts",
    "learn",
    "moved",
    "needs_changes",
    "settle",
    "unvouched",
]

ACTOR = "contract"
"""Who decided, in the ledger."""

Settlement: TypeAlias = Evict | Restamp | Suspend | Alert
Learnt: TypeAlias = Write | Supersede | Keep | Reject | Evict | Alert | Dispute | Reinstate

Answers: TypeAlias = "Mapping[tuple[Source, str | None], TableChanges]"
"""What the service said changed, by the table and the version since which it was asked."""


def moved(state: State, issuer: str, envelope: Envelope) -> tuple[Moved, ...]:
    """The issuer's sources that carry records and are not what the records were reconciled with."""
    return tuple(_moved(state, issuer, envelope))


def _moved(state: State, issuer: str, envelope: Envelope) -> Iterator[Moved]:
    versions = envelope.table_versions
    for source, mark in state.marks().items():
        if source.issuer != issuer or not state.index.on(source):
            continue
        now = mark.observed
        if source.kind == "table" and versions is not None:
            now = versions.get(source.name)
        elif source.kind == "rules" and envelope.rules_version is not None:
            now = envelope.rules_version
        if now != mark.reconciled or not mark.settled:
            yield Moved(source, mark.reconciled, now)


def needs_changes(policy: EvictionPolicy, moves: Sequence[Moved]) -> tuple[Moved, ...]:
    """The moves about which the policy wants to know what changed."""
    if not policy.asks:
        return ()
    return tuple(move for move in moves if _can_be_asked(move))


def _can_be_asked(move: Moved) -> bool:
    return move.source.kind == "table" and move.was is not None


def settle(
    state: State,
    policy: EvictionPolicy,
    moves: Sequence[Moved],
    answers: Answers,
) -> tuple[Settlement, ...]:
    """The verdicts about everything that rests on what moved.

    Args:
        state: what is remembered; as it was when the moves were found, or later.
        policy: which records go.
        moves: what moved.
        answers: what the service said; a table that was asked about and has no answer stays in
            abeyance.
    """
    verdicts: list[Settlement] = []
    gone: set[str] = set()
    lost: dict[Source, int] = {}
    for move in moves:
        mark = state.mark(move.source)
        held = state.index.on(move.source)
        if mark is None or not held or mark.reconciled != move.was:
            continue  # somebody else has settled it since
        answer = answers.get((move.source, move.was))
        now = move.now
        if policy.asks and _can_be_asked(move):
            if answer is None:
                # What was seen and not explained stays so, whatever an older response says since.
                if now not in (mark.observed, mark.reconciled):
                    verdicts.append(Suspend(move, len(held)))
                continue
            now = answer.version  # the later word
        known = move if now == move.now else Moved(move.source, move.was, now)
        found = policy.evictions(state, known, answer)
        evictions = [e for f in found if (e := f.besides(gone))] if gone else found
        if not evictions and mark.settled and now == mark.reconciled:
            continue  # the response was an old one, and nothing has moved
        left = len(held) - lost.get(move.source, 0) - _number_under(state, evictions, move.source)
        if len(moves) > 1:
            _count_out(state, evictions, gone, lost)
        verdicts += evictions
        if move.source.kind == "rules":
            verdicts += _rules_restamped(policy, known, left)
        else:
            verdicts.append(Restamp(known, left))
    return tuple(verdicts)


def _count_out(
    state: State, evictions: Sequence[Evict], gone: set[str], lost: dict[Source, int]
) -> None:
    """Add the evicted to what is gone, and to what each of their sources has lost."""
    for evict in evictions:
        gone.update(evict.ids)
        for record in state.live(evict.ids):
            for source in {stamp.source.container for stamp in record.stamps}:
                lost[source] = lost.get(source, 0) + 1


def _rules_restamped(policy: EvictionPolicy, known: Moved, left: int) -> Iterator[Restamp | Alert]:
    if isinstance(policy, DetectionPolicy) and policy.stamps:
        if known.now != known.was:
            yield Alert(known)
        yield Restamp(known, left, Reason.RULES_MOVED)
    else:
        yield Restamp(known, left, Reason.RULES_NOT_WATCHED)


def _number_under(state: State, evictions: Sequence[Evict], source: Source) -> int:
    """How many of the evicted rest on a source, or on a row of it."""
    number = 0
    for evict in evictions:
        cause = evict.cause
        if cause.name == source.name and cause.issuer == source.issuer:  # nearly always
            number += len(evict.ids)
            continue
        for record in state.live(evict.ids):
            number += any(stamp.source.container == source for stamp in record.stamps)
    return number


def unvouched(
    state: State, policy: EvictionPolicy, lesson: Lesson, answers: Answers
) -> tuple[Moved, ...]:
    """The tables under the response's suggestions whose version is not known to be current.

    Call it on the state after `settle` was applied. A table that carries records is known: every
    response moves its mark. For another, this response is the only word there is, and it may be an
    old one.
    """
    if not policy.asks:
        return ()
    found: dict[Source, Moved] = {}
    for suggestion in lesson.envelope.suggestions:
        record = learned(suggestion, lesson, record_id="", watched=True)
        for source, version in () if isinstance(record, Reason) else _tables_under(record):
            if not _vouched(state, source, version, answers):
                found[source] = Moved(source, version, version)
    return tuple(found.values())


def learn(
    state: State,
    policy: EvictionPolicy,
    lesson: Lesson,
    answers: Answers,
    *,
    new_id: Callable[[], str],
) -> tuple[Learnt, ...]:
    """The verdicts about the response's suggestions, on the state after `settle` was applied."""
    verdicts: list[Learnt] = []
    shown: list[Record] = []
    placed: dict[str, list[Record]] = {}
    read_at: dict[Source, str | None] = {}
    for suggestion in lesson.envelope.suggestions:
        if not policy.remembers:
            verdicts.append(Reject(suggestion, Reason.NO_MEMORY))
            continue
        record = learned(suggestion, lesson, record_id=new_id(), watched=policy.watches)
        if not isinstance(record, Reason) and policy.watches:
            record = _admitted(state, policy, record, answers, read_at)
        if isinstance(record, Reason):
            verdicts.append(Reject(suggestion, record))
        elif policy.watches:
            if suggestion.tables:
                shown.append(record)
            verdicts.append(_place(state, record, placed.setdefault(record.slot, [])))
        else:
            verdicts.append(Write(record))
    kept = {verdict.record.id for verdict in verdicts if isinstance(verdict, Keep)}
    for slot, written in placed.items():
        standing = state.in_slot(lesson.issuer, slot) if written else ()
        verdicts += [Supersede(r, written[-1].id) for r in standing if r.id not in kept]
    verdicts = [reinstated(v) if isinstance(v, Keep) else v for v in verdicts]
    if isinstance(policy, DetectionPolicy):
        verdicts = [*policy.detected(state, lesson, shown, new_id=new_id), *verdicts]
    gone = {v.record.id for v in verdicts if isinstance(v, Supersede)}
    gone |= {name for v in verdicts if isinstance(v, Evict) for name in v.ids}
    return (*verdicts, *came_of(state, lesson, gone))


def _admitted(
    state: State,
    policy: EvictionPolicy,
    record: Record,
    answers: Answers,
    read_at: dict[Source, str | None],
) -> Record | Reason:
    """The record as it may be written now, or why it may not be."""
    current = _current(state, record, answers) if policy.asks else record
    if isinstance(current, Reason):
        return current
    if any(_is_late(state, source, version) for source, version in current.rests_on()):
        return Reason.LATE
    for source, version in current.rests_on():
        if read_at.setdefault(source, version) != version:
            return Reason.UNKNOWN_VERSION  # the service contradicts itself
    return current


def _place(state: State, record: Record, written: list[Record]) -> Write | Keep:
    """Write a record, unless its slot holds the same already; `written` is what this response adds.

    A response may offer several fixes for one situation: they stand side by side, and what it does
    not repeat gives way to them.
    """
    standing = state.in_slot(record.issuer, record.slot)
    for held in (*standing, *written):
        if same_fix(held, record):
            return Keep(held, record.receipts[0])
    written.append(record)
    return Write(record, Reason.NEWER_ANSWER if standing else Reason.LEARNED)


def _current(state: State, record: Record, answers: Answers) -> Record | Reason:
    """The record stamped with versions that are known to be current, or why it cannot be."""
    for source, version in tuple(_tables_under(record)):
        if _vouched(state, source, version, answers):
            continue
        answer = answers.get((source, version))
        if answer is None:
            return Reason.UNCONFIRMED
        if answer.version is None or not (answer.complete and _untouched(record, source, answer)):
            return Reason.LATE
        record = record.restamped(source, answer.version)
    return record


def _vouched(state: State, source: Source, version: str | None, answers: Answers) -> bool:
    mark = state.mark(source)
    if mark is not None and mark.settled and mark.reconciled == version and state.index.on(source):
        return True
    return any(
        about == source and answer.version == version for (about, _), answer in answers.items()
    )


def _untouched(record: Record, source: Source, answer: TableChanges) -> bool:
    """Whether the rows that a record rests on in a table are as it saw them."""
    rows = [s for s in record.stamps if s.source.kind == "row" and s.source.container == source]
    if not rows:
        return not answer.rows
    return all(answer.rows.get(s.source.key, s.version) == s.version for s in rows)


def _tables_under(record: Record) -> Iterator[tuple[Source, str | None]]:
    return ((source, version) for source, version in record.rests_on() if source.kind == "table")


def _is_late(state: State, source: Source, version: str | None) -> bool:
    mark = state.mark(source)
    if mark is None or not state.index.on(source):
        return False
    return version != mark.reconciled or not mark.settled


def drafts(
    verdicts: Sequence[Settlement | Learnt],
    state: State,
    lesson: Lesson,
    *,
    new_id: Callable[[], str],
) -> tuple[Draft, ...]:
    """The changes that carry the verdicts out, in order.

    Evictions for one reason are one change, so that a table's worth of them is one entry.
    """
    drafted: list[Draft] = []
    evicted: dict[Reason, list[Part]] = {}
    for verdict in verdicts:
        if isinstance(verdict, Evict):
            detail = {"cause": list(verdict.cause), "was": verdict.was, "now": verdict.now}
            parts = (Part.of(name, detail, salt=new_id()) for name in verdict.ids)
            evicted.setdefault(verdict.reason, []).extend(parts)
        else:
            drafted += _draft(verdict, state, lesson, new_id)
    at = lesson.at
    evictions = [
        Draft(kind=ChangeKind.EVICTED, at=at, reason=reason.value, actor=ACTOR, parts=tuple(parts))
        for reason, parts in evicted.items()
    ]
    return (*evictions, *drafted)


def _draft(
    verdict: Restamp | Suspend | Alert | Write | Supersede | Keep | Dispute | Reinstate | Reject,
    state: State,
    lesson: Lesson,
    new_id: Callable[[], str],
) -> Iterator[Draft]:
    at = lesson.at

    def about(kind: ChangeKind, record: Record, reason: Reason, detail: object) -> Draft:
        part = Part.of(record.id, detail, salt=new_id())
        return Draft(kind=kind, at=at, reason=reason.value, actor=ACTOR, parts=(part,))

    match verdict:
        case Supersede(record, by, reason):
            yield about(ChangeKind.SUPERSEDED, record, reason, {"by": by})
        case Keep(record, receipt, reason):
            yield about(ChangeKind.WITNESSED, record, reason, receipt.as_json())
        case Dispute(record, receipt, reason):
            yield about(ChangeKind.WITNESSED, record, reason, receipt.as_json())
            yield about(ChangeKind.DISPUTED, record, reason, {"operation": lesson.operation})
        case Reinstate(record, receipt, reason):
            yield about(ChangeKind.WITNESSED, record, Reason.CONFIRMED, receipt.as_json())
            yield about(ChangeKind.REINSTATED, record, reason, {"operation": lesson.operation})
        case Write(record, reason):
            yield from writing(
                state, record, at=at, reason=reason.value, actor=ACTOR, salt=new_id()
            )
        case Restamp(move, _, reason):
            yield _of_source(ChangeKind.ADVANCED, move, reason, at)
        case Suspend(move, _, reason):
            yield _of_source(ChangeKind.OBSERVED, move, reason, at)
        case Reject() | Alert():
            pass
        case _:
            assert_never(verdict)


def _of_source(kind: ChangeKind, move: Moved, reason: Reason, at: Instant) -> Draft:
    return Draft(
        kind=kind, at=at, reason=reason.value, actor=ACTOR, source=move.source, version=move.now
    )
