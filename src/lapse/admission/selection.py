"""Which of the eligible items are shown: enough for every obligation, within the budget.

1. What is owed is what the obligations of the returning agent demand. One that has ended demands
   nothing; one that is in doubt is still demanded, and the set is incomplete without it.
2. Obligations and their progress frontiers come first, all of them.
3. Then, again and again, the item with the largest gain per cost: the gain is the weight of the
   required dependencies that it newly supports (two if critical, else one), the cost its length in
   characters, at least one. Ties: larger gain, lower cost, smaller id.
4. An item that exceeds the budget in its turn is passed over; smaller ones may still fit.
5. That set is made cheaper, and a set that fits is looked for where it does not cover all that can
   be covered (see `lapse.admission.covers`); a `Selector` says whether.
6. A set that falls short of a threshold is no set: its failures say why, and it is not shown.

The greedy choice alone carries no guarantee: hard budgets and mandatory items take it out of reach
of the classical bound (paper, C.3).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING

from lapse.admission.candidates import Candidates, greedily
from lapse.admission.coverage import Coverage, measure
from lapse.admission.covers import cheapest
from lapse.admission.obligations import Obligation, obligations_in
from lapse.admission.reasons import Failure, Reason
from lapse.errors import InvalidValue
from lapse.ledger import Kind

if TYPE_CHECKING:
    from lapse.admission.gates import Judgement
    from lapse.admission.items import WorkItem

__all__ = ["SERVING", "Budget", "Selection", "Selector", "choose", "owed", "select"]

_CRITICAL_WEIGHT = 2
"""w(d) of a critical dependency; any other weighs one (paper, equation 5)."""

SERVING = frozenset({Kind.OBLIGATION, Kind.FRONTIER})
"""The kinds that say what is owed."""

_NOT_OWED = frozenset(
    {
        Reason.SUPERSEDED,
        Reason.REVOKED,
        Reason.CLOSED,
        Reason.RESTATED,
        Reason.LACKS_AUTHORITY,
        Reason.NOT_YET,
        Reason.EXPIRED,
        Reason.EPOCH_ENDED,
        Reason.AUTHORIZATION_DENIED,
        Reason.OTHER_TASK,
        Reason.OTHER_PURPOSE,
        Reason.OTHER_KIND,
    }
)
"""What makes an obligation end, or somebody else's; every other reason only puts it in doubt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much may be shown, and how much has to be covered.

    Attributes:
        items: B_n, the most items.
        chars: B_c, the most characters of text, all items together.
        coverage: gamma, the least Cov, above 0 and at most 1.
        critical: rho, the least Crit, above 0 and at most 1.
    """

    items: int = 8
    chars: int = 4096
    coverage: float = 1.0
    critical: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a budget under which nothing could be shown, or anything."""
        for name in ("items", "chars"):
            if getattr(self, name) < 1:
                raise InvalidValue(name, getattr(self, name), "pass 1 or more")
        for name in ("coverage", "critical"):
            if not 0 < getattr(self, name) <= 1:
                raise InvalidValue(name, getattr(self, name), "pass a share above 0, at most 1")


class Selector(StrEnum):
    """How evidence is chosen."""

    SEARCH = "cost_aware_obligation_search_v1"
    """Rules 3 to 5: the cheapest set that a bounded search finds, starting from the greedy one."""
    GREEDY = "cost_aware_obligation_greedy_v1"
    """Rules 3 and 4 alone, as the source's implementation does under the same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What was chosen, or why it is not enough.

    Attributes:
        items: the chosen items: obligations with their frontiers, then evidence as it was chosen.
        chars: their length together.
        obligations: what is owed.
        supported: D(S): the dependencies that the chosen items support.
        coverage: both measures over the chosen items.
        failures: why the set is not shown; none: it is complete.
        left: eligible items that are not among the chosen, by id, and why.
    """

    items: tuple[WorkItem, ...]
    chars: int
    obligations: tuple[Obligation, ...]
    supported: frozenset[str]
    coverage: Coverage
    failures: tuple[Failure, ...]
    left: Mapping[str, Reason]

    @property
    def lacking(self) -> frozenset[str]:
        """What is required and not supported."""
        return frozenset(d for o in self.obligations for d in o.required - self.supported)

    def leaving(self, left: Mapping[str, Reason]) -> Selection:
        """The same choice, with what becomes of the others."""
        return replace(self, left=left)


def owed(judgements: Iterable[Judgement]) -> tuple[tuple[Obligation, ...], frozenset[str]]:
    """What the returning agent owes, and the ids of obligation items that are in doubt."""
    items: list[WorkItem] = []
    doubtful: set[str] = set()
    for judgement in judgements:
        item = judgement.item
        if item.kind is Kind.OBLIGATION and _NOT_OWED.isdisjoint(judgement.reasons):
            items.append(item)
            if not judgement.eligible:
                doubtful.add(item.id)
        elif item.kind is Kind.FRONTIER and judgement.eligible:
            items.append(item)
    return obligations_in(items), frozenset(doubtful)


