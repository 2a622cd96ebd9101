"""What the greedy choice costs beside the cheapest set, and which returns it blocks for nothing.

Random returns, each from a seed of its own: one to four obligations over four to sixteen
dependencies, ten to sixty pieces of evidence that support one to five of them, and a budget that is
tight for some. Every selector and the exact one get the same eligible items.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from statistics import mean, quantiles
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from lapse.admission import Budget, Epochs, Judgement, Selector, WorkItem, select
from lapse.ledger import Interval, Kind
from lapse_bench.returns.exact import cheapest_set

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["GOAL_PERCENT", "INSTANCES", "Instance", "drawn_instance", "gap_study"]

INSTANCES: Final = "selection-instances-1"
"""The name of what is drawn; another way of drawing gets another number."""

GOAL_PERCENT: Final = 2.0
"""How much dearer than the cheapest set the default selector may be, in any instance."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One return, as far as a selector sees it."""

    items: tuple[WorkItem, ...]
    budget: Budget


def drawn_instance(seed: int) -> Instance:
    """The instance of this seed."""
    chance = random.Random(f"{INSTANCES} {seed}")
    dependencies = [f"d{number:02}" for number in range(chance.randint(4, 16))]
    items: list[WorkItem] = []
    obligations = chance.randint(1, 4)
    for number in range(obligations):
        needs = chance.sample(dependencies, chance.randint(1, min(len(dependencies), 6)))
        critical = tuple(needs[: chance.randint(0, len(needs))])
        name = f"o{number}"
        opens = {"required": tuple(needs), "critical": critical, "obligation": name}
        items.append(_item(name, 20, kind=Kind.OBLIGATION, **opens))
        items.append(_item(f"f{number}", 20, kind=Kind.FRONTIER, obligation=name))
    for number in range(chance.randint(10, 60)):
        count = min(len(dependencies), chance.choice((1, 1, 2, 2, 3, 4, 5)))
        supports = tuple(chance.sample(dependencies, count))
        items.append(_item(f"e{number:02}", chance.randint(20, 300), supports=supports))
    room, chars = chance.randint(2, 10), chance.randint(300, 2500)
    return Instance(tuple(items), Budget(items=2 * obligations + room, chars=chars))


def gap_study(
    instances: int, *, seed: int, tell: Callable[[int], None] = lambda _done: None
) -> dict[str, Any]:
    """Compare each selector with the exact one over as many instances.

    Args:
        instances: how many.
        seed: the seed of the first; the others follow.
        tell: called with the number of instances that are done.
    """
    rows: list[dict[str, Any]] = []
    for number in range(instances):
        rows.append(_compared(seed + number))
        tell(number + 1)
    return {
        "instances": INSTANCES,
        "count": instances,
        "seed": seed,
        "goal_percent": GOAL_PERCENT,
        "feasible": sum(row["exact"] is not None for row in rows),
        "exact_median_ms": _median(rows, "exact_us"),
        "selectors": {one.value: _summed(rows, one) for one in Selector},
        "samples": rows,
    }


def _compared(seed: int) -> dict[str, Any]:
    instance = drawn_instance(seed)
    began = perf_counter_ns()
    exact = cheapest_set(instance.items, instance.budget)
    row: dict[str, Any] = {
        "seed": seed,
        "exact": None if exact is None else exact.cost,
        "exact_us": (perf_counter_ns() - began) / 1e3,
    }
    judgements = tuple(Judgement(item, ()) for item in instance.items)
    serving = sum(len(item.text) for item in instance.items if not item.supports)
    for selector in Selector:
        began = perf_counter_ns()
        found = select(judgements, instance.budget, selector=selector)
        took = (perf_counter_ns() - began) / 1e3
        row[selector.value] = None if found.failures else found.chars - serving
        row[f"{selector.value}_us"] = took
    return row


def _summed(rows: Sequence[Mapping[str, Any]], selector: Selector) -> dict[str, Any]:
    name = selector.value
    both = [row for row in rows if row["exact"] is not None and row[name] is not None]
    gaps = [100 * (row[name] / row["exact"] - 1) if row["exact"] else 0.0 for row in both]
    return {
        "both_find_a_set": len(both),
        "only_exact_finds_one": sum(row["exact"] is not None and row[name] is None for row in rows),
        "only_this_finds_one": sum(row["exact"] is None and row[name] is not None for row in rows),
        "neither": sum(row["exact"] is None and row[name] is None for row in rows),
        "as_cheap": sum(gap == 0 for gap in gaps),
        "gap_percent": _spread(gaps),
        "median_ms": _median(rows, f"{name}_us"),
    }


def _spread(gaps: Sequence[float]) -> dict[str, float]:
    if len(gaps) < 2:  # noqa: PLR2004 - quantiles of fewer are none
        return {}
    cuts = quantiles(gaps, n=100, method="inclusive")
    return {
        "mean": round(mean(gaps), 3),
        "p50": round(cuts[49], 3),
        "p90": round(cuts[89], 3),
        "p99": round(cuts[98], 3),
        "max": round(max(gaps), 3),
    }


def _median(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    values = sorted(row[name] for row in rows)
    return round(values[len(values) // 2] / 1e3, 3) if values else 0.0


def _item(name: str, length: int, *, kind: Kind = Kind.FACT, **more: Any) -> WorkItem:
    return WorkItem(
        id=name,
        kind=kind,
        slot=name,
        text="x" * length,
        writer="A2",
        epochs=Epochs(1),
        valid=Interval(1),
        **more,
    )
