"""A suggestion beside a digest: what it rests on refers to what its client has, in one member.

`r` refers to the request that is answered (`grounds`). `on` refers to tables only, for suggestions
that cannot be said so and where the request is not known. A member of either name that the
application itself put there stays as it is, and the suggestion is written without ours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.contract import CacheHint, RowVersion, TableVersion, is_name
from lapse.wire.grounds import GROUND, ground, grounded
from lapse.wire.parsing import write
from lapse.wire.writing import suggestion_members

if TYPE_CHECKING:
    from lapse.contract import Held, Suggestion
    from lapse.ledger import JsonObject

__all__ = ["compact_members", "resolved"]

_ON: Final = "on"
_RESTS_ON: Final = ("cache_hint", "table", "tables", "rows", "when")


def compact_members(
    suggestion: Suggestion, held: Held, request: JsonObject | None = None
) -> dict[str, Any]:
    """A suggestion as a JSON object beside a digest: what it rests on stands in `r` or in `on`.

    Args:
        suggestion: the fix.
        held: the map that the client holds.
        request: what it sent; None: that is not known, so nothing refers to it.
    """
    members = _members_on(suggestion, held)
    if request is None or not suggestion.tables or _ON in suggestion.more:
        return members
    if not suggestion.rows and suggestion.when is None:
        return members
    said = ground(suggestion, held, request)
    if said is None:
        return members
    ours = {n: v for n, v in suggestion_members(suggestion).items() if n not in _RESTS_ON}
    short = {**ours, **said}
    return short if len(write(short)) < len(write(members)) else members


def _members_on(suggestion: Suggestion, held: Held) -> dict[str, Any]:
    """What it rests on, without the request.

    `on` is a reference to the one table (Level 1), several of them with spaces between (the vector
    of Level 4), or a list with an entry for each row and each table without rows: `[reference, key,
    version]` or `reference`. The table of `table` comes first. An empty list is `recompute`. What
    the map of the response does not know as the suggestion does is written in full.
    """
    members = suggestion_members(suggestion)
    if _ON in suggestion.more:
        return members
    if suggestion.cache_hint is CacheHint.RECOMPUTE and suggestion.table is None:
        del members["cache_hint"]
        return {**members, _ON: []}
    on = _on(suggestion, held)
    if suggestion.cache_hint is not CacheHint.CACHEABLE or on is None:
        return members
    for name in ("cache_hint", "table", *(("tables", "rows") if suggestion.tables else ())):
        members.pop(name, None)
    return {**members, _ON: on}


def _on(suggestion: Suggestion, held: Held) -> str | list[Any] | None:
    primary, references = suggestion.table, held.references
    if primary is None or primary not in references:
        return None
    if not suggestion.tables:
        return references[primary]
    versions = {entry.table: entry.version for entry in suggestion.tables}
    if any(held.table_versions.get(table) != version for table, version in versions.items()):
        return None
    if primary not in versions or not {row.table for row in suggestion.rows} <= versions.keys():
        return None
    on: list[Any] = []
    for table in (primary, *(table for table in versions if table != primary)):
        rows = [row for row in suggestion.rows if row.table == table]
        on += [[references[table], row.key, row.version] for row in rows] or [references[table]]
    return on if suggestion.rows or len(on) == 1 else " ".join(on)


def resolved(
    suggestion: Suggestion, held: Held, request: JsonObject | None = None
) -> Suggestion | None:
    """A suggestion with what it refers to, in the map that its response stands for.

    Args:
        suggestion: as it was read.
        held: the map.
        request: what was sent; None: that is not known.

    Returns:
        The suggestion as it would be written in full; None when it refers to something else.
    """
    if GROUND not in suggestion.more or _ON in suggestion.more:
        return _on_resolved(suggestion, held)
    if suggestion.table is not None or suggestion.tables or suggestion.rows:
        return suggestion  # it is written in full, and the member is somebody else's
    if "cache_hint" in suggestion.more or suggestion.cache_hint is CacheHint.RECOMPUTE:
        return suggestion
    return grounded(suggestion, held, request)


def _on_resolved(suggestion: Suggestion, held: Held) -> Suggestion:
    """A suggestion with what its `on` refers to.

    One whose `on` cannot be read, or that has a hint against keeping it or one that is not known,
    is left as it is: it names no table, so it is not remembered.
    """
    more = dict(suggestion.more)
    on = more.pop(_ON, None)
    if on is None or suggestion.table is not None or suggestion.tables:
        return suggestion
    # C-CLI-07: what a later service says of keeping it, and what says not to, counts beside `on`.
    if "cache_hint" in more or suggestion.cache_hint is CacheHint.RECOMPUTE:
        return suggestion
    if on == []:
        return replace(suggestion, cache_hint=CacheHint.RECOMPUTE, more=more)
    if isinstance(on, str) and " " in on:
        on = on.split(" ")
    if isinstance(on, str):
        table = held.referred(on)
        hint = CacheHint.CACHEABLE
        return (
            suggestion
            if table is None
            else replace(suggestion, cache_hint=hint, table=table, more=more)
        )
    rests = _rests_on(on, held)
    if rests is None:
        return suggestion
    tables, rows = rests
    return replace(
        suggestion,
        cache_hint=CacheHint.CACHEABLE,
        table=tables[0].table,
        tables=tables,
        rows=rows,
        more=more,
    )


def _rests_on(
    on: object, held: Held
) -> tuple[tuple[TableVersion, ...], tuple[RowVersion, ...]] | None:
    tables: dict[str, None] = {}
    rows: list[RowVersion] = []
    for entry in cast("list[object]", on) if isinstance(on, list) else [None]:
        match entry:
            case str(reference):
                key, version = None, None
            case [str(reference), str(key), (str() | None) as version] if is_name(key):
                pass
            case _:
                return None
        table = held.referred(reference)
        if table is None or (version is not None and not is_name(version)):
            return None
        tables[table] = None
        if key is not None:
            rows.append(RowVersion(table, key, version))
    if len({(row.table, row.key) for row in rows}) != len(rows):
        return None  # one row twice: which version counts would be a guess
    versions = held.table_versions
    return tuple(TableVersion(table, versions[table]) for table in tables), tuple(rows)
