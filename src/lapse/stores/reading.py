"""What may be served of what a store gives: a standing for each memory, and why it is left out.

Pure: the ledger's state and the instant come in as arguments. Unknown is not valid: what nobody
here has seen, what was changed behind our back, and what rests on something that moved is not
active, and a memory is served because it is active and for no other reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from lapse.ledger import Scope, Status

if TYPE_CHECKING:
    from lapse.ledger import Instant, Record, State
    from lapse.stores.port import Remembered

__all__ = ["LeftOut", "Legacy", "Reading", "Served", "Standing", "judged", "with_created"]


class Standing(StrEnum):
    """What is known of a memory; also the reason why it is left out."""

    ACTIVE = "active"
    """It stands as it was written here: the only standing that is served by itself."""
    LEGACY = "legacy"
    """The store has it and the ledger never saw it."""
    DRIFT = "provenance_drift"
    """It says something else than what was written here: somebody changed it outside."""
    SUPERSEDED = "superseded"
    """A later memory took its place."""
    REVOKED = "revoked"
    """It was never true."""
    CLOSED = "closed"
    """It was true, and it is over."""
    DISPUTED = "disputed"
    """It is contradicted, and nobody has decided."""
    SUSPENDED = "suspended"
    """It is held until somebody looks: what it rests on lapsed, or a recheck is due."""
    MOVED = "source_moved"
    """A source that it is stamped with moved and was not reconciled."""
    PURGED = "purged"
    """The ledger forgot it on purpose, and the store still has it."""
    NOT_YET = "not_yet"
    """It holds from a later instant on."""
    EXPIRED = "expired"
    """Its interval has ended."""
    OUT_OF_SCOPE = "out_of_scope"
    """It is not for who asks."""


class Legacy(StrEnum):
    """What to do with memories that the ledger never saw."""

    REFUSE = "refuse"
    """Leave them out, until they are attested."""
    ADMIT = "admit"
    """Serve them, marked as `Standing.LEGACY`."""


@dataclass(frozen=True, slots=True)
class Served:
    """A memory that may be acted on.

    Attributes:
        memory: as the store gives it; `created_at` is when it was first written, also in a store
            that forgets that when a memory is overwritten.
        standing: `ACTIVE`, or `LEGACY` where the policy admits that.
        record: the id of the ledger's record of it; empty for a legacy memory.
    """

    memory: Remembered
    standing: Standing
    record: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A memory that the store gave and that is not served.

    Attributes:
        external_id: the store's name for it.
        standing: why.
        record: the id of the ledger's record of it; empty where there is none.
        by: the id of the record that brought it down; empty where none did, or nobody said.
    """

    external_id: str
    standing: Standing
    record: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a read found.

    Attributes:
        served: what may be acted on, best first.
        left_out: what the store gave besides, in its order, and why it is left out.
        exhausted: the store has no more; if not, and fewer were served than asked for, the bound
            of the over-fetch was reached.
    """

    served: tuple[Served, ...]
    left_out: tuple[LeftOut, ...]
    exhausted: bool

    @property
    def memories(self) -> tuple[Remembered, ...]:
        """The served memories alone."""
        return tuple(one.memory for one in self.served)


_BY_STATUS = {
    Status.SUPERSEDED: Standing.SUPERSEDED,
    Status.REVOKED: Standing.REVOKED,
    Status.EVICTED: Standing.CLOSED,
    Status.DISPUTED: Standing.DISPUTED,
    Status.SUSPENDED: Standing.SUSPENDED,
    Status.PURGED: Standing.PURGED,
}


def judged(
    memory: Remembered, record: Record | None, state: State, *, at: Instant, who: Scope
) -> Standing:
    """What is known of a memory.

    Args:
        memory: as the store gives it.
        record: the latest record about it; None when there is none.
        state: the ledger that the record is in.
        at: the instant it is asked for.
        who: who asks, and for what.
    """
    if record is None:
        return Standing.LEGACY
    ended = _BY_STATUS.get(record.status)
    if ended is not Standing.PURGED and _drifted(memory, record):
        return Standing.DRIFT
    if ended is not None:
        return ended
    if not state.usable(record):
        return Standing.MOVED
    return _timely(memory, record, at) if record.scope.admits(who) else Standing.OUT_OF_SCOPE


def _drifted(memory: Remembered, record: Record) -> bool:
    said = record.content
    if said.get("text_sha256") != memory.text_sha256:
        return True
    return bool(memory.revision) and said.get("revision") != memory.revision


def _timely(memory: Remembered, record: Record, at: Instant) -> Standing:
    starts = (record.valid.since, memory.valid_from)
    ends = (record.valid.until, memory.valid_until)
    if any(since is not None and at < since for since in starts):
        return Standing.NOT_YET
    if any(until is not None and at >= until for until in ends):
        return Standing.EXPIRED
    return Standing.ACTIVE


def with_created(memory: Remembered, record: Record) -> Remembered:
    """The memory with the instant at which it was first written, which some stores forget."""
    return replace(memory, created_at=record.content["created_at"])
