"""The loops: load, ask an engine, act, record; and the events that tell of it."""

from lapse.runtime.digests import Digests, Sent
from lapse.runtime.events import Event, Observer
from lapse.runtime.memory import Memory
from lapse.runtime.quarantine import Guard, Trust
from lapse.runtime.session import Session
from lapse.runtime.signatures import KnownInMemory, Signatures

__all__ = [
    "Digests",
    "Event",
    "Guard",
    "KnownInMemory",
    "Memory",
    "Observer",
    "Sent",
    "Session",
    "Signatures",
    "Trust",
]
