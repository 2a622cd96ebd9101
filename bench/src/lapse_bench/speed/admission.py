"""Admission at speed: gates and selection by size, deciding again, digests, and what greedy costs.

Each size runs in a process of its own. Goals are judged by the process's time, which is what the
wall clock shows where nothing else runs; both are among the samples.
"""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from lapse_bench.returns.gap import GOAL_PERCENT, gap_study
from lapse_bench.speed.admission_drawn import DRAWN, POLICY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lapse_bench.provenance import Provenance

__all__ = ["SIZES", "run_admission_speed"]

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)

_AT: Final = 100_000
"""The size for which there are goals."""

_MOST_MS: Final = 1_000.0
_LEAST_RATIO: Final = 50.0
_MOST_GROWTH: Final = 1.5
"""How much more an item may take among a million than among a hundred thousand."""


def run_admission_speed(
    *,
    sizes: Sequence[int],
    readmitted: int,
    instances: int,
    turns: int,
    seed: int,
    provenance: Provenance,
    tell: Callable[[str], None] = lambda _what: None,
) -> dict[str, Any]:
    """Measure everything in one run.

    Args:
        sizes: how many items, one measurement of gates and selection for each.
        readmitted: how many items are decided about again.
        instances: how many random returns selectors are compared on.
        turns: how many samples of each.
        seed: decides every draw.
        provenance: where this runs.
        tell: called with what is measured next.
    """
    by_size: list[dict[str, Any]] = []
    for size in sizes:
        tell(f"{size:,} candidates")
        by_size.append(_alone("weighed", size, seed, turns, 0))
    again: dict[str, Any] = {}
    for name, came in (("nothing_came", 0), ("three_came", 3)):
        tell(f"a return into {readmitted:,} items, decided again")
        again[name] = _alone("readmitted", readmitted, seed, turns, came)
    tell(f"{instances:,} random returns")
    gap = gap_study(instances, seed=seed)
    result = {
        "benchmark": "speed admission",
        "config": {
            "seed": seed,
            "workspace": DRAWN,
            "sizes": list(sizes),
            "readmitted": readmitted,
            "turns": turns,
            "most_items": POLICY.budget.items,
            "most_characters": POLICY.budget.chars,
            "selector": POLICY.selector.value,
            "samples": "[milliseconds by the wall clock, milliseconds of the process]",
            "collector": "run before each turn, off during it",
        },
        **provenance.as_json(),
        "gates_and_selection": by_size,
        "readmission": again,
        "selectors": gap,
    }
    result["problems"] = list(_missed(result))
    return result


def _alone(what: str, size: int, seed: int, turns: int, came: int) -> dict[str, Any]:
    module = "lapse_bench.speed.admission_timed"
    command = [sys.executable, "-m", module, what, *map(str, (size, seed, turns, came))]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, capture_output=True, check=True, text=True).stdout  # noqa: S603 - our own module
    )
    return found


def _missed(result: Mapping[str, Any]) -> Iterator[str]:
    each = {
        one["items"]: one["together_ms"] / one["items"] for one in result["gates_and_selection"]
    }
    took = each.get(_AT, 0.0) * _AT
    if took > _MOST_MS:
        yield f"gates and selection take {took:.0f} ms over {_AT:,}, above {_MOST_MS:.0f}"
    if _AT in each and each[max(each)] > _MOST_GROWTH * each[_AT]:
        yield f"an item among {max(each):,} takes {each[max(each)] / each[_AT]:.1f} times as long"
    for name, found in result["readmission"].items():
        if found["items"] >= _AT and found["ratio"] < _LEAST_RATIO:
            yield f"{name}: again is {found['ratio']} times as fast, below {_LEAST_RATIO:.0f}"
    default = result["selectors"]["selectors"][POLICY.selector.value]
    if default["gap_percent"] and default["gap_percent"]["max"] > GOAL_PERCENT:
        yield f"a set is {default['gap_percent']['max']} % dearer than the cheapest"
    for name, found in result["selectors"]["selectors"].items():
        if found["only_this_finds_one"]:
            yield f"{name} shows a set where there is none"


def medians(samples: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The median by the wall clock, and of the process's time, in milliseconds."""
    return median(wall for wall, _ in samples), median(cpu for _, cpu in samples)
