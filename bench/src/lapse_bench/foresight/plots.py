"""Plots of a result: is what was said to be likely what happened, and by how much is ours better?

Needs matplotlib, which is imported when a plot is asked for. The files are the same for the same
result: no date, no random ids.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments untyped.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse_bench.foresight.models import BASELINES, OURS

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

__all__ = ["draw"]

_COLOURS: Final = {OURS: "#1b6ca8", "same_as_last": "#d1495b", "row_rate": "#8d8d8d"}
_LOWEST: Final = 5e-4
"""Where the logarithmic axes begin, as a probability."""
_FEWEST: Final = 30
"""Predictions a bin needs to be drawn."""


def draw(result: dict[str, Any], folder: Path) -> list[Path]:
    """Draw a result's plots into a folder, as SVG and PNG; returns the files."""
    import matplotlib as mpl  # noqa: PLC0415 - a second to import, for plots alone

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    mpl.rcParams["svg.hashsalt"] = "lapse"
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    figure, axes = plt.subplots(2, 2, figsize=(9, 7.5), height_ratios=(3, 1.4))
    for column, (name, level) in enumerate(result["levels"].items()):
        _reliability(axes[0][column], level, f"{name} of {result['trace']}")
        _gains(axes[1][column], level)
    days = result["config"]["horizon_days"]
    figure.suptitle(f"Moves within {days:g} days, walking forward", fontsize=11)
    figure.tight_layout()
    for ending, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        file = folder / f"foresight-{result['trace']}.{ending}"
        figure.savefig(file, dpi=110, metadata=metadata)
        files.append(file)
    plt.close(figure)
    return files


def _reliability(axes: Axes, level: dict[str, Any], title: str) -> None:
    axes.plot([_LOWEST, 1], [_LOWEST, 1], color="#bbbbbb", linewidth=1)
    for name, colour in _COLOURS.items():
        bins = [b for b in level["models"][name]["calibration"] if b["n"] >= _FEWEST]
        said = [max(b["predicted"], _LOWEST) for b in bins]
        seen = [max(b["observed"], _LOWEST) for b in bins]
        sizes = [8 + 90 * (b["n"] / level["n"]) ** 0.5 for b in bins]
        axes.plot(said, seen, color=colour, linewidth=1, alpha=0.7)
        axes.scatter(said, seen, s=sizes, color=colour, label=name.replace("_", " "), alpha=0.8)
    for bin_ in level["models"][OURS]["calibration"]:
        if bin_["n"] >= _FEWEST:
            place = (max(bin_["predicted"], _LOWEST), max(bin_["observed"], _LOWEST))
            axes.annotate(f"{bin_['n']:,}", place, (4, -9), textcoords="offset points", fontsize=6)
    axes.set(xscale="log", yscale="log", xlim=(_LOWEST, 1.15), ylim=(_LOWEST, 1.15))
    axes.set(xlabel="predicted (bins: mean)", ylabel="observed (share)", title=title)
    axes.title.set_fontsize(10)
    axes.legend(fontsize=7, loc="upper left")


def _gains(axes: Axes, level: dict[str, Any]) -> None:
    names = [name for name in BASELINES if name != "same_as_last_literal"]
    for place, name in enumerate(names):
        gain = level["gain_over"][name]
        low, high = gain["interval"]
        axes.plot([low, high], [place, place], color="#1b6ca8", linewidth=3, alpha=0.4)
        axes.plot([gain["log_score"]], [place], "o", color="#1b6ca8")
    axes.axvline(0, color="#bbbbbb", linewidth=1)
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names], fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("gain of ours, nats a prediction (95 %)", fontsize=8)
