"""``lapse-bench run return-scale``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from lapse_bench.options import Form, Format, Out, Seed
from lapse_bench.provenance import gathered
from lapse_bench.returns.episodes import UNLIMITED
from lapse_bench.returns.registry import METHODS
from lapse_bench.returns.writing import config_of, finish, now, progress, split, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["return_scale"]

_COLUMNS = (
    "held",
    "team",
    "each",
    "events",
    "recall",
    "via",
    "iir",
    "verify_held",
    "verify_absence",
    "all_pairs_held",
    "all_pairs_absence",
    "model_scan_held",
    "tokens",
)


def return_scale(
    held: Annotated[
        str, typer.Option("--held", help="Items that the agent left with, with commas between.")
    ] = "20,80",
    team: Annotated[
        str, typer.Option("--team", help="How many stayed, with commas between.")
    ] = "4,8,16,32",
    each: Annotated[
        str, typer.Option("--each", help="Remarks that each of them made, with commas between.")
    ] = "5,20",
    most: Annotated[
        int, typer.Option("--most", min=1, help="How many later items a proposer names for each.")
    ] = 4,
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """Hold more, stay away longer, in a larger team: which calls grow with what?"""
    from lapse_bench.returns.scale import SCALE_NOTES, grown, run_scale  # noqa: PLC0415

    sizes = [
        (items, members, remarks)
        for items in _numbers("held", held)
        for members in _numbers("team", team)
        for remarks in _numbers("each", each)
    ]
    workspaces = [grown(held=h, team=t, each=e, seed=seed) for h, t, e in sizes]
    asked = tuple(method for method in METHODS.values() if method.name != "lapse")
    provenance = gathered(date=now())
    with progress() as bar:
        task = bar.add_task("return-scale", total=len(workspaces) + len(asked))
        ran = run_scale(
            workspaces,
            asked,
            most=most,
            tell=lambda name: bar.update(task, advance=1, description=name),
        )
    result: dict[str, Any] = {
        "benchmark": "return-scale",
        "config": {
            **config_of(asked, UNLIMITED, seed),
            "held": held,
            "team": team,
            "each": each,
            "most": most,
        },
        **provenance.as_json(),
        "notes": list(SCALE_NOTES),
        **ran,
        "problems": [],
    }
    finish(result, ("via", "iir", "calls", "tokens", "n"), form, out)
    if form is not Form.JSON:
        _table(result["rows"])


def _numbers(field: str, text: str) -> list[int]:
    return [whole(field, one) for one in split(text)]


def _table(rows: Sequence[dict[str, Any]]) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for column in _COLUMNS:
        table.add_column(column.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*(f"{row[column]:,}" for column in _COLUMNS))
    Console().print(table)
