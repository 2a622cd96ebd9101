"""``lapse-bench run gateway``: a real API's history behind a gateway."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lapse_bench.gateway.cost import measure_cost
from lapse_bench.gateway.replay import run_gateway
from lapse_bench.gateway.results import gateway_result, gateway_table
from lapse_bench.provenance import gathered
from lapse_bench.traces import fewer, find, read

__all__ = ["gateway"]


def gateway(
    trace: Annotated[str, typer.Option(help="twilio, adyen, or the path of a trace.")] = "twilio",
    episodes: Annotated[
        int, typer.Option(min=1, help="How many, spread evenly over the history.")
    ] = 1_500,
    tables: Annotated[
        int, typer.Option(min=1, help="At most so many services, chosen by a hash of their names.")
    ] = 120,
    seed: Annotated[int, typer.Option(help="Recorded; decides every draw there is.")] = 0,
    cost: Annotated[bool, typer.Option("--cost", help="Also measure what it costs.")] = False,  # noqa: FBT002 - a flag
    form: Annotated[
        str, typer.Option("--format", help="table for people, json for programs.")
    ] = "table",
    out: Annotated[Path | None, typer.Option(help="Also write the JSON result here.")] = None,
) -> None:
    """A real API's history behind a gateway: its document moves on, agents work."""
    found = find(trace, start=Path.cwd())
    history = fewer(read(found.path, name=found.name), tables=tables)
    replayed = run_gateway(history, episodes=episodes, seed=seed)
    result = gateway_result(
        history,
        replayed,
        config={
            "episodes": episodes,
            "seed": seed,
            "most_tables": tables,
            "thinned_copy": found.thinned,
        },
        provenance=gathered(date=datetime.now(UTC).isoformat(timespec="seconds")),
    )
    if cost:
        result["cost"] = measure_cost()
    text = json.dumps(result, indent=2, ensure_ascii=False)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")
    if form == "json":
        sys.stdout.write(text + "\n")
    else:
        Console().print(gateway_table(result))
        for name, ratio in result.get("cost", {}).items():
            sys.stdout.write(f"{name}: {ratio}\n")
    if result["problems"]:
        raise typer.Exit(1)
