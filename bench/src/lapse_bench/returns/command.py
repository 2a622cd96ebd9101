"""``lapse-bench run memora-return`` and ``lapse-bench run manbench-return``."""

from __future__ import annotations

import hashlib
import json
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from lapse.errors import InvalidValue
from lapse_bench.options import Form, Format, Out, Seed
from lapse_bench.provenance import gathered
from lapse_bench.returns.episodes import Budget
from lapse_bench.returns.manbench import GROUP_SIZES
from lapse_bench.returns.registry import METHODS, chosen_methods

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lapse_bench.returns.episodes import ReturnMethod

__all__ = ["manbench_return", "memora_return"]


class Named(StrEnum):
    """Whether an update says what it replaces."""

    NAMED = "named"
    UNNAMED = "unnamed"


Methods = Annotated[str, typer.Option("--methods", help="Which, with commas between.")]
Items = Annotated[
    int | None, typer.Option("--items", min=0, help="At most so many items in a view.")
]
Characters = Annotated[
    int | None, typer.Option("--characters", min=0, help="At most so many characters in a view.")
]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="A file or folder of the same form, in place of what ships."),
]
_ALL = ",".join(METHODS)


def memora_return(  # noqa: PLR0913, PLR0917 - the options of a command
    methods: Methods = _ALL,
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

    asked, budget = chosen_methods(_split(methods)), Budget(items, characters)
    episodes = tuple(episodes_of(read_memora(data), links=links.value))
    provenance = gathered(date=_now())
    with _progress() as progress:
        task = progress.add_task("memora-return", total=len(episodes) * len(asked))
        ran = run_memora(
            episodes, asked, budget, lambda name: progress.update(task, advance=1, description=name)
        )
    result = {
        "benchmark": "memora-return",
        "data": _described("memora", data),
        "config": {**_config(asked, budget, seed), "links": links.value, "draws": 0},
        **provenance.as_json(),
        "notes": list(MEMORA_NOTES),
        "methods": ran["methods"],
        "source": memora_beside(),
        "sample_columns": ran["sample_columns"],
        "samples": ran["samples"],
        "problems": [],
    }
    _finish(result, ("via", "iir", "overall", "fama", "items", "n"), form, out)


def manbench_return(  # noqa: PLR0913, PLR0917 - the options of a command
    methods: Methods = _ALL,
    sizes: Annotated[
        str, typer.Option("--sizes", help="How many stayed, with commas between.")
    ] = ",".join(map(str, GROUP_SIZES)),
    dissent: Annotated[
        float, typer.Option("--dissent", help="The share of a team that says the opposite.")
    ] = 0.0,
    items: Items = None,
    characters: Characters = None,
    data: Data = None,
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """Return to a team that agrees, on something wrong or on something new: whom to believe?"""
    from lapse_bench.returns.manbench import episodes_of, read_manbench  # noqa: PLC0415
    from lapse_bench.returns.printed import manbench_beside  # noqa: PLC0415
    from lapse_bench.returns.running import MANBENCH_NOTES, run_manbench  # noqa: PLC0415

    asked, budget = chosen_methods(_split(methods)), Budget(items, characters)
    teams = [_whole(size) for size in _split(sizes)]
    if not teams:
        raise InvalidValue("sizes", sizes, "name at least one, as 4,8,16,32")
    questions = read_manbench(data)
    episodes = [
        one
        for size in teams
        for one in episodes_of(questions, size=size, dissent=dissent, seed=seed)
    ]
    provenance = gathered(date=_now())
    with _progress() as progress:
        task = progress.add_task("manbench-return", total=len(episodes) * len(asked))
        ran = run_manbench(
            episodes, asked, budget, lambda name: progress.update(task, advance=1, description=name)
        )
    result = {
        "benchmark": "manbench-return",
        "data": _described("manbench", data),
        "config": {**_config(asked, budget, seed), "sizes": teams, "dissent": dissent},
        **provenance.as_json(),
        "notes": list(MANBENCH_NOTES),
        "methods": ran["methods"],
        "source": manbench_beside(ran["methods"], dissent=dissent),
        "sample_columns": ran["sample_columns"],
        "samples": ran["samples"],
        "problems": [],
    }
    _finish(result, ("via", "iir", "items", "n"), form, out)


def _config(methods: Sequence[ReturnMethod], budget: Budget, seed: int) -> dict[str, Any]:
    return {
        "methods": [method.name for method in methods],
        "most_items": budget.items,
        "most_characters": budget.characters,
        "seed": seed,
    }


def _described(name: str, data: Path | None) -> dict[str, Any]:
    from lapse_bench.returns.shipped import DIGESTS  # noqa: PLC0415 - cheap start

    if data is None:
        return {"name": name, "shipped": True, "sha256": DIGESTS[name]}
    digest = hashlib.sha256()
    files = sorted(data.glob("*.jsonl*")) if data.is_dir() else [data]
    for file in files:
        digest.update(file.read_bytes())
    return {"name": data.name, "shipped": False, "sha256": digest.hexdigest()}


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise InvalidValue("sizes", text, "write whole numbers with commas between")
    return int(text)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _finish(
    result: Mapping[str, Any], columns: Sequence[str], form: Form, out: Path | None
) -> None:
    text = json.dumps(result, indent=1, ensure_ascii=False)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
    if form is Form.JSON:
        sys.stdout.write(text + "\n")
        return
    table = Table(title=result["benchmark"], title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("method")
    for column in columns:
        table.add_column(column, justify="right")
    for name, scores in result["methods"].items():
        table.add_row(name, *(f"{scores[column]:,}" for column in columns))
    Console().print(table)
    for note in result["notes"]:
        Console().print(note, highlight=False)
