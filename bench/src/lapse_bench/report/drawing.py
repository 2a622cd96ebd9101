"""Figures 3 to 6 of the source text and one of our own, from a report, as SVG and PNG.

Printed numbers are in colour, ours in grey and black, stand-ins dotted. Colours are those of Okabe
and Ito, which readers who see fewer colours can tell apart; no line is told by its colour alone.
The files are the same for the same report: no date, no random ids.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments untyped.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse_bench.report import printed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "drawn"]

_ARMS: Final = ("A0", "A1", "A2", "A2D")
_COLOURS: Final[Mapping[str, str]] = dict(
    zip(
        printed.MODELS,
        ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A6D00"),
        strict=True,
    )
)
_DASHES: Final = (0, (4, 2))
_OURS: Final[Mapping[str, tuple[str, Any]]] = {
    "newest": ("#555555", "-"),
    "oldest": ("#555555", _DASHES),
}
_BLACK: Final = "#222222"
_PALE: Final = "#dddddd"

Report = dict[str, Any]


def drawn(result: Report, folder: Path) -> list[Path]:
    """Draw every figure of a report into a folder; returns the files."""
    import matplotlib as mpl  # noqa: PLC0415 - a second to import, for plots alone

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    mpl.rcParams["svg.hashsalt"] = "lapse"
    mpl.rcParams["font.size"] = 9
    mpl.rcParams["axes.spines.top"] = mpl.rcParams["axes.spines.right"] = False
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for name, draw in FIGURES.items():
        figure = draw(result)
        for ending, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
            file = folder / f"{name}.{ending}"
            figure.savefig(file, dpi=130, metadata=metadata)
            files.append(file)
        plt.close(figure)
    return files


def _panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    from matplotlib import pyplot as plt  # noqa: PLC0415 - as above

    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    return figure, [one for line in axes for one in line]


def _percent(axes: Axes, across: Sequence[Any]) -> None:
    axes.set_xticks(range(len(across)), [str(one) for one in across])
    axes.set_ylim(-4, 109)
    axes.set_yticks((0, 25, 50, 75, 100))
    axes.grid(axis="y", color=_PALE, linewidth=0.6)
    axes.set_axisbelow(True)


def _line(axes: Axes, values: Sequence[float | None], **style: Any) -> None:
    there = [(at, value) for at, value in enumerate(values) if value is not None]
    axes.plot([at for at, _ in there], [value for _, value in there], **style)


def _values(axes: Axes, values: Sequence[float | None], *, below: bool = False) -> None:
    from matplotlib.patheffects import withStroke  # noqa: PLC0415 - as above

    for at, value in enumerate(values):
        if value is not None:
            told = axes.annotate(
                f"{value:g}",
                (at, value),
                (0, -11 if below else 5),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                color=_BLACK,
                zorder=5,
            )
            told.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def _by_model(result: Report, place: str, what: str) -> dict[str, list[float | None]]:
    found: dict[str, list[float | None]] = {model: [None] * len(_ARMS) for model in printed.MODELS}
    for cell in result["cells"]:
        if cell["place"] == place:
            measure, _, arm = cell["column"].rpartition(" ")
            if measure == what:
                found[cell["row"]][_ARMS.index(arm)] = cell["printed"]
    return found


def _ladder(result: Report, place: str, what: str, title: str) -> Figure:
    figure, axes = _panels(2, 4, (10.5, 5.2))
    told = _by_model(result, place, what)
    for at, (model, panel) in enumerate(zip(told, axes, strict=False)):
        for planner, (colour, dash) in _OURS.items():
            ours = result["lines"]["bounds"][planner][what]
            _line(
                panel, ours, color=colour, linestyle=dash, linewidth=1.2, label=f"ours, {planner}"
            )
        stand_in = result["lines"]["stand_ins"][model][what]
        _line(panel, stand_in, color=_COLOURS[model], linestyle=":", linewidth=1.4)
        _line(panel, told[model], color=_COLOURS[model], linewidth=2.2, marker="o", markersize=4)
        _values(panel, told[model])
        panel.set_title(model, fontsize=9, color=_COLOURS[model], loc="left")
        _percent(panel, _ARMS)
        if at % 4 == 0:
            panel.set_ylabel("first-try rate (%)")
    _legend(
        axes[-1],
        (
            ("as printed", {"color": _BLACK, "linewidth": 2.2, "marker": "o", "markersize": 4}),
            *(
                (
                    f"ours: follows every fix,\nbelieves the {planner} entry",
                    {"color": colour, "linestyle": dash, "linewidth": 1.2},
                )
                for planner, (colour, dash) in _OURS.items()
            ),
            (
                "a stand-in drawn from printed\nrates: no measurement",
                {"color": _BLACK, "linestyle": ":", "linewidth": 1.4},
            ),
        ),
    )
    figure.suptitle(title, fontsize=10.5, x=0.01, ha="left")
    return figure


def _legend(axes: Axes, entries: Sequence[tuple[str, dict[str, Any]]]) -> None:
    axes.axis("off")
    for label, style in entries:
        axes.plot([], [], label=label, **style)
    axes.legend(loc="center", frameon=False, fontsize=8.5, handlelength=3, labelspacing=1.1)


def _below(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=8.5,
        handlelength=3.2,
    )


def _figure_3(result: Report) -> Figure:
    title = "Figure 3. The governed class on the drifted stream, by arm"
    return _ladder(result, "Figure 3", "compliance", title)


def _figure_4(result: Report) -> Figure:
    title = "Figure 4. The funding class after the benign bump, by arm"
    return _ladder(result, "Figure 4", "funding", title)


def _turns(result: Report, arm: str, planner: str, measure: str) -> list[tuple[int, float]]:
    found: list[tuple[int, float]] = []
    for row in result["rotations"]:
        if (row["arm"], row["planner"]) == (arm, planner):
            value = row["retries"] if measure == "retries" else row[measure]["pct"]
            if value is not None:
                found.append((row["rotations"], value))
    return found


_TURNING: Final[tuple[tuple[str, str, str, dict[str, Any]], ...]] = (
    ("A1", "newest", "A1, believes the newest", {"color": "#c8c8c8", "linewidth": 6}),
    ("A2D", "newest", "A2D, believes either", {"color": _BLACK, "linewidth": 1.6, "marker": "o"}),
    (
        "A1",
        "oldest",
        "A1, believes the oldest",
        {"color": "#777777", "linewidth": 1.4, "linestyle": _DASHES, "marker": "s"},
    ),
)
"""Ours, in the order of drawing: where two are the same, the wide line shows under the other."""

_TURNED_PANELS: Final = (
    ("two_slots", "two slots a rotation, as printed", "compliance (%)"),
    ("one_slot", "one slot a rotation", "compliance (%)"),
    ("retries", "retries over 36 episodes", "retries"),
)


def _figure_5(result: Report) -> Figure:
    figure, axes = _panels(1, 3, (10.5, 4.1))
    counts = sorted({row["rotations"] for row in result["rotations"]})
    for (measure, title, label), panel in zip(_TURNED_PANELS, axes, strict=True):
        for arm, planner, name, style in _TURNING:
            points = _turns(result, arm, planner, measure)
            panel.plot(
                [count for count, _ in points],
                [value for _, value in points],
                markersize=3.5,
                label=f"ours: {name}",
                **style,
            )
        panel.set_title(title, fontsize=9.5, loc="left")
        panel.set_xlabel("rotations in 36 episodes")
        panel.set_ylabel(label)
        panel.set_xticks(counts)
        panel.set_xlim(0.4, max(counts) + 0.6)
        panel.grid(axis="y", color=_PALE, linewidth=0.6)
        if measure == "retries":
            panel.set_ylim(0, 19)
            panel.set_yticks(range(0, 19, 3))
        else:
            panel.set_ylim(-4, 109)
    _printed_ranges(axes[0])
    axes[0].axvspan(5.5, max(counts) + 0.6, color="#f2f2f2")
    axes[0].text(8.3, 50, "nothing left\nto score", ha="center", fontsize=8.5, color="#666666")
    _below(figure, axes[0])
    figure.suptitle(
        "Figure 5. Rotations packed into one budget of 36 episodes: 1 to 3 as printed, and beyond",
        fontsize=10.5,
        x=0.01,
        ha="left",
    )
    return figure


def _printed_ranges(axes: Axes) -> None:
    """The text gives a range over one to three rotations, and points for one series."""
    haiku, sonnet = printed.ANTHROPIC[:2]
    ranges = (
        (haiku, "A2D", 100.0, 100.0, "-"),
        (haiku, "A1", 47.6, 60.0, (0, (2, 1))),
        (sonnet, "A2D", 73.3, 90.5, "-"),
        (sonnet, "A1", 28.6, 55.6, (0, (2, 1))),
    )
    for model, arm, low, high, dash in ranges:
        axes.fill_between([1, 3], [low, low], [high, high], color=_COLOURS[model], alpha=0.18)
        for edge in {low, high}:
            axes.plot([1, 3], [edge, edge], color=_COLOURS[model], linestyle=dash, linewidth=1.1)
        axes.plot(
            [],
            [],
            color=_COLOURS[model],
            linestyle=dash,
            linewidth=5,
            alpha=0.5,
            label=f"printed range: {model}, {arm}",
        )


def _figure_6(result: Report) -> Figure:
    figure, axes = _panels(1, 3, (10.5, 3.9))
    for at, (model, panel) in enumerate(zip(printed.ANTHROPIC, axes, strict=True)):
        told = printed.FIGURE_6[model]
        recipes = told["recipes A2D"]
        lines = {
            "add-a-field": [told["payments A0"], told["payments A1"], None, told["payments A2D"]],
            "celiac": [None, round(recipes - told["recipes gain A2D-A1"], 1), None, recipes],
        }
        for what, dash in (("add-a-field", "-"), ("celiac", _DASHES)):
            ours = result["lines"]["bounds"]["newest"][what]
            _line(panel, ours, color="#aaaaaa", linestyle=dash, linewidth=1.2)
            stand_in = result["lines"]["stand_ins"][model][what]
            _line(panel, stand_in, color=_COLOURS[model], linestyle=":", linewidth=1.2)
            style = {"color": _COLOURS[model], "linestyle": dash, "linewidth": 2.2}
            _line(panel, lines[what], marker="o", markersize=4, **style)
            _values(panel, lines[what], below=what == "celiac")
        panel.set_title(model, fontsize=9.5, color=_COLOURS[model], loc="left")
        _percent(panel, _ARMS)
        if at == 0:
            panel.set_ylabel("first-try rate (%)")
    entries: tuple[tuple[str, dict[str, Any]], ...] = (
        ("payments, printed", {"color": _BLACK, "linewidth": 2.2, "marker": "o"}),
        ("recipes, printed", {"color": _BLACK, "linewidth": 2.2, "linestyle": _DASHES}),
        ("ours: follows every fix, the newest entry (payments)", {"color": "#aaaaaa"}),
        (
            "ours: follows every fix, the newest entry (recipes)",
            {"color": "#aaaaaa", "linestyle": _DASHES},
        ),
        ("a stand-in: no measurement", {"color": _BLACK, "linestyle": ":"}),
    )
    for label, style in entries:
        axes[0].plot([], [], label=label, **style)
    _below(figure, axes[0])
    figure.suptitle(
        "Figure 6. The class that the drift targets; recipes at A1 from the gain that is printed",
        fontsize=10.5,
        x=0.01,
        ha="left",
    )
    return figure


def _vectors(result: Report) -> Figure:
    figure, axes = _panels(1, 3, (10.5, 3.3))
    rows = [row for row in result["vectors"] if row["arm"] == "A2D"]
    names = [row["form"] for row in rows]
    measured = {
        "lapsed fixes that were\napplied all the same": [row["stale_applied"] for row in rows],
        "fixes thrown away\nthat still held": [row["evictions_wrong"] for row in rows],
        "tasks not completed": [row["episodes"] - row["completed"] for row in rows],
    }
    for at, ((title, counts), panel) in enumerate(zip(measured.items(), axes, strict=True)):
        panel.barh(names, counts, color=["#D55E00", "#D55E00", "#0072B2", "#0072B2"], height=0.6)
        for place, count in enumerate(counts):
            panel.text(count + 0.08, place, str(count), va="center", fontsize=9)
        panel.invert_yaxis()
        panel.set_title(title, fontsize=9.5, loc="left")
        panel.set_xlim(0, 6)
        panel.set_xlabel("count over 36 episodes")
        if at:
            panel.set_yticklabels([])
    figure.suptitle(
        "What A2D knows of a fix, and what comes of it: one table, or every table",
        fontsize=10.5,
        x=0.01,
        ha="left",
    )
    return figure


FIGURES: Final[Mapping[str, Callable[[Report], Figure]]] = {
    "figure-3": _figure_3,
    "figure-4": _figure_4,
    "figure-5": _figure_5,
    "figure-6": _figure_6,
    "vectors": _vectors,
}
"""What is drawn, by file name."""
