"""What the source printed, set beside what came out; never mixed with it.

Figures of TRACE (arXiv 2609.33517), Tables 1 and 8, its Qwen3.5-122B-A10B actor, in percent. On
ManBench-Return, which candidate a baseline admits does not depend on a model, so the rows can be
held against each other. On Memora a model wrote the views and the answers, and another judged
them: no row there is reproduced, and none is compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ACTOR", "manbench_beside", "memora_beside"]

ACTOR: Final = "Qwen3.5-122B-A10B"

_MEMORA: Final = {
    "static": {"overall": 63.16, "via": 55.39, "iir": 68.13, "fama": 39.48},
    "restore": {"overall": 65.11, "via": 42.11, "iir": 82.24, "fama": 34.16},
    "reset": {"overall": 72.40, "via": 38.88, "iir": 99.93, "fama": 38.88},
    "memstrata": {"overall": 66.10, "via": 55.53, "iir": 73.02, "fama": 41.98},
    "memtx": {"overall": 66.21, "via": 55.62, "iir": 73.57, "fama": 42.14},
    "TRACE": {"overall": 65.20, "via": 53.60, "iir": 72.36, "fama": 40.14},
}

_MANBENCH: Final = {
    "static": {"old-valid": (0.0, 0.0), "old-stale": (100.0, 100.0)},
    "restore": {"old-valid": (100.0, 100.0), "old-stale": (0.0, 0.0)},
    "reset": {"old-valid": (0.0, 100.0), "old-stale": (0.0, 100.0)},
    "memstrata": {"old-valid": (0.0, 0.0), "old-stale": (100.0, 100.0)},
    "memtx": {"old-valid": (0.0, 0.0), "old-stale": (100.0, 100.0)},
    "TRACE": {"old-valid": (95.75, 97.57), "old-stale": (96.17, 100.0)},
}
"""VIA and IIR of each condition."""


def memora_beside() -> dict[str, Any]:
    """The printed averages over three departures, and why nothing is compared."""
    return {
        "actor": ACTOR,
        "compared": False,
        "why": "its views and answers were written by a model and judged by another, on questions "
        "chosen otherwise (137 against the episodes here)",
        "rows": _MEMORA,
    }


def manbench_beside(scores: Mapping[str, Any], *, dissent: float) -> dict[str, Any]:
    """The printed admission of each baseline, and whether ours is equal.

    Args:
        scores: the `methods` of a run.
        dissent: the run's; the source's teams agree, so with dissent nothing is compared.
    """
    rows: dict[str, Any] = {}
    for name, conditions in _MANBENCH.items():
        row: dict[str, Any] = {
            condition: {"via": via, "iir": iir} for condition, (via, iir) in conditions.items()
        }
        if dissent == 0 and name in scores:
            ours = scores[name]["conditions"]
            row["verdict"] = (
                "equal"
                if all(
                    (ours[condition]["via"], ours[condition]["iir"]) == pair
                    for condition, pair in conditions.items()
                )
                else "different"
            )
        else:
            row["verdict"] = "not compared"
        rows[name] = row
    return {
        "actor": ACTOR,
        "compared": dissent == 0,
        "why": "which candidate a baseline admits follows from its rule, not from the actor; the "
        "row TRACE asked a model and is no row of ours",
        "rows": rows,
    }
