"""Recorded and inferred: what a returning agent may act on.

Pure: no I/O, no clock, no randomness. Work state lies in the ledger as ordinary records; a model's
opinion is asked for and taken as a value.
"""

from lapse.admission.items import LONGEST_TEXT, Epochs, WorkItem, work_items
from lapse.admission.members import Member, Presence
from lapse.admission.obligations import Obligation, obligations_in

__all__ = [
    "LONGEST_TEXT",
    "Epochs",
    "Member",
    "Obligation",
    "Presence",
    "WorkItem",
    "obligations_in",
    "work_items",
]
