"""`lapse-bench attack contract`."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from lapse.errors import InvalidValue
from lapse_bench.provenance import gathered

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["app"]

app = typer.Typer(help="Attack a client, with protection and without.", no_args_is_help=True)


@app.callback()
def attack() -> None:
    """Attack a client, with protection and without."""


class Form(StrEnum):
    """How a result is written."""

    JSON = "json"
    TABLE = "table"


@app.command("contract")
def contract(
    only: Annotated[str, typer.Option(help="Which cases, with commas between; all if empty.")] = "",
    form: Annotated[
        Form, typer.Option("--format", help="table for people, json for programs.")
    ] = Form.TABLE,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write the JSON result to this file.")
    ] = None,
) -> None:
    """Forged, replayed and frozen versions, floods, poison: harm with and without protection."""
    from lapse_bench.attacks import CASES, run_attacks  # noqa: PLC0415 - start-up stays cheap

    wanted = [name.strip() for name in only.split(",") if name.strip()]
    known = {case.name: case for case in CASES}
    for name in wanted:
        if name not in known:
            raise InvalidValue("only", name, f"name some of {', '.join(known)}")
    provenance = gathered(date=datetime.now(UTC).isoformat(timespec="seconds"))
    console = Console(stderr=True)
    with console.status("attack contract") as status:
        result = run_attacks(
            [known[name] for name in wanted] or CASES,
            provenance=provenance,
            tell=lambda name: status.update(f"attack contract, {name}"),
        )
    text = json.dumps(result, indent=2, ensure_ascii=False)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
    if form is Form.JSON:
        sys.stdout.write(text + "\n")
    else:
        Console().print(attack_table(result))
        for problem in result["problems"]:
            Console().print(f"problem: {problem}", highlight=False)
    if result["problems"]:
        raise typer.Exit(1)


def attack_table(result: Mapping[str, Any]) -> Table:
    """One line an attack."""
    table = Table(box=box.SIMPLE_HEAD, title="attack contract", title_justify="left")
    for column in ("attack", "harm, unprotected", "harm, protected", "detected as"):
        table.add_column(column, overflow="fold")
    for case in result["cases"]:
        table.add_row(
            case["name"],
            _told(case["harm_unprotected"]),
            _told(case["harm_protected"]),
            ", ".join(case["detected_as"]) or "-",
        )
    return table


def _told(harm: Mapping[str, int]) -> str:
    told = (f"{number} {name.replace('_', ' ')}" for name, number in harm.items() if number)
    return ", ".join(told) or "none"
