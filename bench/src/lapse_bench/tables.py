"""Results as tables that fit into eighty columns and read the same without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["organic_table", "payments_table", "speed_table"]

Result = "Mapping[str, Any]"


def payments_table(result: Mapping[str, Any]) -> Table:
    """One line an arm."""
    columns = [
        "arm",
        "retries",
        "comply",
        "funding pre",
        "post",
        "control",
        "none",
        "evict r/w",
        "restamp",
        "done",
    ]
    planner = result["planner"]["answered"]
    table = _table(f"{result['scenario']}, planner follows the {planner} entry", columns)
    for arm, scores in result["arms"].items():
        first = scores["first_try"]
        table.add_row(
            arm,
            str(scores["retries"]),
            f"{scores['compliance']} %",
            *(
                f"{first[name]['ok']}/{first[name]['of']}"
                for name in ("funding_pre", "funding_post", "control", "none")
            ),
            f"{scores['evictions_correct']}/{scores['evictions_wrong']}",
            str(scores["restamps"]),
            f"{scores['completed']}/{scores['episodes']}",
        )
    return table


def organic_table(result: Mapping[str, Any]) -> Table:
    """One line an arm."""
    columns = [
        "arm",
        "episodes",
        "retries",
        "first-try",
        "stale applied",
        "evict right",
        "wrong",
        "restamp",
        "done",
    ]
    trace = result["trace"]
    table = _table(
        f"{trace['name']}: {trace['events']:,} real changes, {trace['since'][:10]} to "
        f"{trace['until'][:10]}",
        columns,
    )
    for arm, scores in result["arms"].items():
        table.add_row(
            arm,
            f"{scores['episodes']:,}",
            f"{scores['retries']:,}",
            f"{scores['first_try']['pct']} %",
            f"{scores['stale_applied']:,}",
            f"{scores['evictions_correct']:,}",
            f"{scores['evictions_wrong']:,}",
            f"{scores['restamps']:,}",
            f"{scores['completed']:,}",
        )
    return table


def speed_table(result: Mapping[str, Any]) -> Table:
    """One line a ratio."""
    table = _table(
        "ratios within one run", ["path", "ratio", "goal", "met", "ours µs", "reference µs"]
    )
    for name, found in result["ratios"].items():
        bound = "≤" if found["goal_is"] == "at most" else "≥"
        table.add_row(
            name,
            f"{found['ratio']:.2f}",
            f"{bound} {found['goal']}",
            "yes" if found["met"] else "NO",
            f"{found['median_ours_us']:,.2f}",
            f"{found['median_theirs_us']:,.2f}",
        )
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    return table
