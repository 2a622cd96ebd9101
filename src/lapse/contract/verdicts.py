"""What the contract engine decides, as values with a reason code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from lapse.contract.messages import Suggestion
    from lapse.ledger import Receipt, Record, Source

__all__ = [
    "Alert",
    "Dispute",
    "Evict",
    "Keep",
    "Moved",
    "Reason",
    "Reinstate",
    "Reject",
    "Restamp",
    "Supersede",
    "Suspend",
    "Write",
]


class Reason(StrEnum):
    """Why a verdict was given; stable strings, for logs, the ledger and tests."""

    # evictions
    ROW_MOVED = "row_moved"
    """The row that the fix rests on has another version now."""
    TABLE_MOVED = "table_moved"
    """The policy works at table granularity."""
    ROW_UNKNOWN = "row_unknown"
    """Rows of the table changed, and the fix does not say which row it rests on."""
    LOG_TOO_SHORT = "log_too_short"
    """The service's change log no longer reaches back: fall back to the whole table."""
    TABLE_GONE = "table_gone"
    """The service no longer has the table."""
    DOWNSTREAM = "downstream"
    """A row that the fix rests on follows from one that changed."""
    DEPENDENCY_EVICTED = "dependency_evicted"
    """The fix rests on another record, and that one went."""
    RULES_MOVED = "rules_moved"
    """The rules moved, and the policy acts on that; of an alert, that they did."""
    TABLE_GAINED = "table_gained"
    """The rules lead from the fix to a table that it was not made from."""

    # what stays
    ROW_UNCHANGED = "row_unchanged"
    """The table moved, and none of the rows that count did."""
    RULES_NOT_WATCHED = "rules_not_watched"
    """The rules moved, and the policy does not act on rules."""
    TABLE_LOST = "table_lost"
    """The rules no longer lead to a table, and the fix stands without it."""
    APPLIED = "applied"
    """A request that had the fix was accepted."""
    SAID_AGAIN = "said_again"
    """It was in dispute because a request that had it was refused; the service says it again."""
    AWAITING_DIFF = "awaiting_diff"
    """The table moved, and what changed in it is not known yet."""
    CONFIRMED = "confirmed"
    """The service gave the same answer again."""

    # what is doubted
    APPLIED_AND_REFUSED = "applied_and_refused"
    """A request that it was merged into was refused."""

    # what is written, and what is not
    LEARNED = "learned"
    """A new fix."""
    NEWER_ANSWER = "newer_answer"
    """The service now answers otherwise."""
    NOT_CACHEABLE = "not_cacheable"
    """The service did not say that the fix may be remembered."""
    NO_DEPENDENCY = "no_dependency"
    """Nothing says what the fix rests on, so nothing could ever evict it."""
    UNKNOWN_VERSION = "unknown_version"
    """A table that the fix rests on has no version in the response."""
    NO_SITUATION = "no_situation"
    """Neither the service nor the request says for which requests the fix holds."""
    NOT_JSON = "not_json"
    """Its values have no canonical form (an integer beyond 2^53, say), so nothing could compare
    them."""
    LATE = "late"
    """The response is older than what the memory was reconciled with."""
    UNCONFIRMED = "unconfirmed"
    """It would be the first fix under a table, and the service could not be asked whether it is
    current."""
    NO_MEMORY = "no_memory"
    """The policy keeps nothing."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A table or rule set is reported at another version than its records were reconciled with.

    Attributes:
        source: the table or rule set.
        was: the version reconciled with; None when it was gone.
        now: the version reported; None when it is gone.
    """

    source: Source
    was: str | None
    now: str | None


@dataclass(frozen=True, slots=True)
class Alert:
    """Rules moved; what follows from it is said by other verdicts."""

    moved: Moved
    reason: Reason = Reason.RULES_MOVED


@dataclass(frozen=True, slots=True)
class Keep:
    """The record stands: the service said the same again, and the receipt says when."""

    record: Record
    receipt: Receipt
    reason: Reason = Reason.CONFIRMED


@dataclass(frozen=True, slots=True)
class Dispute:
    """The record is no longer served: what came of using it speaks against it."""

    record: Record
    receipt: Receipt
    reason: Reason = Reason.APPLIED_AND_REFUSED


@dataclass(frozen=True, slots=True)
class Reinstate:
    """A disputed record is served again, for the receipt."""

    record: Record
    receipt: Receipt
    reason: Reason = Reason.SAID_AGAIN


@dataclass(frozen=True, slots=True)
class Restamp:
    """Everything that is left under a source is good at its version now."""

    moved: Moved
    records: int
    reason: Reason = Reason.ROW_UNCHANGED


@dataclass(frozen=True, slots=True)
class Suspend:
    """The records under a source are held and not served until what changed is known."""

    moved: Moved
    records: int
    reason: Reason = Reason.AWAITING_DIFF


class Evict(NamedTuple):
    """Records lapsed, for one cause: a row's worth of them, or a table's, is decided at once.

    Attributes:
        ids: which; at least one.
        reason: why.
        cause: the source that moved.
        was: the version the records rested on; None: they rested on the row's absence.
        now: the version now; None when it is gone, or when only the table's move is known.
    """

    ids: tuple[str, ...]
    reason: Reason
    cause: Source
    was: str | None
    now: str | None

    def besides(self, gone: Collection[str]) -> Evict | None:
        """The same without the records that went already; None when all of them did."""
        left = tuple(name for name in self.ids if name not in gone)
        return self._replace(ids=left) if left else None


@dataclass(frozen=True, slots=True)
class Write:
    """A new record."""

    record: Record
    reason: Reason = Reason.LEARNED


@dataclass(frozen=True, slots=True)
class Supersede:
    """A record gives way to a newer one of its slot."""

    record: Record
    by: str
    reason: Reason = Reason.NEWER_ANSWER


@dataclass(frozen=True, slots=True)
class Reject:
    """A suggestion that is not remembered."""

    suggestion: Suggestion
    reason: Reason
