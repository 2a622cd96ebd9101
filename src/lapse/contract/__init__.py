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
from lapse.contract.feedback import Emission, Level, Reading, TableReader, Violation, leaks
from lapse.contract.fixes import Fix, Lesson, amend, fingerprint_of, learned
from lapse.contract.graph import Edge, KnowledgeGraph, Node
from lapse.contract.messages import (
    CacheHint,
    Envelope,
    RowVersion,
    Suggestion,
    TableChanges,
    TableVersion,
)
from lapse.contract.names import NAME_CHARACTERS, check_name, is_name
from lapse.contract.reach import Adjacency
from lapse.contract.reconcile import (
    Answers,
    Learnt,
    Settlement,
    drafts,
    learn,
    moved,
    needs_changes,
    settle,
    unvouched,
)
from lapse.contract.registry import LogBounds, LogEntry, Registry, Reload
from lapse.contract.rules import BY_KEY, Rule, fingerprint, member
from lapse.contract.tables import Diff, Table, diff, following_version, node_id, row_version
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
    "BY_KEY",
    "NAME_CHARACTERS",
    "PATCH_SENTENCE",
    "POLICIES",
    "Adjacency",
    "Answers",
    "ByRow",
    "ByTable",
    "CacheHint",
    "Consumption",
    "Diff",
    "Edge",
    "Emission",
    "Envelope",
    "Evict",
    "EvictionPolicy",
    "Fix",
    "Keep",
    "KeepAll",
    "KeepNone",
    "KnowledgeGraph",
    "Learnt",
    "Lesson",
    "Level",
    "LogBounds",
    "LogEntry",
    "Moved",
    "Node",
    "Reading",
    "Reason",
    "Registry",
    "Reject",
    "Reload",
    "Restamp",
    "RowVersion",
    "Rule",
    "Settlement",
    "Suggestion",
    "Supersede",
    "Suspend",
    "Table",
    "TableChanges",
    "TableReader",
    "TableVersion",
    "Violation",
    "Write",
    "amend",
    "check_name",
    "diff",
    "drafts",
    "fingerprint",
    "fingerprint_of",
    "following_version",
    "is_name",
    "leaks",
    "learn",
    "learned",
    "member",
    "moved",
    "needs_changes",
    "node_id",
    "row_version",
    "settle",
    "unvouched",
    "word",
]
