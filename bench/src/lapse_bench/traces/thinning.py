"""Makes a trace small by leaving whole groups of tables out.

The rule: the group of a table is its name up to the first version mark (`adyen/CheckoutService-V30`
and `adyen/CheckoutService-v70` are one group). A group stays when the first 32 bits of the SHA-256
of its name, read as a fraction of 2**32, are below the share to keep. So the rows of a table stay
together, the versions of a service stay together, and nobody chose which.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from lapse_bench.traces.history import Event, History

__all__ = ["fewer", "group_of", "share_of", "thin"]

_VERSION = re.compile(r"[-_.]?[vV]\d.*$")
_MICROSECONDS = 1_000_000


def group_of(table: str) -> str:
    """The table's name without its version."""
    return _VERSION.sub("", table) or table


def share_of(name: str) -> float:
    """Where a name falls between 0 and 1; spread evenly, and the same everywhere."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32


def fewer(history: History, *, tables: int) -> History:
    """The history of the first groups by that fraction, as many as have at most so many tables.

    Raises:
        InvalidValue: the bound is below one, or already the first group has more tables.
    """
    if tables < 1:
        raise InvalidValue("tables", tables, "give at least 1")
    groups: dict[str, set[str]] = {}
    for event in history.events:
        groups.setdefault(group_of(event.table), set()).add(event.table)
    kept: set[str] = set()
    for group in sorted(groups, key=share_of):
        if len(kept) + len(groups[group]) > tables:
            break
        kept |= groups[group]
    if not kept:
        raise InvalidValue(
            "tables", tables, f"the first group of {history.name} has more tables than that"
        )
    return replace(history, events=tuple(event for event in history.events if event.table in kept))


def thin(history: History, *, keep: float) -> bytes:
    """The thinned trace as a gzip file; the same history and share give the same bytes.

    Args:
        history: what to thin.
        keep: the share of groups to keep, above 0 and at most 1.

    Raises:
        InvalidValue: the share is out of bounds, or no group would be left.
    """
    if not 0 < keep <= 1:
        raise InvalidValue("keep", keep, "give a share above 0 and at most 1")
    lines = [_line(event) for event in history.events if share_of(group_of(event.table)) < keep]
    if not lines:
        raise InvalidValue(
            "keep", keep, f"no table of {history.name} would be left; give a larger share"
        )
    body = io.BytesIO()
    # No name and no time in the header: two runs of one rule have to give one file.
    with gzip.GzipFile(filename="", fileobj=body, mode="wb", compresslevel=9, mtime=0) as packed:
        packed.write("".join(lines).encode())
    return body.getvalue()


def _line(event: Event) -> str:
    at = datetime.fromtimestamp(event.at / _MICROSECONDS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    value = {
        "at": at,
        "commit": event.commit,
        "table": event.table,
        "key": event.key,
        "op": event.op,
        "before": event.before,
        "after": event.after,
    }
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
