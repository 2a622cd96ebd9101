"""The digest envelope: one short name for all versions, and what moved between two of them.

1. A *tag* names a map of versions: 16 characters of its root in base64url, from the first letter
   on, so that it is a token in a header. It has to tell apart the maps that one client holds;
   nobody has to believe it. What is signed is the whole root.
2. A client says the tag of the map that it holds. A service that has that state says the beginning
   of the same tag, the *echo*, in place of the map: then it is the map of now.
3. If it has the state and another one by now, it says what moved and the tag that comes of it.
4. What a client rebuilds has to have the tag that was said. If not, nothing was said.
5. A table is *referred to* by the beginning of its name's digest, which is never its place in a
   list: a reference that is read beside another map names no table there, and not a wrong one.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from lapse.contract.trust import versions_root

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["ECHO_CHARACTERS", "TAG_CHARACTERS", "Delta", "Held", "echo_of", "tag_of", "token"]

TAG_CHARACTERS: Final = 16
"""Of base64url, so nearly 96 bits: against accident, which is all that a tag is for."""
ECHO_CHARACTERS: Final = 4
"""24 bits: that an answer given to somebody else passes for one's own is one in 16 million."""
_NOT_FIRST: Final = "0123456789-_"
_SHORTEST: Final = 4
"""Characters of a reference: unique in a thousand tables nearly always, and longer where not."""


def tag_of(root: str) -> str:
    """The tag of a map by its root, which is in hex."""
    return token(bytes.fromhex(root), TAG_CHARACTERS)


def token(digest: bytes, characters: int) -> str:
    """A name for what has this digest: letters, digits, `-` and `_`, and a letter first."""
    return _text(digest).rstrip("=").lstrip(_NOT_FIRST)[:characters]


def echo_of(tag: str) -> str:
    """The beginning of a tag, as an answer repeats it."""
    return tag[:ECHO_CHARACTERS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What moved between two maps of versions.

    Attributes:
        changed: each table that is new or at another version, with its version.
        gone: the tables that are not loaded any more.
        rules_version: the fingerprint of the rules now; None: as it was.
    """

    changed: Mapping[str, str] = field(default_factory=dict[str, str])
    gone: tuple[str, ...] = ()
    rules_version: str | None = None

    @classmethod
    def of(
        cls, touched: Iterable[str], now: Mapping[str, str], *, rules_version: str | None = None
    ) -> Delta:
        """What moved, from the tables that may have and the versions of now."""
        ordered = sorted(touched)
        return cls(
            changed={table: now[table] for table in ordered if table in now},
            gone=tuple(table for table in ordered if table not in now),
            rules_version=rules_version,
        )


@dataclass(frozen=True)
class Held:
    """A map of versions with its tag, which is computed and never taken from anybody.

    Attributes:
        table_versions: each loaded table with its version.
        rules_version: the fingerprint of the rules; None when the service says none.
    """

    table_versions: Mapping[str, str]
    rules_version: str | None = None

    @cached_property
    def root(self) -> str:
        """The whole root, in hex."""
        return versions_root(self.table_versions, self.rules_version)

    @cached_property
    def tag(self) -> str:
        """What a client calls it."""
        return tag_of(self.root)

    def says(self, table_versions: Mapping[str, str], rules_version: str | None) -> bool:
        """Whether these are its versions."""
        if self.rules_version != rules_version:
            return False
        return self.table_versions is table_versions or self.table_versions == table_versions

    def after(self, delta: Delta, tag: str) -> Held | None:
        """The map that a delta makes of it; None when that has not the tag that was said."""
        versions = {**self.table_versions, **delta.changed}
        for table in delta.gone:
            versions.pop(table, None)
        rules = self.rules_version if delta.rules_version is None else delta.rules_version
        rebuilt = Held(versions, rules)
        return rebuilt if rebuilt.tag == tag else None

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """Its tables by name, in the order of their code points."""
        return tuple(sorted(self.table_versions))

    @cached_property
    def references(self) -> Mapping[str, str]:
        """What each table is referred to by: the shortest beginnings that are all different."""
        texts = {table: _named(table) for table in self.table_versions}
        length = _SHORTEST
        while len({text[:length] for text in texts.values()}) < len(texts):
            length += 1
        return {table: text[:length] for table, text in texts.items()}

    @cached_property
    def _referred(self) -> Mapping[str, str]:
        return {reference: table for table, reference in self.references.items()}

    def referred(self, reference: str) -> str | None:
        """The table that a reference names; None when it names none."""
        return self._referred.get(reference)


def _named(table: str) -> str:
    return _text(sha256(table.encode()).digest())


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii")
