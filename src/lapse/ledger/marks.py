"""Up to which version the records under each table and rule set were reconciled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lapse.ledger.sources import Source

__all__ = ["Mark", "Marks"]


@dataclass(slots=True)
class Mark:
    """Up to which version the records under a source were reconciled, and which was seen last.

    None stands for a source that is gone. Owned and changed by the state that holds it.
    """

    reconciled: str | None
    observed: str | None

    @property
    def settled(self) -> bool:
        """Whether nothing newer was seen than what the records were reconciled with."""
        return self.reconciled == self.observed


class Marks:
    """Every mark by its source; single-owner, not thread-safe.

    Attributes:
        held: the marks.
        unsettled: the sources whose marks are not settled: nearly always none.
    """

    __slots__ = ("held", "unsettled")

    def __init__(self) -> None:
        self.held: dict[Source, Mark] = {}
        self.unsettled: set[Source] = set()

    def put(self, source: Source, mark: Mark) -> None:
        """Set a mark."""
        self.held[source] = mark
        self._sort(source, mark)

    def move(self, source: Source, version: str | None, *, reconciles: bool) -> None:
        """A version was observed; `reconciles` says whether the records are good at it."""
        mark = self.held.get(source)
        if mark is None:
            self.held[source] = mark = Mark(version, version)
        mark.observed = version
        if reconciles:
            mark.reconciled = version
        self._sort(source, mark)

    def _sort(self, source: Source, mark: Mark) -> None:
        if mark.observed != mark.reconciled:
            self.unsettled.add(source)
        elif self.unsettled:
            self.unsettled.discard(source)
