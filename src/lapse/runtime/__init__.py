"""The loops: load, ask an engine, act, record; and the events that tell of it."""

from lapse.runtime.digests import Digests, Sent
from lapse.runtime.events import Event, Observer
from lapse.runtime.judging import (
    FREE,
    Allowance,
    Answered,
    Cost,
    Judging,
    Looked,
    OnlyKept,
    Opinion,
    PairJudge,
    Proposal,
    Proposer,
    Ruling,
    Rulings,
    RulingsInLedger,
    RulingsInMemory,
    ruling_key,
)
from lapse.runtime.memory import Memory
from lapse.runtime.quarantine import Guard, Trust
from lapse.runtime.session import Session
from lapse.runtime.signatures import KnownInMemory, Signatures

__all__ = [
    "FREE",
    "Allowance",
    "Answered",
    "Cost",
    "Digests",
    "Event",
    "Guard",
    "Judging",
    "KnownInMemory",
    "Looked",
    "Memory",
    "Observer",
    "OnlyKept",
    "Opinion",
    "PairJudge",
    "Proposal",
    "Proposer",
    "Ruling",
    "Rulings",
    "RulingsInLedger",
    "RulingsInMemory",
    "Sent",
    "Session",
    "Signatures",
    "Trust",
    "ruling_key",
]
