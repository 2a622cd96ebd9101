"""``lapse-bench report``: writes a report and prints the count of its cells by verdict."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapse.judges import Prompting
from lapse_bench.options import BaseUrl, Form, Format, Seed, asked_for
from lapse_bench.provenance import gathered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.judges import Planner
    from lapse_bench.report.jobs import Job

__all__ = ["app"]

app = typer.Typer(help="Put printed numbers beside ours.", no_args_is_help=True)


@app.callback()
def reports() -> None:
    """Put printed numbers beside ours."""


@app.command("contract")
def contract(
    out: Annotated[Path, typer.Option("--out", help="The folder for pages, JSON and figures.")],
    form: Format = Form.TABLE,
    planner: Annotated[
        str,
        typer.Option(
            help="A model that is also asked what words do: local, openai:MODEL or "
            "anthropic:MODEL; takes minutes."
        ),
    ] = "",
    base_url: BaseUrl = "",
) -> None:
    """Tables 2 to 7 and figures 3 to 6 of the source text, with a verdict for every cell."""
    from lapse_bench.report.whole import contract_report, written  # noqa: PLC0415 - starts servers

    def planner_of(job: Job) -> Planner:
        return asked_for(planner, job.seed, base_url, job.level, Prompting(job.prompting))[0]

    date = datetime.now(UTC).isoformat(timespec="seconds")
    result = contract_report(
        gathered(date=date),
        model=planner,
        planner_of=planner_of,
        tell=lambda what: typer.echo(what, err=True),
    )
    written(result, out)
    _told(result, out, form)


@app.command("admission")
def admission(
    out: Annotated[Path, typer.Option("--out", help="The folder for pages, JSON and figures.")],
    seed: Seed = 0,
    form: Format = Form.TABLE,
) -> None:
    """Tables 1 to 17 and figures 3 to 5 of TRACE, with a verdict for every cell."""
    from lapse_bench.report.admission import admission_report, written  # noqa: PLC0415 - cheap start

    date = datetime.now(UTC).isoformat(timespec="seconds")
    result = admission_report(
        gathered(date=date), seed=seed, tell=lambda what: typer.echo(what, err=True)
    )
    written(result, out)
    _told(result, out, form)


def _told(result: Mapping[str, Any], out: Path, form: Form) -> None:
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
