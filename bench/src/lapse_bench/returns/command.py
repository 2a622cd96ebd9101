"""``lapse-bench run memora-return`` and ``lapse-bench run manbench-return``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapse.admission import Verdict
from lapse.errors import InvalidValue
from lapse_bench.options import Form, Format, Out, Seed
from lapse_bench.provenance import gathered
from lapse_bench.returns.episodes import Budget
from lapse_bench.returns.manbench import GROUP_SIZES
from lapse_bench.returns.registry import chosen_methods
from lapse_bench.returns.verifiers import (
    STAND_IN,
    Accuracies,
    Verifier,
    model_named,
    stand_ins,
    verified,
)
from lapse_bench.returns.writing import (
    ALL,
    Characters,
    Data,
    Items,
    Methods,
    config_of,
    described,
    finish,
    now,
    progress,
    shares,
    split,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lapse_bench.returns.episodes import ReturnMethod
    from lapse_bench.returns.manbench import ManbenchEpisode


__all__ = ["Named", "manbench_return", "memora_return"]


class Named(StrEnum):
    """Whether an update says what it replaces."""

    NAMED = "named"
    UNNAMED = "unnamed"


class Subjects(StrEnum):
    """Whether an answer says which question it answers."""

    HIDDEN = "hidden"
    NAMED = "named"


def memora_return(  # noqa: PLR0913, PLR0917 - the options of a command
    methods: Methods = ALL,
    links: Annotated[
        Named, typer.Option("--links", help="Whether an update names what it replaces.")
    ] = Named.NAMED,
    items: Items = None,
    characters: Characters = None,
    data: Data = None,
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """Return to a week or month of a person's changes: what may still be used?"""
    from lapse_bench.returns.memora import episodes_of, read_memora  # noqa: PLC0415 - cheap start
    from lapse_bench.returns.printed import memora_beside  # noqa: PLC0415
    from lapse_bench.returns.running import MEMORA_NOTES, run_memora  # noqa: PLC0415

    asked, budget = chosen_methods(split(methods)), Budget(items, characters)
    episodes = tuple(episodes_of(read_memora(data), links=links.value))
    provenance = gathered(date=now())
    with progress() as bar:
        task = bar.add_task("memora-return", total=len(episodes) * len(asked))
        ran = run_memora(
            episodes, asked, budget, lambda name: bar.update(task, advance=1, description=name)
        )
    result = {
        "benchmark": "memora-return",
        "data": described("memora", data),
        "config": {**config_of(asked, budget, seed), "links": links.value, "draws": 0},
        **provenance.as_json(),
        "notes": list(MEMORA_NOTES),
        "methods": ran["methods"],
        "source": memora_beside(),
        "sample_columns": ran["sample_columns"],
        "samples": ran["samples"],
        "problems": [],
    }
    finish(result, ("via", "iir", "overall", "fama", "items", "n"), form, out)


Sizes = Annotated[str, typer.Option("--sizes", help="How many stayed, with commas between.")]
Dissent = Annotated[
    float, typer.Option("--dissent", help="The share of a team that says the opposite.")
]
SubjectsBy = Annotated[
    Subjects, typer.Option("--subjects", help="Whether an answer says which question it answers.")
]
Every = Annotated[
    int, typer.Option("--every", min=1, help="Take every so manieth pair of questions.")
]
_SIZES = ",".join(map(str, GROUP_SIZES))


def manbench_return(  # noqa: PLR0913, PLR0917 - the options of a command
    methods: Methods = ALL,
    sizes: Sizes = _SIZES,
    dissent: Dissent = 0.0,
    verifier: Verifier = STAND_IN,
    accuracies: Accuracies = "1,0.9,0.8,0.7,0.6",
    subjects: SubjectsBy = Subjects.HIDDEN,
    every: Every = 1,
    items: Items = None,
    characters: Characters = None,
    data: Data = None,
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """Return to a team that agrees, on something wrong or on something new: whom to believe?"""
    from lapse_bench.returns.manbench import episodes_of, read_manbench  # noqa: PLC0415
    from lapse_bench.returns.manbench_truth import truth_of  # noqa: PLC0415
    from lapse_bench.returns.printed import manbench_beside  # noqa: PLC0415
    from lapse_bench.returns.running import MANBENCH_NOTES  # noqa: PLC0415

    asked, budget = chosen_methods(split(methods)), Budget(items, characters)
    teams = _teams(sizes)
    wanted = _accuracies(accuracies, verifier, seed)
    questions = read_manbench(data)
    drawn: dict[str, Any] = {
        "dissent": dissent,
        "seed": seed,
        "subjects": subjects.value,
        "every": every,
    }
    episodes = [one for size in teams for one in episodes_of(questions, size=size, **drawn)]
    provenance = gathered(date=now())
    with model_named(verifier) as model:
        ours = verified(verifier, wanted, truth_of(questions), seed=seed, model=model)
        curve = ours[1:] if any(method.name == "lapse" for method in asked) else ()
        asked = tuple(ours[0] if method.name == "lapse" else method for method in asked)
        ran = _ran(episodes, asked, curve, budget)
    result = {
        "benchmark": "manbench-return",
        "data": described("manbench", data),
        "config": {
            **config_of((*asked, *curve), budget, seed),
            **drawn,
            "sizes": teams,
            "verifier": verifier if model is None else model.name,
            "curve_size": teams[0],
        },
        **provenance.as_json(),
        "notes": list(MANBENCH_NOTES),
        **ran,
        "source": manbench_beside(ran["methods"], dissent=dissent),
        "problems": [],
    }
    if out is not None and curve:
        result["figures"] = _drawn(ran["methods"], out, first=wanted[0])
    finish(result, ("via", "iir", "items", "calls", "tokens", "n"), form, out)


def _teams(sizes: str) -> list[int]:
    teams = [whole("sizes", size) for size in split(sizes)]
    if not teams:
        raise InvalidValue("sizes", sizes, "name at least one, as 4,8,16,32")
    return teams


def _accuracies(accuracies: str, verifier: str, seed: int) -> tuple[float, ...]:
    """The accuracies; what no stand-in can have is refused before anything is read."""
    wanted = shares("accuracies", accuracies)
    if verifier == STAND_IN:
        stand_ins(wanted, lambda _: Verdict.UNSURE, seed=seed)
    return wanted


def _ran(
    episodes: Sequence[ManbenchEpisode],
    asked: Sequence[ReturnMethod],
    curve: Sequence[ReturnMethod],
    budget: Budget,
) -> dict[str, Any]:
    from lapse_bench.returns.running import run_manbench  # noqa: PLC0415 - cheap start

    # Who is right about two texts does not depend on how many stayed, so one size is enough.
    first = [one for one in episodes if one.size == episodes[0].size]
    with progress() as bar:
        total = len(episodes) * len(asked) + len(first) * len(curve)
        task = bar.add_task("manbench-return", total=total)

        def tell(name: str) -> None:
            bar.update(task, advance=1, description=name)

        ran = run_manbench(episodes, asked, budget, tell)
        _merge(ran, run_manbench(first, curve, budget, tell))
    return ran


def _merge(ran: dict[str, Any], more: dict[str, Any]) -> None:
    ran["methods"] |= more["methods"]
    ran["samples"] |= more["samples"]


def _drawn(methods: dict[str, Any], out: Path, *, first: float) -> list[str]:
    from lapse_bench.returns.curves import draw_curve  # noqa: PLC0415 - cheap start

    path = out.with_suffix(".png")
    title = "ManBench-Return: admission by the verifier's accuracy"
    draw_curve(methods, path, title=title, first=first)
    return [path.name]
