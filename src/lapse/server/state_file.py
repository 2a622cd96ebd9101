"""Keeps a service's tables, versions and change log in one file, so that a restart forgets nothing.

The file is replaced, never changed: written beside itself, forced to the disk, renamed. A crash
leaves the old one or the new one. What the declared tables looked like is kept too, by digest:
after a restart the kept rows stand, unless somebody has edited the declaration meanwhile; then that
edit is one more reload, with its diff, as if it had been made while the service ran.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from lapse.contract import LogEntry, Node, Registry, Rule, Table
from lapse.errors import (
    InvalidValue,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
)
from lapse.ledger import digest, encode

__all__ = ["StateFile", "as_store_error"]

_FORM = "lapse contract state"
_VERSION = 1
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
_MAY_NOT = frozenset({errno.EPERM, errno.EACCES, errno.EROFS})


class StateFile:
    """One file for one service. Single-owner: two servers on one file would undo each other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._declared: dict[str, str] = {}

    def opened(self, declared: Registry) -> Registry:
        """The kept state, with what was edited in the declaration since; kept again at once.

        Raises:
            StoreError: the file is another program's, a later version's, or cannot be read.
        """
        self._declared = {name: digest(encode(dict(t.rows))) for name, t in declared.tables.items()}
        kept = self._read(declared)
        registry = declared if kept is None else self._merged(declared, *kept)
        self.keep(registry)
        return registry

    def keep(self, registry: Registry) -> None:
        """Replace the file, durably.

        Raises:
            StoreError: it could not be written; the old file still stands.
        """
        body = encode(
            {
                "form": _FORM,
                "version": _VERSION,
                "declared": self._declared,
                "rules": [[r.from_table, r.to_table, r.relation, r.via] for r in registry.rules],
                "tables": [[t.name, t.version, dict(t.rows)] for t in registry.tables.values()],
                "log": {
                    table: [
                        [e.before, e.after, dict(e.rows), [list(node) for node in e.downstream]]
                        for e in entries
                    ]
                    for table, entries in registry.log.items()
                },
            }
        )
        try:
            self._replace(body)
        except OSError as failure:
            raise as_store_error(failure, self._path) from failure

    def _replace(self, body: bytes) -> None:
        folder = self._path.parent
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{self._path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
        # The rename itself is durable only once the folder is.
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _merged(self, declared: Registry, kept: Registry, seen: dict[str, str]) -> Registry:
        registry = kept.with_rules(declared.rules)
        for name, table in declared.tables.items():
            if seen.get(name) != self._declared[name]:
                registry = _edited(registry, table)
        for name in seen.keys() - declared.tables.keys() & registry.tables.keys():
            registry, _ = registry.reload(name, None)
        return registry

    def _read(self, declared: Registry) -> tuple[Registry, dict[str, str]] | None:
        try:
            body = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise as_store_error(failure, self._path) from failure
        try:
            value: Any = json.loads(body)
        except (ValueError, RecursionError):
            raise StoreCorrupt(f"{self._path} is not the JSON that was written") from None
        match value:
            case {"form": str(form), "version": int(version)} if form == _FORM:
                if version > _VERSION:
                    raise StoreNewer(f"{self._path} was written by a later version ({version})")
            case _:
                raise StoreForeign(f"{self._path} is not a contract's state file")
        try:
            return _registry(value, declared), dict(value["declared"])
        except (KeyError, TypeError, ValueError, InvalidValue) as failure:
            raise StoreCorrupt(f"{self._path} cannot be read back: {failure}") from failure


def _edited(registry: Registry, table: Table) -> Registry:
    held = registry.tables.get(table.name)
    versions = {e.before for e in registry.log.get(table.name, ())}
    taken = table.version in versions or (held is not None and held.version == table.version)
    # The declaration's own version, unless it already names other rows: then one that follows.
    return registry.reload(table.name, table.rows, None if taken else table.version)[0]


def _registry(value: Any, declared: Registry) -> Registry:
    return Registry(
        tables={name: Table(name, rows, version) for name, version, rows in value["tables"]},
        rules=tuple(Rule(*parts) for parts in value["rules"]),
        log={
            table: tuple(
                LogEntry(before, after, dict(rows), tuple(Node(*node) for node in downstream))
                for before, after, rows, downstream in entries
            )
            for table, entries in value["log"].items()
        },
        bounds=declared.bounds,
        secret=declared.secret,
    )


def as_store_error(failure: OSError, path: Path) -> StoreError:
    """What a failure of the file system means for a store."""
    if failure.errno in _NO_SPACE:
        return StoreFull(f"no space is left for {path}")
    if failure.errno in _MAY_NOT:
        return StoreReadOnly(f"{path} may not be written: {failure.strerror}")
    return StoreError(f"{path} cannot be used: {failure.strerror}")
