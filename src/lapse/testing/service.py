"""A contract service for tests of clients: an httpx2 transport that plays the server.

It holds tables of text values and answers two things. ``POST /fix/TABLE/KEY`` succeeds when the
body's ``value`` is the row's, and offers the right value when it is not; ``GET /contract/changes``
says what changed. It keeps every value that every row ever had, so a test can ask what was true at
a version.

The other side of the wire can be made to misbehave: `reachable`, `forget_log`, `restart`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx2

__all__ = ["ScriptedService"]


@dataclass(slots=True)
class _Table:
    rows: dict[str, str]
    past: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    log_from: int = 0

    @property
    def number(self) -> int:
        return len(self.past)


class ScriptedService(httpx2.BaseTransport):
    """Plays a service whose tables drift.

    Args:
        tables: each table's rows, key to value.
        rows_told: whether suggestions say which row they rest on.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, str]], *, rows_told: bool = True) -> None:
        self._tables = {name: _Table(dict(rows)) for name, rows in tables.items()}
        self._rows_told = rows_told
        self._incarnation = 0
        self.reachable = True
        self.questions: list[tuple[str, str]] = []

    # -- what a test does to it --------------------------------------------------------------

    def reload(self, table: str, rows: Mapping[str, str]) -> str:
        """Replace a table's rows; returns the new version. Equal rows make a benign bump."""
        held = self._tables[table]
        held.past.append(held.rows)
        held.rows = dict(rows)
        return self.version(table)

    def forget_log(self, table: str) -> None:
        """Let the change log reach back to now and no further."""
        held = self._tables[table]
        held.log_from = held.number

    def restart(self) -> None:
        """Start again with the rows and without the logs: the versions are new ones."""
        self._incarnation += 1
        for name in self._tables:
            self.forget_log(name)

    # -- what a test asks of it --------------------------------------------------------------

    def version(self, table: str, number: int | None = None) -> str:
        """The version string of a table now, or after its first `number` reloads."""
        held = self._tables[table]
        return f"{self._incarnation}.{held.number if number is None else number}"

    def versions(self) -> dict[str, str]:
        """Every table with its version now."""
        return {name: self.version(name) for name in self._tables}

    def rows(self, table: str) -> dict[str, str]:
        """A table's rows now."""
        return dict(self._tables[table].rows)

    # -- the wire ----------------------------------------------------------------------------

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request."""
        if request.url.path == "/contract/changes":
            return self._changes(request.url.params["table"], request.url.params["since"])
        if request.url.path == "/contract/versions":
            return httpx2.Response(200, json=self._envelope())
        _, _, table, key = request.url.path.split("/", 3)
        value = self._tables[table].rows.get(key)
        if value is None or json.loads(request.read()).get("value") == value:
            return httpx2.Response(200, json={"success": True, **self._envelope()})
        body = {
            "success": False,
            "recovery_feedback": {"suggestions": [self._suggestion(table, key, value)]},
            **self._envelope(),
        }
        return httpx2.Response(422, json=body)

    def _envelope(self) -> dict[str, Any]:
        return {"table_versions": self.versions(), "rules_version": "0123456789ab"}

    def _suggestion(self, table: str, key: str, value: str) -> dict[str, Any]:
        suggestion: dict[str, Any] = {
            "type": "SET_VALUE",
            "parameters": {"value": value},
            "cache_hint": "cacheable",
            "table": table,
            "when": {"key": key},
        }
        if self._rows_told:
            suggestion["rows"] = [{"table": table, "key": key, "version": f"={value}"}]
        return suggestion

    def _changes(self, table: str, since: str) -> httpx2.Response:
        self.questions.append((table, since))
        if not self.reachable:
            msg = "the service is out of reach"
            raise httpx2.ConnectError(msg)
        held = self._tables[table]
        incarnation, _, number = since.partition(".")
        known = (
            int(incarnation) == self._incarnation and held.log_from <= int(number) <= held.number
        )
        answer: dict[str, Any] = {
            "table": table,
            "since": since,
            "version": self.version(table),
            "complete": known,
        }
        if known:
            snapshots = [*held.past[int(number) :], held.rows]
            keys = {
                key
                for before, after in pairwise(snapshots)
                for key in before.keys() | after.keys()
                if before.get(key) != after.get(key)
            }
            answer["rows"] = {
                key: f"={held.rows[key]}" if key in held.rows else None for key in sorted(keys)
            }
        return httpx2.Response(200, json=answer)
