"""From contract values to JSON, exactly: what a value does not say is left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lapse.contract import node_id
from lapse.wire.parsing import write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.contract import Aliases, Envelope, KnowledgeGraph, Reload, Suggestion, TableChanges
    from lapse.ledger import JsonObject

__all__ = [
    "JSON",
    "PROBLEM_JSON",
    "Problem",
    "changes_members",
    "envelope_members",
    "graph_members",
    "preferred_type",
    "problem_document",
    "problem_members",
    "reload_members",
    "suggestion_members",
    "write_changes",
    "write_envelope",
    "write_problem",
]

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The members of a problem document that RFC 9457 defines.

    Attributes:
        type: a URI, absolute or relative, that names the kind of problem.
        title: the same words for every problem of the type.
        status: the HTTP status.
        detail: what was wrong this time; never the literal answer, which only the suggestion holds.
        instance: a URI of this occurrence; None: left out.
        more: further extension members, such as `retryable`.
    """

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str | None = None
    more: JsonObject = field(default_factory=dict[str, object])


def suggestion_members(suggestion: Suggestion) -> dict[str, Any]:
    """A suggestion as a JSON object (source text, section 3.2)."""
    members: dict[str, Any] = {"type": suggestion.type, "parameters": dict(suggestion.parameters)}
    if suggestion.cache_hint is not None:
        members["cache_hint"] = suggestion.cache_hint.value
    if suggestion.table is not None:
        members["table"] = suggestion.table
    if suggestion.tables:
        members["tables"] = [{"table": t.table, "version": t.version} for t in suggestion.tables]
    if suggestion.rows:
        members["rows"] = [
            {"table": r.table, "key": r.key, "version": r.version} for r in suggestion.rows
        ]
    if suggestion.when is not None:
        members["when"] = dict(suggestion.when)
    return {**suggestion.more, **members}


def envelope_members(envelope: Envelope) -> dict[str, Any]:
    """The contract members of a body. `location` has none: it is a header (C-HDR-05)."""
    members: dict[str, Any] = {}
    if envelope.success is not None:
        members["success"] = envelope.success
    if envelope.suggestions:
        members["recovery_feedback"] = {
            "suggestions": [suggestion_members(s) for s in envelope.suggestions]
        }
    if envelope.table_versions is not None:
        members["table_versions"] = dict(envelope.table_versions)
    if envelope.rules_version is not None:
        members["rules_version"] = envelope.rules_version
    return members


def problem_members(problem: Problem, envelope: Envelope) -> dict[str, Any]:
    """One object that is a problem document and an envelope at once (C-PRB-01)."""
    return problem_document(problem, envelope_members(envelope))


def problem_document(problem: Problem, contract: JsonObject) -> dict[str, Any]:
    """A problem document with contract members that are written already."""
    members: dict[str, Any] = {
        "type": problem.type,
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
    }
    if problem.instance is not None:
        members["instance"] = problem.instance
    return {**problem.more, **members, **contract}


def changes_members(changes: TableChanges) -> dict[str, Any]:
    """The answer of the changes endpoint as a JSON object."""
    return {
        "table": changes.table,
        "since": changes.since,
        "version": changes.version,
        "complete": changes.complete,
        "rows": dict(changes.rows),
        "downstream": [{"table": table, "key": key} for table, key in changes.downstream],
    }


def reload_members(reload: Reload) -> dict[str, Any]:
    """The answer of the reload endpoint as a JSON object (source text, section 3.2)."""
    return {
        "table": reload.table,
        "old_version": reload.old_version,
        "new_version": reload.new_version,
        "diff": {
            "added": list(reload.diff.added),
            "removed": list(reload.diff.removed),
            "changed": list(reload.diff.changed),
        },
        "affected_downstream": [node_id(*node) for node in reload.affected_downstream],
    }


def graph_members(
    graph: KnowledgeGraph, table_versions: Mapping[str, str], *, aliases: Aliases | None = None
) -> dict[str, Any]:
    """The answer of the graph endpoint as a JSON object (source text, section 3.2).

    Args:
        graph: the graph, under true names.
        table_versions: each table's version, under true names.
        aliases: what tables, rows and relations are called on the wire; None: by their names.
    """
    nodes: dict[str, Any] = {}
    for node in graph.nodes():
        said = node if aliases is None else aliases.node(node)
        version = table_versions[node.table]
        nodes[node_id(*said)] = {"table": said.table, "key": said.key, "version": version}
    edges = (edge if aliases is None else aliases.edge(edge) for edge in graph.edges())
    return {
        "nodes": nodes,
        "edges": [
            {"from": node_id(*e.start), "to": node_id(*e.end), "relation": e.relation}
            for e in edges
        ],
    }


def write_envelope(envelope: Envelope) -> bytes:
    """The body of a response that says nothing else."""
    return write(envelope_members(envelope))


def write_problem(problem: Problem, envelope: Envelope) -> bytes:
    """The body of a problem response."""
    return write(problem_members(problem, envelope))


def write_changes(changes: TableChanges) -> bytes:
    """The body of the changes endpoint."""
    return write(changes_members(changes))


def preferred_type(accept: str | None) -> str:
    """The media type of a problem: `application/problem+json` where accepted, else plain JSON.

    The body is the same either way (C-PRB-04), so this never ends in 406.
    """
    if accept is None or not accept.strip():
        return PROBLEM_JSON
    quality = {JSON: 0.0, PROBLEM_JSON: 0.0}
    specific = dict.fromkeys(quality, -1)
    for part in accept.split(","):
        media_range, _, parameters = part.partition(";")
        weight = _weight(parameters)
        for media_type in quality:
            depth = _matches(media_range.strip().lower(), media_type)
            if depth > specific[media_type]:
                specific[media_type], quality[media_type] = depth, weight
    return PROBLEM_JSON if quality[PROBLEM_JSON] > 0 else JSON


def _matches(media_range: str, media_type: str) -> int:
    """How specifically a range names a type; -1 when it does not."""
    for depth, form in enumerate(("*/*", "application/*", media_type)):
        if media_range == form:
            return depth
    return -1


def _weight(parameters: str) -> float:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
