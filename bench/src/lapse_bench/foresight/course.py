"""A history as a forecaster meets it: commit by commit, with the known defects marked."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Final

from lapse.contract import Look
from lapse.ledger import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lapse.ledger import Instant
    from lapse_bench.traces import Event, History

__all__ = ["DEFECTS", "ISSUER", "Commit", "Course", "is_defect"]

ISSUER: Final = "trace"
"""Who answers for the tables of a history."""

_MICROSECONDS: Final = 1_000_000
_WHOLESALE: Final = 100
"""Rows of twilio/preview in one commit from which on the document came or went as a whole."""

DEFECTS: Final = {
    "endoflife": (
        "2022-05-24: fields that were filled in (1,006 changes that only add fields); "
        "2022-03-28 and 2025-05-01: cycles of samsung-mobile that were renamed"
    ),
    "twilio": "twilio/preview as a whole came and went (commits of 100 rows and more)",
    "adyen": "2020-03-05 and 2021-03-05: additionalData was documented and dropped",
}
"""What is left out of evidence and outcomes alike, by the name of the history."""


def is_defect(trace: str, event: Event, rows: int) -> bool:
    """Whether an event tells of the record keeping and not of the world.

    Args:
        trace: the name of the history.
        event: the event.
        rows: how many rows of its table its commit touched.
    """
    day = datetime.fromtimestamp(event.at / _MICROSECONDS, UTC).date().isoformat()
    match trace:
        case "endoflife":
            filled = (
                event.before is not None
                and event.after is not None
                and event.before.items() <= event.after.items()
                if _flat(event)
                else False
            )
            renamed = event.table == "samsung-mobile" and day in {"2022-03-28", "2025-05-01"}
            return renamed or (day == "2022-05-24" and filled)
        case "twilio":
            return event.table == "twilio/preview" and rows >= _WHOLESALE
        case "adyen":
            return "additionalData" in event.key and day in {"2020-03-05", "2021-03-05"}
        case _:
            return False


def _flat(event: Event) -> bool:
    """Whether the rows' values can be compared as sets of pairs."""
    rows = (event.before or {}, event.after or {})
    return not any(isinstance(value, dict | list) for row in rows for value in row.values())


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit did to one table.

    Attributes:
        at: when.
        table: which table.
        moved: the keys that were changed or removed, but for defects.
        added: the keys that stand since.
        removed: the keys that no longer do.
        touched: whether anything but defects happened to the table.
        defects: the keys of which only a defect is known.
    """

    at: Instant
    table: Source
    moved: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    touched: bool
    defects: tuple[str, ...]

    @property
    def look(self) -> Look:
        """The commit as a look at the table that knows the instant."""
        return Look(
            self.table,
            self.at,
            moved=self.touched,
            rows=self.moved,
            since=self.at,
            watched=self.added,
            gone=self.removed,
        )


class Course:
    """The commits of a history in time order.

    Args:
        history: the history.
        whole: whether defects count like everything else.
    """

    def __init__(self, history: History, *, whole: bool = False) -> None:
        self.since = history.since
        self.until = history.until
        trace = "" if whole else history.name.removesuffix("_daily")
        self.commits = tuple(_commits(history.events, trace))
        self._times = [commit.at for commit in self.commits]

    def between(self, after: Instant, until: Instant) -> Sequence[Commit]:
        """The commits after one instant, up to another and including it."""
        return self.commits[bisect_right(self._times, after) : bisect_right(self._times, until)]

    @property
    def defects(self) -> int:
        """How many changes of rows were left out."""
        return sum(len(commit.defects) for commit in self.commits)


def _commits(events: Sequence[Event], trace: str) -> Iterator[Commit]:
    for (at, _), commit in groupby(events, key=lambda event: (event.at, event.commit)):
        tables: dict[str, list[Event]] = {}
        for event in commit:
            tables.setdefault(event.table, []).append(event)
        for table, found in tables.items():
            last = {event.key: event for event in found}
            real = [event for event in found if not is_defect(trace, event, len(found))]
            moved = dict.fromkeys(event.key for event in real if event.op != "added")
            defects = last.keys() - {event.key for event in real}
            yield Commit(
                at=at,
                table=Source.table(ISSUER, table),
                moved=tuple(moved),
                added=tuple(key for key, event in last.items() if event.after is not None),
                removed=tuple(key for key, event in last.items() if event.after is None),
                touched=bool(real),
                defects=tuple(sorted(defects)),
            )
