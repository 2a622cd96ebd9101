"""Results as tables that fit into eighty columns and read the same without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["footnote", "organic_table", "payments_table", "saved", "speed_table", "titled"]

Result = "Mapping[str, Any]"


def payments_table(result: Mapping[str, Any]) -> Table:
    """One line an arm."""
    columns = [
        "arm",
        "retries",
        "comply %",
        "fund pre",
        "post",
        "control",
        "none",
        "evict r/w",
        "restamp",
        "done",
        "saved %",
    ]
    table = _table(titled(result), columns, footnote(result))
    for arm, scores in result["arms"].items():
        first = scores["first_try"]
        table.add_row(
            arm,
            str(scores["retries"]),
            str(scores["compliance"]),
            *(
                f"{first[name]['ok']}/{first[name]['of']}"
                for name in ("funding_pre", "funding_post", "control", "none")
            ),
            f"{scores['evictions_correct']}/{scores['evictions_wrong']}",
            str(scores["restamps"]),
            f"{scores['completed']}/{scores['episodes']}",
            saved(scores),
        )
    return table


def titled(result: Mapping[str, Any]) -> str:
    """What was run, and who wrote the requests."""
    merged = ", fixes merged by the transport" if result["config"]["consume"] == "apply" else ""
    return f"{result['scenario']}, planner {result['planner']['answered']}{merged}"


def footnote(result: Mapping[str, Any]) -> str | None:
    """What has to stand below a table whose numbers look like a measurement and are none."""
    if not result["planner"]["stand_in"]:
        return None
    return "A stand-in: drawn from rates printed for that model, no measurement of it."


def saved(scores: Mapping[str, Any]) -> str:
    """The share of A0's tokens that an arm did without, in percent."""
    return "" if scores["saving_pct"] is None else str(scores["saving_pct"])


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
        footnote(result),
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


def _table(title: str, columns: Sequence[str], caption: str | None = None) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        caption=caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for place, column in enumerate(columns):
        # Where a table is too wide, the heads of two words give way, and no number does.
        table.add_column(
            column, justify="left" if place == 0 else "right", no_wrap=" " not in column
        )
    return table
