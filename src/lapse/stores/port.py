"""What an adapter implements over somebody else's store, and what it says about a memory there.

An adapter translates and decides nothing: which memories may be served is for `Guarded` to say. It
never deletes and never changes a text by itself. What a store cannot do is declared in its
`Capabilities`, and being asked for it raises `Incapable`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lapse.errors import Incapable, InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lapse.ledger import Instant, JsonObject

__all__ = ["Capabilities", "MemoryStore", "Remembered", "text_digest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a store can do, beyond adding, getting and updating one memory.

    Attributes:
        list_all: every memory can be listed.
        text_search: memories are found by a text, best first.
        soft_invalidate: a memory can be marked as lapsed in the store, and unmarked again.
        native_validity: the store itself says from when until when a memory holds.
        native_sources: the store itself says what a memory was made from.
        versions: the store itself tells versions of a memory apart (`Remembered.revision`).
        persistent: opened again, the store holds what it held.
        async_: the store behind has coroutines; the methods here are called from a thread.
    """

    list_all: bool = False
    text_search: bool = False
    soft_invalidate: bool = False
    native_validity: bool = False
    native_sources: bool = False
    versions: bool = False
    persistent: bool = False
    async_: bool = False

    def demand(self, capability: str, store: str) -> None:
        """Refuse what the store cannot do.

        Raises:
            Incapable: the capability of this name is not declared.
        """
        if not getattr(self, capability):
            raise Incapable(store, capability)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One memory as a store gives it now. It is untrusted: anybody may have changed it.

    Attributes:
        external_id: the store's own name for it; the same for every version of it.
        text: what it says.
        text_sha256: SHA-256 of the text in UTF-8, in hex; computed, so it cannot disagree.
        score: how well it fits the search that found it, higher is better; None without a search.
        created_at: when the store says it was made.
        updated_at: when the store says it was last changed.
        valid_from: since when it holds, if the store says so.
        valid_until: until when (exclusive), if the store says so.
        source_ids: what it was made from, by the store's names; empty where it does not say.
        revision: the store's own version of it, moved by every change of what it says and by
            nothing else (not by `invalidate`, `restore` or reading); empty where it has none.
        metadata: everything else, as plain JSON.
    """

    external_id: str
    text: str
    text_sha256: str = field(init=False)
    score: float | None = None
    created_at: Instant | None = None
    updated_at: Instant | None = None
    valid_from: Instant | None = None
    valid_until: Instant | None = None
    source_ids: tuple[str, ...] = ()
    revision: str = ""
    metadata: JsonObject = field(default_factory=dict[str, Any], hash=False)

    def __post_init__(self) -> None:
        """Digest the text, and refuse what could not be named or written."""
        if not self.external_id:
            raise InvalidValue("external_id", "", "pass the store's own name for the memory")
        object.__setattr__(self, "text_sha256", text_digest(self.text))


class MemoryStore(Protocol):
    """A store of memories that belongs to somebody else.

    Atomicity: one call changes one memory, as far as the store behind can promise it.

    Failure: a `StoreError` where the store fails, `InvalidValue` for a memory that is not there or
    may not be written, `Incapable` for what is not declared; the errors of the library behind are
    turned into these, with their message.

    Threading: any method may be called from any thread if the store behind allows it.
    """

    @property
    def name(self) -> str:
        """What the store is called in the ledger; it stays the same as long as the store does."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the store can do."""
        ...

    def add(self, text: str, *, metadata: JsonObject | None = None) -> Remembered:
        """Keep a text as it is, as a memory of its own, and give it as the store has it now."""
        ...

    def get(self, external_id: str) -> Remembered | None:
        """One memory, invalidated ones too; None when there is none of this name."""
        ...

    def list(self) -> Iterator[Remembered]:
        """Every memory, invalidated ones too (`list_all`)."""
        ...

    def search(self, query: str, *, limit: int) -> Sequence[Remembered]:
        """At most `limit` memories, best first (`text_search`); fewer: there are no more.

        With a greater limit, the same come first. What the store itself hides may be missing.
        """
        ...

    def update(
        self, external_id: str, text: str, *, metadata: JsonObject | None = None
    ) -> Remembered:
        """Put another text in a memory's place; metadata that is left out stays."""
        ...

    def invalidate(self, external_id: str, *, reason: str, by: str) -> None:
        """Mark a memory as lapsed in the store; its text and revision stay (`soft_invalidate`)."""
        ...

    def restore(self, external_id: str) -> None:
        """Take the mark away; does nothing where there is none (`soft_invalidate`)."""
        ...

    def export(self) -> list[JsonObject]:
        """Every memory with all it takes to import it elsewhere, as plain JSON (`list_all`)."""
        ...

    def import_(self, exported: Sequence[JsonObject]) -> Sequence[Remembered]:
        """Keep what `export` of such a store gave, under the same names where that is possible.

        Importing once more what is there as it stands changes nothing.
        """
        ...


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hex.

    Raises:
        InvalidValue: it is no text that could be written (a lone surrogate).
    """
    try:
        return hashlib.sha256(text.encode()).hexdigest()
    except UnicodeEncodeError as failure:
        raise InvalidValue("text", text, f"pass text that UTF-8 can carry ({failure})") from None
