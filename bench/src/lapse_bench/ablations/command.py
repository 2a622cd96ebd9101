"""``lapse-bench ablate admission``: what each mechanism of admission is worth."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from lapse.errors import InvalidValue
from lapse_bench.options import Form, Format, Out, Seed
from lapse_bench.provenance import gathered

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["app"]

app = typer.Typer(help="Take one mechanism out at a time.", no_args_is_help=True)

_DATA: Final = "stale-shaped,memora-return,travel"
_COLUMNS: Final = ("overall", "via", "iir", "ls", "issued", "blocked", "incomplete")


@app.callback()
def ablate() -> None:
    """Take one mechanism out at a time."""


@app.command("admission")
def admission(
    data: Annotated[str, typer.Option("--data", help="Which sets, with commas between.")] = _DATA,
    seed: Seed = 0,
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """Inference, selection, the complete-view gate, bound experience: views without each."""
    from lapse_bench.ablations.running import DATA, run_ablations  # noqa: PLC0415 - cheap start

    names = [name.strip() for name in data.split(",") if name.strip()]
    for name in names:
        if name not in DATA:
            raise InvalidValue("data", name, f"name some of {', '.join(DATA)}")
    if not names:
        raise InvalidValue("data", data, f"name some of {', '.join(DATA)}")
    provenance = gathered(date=datetime.now(UTC).isoformat(timespec="seconds"))
    with Console(stderr=True).status("ablate admission") as status:
        result = run_ablations(
            names,
            seed=seed,
            provenance=provenance,
            tell=lambda what: status.update(f"ablate admission, {what}"),
        )
    text = json.dumps(result, indent=1, ensure_ascii=False)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
    if form is Form.JSON:
        sys.stdout.write(text + "\n")
    else:
        for table in _tables(result):
            Console().print(table)
        for line in (*result["notes"], *(f"problem: {one}" for one in result["problems"])):
            Console().print(line, highlight=False)
    if result["problems"]:
        raise typer.Exit(1)


def _tables(result: Mapping[str, Any]) -> list[Table]:
    """A table for each data set and verifier, the printed rows beside those of STALE's shape."""
    found: list[Table] = []
    printed = result["source"]["rows"]
    for name, verifiers in result["data"].items():
        for verifier, rows in verifiers.items():
            table = Table(box=box.SIMPLE_HEAD, title=f"{name}, {verifier}", title_justify="left")
            table.add_column("variant")
            beside = name == "stale-shaped"
            for column in (*_COLUMNS, *(("printed overall",) if beside else ())):
                table.add_column(column, justify="right")
            for variant, row in rows.items():
                values = ["-" if row[one] is None else f"{row[one]:g}" for one in _COLUMNS]
                values += [f"{printed[variant]['Overall']:g}"] if beside else []
                table.add_row(variant, *values)
            found.append(table)
    return found
