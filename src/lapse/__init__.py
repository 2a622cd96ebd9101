"""The memory-validity layer for LLM agents.

It knows which remembered things have lapsed, says why, and sits under any agent and over any store.
"""

from lapse.assembly import open, sidecar, trust, workspace  # noqa: A004 - lapse.open(...) is how it is called
from lapse.contract import A0, A1, A2, A2D, A2DC, A2DG, Consumption, Fix
from lapse.errors import LapseError
from lapse.ledger import Record, Scope, Source, Stamp, Status

__all__ = [
    "A0",
    "A1",
    "A2",
    "A2D",
    "A2DC",
    "A2DG",
    "Consumption",
    "Fix",
    "LapseError",
    "Record",
    "Scope",
    "Source",
    "Stamp",
    "Status",
    "open",
    "sidecar",
    "trust",
    "workspace",
]
