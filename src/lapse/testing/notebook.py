"""A store of memories in this process, for tests: everything a store can do, or less if told so."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from lapse.errors import InvalidValue
from lapse.stores import Capabilities, Remembered
from lapse.stores.matching import likeness, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lapse.ledger import JsonObject

__all__ = ["Notebook"]

_ALL = Capabilities(**{field.name: field.name != "async_" for field in fields(Capabilities)})


@dataclass(slots=True)
class _Page:
    text: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    revision: int = 1
    lapsed: str = ""


class Notebook:
    """Implements `lapse.stores.MemoryStore` in a dictionary; single-owner, not thread-safe.

    Args:
        name: what it is called.
        capabilities: what it declares; what is left out raises `Incapable`.
    """

    def __init__(self, name: str = "notebook", *, capabilities: Capabilities = _ALL) -> None:
        self.name = name
        self.capabilities = capabilities
        self.fetched = 0  # memories that searches gave, for tests of bounds
        self._pages: dict[str, _Page] = {}

    def add(self, text: str, *, metadata: JsonObject | None = None) -> Remembered:
        """Keep a text under the next number."""
        name = f"page-{len(self._pages) + 1}"
        self._pages[name] = _Page(text, dict(metadata or {}))
        return self._remembered(name)

    def get(self, external_id: str) -> Remembered | None:
        """One page; None when there is none of this name."""
        return self._remembered(external_id) if external_id in self._pages else None

    def list(self) -> Iterator[Remembered]:
        """Every page, in order."""
        self.capabilities.demand("list_all", self.name)
        return map(self._remembered, tuple(self._pages))

    def search(self, query: str, *, limit: int) -> Sequence[Remembered]:
        """The pages that share words with the query; those that share most first."""
        self.capabilities.demand("text_search", self.name)
        asked = words(query)
        scored = [(likeness(asked, words(p.text)), name) for name, p in self._pages.items()]
        found = sorted((-score, name) for score, name in scored if score > 0)[:limit]
        self.fetched += len(found)
        return [self._remembered(name, score=-score) for score, name in found]

    def update(
        self, external_id: str, text: str, *, metadata: JsonObject | None = None
    ) -> Remembered:
        """Another text on the page."""
        page = self._page(external_id)
        kept = page.metadata if metadata is None else dict(metadata)
        moved = (text, kept) != (page.text, page.metadata)
        self._pages[external_id] = _Page(text, kept, page.revision + moved, page.lapsed)
        return self._remembered(external_id)

    def invalidate(self, external_id: str, *, reason: str, by: str) -> None:
        """Mark the page."""
        self.capabilities.demand("soft_invalidate", self.name)
        self._page(external_id).lapsed = f"{by}: {reason}"

    def restore(self, external_id: str) -> None:
        """Take the mark away."""
        self.capabilities.demand("soft_invalidate", self.name)
        self._page(external_id).lapsed = ""

    def export(self) -> list[JsonObject]:
        """Every page."""
        self.capabilities.demand("list_all", self.name)
        return [
            {"name": name, "text": page.text, "metadata": page.metadata, "lapsed": page.lapsed}
            for name, page in self._pages.items()
        ]

    def import_(self, exported: Sequence[JsonObject]) -> Sequence[Remembered]:
        """Keep what `export` gave, under the same names."""
        for one in exported:
            there = self._pages.get(one["name"])
            if there is None or (there.text, there.metadata) != (one["text"], one["metadata"]):
                page = _Page(one["text"], dict(one["metadata"]), lapsed=one["lapsed"])
                self._pages[one["name"]] = page
        return [self._remembered(one["name"]) for one in exported]

    def _page(self, external_id: str) -> _Page:
        page = self._pages.get(external_id)
        if page is None:
            raise InvalidValue("external_id", external_id, "name a page that is there")
        return page

    def _remembered(self, name: str, *, score: float | None = None) -> Remembered:
        page = self._pages[name]
        sources = page.metadata.get("source_ids", ())
        return Remembered(
            external_id=name,
            text=page.text,
            score=score,
            source_ids=tuple(sources) if self.capabilities.native_sources else (),
            revision=str(page.revision) if self.capabilities.versions else "",
            metadata=page.metadata,
        )
