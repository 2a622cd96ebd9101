"""Reads a trace and refuses one that does not replay."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lapse.ledger import JsonObject

__all__ = ["Event", "History", "Tables", "described", "read"]

Op = Literal["added", "changed", "removed"]

Tables = dict[str, dict[str, "JsonObject"]]
"""The rows of every table by key."""

_GZIP = b"\x1f\x8b"
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Event:
    """One row that was added, changed or removed.

    Attributes:
        at: when, in microseconds since 1970.
        commit: the observation it belongs to: events of one commit are not independent.
        table: which table.
        key: which row of it.
        op: what happened.
        before: the row before; None when it was added.
        after: the row after; None when it was removed.
    """

    at: int
    commit: str
    table: str
    key: str
    op: Op
    before: JsonObject | None
    after: JsonObject | None


@dataclass(frozen=True, slots=True)
class History:
    """A trace that replays.

    Attributes:
        name: what the trace is called.
        events: in time order.
    """

    name: str
    events: tuple[Event, ...]

    @property
    def since(self) -> int:
        """When it begins."""
        return self.events[0].at

    @property
    def until(self) -> int:
        """When it ends."""
        return self.events[-1].at

    def batches(self) -> Iterator[tuple[int, str, tuple[Event, ...]]]:
        """What one commit did to one table, in order: when, which table, which rows.

        A commit is one observation, so a reader never sees half of what it did to a table.
        """
        for (at, _), commit in groupby(self.events, key=lambda event: (event.at, event.commit)):
            tables: dict[str, list[Event]] = {}
            for event in commit:
                tables.setdefault(event.table, []).append(event)
            for table, events in tables.items():
                yield at, table, tuple(events)


def read(path: Path, *, name: str | None = None) -> History:
    """Read a trace from a file, gzip or plain.

    Args:
        path: the file.
        name: what to call the trace; the file's name without its endings when None.

    Raises:
        InvalidValue: the file cannot be read, or a line of it breaks the form; the message says
            which line and what to do about it.
    """
    events = tuple(_replayed(_lines(path)))
    if not events:
        raise InvalidValue("trace", str(path), "give a file with at least one event")
    return History(name or path.name.split(".")[0], events)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        body = path.read_bytes()
        text = (gzip.decompress(body) if body.startswith(_GZIP) else body).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as failure:
        raise InvalidValue(
            "trace", str(path), f"give a readable UTF-8 file, gzip or plain ({failure})"
        ) from None
    return ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def _replayed(lines: Iterator[tuple[int, str]]) -> Iterator[Event]:
    tables: Tables = {}
    last = -(2**62)
    for number, line in lines:
        event = _event(number, line)
        if event.at < last:
            raise InvalidValue(f"line {number}, at", event.at, "put the events in time order")
        last = event.at
        rows = tables.setdefault(event.table, {})
        if rows.get(event.key) != event.before:
            stands = rows.get(event.key)
            remedy = f"before must be what stands at {event.table}:{event.key} then, {stands!r}"
            raise InvalidValue(f"line {number}, before", event.before, remedy)
        if event.after is None:
            rows.pop(event.key, None)
        else:
            rows[event.key] = event.after
        yield event


def _event(number: int, line: str) -> Event:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as failure:
        raise InvalidValue(
            f"line {number}", line, f"write one JSON object a line ({failure})"
        ) from None
    match value:
        case {
            "at": str(at),
            "commit": str(commit),
            "table": str(table),
            "key": str(key),
            "op": "added" | "changed" | "removed" as op,
            "before": before,
            "after": after,
        } if table and _is_row(before) and _is_row(after):
            _check_op(number, op, before, after)
            return Event(_instant(number, at), commit, table, key, op, before, after)
        case _:
            remedy = "give at, commit, table, key, op (added, changed, removed), before and after"
            raise InvalidValue(f"line {number}", value, remedy)


def _is_row(value: object) -> bool:
    return value is None or isinstance(value, dict)


def _check_op(number: int, op: Op, before: JsonObject | None, after: JsonObject | None) -> None:
    fits = {
        "added": before is None and after is not None,
        "changed": before is not None and after is not None,
        "removed": before is not None and after is None,
    }
    if not fits[op]:
        raise InvalidValue(
            f"line {number}, op", op, "added has no before, removed has no after, changed has both"
        )


def _instant(number: int, text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        remedy = "write an ISO 8601 instant, such as 2019-05-27T11:13:58Z"
        raise InvalidValue(f"line {number}, at", text, remedy) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * _MICROSECONDS)


def described(history: History) -> dict[str, Any]:
    """What a result says about its history."""

    def moment(at: int) -> str:
        return datetime.fromtimestamp(at / _MICROSECONDS, UTC).isoformat()

    return {
        "name": history.name,
        "events": len(history.events),
        "tables": len({event.table for event in history.events}),
        "commits": len({event.commit for event in history.events}),
        "since": moment(history.since),
        "until": moment(history.until),
    }
