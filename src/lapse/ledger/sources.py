"""What a record depends on.

A source names one thing that can move: a row or a whole reference table of an issuer, the issuer's
set of derivation rules, another record, a named premise, or a target that can be probed. It holds
no version; a `Stamp` is a source at a version.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from sys import intern
from typing import Any, Literal, NamedTuple

from lapse.errors import InvalidValue

__all__ = ["Source", "SourceKind"]

SourceKind = Literal["row", "table", "rules", "record", "premise", "probe"]
"""The kinds of thing a record can rest on. Plain strings: an enum member hashes in Python code,
and sources are hashed on every lookup."""


class Source(NamedTuple):
    """One thing that can move. Build it with the constructor of its kind.

    Attributes:
        kind: what sort of thing it is.
        issuer: who answers for it: an origin such as ``https://api.example`` for rows, tables and
            rules; empty for records; the workspace for premises, empty for the record's own; how to
            look for probes.
        name: the table, the record's id, the premise, or the probe's target; empty for rules.
        key: the row's key; empty for everything but rows.
    """

    kind: SourceKind
    issuer: str
    name: str
    key: str = ""

    @classmethod
    def row(cls, issuer: str, table: str, key: str) -> Source:
        """A row of an issuer's reference table."""
        return _built(cls, ("row", issuer, table, key))

    @classmethod
    def table(cls, issuer: str, table: str) -> Source:
        """A whole reference table of an issuer."""
        return cls("table", issuer, table)

    @classmethod
    def rules(cls, issuer: str) -> Source:
        """The issuer's set of derivation rules."""
        return cls("rules", issuer, "")

    @classmethod
    def record(cls, record_id: str) -> Source:
        """Another record of the same ledger."""
        return cls("record", "", record_id)

    @classmethod
    def premise(cls, workspace: str, premise: str) -> Source:
        """A named premise of a workspace: a slot of it; the record's own where that is empty."""
        return cls("premise", workspace, premise)

    @classmethod
    def probe(cls, how: str, target: str) -> Source:
        """A target that can be looked at again; how is ``http``, ``file``, ``sql`` and so on."""
        return cls("probe", how, target)

    @property
    def container(self) -> Source:
        """The table of a row; the source itself for every other kind."""
        if self.kind != "row":
            return self
        return _built(Source, ("table", self.issuer, self.name, ""))

    def __str__(self) -> str:
        """The form people read: ``issuer/table:key``, ``issuer/rules``, ``record:id``."""
        match self.kind:
            case "row":
                return f"{self.issuer}/{self.name}:{self.key}"
            case "rules":
                return f"{self.issuer}/rules"
            case "record":
                return f"record:{self.name}"
            case _:
                return f"{self.issuer}/{self.name}"

    @classmethod
    def from_parts(cls, parts: Any) -> Source:
        """Read back the four parts as they are stored and digested.

        Raises:
            InvalidValue: the value is not four strings of which the first is a known kind.
        """
        match parts:
            case [
                ("row" | "table" | "rules" | "record" | "premise" | "probe") as kind,
                str(issuer),
                str(name),
                str(key),
            ]:
                if kind != "row":
                    return _shared(kind, issuer, name, key)
                return cls("row", intern(issuer), intern(name), intern(key))
            case _:
                raise InvalidValue("source", parts, "pass [kind, issuer, name, key]")


_built: Callable[[type[Source], tuple[str, ...]], Source] = tuple.__new__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
"""Builds a source without the constructor's call: `container` is asked for at every stamp of every
record that is looked at, and this takes half as long."""


@lru_cache(maxsize=4096)
def _shared(kind: SourceKind, issuer: str, name: str, key: str) -> Source:
    """One object for what a million records rest on: a table, a rule set, an operation."""
    return Source(kind, issuer, name, key)
