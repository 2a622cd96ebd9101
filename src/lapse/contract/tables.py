"""Reference tables: keyed rows at a version, the version of a row, and what tells two apart.

A row's version comes from its content, so it needs no state: it survives a restart, two servers of
one service agree on it, and a row that returns to an earlier content has its earlier version again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lapse.contract.names import NAME_CHARACTERS, check_name
from lapse.errors import InvalidValue
from lapse.ledger import canonical, digest, encode

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Diff", "Table", "diff", "following_version", "node_id", "row_version"]

_VERSION_DIGITS = 12
_DOTTED = re.compile(r"(\d+(?:\.\d+)*\.)(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Table:
    """A named dictionary of rows at a version.

    Attributes:
        name: without a colon, so that the node id ``table:key`` can be taken apart (C-GRF-02).
        rows: JSON values by key; not to be changed after the table is built.
        version: opaque; names one content and no other.
    """

    name: str
    rows: Mapping[str, Any]
    version: str

    def __post_init__(self) -> None:
        """Refuse names that cannot travel and rows that are not JSON."""
        if ":" in check_name("table", self.name):
            raise InvalidValue(
                "table", self.name, "leave out ':', which ends the name in a node id"
            )
        check_name("version", self.version)
        for key, row in self.rows.items():
            check_name("key", key)
            canonical(row)
        object.__setattr__(self, "rows", MappingProxyType(dict(self.rows)))

    def at(self, version: str) -> Table:
        """The same rows under another version; they are not checked again."""
        return _unchecked(self.name, self.rows, check_name("version", version))

    def replaced(self, rows: Mapping[str, Any], version: str) -> Table:
        """Other rows under another version; only rows that are not the same are checked."""
        kept = self.rows
        checked: dict[str, Any] = {}
        for key, row in rows.items():
            if key in kept and _equal(kept[key], row):
                checked[key] = kept[key]
                continue
            canonical(row)
            checked[check_name("key", key)] = row
        return _unchecked(self.name, MappingProxyType(checked), check_name("version", version))


def _unchecked(name: str, rows: Mapping[str, Any], version: str) -> Table:
    table = object.__new__(Table)
    object.__setattr__(table, "name", name)
    object.__setattr__(table, "rows", rows)
    object.__setattr__(table, "version", version)
    return table


@dataclass(frozen=True, slots=True)
class Diff:
    """The keys that tell one content of a table from another, each tuple sorted."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.added, *self.removed, *self.changed)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> Diff:
    """What changed from one content to another; rows are equal when their RFC 8785 bytes are."""
    return Diff(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(k for k in old.keys() & new.keys() if not _equal(old[k], new[k]))),
    )


def _equal(old: object, new: object) -> bool:
    if old is new:
        return True
    if old != new:
        return False
    # To Python true equals 1; to JSON it does not. The cheap text settles nearly every pair.
    try:
        if json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True):
            return True
    except (TypeError, ValueError, RecursionError):
        pass  # not JSON: `canonical` says what is wrong with it
    return canonical(old) == canonical(new)


def row_version(table: str, key: str, row: object, *, secret: str = "") -> str:
    """The version of a row: 12 hex characters of SHA-256 over [table, key, row] as RFC 8785 bytes.

    Args:
        table: the table's name.
        key: the row's key.
        row: a JSON value.
        secret: with one, the digest is an HMAC, so that a row with few possible values cannot be
            guessed from its version. Servers of one service share it and keep it over restarts.

    Raises:
        InvalidValue: the row has no canonical form.
    """
    message = canonical([table, key, row])
    if secret:
        return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()[:_VERSION_DIGITS]
    return digest(message)[:_VERSION_DIGITS]


def following_version(version: str | None, rows: Mapping[str, Any]) -> str:
    """A version for new rows when the operator names none.

    The last number of a dotted version goes up, and a digest of the rows follows after a plus sign,
    so that a server which lost its state cannot give a known version to other content (C-VER-04).
    """
    base = "1.0.0" if version is None else version.partition("+")[0]
    if (dotted := _DOTTED.fullmatch(base)) is not None and version is not None:
        base = f"{dotted[1]}{int(dotted[2]) + 1}"
    content = digest(encode(dict(rows)))[:_VERSION_DIGITS]
    return f"{base[: NAME_CHARACTERS - _VERSION_DIGITS - 1]}+{content}"


def node_id(table: str, key: str) -> str:
    """The name of a row in the graph: ``table:key`` (source text, section 3.2)."""
    return f"{table}:{key}"
