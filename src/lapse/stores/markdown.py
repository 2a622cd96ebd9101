"""A Markdown memory file (CLAUDE.md, AGENTS.md, MEMORY.md) as a store: each section is a memory.

The file belongs to whoever edits it. It is read anew for every call; a write changes one section,
leaves every other byte as it is, and puts the file in place at once or not at all. Line ends, a
byte order mark and front matter are kept. What people edit by hand shows as drift under a guard.

::

    guarded = Guarded(MarkdownStore("CLAUDE.md"), lapse.sidecar("memory.db", "CLAUDE.md"))
    guarded.adopt(Provenance(writer="team"))  # once: what is there is vouched for
    served_document(guarded)                  # the file without what lapsed
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lapse.errors import InvalidValue, StoreConflict, StoreCorrupt, StoreReadOnly, StoreUnavailable
from lapse.ledger import EVERYWHERE
from lapse.stores.markdown_sections import Document, Section, parse
from lapse.stores.matching import likeness, words
from lapse.stores.port import Capabilities, Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from lapse.ledger import JsonObject, Scope
    from lapse.stores.guarded import Guarded

__all__ = ["MarkdownStore", "served_document"]

_TRIES = 10
"""How often a change is made again because somebody saved the file in between."""

_TITLE = 60
"""Characters of a text that become the title of a section that is given none."""


class MarkdownStore:
    """Implements `MemoryStore` over one file. Safe to call from several threads and processes.

    A memory's name is the JSON array of the titles that lead to its section; what stands before the
    first heading is ``[]``. Metadata are ``titles`` (where a new section goes) and nothing else.

    Args:
        path: the file; it need not be there yet. A link is followed.
        name: what the store is called in the ledger; the file's name when left out.
        level: of the headings of memories that are added without titles, 1 to 6.

    Raises:
        InvalidValue: there is no such level.
    """

    capabilities = Capabilities(
        list_all=True, text_search=True, soft_invalidate=True, persistent=True
    )

    def __init__(self, path: Path | str, *, name: str = "", level: int = 2) -> None:
        if level not in range(1, 7):
            raise InvalidValue("level", level, "pass 1 to 6")
        self._path = Path(path)
        self._level = level
        self.name = name or self._path.name

    def document(self) -> Document:
        """The file as it is now; an empty one if it is not there.

        Raises:
            StoreCorrupt: it is not UTF-8.
            StoreUnavailable: it cannot be read.
        """
        return _parsed(self._read())

    def add(self, text: str, *, metadata: JsonObject | None = None) -> Remembered:
        """Write a section: at the end, or where ``titles`` say."""
        titles = _titles(metadata)

        def changed(document: Document) -> tuple[Document, str]:
            if titles:
                with_it, section = document.with_section(titles, text)
            else:
                title = _fresh_title(document, text)
                with_it, section = document.with_section([title], text, level=self._level)
            return with_it, section.external_id

        return self._changed(changed)

    def get(self, external_id: str) -> Remembered | None:
        """One section; None when there is none of this name, or it says nothing."""
        return _found(self.document(), external_id)

    def list(self) -> Iterator[Remembered]:
        """Every section that says something, in order."""
        document = self.document()
        return iter([_remembered(document, one) for one in document.sections if document.text(one)])

    def search(self, query: str, *, limit: int) -> Sequence[Remembered]:
        """The sections that share words with the query, titles counted; the likest first."""
        asked, document = words(query), self.document()
        scored: list[tuple[float, int, Section]] = []
        for number, section in enumerate(document.sections):
            said = document.text(section)
            score = likeness(asked, words(" ".join((*section.titles, said)))) if said else 0.0
            scored.append((-score, number, section))
        found = sorted(one for one in scored if one[0] < 0)[:limit]
        return [_remembered(document, section, score=-score) for score, _, section in found]

    def update(
        self, external_id: str, text: str, *, metadata: JsonObject | None = None
    ) -> Remembered:
        """Write another text into a section; where it stands is not changed."""
        _titles(metadata)
        return self._changed(
            lambda document: (document.with_text(_there(document, external_id), text), external_id)
        )

    def invalidate(self, external_id: str, *, reason: str, by: str) -> None:
        """Put a comment under the heading that says so; the text stays."""
        mark = {"by": by, "reason": reason}
        self._changed(
            lambda document: (document.with_mark(_there(document, external_id), mark), external_id)
        )

    def restore(self, external_id: str) -> None:
        """Take the comment away; the file is then what it was before, to the byte."""
        self._changed(
            lambda document: (document.without_mark(_there(document, external_id)), external_id)
        )

    def export(self) -> list[JsonObject]:
        """Every section that says something: its titles and its text."""
        return [{"titles": one.metadata["titles"], "text": one.text} for one in self.list()]

    def import_(self, exported: Sequence[JsonObject]) -> Sequence[Remembered]:
        """Write what `export` gave, under the same titles; of equal ones the first is meant.

        Raises:
            InvalidValue: one of them is not what `export` gives; those before it were written.
        """
        return [self._imported(one) for one in exported]

    # -- inside ------------------------------------------------------------------------------

    def _imported(self, one: JsonObject) -> Remembered:
        text, titles = one.get("text"), _titles(one)
        if not isinstance(text, str) or titles is None:
            raise InvalidValue("exported", one, "pass what export() gives")

        def changed(document: Document) -> tuple[Document, str]:
            there = [s for s in document.sections if s.titles == titles]
            same = [section for section in there if document.text(section) == text]
            if same:
                return document, same[0].external_id
            if there:
                return document.with_text(there[0], text), there[0].external_id
            if not titles:
                raise InvalidValue("exported", one, "write what stands before headings by hand")
            with_it, section = document.with_section(titles, text)
            return with_it, section.external_id

        return self._changed(changed)

    def _changed(self, change: Callable[[Document], tuple[Document, str]]) -> Remembered:
        """Carry a change out on the file as it is, and give the section that it leads to."""
        with self._locked():
            for _ in range(_TRIES):
                before = self._read()
                document, external_id = change(_parsed(before))
                after = document.source.encode()
                found = _found(document, external_id)
                if after == before or self._replaced(before, after):
                    return found or _gone(external_id)
        raise StoreConflict(f"{self._path} is saved by others all the time; try again later")

    @contextmanager
    def _locked(self) -> Generator[None]:
        """One writer of ours at a time; the folder is locked, since the file is replaced."""
        try:
            folder = os.open(self._path.resolve().parent, os.O_RDONLY)
        except OSError as failure:
            raise StoreUnavailable(f"{self._path}: {failure.strerror}") from None
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as failure:
            raise StoreUnavailable(f"{self._path}: {failure.strerror}") from None

    def _replaced(self, before: bytes, after: bytes) -> bool:
        """Put the new file in place, unless somebody saved another one meanwhile."""
        place = self._path.resolve()
        temporary: Path | None = None
        try:
            with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
                temporary = Path(file.name)
                file.write(after)
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileNotFoundError):
                temporary.chmod(place.stat().st_mode & 0o7777)
            if self._read() != before:
                return False
            temporary.replace(place)
            _synced(place.parent)
        except PermissionError as failure:
            raise StoreReadOnly(f"{self._path}: {failure.strerror}") from None
        except OSError as failure:
            raise StoreUnavailable(f"{self._path}: {failure.strerror}") from None
        finally:
            if temporary is not None:
                temporary.unlink(missing_ok=True)
        return True


def served_document(guarded: Guarded, *, who: Scope = EVERYWHERE) -> str:
    """The file as an agent may read it: without the sections that do not stand, and without marks.

    A heading stays while something below it does. What was written by hand and never attested is
    left out, too, unless the guard admits legacy memories.

    Args:
        guarded: a guard over a `MarkdownStore`.
        who: who reads.

    Raises:
        InvalidValue: it guards another kind of store.
    """
    store = guarded.store
    if not isinstance(store, MarkdownStore):
        raise InvalidValue("guarded", store.name, "pass a guard over a MarkdownStore")
    document = store.document()
    for section in [one for one in document.sections if document.mark(one)]:
        there = document.section(section.external_id)
        document = document if there is None else document.without_mark(there)
    memories = [_remembered(document, one) for one in document.sections if document.text(one)]
    left_out = guarded.sift(memories, who=who).left_out
    return document.without({one.external_id for one in left_out})


def _found(document: Document, external_id: str) -> Remembered | None:
    section = document.section(external_id)
    return _remembered(document, section) if section and document.text(section) else None


def _remembered(document: Document, section: Section, *, score: float | None = None) -> Remembered:
    return Remembered(
        external_id=section.external_id,
        text=document.text(section),
        score=score,
        metadata={"titles": section.titles},
    )


def _there(document: Document, external_id: str) -> Section:
    section = document.section(external_id)
    if section is None or not document.text(section):
        raise InvalidValue("external_id", external_id, "name a section that says something")
    return section


def _gone(external_id: str) -> Remembered:
    raise InvalidValue("external_id", external_id, "name a section that says something")


def _titles(metadata: JsonObject | None) -> list[str] | None:
    titles: object = (metadata or {}).get("titles")
    if titles is None:
        return None
    names = cast("list[Any]", titles) if isinstance(titles, list | tuple) else [None]
    if not all(isinstance(name, str) for name in names):
        raise InvalidValue("titles", names, "pass a list of titles")
    return [str(name) for name in names]


def _fresh_title(document: Document, text: str) -> str:
    """A title from the text's first words that no section has yet."""
    first = " ".join(text.split("\n", 1)[0].split()).strip("#<>-=`~ ")
    title = first[:_TITLE].rstrip(" #") or "Memory"
    taken = {section.titles[-1] for section in document.sections if section.titles}
    number, fresh = 1, title
    while fresh in taken:
        number += 1
        fresh = f"{title} ({number})"
    return fresh


def _parsed(source: bytes) -> Document:
    try:
        return parse(source.decode())
    except UnicodeDecodeError as failure:
        raise StoreCorrupt(f"the file is not UTF-8 (at byte {failure.start})") from None


def _synced(folder: Path) -> None:
    """Make the new name durable, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
