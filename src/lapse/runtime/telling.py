"""Who is told what a memory decided, and how often each thing happened."""

from __future__ import annotations

from collections import Counter
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final

from lapse.contract import (
    Alert,
    Dispute,
    Evict,
    Keep,
    Reinstate,
    Reject,
    Restamp,
    Supersede,
    Suspend,
    Write,
)
from lapse.runtime.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lapse.contract import Learnt, Lesson, Settlement
    from lapse.runtime.events import Observer

__all__ = ["Telling", "events_of"]

_TOLD_AS: Final[Mapping[type, str]] = {
    Write: "stored",
    Supersede: "superseded",
    Keep: "confirmed",
    Dispute: "disputed",
    Reinstate: "reinstated",
}

SUGGESTIONS = "recovery_feedback.suggestions"
"""Where a suggestion stands in a response."""


class Telling:
    """The observers of a memory and its counters. Safe to use from several threads.

    It has a lock of its own, held for an addition and no longer: an event loop may count while
    another thread waits for a disk.
    """

    def __init__(self, observers: Iterable[Observer]) -> None:
        self._observers = list(observers)
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, observer: Observer) -> None:
        """Tell this one, too."""
        self._observers.append(observer)

    def counted(self) -> dict[str, int]:
        """How often each thing happened."""
        with self._lock:
            return dict(self._counts)

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name] += number

    def tell(self, *events: Event) -> None:
        """Count events and pass them to every observer."""
        for event in events:
            self.count(event.what, event.count)
            for observer in tuple(self._observers):
                try:
                    observer(event)
                except Exception:  # noqa: BLE001 - a listener must not break what it listens to
                    self.count("observer_failed")


def events_of(verdict: Settlement | Learnt, lesson: Lesson) -> Iterator[Event]:
    """What is told of a verdict that was carried out; of each record that went, one event."""
    event = partial(Event, reason=verdict.reason, at=lesson.at, issuer=lesson.issuer)
    match verdict:
        case Evict(ids, _, cause):
            yield from (event(what="evicted", record=name, source=cause) for name in ids)
        case Restamp(move, count):
            what = "restamped" if move.source.kind == "table" else "rules_moved"
            yield event(what=what, source=move.source, count=count)
        case Suspend(move, count):
            yield event(what="suspended", source=move.source, count=count)
        case Alert(move):
            yield event(what="alert", source=move.source)
        case Write(record) | Supersede(record) | Keep(record) | Dispute(record) | Reinstate(record):
            yield event(what=_TOLD_AS[type(verdict)], record=record.id)
        case Reject():
            yield event(what="refused", where=SUGGESTIONS)
