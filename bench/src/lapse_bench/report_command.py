"""``lapse-bench report contract``: writes the report and prints the count of cells by verdict."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from lapse_bench.provenance import gathered

__all__ = ["app"]

app = typer.Typer(help="Put printed numbers beside ours.", no_args_is_help=True)


@app.callback()
def _reports() -> None:
    """Put printed numbers beside ours."""


@app.command("contract")
def contract(
    out: Annotated[Path, typer.Option("--out", help="The folder for contract.md and .json.")],
) -> None:
    """Tables 3 to 6 and figures 3 to 5 of the source text, with a verdict for every cell."""
    from lapse_bench import report  # noqa: PLC0415 - the command line starts without servers

    found = report.measured(tell=lambda what: typer.echo(what, err=True))
    date = datetime.now(UTC).isoformat(timespec="seconds")
    result = report.contract_report(report.cells(found), gathered(date=date))
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=2, ensure_ascii=False)
    (out / "contract.json").write_text(text + "\n", encoding="utf-8")
    (out / "contract.md").write_text(report.markdown(result), encoding="utf-8")
    sys.stdout.write(json.dumps(result["verdicts"], indent=2) + "\n")
    if result["problems"]:
        raise typer.Exit(1)
