"""The report: every printed cell has a verdict, and no planner passes for a model."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from lapse_bench import report
from lapse_bench.report_command import app

if TYPE_CHECKING:
    from pathlib import Path


@cache
def told() -> tuple[report.Cell, ...]:
    return report.cells(report.measured())


def test_what_no_model_decides_is_equal_or_says_why_not() -> None:
    decided = [cell for cell in told() if cell.verdict != "needs a model"]
    assert {cell.place for cell in decided} == {"Table 3", "Table 5"}
    different = [(cell.row, cell.column) for cell in decided if cell.verdict == "different"]
    assert different == [
        ("deepseek-v4-flash", "precision A2"),
        ("gemini-3.5-flash", "precision A2"),
    ]
    assert all(bool(cell.why) == (cell.verdict == "different") for cell in decided)
    assert len([cell for cell in decided if cell.place == "Table 5"]) == 4 * 5 + 3


def test_a_measurement_of_a_model_is_never_ours() -> None:
    for cell in told():
        if cell.row not in ("A2D", "A2DC", "A2DR", "A2DRC", "A2DO"):
            assert cell.verdict == "needs a model" or cell.column.startswith("precision")
        if "saving" in cell.column or cell.column == "tokens":
            assert (cell.verdict, cell.ours) == ("needs a model", {})


def test_scripted_planners_stand_beside_the_models_under_their_own_names() -> None:
    ours = {(c.place, c.row, c.column): c.ours for c in told()}
    assert ours["Table 3", "gpt-5-mini", "compliance A1"] == {"oldest": 33.3, "newest": 100.0}
    assert ours["Table 6", "gpt-5.4-mini", "retries A1"] == {"oldest": 14.0, "newest": 7.0}
    assert ours["Table 4", "gpt-5-mini", "control A2D"] == {"oldest": 83.3, "newest": 83.3}
    assert ours["Figure 5", "claude-haiku-4-5", "compliance A1, range"] == {
        "oldest": "33.3 to 60.0",
        "newest": "100.0 to 100.0",
    }


def test_the_command_writes_both_forms_and_prints_the_counts(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["contract", "--out", str(tmp_path / "report")])
    assert done.exit_code == 0
    result = json.loads((tmp_path / "report" / "contract.json").read_text(encoding="utf-8"))
    assert json.loads(done.stdout) == result["verdicts"]
    assert sum(result["verdicts"].values()) == len(result["cells"])
    assert result["cells"] == [cell.as_json() for cell in told()]
    page = (tmp_path / "report" / "contract.md").read_text(encoding="utf-8")
    assert page.count("\n## ") == 7
    assert "they measure no model" in page
