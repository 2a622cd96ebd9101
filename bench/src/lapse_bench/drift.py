"""Makes a service drift: reads what a scenario says and posts it to the operator's endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from lapse.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import httpx2

    from lapse_bench.scenarios import DriftEvent

__all__ = ["DriftDriver", "Drifting"]

_OK = 200


class Drifting(Protocol):
    """Whatever says which rows move, and before which episode."""

    @property
    def events(self) -> Sequence[DriftEvent]:
        """What happens, in any order."""
        ...


class DriftDriver:
    """Applies a scenario's events, each once, before its episode.

    Args:
        scenario: says what drifts and when.
        tables: the rows that the service starts with.
        operator: a client of the service that is allowed to reload tables.
    """

    def __init__(
        self,
        scenario: Drifting,
        tables: Mapping[str, Mapping[str, Any]],
        operator: httpx2.Client,
    ) -> None:
        self._events = list(scenario.events)
        self._tables = {name: dict(rows) for name, rows in tables.items()}
        self._operator = operator

    def before(self, episode: int) -> tuple[DriftEvent, ...]:
        """Apply what comes before an episode; returns what was applied.

        Raises:
            Refused: the service did not take a reload.
        """
        due = tuple(event for event in self._events if event.before <= episode)
        self._events = [event for event in self._events if event.before > episode]
        for event in due:
            self._reload(event)
        return due

    def _reload(self, event: DriftEvent) -> None:
        rows = self._tables.setdefault(event.table, {})
        for key, row in event.rows.items():
            if row is None:
                rows.pop(key, None)
            else:
                rows[key] = row
        body = {"table": event.table, "rows": rows, "version": event.version}
        answer = self._operator.post("/admin/reload-table", json=body)
        if answer.status_code != _OK:
            msg = f"the service did not reload {event.table}: {answer.text}"
            raise Refused(msg, status=answer.status_code)
