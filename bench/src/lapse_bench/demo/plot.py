"""Lines in a terminal: plain characters, one letter for each line, legible without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["plotted"]


def plotted(
    series: Mapping[str, tuple[str, Sequence[float]]],
    *,
    width: int = 76,
    height: int = 14,
    across: str = "",
) -> str:
    """Draw several lines over the same steps.

    Args:
        series: the name of each line, with the character that draws it and its values.
        width: columns in all, names at the line ends included.
        height: rows of the drawing itself.
        across: what the steps are.

    Raises:
        InvalidValue: there is nothing to draw.
    """
    longest = max((len(values) for _, values in series.values()), default=0)
    if not longest:
        raise InvalidValue("series", series, "give at least one line with a value")
    top = max(max(values) for _, values in series.values()) or 1
    left = len(f"{top:,.0f}") + 1
    right = max(len(f"{name} {values[-1]:,.0f}") for name, (_, values) in series.items()) + 1
    columns = width - left - right - 2
    grid = [[" "] * columns for _ in range(height)]
    ends = [""] * height
    for name, (mark, values) in series.items():
        for column in range(columns):
            value = values[min(len(values) - 1, column * (longest - 1) // max(1, columns - 1))]
            grid[_row(value, top, height)][column] = mark
        _place(ends, _row(values[-1], top, height), f"{name} {values[-1]:,.0f}")
    lines: list[str] = []
    for number, cells in enumerate(grid):
        label = f"{top:,.0f}" if number == 0 else "0" if number == height - 1 else ""
        lines.append(f"{label:>{left}}|{''.join(cells)} {ends[number]}".rstrip())
    lines.append(" " * left + "+" + "-" * columns)
    note = f"{across} 1 to {longest:,}"
    lines.append(" " * (left + 1) + note)
    return "\n".join(lines)


def _row(value: float, top: float, height: int) -> int:
    return height - 1 - round(value / top * (height - 1))


def _place(ends: list[str], row: int, text: str) -> None:
    """Put a name at a line's end, or as near to it as there is room."""
    for distance in range(len(ends)):
        for place in (row + distance, row - distance):
            if 0 <= place < len(ends) and not ends[place]:
                ends[place] = text
                return
