"""What both MCP seats say, as plain values: the error, the stamps and the resources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from lapse.contract import Level, is_name
from lapse.server.digests import Asking, digest_members
from lapse.wire import problem_document, write
from lapse.wire.digests import read_have_member
from lapse.wire.mcp import (
    GRAPH,
    KEY,
    VERSIONS,
    error_members,
    error_text,
    parse_uri,
    stamps,
    table_uri,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lapse.contract import Envelope, Registry
    from lapse.ledger import JsonObject
    from lapse.server.contract import Contract, Rejected

__all__ = [
    "JSON",
    "Refusal",
    "asking_of",
    "moved_uris",
    "read_contract",
    "refusal_of",
    "stamps_of",
]

JSON = "application/json"


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


def asking_of(
    contract: Contract, meta: object, arguments: JsonObject | None = None
) -> Asking | None:
    """What a request's `_meta` says that its client holds; None when it says nothing."""
    ours = cast("dict[str, object]", meta).get(KEY) if isinstance(meta, dict) else None
    have = read_have_member(ours)
    # A call without arguments has empty ones: so a client of ours keeps it.
    return None if have is None else Asking(contract, have, request=arguments or {})


def refusal_of(contract: Contract, rejected: Rejected, asked: Asking | None = None) -> Refusal:
    """How a rejection is said, with the versions of the tables that it was found in.

    Args:
        contract: the service's.
        rejected: the rejection.
        asked: what the client says that it holds. It reads stamps by itself, so there are none in
            the text, which is for the model behind it.
    """
    violation = rejected.violation
    registry = contract.registry if rejected.registry is None else rejected.registry
    envelope = contract.emission.envelope(
        registry, success=False, suggestions=violation.suggestions
    )
    problem = contract.problem_of(violation)
    level = contract.emission.level
    if level < Level.L1:
        return Refusal(error_text(problem, envelope), None, None)
    held = None if asked is None else asked.held(registry)
    if asked is not None and held is not None:
        document = problem_document(problem, digest_members(envelope, held, asked.request))
        said = {**(asked.members or {}), "success": False}
        return Refusal(error_text(problem, envelope, unstamped=True), document, said)
    return Refusal(
        error_text(problem, envelope),
        error_members(problem, envelope),
        _stamped(contract, envelope),
    )


def stamps_of(contract: Contract, asked: Asking | None = None) -> dict[str, Any] | None:
    """What a success says in `_meta` under the contract's key; None at Level 0."""
    level = contract.emission.level
    if level < Level.L1:
        return None
    if asked is not None and (members := asked.members) is not None:
        return members
    return _stamped(contract, contract.emission.envelope(contract.registry, success=None))


def _stamped(contract: Contract, envelope: Envelope) -> dict[str, Any]:
    said, signed = stamps(contract.emission.level, envelope), contract.stamp
    return said if signed is None else {**said, "stamp": signed}


def read_contract(contract: Contract, uri: str) -> bytes | None:
    """What a contract resource says now, as JSON; None when it is not offered."""
    level = contract.emission.level
    parts = parse_uri(uri)
    if parts is None or level < Level.L1 or not all(is_name(part) for part in parts):
        return None
    match parts:
        case ("versions",):
            return _versions(contract)
        case ("graph",) if level >= Level.L5:
            return write(contract.graph_members())
        case ("tables", table):
            return write(_table_members(contract, table))
        case ("changes", table, since):
            return write(contract.changes_members(table, since))
        case _:
            return None


def _versions(contract: Contract) -> bytes:
    """All versions; signed in the body, as a resource has no other place that clients see."""
    published = contract.published
    if published.signed is None:
        return published.versions_body
    return write({**json.loads(published.versions_body), "stamp": published.signed.member})


def _table_members(contract: Contract, table: str) -> dict[str, Any]:
    """A table without its rows: what a client may know is the version and how far changes reach."""
    registry, name = contract.registry, contract.true_name(table)
    held = None if name is None else registry.tables.get(name)
    log = () if name is None else registry.log.get(name, ())
    known = [entry.before for entry in log if entry.before is not None]
    version = None if held is None else held.version
    return {"table": table, "version": version, "changes_since": known[0] if known else version}


def moved_uris(before: Registry, after: Registry, name: Callable[[str], str]) -> Iterator[str]:
    """The resources that a reload changed: each table that moved, by its name, then the whole."""
    was, now = before.table_versions, after.table_versions
    moved = [t for t in dict.fromkeys((*was, *now)) if was.get(t) != now.get(t)]
    yield from map(table_uri, map(name, moved))
    if moved or before.rules_version != after.rules_version:
        yield VERSIONS
        yield GRAPH
