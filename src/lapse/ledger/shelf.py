"""Records by issuer and key: what a slot or a topic holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.ledger.records import Record

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Shelf"]


class Shelf:
    """Records by issuer and key, oldest first; a key with one record, as most have, needs no list.

    A record that is put again under its key takes its own place.

    Args:
        gone: the ids of records that no longer count, though they may still lie here; the owner
            adds to them, and takes those records out when it finds the time.
    """

    __slots__ = ("_gone", "_held")

    def __init__(self, gone: Collection[str] = ()) -> None:
        self._gone = gone
        self._held: dict[str, dict[str, Record | dict[str, Record]]] = {}

    def issuers(self) -> Collection[str]:
        """Who has records here, those included that no longer count: a live view."""
        return self._held.keys()

    def at(self, issuer: str, key: str) -> tuple[Record, ...]:
        """The records under a key, oldest first."""
        held = self._held.get(issuer, _EMPTY).get(key)
        if held is None:
            return ()
        gone = self._gone
        if isinstance(held, Record):
            return () if gone and held.id in gone else (held,)
        return tuple(record for name, record in held.items() if name not in gone)

    def holds(self, key: str, record: Record) -> bool:
        """Whether a record lies here, whether or not it still counts."""
        held = self._held.get(record.issuer, _EMPTY).get(key)
        return held is not None and (
            held.id == record.id if isinstance(held, Record) else record.id in held
        )

    def put(self, key: str, record: Record) -> None:
        """Add a record under a key, or put another version of it in its place."""
        keys = self._held.setdefault(record.issuer, {})
        held = keys.setdefault(key, record)
        if isinstance(held, dict):
            held[record.id] = record
        elif held.id == record.id:
            keys[key] = record
        else:
            keys[key] = {held.id: held, record.id: record}

    def take(self, key: str, record: Record) -> None:
        """Take out a record that is there."""
        keys = self._held[record.issuer]
        held = keys[key]
        if isinstance(held, dict) and len(held) > 1:
            del held[record.id]
            return
        del keys[key]
        if not keys:
            del self._held[record.issuer]


_EMPTY: dict[str, Record | dict[str, Record]] = {}
