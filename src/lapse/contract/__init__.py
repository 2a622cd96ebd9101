"""Told: the service that gave a fix says which row or rule moved.

Pure: no I/O, no clock, no randomness. The client's half decides what a response means for what is
remembered (`moved`, `settle`, `learn`, in that order) and words what still holds (`word`); the
service's half keeps tables, rules and the graph, and turns a violated policy into a suggestion.
"""

from lapse.contract.eviction import (
    A0,
    A1,
    A2,
    A2D,
    A2DC,
    A2DG,
    POLICIES,
    ByRow,
    ByTable,
    EvictionPolicy,
    KeepAll,
    KeepNone,
)
from lapse.contract.fixes import Fix, Lesson, amend, fingerprint_of, learned
from lapse.contract.messages import (
    CacheHint,
    Envelope,
    RowVersion,
    Suggestion,
    TableChanges,
    TableVersion,
)
from lapse.contract.names import NAME_CHARACTERS, check_name, is_name
from lapse.contract.reconcile import (
    Learnt,
    Settlement,
    drafts,
    learn,
    moved,
    needs_changes,
    settle,
)
from lapse.contract.verdicts import (
    Evict,
    Keep,
    Moved,
    Reason,
    Reject,
    Restamp,
    Supersede,
    Suspend,
    Write,
)
from lapse.contract.wording import PATCH_SENTENCE, Consumption, word

__all__ = [
    "A0",
    "A1",
    "A2",
    "A2D",
    "A2DC",
    "A2DG",
    "NAME_CHARACTERS",
    "PATCH_SENTENCE",
    "POLICIES",
    "ByRow",
    "ByTable",
    "CacheHint",
    "Consumption",
    "Envelope",
    "Evict",
    "EvictionPolicy",
    "Fix",
    "Keep",
    "KeepAll",
    "KeepNone",
    "Learnt",
    "Lesson",
    "Moved",
    "Reason",
    "Reject",
    "Restamp",
    "RowVersion",
    "Settlement",
    "Suggestion",
    "Supersede",
    "Suspend",
    "TableChanges",
    "TableVersion",
    "Write",
    "amend",
    "check_name",
    "drafts",
    "fingerprint_of",
    "is_name",
    "learn",
    "learned",
    "moved",
    "needs_changes",
    "settle",
    "word",
]
