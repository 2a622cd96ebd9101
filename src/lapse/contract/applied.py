"""What came of a fix that was merged into a request: for it, against it, or neither.

1. A request that was accepted speaks for every fix in it. The first time, and the first time after
   something spoke against the fix, a receipt is written; more of the same would add nothing.
2. A request that was refused speaks against a fix in it, unless the refusal offers a change and no
   change that it offers touches a field of the fix: then the service objects to something else.
3. One such refusal and the fix is in dispute: it is not served, and so not merged again. No time
   passing makes it good (decision 0071).
4. It comes back when the service gives the same fix again, and only once: what was refused twice,
   with no acceptance in between, stays in dispute until its rows move or the answer changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse.contract.trust_fields import leaves
from lapse.contract.verdicts import Dispute, Keep, Reason, Reinstate
from lapse.ledger import Outcome, Receipt, Source, Status, canonical, digest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from lapse.contract.fixes import Lesson
    from lapse.ledger import JsonObject, Record, State

__all__ = ["came_of", "reinstated"]

_HOW: Final = "applied"
"""The kind of probe that a receipt names: the fix itself was tried."""

_SECOND_CHANCES: Final = 1
"""Refusals in a row after which the service's word still brings a fix back."""


def came_of(state: State, lesson: Lesson, gone: Collection[str]) -> Iterator[Keep | Dispute]:
    """The verdicts about the fixes that the request had.

    Args:
        state: what is remembered.
        lesson: the exchange.
        gone: the records that other verdicts about this exchange take away.
    """
    if lesson.accepted is None:
        return
    offered = _offered(lesson)
    for record_id in dict.fromkeys(lesson.applied):
        record = state.record(record_id)
        if record_id in gone or record.status is not Status.ACTIVE:
            continue
        if lesson.accepted:
            if not _last_was_confirmed(record):
                yield Keep(record, _receipt(record, lesson, Outcome.CONFIRMS), Reason.APPLIED)
        elif not offered or _overlap(offered, _places(record.content["parameters"])):
            yield Dispute(record, _receipt(record, lesson, Outcome.CONTRADICTS))


def reinstated(kept: Keep) -> Keep | Reinstate:
    """A service that says a fix again brings it back, if it is in dispute for its first refusal."""
    record = kept.record
    refused = _refused_in_a_row(record)
    if record.status is not Status.DISPUTED or not 0 < refused <= _SECOND_CHANCES:
        return kept
    return Reinstate(record, kept.receipt)


def _outcomes(record: Record) -> list[Outcome]:
    return [
        r.outcome for r in record.receipts if r.source.kind == "probe" and r.source.issuer == _HOW
    ]


def _last_was_confirmed(record: Record) -> bool:
    return _outcomes(record)[-1:] == [Outcome.CONFIRMS]


def _refused_in_a_row(record: Record) -> int:
    count = 0
    for outcome in reversed(_outcomes(record)):
        if outcome is Outcome.CONFIRMS:
            break
        count += 1
    return count


def _receipt(record: Record, lesson: Lesson, outcome: Outcome) -> Receipt:
    content = record.content
    return Receipt(
        observer=lesson.issuer,
        source=Source.probe(_HOW, lesson.operation),
        at=lesson.at,
        digest=digest(canonical([content["type"], content["parameters"]])),
        outcome=outcome,
    )


def _offered(lesson: Lesson) -> frozenset[str]:
    """The places that the refusal offers to change; empty when it offers nothing."""
    return frozenset[str]().union(*(_places(s.parameters) for s in lesson.envelope.suggestions))


def _places(parameters: JsonObject) -> frozenset[str]:
    return frozenset(path for path, _ in leaves(parameters))


def _overlap(some: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a place of one lies at, in or around a place of the other."""
    return not some.isdisjoint(_around(others)) or not others.isdisjoint(_around(some))


def _around(places: frozenset[str]) -> Iterator[str]:
    for place in places:
        steps = place.split(".")
        yield from (".".join(steps[: end + 1]) for end in range(len(steps)))
