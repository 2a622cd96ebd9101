"""`lapse-bench run foresight`."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from lapse.errors import InvalidValue
from lapse_bench.provenance import gathered
from lapse_bench.traces import SHIPPED, find, read

if TYPE_CHECKING:
    from lapse_bench.traces import History

__all__ = ["TRACES", "run"]

TRACES: Final = (*SHIPPED, "stackage")
"""What a user can name; the last one is not in the package, only beside a checkout."""

_STACKAGE: Final = Path("..", "shared", "data", "organic", "stackage_daily.jsonl.gz")


class Form(StrEnum):
    """How a result is written."""

    JSON = "json"
    TABLE = "table"


def run(
    trace: Annotated[str, typer.Option(help=f"{', '.join(TRACES)}, or the path of a trace file.")],
    horizon: Annotated[float, typer.Option(min=0.04, help="How far to predict, in days.")] = 30.0,
    shipped: Annotated[  # noqa: FBT002 - an option of the command
        bool, typer.Option("--shipped", help="Take the thinned copy even if the full one is here.")
    ] = False,
    whole: Annotated[  # noqa: FBT002
        bool, typer.Option("--whole", help="Count known defects of the history as drift, too.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the resampling behind the intervals.")] = 0,
    form: Annotated[
        Form, typer.Option("--format", help="table for people, json for programs.")
    ] = Form.TABLE,
    out: Annotated[
        Path | None, typer.Option("--out", help="A folder for the JSON result and the plots.")
    ] = None,
) -> None:
    """Predict drift from the past alone, walking forward over a real history."""
    from lapse_bench.foresight.result import run_foresight  # noqa: PLC0415 - start-up stays cheap

    history, thinned = _history(trace, full=not shipped)
    provenance = gathered(date=datetime.now(UTC).isoformat(timespec="seconds"))
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"foresight, {history.name}", total=None)
        result = run_foresight(
            history,
            horizon_days=horizon,
            seed=seed,
            whole=whole,
            tell=lambda done, of: progress.update(task, completed=done + 1, total=of),
        )
    result["config"]["thinned_copy"] = thinned
    result |= provenance.as_json()
    _finish(result, form, out)


def _history(trace: str, *, full: bool) -> tuple[History, bool]:
    if trace != "stackage":
        found = find(trace, start=Path.cwd(), full=full)
        return read(found.path, name=found.name), found.thinned
    for root in (Path.cwd(), *Path.cwd().parents):
        if (root / "bench" / "pyproject.toml").is_file() and (root / _STACKAGE).is_file():
            return read((root / _STACKAGE).resolve(), name=trace), False
    remedy = "pass the path of a trace file: this history is not in the package"
    raise InvalidValue("trace", trace, remedy)


def _finish(result: dict[str, Any], form: Form, out: Path | None) -> None:
    text = json.dumps(result, indent=2, ensure_ascii=False)
    if out is not None:
        from lapse_bench.foresight.plots import draw  # noqa: PLC0415 - draws in matplotlib

        out.mkdir(parents=True, exist_ok=True)
        file = out / f"foresight-{result['trace']}.json"
        file.write_text(text + "\n", encoding="utf-8")
        for name in (file, *draw(result, out)):
            sys.stderr.write(f"{name}\n")
    if form is Form.JSON:
        sys.stdout.write(text + "\n")
        return
    for level, scores in result["levels"].items():
        Console().print(_table(result["trace"], level, scores))


def _table(trace: str, level: str, scores: dict[str, Any]) -> Table:
    title = f"{level} of {trace}: {scores['n']:,} predictions, {scores['base_rate']:.2%} moved"
    table = Table(title=title, title_justify="left")
    for column in ("model", "log score", "Brier", "gain of ours (95 %)"):
        table.add_column(column)
    for name, model in scores["models"].items():
        gain = scores["gain_over"].get(name)
        told = (
            ""
            if gain is None
            else "{:+.4f} ({:+.4f} to {:+.4f})".format(gain["log_score"], *gain["interval"])
        )
        table.add_row(
            name, f"{model['log_score']['mean']:.4f}", f"{model['brier']['mean']:.4f}", told
        )
    return table
