"""The loops: load, ask an engine, act, record; and the events that tell of it."""

from lapse.runtime.digests import Digests, Sent
from lapse.runtime.events import Event, Observer
from lapse.runtime.explaining import CycleStory, ItemStory, LeftOut, Standing
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
from lapse.runtime.saying import Changing, Saying
from lapse.runtime.session import Session
from lapse.runtime.signatures import KnownInMemory, Signatures
from lapse.runtime.workspace import Workspace
from lapse.runtime.workspace_async import AsyncWorkspace
from lapse.runtime.workspace_forms import Notice

__all__ = [
    "FREE",
    "Allowance",
    "Answered",
    "AsyncWorkspace",
    "Changing",
    "Cost",
    "CycleStory",
    "Digests",
    "Event",
    "Guard",
    "ItemStory",
    "Judging",
    "KnownInMemory",
    "LeftOut",
    "Looked",
    "Memory",
    "Notice",
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
    "Saying",
    "Sent",
    "Session",
    "Signatures",
    "Standing",
    "Trust",
    "Workspace",
    "ruling_key",
]
