"""The report: every printed cell has a verdict, and no planner passes for a model.

The whole report is slow; here are the runs that no stand-in and no variant needs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse_bench.report import printed
from lapse_bench.report.cells import BASES, DEVIATION, UNEXPLAINED, VERDICTS, Cell, judged
from lapse_bench.report.comparing import BOUNDS, compared, comparing_jobs, lines_of
from lapse_bench.report.jobs import Job, Results
from lapse_bench.report.rotations import rotation_cells, rotations
from lapse_bench.report.trials import done

ROTATION_ROWS = [
    {
        "rotations": count,
        "arm": arm,
        "planner": planner,
        "two_slots": {"pct": 100.0 if arm == "A2D" else 33.3 + count},
        "retries": 6 + count,
    }
    for count in (1, 2, 3)
    for arm in ("A1", "A2D")
    for planner in BOUNDS
]


@cache
def results() -> Results:
    return done(job for job in comparing_jobs() if job.planner in BOUNDS)


@cache
def told() -> tuple[Cell, ...]:
    return compared(results())


def ours() -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(cell.place, cell.row, cell.column): dict(cell.ours) for cell in told()}


def test_every_printed_cell_has_one_verdict_on_one_basis() -> None:
    assert {cell.verdict for cell in told()} == set(VERDICTS)
    assert {cell.basis for cell in told()} == set(BASES)
    assert {cell.place for cell in told()} == {
        *(f"Table {number}" for number in (3, 4, 5, 6, 7)),
        *(f"Figure {number}" for number in (3, 4, 6)),
    }
    places = [(cell.place, cell.row, cell.column) for cell in told()]
    assert len(places) == len(set(places))
    tables = (printed.TABLE_3, printed.TABLE_4, printed.TABLE_5, printed.TABLE_6, printed.TABLE_7)
    values = [value for table in tables for row in table.values() for value in row.values()]
    assert len([p for p in places if p[0].startswith("Table")]) == sum(
        v is not None for v in values
    )


def test_what_no_model_decides_is_equal_or_says_why_not() -> None:
    decided = [cell for cell in told() if cell.basis == "policy"]
    assert {cell.place for cell in decided} == {"Table 3", "Table 5"}
    different = [(cell.row, cell.column) for cell in decided if cell.verdict != "equal"]
    assert different == [
        ("deepseek-v4-flash", "precision A2"),
        ("gemini-3.5-flash", "precision A2"),
    ]
    assert len([cell for cell in decided if cell.place == "Table 5"]) == 4 * 5 + 3
    assert not [cell for cell in told() if cell.why == UNEXPLAINED]
    assert all(cell.why for cell in told() if cell.verdict == "different")


def test_classes_that_no_model_moves_are_equal_but_for_three_named_models() -> None:
    cells = [cell for cell in told() if cell.basis == "stream"]
    assert {cell.row for cell in cells if cell.verdict != "equal"} == set(printed.STREAM_NOTES)
    within = {(cell.place, cell.row) for cell in cells if cell.verdict == "within interval"}
    assert {row for _, row in within} == {"deepseek-v4-flash"}
    starved = [cell for cell in cells if cell.row in printed.STARVED]
    assert "equal" not in {cell.verdict for cell in starved}


def test_a_bound_is_equal_only_where_both_planners_agree_with_the_model() -> None:
    for cell in told():
        if cell.basis == "bound" and cell.verdict == "equal":
            assert set(cell.ours.values()) == {cell.printed}
        if cell.basis == "model":
            assert cell.verdict == "needs a model"
        if "saving" in cell.column or cell.column == "tokens":
            assert (cell.verdict, cell.basis) == ("needs a model", "model")
        if cell.row == "claude-sonnet-5" and "compliance A2" in cell.column:
            assert cell.verdict == "needs a model"


def test_a_reconstructed_stream_is_no_evidence_for_what_it_was_set_to() -> None:
    celiac = [cell for cell in told() if "celiac" in cell.column or "recipes" in cell.column]
    assert len(celiac) == 3 + 2 * 3
    assert {(cell.verdict, cell.basis) for cell in celiac} == {("needs a model", "model")}
    assert ours()["Table 7", "claude-haiku-4-5", "rewrite-a-value celiac"] == {
        "oldest": 75.0,
        "newest": 75.0,
    }


def test_scripted_planners_stand_beside_the_models_under_their_own_names() -> None:
    found = ours()
    assert found["Table 3", "gpt-5-mini", "compliance A1"] == {"oldest": 33.3, "newest": 100.0}
    assert found["Table 6", "gpt-5.4-mini", "retries A1"] == {"oldest": 14.0, "newest": 7.0}
    assert found["Table 4", "gpt-5-mini", "control A2D"] == {"oldest": 83.3, "newest": 83.3}
    assert found["Table 7", "claude-haiku-4-5", "cond.-rewrite pre"]["newest"] == 50.0
    assert found["Figure 6", "claude-haiku-4-5", "recipes gain A2D-A1"]["oldest"] == 50.0
    saved = found["Table 6", "claude-haiku-4-5", "saving A2D"]
    assert (
        saved["oldest"] == saved["newest"] > found["Table 6", "gpt-5-mini", "saving A1"]["oldest"]
    )
    # Without runs of stand-ins there is nothing in their column, and no verdict is another.
    assert {cell.stand_in for cell in told()} == {None}
    lines = lines_of(results())
    assert lines["bounds"]["oldest"]["compliance"] == [0.0, 33.3, 100.0, 100.0]
    assert lines["stand_ins"]["claude-haiku-4-5"]["compliance"] == [None] * 4


def test_a_stand_in_changes_no_verdict() -> None:
    job = Job(stream="payments", arm="A2D", planner="newest")
    name = "stand-in:claude-sonnet-5"
    drawn = {
        Job(stream="payments", arm=arm, planner=name, seed=seed): results()[job]
        for arm in ("A0", "A1", "A2", "A2D")
        for seed in (0, 1, 2)
    }
    cells = compared({**results(), **drawn})
    assert [(c.verdict, c.why) for c in cells] == [(c.verdict, c.why) for c in told()]
    shown = {c.row for c in cells if c.stand_in is not None}
    assert shown == {"claude-sonnet-5"}


def test_figure_5_says_where_a_claim_cannot_hold() -> None:
    cells = {(cell.row, cell.column): cell for cell in rotation_cells(ROTATION_ROWS)}
    near = cells["claude-haiku-4-5", "retries A2D, range"]
    assert (near.verdict, near.ours["newest"]) == ("different", "7 to 9")
    assert "a rotation costs one refused first attempt" in near.why
    assert [c.verdict for c in cells.values()].count("equal") == 3
    assert cells["claude-haiku-4-5", "compliance A1, range"].ours["oldest"] == "34.3 to 36.3"


def test_a_rotation_is_scored_both_ways() -> None:
    wanted = [
        Job(stream="rotations-6", arm=arm, planner=planner)
        for arm, planner in (("A1", "oldest"), ("A2D", "newest"))
    ]
    (kept, watched) = (run for run in done(wanted).values())
    everything = {
        Job(stream=f"rotations-{count}", arm=arm, planner=planner): watched
        for count in (1, 2, 3, 4, 5, 6, 8, 11)
        for arm in ("A1", "A2D")
        for planner in BOUNDS
    }
    everything[wanted[0]] = kept
    rows = [row for row in rotations(everything) if row["rotations"] == 6]
    told = {(row["arm"], row["planner"]): row for row in rows}
    assert told["A2D", "newest"]["two_slots"] == {"ok": 0, "of": 0, "pct": None}
    assert told["A2D", "newest"]["one_slot"] == {"ok": 5, "of": 5, "pct": 100.0}
    assert told["A1", "oldest"]["one_slot"] == {"ok": 0, "of": 5, "pct": 0.0}
    assert told["A2D", "newest"]["retries"] == 6 + 6
    assert (told["A1", "oldest"]["stale_applied"], kept["evictions"]) == (11, 0)


@given(
    value=st.floats(0, 100).map(lambda number: round(number, 1)),
    one=st.floats(0, 100).map(lambda number: round(number, 1)),
    other=st.floats(0, 100).map(lambda number: round(number, 1)),
    basis=st.sampled_from(BASES),
)
def test_a_verdict_needs_one_number_and_a_basis(
    value: float, one: float, other: float, basis: str
) -> None:
    verdict, why = judged(value, {"oldest": one, "newest": other}, basis, mean=True)
    if one != other or basis == "model":
        assert verdict == "needs a model"
    elif one == value:
        assert (verdict, why) == ("equal", "")
    elif basis == "bound":
        assert verdict == "needs a model"
    else:
        near = abs(one - value) <= DEVIATION
        assert verdict == ("within interval" if near else "different")
        assert why


@pytest.mark.parametrize("note", ["", "because"])
def test_a_difference_that_nobody_explains_is_a_failure(note: str) -> None:
    ours = {"oldest": 3, "newest": 3}
    assert judged(2, ours, "policy", note=note) == ("different", note or UNEXPLAINED)
    assert judged(2, {}, "policy", note=note)[0] == "needs a model"
