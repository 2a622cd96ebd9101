"""What the return benchmarks have in common as commands: options, progress, and what is written."""

from __future__ import annotations

import hashlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from lapse.errors import InvalidValue
from lapse_bench.options import Form
from lapse_bench.returns.registry import METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lapse_bench.returns.episodes import Budget, ReturnMethod

__all__ = [
    "ALL",
    "Characters",
    "Data",
    "Items",
    "Methods",
    "config_of",
    "described",
    "finish",
    "now",
    "progress",
    "shares",
    "split",
    "whole",
]

Methods = Annotated[str, typer.Option("--methods", help="Which, with commas between.")]
Items = Annotated[
    int | None, typer.Option("--items", min=0, help="At most so many items in a view.")
]
Characters = Annotated[
    int | None, typer.Option("--characters", min=0, help="At most so many characters in a view.")
]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="A file or folder of the same form, in place of what ships."),
]
ALL = ",".join(METHODS)


def config_of(methods: Sequence[ReturnMethod], budget: Budget, seed: int) -> dict[str, Any]:
    """What decides a run beside its data."""
    return {
        "methods": [method.name for method in methods],
        "most_items": budget.items,
        "most_characters": budget.characters,
        "seed": seed,
    }


def described(name: str, data: Path | None) -> dict[str, Any]:
    """Which data a run was over."""
    from lapse_bench.returns.shipped import DIGESTS  # noqa: PLC0415 - cheap start

    if data is None:
        return {"name": name, "shipped": True, "sha256": DIGESTS[name]}
    digest = hashlib.sha256()
    files = sorted(data.glob("*.jsonl*")) if data.is_dir() else [data]
    for file in files:
        digest.update(file.read_bytes())
    return {"name": data.name, "shipped": False, "sha256": digest.hexdigest()}


def split(names: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


def whole(field: str, text: str) -> int:
    """A whole number of a list.

    Raises:
        InvalidValue: it is none.
    """
    if not text.isdecimal():
        raise InvalidValue(field, text, "write whole numbers with commas between")
    return int(text)


def shares(field: str, text: str) -> tuple[float, ...]:
    """Numbers with commas between, each once.

    Raises:
        InvalidValue: one is no number.
    """
    found: dict[float, None] = {}
    for one in split(text):
        try:
            found[float(one)] = None
        except ValueError:
            remedy = "write numbers with commas between"
            raise InvalidValue(field, one, remedy) from None
    return tuple(found)


def now() -> str:
    """The date of a run."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def progress() -> Progress:
    """Progress on standard error, where somebody looks at it."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def finish(result: Mapping[str, Any], columns: Sequence[str], form: Form, out: Path | None) -> None:
    """Write a result: all of it as JSON, or some columns of its methods as a table."""
    text = json.dumps(result, indent=1, ensure_ascii=False)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
    if form is Form.JSON:
        sys.stdout.write(text + "\n")
        return
    table = Table(title=result["benchmark"], title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("method")
    for column in columns:
        table.add_column(column, justify="right")
    for name, scores in result["methods"].items():
        table.add_row(name, *(_cell(scores.get(column)) for column in columns))
    Console().print(table)
    for note in result["notes"]:
        Console().print(note, highlight=False)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else ""
