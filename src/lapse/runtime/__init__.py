"""The loops: load, ask an engine, act, record; and the events that tell of it."""

from lapse.runtime.events import Event, Observer
from lapse.runtime.memory import Memory
from lapse.runtime.session import Session

__all__ = ["Event", "Memory", "Observer", "Session"]
