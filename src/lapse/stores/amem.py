"""The notes of A-MEM (arXiv 2502.12110) as memories of the port.

The adapter needs no import: it is handed the memory system that its user has made, and uses what
its authors' `AgenticMemorySystem` offers: `add_note`, `update`, `search`, and the dictionary
`memories` of its notes.

1. A note's content is what it says. Its keywords, tags and context are rewritten by a model
   whenever a neighbour is added; that is no drift.
2. A mark is a tag. The model may rewrite tags, so the mark is a courtesy to other readers; what
   counts is in the ledger.
3. The system forgets everything when its process ends. `export` gives every note with all its
   fields, and `import_` puts them back under their names.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, cast

from lapse.errors import InvalidValue, StoreError
from lapse.ledger import decode, encode
from lapse.stores.port import Capabilities, Remembered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lapse.ledger import Instant, JsonObject

__all__ = ["AMemStore", "Note", "Notes"]

_FIELDS = ("keywords", "links", "context", "category", "tags", "evolution_history")
"""What a note has beside its content, and a user may give."""
_TIMES = ("timestamp", "last_accessed", "retrieval_count")
_EVERY = ("content", *_FIELDS, *_TIMES)
_MARK = "lapse:"
"""What the tag of a lapsed note begins with."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Note(Protocol):
    """A note as A-MEM keeps it."""

    id: str
    content: str
    keywords: list[str]
    links: list[Any]
    context: str
    category: str
    tags: list[str]
    timestamp: str
    last_accessed: str
    retrieval_count: int
    evolution_history: list[Any]


class Notes(Protocol):
    """What is asked of the memory system: the surface of `AgenticMemorySystem`."""

    @property
    def memories(self) -> Mapping[str, Any]:
        """The notes by id."""
        ...

    def add_note(self, content: str, time: str | None = None, **fields: Any) -> str:
        """Keep a note, let it and its neighbours evolve, and give its id."""
        ...

    def update(self, memory_id: str, **fields: Any) -> bool:
        """Set fields of a note; False when there is none of this id."""
        ...

    def search(self, query: str, k: int = 5) -> list[dict[str, Any]]:
        """The nearest notes, as dictionaries with ``id``, nearest first."""
        ...


class AMemStore:
    """Implements `MemoryStore` over the notes of one A-MEM memory system.

    Args:
        notes: the memory system. It is not made for several threads at once.
        name: what the store is called in the ledger.
    """

    capabilities = Capabilities(list_all=True, text_search=True, soft_invalidate=True)

    def __init__(self, notes: Notes, *, name: str = "a-mem") -> None:
        self.name = name
        self._notes = notes

    def add(self, text: str, *, metadata: JsonObject | None = None) -> Remembered:
        """Keep a note; the metadata are fields of a note, and what is left out a model may write.

        Raises:
            InvalidValue: the metadata name what no note has.
        """
        return self._there(self._notes.add_note(text, **_given(metadata or {})))

    def get(self, external_id: str) -> Remembered | None:
        """One note, without counting it as read."""
        note = self._notes.memories.get(external_id)
        return None if note is None else _remembered(note)

    def list(self) -> Iterator[Remembered]:
        """Every note, oldest first."""
        return iter([_remembered(note) for note in tuple(self._notes.memories.values())])

    def search(self, query: str, *, limit: int) -> Sequence[Remembered]:
        """What the system finds near; its scores are distances, so only the order is taken."""
        if not self._notes.memories or limit < 1:
            return []
        found: list[Remembered] = []
        for place, row in enumerate(self._notes.search(query, k=limit)):
            note = self._notes.memories.get(str(row.get("id")))
            if note is not None:
                found.append(_remembered(note, score=1 / (place + 1)))
        return found

    def update(
        self, external_id: str, text: str, *, metadata: JsonObject | None = None
    ) -> Remembered:
        """Put another content in a note's place."""
        self._there(external_id)
        self._set(external_id, content=text, **_given(metadata or {}))
        return self._there(external_id)

    def invalidate(self, external_id: str, *, reason: str, by: str) -> None:
        """Tag a note as lapsed."""
        note = self._note(external_id)
        kept = [tag for tag in note.tags if not tag.startswith(_MARK)]
        self._set(external_id, tags=[*kept, f"{_MARK} {reason} ({by})"])

    def restore(self, external_id: str) -> None:
        """Take the tag away."""
        note = self._note(external_id)
        kept = [tag for tag in note.tags if not tag.startswith(_MARK)]
        if kept != note.tags:
            self._set(external_id, tags=kept)

    def export(self) -> list[JsonObject]:
        """Every note with all its fields, tags of ours included."""
        return [
            _plain({name: getattr(note, name) for name in ("id", *_EVERY)})
            for note in tuple(self._notes.memories.values())
        ]

    def import_(self, exported: Sequence[JsonObject]) -> Sequence[Remembered]:
        """Put back what `export` gave, under the same ids; what is there as it stands stays.

        Adding a note lets its neighbours evolve and drops links to what is not there yet, so all
        are added before the fields of any are set.

        Raises:
            InvalidValue: one of them is not what `export` gives; nothing was put.
        """
        for one in exported:
            _check(one)
        for one in exported:
            if one["id"] not in self._notes.memories:
                fields = {name: one[name] for name in (*_FIELDS, *_TIMES)}
                self._notes.add_note(one["content"], id=one["id"], **fields)
        for one in exported:
            note = self._note(one["id"])
            moved = {name: one[name] for name in _EVERY if getattr(note, name) != one[name]}
            if moved:
                self._set(one["id"], **_plain(moved))
        return [self._there(one["id"]) for one in exported]

    # -- inside ------------------------------------------------------------------------------

    def _set(self, external_id: str, **fields: Any) -> None:
        if not self._notes.update(external_id, **fields):
            raise StoreError(f"{self.name}: it has no note {external_id} any more")

    def _note(self, external_id: str) -> Note:
        note = self._notes.memories.get(external_id)
        if note is None:
            raise InvalidValue("external_id", external_id, "name a memory that the store has")
        return cast("Note", note)

    def _there(self, external_id: str) -> Remembered:
        return _remembered(self._note(external_id))


def _check(one: JsonObject) -> None:
    if not isinstance(one.get("id"), str) or not isinstance(one.get("content"), str):
        raise InvalidValue("exported", one, "pass what export() gives")
    missing = [name for name in _EVERY if name not in one]
    if missing:
        raise InvalidValue("exported", missing, "pass every field that export() gives")


def _given(metadata: JsonObject) -> dict[str, Any]:
    for name in metadata:
        if name not in _FIELDS:
            raise InvalidValue("metadata", name, f"a note has {', '.join(_FIELDS)}")
    return _plain(metadata)


def _plain(fields: JsonObject) -> dict[str, Any]:
    copied: dict[str, Any] = decode(encode(dict(fields)))
    return copied


def _remembered(note: Note, *, score: float | None = None) -> Remembered:
    metadata = _plain({name: getattr(note, name) for name in _FIELDS})
    metadata["tags"] = [tag for tag in note.tags if not tag.startswith(_MARK)]
    return Remembered(
        external_id=note.id,
        text=note.content,
        score=score,
        created_at=_instant(note.timestamp),
        metadata=metadata,
    )


def _instant(said: object) -> Instant | None:
    """Microseconds since 1970 of A-MEM's times: to the minute, in the machine's own zone."""
    try:
        time = datetime.strptime(str(said), "%Y%m%d%H%M")  # noqa: DTZ007 - theirs has no zone
    except ValueError:
        return None
    return (time.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)
