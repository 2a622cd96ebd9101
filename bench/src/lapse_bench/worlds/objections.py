"""What a world says against a request, and what a world over a real history has to offer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from lapse.ledger import JsonObject
    from lapse_bench.traces import Event

__all__ = ["Objection", "OrganicWorld"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """One reason to refuse a request, with the change that would remove it.

    Attributes:
        type: the action, from the world's vocabulary.
        parameters: what to merge into the request; null takes a member away.
        when: the request fields, with their values, for which the change holds.
        key: the row it was read from; a row that is not there is an observation, too.
        detail: what is wrong, without the answer.
    """

    type: str
    parameters: dict[str, Any]
    when: dict[str, Any]
    key: str
    detail: str


class OrganicWorld(Protocol):
    """A service whose rows follow a real history. One owner at a time; not thread-safe."""

    @property
    def name(self) -> str:
        """The world's versioned name."""
        ...

    @property
    def subject_member(self) -> str | None:
        """The request member that names the subject; None when the address names it."""
        ...

    def apply(self, table: str, events: Sequence[Event]) -> None:
        """Let the rows of a table move on."""
        ...

    def targets(self) -> Collection[tuple[str, str]]:
        """What can be asked for now, each as table and subject."""
        ...

    def template(self, table: str, subject: str) -> dict[str, Any]:
        """The request that an agent believes in when it meets a subject, from the rows of then."""
        ...

    def objections(
        self, table: str, subject: str, request: JsonObject
    ) -> tuple[Objection, ...] | None:
        """What stands against a request; empty: accepted; None: there is no such subject."""
        ...

    def accepts(self, table: str, subject: str, when: JsonObject, parameters: JsonObject) -> bool:
        """Whether a fix still does what it did: the rows of now accept its values."""
        ...
