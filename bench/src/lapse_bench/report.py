"""The source text's tables and figures beside what comes out here, with a verdict for every cell.

=================  =============================================================================
`equal`            the number does not depend on a model, and is the one that came out here
`within interval`  it does not, and ours lies in the interval that is printed
`different`        it does not, and ours is another; the cell says why
`needs a model`    it is a measurement of a model that nobody here has paid for
=================  =============================================================================

Only what a policy decides without a model in the loop gets one of the first three: evictions and
alerts, and on the rule stream the retries, of which the source text shows that no model moves them.
Beside a cell that needs a model stand the numbers of the scripted planners, under their own names.
They are bounds to read it against, and no measurement of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lapse_bench import report_printed as printed
from lapse_bench.arms import ARMS
from lapse_bench.payments import run_payments
from lapse_bench.planners import PLANNERS
from lapse_bench.rules import RULE_ARMS, run_rules
from lapse_bench.rules_stream import load_rules
from lapse_bench.scenarios import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lapse_bench.provenance import Provenance

__all__ = ["VERDICTS", "Cell", "cells", "contract_report", "markdown", "measured"]

VERDICTS: Final = ("equal", "within interval", "different", "needs a model")

Value = float | str | None
Runs = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One printed number.

    Attributes:
        place: the table or figure.
        row: the model or arm.
        column: what is measured.
        printed: the number as printed.
        ours: what came out here, by the planner that wrote the requests; empty: nothing comparable.
        verdict: one of `VERDICTS`.
        why: the reason, where the verdict alone does not say it.
    """

    place: str
    row: str
    column: str
    printed: Value
    ours: Mapping[str, Value] = field(default_factory=dict[str, "Value"])
    verdict: str
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """Its members."""
        return {
            "place": self.place,
            "row": self.row,
            "column": self.column,
            "printed": self.printed,
            "ours": dict(self.ours),
            "verdict": self.verdict,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """What was run: the payments scenarios by name and planner, and the rule stream by planner."""

    payments: dict[str, Runs]
    rules: Runs


def measured(*, tell: Callable[[str], None] = lambda _: None) -> Measured:
    """Run everything that the report compares; about ten seconds of work."""
    payments: dict[str, Runs] = {}
    rules: Runs = {}
    stream = load_rules()
    for name, planner in PLANNERS.items():
        for scenario in ("payments", "rotations-1", "rotations-2", "rotations-3"):
            tell(f"{scenario}, {name}")
            runs = run_payments(load(scenario), planner, ARMS)
            scores = {arm: run.scores for arm, run in runs.items()}
            payments.setdefault(scenario, {})[name] = scores
        tell(f"rules, {name}")
        rules[name] = run_rules(stream, planner, tuple(RULE_ARMS))
    return Measured(payments, rules)


def cells(found: Measured) -> tuple[Cell, ...]:
    """Every cell, in the order of the source text."""
    main = found.payments["payments"]
    return (
        *_ladder("Table 3", printed.TABLE_3, main),
        *_ladder("Table 4", printed.TABLE_4, main),
        *_rule_cells(found.rules),
        *_ladder("Table 6", printed.TABLE_6, main),
        *_figure("Figure 3", "compliance", printed.TABLE_3, main),
        *_figure("Figure 4", "funding", printed.TABLE_3, main),
        *_rotations(found.payments),
    )


def _ladder(place: str, table: Mapping[str, Mapping[str, Value]], runs: Runs) -> Iterator[Cell]:
    for row, columns in table.items():
        for column, value in columns.items():
            if value is not None:
                yield _cell(place, row, column, value, runs)


def _figure(
    place: str, prefix: str, table: Mapping[str, Mapping[str, Value]], runs: Runs
) -> Iterator[Cell]:
    """The points of a figure that a table prints, too."""
    for row, columns in table.items():
        for column, value in columns.items():
            if column.startswith(prefix) and column.split()[-1] in ("A1", "A2", "A2D"):
                yield _cell(place, row, column, value, runs)


def _cell(place: str, row: str, column: str, value: Value, runs: Runs) -> Cell:
    ours = {planner: _measure(column, arms) for planner, arms in runs.items()}
    ours = {planner: number for planner, number in ours.items() if number is not None}
    verdict, why = "needs a model", ""
    if column.startswith("precision"):
        same = all(number == value for number in ours.values())
        verdict = "equal" if same else "different"
        why = "" if same else printed.PRECISION_NOTES.get(row, "unexplained")
    return Cell(
        place=place, row=row, column=column, printed=value, ours=ours, verdict=verdict, why=why
    )


_MEASURES: Final[Mapping[str, tuple[str, ...]]] = {
    "compliance": ("compliance",),
    "precision": ("paper_precision",),
    "retries": ("retries",),
    "funding": ("first_try", "funding_post", "pct"),
    "cond.-rewrite": ("first_try", "funding_post", "pct"),
    "add-a-field": ("first_try", "governed", "pct"),
    "control": ("first_try", "control", "pct"),
}
"""Where a run's scores hold what a column measures; savings are of tokens, which nobody bills here,
and a gain can be read off its two columns."""


def _measure(column: str, arms: Mapping[str, Mapping[str, Any]]) -> Value:
    what, _, arm = column.rpartition(" ")
    if what not in _MEASURES:
        return None
    found: Any = arms[arm]
    for name in _MEASURES[what]:
        found = found[name]
    return float(found)


def _rule_cells(runs: Runs) -> Iterator[Cell]:
    for arm, columns in printed.TABLE_5.items():
        for column, value in columns.items():
            if column == "tokens":
                yield Cell(
                    place="Table 5", row=arm, column=column, printed=value, verdict="needs a model"
                )
                continue
            ours = {planner: _of_rules(column, arms[arm]) for planner, arms in runs.items()}
            same = all(number == value for number in ours.values())
            yield Cell(
                place="Table 5",
                row=arm,
                column=column,
                printed=value,
                ours=ours,
                verdict="equal" if same else "different",
                why="" if same else "unexplained",
            )


def _of_rules(column: str, scores: Mapping[str, Any]) -> Value:
    match column:
        case "evict":
            return "+".join(map(str, scores["evictions_by_episode"].values())) or "0"
        case "restamp":
            return scores["restamps"]
        case "alert":
            return "/".join(map(str, scores["alerts"])) or "-"
        case _:
            return scores[column.replace("-", "_")]


def _rotations(payments: Mapping[str, Runs]) -> Iterator[Cell]:
    for row, columns in printed.FIGURE_5.items():
        for column, value in columns.items():
            what, _, when = column.partition(", ")
            arm = what.split()[-1]
            ours: dict[str, Value] = {}
            for planner in PLANNERS:
                found = [
                    payments[f"rotations-{number}"][planner][arm]["compliance"]
                    for number in ((1, 2, 3) if when == "range" else (int(when[0]),))
                ]
                is_range = when == "range"
                ours[planner] = f"{min(found)} to {max(found)}" if is_range else found[0]
            yield Cell(
                place="Figure 5",
                row=row,
                column=column,
                printed=value,
                ours=ours,
                verdict="needs a model",
            )


def contract_report(told: Sequence[Cell], provenance: Provenance) -> dict[str, Any]:
    """The report as JSON, with the count of cells by verdict."""
    counted = Counter(cell.verdict for cell in told)
    unexplained = [cell for cell in told if cell.why == "unexplained"]
    return {
        "report": "contract",
        **provenance.as_json(),
        "planners": {name: planner.probe() for name, planner in PLANNERS.items()},
        "verdicts": {verdict: counted[verdict] for verdict in VERDICTS},
        "cells": [cell.as_json() for cell in told],
        "problems": [
            f"{cell.place}, {cell.row}, {cell.column}: printed {cell.printed}, ours {cell.ours}"
            for cell in unexplained
        ],
    }


def markdown(result: Mapping[str, Any]) -> str:
    """The report for people: one table for each table and figure of the source text."""
    lines = [
        "# Invalidation contracts: the printed numbers beside ours",
        "",
        "Printed numbers are measurements of the models named. Ours are of two scripted planners,",
        "one that believes the oldest entry and one the newest; they measure no model.",
        "",
        *(f"* {verdict}: {count}" for verdict, count in result["verdicts"].items()),
    ]
    place = ""
    planners = list(result["planners"])
    for cell in result["cells"]:
        if cell["place"] != place:
            place = cell["place"]
            head = ["row", "column", "printed", *planners, "verdict", "why"]
            lines += ["", f"## {place}", "", _line(head), _line(["---"] * len(head))]
        ours = [cell["ours"].get(planner, "") for planner in planners]
        named = (cell["row"], cell["column"], cell["printed"])
        lines.append(_line([*named, *ours, cell["verdict"], cell["why"]]))
    return "\n".join(lines) + "\n"


def _line(texts: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, texts))} |"
