"""The cheapest set there is for a return, by integer programming; what a selector is measured by.

The problem is the source's (equation 3): the least cost, in characters, of a set that covers enough
obligations and critical dependencies within the budget. Obligations and their frontiers are in it
anyway. HiGHS solves it to optimality; an answer is checked against the measures before it counts.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# scipy has no types.

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from lapse.admission import measure, obligations_in
from lapse.ledger import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.admission import Budget, Obligation, WorkItem

__all__ = ["Exact", "cheapest_set"]

_INFEASIBLE = 2
"""HiGHS proved that there is no such set."""

_SERVING = frozenset({Kind.OBLIGATION, Kind.FRONTIER})


@dataclass(frozen=True, slots=True)
class Exact:
    """A cheapest set.

    Attributes:
        evidence: the ids of what is shown beside obligations and frontiers.
        cost: the characters of that evidence.
    """

    evidence: tuple[str, ...]
    cost: int


def cheapest_set(items: Sequence[WorkItem], budget: Budget) -> Exact | None:
    """The cheapest set of eligible items that is enough; None: there is none.

    Raises:
        RuntimeError: the solver stopped before it knew, or its answer does not hold.
    """
    obligations = obligations_in(items)
    mandatory = [item for item in items if item.kind in _SERVING]
    evidence = [item for item in items if item.supports]
    room = budget.items - len(mandatory)
    chars = budget.chars - sum(len(item.text) for item in mandatory)
    if room < 0 or chars < 0 or any(not one.frontiers for one in obligations):
        return None
    program = _Program(obligations, evidence)
    found = milp(
        program.costs(),
        constraints=program.constraints(budget, items=room, chars=chars),
        integrality=np.ones(program.size),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    if found.status == _INFEASIBLE:
        return None
    if found.status != 0:
        raise RuntimeError(f"the solver stopped before it knew: {found.message}")
    chosen = [item for at, item in enumerate(evidence) if found.x[at] > 0.5]  # noqa: PLR2004
    coverage = measure(obligations, {d for item in chosen for d in item.supports})
    cost = sum(len(item.text) for item in chosen)
    enough = coverage.cov >= budget.coverage and coverage.crit >= budget.critical
    if not enough or len(chosen) > room or cost > chars:
        raise RuntimeError("the solver's set does not hold")
    return Exact(tuple(item.id for item in chosen), cost)


class _Program:
    """A variable for each item, each required dependency and each obligation, in this order."""

    def __init__(self, obligations: Sequence[Obligation], evidence: Sequence[WorkItem]) -> None:
        self._obligations, self._evidence = obligations, evidence
        self._required = sorted({d for one in obligations for d in one.required})
        self._at = {d: len(evidence) + at for at, d in enumerate(self._required)}
        self.size = len(evidence) + len(self._required) + len(obligations)

    def costs(self) -> np.ndarray:
        """What is minimised: the characters of the chosen items."""
        costs = np.zeros(self.size)
        costs[: len(self._evidence)] = [len(item.text) for item in self._evidence]
        return costs

    def constraints(self, budget: Budget, *, items: int, chars: int) -> LinearConstraint:
        """Supported is what a chosen item supports; covered, whose dependencies are supported."""
        rows: list[np.ndarray] = []
        lows: list[float] = []
        highs: list[float] = []

        def bound(row: np.ndarray, low: float, high: float) -> None:
            rows.append(row)
            lows.append(low)
            highs.append(high)

        for dependency in self._required:
            row = np.zeros(self.size)
            for at, item in enumerate(self._evidence):
                row[at] = dependency in item.supports
            row[self._at[dependency]] = -1
            bound(row, 0, inf)
        first = len(self._evidence) + len(self._required)
        for at, obligation in enumerate(self._obligations):
            for dependency in obligation.required:
                row = np.zeros(self.size)
                row[self._at[dependency]], row[first + at] = 1, -1
                bound(row, 0, inf)
        covered = np.zeros(self.size)
        covered[first:] = 1
        bound(covered, ceil(budget.coverage * len(self._obligations)), inf)
        critical = sorted({d for one in self._obligations for d in one.critical})
        supported = np.zeros(self.size)
        supported[[self._at[d] for d in critical]] = 1
        bound(supported, ceil(budget.critical * len(critical)), inf)
        count = np.zeros(self.size)
        count[: len(self._evidence)] = 1
        bound(count, 0, items)
        bound(self.costs(), 0, chars)
        low, high = np.array(lows), np.array(highs)
        return LinearConstraint(np.array(rows), low, high)  # type: ignore[arg-type]  # its stubs know single bounds alone
