"""How the command speaks: tables for people, JSON for programs, exit codes that mean something."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lapse.errors import CallerError, LapseError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from lapse.ledger import Instant

__all__ = [
    "Exit",
    "Format",
    "FormatOption",
    "counted",
    "errors_explained",
    "iso",
    "print_json",
    "print_table",
    "say",
    "warn",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Exit(IntEnum):
    """What the exit code means."""

    FINE = 0
    PROBLEMS = 1
    USAGE = 2


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


FormatOption = Annotated[
    Format,
    typer.Option(
        "--format", help="'table' for people, 'json' for programs (nothing else on stdout)."
    ),
]


def counted(number: int, noun: str) -> str:
    """A number with its noun: one record, two records."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def iso(instant: Instant) -> str:
    """An instant as people read it: UTC, to the second."""
    try:
        return (
            (_EPOCH + timedelta(microseconds=instant))
            .isoformat(timespec="seconds")
            .replace("+00:00", "Z")
        )
    except OverflowError:
        return f"{instant} µs"


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, empty: str
) -> None:
    """A table, or a sentence where there is nothing to tabulate. Cells are text, never markup."""
    cells = [[escape(str(cell)) for cell in row] for row in rows]
    if not cells:
        say(empty)
        return
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in cells:
        table.add_row(*row)
    Console().print(table)


def say(*sentences: str) -> None:
    """Sentences on standard output, each on a line of its own."""
    for sentence in sentences:
        typer.echo(sentence)


def warn(sentence: str) -> None:
    """A sentence on standard error."""
    typer.echo(sentence, err=True)


@contextmanager
def errors_explained() -> Generator[None]:
    """Turn what lapse raises on purpose into a sentence and an exit code, without a traceback."""
    try:
        yield
    except CallerError as error:
        warn(f"lapse: {error}")
        raise typer.Exit(Exit.USAGE) from None
    except LapseError as error:
        warn(f"lapse: {error}")
        raise typer.Exit(Exit.PROBLEMS) from None
