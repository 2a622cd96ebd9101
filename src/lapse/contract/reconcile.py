"""What a response means for what is remembered.

Pure, and in a fixed order, because the order is part of the contract (source text, section 3.2;
storing first would evict the fix just learned):

1. `moved`: which tables and rule sets does the response report at another version than their
   records were reconciled with?
2. Ask the service what changed in those, when the policy wants to know.
3. `settle`: evict what changed, restamp the rest; what is not known yet stays held and unserved.
4. `learn`: only now turn the response's suggestions into records.

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

__all__ = ["Learnt", "Settlement", "drafts", "learn", "moved", "needs_changes", "settle"]

ACTOR = "contract"
"""Who decided, in the ledger."""

Settlement = Evict | Restamp | Suspend
Learnt = Write | Supersede | Keep | Reject


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
    answers: Mapping[Source, TableChanges],
) -> tuple[Settlement, ...]:
    """The verdicts about everything that rests on what moved.

    Args:
        state: what is remembered; as it was when the moves were found, or later.
        policy: which records go.
        moves: what moved.
        answers: what the service said changed, by table; a table that was asked about and is not
            here stays in abeyance.
    """
    verdicts: list[Settlement] = []
    gone: set[str] = set()
    asked = {move.source for move in needs_changes(policy, moves)}
    for move in moves:
        mark = state.mark(move.source)
        held = state.index.on(move.source)
        if mark is None or not held or mark.reconciled != move.was:
            continue  # somebody else has settled it since
        answer = answers.get(move.source)
        if move.source in asked:
            if answer is None or answer.since != move.was:
                verdicts.append(Suspend(move, len(held)))
                continue
            move = Moved(move.source, move.was, answer.version)  # noqa: PLW2901 - the answer is the later word
        evictions = [e for e in policy.evictions(state, move, answer) if e.record.id not in gone]
        gone.update(e.record.id for e in evictions)
        verdicts += evictions
        reason = Reason.RULES_NOT_WATCHED if move.source.kind == "rules" else Reason.ROW_UNCHANGED
        verdicts.append(Restamp(move, sum(record not in gone for record in held), reason))
    return tuple(verdicts)


def learn(
    state: State, policy: EvictionPolicy, lesson: Lesson, *, new_id: Callable[[], str]
) -> tuple[Learnt, ...]:
    """The verdicts about the response's suggestions; call it on the state after `settle` was applied."""
    verdicts: list[Learnt] = []
    for suggestion in lesson.envelope.suggestions:
        if not policy.remembers:
            verdicts.append(Reject(suggestion, Reason.NO_MEMORY))
            continue
        record = learned(suggestion, lesson, record_id=new_id(), watched=policy.watches)
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
