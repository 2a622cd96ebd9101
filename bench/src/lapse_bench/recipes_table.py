"""The recipe stream's result as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from lapse_bench.recipes_stream import CLASSES
from lapse_bench.tables import footnote, saved, titled

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["recipes_table"]


def recipes_table(result: Mapping[str, Any]) -> Table:
    """One line an arm."""
    table = Table(
        title=titled(result),
        title_justify="left",
        caption=footnote(result),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("arm")
    for column in ("retries", *CLASSES, "evict r/w", "restamp", "done", "saved %"):
        table.add_column(column, justify="right")
    for arm, scores in result["arms"].items():
        shares = [scores["first_try"][name] for name in CLASSES]
        table.add_row(
            arm,
            str(scores["retries"]),
            *(f"{share['ok']}/{share['of']}" for share in shares),
            f"{scores['evictions_correct']}/{scores['evictions_wrong']}",
            str(scores["restamps"]),
            f"{scores['completed']}/{scores['episodes']}",
            saved(scores),
        )
    return table
