"""The rule stream's result as a table, in the columns of Table 5 of the source text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from lapse_bench.tables import footnote, titled

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["rules_table"]

_COLUMNS = ("arm", "policy", "first-try", "retries", "evict", "restamp", "alert", "attempts")


def rules_table(result: Mapping[str, Any]) -> Table:
    """One line an arm."""
    moves = len(result["config"]["events"])
    table = Table(
        title=f"{titled(result)}: {moves} moves of the rules, none of a row",
        title_justify="left",
        caption=footnote(result),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for place, column in enumerate(_COLUMNS):
        table.add_column(column, justify="left" if place < 2 else "right")  # noqa: PLR2004 - names
    for arm, scores in result["arms"].items():
        table.add_row(
            arm,
            result["config"]["arms"][arm],
            str(scores["first_try"]),
            str(scores["retries"]),
            "+".join(map(str, scores["evictions_by_episode"].values())) or "0",
            str(scores["restamps"]),
            "/".join(map(str, scores["alerts"])) or "-",
            str(scores["attempts"]),
        )
    return table
