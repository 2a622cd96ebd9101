"""Figures 3 to 5 of the source text, from a report, as SVG and PNG.

Printed numbers are in colour, ours in grey and black. Colours are those of Okabe and Ito; nothing
is told by its colour alone. The files are the same for the same report.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments untyped.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse_bench.report.admission_printed import ACTORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["admission_drawn"]

_BLUE: Final = "#0072B2"
_ORANGE: Final = "#E69F00"
_GREEN: Final = "#009E73"
_GREYS: Final = ("#333333", "#aaaaaa")
_MARKERS: Final = {"static": "s", "restore": "^", "reset": "D", "TRACE": "o"}

_SIZES: Final = {"static": 110, "restore": 45, "reset": 45, "TRACE": 40}
"""Where several methods meet in a corner, the outer marks are larger."""

Report = dict[str, Any]


def admission_drawn(result: Report, folder: Path) -> list[Path]:
    """Draw every figure of a report into a folder; returns the files."""
    import matplotlib as mpl  # noqa: PLC0415 - a second to import, for plots alone

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    mpl.rcParams["svg.hashsalt"] = "lapse"
    mpl.rcParams["font.size"] = 9
    mpl.rcParams["axes.spines.top"] = mpl.rcParams["axes.spines.right"] = False
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for name, draw in (("figure-3", _ablations), ("figure-4", _plane), ("figure-5", _stores)):
        figure = draw(result)
        for ending, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
            file = folder / f"{name}.{ending}"
            figure.savefig(file, dpi=130, metadata=metadata)
            files.append(file)
        plt.close(figure)
    return files


def _panels(columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    from matplotlib import pyplot as plt  # noqa: PLC0415 - as above

    figure, axes = plt.subplots(1, columns, figsize=size, squeeze=False, layout="constrained")
    return figure, list(axes[0])


def _rows(result: Report, place: str) -> dict[str, dict[str, Mapping[str, Any]]]:
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for cell in result["cells"]:
        if cell["place"] == place:
            found.setdefault(cell["row"], {})[cell["column"]] = cell
    return found


def _bars(
    axes: Axes, groups: Sequence[str], series: Mapping[str, tuple[str, Sequence[float | None]]]
) -> None:
    """Bars side by side; where there is no number, there is no bar."""
    width = 0.8 / len(series)
    for place, (name, (colour, values)) in enumerate(series.items()):
        at = [
            (group + (place - (len(series) - 1) / 2) * width, value)
            for group, value in enumerate(values)
            if value is not None
        ]
        bars = axes.bar(
            [x for x, _ in at], [y for _, y in at], width, label=name, color=colour, zorder=2
        )
        axes.bar_label(bars, fmt="%.0f", fontsize=6.5)
    axes.set_xticks(range(len(groups)), list(groups), rotation=15, ha="right")
    axes.set_ylim(0, 109)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=7, frameon=False)


def _ablations(result: Report) -> Figure:
    rows = _rows(result, "Figure 3")
    figure, axes = _panels(3, (11.0, 3.2))
    verifiers = sorted({name for row in rows.values() for c in row.values() for name in c["ours"]})
    for panel, what in zip(axes, ("Overall", "VIA", "IIR"), strict=True):
        series: dict[str, tuple[str, Sequence[float | None]]] = {
            "printed, Qwen on STALE": (_BLUE, [row[what]["printed"] for row in rows.values()])
        }
        for colour, name in zip(_GREYS, verifiers, strict=False):
            values = [row[what]["ours"].get(name) for row in rows.values()]
            series[f"ours, views, {name}"] = (colour, values)
        _bars(panel, list(rows), series)
        panel.set_title(f"{what} (%)", fontsize=9)
    _legend(figure, axes[0])
    return figure


def _plane(result: Report) -> Figure:
    rows = _rows(result, "Figure 4")
    figure, axes = _panels(3, (11.0, 3.7))
    for panel, actor in zip(axes, ACTORS, strict=True):
        for row, columns in rows.items():
            who, condition, method = row.split("/")
            if who != actor or method not in _MARKERS:
                continue
            filled = condition == "Old-Stale"
            _point(panel, columns, method, filled=filled)
        panel.set_title(f"{actor}", fontsize=9)
        panel.set_xlim(-8, 108)
        panel.set_ylim(-8, 108)
        panel.set_xlabel("VIA (%)")
        panel.set_ylabel("IIR (%)")
        panel.grid(color="#dddddd", linewidth=0.6)
    _legend(figure, axes[0])
    return figure


def _point(
    axes: Axes, columns: Mapping[str, Mapping[str, Any]], method: str, *, filled: bool
) -> None:
    name = "static, MemStrata, MemTX" if method == "static" else method
    label = name if filled else None
    via, iir = columns["VIA"], columns["IIR"]
    axes.scatter(
        via["printed"],
        iir["printed"],
        marker=_MARKERS[method],
        s=_SIZES[method],
        edgecolors=_BLUE,
        facecolors=_BLUE if filled else "none",
        label=label,
        zorder=3,
    )
    for colour, who in zip(_GREYS, via["ours"], strict=False):
        axes.scatter(
            via["ours"][who],
            iir["ours"][who],
            marker="+" if method == "TRACE" else "x",
            s=40,
            color=colour,
            label=f"ours, {who}" if filled and method == "TRACE" else None,
            zorder=4,
        )


def _stores(result: Report) -> Figure:
    rows = _rows(result, "Figure 5")
    stores = list(dict.fromkeys(row.partition("/")[0] for row in rows))
    figure, axes = _panels(2, (8.5, 3.2))
    for panel, what in zip(axes, ("IIR", "FAMA"), strict=True):
        series: dict[str, tuple[str, Sequence[float | None]]] = {
            f"printed, {method}": (
                colour,
                [rows[f"{store}/{method}"][what]["printed"] for store in stores],
            )
            for method, colour in (("static", _ORANGE), ("TRACE", _GREEN))
        }
        _bars(panel, stores, series)
        panel.set_title(f"{what} (%), Memora at 50 %", fontsize=9)
    _legend(figure, axes[0])
    return figure
