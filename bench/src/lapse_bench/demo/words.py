"""The tables of the demonstration, in words that need no glossary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lapse_bench.episodes import Episode
    from lapse_bench.payments import ArmRun

__all__ = ["ladder_table", "said", "story_table"]


def said(episode: Episode, *, known: bool) -> str:
    """What happened in one task.

    Args:
        episode: what became of it.
        known: whether the same task had been done before.
    """
    if episode.stale:
        return "wrong, again" if known else "wrong"
    if episode.first_try:
        return "right at once"
    return "asks again" if known else "learns"


def story_table(story: Mapping[str, ArmRun]) -> Table:
    """Each arm's way through the five tasks of the story."""
    table = _table("", ["arm", "1: plan A", "1: plan B", "2: plan A", "3: plan A", "3: plan B"])
    before = (False, False, True, True, True)
    for arm, found in story.items():
        words = [said(e, known=k) for e, k in zip(found.episodes, before, strict=True)]
        # No agent can know of a change before it is told: the first wrong one is nobody's fault.
        words[2] = words[2].replace("wrong, again", "wrong, once")
        table.add_row(arm, *words)
    return table


def ladder_table(arms: Mapping[str, Mapping[str, Any]]) -> Table:
    """Each arm's cost: retries, stale fixes applied, true fixes thrown away."""
    columns = [
        "arm",
        "retries",
        "right at once",
        "used stale",
        "forgot stale",
        "forgot true",
        "done",
    ]
    table = _table("", columns)
    for arm, scores in arms.items():
        first = scores["episodes"] - sum(c != "0" for c in scores.get("retry_vector", ""))
        share = first if "retry_vector" in scores else scores["first_try"]["ok"]
        table.add_row(
            arm,
            f"{scores['retries']:,}",
            f"{share:,} of {scores['episodes']:,}",
            f"{scores['stale_applied']:,}",
            f"{scores['evictions_correct']:,}",
            f"{scores['evictions_wrong']:,}",
            f"{scores['completed']:,}",
        )
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title or None, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    return table
