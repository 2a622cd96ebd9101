"""Mem0's memories as memories of the port, and the adapter over one owner's.

Mem0 keeps a text, flat metadata and an expiration date; with ``infer=False`` no model is asked. The
adapter needs no import of it: it is handed the `mem0.Memory` that its user has made.

1. What is marked as lapsed expires long ago, so that Mem0 itself hides it from searches; the date
   that it had is kept beside the mark and comes back with it.
2. `updated_at` moves with every update, a mark too, so it is no revision. What changed is seen by
   the text; a change of metadata alone is not.
3. Mem0 merges metadata: a member that an update leaves out stays.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Mem0 carries no types; what it gives is anything until its shape is matched.

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from lapse.errors import InvalidValue, LapseError, StoreError
from lapse.ledger import decode, encode
from lapse.stores.port import Capabilities, Remembered

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from mem0 import Memory

    from lapse.ledger import Instant, JsonObject

__all__ = ["MARK", "OWNERS", "Mem0Store", "failures_told", "remembered_row"]

MARK = "_lapse"
"""The member of a memory's metadata that holds our mark; it is no part of what it says."""

OWNERS = ("user_id", "agent_id", "run_id")
"""What Mem0 keeps memories apart by; every list and search names one of them at least."""

_LONG_AGO = "1970-01-01"
_ALL = 2**31 - 1
"""A limit that no store reaches and every database can hold."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Mem0Store:
    """Implements `MemoryStore` over the memories of one owner in a `mem0.Memory`.

    Args:
        memory: the Mem0 memory; whoever made it closes it.
        owner: ``user_id``, ``agent_id``, ``run_id``, or several of them. With none, single memories
            can be reached by their names, and nothing can be listed, searched or added.
        name: what the store is called in the ledger.
        persistent: whether its vectors are kept in a file or a server.

    Raises:
        InvalidValue: the owner is named otherwise, or is empty.
    """

    def __init__(
        self,
        memory: Memory,
        owner: Mapping[str, str],
        *,
        name: str = "mem0",
        persistent: bool = True,
    ) -> None:
        for field, value in owner.items():
            if field not in OWNERS or not value.strip():
                remedy = f"name it by {', '.join(OWNERS)}, and not empty"
                raise InvalidValue("owner", {field: value}, remedy)
        self.name = name
        self._memory = memory
        self._owner = {field: value.strip() for field, value in owner.items()}
        self.capabilities = Capabilities(
            list_all=bool(owner),
            text_search=bool(owner),
            soft_invalidate=True,
            native_validity=True,
            native_sources=True,
            persistent=persistent,
        )

    def add(self, text: str, *, metadata: JsonObject | None = None) -> Remembered:
        """Keep a text as it is; ``source_ids`` in the metadata says what it was made from.

        Raises:
            InvalidValue: the store has no owner, or the metadata hold what is ours or no JSON.
            StoreError: Mem0 failed; whether it was kept, a listing tells.
        """
        if not self._owner:
            raise InvalidValue("owner", {}, f"name {' or '.join(OWNERS)} of what is added")
        kept = _plain(metadata or {})
        with failures_told(self.name):
            said: Any = self._memory.add(text, **self._owner, metadata=kept, infer=False)
        match said:
            case {"results": [{"id": str(name)}]}:
                return self._there(name)
            case _:
                raise StoreError(f"{self.name}: it did not say under which name it kept the text")

    def get(self, external_id: str) -> Remembered | None:
        """One memory, expired ones too; None when there is none of this name, or another's."""
        row = self._row(external_id)
        return None if row is None else remembered_row(row)

    def list(self) -> Iterator[Remembered]:
        """Every memory of the owner, expired ones too."""
        return map(remembered_row, self._rows())

    def search(self, query: str, *, limit: int) -> Sequence[Remembered]:
        """What Mem0 finds, whatever its score; it hides what has expired.

        Raises:
            InvalidValue: the query is empty.
        """
        self.capabilities.demand("text_search", self.name)
        if not query.strip():
            raise InvalidValue("query", query, "say what to look for")
        with failures_told(self.name):
            found: Any = self._memory.search(
                query, filters=dict(self._owner), top_k=limit, threshold=0.0
            )
        return [remembered_row(row) for row in _results(self.name, found)]

    def update(
        self, external_id: str, text: str, *, metadata: JsonObject | None = None
    ) -> Remembered:
        """Put another text in a memory's place; metadata are merged over what is there.

        Raises:
            InvalidValue: there is no such memory, or the metadata hold what is ours or no JSON.
        """
        self._there(external_id)
        kept = None if metadata is None else _plain(metadata)
        with failures_told(self.name):
            self._memory.update(external_id, text=text, metadata=kept)
        return self._there(external_id)

    def invalidate(self, external_id: str, *, reason: str, by: str) -> None:
        """Let it have expired long ago, with a mark that says why and when it expired before."""
        row = self._found(external_id)
        if _mark(row) is None:
            mark = {"reason": reason, "by": by, "expires": row.get("expiration_date")}
            with failures_told(self.name):
                self._memory.update(external_id, metadata={MARK: mark}, expiration_date=_LONG_AGO)

    def restore(self, external_id: str) -> None:
        """Take the mark away, and give back the date on which it expires."""
        mark = _mark(self._found(external_id))
        if mark is not None:
            with failures_told(self.name):
                self._memory.update(
                    external_id, metadata={MARK: None}, expiration_date=mark.get("expires")
                )

    def export(self) -> list[JsonObject]:
        """Every memory of the owner: name, text, metadata with marks, expiration date."""
        return [
            {
                "id": row["id"],
                "memory": row["memory"],
                "metadata": _metadata(row),
                "expiration_date": row.get("expiration_date"),
            }
            for row in self._rows()
        ]

    def import_(self, exported: Sequence[JsonObject]) -> Sequence[Remembered]:
        """Put back what `export` gave; Mem0 names memories itself, so what is gone gets new names.

        Raises:
            InvalidValue: one of them is not what `export` gives; those before it were put.
        """
        return [self._imported(one) for one in exported]

    # -- inside ------------------------------------------------------------------------------

    def _imported(self, one: JsonObject) -> Remembered:
        match one:
            case {
                "id": str(name),
                "memory": str(text),
                "metadata": dict(metadata),
                "expiration_date": (str() | None) as expires,
            }:
                pass
            case _:
                raise InvalidValue("exported", one, "pass what export() gives")
        put = cast("dict[str, Any]", metadata)
        row = self._row(name)
        if row is None:
            kept = {key: value for key, value in put.items() if key != MARK}
            name = self.add(text, metadata=kept).external_id
            row = self._found(name)
        there = (row["memory"], _metadata(row), row.get("expiration_date"))
        if there != (text, put, expires):
            gone = dict.fromkeys(_metadata(row).keys() - put.keys())  # it merges: None is nothing
            with failures_told(self.name):
                self._memory.update(
                    name, text=text, metadata={**gone, **put}, expiration_date=expires
                )
        return self._there(name)

    def _rows(self) -> list[dict[str, Any]]:
        self.capabilities.demand("list_all", self.name)
        with failures_told(self.name):
            found: Any = self._memory.get_all(
                filters=dict(self._owner), top_k=_ALL, show_expired=True
            )
        return _results(self.name, found)

    def _row(self, external_id: str) -> dict[str, Any] | None:
        if not _given_by_mem0(external_id):
            return None
        with failures_told(self.name):
            row: Any = self._memory.get(external_id)
        if row is None or any(row.get(field) != value for field, value in self._owner.items()):
            return None
        return cast("dict[str, Any]", row)

    def _found(self, external_id: str) -> dict[str, Any]:
        row = self._row(external_id)
        if row is None:
            raise InvalidValue("external_id", external_id, "name a memory that the store has")
        return row

    def _there(self, external_id: str) -> Remembered:
        return remembered_row(self._found(external_id))


