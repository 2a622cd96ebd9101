"""What a sidecar writes, as drafts for the ledger: pure, so that a decision can be taken again.

Every act is one append: the new record with its receipt, the end of what it takes the place of, and
the suspension of what rested on that. Nothing is unwritten: what is held stands again for a
receipt, and what has ended is said again in a new record.

1. A memory's next version takes the place of the one before. The same words with the same
   provenance again are one more receipt, not a version.
2. A later memory of a named slot takes the place of the earlier ones of the same scope, if the
   writer is the same or the authority suffices. If not, it is disputed as soon as it is written
   and changes nothing.
3. What rests on a record that ends or is held is suspended in the same append, however far up.
4. What is overwritten in the store and was never written down here is written down first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lapse.admission import Ending
from lapse.errors import InvalidValue
from lapse.ledger import (
    EVERYWHERE,
    LIVE,
    ChangeKind,
    Draft,
    Outcome,
    Receipt,
    Source,
    Stamp,
    Status,
    writing,
)
from lapse.stores.endings import ends
from lapse.stores.entries import (
    Entries,
    Provenance,
    entry,
    is_entry,
    item_of,
    provenance_of,
)
from lapse.stores.reading import Standing, judged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lapse.ledger import Record, State
    from lapse.stores.endings import Act, Drafted
    from lapse.stores.port import Remembered

__all__ = ["Write", "may_replace", "remembered", "remembered_together", "restored"]


@dataclass(frozen=True, slots=True)
class Write:
    """A memory to write down.

    Attributes:
        memory: as the store has it now.
        said: what its writer says of it.
        before: what the store had under this name until now; if the ledger does not know it, it is
            written down too, so that the loser is kept.
    """

    memory: Remembered
    said: Provenance
    before: Remembered | None = None

    @property
    def alone(self) -> bool:
        """Whether what it says has to be compared with what was written just before."""
        return bool(self.said.slot or self.said.rests_on or self.said.stamps)


def remembered_together(
    state: State, entries: Entries, writes: Sequence[tuple[Write, Act]]
) -> tuple[list[str], list[Draft]]:
    """Write down as many memories, from the first on, as do not touch each other.

    Returns:
        The ids of their records, one for each that was taken, and the drafts of one append.

    Raises:
        InvalidValue: as `remembered` says.
    """
    ids: list[str] = []
    drafts: list[Draft] = []
    touched: set[str] = set()
    for write, act in writes:
        if write.memory.external_id in touched or (write.alone and ids):
            break
        name, more = remembered(state, entries, write.memory, write.said, act, before=write.before)
        parts = {part.record for draft in more for part in draft.parts}
        if parts & touched:
            break
        touched |= {*parts, write.memory.external_id}
        ids.append(name)
        drafts += more
        if write.alone:
            break
    return ids, drafts


def remembered(
    state: State,
    entries: Entries,
    memory: Remembered,
    said: Provenance,
    act: Act,
    *,
    before: Remembered | None = None,
) -> Drafted:
    """Write down a memory as it was just written or read.

    Args:
        state: the ledger as it is.
        entries: which records the store's memories have.
        memory: as the store has it now.
        said: what its writer says of it.
        act: who writes, when.
        before: what the store had under this name until now.

    Raises:
        InvalidValue: `said` rests on a memory that is not active here.
    """
    latest = entries.latest(memory.external_id, state)
    drafts: list[Draft] = []
    if before is not None and _says(before) != _says(memory):
        standing = judged(before, latest, state, at=act.at, who=EVERYWHERE)
        if standing in (Standing.LEGACY, Standing.DRIFT):
            latest, drafts = _lost(state, entries, before, latest, act)
    if latest is not None and not drafts and _again(latest, memory, said, act):
        seen = act.part(latest.id, act.receipt(memory, entries.store).as_json())
        return latest.id, (act.told(ChangeKind.WITNESSED, "restated", seen),)
    return _written(state, entries, memory, said, act, latest=latest, drafts=drafts)


def restored(
    state: State, entries: Entries, memory: Remembered, act: Act, receipt: Receipt | None
) -> Drafted:
    """Let a memory stand again: what is held is lifted, what has ended is said again.

    Raises:
        InvalidValue: the ledger does not know it, or its text was changed outside.
    """
    seen = act.receipt(memory, entries.store) if receipt is None else receipt
    if seen.outcome is not Outcome.CONFIRMS:
        raise InvalidValue("receipt", seen.outcome.value, "pass a receipt that confirms it")
    latest = entries.latest(memory.external_id, state)
    standing = judged(memory, latest, state, at=act.at, who=EVERYWHERE)
    if latest is None or standing in (Standing.DRIFT, Standing.PURGED):
        remedy = f"attest it: it is {standing.value}"
        raise InvalidValue("external_id", memory.external_id, remedy)
    if latest.status is Status.ACTIVE:
        return latest.id, ()
    if latest.status in LIVE:
        return latest.id, (
            act.told(ChangeKind.WITNESSED, "confirmed", act.part(latest.id, seen.as_json())),
            act.told(ChangeKind.REINSTATED, "confirmed", act.part(latest.id, {})),
        )
    said = replace(provenance_of(latest), valid=None, receipts=(seen,))
    return _written(state, entries, memory, said, act, latest=latest, drafts=[])


def _written(
    state: State,
    entries: Entries,
    memory: Remembered,
    said: Provenance,
    act: Act,
    *,
    latest: Record | None,
    drafts: list[Draft],
) -> Drafted:
    """A new record, and the end of what it takes the place of."""
    rivals = _rivals(state, entries.store, memory, said)
    stronger = [one.id for one in rivals if not may_replace(said, one, act.ranks)]
    replaced = [latest.id] if latest is not None and latest.status in LIVE else []
    replaced += [] if stronger else [one.id for one in rivals]
    bound, evidence = _bound(state, entries, memory.external_id, said, act)
    record = entry(
        memory,
        replace(
            said,
            receipts=(act.receipt(memory, entries.store), *evidence, *said.receipts),
            stamps=(*bound, *said.stamps),
        ),
        store=entries.store,
        record_id=act.record_id,
        at=act.at,
        before=latest,
        replaces=replaced,
    )
    actor, salt = act.actor, act.salt
    drafts += writing(state, record, at=act.at, reason="remembered", actor=actor, salt=salt)
    if replaced:
        drafts += ends(state, replaced, Ending.SUPERSEDED, act, by=record.id, why="")
    if stronger:
        part = act.part(record.id, {"by": stronger[0]})
        drafts.append(act.told(ChangeKind.DISPUTED, "lacks_authority", part))
    return record.id, drafts


def _lost(
    state: State, entries: Entries, before: Remembered, latest: Record | None, act: Act
) -> tuple[Record, list[Draft]]:
    """Rule 4: what was in the store and is overwritten, without anybody who vouches for it."""
    said = Provenance(writer="unknown", authority="") if latest is None else provenance_of(latest)
    replaced = [latest.id] if latest is not None and latest.status in LIVE else []
    record = entry(
        before,
        replace(said, valid=None, receipts=(), stamps=()),
        store=entries.store,
        record_id=act.lost_id,
        at=act.at,
        before=latest,
        replaces=replaced,
    )
    drafts = [
        *writing(state, record, at=act.at, reason="found", actor=act.actor, salt=act.salt),
        *(ends(state, replaced, Ending.SUPERSEDED, act, by=record.id, why="") if replaced else ()),
    ]
    return record, drafts


def _says(memory: Remembered) -> tuple[str, object]:
    return memory.text, memory.metadata


def _again(latest: Record, memory: Remembered, said: Provenance, act: Act) -> bool:
    """Rule 1: whether the same is said again, with nothing new about it."""
    if latest.status is not Status.ACTIVE or said.rests_on:
        return False
    had = replace(provenance_of(latest), receipts=())
    valid = had.valid if said.valid is None else said.valid
    content = latest.content
    return (
        content["text_sha256"] == memory.text_sha256
        and content["revision"] == memory.revision
        and content["metadata"] == dict(memory.metadata)
        and latest.valid.holds_at(act.at)
        and replace(said, valid=valid, receipts=()) == had
    )


def _rivals(state: State, store: str, memory: Remembered, said: Provenance) -> list[Record]:
    """Rule 2: what else is live in a named slot of the same scope."""
    return [
        record
        for record in (state.in_slot("", said.slot) if said.slot else ())
        if is_entry(record, store)
        and record.scope == said.scope
        and record.content["external_id"] != memory.external_id
    ]


def may_replace(said: Provenance, other: Record, ranks: Mapping[str, int]) -> bool:
    """Whether a writer may take the place of a record: it is the same, or ranks as high."""
    lowest = min(ranks.values(), default=0)
    mine, theirs = (ranks.get(n, lowest) for n in (said.authority, other.content["authority"]))
    return mine >= theirs or said.writer == other.content["writer"]


def _bound(
    state: State, entries: Entries, external_id: str, said: Provenance, act: Act
) -> tuple[list[Stamp], list[Receipt]]:
    """Stamps for the memories that it rests on, and receipts that bind them as they are."""
    stamps: list[Stamp] = []
    receipts: list[Receipt] = []
    for name in said.rests_on:
        needed = entries.latest(name, state)
        if needed is None or name == external_id or not state.usable(needed):
            raise InvalidValue("rests_on", name, "name other memories that are active here")
        source, seen = Source.record(needed.id), item_of(needed).digest()
        stamps.append(Stamp(source, seen))
        receipts.append(
            Receipt(
                observer=act.observer,
                source=source,
                at=act.at,
                digest=seen,
                outcome=Outcome.CONFIRMS,
            )
        )
    return stamps, receipts
