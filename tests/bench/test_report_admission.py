"""The report on admission: each printed cell has one verdict, and a model's cell needs a model."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from lapse_bench.provenance import Provenance
from lapse_bench.report.admission import (
    Scope,
    admission_report,
    assembled,
    baselines,
    written,
)
from lapse_bench.report.admission_arithmetic import arithmetic
from lapse_bench.report.admission_case import case_cells
from lapse_bench.report.admission_cells import ADMISSION_BASES, BASELINES, admission_cells
from lapse_bench.report.admission_pages import admission_pages
from lapse_bench.report.admission_places import TITLES
from lapse_bench.report.admission_printed import TABLES
from lapse_bench.report.cells import UNEXPLAINED, VERDICTS, Cell
from lapse_bench.returns.manbench import read_manbench

if TYPE_CHECKING:
    from pathlib import Path

NOWHERE = Provenance(
    date="2026-12-01T00:00:00+00:00",
    commit=None,
    machine={"system": "Linux", "cores": 2, "python": "3.11"},
)

ABLATED = {
    verifier: {
        row: {"overall": 50.0, "via": 60.0, "iir": 40.0, "ls": 30.0} for row in TABLES["Table 15"]
    }
    for verifier in ("honest", "0.9 stand-in")
}


@cache
def ours() -> dict[str, Any]:
    """Every rule over every third question, and made-up numbers where a run takes long."""
    return {"manbench": baselines(read_manbench()[::3], (4,)), "ablations": ABLATED}


@cache
def told() -> tuple[Cell, ...]:
    return tuple(admission_cells(ours()))


@cache
def report() -> dict[str, Any]:
    return assembled(ours(), NOWHERE, config={"seed": 0})


def test_every_printed_cell_has_one_verdict_on_one_basis() -> None:
    cells = [*told(), *case_cells(), *arithmetic()]
    assert {cell.verdict for cell in cells} <= set(VERDICTS)
    assert {cell.basis for cell in cells} == set(ADMISSION_BASES)
    places = [(cell.place, cell.row, cell.column) for cell in cells]
    assert len(places) == len(set(places))
    assert {cell.place for cell in cells} == set(TITLES)
    for place, rows in TABLES.items():
        printed = sum(len(columns) for columns in rows.values())
        assert sum(cell.place == place for cell in cells) == printed


def test_no_cell_that_a_model_decides_is_called_equal() -> None:
    measured = [cell for cell in told() if cell.basis == "model"]
    assert {cell.verdict for cell in measured} == {"needs a model"}
    answered = [cell for cell in told() if "Overall" in cell.column]
    assert {cell.basis for cell in answered} == {"model"}
    tables = [cell for cell in told() if cell.row.endswith("TRACE")]
    assert {cell.basis for cell in tables} == {"model"}


def test_what_a_baseline_admits_on_manbench_is_equal_by_construction() -> None:
    cells = [cell for cell in told() if cell.basis == "construction"]
    assert {cell.row.rpartition("/")[2] for cell in cells} == set(BASELINES)
    different = [cell for cell in cells if cell.verdict == "different"]
    assert {cell.row.rpartition("/")[2] for cell in different} == {"memstrata"}
    for cell in different:
        assert cell.ours["without dyck_languages"] == cell.printed
        assert "brackets" in cell.why
    assert len([cell for cell in cells if cell.verdict == "equal"]) == 180


def test_the_travel_case_is_what_the_source_says() -> None:
    cells = {(cell.row, cell.column): cell for cell in case_cells()}
    assert {cell.verdict for cell in cells.values()} == {"equal"}
    before, after = "before confirmation", "after confirmation"
    assert (cells[before, "Cov"].printed, cells[before, "Crit"].printed) == (0.5, 0.75)
    assert (cells[after, "Cov"].printed, cells[after, "Crit"].printed) == (1.0, 1.0)
    assert cells[before, "why p0 is out"].ours == {"lapse": "invalidated"}
    assert cells[after, "items"].ours == {"lapse": 8.0}


def test_settings_are_read_off_the_code_that_runs() -> None:
    cells = [cell for cell in told() if cell.place == "Table 4"]
    assert {cell.verdict for cell in cells} == {"equal"}
    assert len(cells) == 6


def test_sums_are_computed_again_and_the_pooled_rows_of_table_6_do_not_add_up() -> None:
    cells = arithmetic()
    different = [cell for cell in cells if cell.verdict == "different"]
    assert {cell.row.partition(",")[0] for cell in different} == {"Table 6"}
    assert len(different) == 14
    found = {(cell.row, cell.column): (cell.printed, cell.ours["computed"]) for cell in different}
    assert found["Table 6, Qwen, static", "Dim1"] == (35.0, 25.5)
    assert found["Table 6, Qwen, reset", "Dim2"] == (3.0, 32.0)
    assert found["Table 6, Qwen, static", "IIR"] == (22.33, 22.0)
    assert all(cell.why and cell.why != UNEXPLAINED for cell in different)
    assert all(cell.why for cell in cells if cell.verdict == "within interval")


def test_ablations_stand_beside_the_printed_ones_and_do_not_pass_for_them() -> None:
    cells = [cell for cell in told() if cell.place in {"Table 15", "Figure 3"}]
    assert len(cells) == 20 + 15
    assert all(set(cell.ours) == {"honest", "0.9 stand-in"} for cell in cells)
    assert {cell.verdict for cell in cells} == {"needs a model"}


def test_a_report_counts_its_verdicts_and_has_a_page_for_each_place() -> None:
    result = report()
    assert result["problems"] == []
    assert sum(result["verdicts"].values()) == len(result["cells"])
    by_basis = result["verdicts_by_basis"]
    assert by_basis["case"] == {**dict.fromkeys(VERDICTS, 0), "equal": 22}
    assert by_basis["arithmetic"]["different"] == 14
    pages = admission_pages(result)
    assert len(pages) == len(TITLES) + 1
    index = pages["index.md"]
    linked = {name for name in pages if f"({name})" in index}
    assert linked == pages.keys() - {"index.md"}
    assert "Table 6, Qwen, static, Dim1: printed 35.0, ours 25.5" in index
    assert "static" in pages["table-8.md"]


def test_a_cell_that_differs_without_a_reason_is_a_problem() -> None:
    other = {"manbench": {"static": {"via": 40.0, "iir": 50.0}}}
    result = assembled(other, NOWHERE, config={})
    assert "Table 1, Qwen/static, ManBench VIA: printed 50.0" in "".join(result["problems"])


@pytest.mark.slow
def test_a_report_is_written_with_its_figures(tmp_path: Path) -> None:
    written(report(), tmp_path)
    figures = {file.name for file in (tmp_path / "figures").iterdir()}
    assert figures == {f"figure-{n}.{kind}" for n in (3, 4, 5) for kind in ("svg", "png")}
    assert (tmp_path / "admission.json").is_file()
    assert "figures/figure-3.svg" in (tmp_path / "figure-3.md").read_text()
    again = tmp_path / "again"
    written(report(), again)
    name = "figures/figure-4.svg"
    assert (again / name).read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.slow
def test_a_report_over_few_items_runs_everything_that_it_sets_beside() -> None:
    scope = Scope(sizes=(4,), items=6, asked=2)
    lines: list[str] = []
    result = admission_report(NOWHERE, scope=scope, tell=lines.append)
    assert lines[-1] == "ablations"
    assert result["problems"] == []
    cells = {(cell["place"], cell["row"], cell["column"]): cell for cell in result["cells"]}
    assert cells["Table 8", "Old-Valid/TRACE", "VIA"]["ours"]["lapse, honest verifier"] == 100.0
    assert cells["Table 5", "25/memstrata", "VIA"]["ours"] == {"views": 100.0}
    assert cells["Table 6", "Early/static", "VIA"]["ours"] == {"views": 100.0}
    assert cells["Table 15", "no-inference", "Overall"]["ours"]["honest"] == 22.5