@contextmanager
def failures_told(store: str) -> Generator[None]:
    """Turns what Mem0 raises into a `StoreError` with its message.

    Raises:
        StoreError: it failed.
    """
    try:
        yield
    except LapseError:
        raise
    except Exception as failure:
        raise StoreError(f"{store}: {type(failure).__name__}: {failure}") from failure


def remembered_row(row: Mapping[str, Any]) -> Remembered:
    """A memory as Mem0 shows it, as a memory of the port.

    Raises:
        StoreError: it has no name or no text.
    """
    match row:
        case {"id": str(name), "memory": str(text)}:
            pass
        case _:
            raise StoreError("mem0: it showed a memory without a name or a text")
    metadata = _metadata(row)
    mark = metadata.pop(MARK, None)
    expires = row.get("expiration_date") if mark is None else mark.get("expires")
    sources = metadata.get("source_ids")
    named = cast("list[Any]", sources) if isinstance(sources, list) else []
    score = row.get("score")
    return Remembered(
        external_id=name,
        text=text,
        score=score if isinstance(score, float | int) else None,
        created_at=_instant(row.get("created_at")),
        updated_at=_instant(row.get("updated_at")),
        valid_until=_end_of(expires),
        source_ids=tuple(one for one in named if isinstance(one, str)),
        metadata=metadata,
    )


def _results(store: str, found: Any) -> list[dict[str, Any]]:
    match found:
        case {"results": list(rows)}:
            return cast("list[dict[str, Any]]", rows)
        case _:
            raise StoreError(f"{store}: it gave no list of results")


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    """What else is known of it; members that are None were taken away, since Mem0 merges."""
    said = cast("dict[str, Any]", row.get("metadata") or {})
    return {name: value for name, value in said.items() if value is not None}


def _mark(row: Mapping[str, Any]) -> dict[str, Any] | None:
    return _metadata(row).get(MARK)


def _plain(metadata: JsonObject) -> dict[str, Any]:
    if MARK in metadata:
        raise InvalidValue("metadata", MARK, "use another name; this one holds our marks")
    copied: dict[str, Any] = decode(encode(dict(metadata)))
    return copied


def _given_by_mem0(name: str) -> bool:
    """Whether Mem0 could have given a name; several vector stores raise for any other."""
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False


def _instant(said: object) -> Instant | None:
    """Microseconds since 1970 of a time in ISO 8601; None where it is none."""
    try:
        time = datetime.fromisoformat(said) if isinstance(said, str) else None
    except ValueError:
        return None
    if time is None:
        return None
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // timedelta(
        microseconds=1
    )


def _end_of(said: object) -> Instant | None:
    """The first instant after a day, in UTC, as Mem0 counts days; None where it is none."""
    try:
        day = date.fromisoformat(said) if isinstance(said, str) else None
    except ValueError:
        return None
    if day is None:
        return None
    after = datetime(day.year, day.month, day.day, tzinfo=UTC) - _EPOCH + timedelta(days=1)
    return after // timedelta(microseconds=1)
