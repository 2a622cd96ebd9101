"""The whole story of a record, in order, with reasons: what `why` answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapse.ledger.changes import ChangeKind
from lapse.ledger.records import LIVE, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lapse.ledger.changes import Change
    from lapse.ledger.records import Instant, Record
    from lapse.ledger.sources import Source

__all__ = ["Chapter", "story"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One thing that happened to a record.

    Attributes:
        seq: the change's place in the chain.
        at: when it was decided.
        what: the kind of change.
        reason: the verdict's reason code.
        actor: who decided.
        source: the source that was observed or advanced; None for a change to the record itself.
        version: that source's version.
        detail: what the change says about this record; None once purged, and for a source.
    """

    seq: int
    at: Instant
    what: ChangeKind
    reason: str
    actor: str
    source: Source | None
    version: str | None
    detail: Any


def story(record: Record, changes: Iterable[Change]) -> tuple[Chapter, ...]:
    """The chapters of a record: changes to it, and to what it rested on while it was live.

    Args:
        record: the record, whatever its status.
        changes: in order; changes that have nothing to do with the record are passed over.
    """
    places = {stamp.source for stamp in record.stamps} | {
        stamp.source.container for stamp in record.stamps
    }
    chapters: list[Chapter] = []
    live = False
    for change in changes:
        mine = next((part for part in change.parts if part.record == record.id), None)
        under = live and change.source in places
        if mine is None and not under:
            continue
        chapters.append(
            Chapter(
                seq=change.seq,
                at=change.at,
                what=change.kind,
                reason=change.reason,
                actor=change.actor,
                source=change.source,
                version=change.version,
                detail=None if mine is None else mine.value(),
            )
        )
        if mine is not None:
            live = _live_after(change.kind, before=live)
    return tuple(chapters)


def _live_after(kind: ChangeKind, *, before: bool) -> bool:
    status: Status | None = kind.leads_to
    return before if status is None else status in LIVE
