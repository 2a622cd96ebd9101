"""What both MCP seats say, as plain values: the error, the stamps and the resources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapse.contract import Level, is_name
from lapse.wire import Problem, changes_members, graph_members, write
from lapse.wire.mcp import GRAPH, VERSIONS, error_members, error_text, parse_uri, stamps, table_uri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse.contract import Registry
    from lapse.server.contract import Contract, Rejected

__all__ = ["JSON", "Refusal", "moved_uris", "read_contract", "refusal_of", "stamps_of"]

JSON = "application/json"
_UNPROCESSABLE = 422


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error result's three channels.

    Attributes:
        text: the first text block.
        structured: `structuredContent`; None at Level 0.
        stamps: what stands in `_meta` under the contract's key; None at Level 0.
    """

    text: str
    structured: dict[str, Any] | None
    stamps: dict[str, Any] | None


def refusal_of(contract: Contract, rejected: Rejected) -> Refusal:
    """How a rejection is said, with the versions of the tables that it was found in."""
    violation = rejected.violation
    registry = contract.registry if rejected.registry is None else rejected.registry
    envelope = contract.emission.envelope(
        registry, success=False, suggestions=violation.suggestions
    )
    problem = Problem(
        type=contract.problem_type(violation.policy),
        title=violation.title,
        status=_UNPROCESSABLE,
        detail=violation.detail,
        more=violation.more,
    )
    level = contract.emission.level
    if level < Level.L1:
        return Refusal(error_text(problem, envelope), None, None)
    return Refusal(
        error_text(problem, envelope), error_members(problem, envelope), stamps(level, envelope)
    )


def stamps_of(contract: Contract) -> dict[str, Any] | None:
    """What a success says in `_meta` under the contract's key; None at Level 0."""
    level = contract.emission.level
    if level < Level.L1:
        return None
    return stamps(level, contract.emission.envelope(contract.registry, success=None))


def read_contract(contract: Contract, uri: str) -> bytes | None:
    """What a contract resource says now, as JSON; None when it is not offered."""
    level = contract.emission.level
    parts = parse_uri(uri)
    if parts is None or level < Level.L1 or not all(is_name(part) for part in parts):
        return None
    match parts:
        case ("versions",):
            return contract.published.versions_body
        case ("graph",) if level >= Level.L5:
            registry = contract.registry
            return write(graph_members(registry.graph, registry.table_versions))
        case ("tables", table):
            return write(_table_members(contract.registry, table))
        case ("changes", table, since):
            return write(changes_members(contract.changes_since(table, since)))
        case _:
            return None


def _table_members(registry: Registry, table: str) -> dict[str, Any]:
    """A table without its rows: what a client may know is the version and how far changes reach."""
    held = registry.tables.get(table)
    log = registry.log.get(table, ())
    known = [entry.before for entry in log if entry.before is not None]
    version = None if held is None else held.version
    return {"table": table, "version": version, "changes_since": known[0] if known else version}


def moved_uris(before: Registry, after: Registry) -> Iterator[str]:
    """The resources that a reload changed: each table that moved, then the whole."""
    was, now = before.table_versions, after.table_versions
    moved = [t for t in dict.fromkeys((*was, *now)) if was.get(t) != now.get(t)]
    yield from map(table_uri, moved)
    if moved or before.rules_version != after.rules_version:
        yield VERSIONS
        yield GRAPH
