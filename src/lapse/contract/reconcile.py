"""What a response means for what is remembered.

Pure, and in a fixed order, because the order is part of the contract (source text, section 3.2;
storing first would evict the fix just learned):

1. `moved`: which tables and rule sets does the response report at another version than their
   records were reconciled with?
2. Ask the service what changed in those, when the policy wants to know (`needs_changes`).
3. `settle`: evict what changed, restamp the rest; what is not known yet stays held and unserved.
4. `unvouched`: which tables do the suggestions rest on that no held record vouches for? A response
   may be late, or come from a cache; ask what changed since *its* version.
5. `learn`: only now turn suggestions that are known to be current into records.

Nothing is read into the order of versions, and a table the response does not mention is reported
unloaded only by a response that carries the whole map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.contract.fixes import learned, same_fix
from lapse.contract.verdicts import Evict, Keep, Moved, Reason, Reject, Restamp, Supersede, Suspend, Write
from lapse.ledger import ChangeKind, Draft, Part, Source, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lapse.contract.eviction import EvictionPolicy
    from lapse.contract.fixes import Lesson
    from lapse.contract.messages import Envelope, Suggestion, TableChanges
    from lapse.ledger import Instant, Record, Stamp, State

__all__ = ["Answers", "Learnt", "Settlement", "drafts", "learn", "moved", "needs_changes", "settle", "unvouched"]

ACTOR = "contract"
"""Who decided, in the ledger."""

Settlement = Evict | Restamp | Suspend
Learnt = Write | Supersede | Keep | Reject

Answers = "Mapping[tuple[Source, str | None], TableChanges]"
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
    return tuple(move for move in moves if move.source.kind == "table" and move.was is not None)


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
    asked = {move.source for move in needs_changes(policy, moves)}
    for move in moves:
        mark = state.mark(move.source)
        held = state.index.on(move.source)
        if mark is None or not held or mark.reconciled != move.was:
            continue  # somebody else has settled it since
        answer = answers.get((move.source, move.was))
        if move.source in asked:
            if answer is None:
                verdicts.append(Suspend(move, len(held)))
                continue
            move = Moved(move.source, move.was, answer.version)  # noqa: PLW2901 - the answer is the later word
        evictions = [e for e in policy.evictions(state, move, answer) if e.record.id not in gone]
        gone.update(e.record.id for e in evictions)
        verdicts += evictions
        reason = Reason.RULES_NOT_WATCHED if move.source.kind == "rules" else Reason.ROW_UNCHANGED
        verdicts.append(Restamp(move, sum(record not in gone for record in held), reason))
    return tuple(verdicts)


def unvouched(state: State, policy: EvictionPolicy, lesson: Lesson, answers: Answers) -> tuple[Moved, ...]:
    """The tables under the response's suggestions of which it is not known that their version is current.

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
    """The verdicts about the response's suggestions; call it on the state after `settle` was applied."""
    verdicts: list[Learnt] = []
    for suggestion in lesson.envelope.suggestions:
        if not policy.remembers:
            verdicts.append(Reject(suggestion, Reason.NO_MEMORY))
            continue
        record = learned(suggestion, lesson, record_id=new_id(), watched=policy.watches)
        if not isinstance(record, Reason) and policy.asks:
            record = _current(state, record, answers)
        if isinstance(record, Reason):
            verdicts.append(Reject(suggestion, record))
        elif not policy.watches:
            verdicts.append(Write(record))
        else:
            verdicts += _place(state, suggestion, record)
    return tuple(verdicts)


def _place(state: State, suggestion: Suggestion, record: Record) -> Iterator[Learnt]:
    if any(_is_late(state, stamp) for stamp in record.stamps):
        yield Reject(suggestion, Reason.LATE)
        return
    standing = tuple(state.in_slot(record.issuer, record.slot))
    for held in standing:
        if same_fix(held, record):
            yield Keep(held, record.receipts[0])
            return
    yield Write(record, Reason.NEWER_ANSWER if standing else Reason.LEARNED)
    for held in standing:
        yield Supersede(held, record.id)


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
    return any(about == source and answer.version == version for (about, _), answer in answers.items())


def _untouched(record: Record, source: Source, answer: TableChanges) -> bool:
    """Whether the rows a record rests on in a table are among those that changed, at other versions."""
    rows = [s for s in record.stamps if s.source.kind == "row" and s.source.container == source]
    if not rows:
        return not answer.rows
    return all(answer.rows.get(s.source.key, s.version) == s.version for s in rows)


def _tables_under(record: Record) -> Iterator[tuple[Source, str | None]]:
    return ((source, version) for source, version in record.rests_on() if source.kind == "table")


def _is_late(state: State, stamp: Stamp) -> bool:
    source = stamp.source.container
    version = stamp.within if stamp.source.kind == "row" else stamp.version
    mark = state.mark(source)
    return mark is not None and bool(state.index.on(source)) and (version != mark.reconciled or not mark.settled)


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
            part = Part.of(verdict.record.id, detail, salt=new_id())
            evicted.setdefault(verdict.reason, []).append(part)
        else:
            drafted += _draft(verdict, state, lesson, new_id)
    at = lesson.at
    evictions = [
        Draft(kind=ChangeKind.EVICTED, at=at, reason=reason.value, actor=ACTOR, parts=tuple(parts))
        for reason, parts in evicted.items()
    ]
    return (*evictions, *drafted)


def _draft(
    verdict: Restamp | Suspend | Learnt, state: State, lesson: Lesson, new_id: Callable[[], str]
) -> Iterator[Draft]:
    at = lesson.at
    match verdict:
        case Supersede(record, by, reason):
            part = Part.of(record.id, {"by": by}, salt=new_id())
            yield Draft(kind=ChangeKind.SUPERSEDED, at=at, reason=reason.value, actor=ACTOR, parts=(part,))
        case Keep(record, receipt, reason):
            part = Part.of(record.id, receipt.as_json(), salt=new_id())
            yield Draft(kind=ChangeKind.WITNESSED, at=at, reason=reason.value, actor=ACTOR, parts=(part,))
        case Write(record, reason):
            yield from writing(state, record, at=at, reason=reason.value, actor=ACTOR, salt=new_id())
        case Restamp(move, _, reason):
            yield _of_source(ChangeKind.ADVANCED, move, reason, at)
        case Suspend(move, _, reason):
            mark = state.mark(move.source)
            if mark is None or mark.observed != move.now:
                yield _of_source(ChangeKind.OBSERVED, move, reason, at)
        case Reject():
            return


def _of_source(kind: ChangeKind, move: Moved, reason: Reason, at: Instant) -> Draft:
    return Draft(kind=kind, at=at, reason=reason.value, actor=ACTOR, source=move.source, version=move.now)
