"""How a memory stops standing, as drafts for the ledger, and what falls with it.

Pure. Whatever rests on the record, or on the memory whichever version of it was seen, is suspended
in the same append, however far up; it may be right for another reason, so it is never ended.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lapse.admission import Ending
from lapse.errors import InvalidValue, UnknownRecord
from lapse.ledger import (
    LIVE,
    ChangeKind,
    Draft,
    Instant,
    Outcome,
    Part,
    Receipt,
    Source,
    Status,
)
from lapse.stores.entries import FORM, memory_source

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from lapse.ledger import Record, State
    from lapse.stores.port import Remembered

__all__ = ["Act", "Drafted", "ended", "ends", "held"]

Drafted = tuple[str, "Sequence[Draft]"]
"""The id of the record that an act leads to, and what carries it out; no drafts: nothing to do."""

_CHANGES = {
    Ending.SUPERSEDED: ChangeKind.SUPERSEDED,
    Ending.REVOKED: ChangeKind.REVOKED,
    Ending.CLOSED: ChangeKind.EVICTED,
    Ending.DISPUTED: ChangeKind.DISPUTED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Who does something, when, and the names it takes.

    Attributes:
        at: when.
        actor: who decides.
        observer: who vouches for what is written.
        record_id: an id for the new record.
        lost_id: an id for a loser that has to be written down first.
        salt: random text.
        ranks: the rank of each name of authority; one that is not there ranks lowest.
    """

    at: Instant
    actor: str
    observer: str
    record_id: str
    lost_id: str
    salt: str
    ranks: Mapping[str, int]

    def told(self, kind: ChangeKind, reason: str, *parts: Part) -> Draft:
        """A draft of this act."""
        return Draft(kind=kind, at=self.at, reason=reason, actor=self.actor, parts=parts)

    def part(self, record_id: str, value: object) -> Part:
        """What this act says about a record."""
        return Part.of(record_id, value, salt=self.salt)

    def receipt(self, memory: Remembered, store: str) -> Receipt:
        """The observer saw this text under this name."""
        return Receipt(
            observer=self.observer,
            source=memory_source(store, memory.external_id),
            at=self.at,
            digest=memory.text_sha256,
            outcome=Outcome.CONFIRMS,
        )


def ended(state: State, record: Record, ending: Ending, act: Act, *, why: str) -> Drafted:
    """Let a memory stop standing, and suspend what rests on it.

    Raises:
        InvalidValue: it has ended already.
    """
    _check_live(record)
    if ending is Ending.DISPUTED and record.status is Status.DISPUTED:
        return record.id, ()
    return record.id, ends(state, [record.id], ending, act, by="", why=why)


def held(state: State, record: Record, act: Act, *, why: str, reason: str = "suspended") -> Drafted:
    """Hold a memory back, and what rests on it, until somebody looked.

    Raises:
        InvalidValue: it has ended already.
    """
    _check_live(record)
    if record.status is not Status.ACTIVE:
        return record.id, ()
    part = act.part(record.id, {"why": why})
    told = act.told(ChangeKind.SUSPENDED, reason, part)
    return record.id, (told, *_resting(state, [record.id], act))


def ends(
    state: State, ids: Sequence[str], ending: Ending, act: Act, *, by: str, why: str
) -> list[Draft]:
    """The drafts that end records and suspend what rests on them."""
    said = {name: text for name, text in (("by", by), ("why", why)) if text}
    parts = [act.part(name, said) for name in sorted(ids)]
    told = act.told(_CHANGES[ending], ending.value, *parts)
    return [told, *_resting(state, ids, act)]


def _resting(state: State, ids: Collection[str], act: Act) -> list[Draft]:
    """Rule 3: one draft for all that is active and rests on these, or none."""
    found: dict[str, str] = {}
    reached, waiting = set(ids), sorted(ids)
    while waiting:
        needed = waiting.pop()
        for name in _on(state, needed):
            if name not in reached:
                reached.add(name)
                waiting.append(name)
                if state.record(name).status is Status.ACTIVE:
                    found[name] = needed
    parts = [act.part(name, {"by": needed}) for name, needed in sorted(found.items())]
    return [act.told(ChangeKind.SUSPENDED, "dependency_lapsed", *parts)] if parts else []


def _on(state: State, record_id: str) -> list[str]:
    """What rests on a record, or on the memory that it is a version of, whichever it saw."""
    names = set(state.index.on(Source.record(record_id)))
    with suppress(UnknownRecord):  # one that is written in the same append
        content = state.record(record_id).content
        if content.get("form") == FORM:
            names |= set(state.index.on(memory_source(content["store"], content["external_id"])))
    return sorted(names)


def _check_live(record: Record) -> None:
    if record.status not in LIVE:
        remedy = f"restore it first: it is {record.status.value}"
        raise InvalidValue("external_id", record.content.get("external_id"), remedy)
