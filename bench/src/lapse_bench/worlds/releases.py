"""`current-release-v1`: a request must name the current release of a product's cycle.

A table is a product, a row is a release cycle, and its `latest` is the release that may be rolled
out. A request names a cycle and has to add the `version`; only the service knows it. Cycles without
a `latest` cannot be asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse_bench.worlds.objections import Objection

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from lapse.ledger import JsonObject
    from lapse_bench.traces import Event

__all__ = ["CurrentRelease"]

_FIELD: Final = "latest"


class CurrentRelease:
    """The release cycles of many products, and what they say about a roll-out."""

    name = "current-release-v1"
    subject_member = "cycle"

    def __init__(self) -> None:
        self._latest: dict[tuple[str, str], str] = {}

    def apply(self, table: str, events: Sequence[Event]) -> None:
        """Let the rows of a table move on."""
        for event in events:
            latest = None if event.after is None else event.after.get(_FIELD)
            if isinstance(latest, str):
                self._latest[table, event.key] = latest
            else:
                self._latest.pop((table, event.key), None)

    def targets(self) -> Collection[tuple[str, str]]:
        """Every cycle that has a latest release."""
        return self._latest.keys()

    def template(self, table: str, subject: str) -> dict[str, Any]:
        """The cycle alone: an agent does not know by itself which release is current."""
        del table
        return {"cycle": subject}

    def objections(
        self, table: str, subject: str, request: JsonObject
    ) -> tuple[Objection, ...] | None:
        """One objection when the version is missing or not the current one."""
        latest = self._latest.get((table, subject))
        if latest is None:
            return None
        if request.get("version") == latest:
            return ()
        return (
            Objection(
                type="USE_CURRENT_RELEASE",
                parameters={"version": latest},
                when={"cycle": subject},
                key=subject,
                detail="version must be the current release of the cycle",
            ),
        )

    def accepts(self, table: str, subject: str, when: JsonObject, parameters: JsonObject) -> bool:
        """Whether the version is still the current one."""
        del when
        return self._latest.get((table, subject)) == parameters.get("version")
