"""The tables of the demonstration of a return, in words that need no glossary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich import box
from rich.table import Table

from lapse.ledger import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from lapse.admission import Fallen
    from lapse.runtime import CycleStory
    from lapse_bench.demo.returning_story import Line
    from lapse_bench.demo.returning_told import Told, Way

__all__ = ["experience_table", "left_out_table", "said_table", "view_table", "ways_table"]

_REASONS: Final = {
    "superseded": "replaced",
    "suspended": "what it was learned from fell",
    "invalidated": "no longer possible",
    "provenance_missing": "nobody has seen it",
    "source_not_shown": "its source is not shown",
    "dependency_lapsed": "what it was learned from fell",
}
"""Reason codes that the story meets, in plain words; others are printed as they are."""


def said_table(lines: Iterable[Line], dead: Collection[str]) -> Table:
    """What was said, by whom, and what has become of it."""
    table = _table(["id", "says", "by", "is it still so?"])
    for line in lines:
        if line.kind in (Kind.OBLIGATION, Kind.FRONTIER):
            continue
        now = "own experience" if line.source else "no" if line.name in dead else "yes"
        if not line.seen:
            now = "nobody knows"
        table.add_row(line.name, line.text, line.by, now)
    return table


def ways_table(ways: Iterable[Way], needs: Collection[str]) -> Table:
    """What each way lets the agent hold for true."""
    table = _table(["way", "no longer true", "needs met", "what it does about the rest"])
    for way in ways:
        rest = sorted(set(needs) - set(way.supported) - set(way.waits))
        about = "acts as if it knew" if way.dead else "asks the others again"
        if way.waits:
            about = f"waits for: {', '.join(way.waits)}"
        elif not rest:
            about = "nothing is left"
        wrong = f"{len(way.dead)}: {', '.join(way.dead)}" if way.dead else "0"
        table.add_row(way.name, wrong, f"{len(way.supported)} of {len(needs)}", about)
    return table


def left_out_table(story: CycleStory, ended: Mapping[str, Fallen]) -> Table:
    """Why each item was left out."""
    table = _table(["left out", "because", "by"])
    for name, fell in ended.items():
        table.add_row(name, worded([fell.reason.value]), fell.by)
    for name, one in sorted(story.left_out.items()):
        table.add_row(name, worded(reason.value for reason in one.reasons), one.by)
    return table


def view_table(shown: Mapping[str, str]) -> Table:
    """What the view says."""
    table = _table(["shown", "says"])
    for name, text in shown.items():
        table.add_row(name, text)
    return table


def experience_table(texts: Mapping[str, str], told: Told) -> Table:
    """What came back of the agent's own experience."""
    table = _table(["experience", "says", "comes back?"])
    for name in told.experience:
        table.add_row(name, texts[name], "yes")
    for name, reasons in told.withheld.items():
        table.add_row(name, texts[name], f"no: {worded(reasons)}")
    return table


def worded(reasons: Iterable[str]) -> str:
    """Reason codes in words."""
    return ", ".join(_REASONS.get(reason, reason) for reason in reasons)


def _table(columns: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column)
    return table
