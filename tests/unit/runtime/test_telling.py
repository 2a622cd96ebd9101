"""Observers are told, and can do no harm."""

from __future__ import annotations

from threading import Thread

import pytest

from lapse.contract import (
    CacheHint,
    Envelope,
    Evict,
    Keep,
    Learnt,
    Lesson,
    Moved,
    Reason,
    Reject,
    Restamp,
    Settlement,
    Suggestion,
    Supersede,
    Suspend,
    Write,
)
from lapse.ledger import Interval, Kind, Outcome, Receipt, Record, Source
from lapse.runtime import Event
from lapse.runtime.telling import Telling, events_of

TABLE = Source.table("i", "t")
ROW = Source.row("i", "t", "k")
RULES = Source.rules("i")
RECORD = Record(id="r", kind=Kind.FIX, slot="s", content={}, valid=Interval(0))
LESSON = Lesson(issuer="i", operation="o", request=None, envelope=Envelope(), at=3)
RECEIPT = Receipt(observer="i", source=ROW, at=0, digest="", outcome=Outcome.CONFIRMS)
SUGGESTION = Suggestion(type="SET", parameters={}, cache_hint=CacheHint.RECOMPUTE)


def event(what: str, reason: str, **facts: object) -> Event:
    return Event(what=what, reason=reason, at=3, issuer="i", **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (
            Evict(("r",), Reason.ROW_MOVED, ROW, "1", "2"),
            event("evicted", "row_moved", record="r", source=ROW),
        ),
        (
            Restamp(Moved(TABLE, "1", "2"), 7),
            event("restamped", "row_unchanged", source=TABLE, count=7),
        ),
        (
            Restamp(Moved(RULES, "1", "2"), 7, Reason.RULES_NOT_WATCHED),
            event("rules_moved", "rules_not_watched", source=RULES, count=7),
        ),
        (
            Suspend(Moved(TABLE, "1", "2"), 7),
            event("suspended", "awaiting_diff", source=TABLE, count=7),
        ),
        (Write(RECORD), event("stored", "learned", record="r")),
        (Supersede(RECORD, "new"), event("superseded", "newer_answer", record="r")),
        (Keep(RECORD, RECEIPT), event("confirmed", "confirmed", record="r")),
        (
            Reject(SUGGESTION, Reason.NOT_CACHEABLE),
            event("refused", "not_cacheable", where="recovery_feedback.suggestions"),
        ),
    ],
)
def test_every_verdict_is_told_as_one_event(verdict: Settlement | Learnt, told: Event) -> None:
    assert list(events_of(verdict, LESSON)) == [told]


def test_each_record_that_went_is_told_of() -> None:
    told = events_of(Evict(("r", "s"), Reason.ROW_MOVED, ROW, "1", None), LESSON)
    assert [event.record for event in told] == ["r", "s"]


def test_events_are_counted_by_what_they_are_about() -> None:
    telling = Telling(())
    telling.tell(event("restamped", "x", count=5), event("restamped", "x", count=2))
    telling.count("questions")
    assert telling.counted() == {"restamped": 7, "questions": 1}


def test_an_observer_that_raises_is_counted_and_the_others_hear_all_the_same() -> None:
    heard: list[Event] = []

    def broken(event: Event, /) -> None:
        raise RuntimeError(event.what)

    telling = Telling([broken])
    telling.add(heard.append)
    told = [event("stored", "learned"), event("evicted", "row_moved")]
    telling.tell(*told)
    assert heard == told
    assert telling.counted() == {"stored": 1, "evicted": 1, "observer_failed": 2}


def test_an_observer_may_bring_another_one_along() -> None:
    telling = Telling(())
    heard: list[Event] = []
    telling.add(lambda _: telling.add(heard.append))
    telling.tell(event("stored", "learned"))
    assert heard == []


def test_nothing_is_lost_when_many_threads_count() -> None:
    telling = Telling(())
    threads = [
        Thread(target=lambda: [telling.count("seen") for _ in range(2_000)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert telling.counted() == {"seen": 16_000}
