"""What is asked of a workspace over HTTP and by MCP tools, as pydantic models.

None of these says who asks: that is known before the body is read. Members that are not described
are refused, because a writer who misspells `rests_on` has to hear of it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from lapse.admission import LONGEST_TEXT, LONGEST_VALUE
from lapse.ledger import EVERYWHERE, Interval, Scope, Source, Stamp
from lapse.runtime import Allowance

__all__ = [
    "ID_PATTERN",
    "Ended",
    "Id",
    "Leaving",
    "Looking",
    "Name",
    "Resolved",
    "Returned",
    "Row",
    "Said",
    "SaidAgain",
    "SaidInstead",
    "Until",
    "scope_of",
]

ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$"
"""Ids that stand in a path as they are (RFC 3986, section 2.3)."""

_MOST_NAMES = 64
_LATEST = 2**53 - 1
"""The largest whole number that every JSON reader keeps (RFC 8785, section 3.2.2.3)."""

Id = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TEXT)]
Why = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]
Names = Annotated[list[Name], Field(max_length=_MOST_NAMES)]
Ids = Annotated[list[Id], Field(max_length=_MOST_NAMES)]
Instant = Annotated[int, Field(ge=0, le=_LATEST, description="Microseconds since 1970, UTC.")]
Count = Annotated[int, Field(ge=0, le=_LATEST)]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Row(_Asked):
    """A row of a service that a statement depends on, at the version that was seen."""

    issuer: Name
    table: Name
    key: Name
    version: Name

    def stamp(self) -> Stamp:
        """The same for the ledger."""
        return Stamp(Source.row(self.issuer, self.table, self.key), self.version)


class Until(_Asked):
    """When a statement holds."""

    since: Instant
    until: Instant | None = None

    def interval(self) -> Interval:
        """The same for the ledger.

        Raises:
            InvalidValue: it ends before it begins.
        """
        return Interval(self.since, self.until)


class Said(_Asked):
    """A statement."""

    text: Text
    slot: Name = Field(description="What it is about; a later statement of the slot is a version.")
    kind: Literal["fact", "frontier", "obligation", "constraint", "experience"] = "fact"
    audience: Literal["role", "team", "me"] = Field(
        default="role", description="Who may see it: those of the same role, everybody, or nobody."
    )
    task: Name | None = Field(default=None, description="The task it belongs to; null: to any.")
    purposes: Names = Field(default_factory=list, description="For which purposes; empty: any.")
    supports: Names = Field(
        default_factory=list, description="The dependencies that it is evidence for."
    )
    rests_on: Ids = Field(default_factory=list, description="Items it rests on, as they are now.")
    assumes: Ids = Field(
        default_factory=list, description="Items whose slots it takes for granted."
    )
    rows: Annotated[list[Row], Field(max_length=_MOST_NAMES)] = Field(
        default_factory=list[Row], description="Rows of services that it depends on."
    )
    replaces: Ids = Field(default_factory=list, description="Items that it takes the place of.")
    obligation: Name | None = Field(
        default=None, description="The obligation that is opened, or whose progress is told."
    )
    required: Names = Field(default_factory=list, description="What an obligation needs.")
    critical: Names = Field(
        default_factory=list, description="What of it nothing may be shown without."
    )
    valid: Until | None = Field(default=None, description="When it holds; null: from now on.")
    until_revision: Count | None = None
    value: Annotated[str, StringConstraints(max_length=LONGEST_VALUE)] = Field(
        default="", description="What the slot is worth by it, for those who assume it."
    )
    attributes: dict[str, JsonValue] = Field(default_factory=dict, description="Further state.")
    vouch: bool = Field(
        default=True,
        description="Whether whoever writes it has seen that it is so; what nobody vouches for "
        "is never shown.",
    )
    looked_at: Name | None = Field(default=None, description="What was looked at to know it.")
    item_id: Id | None = Field(
        default=None, description="An id of your own; the same call may then be repeated."
    )


class SaidInstead(_Asked):
    """What is said in place of an item; what is left out stays as it was."""

    text: Text
    supports: Names | None = None
    rests_on: Ids | None = None
    valid: Until | None = None
    value: Annotated[str, StringConstraints(max_length=LONGEST_VALUE)] = ""
    attributes: dict[str, JsonValue] | None = None
    vouch: bool = True
    looked_at: Name | None = None


class Ended(_Asked):
    """Why an item does not stand."""

    why: Why = ""


class SaidAgain(_Asked):
    """Why an item stands again, and what was looked at to know it."""

    why: Why = ""
    looked_at: Name | None = None


class Resolved(SaidAgain):
    """Why one side of a dispute holds."""

    vouch: bool = Field(
        default=False, description="Whether the caller has looked again and confirms it."
    )


class Leaving(_Asked):
    """Who leaves: the member of this task."""

    task: Name | None = None


class Looking(_Asked):
    """How much may be asked of whoever answers; null: no limit."""

    task: Name | None = None
    pairs: Count | None = Field(default=None, description="Questions.")
    calls: Count | None = Field(default=None, description="Requests that a model answers.")
    tokens: Count | None = Field(default=None, description="Tokens read and written.")

    def allowance(self) -> Allowance | None:
        """The same for the loop; None where there is no limit."""
        limits = (self.pairs, self.calls, self.tokens)
        if limits == (None, None, None):
            return None
        return Allowance(pairs=self.pairs, calls=self.calls, tokens=self.tokens)


class Returned(Looking):
    """A return."""

    purpose: Name = Field(description="What the member is back for.")
    cycle: Id | None = Field(
        default=None, description="An id of your own; a return that was cut off goes on under it."
    )
    workload: Why = Field(default="", description="What it comes back for, in its own words.")


def scope_of(audience: str, *, principal: str, role: str, task: str | None) -> Scope:
    """The scope of a statement of a member."""
    match audience:
        case "team":
            return Scope(task=task) if task else EVERYWHERE
        case "me":
            return Scope(principal=principal, task=task)
        case _:
            return Scope(role=role, task=task)
