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
    further,
    merge,
)
from lapse.admission.coverage import Coverage, LastWord, Missing, measure, missing
from lapse.admission.cycle import (
    Blocked,
    Captured,
    Eligible,
    Judged,
    Screened,
    Sealed,
    Selected,
    admit,
)
from lapse.admission.disputes import (
    Decision,
    Dispute,
    Evidence,
    Ground,
    Outranks,
    disputes_in,
    resolve,
    settlement,
)
from lapse.admission.endings import Ending, end, lift, put
from lapse.admission.gates import GATES, Gate, Judgement, Situation, weigh
from lapse.admission.inventory import work_items
from lapse.admission.items import LONGEST_TEXT, LONGEST_VALUE, Epochs, WorkItem
from lapse.admission.lifecycle import (
    RANKS,
    History,
    UnknownCurrent,
    cascade,
    chain_end,
    explicit,
    may_replace,
    unknown_current,
)
from lapse.admission.members import Member, Presence
from lapse.admission.obligations import Obligation, obligations_in
from lapse.admission.policy import Incomplete, Policy
from lapse.admission.premises import premise_cycle, settle
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
from lapse.admission.readmission import Readmission
from lapse.admission.reasons import Failure, Fallen, Reason
from lapse.admission.recovery import lapsed, revive
from lapse.admission.selection import Budget, Selection, Selector, owed, select
from lapse.admission.view import (
    Refusal,
    Refused,
    ReturnView,
    SignedView,
    expose,
    open_view,
    render,
    sign,
)

__all__ = [
    "GATES",
    "LONGEST_TEXT",
    "LONGEST_VALUE",
    "RANKS",
    "Blocked",
    "Budget",
    "Captured",
    "Checkpoint",
    "Coverage",
    "Decision",
    "Delta",
    "Departure",
    "Dispute",
    "Eligible",
    "Ending",
    "Epochs",
    "Evidence",
    "Failure",
    "Fallen",
    "Gate",
    "Ground",
    "History",
    "Incomplete",
    "Judged",
    "Judgement",
    "LastWord",
    "Member",
    "Missing",
    "Obligation",
    "Outranks",
    "Pair",
    "Policy",
    "Presence",
    "Proposals",
    "Question",
    "Readmission",
    "Reason",
    "Refusal",
    "Refused",
    "ReturnView",
    "Returning",
    "Scan",
    "Screened",
    "Sealed",
    "Selected",
    "Selection",
    "Selector",
    "SignedView",
    "Situation",
    "UnknownCurrent",
    "Verdict",
    "WorkItem",
    "admit",
    "capture",
    "cascade",
    "chain_end",
    "difference",
    "disputes_in",
    "end",
    "explicit",
    "expose",
    "further",
    "judge",
    "lapsed",
    "lift",
    "may_replace",
    "measure",
    "merge",
    "missing",
    "obligations_in",
    "open_view",
    "owed",
    "premise_cycle",
    "propose",
    "put",
    "render",
    "resolve",
    "revive",
    "scans",
    "select",
    "settle",
    "settlement",
    "sign",
    "unknown_current",
    "weigh",
    "work_items",
]
