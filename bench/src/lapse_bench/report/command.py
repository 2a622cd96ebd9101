"""``lapse-bench report contract``: writes the report and prints the count of cells by verdict."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lapse_bench.provenance import gathered

__all__ = ["app"]

app = typer.Typer(help="Put printed numbers beside ours.", no_args_is_help=True)


class Form(StrEnum):
    """How the counts are printed."""

    JSON = "json"
    TABLE = "table"


@app.callback()
def reports() -> None:
    """Put printed numbers beside ours."""


@app.command("contract")
def contract(
    out: Annotated[Path, typer.Option("--out", help="The folder for pages, JSON and figures.")],
    form: Annotated[
        Form, typer.Option("--format", help="How the counts are printed: table or json.")
    ] = Form.TABLE,
    planner: Annotated[
        str,
        typer.Option(
            help="A model that also goes through the wordings, such as local; takes minutes."
        ),
    ] = "",
) -> None:
    """Tables 2 to 7 and figures 3 to 6 of the source text, with a verdict for every cell."""
    from lapse_bench.report.whole import contract_report, written  # noqa: PLC0415 - starts servers

    date = datetime.now(UTC).isoformat(timespec="seconds")
    result = contract_report(
        gathered(date=date), model=planner, tell=lambda what: typer.echo(what, err=True)
    )
    written(result, out)
    if form is Form.JSON:
        sys.stdout.write(json.dumps(result["verdicts"], indent=2) + "\n")
    else:
        for verdict, count in result["verdicts"].items():
            sys.stdout.write(f"{count:>4} {verdict}\n")
        sys.stdout.write(f"{out / 'index.md'}\n")
    for problem in result["problems"]:
        typer.echo(f"problem: {problem}", err=True)
    if result["problems"]:
        raise typer.Exit(1)