def select(
    judgements: Sequence[Judgement],
    budget: Budget,
    *,
    selector: Selector = Selector.SEARCH,
    unsafe_relevance: Mapping[str, float] | None = None,
) -> Selection:
    """Choose among the eligible items.

    Args:
        judgements: every shared item with what speaks against it.
        budget: how much may be shown, and how much has to be covered.
        selector: how evidence is chosen.
        unsafe_relevance: choose evidence by these scores instead (see `Policy`).
    """
    eligible = {one.item.id: one.item for one in judgements if one.eligible}
    owes = [one for one in judgements if one.item.kind in SERVING]
    candidates = Candidates(eligible.values() if unsafe_relevance is None else ())
    chosen = choose(
        owes, eligible, candidates, budget, selector=selector, unsafe_relevance=unsafe_relevance
    )
    lacking = chosen.lacking if unsafe_relevance is None else None
    shown = {item.id for item in chosen.items}
    return chosen.leaving(
        {
            name: Reason.NOT_NEEDED
            if lacking is not None and lacking.isdisjoint(item.supports)
            else Reason.OVER_BUDGET
            for name, item in eligible.items()
            if name not in shown
        }
    )


def choose(
    owes: Iterable[Judgement],
    eligible: Mapping[str, WorkItem],
    candidates: Candidates,
    budget: Budget,
    *,
    selector: Selector,
    unsafe_relevance: Mapping[str, float] | None = None,
) -> Selection:
    """Choose, and leave open what becomes of the others.

    Args:
        owes: the judgements of obligations and frontiers.
        eligible: every eligible item, by id.
        candidates: the eligible items that support anything.
        budget: how much may be shown, and how much has to be covered.
        selector: how evidence is chosen.
        unsafe_relevance: choose evidence by these scores instead (see `Policy`).
    """
    obligations, doubtful = owed(owes)
    mandatory = [
        eligible[name]
        for obligation in obligations
        for name in (*obligation.opened_by, *obligation.frontiers)
        if name in eligible
    ]
    chars = sum(len(item.text) for item in mandatory)
    failures: list[Failure] = []
    if doubtful:
        failures.append(Failure.MISSING_OBLIGATION)
    if any(not obligation.frontiers for obligation in obligations):
        failures.append(Failure.MISSING_FRONTIER)
    if len(mandatory) > budget.items or chars > budget.chars:
        failures.append(Failure.MANDATORY_EXCEEDS_BUDGET)

    room = {"items": budget.items - len(mandatory), "chars": budget.chars - chars}
    wanted = _weights(obligations)
    if unsafe_relevance is not None:
        taken = {item.id for item in mandatory}
        rest = (item for name, item in eligible.items() if name not in taken)
        evidence = _by_score(rest, unsafe_relevance, **room)
    else:
        ranks = tuple(greedily(candidates, wanted, **room))
        names = tuple(rank[3] for rank in ranks)
        if selector is Selector.SEARCH:
            names = cheapest(candidates, wanted, ranks, **room)
        evidence = [eligible[name] for name in names]
    chosen = (*mandatory, *evidence)
    supported = frozenset(d for item in evidence for d in item.supports)
    coverage = measure(obligations, supported)
    return Selection(
        items=chosen,
        chars=chars + sum(len(item.text) for item in evidence),
        obligations=obligations,
        supported=supported,
        coverage=coverage,
        failures=(*failures, *_shortfall(chosen, coverage, budget)),
        left={},
    )


def _weights(obligations: Iterable[Obligation]) -> dict[str, int]:
    """R, each dependency with its weight."""
    weights: dict[str, int] = {}
    for obligation in obligations:
        for dependency in obligation.required:
            weights.setdefault(dependency, 1)
        weights.update(dict.fromkeys(obligation.critical, _CRITICAL_WEIGHT))
    return weights


def _by_score(
    candidates: Iterable[WorkItem],
    scores: Mapping[str, float],
    *,
    items: int,
    chars: int,
) -> list[WorkItem]:
    """The most relevant that fit, whatever they support; without a score: last."""
    chosen: list[WorkItem] = []
    for item in sorted(candidates, key=lambda one: (-scores.get(one.id, -inf), one.id)):
        if len(chosen) >= items:
            break
        if len(item.text) <= chars:
            chosen.append(item)
            chars -= len(item.text)
    return chosen


def _shortfall(
    chosen: Collection[WorkItem], coverage: Coverage, budget: Budget
) -> Iterable[Failure]:
    if not chosen:
        yield Failure.NO_SAFE_CANDIDATE
    if coverage.cov < budget.coverage:
        yield Failure.INSUFFICIENT_COVERAGE
    if coverage.crit < budget.critical:
        yield Failure.INSUFFICIENT_CRITICAL
