"""`lapse-bench attack contract` and `lapse-bench attack admission`."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from lapse.errors import InvalidValue
from lapse_bench.options import Form, Format, Out
from lapse_bench.provenance import gathered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lapse_bench.provenance import Provenance

__all__ = ["app"]

app = typer.Typer(
    help="Attack what protects an agent, and see what each part is worth.", no_args_is_help=True
)


@app.callback()
def attack() -> None:
    """Attack what protects an agent, and see what each part is worth."""


Only = Annotated[str, typer.Option(help="Which cases, with commas between; all if empty.")]


@app.command("contract")
def contract(
    only: Only = "",
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """Forged, replayed and frozen versions, floods, poison: harm with and without protection."""
    from lapse_bench.attacks import CASES, run_attacks  # noqa: PLC0415 - start-up stays cheap

    cases = _chosen(only, CASES)
    provenance = _provenance()
    with Console(stderr=True).status("attack contract") as status:
        result = run_attacks(
            cases,
            provenance=provenance,
            tell=lambda name: status.update(f"attack contract, {name}"),
        )
    _finish(result, attack_table(result), form, out)


@app.command("admission")
def admission(
    only: Only = "",
    form: Format = Form.TABLE,
    out: Out = None,
) -> None:
    """Forged, replayed and altered views, unproven and stale items: what each control keeps out."""
    from lapse_bench.attacks.admission import ADMISSION_CASES, run_admission  # noqa: PLC0415

    cases = _chosen(only, ADMISSION_CASES)
    provenance = _provenance()
    with Console(stderr=True).status("attack admission") as status:
        result = run_admission(
            cases,
            provenance=provenance,
            tell=lambda name: status.update(f"attack admission, {name}"),
        )
    _finish(result, admission_table(result), form, out)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Case = TypeVar("_Case", bound=_Named)


def _chosen(only: str, cases: Sequence[_Case]) -> Sequence[_Case]:
    wanted = [name.strip() for name in only.split(",") if name.strip()]
    known = {case.name: case for case in cases}
    for name in wanted:
        if name not in known:
            raise InvalidValue("only", name, f"name some of {', '.join(known)}")
    return [known[name] for name in wanted] or cases


def _provenance() -> Provenance:
    return gathered(date=datetime.now(UTC).isoformat(timespec="seconds"))


def _finish(result: Mapping[str, Any], table: Table, form: Form, out: Path | None) -> None:
    text = json.dumps(result, indent=2, ensure_ascii=False)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
    if form is Form.JSON:
        sys.stdout.write(text + "\n")
    else:
        Console().print(table)
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


def admission_table(result: Mapping[str, Any]) -> Table:
    """One line an attack."""
    table = Table(box=box.SIMPLE_HEAD, title="attack admission", title_justify="left")
    for column in ("attack", "refused as", "gets through without"):
        table.add_column(column, overflow="fold")
    for case in result["cases"]:
        refused = ", ".join(case["strong"]["reasons"])
        table.add_row(case["name"], refused, " + ".join(case["weakened"]) or "nothing tried")
    for case in result["known_limits"]:
        table.add_row(case["name"], "a known limit: it gets through", "-")
    return table


def _told(harm: Mapping[str, int]) -> str:
    told = (f"{number} {name.replace('_', ' ')}" for name, number in harm.items() if number)
    return ", ".join(told) or "none"
