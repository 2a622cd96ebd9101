"""How a return is decided: what counts, how much is shown, and what happens when that falls short.

Every default is the strict one. The four fields whose names begin with ``unsafe_`` each take one
mechanism out, so that its worth can be measured (paper, appendix H); nothing that acts on a view
sets them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING

from lapse.admission.gates import GATES, Gate, Situation
from lapse.admission.items import LONGEST_TEXT
from lapse.admission.lifecycle import RANKS
from lapse.admission.reasons import Failure
from lapse.admission.selection import Budget, Selector
from lapse.errors import InvalidValue
from lapse.ledger import Kind

if TYPE_CHECKING:
    from lapse.admission.checkpoint import Returning
    from lapse.admission.items import WorkItem
    from lapse.admission.reasons import Fallen

__all__ = ["Incomplete", "Policy"]

_HOUR_US = 3_600_000_000

_OF_COMPLETENESS = frozenset(
    {
        Failure.MISSING_OBLIGATION,
        Failure.MISSING_FRONTIER,
        Failure.INSUFFICIENT_COVERAGE,
        Failure.INSUFFICIENT_CRITICAL,
    }
)
"""What an incomplete view lacks; that there is nothing to show, or too much, is not among it."""


class Incomplete(StrEnum):
    """What happens to a return without a complete set."""

    BLOCK = "block"
    """The agent waits until what is missing is there."""
    RESET = "reset"
    """The agent starts with nothing inherited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a return is decided.

    Attributes:
        observers: whose receipts count; with none of them nothing passes.
        kinds: the kinds of shared items that may be shown.
        ranks: the rank of each name of authority.
        gates: what is asked about every item; with none of them nothing passes.
        item_chars: the most characters that one item may have.
        budget: how much is shown at most, and how much has to be covered.
        selector: how evidence is chosen.
        when_incomplete: what happens without a complete set.
        lifetime_us: for how many microseconds a view may be exposed.
        unsafe_without_inference: show items although nobody looked whether later ones break them.
        unsafe_relevance: choose evidence by these scores, by id, the largest first and then the
            smaller id, within the same budget, and not by what is owed. An item without a score
            comes after all that have one. None: by what is owed. For measurement.
        unsafe_incomplete_views: show what was chosen although it does not cover what is owed; the
            budget and every gate still hold, and the view reports what it covers. For measurement.
        unsafe_unbound_experience: let private experience back to its owner whether or not its
            sources are shown, or still stand. For measurement.
    """

    observers: frozenset[str]
    kinds: frozenset[Kind] = frozenset({Kind.FACT, Kind.FRONTIER, Kind.OBLIGATION, Kind.CONSTRAINT})
    ranks: Mapping[str, int] = field(default_factory=lambda: dict(RANKS))
    gates: tuple[Gate, ...] = GATES
    item_chars: int = LONGEST_TEXT
    budget: Budget = field(default_factory=Budget)
    selector: Selector = Selector.SEARCH
    when_incomplete: Incomplete = Incomplete.BLOCK
    lifetime_us: int = _HOUR_US
    unsafe_without_inference: bool = False
    unsafe_relevance: Mapping[str, float] | None = None
    unsafe_incomplete_views: bool = False
    unsafe_unbound_experience: bool = False

    def __post_init__(self) -> None:
        """Refuse a policy that would share private experience, or show what has no time."""
        if Kind.EXPERIENCE in self.kinds:
            remedy = "leave experience out: it comes back with its source, or not at all"
            raise InvalidValue("kinds", Kind.EXPERIENCE.value, remedy)
        for name in ("item_chars", "lifetime_us"):
            if getattr(self, name) < 1:
                raise InvalidValue(name, getattr(self, name), "pass 1 or more")
        for item_id, score in (self.unsafe_relevance or {}).items():
            if not isfinite(score):
                shown = f"{item_id!r}: {score}"
                raise InvalidValue("unsafe_relevance", shown, "pass finite scores: others no order")

    def situation(
        self, returning: Returning, items: Mapping[str, WorkItem], fallen: Mapping[str, Fallen]
    ) -> Situation:
        """What the gates may know of a return; experience is judged too, and shown by itself.

        Args:
            returning: who returns, when.
            items: every candidate, by id.
            fallen: what does not stand, and why.
        """
        return Situation(
            returning=returning,
            items=items,
            fallen=fallen,
            kinds=self.kinds | {Kind.EXPERIENCE},
            observers=self.observers,
            item_chars=self.item_chars,
        )

    def suffices(self, failures: Collection[Failure]) -> bool:
        """Whether a set with these failures is shown."""
        return not failures or (
            self.unsafe_incomplete_views and _OF_COMPLETENESS.issuperset(failures)
        )
