"""The ledger's record of one memory: its form, how it is found, and how it is a work-state item.

A record is written for each text that a memory has had. It keeps the text, so that what a store
overwrites is not lost, and everything that a store has no place for: who wrote it, for whom, when
it holds, what it rests on and the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lapse.admission import Epochs, WorkItem
from lapse.errors import InvalidValue
from lapse.ledger import (
    EVERYWHERE,
    Interval,
    Kind,
    Receipt,
    Record,
    Scope,
    Source,
    Stamp,
    Status,
    vector,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lapse.ledger import Instant, State
    from lapse.stores.port import Remembered

__all__ = [
    "FORM",
    "Entries",
    "Provenance",
    "entry",
    "is_entry",
    "item_of",
    "memory_source",
    "provenance_of",
]

FORM = "memory"
"""The member of a record's content that makes it the record of a memory."""

_KINDS = frozenset({Kind.FACT, Kind.CONSTRAINT, Kind.EXPERIENCE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a writer says about a memory beside its text; the receipt is added when it is written.

    Attributes:
        writer: the principal who wrote it.
        authority: what sort of statement it is (``user``, ``tool``, ``agent``, ``inference``).
        kind: `FACT`, `CONSTRAINT` or `EXPERIENCE`.
        slot: what it is about: a later memory of a slot takes the place of the earlier one, in
            the same scope. Empty: it is about nothing but itself, and only its own next version
            takes its place.
        scope: for whom and for what.
        purposes: for which purposes; empty: for any that the scope allows.
        supports: ids of the dependencies of obligations that it is evidence for.
        valid: when it holds; None: from when it is written.
        rests_on: the store's names of memories that it was made from.
        stamps: what else it rests on: rows, rules, work-state items (at their digest), probes.
        receipts: evidence beside the one that is issued at the write.
        epoch: the revision of the workspace that it is written in; 0 where nobody counts.
    """

    writer: str = "agent"
    authority: str = "agent"
    kind: Kind = Kind.FACT
    slot: str = ""
    scope: Scope = EVERYWHERE
    purposes: tuple[str, ...] = ()
    supports: tuple[str, ...] = ()
    valid: Interval | None = None
    rests_on: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    epoch: int = 0

    def __post_init__(self) -> None:
        """Put names in order, and refuse what no memory can be."""
        for name in ("purposes", "supports"):
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)))))
        object.__setattr__(self, "stamps", vector(self.stamps))
        if self.kind not in _KINDS:
            remedy = f"pass one of {', '.join(sorted(_KINDS))}"
            raise InvalidValue("kind", self.kind.value, remedy)
        if not self.writer:
            raise InvalidValue("writer", "", "name who wrote it")


@dataclass(slots=True)
class Entries:
    """Which records a store's memories have, by the store's names; follows the ledger.

    Attributes:
        versions: the ids of a memory's records, oldest first.
        replaced: for a record that another took the place of, the id of that one.
    """

    store: str
    versions: dict[str, list[str]] = field(default_factory=dict[str, "list[str]"])
    replaced: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, store: str, records: Iterable[Record]) -> Entries:
        """The entries among records that come in any order."""
        entries = cls(store)
        mine = (record for record in records if is_entry(record, store))
        for record in sorted(mine, key=lambda record: record.content["version"]):
            entries.take(record)
        return entries

    def take(self, record: Record) -> None:
        """Take in a record that was just written."""
        self.versions.setdefault(record.content["external_id"], []).append(record.id)
        self.replaced.update(dict.fromkeys(record.content["replaces"], record.id))

    def latest(self, external_id: str, state: State) -> Record | None:
        """The latest record of a memory; None when the ledger never saw it."""
        ids = self.versions.get(external_id)
        return state.record(ids[-1]) if ids else None


def entry(
    memory: Remembered,
    said: Provenance,
    *,
    store: str,
    record_id: str,
    at: Instant,
    before: Record | None,
    replaces: Iterable[str],
) -> Record:
    """The record that says this of a memory.

    Args:
        memory: as the store has it.
        said: what its writer says of it, with all its receipts and stamps.
        store: the store's name.
        record_id: the record's id.
        at: when it is written.
        before: the memory's latest record until now; None when this is the first.
        replaces: the ids of the records that it takes the place of.
    """
    version, created = 1, at if memory.created_at is None else memory.created_at
    if before is not None:  # a store may forget when a memory was made; the ledger does not
        version, created = before.content["version"] + 1, before.content["created_at"]
    return Record(
        id=record_id,
        kind=said.kind,
        slot=said.slot or f"{store}/{memory.external_id}",
        topic=f"{store}/{memory.external_id}",
        content={
            "form": FORM,
            "store": store,
            "external_id": memory.external_id,
            "version": version,
            "text": memory.text,
            "text_sha256": memory.text_sha256,
            "revision": memory.revision,
            "created_at": created,
            "source_ids": list(memory.source_ids),
            "metadata": dict(memory.metadata),
            "writer": said.writer,
            "authority": said.authority,
            "own_slot": not said.slot,
            "purposes": list(said.purposes),
            "supports": list(said.supports),
            "replaces": sorted(set(replaces)),
        },
        valid=said.valid or Interval(at),
        scope=said.scope,
        stamps=said.stamps,
        receipts=said.receipts,
        epoch=said.epoch,
    )


def provenance_of(record: Record) -> Provenance:
    """What the writer of a memory's record said of it; what it rests on is all among the stamps."""
    content: dict[str, Any] = dict(record.content)
    return Provenance(
        writer=content["writer"],
        authority=content["authority"],
        kind=record.kind,
        slot="" if content["own_slot"] else record.slot,
        scope=record.scope,
        purposes=tuple(content["purposes"]),
        supports=tuple(content["supports"]),
        valid=record.valid,
        stamps=record.stamps,
        receipts=record.receipts,
        epoch=record.epoch,
    )


def memory_source(store: str, external_id: str) -> Source:
    """A memory as something that other things can rest on, whichever version of it."""
    return Source.probe("memory", f"{store}/{external_id}")


def is_entry(record: Record, store: str | None = None) -> bool:
    """Whether a record is about a memory (of this store)."""
    content = record.content
    return content.get("form") == FORM and store in (None, content.get("store"))


def item_of(record: Record, *, status: Status | None = None) -> WorkItem:
    """A memory's record as a work-state item: a candidate for a return.

    Args:
        record: what `entry` made.
        status: another status than the record's, for one that is held for a reason outside it.

    Raises:
        InvalidValue: the record is none of a memory, or its text is empty or too long for an item.
    """
    content: dict[str, Any] = dict(record.content)
    if not is_entry(record):
        raise InvalidValue("record", record.id, "pass the record of a memory")
    return WorkItem(
        id=record.id,
        kind=record.kind,
        slot=record.slot,
        text=content["text"],
        writer=content["writer"],
        authority=content["authority"],
        scope=record.scope,
        purposes=tuple(content["purposes"]),
        epochs=Epochs(record.epoch),
        valid=record.valid,
        supports=tuple(content["supports"]),
        stamps=record.stamps,
        replaces=tuple(content["replaces"]),
        receipts=record.receipts,
        status=record.status if status is None else status,
        attributes={"store": content["store"], "memory": content["external_id"]},
    )
