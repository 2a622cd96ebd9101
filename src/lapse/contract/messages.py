"""What a service and a client say to each other, as values; `lapse.wire` reads and writes them.

Names follow the source text (section 3.2). Beyond it stand `Suggestion.rows`, so that a fix knows
which rows it rests on and at which version; `Suggestion.when`, so that it knows for which requests
it holds; and `TableChanges`, the answer to "what changed in this table since that version?".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.ledger import JsonObject

__all__ = ["CacheHint", "Envelope", "RowVersion", "Suggestion", "TableChanges", "TableVersion"]


class CacheHint(StrEnum):
    """Whether a fix may be remembered (source text, section 3.2)."""

    CACHEABLE = "cacheable"
    """It comes from a closed table on the server's side."""
    RECOMPUTE = "recompute"
    """It follows from the request itself; it is never stored."""


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One entry of a dependency vector (Level 4)."""

    table: str
    version: str


@dataclass(frozen=True, slots=True)
class RowVersion:
    """A row stamp: a row that was read, and its version then; None when there was no such row."""

    table: str
    key: str
    version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A typed, machine-readable change that would make the request pass.

    Attributes:
        type: the action, from the service's own vocabulary.
        parameters: literal values to merge into the next request.
        cache_hint: whether it may be remembered; None when the service does not say (Level 0).
        table: the one table it depends on (Level 1).
        tables: its dependency vector (Level 4); takes precedence over `table`.
        rows: the rows it depends on.
        when: the request fields, with their values, for which it holds; None when the service does
            not say, and the fix is then good for an equal request only.
        more: members this version does not know, kept for the round trip.
    """

    type: str
    parameters: JsonObject
    cache_hint: CacheHint | None = None
    table: str | None = None
    tables: tuple[TableVersion, ...] = ()
    rows: tuple[RowVersion, ...] = ()
    when: JsonObject | None = None
    more: JsonObject = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """The contract members of one response.

    Attributes:
        success: what the service said of the request; None when it did not say.
        suggestions: the fixes offered, in the service's order.
        table_versions: each loaded table with its version; None when the response carries no map,
            which says nothing, and in particular not "unchanged".
        rules_version: the fingerprint of the rule declarations (Level 6); None when not given.
        location: where the service's contract endpoints are, as a path or URL; None: not announced.
    """

    success: bool | None = None
    suggestions: tuple[Suggestion, ...] = ()
    table_versions: Mapping[str, str] | None = None
    rules_version: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChanges:
    """What changed in a table since a version: the client-facing diff.

    Attributes:
        table: the table asked about.
        since: the version asked about.
        version: the table's version now; None when the table is gone.
        complete: whether the change log reaches back to `since`. When it does not, `rows` says
            nothing, and the client falls back to the whole table.
        rows: each key that was added, changed or removed since, with its version now; None when it
            was removed.
        downstream: the rows of other tables that followed from those, by the graph as it stood
            before each reload.
    """

    table: str
    since: str
    version: str | None
    complete: bool
    rows: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    downstream: tuple[tuple[str, str], ...] = ()
