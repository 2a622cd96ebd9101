"""``lapse-bench run stackage-return``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapse_bench.options import Form, Format, Out, Seed
from lapse_bench.provenance import gathered
from lapse_bench.returns.episodes import UNLIMITED
from lapse_bench.returns.lapse_method import LapseMethod
from lapse_bench.returns.registry import chosen_methods
from lapse_bench.returns.writing import (
    ALL,
    Data,
    Methods,
    config_of,
    described,
    finish,
    now,
    progress,
    split,
    whole,
)

if TYPE_CHECKING:
    from lapse_bench.returns.episodes import ReturnMethod

__all__ = ["LINKS_ONLY", "stackage_return"]

Absences = Annotated[str, typer.Option("--absences", help="Days away, with commas between.")]
Departures = Annotated[
    int, typer.Option("--departures", min=1, help="How many moments to leave at.")
]

LINKS_ONLY = LapseMethod("lapse, links only", premises=False)
"""The same without declared premises: what partial recovery is worth."""


def stackage_return(  # noqa: PLR0913, PLR0917 - the options of a command
    methods: Methods = ALL,
    absences: Absences = "1,7,30,90,180,365",
    departures: Departures = 20,
    packages: Annotated[
        int, typer.Option("--packages", min=1, help="How many packages a workload has.")
    ] = 20,
    notes: Annotated[
        int, typer.Option("--notes", min=0, help="How many conclusions the agent left with.")
    ] = 10,
    data: Data = None,
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """Return to a package list days to a year later: what flipped, and what flipped back?"""
    from lapse_bench.returns.stackage import episodes_of, read_statuses  # noqa: PLC0415
    from lapse_bench.returns.stackage_running import STACKAGE_NOTES, run_stackage  # noqa: PLC0415

    asked: tuple[ReturnMethod, ...] = chosen_methods(split(methods))
    if any(method.name == "lapse" for method in asked):
        asked = (*asked, LINKS_ONLY)
    days = [whole("absences", one) for one in split(absences)]
    episodes = tuple(
        episodes_of(
            read_statuses(data),
            absences=days,
            departures=departures,
            packages=packages,
            notes=notes,
            seed=seed,
        )
    )
    provenance = gathered(date=now())
    with progress() as bar:
        task = bar.add_task("stackage-return", total=len(episodes) * len(asked))
        ran = run_stackage(
            episodes,
            asked,
            seed=seed,
            tell=lambda name: bar.update(task, advance=1, description=name),
        )
    result: dict[str, Any] = {
        "benchmark": "stackage-return",
        "data": described("stackage", data),
        "config": {
            **config_of(asked, UNLIMITED, seed),
            "absences": days,
            "departures": departures,
            "packages": packages,
            "notes": notes,
        },
        **provenance.as_json(),
        "notes": list(STACKAGE_NOTES),
        **ran,
        "problems": [],
    }
    finish(result, ("via", "iir", "restored", "items", "n"), form, out)
