"""Plays every case against both clients, and says what came of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from lapse_bench.attacks.scene import BOUNDS, LIFETIME_S, attacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lapse_bench.attacks.scene import Case
    from lapse_bench.provenance import Provenance

__all__ = ["GRAVE", "problems", "run_attacks", "run_case"]

GRAVE = (
    "stale_fixes_applied",
    "true_fixes_lost",
    "parameters_injected",
    "foreign_requests",
    "hostile_names_kept",
)
"""Outcomes that are wrong; the others cost requests, or time without a fix."""


def run_attacks(
    cases: Sequence[Case],
    *,
    provenance: Provenance,
    tell: Callable[[str], None] = lambda _name: None,
) -> dict[str, Any]:
    """Run the cases, one after the other.

    Args:
        cases: which.
        provenance: where and when this runs.
        tell: told the name of each case before it is played.
    """
    found: list[dict[str, Any]] = []
    for case in cases:
        tell(case.name)
        found.append(run_case(case))
    return {
        "benchmark": "attack contract",
        "config": {
            "lifetime_s": LIFETIME_S,
            "window_s": BOUNDS.window_us // 1_000_000,
            "moves": BOUNDS.moves,
            "evictions": BOUNDS.evictions,
            "questions": BOUNDS.questions,
            "transport": "HTTP/1.1 on loopback; a proxy is a server of its own on the way",
        },
        **provenance.as_json(),
        "cases": found,
        "problems": list(problems(cases, found)),
    }


def run_case(case: Case) -> dict[str, Any]:
    """Play a case against both clients."""
    unprotected, _ = _play(case, protected=False)
    protected, detected = _play(case, protected=True)
    return {
        "name": case.name,
        "attack": case.attack,
        "harm_unprotected": _counted(unprotected),
        "harm_protected": _counted(protected),
        "detected_as": detected,
        "residual": case.residual,
        "always_on": case.always_on,
    }


def _play(case: Case, *, protected: bool) -> tuple[Counter[str], list[str]]:
    with (
        TemporaryDirectory() as folder,
        attacked(protected=protected, trust_file=Path(folder) / "trust") as run,
    ):
        case.run(run)
        harm: Counter[str] = Counter()
        detected: dict[str, None] = {}
        for agent in run.agents:
            harm.update(agent.harm)
            detected.update(dict.fromkeys(agent.detected))
    return harm, list(detected)


def _counted(counts: Counter[str]) -> dict[str, int]:
    """The outcomes, the grave ones first and always there."""
    others = {name: number for name, number in sorted(counts.items()) if number}
    return {name: counts[name] for name in GRAVE} | others


def _weight(harm: dict[str, int]) -> tuple[int, int]:
    """How bad it is: grave outcomes first, and needless requests where there are none."""
    requests = harm.get("retries", 0) + harm.get("questions", 0)
    return sum(harm.get(name, 0) for name in GRAVE), requests


def problems(cases: Sequence[Case], found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What makes the result bad news: harm that should not be, attacks nobody noticed."""
    for case, result in zip(cases, found, strict=True):
        before, after = _weight(result["harm_unprotected"]), _weight(result["harm_protected"])
        missed = set(case.detected_as) - set(result["detected_as"])
        if missed:
            yield f"{case.name}: it was not detected as {', '.join(sorted(missed))}"
        if case.always_on:
            if before[0] or after[0]:
                yield f"{case.name}: it did harm, and every client is to be safe from it"
        elif case.helps and not after < before:
            yield f"{case.name}: protection does not help (before {before}, after {after})"
