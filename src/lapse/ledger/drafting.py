"""What it takes to write a record under the marks as they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.ledger.changes import ChangeKind, Draft, Part

if TYPE_CHECKING:
    from lapse.ledger.records import Instant, Record
    from lapse.ledger.state import State

__all__ = ["writing"]


def writing(
    state: State, record: Record, *, at: Instant, reason: str, actor: str, salt: str
) -> tuple[Draft, ...]:
    """The drafts that write a record, and before it a mark for each source that lacks one.

    A source that other records rest on at another version is left alone, and `State.apply` refuses
    the record: reconcile first, store after.
    """
    marks = {
        source: version
        for source, version in record.rests_on()
        if (mark := state.mark(source)) is None
        or (mark.reconciled != version and not state.index.on(source))
    }
    advances = tuple(
        Draft(
            kind=ChangeKind.ADVANCED,
            at=at,
            reason="first_record",
            actor=actor,
            source=source,
            version=version,
        )
        for source, version in marks.items()
    )
    part = Part.of(record.id, record.as_json(), salt=salt)
    return (
        *advances,
        Draft(kind=ChangeKind.WRITTEN, at=at, reason=reason, actor=actor, parts=(part,)),
    )
