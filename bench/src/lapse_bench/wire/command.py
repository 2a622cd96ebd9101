"""The command `lapse-bench wire`."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lapse_bench.provenance import gathered

__all__ = ["wire"]


class Written(StrEnum):
    """How a result is written."""

    JSON = "json"
    TABLE = "table"


def wire(
    form: Annotated[
        Written, typer.Option("--format", help="table for people, json for programs.")
    ] = Written.TABLE,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write the JSON result to this file.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Recorded; nothing here is drawn.")] = 0,
) -> None:
    """Count what the contract costs: bytes over HTTP/1.1, HTTP/2 and MCP, and planner tokens."""
    from lapse_bench.wire.suite import measured  # noqa: PLC0415 - servers and SDKs, when it runs
    from lapse_bench.wire.table import wire_tables  # noqa: PLC0415 - as above

    progress = Console(stderr=True)
    result = measured(
        seed=seed,
        provenance=gathered(date=datetime.now(UTC).isoformat(timespec="seconds")),
        tell=lambda part: progress.print(f"wire: {part}", highlight=False),
    )
    text = json.dumps(result, ensure_ascii=False)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
    if form is Written.JSON:
        sys.stdout.write(text + "\n")
    else:
        Console().print(wire_tables(result))
        for problem in result["problems"]:
            sys.stdout.write(f"problem: {problem}\n")
    if result["problems"]:
        raise typer.Exit(1)
