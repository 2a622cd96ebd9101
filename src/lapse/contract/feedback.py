"""From a violated policy to suggestions that know what they rest on.

A policy reads its tables through a `Reading`; every row it reads becomes a stamp of the suggestions
made from it, and so does a row that was looked for and not found:

::

    tables = Reading(registry)
    code = tables["active_csm_codes"].get(plan)["code"]
    fix = tables.suggest("ADD_PROMOTION_CODE", {"promotion_code": code}, when={"plan": plan})
    Violation(policy="assigned-code", title="…", detail="…", suggestions=(fix,))

What of that goes onto the wire is an `Emission`: the level of the contract that a service speaks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, cast

from lapse.contract.messages import CacheHint, Envelope, RowVersion, Suggestion, TableVersion
from lapse.contract.names import check_name
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lapse.contract.registry import Registry
    from lapse.contract.trust_aliases import Aliases
    from lapse.ledger import JsonObject

__all__ = ["Emission", "Level", "Reading", "TableReader", "Violation", "leaks"]


class Level(IntEnum):
    """The wire levels of the source text (section 3.3); 2 and 3 change nothing on the wire."""

    L0 = 0
    """Plain text, nothing that could be remembered."""
    L1 = 1
    """`cache_hint`, `table` and `table_versions`."""
    L4 = 4
    """Also `tables`."""
    L5 = 5
    """Also the graph endpoint."""
    L6 = 6
    """Also `rules_version`."""


class TableReader:
    """One table, as a `Reading` sees it; remembers what was read."""

    __slots__ = ("_reading", "_rows", "name")

    def __init__(self, name: str, reading: Reading) -> None:
        self.name = name
        self._reading = reading
        self._rows: Mapping[str, Any] = reading.registry.tables[name].rows

    def get(self, key: str) -> Any:
        """The row with this key, or None; either way the answer depends on it from now on."""
        self._reading.note(self.name, key)
        return self._rows.get(key)

    def __contains__(self, key: str) -> bool:
        """Whether there is such a row; reads it."""
        self._reading.note(self.name, key)
        return key in self._rows

    def scan(self) -> Iterator[tuple[str, Any]]:
        """Every row with its key; whatever is made from a scan depends on the whole table."""
        self._reading.note_all(self.name)
        return iter(self._rows.items())

    def peek(self) -> Mapping[str, Any]:
        """The rows without noting anything: to find out which of them to `get`."""
        return self._rows


class Reading:
    """The tables as one decision reads them: one registry, so one version of each. Single-owner."""

    __slots__ = ("_read", "_scanned", "registry")

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._read: dict[str, dict[str, None]] = {}
        self._scanned: set[str] = set()

    def __getitem__(self, table: str) -> TableReader:
        """A table by name.

        Raises:
            InvalidValue: no such table is loaded.
        """
        if table not in self.registry.tables:
            loaded = ", ".join(self.registry.tables) or "none"
            raise InvalidValue("table", table, f"read a table that is loaded: {loaded}")
        return TableReader(table, self)

    def note(self, table: str, key: str) -> None:
        """Remember that a row was read. The table read last stands last."""
        keys = self._read.pop(table, {})
        self._read[table] = {**keys, key: None}

    def note_all(self, table: str) -> None:
        """Remember that a whole table was read."""
        self._read[table] = self._read.pop(table, {})
        self._scanned.add(table)

    def forget(self) -> None:
        """Start again: what is suggested from here on rests on what is read from here on."""
        self._read.clear()
        self._scanned.clear()

    @property
    def rows(self) -> tuple[RowVersion, ...]:
        """The rows read, at their versions. A table that was scanned has none: all of it counts."""
        return tuple(
            RowVersion(table, key, self.registry.row_version(table, key))
            for table, keys in self._read.items()
            if table not in self._scanned
            for key in keys
        )

    @property
    def tables(self) -> tuple[TableVersion, ...]:
        """The tables read, in the order of their last use, at their versions."""
        return tuple(TableVersion(t, self.registry.tables[t].version) for t in self._read)

    def suggest(
        self,
        type: str,  # noqa: A002 - the member's name in the source text
        parameters: JsonObject,
        *,
        table: str | None = None,
        when: JsonObject | None = None,
        cache_hint: CacheHint | None = None,
    ) -> Suggestion:
        """A suggestion that rests on everything read so far.

        Args:
            type: the action, from the service's vocabulary.
            parameters: literal values to merge into the next request.
            table: the one to name at Level 1; None: the one read last.
            when: the request fields, as dotted paths, and the values for which this holds; a null
                stands for a field that is absent or null (C-SUG-09).
            cache_hint: None: cacheable if anything was read, else recompute.

        Raises:
            InvalidValue: it is to be remembered and rests on nothing, or names a table not read.
        """
        check_name("type", type)
        hint = cache_hint or (CacheHint.CACHEABLE if self._read else CacheHint.RECOMPUTE)
        if hint is CacheHint.RECOMPUTE:
            return Suggestion(type=type, parameters=parameters, cache_hint=hint)
        if not self._read:
            remedy = "read the rows it comes from through this Reading, or suggest it as recompute"
            raise InvalidValue("cache_hint", hint.value, remedy)
        primary = next(reversed(self._read)) if table is None else table
        if primary not in self._read:
            raise InvalidValue(
                "table", primary, f"name a table that was read: {', '.join(self._read)}"
            )
        return Suggestion(
            type=type,
            parameters=parameters,
            cache_hint=hint,
            table=primary,
            tables=self.tables,
            rows=self.rows,
            when=when,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A request that a policy does not let pass, and what would.

    Attributes:
        policy: names the policy, for the problem's `type`: a slug, or a whole URI.
        title: the same words for every violation of the policy.
        detail: what was wrong this time, without any literal value of a suggestion's parameters:
            a client that could read the answer here would have no use for the suggestion.
        suggestions: fixes, best first.
        more: further problem members, such as `retryable`.
    """

    policy: str
    title: str
    detail: str
    suggestions: tuple[Suggestion, ...] = ()
    more: JsonObject = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        """Refuse a detail that gives the answer away."""
        check_name("policy", self.policy)
        for suggestion in self.suggestions:
            if (leak := leaks(self.detail, suggestion.parameters)) is not None:
                remedy = f"say what is wrong without the value of {leak!r} ({suggestion.type})"
                raise InvalidValue("detail", self.detail, remedy)


