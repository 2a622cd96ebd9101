"""Whether a set of items is enough for what is owed (paper, C.3).

D(S) is what the items of S support. *Cov* is the share of obligations whose required dependencies
all lie in D(S); *Crit* is the share of distinct critical dependencies that do. An empty set counts
as one. What is not covered is named, with who needs it and who spoke about it last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapse.admission.gates import Judgement
    from lapse.admission.obligations import Obligation
    from lapse.admission.reasons import Reason
    from lapse.ledger import Instant

__all__ = ["Coverage", "LastWord", "Missing", "measure", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The two measures, as counts.

    Attributes:
        covered: obligations with all that they require.
        obligations: how many there are.
        critical_covered: distinct critical dependencies that are supported.
        critical: how many there are.
    """

    covered: int
    obligations: int
    critical_covered: int
    critical: int

    @property
    def cov(self) -> float:
        """Cov(S), from 0 to 1."""
        return self.covered / self.obligations if self.obligations else 1.0

    @property
    def crit(self) -> float:
        """Crit(S), from 0 to 1."""
        return self.critical_covered / self.critical if self.critical else 1.0

    def as_json(self) -> dict[str, Any]:
        """The form that is signed."""
        return {
            "covered": self.covered,
            "obligations": self.obligations,
            "critical_covered": self.critical_covered,
            "critical": self.critical,
        }


@dataclass(frozen=True, slots=True)
class LastWord:
    """The latest item that is about a dependency, and why it does not count.

    Attributes:
        item: its id.
        writer: who wrote it.
        epoch: in which revision.
        at: since when it holds, by the wall clock.
        reasons: what speaks against it; none: it did not fit.
    """

    item: str
    writer: str
    epoch: int
    at: Instant
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A dependency that nothing shown supports.

    Attributes:
        dependency: which.
        critical: whether some obligation calls it critical.
        needed_by: the obligations that require it.
        last: who spoke about it last; None: nobody ever did.
    """

    dependency: str
    critical: bool
    needed_by: tuple[str, ...]
    last: LastWord | None


def measure(obligations: Iterable[Obligation], supported: AbstractSet[str]) -> Coverage:
    """Cov and Crit of a set that supports these dependencies."""
    owed = tuple(obligations)
    critical = {d for obligation in owed for d in obligation.critical}
    return Coverage(
        covered=sum(obligation.required <= supported for obligation in owed),
        obligations=len(owed),
        critical_covered=len(critical & supported),
        critical=len(critical),
    )


def missing(
    obligations: Sequence[Obligation], supported: AbstractSet[str], judgements: Iterable[Judgement]
) -> tuple[Missing, ...]:
    """What is required and not supported, by dependency."""
    needed: dict[str, list[str]] = {}
    for obligation in obligations:
        for dependency in obligation.required - supported:
            needed.setdefault(dependency, []).append(obligation.name)
    latest: dict[str, Judgement] = {}
    for judgement in judgements:
        item = judgement.item
        for dependency in item.supports:
            if dependency in needed:
                known = latest.get(dependency)
                if known is None or _order(known) < _order(judgement):
                    latest[dependency] = judgement
    critical = {d for obligation in obligations for d in obligation.critical}
    return tuple(
        Missing(
            dependency=dependency,
            critical=dependency in critical,
            needed_by=tuple(needed[dependency]),
            last=_last(latest, dependency),
        )
        for dependency in sorted(needed)
    )


def _order(judgement: Judgement) -> tuple[tuple[int, int], str]:
    return judgement.item.moment, judgement.item.id


def _last(latest: dict[str, Judgement], dependency: str) -> LastWord | None:
    judgement = latest.get(dependency)
    if judgement is None:
        return None
    item = judgement.item
    return LastWord(item.id, item.writer, item.epochs.since, item.valid.since, judgement.reasons)
