"""Attacks on admission: each with every control on, and with controls weakened.

What a control is worth is what gets through without it. Every attack is played against all
controls, against all but one (each of them in turn), and against all but the ones that it names;
where a single control off lets nothing through, another one holds, and the result says which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse_bench.attacks.admission_claims import ON_CLAIMS
from lapse_bench.attacks.admission_items import ON_ITEMS
from lapse_bench.attacks.admission_lived import LIVED
from lapse_bench.attacks.admission_scene import Control, Defence
from lapse_bench.attacks.admission_views import ON_VIEWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lapse_bench.attacks.admission_scene import AdmissionCase, Outcome
    from lapse_bench.provenance import Provenance

__all__ = ["ADMISSION_CASES", "DECIDED", "problems", "run_admission", "run_case"]

DECIDED: Final = (*ON_VIEWS, *ON_ITEMS, *ON_CLAIMS)
"""Attacks on decisions and views as values, where every control can be weakened by itself."""

ADMISSION_CASES: Final = (*DECIDED, *LIVED)
"""`lapse-bench attack admission`."""


def run_admission(
    cases: Sequence[AdmissionCase],
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
    limits = {case.name for case in cases if case.known_limit}
    decided = [one for one in found if one["over"] == "values"]
    return {
        "benchmark": "attack admission",
        "config": {
            "scene": "the travel case (appendix C.6)",
            "controls": [control.value for control in Control],
        },
        **provenance.as_json(),
        "cases": [one for one in found if one["name"] not in limits],
        "known_limits": [one for one in found if one["name"] in limits],
        "controls": {control.value: _worth(control, decided) for control in Control},
        "problems": list(problems(cases, found)),
    }


def run_case(case: AdmissionCase) -> dict[str, Any]:
    """Play a case against every control, and without some."""
    strong = case.run(Defence())
    weak = case.run(Defence(frozenset(case.controls))) if case.controls else None
    lived = case in LIVED  # each play opens a database, so only the controls that matter are tried
    tried = [one for one in Control if not lived or one in case.controls]
    alone = [one for one in tried if case.run(Defence(frozenset({one}))).through]
    return {
        "name": case.name,
        "attack": case.attack,
        "over": "a workspace on SQLite" if lived else "values",
        "panel": case.panel,
        "strong": _told(strong),
        "weakened": [control.value for control in case.controls],
        "weak": None if weak is None else _told(weak),
        "through_without": [control.value for control in alone],
        "held_by": _second(case),
        "gains": case.gains,
        "residual": case.residual,
    }


def _second(case: AdmissionCase) -> list[str]:
    """What still objects when the first of several controls is off."""
    if len(case.controls) < 2:  # noqa: PLR2004 - there is no second one
        return []
    return list(case.run(Defence(frozenset(case.controls[:1]))).reasons)


def _told(outcome: Outcome) -> dict[str, Any]:
    return {"through": outcome.through, "reasons": list(outcome.reasons)}


def _worth(control: Control, found: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """What a control keeps out by itself, and what it keeps out together with others."""
    alone = [
        one["name"]
        for one in found
        if control.value in one["through_without"] and not one["strong"]["through"]
    ]
    named = [one["name"] for one in found if control.value in one["weakened"]]
    return {"alone": alone, "with_others": [name for name in named if name not in alone]}


def problems(cases: Sequence[AdmissionCase], found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What makes the result bad news: an attack that gets through, or one that proves nothing."""
    for case, result in zip(cases, found, strict=True):
        strong, weak = result["strong"], result["weak"]
        if strong["through"] is not case.known_limit:
            said = (
                "it got through" if strong["through"] else "it is refused, and said to be a limit"
            )
            yield f"{case.name}: {said}"
        elif tuple(strong["reasons"]) != case.refused_as:
            yield f"{case.name}: refused as {strong['reasons']}, and not as {case.refused_as}"
        if weak is not None and not weak["through"]:
            yield f"{case.name}: it fails without {result['weakened']} too, so they prove nothing"