def leaks(detail: str, parameters: JsonObject) -> str | None:
    """The first parameter whose literal value stands in the text as a word; None: no one does."""
    pending: list[tuple[str, object]] = list(parameters.items())
    while pending:
        name, value = pending.pop(0)
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            pending += [(f"{name}.{inner}", v) for inner, v in members.items()]
        elif isinstance(value, list):
            pending += [(name, v) for v in cast("list[object]", value)]
        elif not isinstance(value, bool) and value is not None and _stands_in(detail, str(value)):
            return name
    return None


def _stands_in(text: str, value: str) -> bool:
    word = rf"(?<!\w){re.escape(value)}(?!\w)"
    return bool(value.strip()) and re.search(word, text, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Emission:
    """Which members a service sends.

    Attributes:
        level: the wire level.
        extensions: whether `rows` and `when`, which the source text does not have, go along.
        aliases: what tables and rows are called on the wire; None: by their names.
    """

    level: Level = Level.L6
    extensions: bool = True
    aliases: Aliases | None = None

    def envelope(
        self,
        registry: Registry,
        *,
        success: bool | None,
        suggestions: tuple[Suggestion, ...] = (),
        location: str | None = None,
    ) -> Envelope:
        """The contract members of one response; empty at Level 0."""
        if self.level < Level.L1:
            return Envelope()
        versions = registry.table_versions
        rules = registry.rules_version if self.level >= Level.L6 else None
        if self.aliases is not None:
            versions = self.aliases.table_versions(versions)
            rules = self.aliases.rules_version(rules)
        return Envelope(
            success=success,
            suggestions=tuple(self.suggestion(suggestion) for suggestion in suggestions),
            table_versions=versions,
            rules_version=rules,
            location=location,
        )

    def suggestion(self, suggestion: Suggestion) -> Suggestion:
        """The suggestion as this level says it."""
        said = replace(
            suggestion,
            tables=suggestion.tables if self.level >= Level.L4 else (),
            rows=suggestion.rows if self.extensions else (),
            when=suggestion.when if self.extensions else None,
        )
        return said if self.aliases is None else self.aliases.suggestion(said)
