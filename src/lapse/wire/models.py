"""The messages of the contract as pydantic models: the shape that is read, written and published.

Every model keeps members it does not know, so that a message from a newer service survives a round
trip; the JSON Schemas in the documentation are made from these.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from lapse.contract import NAME_CHARACTERS, is_name

__all__ = [
    "Changes",
    "Edge",
    "Envelope",
    "Graph",
    "Node",
    "Problem",
    "RecoveryFeedback",
    "Reload",
    "ReloadDiff",
    "ReloadRequest",
    "RowKey",
    "RowVersion",
    "Suggestion",
    "TableVersion",
    "Versions",
]


def _named(text: str) -> str:
    if not is_name(text):
        raise ValueError("bad_name")
    return text


Name = Annotated[
    str,
    AfterValidator(_named),
    Field(min_length=1, max_length=NAME_CHARACTERS),
]
"""Text that may name something (C-ENV-09)."""


class _Message(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


class TableVersion(_Message):
    """A table at a version."""

    table: Name
    version: Name


class RowVersion(_Message):
    """A row at a version; a null version says that there was no such row."""

    table: Name
    key: Name
    version: Name | None


class RowKey(_Message):
    """A row, wherever it stands now."""

    table: Name
    key: Name


class Suggestion(_Message):
    """A typed change that would make the request pass."""

    type: Name = Field(
        validation_alias=AliasChoices("type", "action"),
        description="The action, from the service's own vocabulary. `action` is read as the same.",
    )
    parameters: dict[str, JsonValue] = Field(
        default_factory=dict[str, JsonValue],
        description="Literal values to merge into the next request.",
    )
    cache_hint: Literal["cacheable", "recompute"] | None = Field(
        default=None,
        description="Whether the fix comes from a closed table and may be remembered.",
    )
    table: Name | None = Field(default=None, description="The table the fix depends on (Level 1).")
    tables: list[TableVersion] | None = Field(
        default=None, description="The dependency vector (Level 4); takes precedence over `table`."
    )
    rows: list[RowVersion] | None = Field(
        default=None, description="The rows that were read for the fix, at their versions then."
    )
    when: dict[str, JsonValue] | None = Field(
        default=None,
        description="The request fields, as dotted paths, with the values for which the fix holds.",
    )


class RecoveryFeedback(_Message):
    """What would have made the request pass."""

    suggestions: list[Suggestion] = Field(default_factory=list[Suggestion])


class Envelope(_Message):
    """The contract members of a response body. All are optional: none of them is Level 0."""

    success: bool | None = Field(default=None, description="Whether the request passed.")
    recovery_feedback: RecoveryFeedback | None = Field(
        default=None, description="On failure: the fixes offered."
    )
    table_versions: dict[Name, Name] | None = Field(
        default=None, description="Each loaded table with its version now (Level 1)."
    )
    rules_version: Name | None = Field(
        default=None, description="The fingerprint of the derivation rules (Level 6)."
    )


class Problem(Envelope):
    """One problem document (RFC 9457) that carries the contract members as extension members."""

    type: str = Field(default="about:blank", description="A URI that names the kind of problem.")
    title: str | None = Field(
        default=None, description="A summary that is the same for every problem of the type."
    )
    status: int | None = Field(default=None, ge=100, le=599)
    detail: str | None = Field(
        default=None,
        description="What was wrong this time, without the literal values of the suggestions.",
    )
    instance: str | None = None


class Versions(_Message):
    """The answer of the versions endpoint."""

    table_versions: dict[Name, Name]
    rules_version: Name | None = None


class Changes(_Message):
    """What changed in a table since a version."""

    table: Name
    since: Name
    version: Name | None = Field(description="The table's version now; null when it is not loaded.")
    complete: bool = Field(
        description="Whether the change log reaches back to `since`; if not, `rows` says nothing."
    )
    rows: dict[Name, Name | None] = Field(
        default_factory=dict[Name, Name | None],
        description="Each key that changed since, with its version now; null: removed.",
    )
    downstream: list[RowKey] = Field(
        default_factory=list[RowKey],
        description="Rows of other tables that followed from those, before the reloads.",
    )


class Node(_Message):
    """A row as a node of the graph, at its table's version."""

    table: Name
    key: Name
    version: Name


class Edge(_Message):
    """A derivation between two nodes."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, populate_by_name=True)

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    relation: Name


class Graph(_Message):
    """The knowledge graph: nodes by id `table:key`, and edges (Level 5)."""

    nodes: dict[str, Node]
    edges: list[Edge]


class ReloadRequest(_Message):
    """What an operator sends to replace a table's rows; null rows unload the table."""

    table: Name
    rows: dict[Name, Any] | None
    version: Name | None = None


class ReloadDiff(_Message):
    """The keys that a reload touched, sorted."""

    added: list[str]
    removed: list[str]
    changed: list[str]


class Reload(_Message):
    """What a reload did."""

    table: Name
    old_version: Name | None
    new_version: Name | None
    diff: ReloadDiff
    affected_downstream: list[str]
