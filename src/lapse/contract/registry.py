"""All that a service knows about its tables, as one immutable value; a reload gives the next one.

::

    registry = Registry.of([Table("codes", {"growth": {"code": "SUMMERSALE25"}}, "1.0.0")])
    registry, reload = registry.reload("codes", {"growth": {"code": "WINTERLAUNCH26"}})
    reload.diff.changed                                  # ("growth",)
    registry.changes_since("codes", "1.0.0").rows        # {"growth": "…"}

A version string names one content. A reload that would give a known string to other rows is
refused: a client that holds the string would take the new rows for the old ones (C-VER-03).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lapse.contract.graph import KnowledgeGraph, Node
from lapse.contract.messages import TableChanges
from lapse.contract.rules import Rule, check_rules, fingerprint
from lapse.contract.tables import Diff, Table, diff, following_version, row_version
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["LogBounds", "LogEntry", "Registry", "Reload"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBounds:
    """How far back the change log of one table reaches; what is older is forgotten.

    Attributes:
        reloads: how many reloads.
        rows: how many touched rows, over all of them.
    """

    reloads: int = 1_000
    rows: int = 100_000

    def __post_init__(self) -> None:
        """Refuse a bound below zero; zero keeps nothing, and every client falls back to tables."""
        for name, value in (("reloads", self.reloads), ("rows", self.rows)):
            if value < 0:
                raise InvalidValue(name, value, "pass 0 or more")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One reload, as the change log keeps it.

    Attributes:
        before: the table's version before; None: it was not loaded.
        after: its version after; None: it was unloaded.
        rows: each touched key with the row's version before; None: there was no such row.
        downstream: the rows that followed from those, before the reload.
    """

    before: str | None
    after: str | None
    rows: Mapping[str, str | None]
    downstream: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """What a reload did.

    Attributes:
        table: the table.
        old_version: its version before; None: it was not loaded.
        new_version: its version now; None: it was unloaded.
        diff: the keys that changed.
        affected_downstream: the rows that followed from them in the graph before the reload
            (source text, section 3.7), nearest first.
    """

    table: str
    old_version: str | None
    new_version: str | None
    diff: Diff
    affected_downstream: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Tables, rules and what changed. Build one with `of`.

    Attributes:
        tables: by name, in the order of loading.
        rules: the derivation rules.
        log: the change log by table, oldest entry first.
        bounds: how far back it reaches.
        secret: keys the row versions; see `row_version`.
        graph: the knowledge graph of this state.
    """

    tables: Mapping[str, Table]
    rules: tuple[Rule, ...] = ()
    log: Mapping[str, tuple[LogEntry, ...]] = field(
        default_factory=dict[str, "tuple[LogEntry, ...]"]
    )
    bounds: LogBounds = LogBounds()
    secret: str = field(default="", repr=False)
    graph: KnowledgeGraph = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Freeze the containers and connect the graph, which costs nothing until it is walked."""
        object.__setattr__(self, "tables", MappingProxyType(dict(self.tables)))
        object.__setattr__(self, "log", MappingProxyType(dict(self.log)))
        object.__setattr__(self, "graph", KnowledgeGraph(self.tables, self.rules))

    @classmethod
    def of(
        cls,
        tables: Iterable[Table],
        rules: Iterable[Rule] = (),
        *,
        bounds: LogBounds | None = None,
        secret: str = "",
    ) -> Registry:
        """A registry that starts with these tables.

        Raises:
            InvalidValue: two tables have one name, or two rules differ in nothing but their `via`.
        """
        by_name: dict[str, Table] = {}
        for table in tables:
            if by_name.setdefault(table.name, table) is not table:
                raise InvalidValue("tables", table.name, "give each table a name of its own")
        return cls(
            tables=by_name,
            rules=check_rules(rules),
            bounds=LogBounds() if bounds is None else bounds,
            secret=secret,
        )

    @property
    def table_versions(self) -> dict[str, str]:
        """Each loaded table with its version."""
        return {name: table.version for name, table in self.tables.items()}

    @property
    def rules_version(self) -> str:
        """The fingerprint of the rules."""
        return fingerprint(self.rules)

    def row_version(self, table: str, key: str) -> str | None:
        """The version of a row now; None when there is no such row, or no such table."""
        held = self.tables.get(table)
        if held is None or key not in held.rows:
            return None
        return row_version(table, key, held.rows[key], secret=self.secret)

    def with_rules(self, rules: Iterable[Rule]) -> Registry:
        """The same tables under other rules.

        Raises:
            InvalidValue: two rules differ in nothing but their `via`.
        """
        return replace(self, rules=check_rules(rules))

    def reload(
        self, table: str, rows: Mapping[str, Any] | None, version: str | None = None
    ) -> tuple[Registry, Reload]:
        """Replace a table's rows, load a new table, or unload one.

        Equal rows without a version change nothing; under a new version they are a benign bump.

        Args:
            table: its name.
            rows: all its rows from now on; None unloads it.
            version: the new version; None: one that follows from the old and the rows.

        Raises:
            InvalidValue: the version already names other rows of this table, a row is not JSON, a
                name cannot travel, or a table that is not loaded is to be unloaded.
        """
        old = self.tables.get(table)
        if rows is None:
            return self._unload(table, old)
        if old is None:
            fresh = Table(table, rows, version or following_version(None, rows))
            self._check_unused(table, version)
            return self._next(table, None, fresh, Diff(added=tuple(sorted(rows))))
        changed = diff(old.rows, rows)
        if version is None or version == old.version:
            if not changed:
                return self, _nothing(old)
            if version is not None:
                raise _taken(table, version)
            return self._next(
                table, old, old.replaced(rows, following_version(old.version, rows)), changed
            )
        self._check_unused(table, version)
        return self._next(table, old, old.replaced(rows, version), changed)

    def changes_since(self, table: str, version: str) -> TableChanges:
        """What changed in a table since a version, as far back as the log reaches.

        A row that changed and changed back is not among them. A version that nobody knows, one
        older than the log, and a table that is not loaded give an answer that is not complete.
        """
        held = self.tables.get(table)
        now = None if held is None else held.version
        if held is None:
            return TableChanges(table=table, since=version, version=None, complete=False)
        if version == now:
            return TableChanges(table=table, since=version, version=now, complete=True)
        entries = self.log.get(table, ())
        places = [place for place, entry in enumerate(entries) if entry.before == version]
        if not places:
            return TableChanges(table=table, since=version, version=now, complete=False)
        before: dict[str, str | None] = {}
        downstream: dict[Node, None] = {}
        for entry in entries[places[-1] :]:
            for key, was in entry.rows.items():
                before.setdefault(key, was)
            downstream.update(dict.fromkeys(entry.downstream))
        rows = {key: self.row_version(table, key) for key in before}
        return TableChanges(
            table=table,
            since=version,
            version=now,
            complete=True,
            rows={key: is_now for key, is_now in rows.items() if is_now != before[key]},
            downstream=tuple((node.table, node.key) for node in downstream),
        )

    def _unload(self, table: str, old: Table | None) -> tuple[Registry, Reload]:
        if old is None:
            raise InvalidValue("table", table, "name a loaded table, or pass rows to load it")
        return self._next(table, old, None, Diff(removed=tuple(sorted(old.rows))))

    def _check_unused(self, table: str, version: str | None) -> None:
        if version is not None and any(e.before == version for e in self.log.get(table, ())):
            raise _taken(table, version)

    def _next(
        self, table: str, old: Table | None, new: Table | None, changed: Diff
    ) -> tuple[Registry, Reload]:
        downstream = self.graph.affected_downstream(Node(table, key) for key in changed.keys)
        entry = LogEntry(
            before=None if old is None else old.version,
            after=None if new is None else new.version,
            rows={key: self.row_version(table, key) for key in changed.keys},
            downstream=downstream,
        )
        tables = dict(self.tables)
        if new is None:
            del tables[table]
        else:
            tables[table] = new
        log = {**self.log, table: _bounded((*self.log.get(table, ()), entry), self.bounds)}
        reload = Reload(
            table=table,
            old_version=entry.before,
            new_version=entry.after,
            diff=changed,
            affected_downstream=downstream,
        )
        return replace(self, tables=tables, log=log), reload


def _nothing(table: Table) -> Reload:
    return Reload(
        table=table.name, old_version=table.version, new_version=table.version, diff=Diff()
    )


def _taken(table: str, version: str) -> InvalidValue:
    remedy = f"give a version that table {table!r} has not had: this one names other rows"
    return InvalidValue("version", version, remedy)


def _bounded(entries: tuple[LogEntry, ...], bounds: LogBounds) -> tuple[LogEntry, ...]:
    """The latest entries that fit; cut at the old end only, so that what is left has no gap."""
    kept = rows = 0
    for entry in reversed(entries[max(0, len(entries) - bounds.reloads) :]):
        rows += len(entry.rows) + len(entry.downstream)
        if rows > bounds.rows:
            break
        kept += 1
    return entries[len(entries) - kept :]
