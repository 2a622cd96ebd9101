"""Why an item may not be acted on, and why a set of items is not shown: stable strings.

A reason says what is true of the item; it is met in logs, in the ledger, in reports and in tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Failure", "Fallen", "Reason"]


class Reason(StrEnum):
    """Why one item is left out."""

    # told by the record's status
    SUPERSEDED = "superseded"
    """A later item took its place."""
    REVOKED = "revoked"
    """It was never true."""
    CLOSED = "closed"
    """It was true and is no longer: it ended or lapsed, and nothing need follow it."""
    DISPUTED = "disputed"
    """It is contradicted, and nobody has decided."""
    SUSPENDED = "suspended"
    """What it rests on moved, or a recheck is due; it is held until somebody looks."""

    # told by items of one slot, and by links
    RESTATED = "restated"
    """Another item says the same; that one counts, and what rests on this one rests on it."""
    CONTESTED = "contested"
    """Writers of equal authority say different things, and neither replaces the other."""
    LACKS_AUTHORITY = "lacks_authority"
    """It contradicts what somebody of higher authority wrote."""
    CYCLE = "cycle"
    """It is replaced by what it replaces."""

    # told by time
    NOT_YET = "not_yet"
    """It holds from a later instant or revision on."""
    EXPIRED = "expired"
    """Its wall-clock interval ended."""
    EPOCH_ENDED = "epoch_ended"
    """Its interval of revisions ended."""

    # told by what it rests on
    DEPENDENCY_LAPSED = "dependency_lapsed"
    """An item that it rests on does not stand."""
    DEPENDENCY_UNKNOWN = "dependency_unknown"
    """An item that it rests on is not in the checkpoint."""

    # told by the slots that it takes for granted
    PREMISE_CHANGED = "premise_changed"
    """A slot that it takes for granted is worth something else by now, or nothing."""
    UNKNOWN_CURRENT = "unknown_current"
    """Nobody knows what a slot that it takes for granted is worth now."""
    PREMISE_CYCLE = "premise_cycle"
    """What it takes for granted, or rests on, rests in the end on itself."""

    # inferred
    INVALIDATED = "invalidated"
    """A later item broke a premise of it, and a verifier confirmed that."""
    UNVERIFIED = "unverified"
    """The verifier could not tell."""
    UNSCANNED = "unscanned"
    """Nobody looked whether later items break a premise of it."""
    SCAN_RAISED = "scan_raised"
    """The scanner failed on it."""
    SCAN_MALFORMED = "scan_malformed"
    """The scanner's answer about it could not be read."""
    UNANSWERED = "unanswered"
    """The verifier was asked about it and did not answer."""
    VERIFIER_RAISED = "verifier_raised"
    """The verifier failed on it."""
    ANSWER_MALFORMED = "answer_malformed"
    """The verifier's answer about it could not be read."""

    # the other gates
    AUTHORIZATION_DENIED = "authorization_denied"
    """Its tenant, principal or role is not the returning agent's."""
    OTHER_TASK = "other_task"
    """It belongs to another task."""
    OTHER_PURPOSE = "other_purpose"
    """It may not be used for this purpose."""
    OTHER_KIND = "other_kind"
    """Items of its kind are not asked for."""
    PROVENANCE_MISSING = "provenance_missing"
    """No receipt of an accepted observer vouches for it."""
    PROVENANCE_UNBOUND = "provenance_unbound"
    """It rests on an item, and no receipt binds it to that item as it was."""
    PROVENANCE_DRIFT = "provenance_drift"
    """The item that it rests on is not what it was bound to."""
    CONTRADICTED = "contradicted"
    """The latest receipt of an accepted observer speaks against it."""
    TOO_LARGE = "too_large"
    """It alone exceeds the characters that one item may have."""
    NO_GATES = "no_gates"
    """No gate was set, so nothing passes."""
    GATE_RAISED = "gate_raised"
    """A gate failed on it."""

    # selection, and private experience
    NOT_NEEDED = "not_needed"
    """It may be acted on, and no open obligation needs it beside what is shown."""
    OVER_BUDGET = "over_budget"
    """It may be acted on, and did not fit into the budget."""
    SOURCE_NOT_SHOWN = "source_not_shown"
    """An experience whose source is not in the view."""
    NO_SOURCE = "no_source"
    """An experience that names no source."""


class Failure(StrEnum):
    """Why no view is shown."""

    NO_SAFE_CANDIDATE = "no_safe_candidate"
    """Nothing is left to show."""
    MISSING_OBLIGATION = "missing_obligation"
    """An open obligation may not be acted on: what it demands cannot be relied upon."""
    MISSING_FRONTIER = "missing_frontier"
    """Nobody says how far an open obligation got."""
    MANDATORY_EXCEEDS_BUDGET = "mandatory_exceeds_budget"
    """Obligations and frontiers alone do not fit."""
    INSUFFICIENT_COVERAGE = "insufficient_coverage"
    """Too few obligations have all that they require."""
    INSUFFICIENT_CRITICAL = "insufficient_critical"
    """Too few critical dependencies are there."""


@dataclass(frozen=True, slots=True)
class Fallen:
    """An item that no longer stands.

    Attributes:
        reason: why.
        by: the id of the item that brought it down; empty where none did.
    """

    reason: Reason
    by: str = ""
