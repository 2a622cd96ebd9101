"""``lapse-bench speed admission``."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from lapse.errors import InvalidValue
from lapse_bench.options import Form, Format, Seed
from lapse_bench.provenance import gathered

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["speed_admission"]

_FEWEST = 100
"""Items of the smallest workspace: obligations and frontiers are sixteen of them."""


def speed_admission(
    sizes: Annotated[
        str, typer.Option(help="How many candidates, with commas between.")
    ] = "1000,10000,100000,1000000",
    readmitted: Annotated[
        int, typer.Option(min=1_000, help="How many items a return is decided again over.")
    ] = 100_000,
    instances: Annotated[
        int, typer.Option(min=2, help="Random returns that selectors are compared on.")
    ] = 1_000,
    turns: Annotated[int, typer.Option(min=2, help="Samples of each measurement.")] = 5,
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write the JSON result to this file.")
    ] = None,
) -> None:
    """How fast a return is decided, how fast again, and what the greedy choice costs."""
    from lapse_bench.speed.admission import run_admission_speed  # noqa: PLC0415 - cheap start

    result = run_admission_speed(
        sizes=[_whole(size) for size in sizes.split(",")],
        readmitted=readmitted,
        instances=instances,
        turns=turns,
        seed=seed,
        provenance=gathered(date=datetime.now(UTC).isoformat(timespec="seconds")),
        tell=_say,
    )
    text = json.dumps(result, indent=2, ensure_ascii=False)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
    if form is Form.JSON:
        sys.stdout.write(text + "\n")
    else:
        console = Console()
        for table in _tables(result):
            console.print(table)
        for problem in result["problems"]:
            console.print(f"problem: {problem}", highlight=False)
    if result["problems"]:
        raise typer.Exit(1)


def _whole(size: str) -> int:
    if not size.strip().isdecimal() or int(size) < _FEWEST:
        raise InvalidValue("sizes", size, f"name whole numbers from {_FEWEST}, with commas between")
    return int(size)


def _say(what: str) -> None:
    sys.stderr.write(f"{what}\n")


def _tables(result: Mapping[str, Any]) -> tuple[Table, Table, Table]:
    from lapse_bench.speed.admission import medians  # noqa: PLC0415 - cheap start

    sizes = _table("gates and selection", "items", "eligible", "gates ms", "selection ms", "bytes")
    for one in result["gates_and_selection"]:
        gates, selection = medians(one["gates_ms"])[1], medians(one["selection_ms"])[1]
        cells = (one["items"], one["eligible"], gates, selection, one["bytes_an_item"])
        sizes.add_row(*(f"{cell:,.0f}" if cell > 100 else f"{cell:.1f}" for cell in cells))  # noqa: PLR2004
    again = _table("ten changes", "of them new", "again ms", "from the start ms", "times")
    for one in result["readmission"].values():
        ours, theirs = medians(one["again_ms"])[1], medians(one["from_the_start_ms"])[1]
        again.add_row(str(one["came"]), f"{ours:.1f}", f"{theirs:,.0f}", f"{one['ratio']:.0f}")
    sets = _table(
        "beside the cheapest set", "selector", "found", "missed", "mean %", "p99 %", "max %"
    )
    for name, one in result["selectors"]["selectors"].items():
        gap = one["gap_percent"]
        found, lost = str(one["both_find_a_set"]), str(one["only_exact_finds_one"])
        sets.add_row(name, found, lost, *(f"{gap[key]:.2f}" for key in ("mean", "p99", "max")))
    return sizes, again, sets


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    return table
