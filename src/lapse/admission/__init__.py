"""Recorded and inferred: what a returning agent may act on.

Pure: no I/O, no clock, no randomness. Work state lies in the ledger as ordinary records; a model's
opinion is asked for and taken as a value.
"""

from lapse.admission.checkpoint import (
    Checkpoint,
    Delta,
    Departure,
    Returning,
    capture,
    difference,
    merge,
)
from lapse.admission.items import LONGEST_TEXT, Epochs, WorkItem, work_items
from lapse.admission.lifecycle import (
    RANKS,
    History,
    UnknownCurrent,
    cascade,
    chain_end,
    explicit,
    unknown_current,
)
from lapse.admission.members import Member, Presence
from lapse.admission.obligations import Obligation, obligations_in
from lapse.admission.questions import (
    Pair,
    Proposals,
    Question,
    Scan,
    Verdict,
    judge,
    propose,
    scans,
)
from lapse.admission.reasons import Failure, Fallen, Reason

__all__ = [
    "LONGEST_TEXT",
    "RANKS",
    "Checkpoint",
    "Delta",
    "Departure",
    "Epochs",
    "Failure",
    "Fallen",
    "History",
    "Member",
    "Obligation",
    "Pair",
    "Presence",
    "Proposals",
    "Question",
    "Reason",
    "Returning",
    "Scan",
    "UnknownCurrent",
    "Verdict",
    "WorkItem",
    "capture",
    "cascade",
    "chain_end",
    "difference",
    "explicit",
    "judge",
    "merge",
    "obligations_in",
    "propose",
    "scans",
    "unknown_current",
    "work_items",
]
