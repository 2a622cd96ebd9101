"""Other names for tables and rows on the wire, so that precision is not bought with disclosure.

Validity needs equality of names, not names. With aliases, a service says keyed digests instead of
the names of its tables, the keys of their rows and the relations between them, everywhere and
always the same ones, so a client needs no knowledge of it. Row versions are keyed as well: an
unkeyed digest of name, key and row could be found out by guessing the three.

What is not hidden: versions of tables, which the operator chooses; how many tables there are and
how they hang together; and the parameters of a fix, which are what the client asked for.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.contract.graph import Edge, Node
from lapse.contract.messages import RowVersion, Suggestion, TableChanges, TableVersion
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lapse.ledger import JsonObject

__all__ = ["Aliases"]

_SHORTEST: Final = 16
"""Characters of a secret: with fewer, names could be found by trying secrets."""
_DIGITS: Final = 16
"""Hexadecimal digits of an alias: 64 bits, so that two of a million names do not meet."""
_VERSION_DIGITS: Final = 12


@lru_cache(maxsize=8192)
def _digest(secret: str, *parts: str) -> str:
    """Kept: every refusal names its tables again."""
    message = "".join(f"{len(part)}:{part}" for part in parts).encode()
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Aliases:
    """The names that a service has on the wire.

    Attributes:
        secret: keys the digests. Servers of one service share it and keep it over restarts:
            with another secret, every table is another table to every client.
    """

    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse a secret that can be tried out; it is not repeated in the message."""
        if len(self.secret) < _SHORTEST:
            size = f"{len(self.secret)} characters"
            raise InvalidValue("secret", size, f"pass at least {_SHORTEST} random ones")

    def table(self, name: str) -> str:
        """A table's name on the wire."""
        return f"t{_digest(self.secret, 'table', name)[:_DIGITS]}"

    def key(self, table: str, key: str) -> str:
        """A row's key on the wire; equal keys of two tables look different."""
        return f"k{_digest(self.secret, 'key', table, key)[:_DIGITS]}"

    def relation(self, name: str) -> str:
        """A relation's name on the wire."""
        return f"r{_digest(self.secret, 'relation', name)[:_DIGITS]}"

    def row_version(self, version: str | None) -> str | None:
        """A row's version on the wire; equal versions stay equal."""
        if version is None:
            return None
        return _digest(self.secret, "version", version)[:_VERSION_DIGITS]

    def rules_version(self, version: str | None) -> str | None:
        """The fingerprint of the rules on the wire: unkeyed, their names could be guessed."""
        return None if version is None else _digest(self.secret, "rules", version)[:_VERSION_DIGITS]

    def table_versions(self, versions: Mapping[str, str]) -> dict[str, str]:
        """A map of versions under the names on the wire."""
        return {self.table(name): version for name, version in versions.items()}

    def suggestion(self, suggestion: Suggestion) -> Suggestion:
        """A suggestion as the wire has it."""
        return replace(
            suggestion,
            table=None if suggestion.table is None else self.table(suggestion.table),
            tables=tuple(TableVersion(self.table(t.table), t.version) for t in suggestion.tables),
            rows=tuple(
                RowVersion(
                    self.table(r.table), self.key(r.table, r.key), self.row_version(r.version)
                )
                for r in suggestion.rows
            ),
        )

    def named(self, alias: str, tables: Iterable[str]) -> str | None:
        """The table that has this name on the wire; None when none of these has."""
        return next((name for name in tables if self.table(name) == alias), None)

    def changes(self, changes: TableChanges, *, asked: str) -> TableChanges:
        """An answer as the wire has it.

        Args:
            changes: the answer under true names.
            asked: the name that was asked for.
        """
        return replace(
            changes,
            table=asked,
            rows={
                self.key(changes.table, key): self.row_version(version)
                for key, version in changes.rows.items()
            },
            downstream=tuple(
                (self.table(table), self.key(table, key)) for table, key in changes.downstream
            ),
        )

    def node(self, node: Node) -> Node:
        """A row of the graph as the wire has it."""
        return Node(self.table(node.table), self.key(node.table, node.key))

    def edge(self, edge: Edge) -> Edge:
        """A derivation as the wire has it."""
        return Edge(self.node(edge.start), self.node(edge.end), self.relation(edge.relation))

    def text(self, text: str, tables: Iterable[str]) -> str:
        """A text for people in which no table is called by its name."""
        for name in sorted(tables, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", self.table(name), text)
        return text

    def members(self, more: JsonObject, tables: Iterable[str]) -> dict[str, Any]:
        """Further members of a problem in which no table is called by its name."""
        return {name: self._inside(value, tuple(tables)) for name, value in more.items()}

    def _inside(self, value: object, tables: tuple[str, ...]) -> object:
        # Members of a problem are the service's own and shallow: recursion ends soon.
        if isinstance(value, str):
            return self.text(value, tables)
        if isinstance(value, dict):
            found = cast("dict[str, object]", value)
            return {self.text(k, tables): self._inside(v, tables) for k, v in found.items()}
        if isinstance(value, list):
            return [self._inside(item, tables) for item in cast("list[object]", value)]
        return value
