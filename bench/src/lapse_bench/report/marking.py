"""Markdown, as the report's pages need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["STAND_IN_SAID", "Report", "cells_of", "row", "share", "table", "text"]

Report = dict[str, Any]

STAND_IN_SAID: Final = """
A stand-in draws from the printed rates of its model (the mean of three seeds is shown). It is close
by construction, measures nothing, and no verdict rests on it."""


def text(lines: Iterable[str]) -> str:
    """A page of lines."""
    return "\n".join(lines) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table, with an empty line before it."""
    return ["", row(head), row(["---"] * len(head)), *map(row, rows)]


def row(values: Sequence[object]) -> str:
    """One line of a table; None is an empty cell."""
    return f"| {' | '.join('' if value is None else str(value) for value in values)} |"


def share(found: Report) -> str:
    """A share in percent with its counts; of nothing, a dash."""
    return "-" if found["pct"] is None else f"{found['pct']:g} % ({found['ok']}/{found['of']})"


def cells_of(result: Report, place: str) -> list[str]:
    """The table of a place's cells."""
    cells = [cell for cell in result["cells"] if cell["place"] == place]
    planners = list(dict.fromkeys(name for cell in cells for name in cell["ours"]))
    stand_ins = any(cell["stand_in"] is not None for cell in cells)
    head = ["row", "column", "printed", *(f"ours, {planner}" for planner in planners)]
    head += ["a stand-in"] if stand_ins else []
    rows = [
        (
            cell["row"],
            cell["column"],
            cell["printed"],
            *(cell["ours"].get(planner) for planner in planners),
            *((cell["stand_in"],) if stand_ins else ()),
            cell["verdict"],
            f"`{cell['basis']}`",
            cell["why"],
        )
        for cell in cells
    ]
    told = table([*head, "verdict", "basis", "why"], rows)
    return [*told, STAND_IN_SAID] if stand_ins else told
