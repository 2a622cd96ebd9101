"""VIA and IIR over the accuracy of a verifier, as a picture."""

# matplotlib leaves its keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lapse_bench.returns.verifiers import accuracy_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["curve_of", "draw_curve"]


def curve_of(
    methods: Mapping[str, Mapping[str, Any]], *, first: float = 1.0
) -> list[tuple[float, float, float]]:
    """Accuracy, VIA and IIR of `lapse`, by accuracy; `first` is that of plain `lapse`."""
    points: list[tuple[float, float, float]] = []
    for name, told in methods.items():
        accuracy = first if name == "lapse" else accuracy_of(name)
        if accuracy is not None and name.startswith("lapse"):
            points.append((accuracy, told["via"], told["iir"]))
    return sorted(points)


def draw_curve(
    methods: Mapping[str, Mapping[str, Any]], path: Path, *, title: str, first: float = 1.0
) -> None:
    """Draw the curve, with the smaller of VIA and IIR of the best other method as a line."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    accuracies, via, iir = zip(*curve_of(methods, first=first), strict=True)
    axes.plot(accuracies, via, marker="o", label="lapse, VIA")
    axes.plot(accuracies, iir, marker="s", linestyle="--", label="lapse, IIR")
    others = {
        name: min(told["via"], told["iir"])
        for name, told in methods.items()
        if not name.startswith("lapse")
    }
    if others:
        best = max(others, key=lambda name: others[name])
        axes.axhline(others[best], color="grey", label=f"best other, smaller of both ({best})")
    axes.set(xlabel="accuracy of the verifier (stand-in)", ylabel="%", ylim=(0, 103), title=title)
    axes.legend(loc="lower right", fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure).print_png(str(path))
