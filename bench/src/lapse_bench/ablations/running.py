"""Runs every variant over every return, and makes of it what a result says."""

from __future__ import annotations

from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from lapse_bench.ablations.looking import NAMED_BY_WORDS, judging, looked_at
from lapse_bench.ablations.memora import asked_of, memora_returns, memora_truth, owing
from lapse_bench.ablations.printed import TABLE_15
from lapse_bench.ablations.stale import stale_returns, stale_truth
from lapse_bench.ablations.travel_returns import travel_returns, travel_truth
from lapse_bench.ablations.variants import VARIANTS, shown_by
from lapse_bench.returns.metrics import (
    Criteria,
    Probes,
    memora_scores,
    percent,
    stale_scores,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lapse.runtime import Looked
    from lapse_bench.ablations.variants import Return, Shown
    from lapse_bench.provenance import Provenance

__all__ = ["DATA", "NOTES", "VERIFIERS", "problems", "run_ablations"]

VERIFIERS: Final[Mapping[str, float]] = {"honest": 1.0, "0.9 stand-in": 0.9}
"""The accuracies of the stand-in that rules."""

_PROBES: Final = (
    "On stale-shaped a belief is resolved when neither view nor experience states it, resisted "
    "when the view also states what broke it, adapted to when the view states that."
)
_LACKING: Final = (
    "What a model makes of a view that lacks something does not show: `incomplete` counts the "
    "views that were shown although they lack some of what is owed."
)
_NARROWED: Final = (
    "Memora has no budget, so what evidence is chosen makes no difference there; a return that is "
    "blocked is begun again without what it says is missing."
)

NOTES: Final = (
    "Views are scored, not answers; a blocked return states nothing, and withholds everything.",
    _PROBES,
    _LACKING,
    _NARROWED,
    "The source's rows are measurements of a model on STALE.",
)


def run_ablations(
    names: Sequence[str],
    *,
    seed: int,
    provenance: Provenance,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Every variant over every data set, by every verifier.

    Args:
        names: the data sets, some of `DATA`.
        seed: decides the stand-in's errors.
        provenance: where and when this runs.
        tell: told what is run next.
    """
    found: dict[str, Any] = {}
    samples: dict[str, Any] = {}
    for name in names:
        scored = _SCORES[name]
        found[name], samples[name] = {}, {}
        for verifier, accuracy in VERIFIERS.items():
            tell(f"{name}, {verifier}")
            shown = _shown(DATA[name](accuracy, seed))
            found[name][verifier] = {
                variant: {**scored(told), **_counts(told)} for variant, told in shown.items()
            }
            samples[name][verifier] = {
                variant: [[one.id, *_sample(one, view)] for one, view in told]
                for variant, told in shown.items()
            }
    return {
        "benchmark": "ablate admission",
        "config": {
            "data": list(names),
            "verifiers": dict(VERIFIERS),
            "scan": f"what is so, and {NAMED_BY_WORDS} for each item by words (BM25)",
            "seed": seed,
        },
        **provenance.as_json(),
        "notes": list(NOTES),
        "variants": {one.name: {"source": one.source, "without": one.without} for one in VARIANTS},
        "data": found,
        "source": {
            "actor": "Qwen3.5-122B-A10B on STALE (Table 15)",
            "verdict": "needs a model",
            "rows": TABLE_15,
        },
        "sample_columns": ["return", "shown", "needed", "available", "stale", "withheld", "lacks"],
        "samples": samples,
        "problems": list(problems(found)),
    }


def _stale(accuracy: float, seed: int) -> Iterator[tuple[Return, Looked]]:
    by = judging(stale_truth, accuracy, seed)
    for one in stale_returns():
        yield one, looked_at(one.checkpoint, one.policy, by)


def _travel(accuracy: float, seed: int) -> Iterator[tuple[Return, Looked]]:
    by = judging(travel_truth, accuracy, seed)
    for one in travel_returns():
        yield one, looked_at(one.checkpoint, one.policy, by)


def _memora(accuracy: float, seed: int) -> Iterator[tuple[Return, Looked]]:
    for one, named in memora_returns():
        truth = partial(asked_of, memora_truth(named))
        yield owing(one, judging(truth, accuracy, seed))


DATA: Final[Mapping[str, Callable[[float, int], Iterator[tuple[Return, Looked]]]]] = {
    "stale-shaped": _stale,
    "memora-return": _memora,
    "travel": _travel,
}
"""The data sets by name."""


def _shown(
    returns: Iterator[tuple[Return, Looked]],
) -> dict[str, list[tuple[Return, Shown]]]:
    """What every variant makes of each return."""
    found: dict[str, list[tuple[Return, Shown]]] = {variant.name: [] for variant in VARIANTS}
    for one, looked in returns:
        for variant in VARIANTS:
            found[variant.name].append((one, shown_by(variant, one, looked)))
    return found


def _criteria(one: Return, shown: Shown) -> Criteria:
    return Criteria(
        tuple(shown.states(ids) for ids in one.needed.values()),
        tuple(not shown.leaks(ids) for ids in one.stale.values()),
    )


def _probes(one: Return, shown: Shown) -> Probes:
    adapted = all(shown.states(ids) for ids in one.needed.values())
    resolved = not any(shown.leaks(ids) for ids in one.stale.values())
    return Probes(resolved=resolved, resisted=resolved and adapted, adapted=adapted)


def _as_stale(told: Sequence[tuple[Return, Shown]]) -> dict[str, Any]:
    scores = stale_scores([_probes(one, shown) for one, shown in told])
    return {
        "n": scores.n,
        "overall": percent(scores.overall),
        "sr": percent(scores.sr),
        "pr": percent(scores.pr),
        "via": percent(scores.via),
        "iir": percent(scores.iir),
        "ls": percent(scores.ls),
    }


def _as_memora(told: Sequence[tuple[Return, Shown]]) -> dict[str, Any]:
    scores = memora_scores([_criteria(one, shown) for one, shown in told if one.needed])
    return {
        "n": scores.n,
        "overall": percent(scores.overall),
        "via": percent(scores.via),
        "iir": percent(scores.iir),
        "ls": None,
    }


_SCORES: Final[Mapping[str, Callable[[Sequence[tuple[Return, Shown]]], dict[str, Any]]]] = {
    "stale-shaped": _as_stale,
    "memora-return": _as_memora,
    "travel": _as_memora,
}


def _counts(told: Sequence[tuple[Return, Shown]]) -> dict[str, Any]:
    issued = [(one, shown) for one, shown in told if shown.items is not None]
    return {
        "issued": len(issued),
        "blocked": len(told) - len(issued),
        "incomplete": sum(shown.incomplete for _, shown in issued),
        "stale_in_views": sum(
            any(shown.states(ids) for ids in one.stale.values()) for one, shown in issued
        ),
        "stale_in_experience": sum(
            any(not shown.experience.isdisjoint(ids) for ids in one.stale.values())
            for one, shown in issued
        ),
        "items": round(fmean(len(shown.items or ()) for _, shown in issued), 2) if issued else 0.0,
    }


def _sample(one: Return, shown: Shown) -> list[int]:
    criteria = _criteria(one, shown)
    return [
        int(shown.items is not None),
        len(criteria.presence),
        sum(criteria.presence),
        len(criteria.forgetting),
        sum(criteria.forgetting),
        int(shown.incomplete),
    ]


def problems(found: Mapping[str, Any]) -> Iterator[str]:
    """What makes the result bad news: with an honest verifier, a part that is worth less than none.

    A view that lacks something states more than none at all, so the complete-view gate is held to
    what it keeps from being shown, and not to these scores.
    """
    for name, verifiers in found.items():
        rows = verifiers["honest"]
        full = rows["full"]
        for variant, row in rows.items():
            if variant != "incomplete-views" and row["iir"] > full["iir"]:
                yield f"{name}: {variant} rejects more of what is invalid than the whole"
        if full["incomplete"]:
            yield f"{name}: the whole shows {full['incomplete']} views that lack something"
