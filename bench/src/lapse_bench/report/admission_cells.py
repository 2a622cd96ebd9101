"""Every cell that the source prints about admission, with ours beside and a verdict.

=================  =============================================================================
`equal`            no model decides the number, and it is the one that came out here
`within interval`  the same, and ours lies within what rounding of the printed rows leaves
`different`        no model decides it, and ours is another; the cell says why
`needs a model`    it is a measurement of a model; ours beside is of views, without one
=================  =============================================================================

A verdict rests on a cell's `basis`: `construction` (which candidate a baseline admits on
ManBench-Return follows from its rule), `arithmetic` (computed again from other printed cells),
`setting`, `case` (appendix C.6), and `model`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from lapse_bench.report.admission_places import TABLE_4
from lapse_bench.report.admission_printed import ACTORS, MANBENCH, MEMORA, STALE, TABLES
from lapse_bench.report.cells import UNEXPLAINED, Cell
from lapse_bench.returns.manbench import GROUP_SIZES
from lapse_bench.returns.memora import DEPARTURES
from lapse_bench.returns.stale_shaped import SESSIONS, STRATA
from lapse_bench.travel import POLICY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lapse_bench.report.cells import Value

__all__ = ["ADMISSION_BASES", "BASELINES", "BRACKETLESS", "admission_cells"]

ADMISSION_BASES: Final = ("construction", "arithmetic", "setting", "case", "model")

BASELINES: Final = ("static", "restore", "reset", "memstrata", "memtx")
"""The methods that admit by a rule."""

BRACKETLESS: Final = "memstrata, without dyck_languages"
"""The name of a run of MemStrata over the tasks whose answers are words."""

_BRACKETS: Final = (
    "ours compares without punctuation, and the answers of dyck_languages are nothing but "
    "brackets, so they all look alike; without that task it is equal"
)
_VIEWS: Final = "ours is of views, which nobody answered from"

_SHAPED: Final = "ours is over the hand-written set in STALE's shape, of views; no score on STALE"

_COST: Final = (
    "ours counts what the questions show, without instructions, reading and answering, over much "
    "shorter sessions"
)

_SCALE: Final = "printed over all examples, whether or not an actor was eligible"


def admission_cells(ours: Mapping[str, Any]) -> list[Cell]:
    """The cells of tables 1 to 17 and figures 3 to 5.

    Args:
        ours: `manbench`, `memora`, `stale` and `ablations`: for each the methods that ran.
    """
    return [
        *_table_1(ours),
        *_stale_like("Table 2", TABLES["Table 2"], ours, prefix="Aggregate/"),
        *_scale(ours),
        *_settings(),
        *(cell for actor in ACTORS for cell in _memora(MEMORA[actor], ours)),
        *(
            cell
            for actor in ACTORS
            for cell in _stale_like(STALE[actor], TABLES[STALE[actor]], ours)
        ),
        *_stale_like("Table 7", TABLES["Table 7"], ours),
        *(cell for actor in ACTORS for cell in _manbench(MANBENCH[actor], ours)),
        *_ablations("Table 15", ("Overall", "VIA", "IIR", "LS"), ours),
        *_stores(),
        *_ablations("Figure 3", ("Overall", "VIA", "IIR"), ours),
        *_plane(ours),
    ]


def _measured(
    place: str, row: str, column: str, printed: Value, beside: Mapping[str, Value], why: str
) -> Cell:
    return Cell(
        place=place,
        row=row,
        column=column,
        printed=printed,
        ours={name: value for name, value in beside.items() if value is not None},
        verdict="needs a model",
        basis="model",
        why=why if any(value is not None for value in beside.values()) else "",
    )


def _constructed(
    place: str, row: str, column: str, printed: float, ours: float | None, bracketless: float | None
) -> Cell:
    if ours is None:
        return _measured(place, row, column, printed, {}, "")
    explained = _BRACKETS if bracketless == printed else UNEXPLAINED
    beside: dict[str, Value] = {"lapse-bench": ours}
    if bracketless is not None:
        beside["without dyck_languages"] = bracketless
    return Cell(
        place=place,
        row=row,
        column=column,
        printed=printed,
        ours=beside,
        verdict="equal" if ours == printed else "different",
        basis="construction",
        why="" if ours == printed else explained,
    )


def _of(ours: Mapping[str, Any], *path: str) -> float | None:
    """A number that a run has, or None where it has none."""
    found: Any = ours
    for step in path:
        if not isinstance(found, dict) or step not in found:
            return None
        found = cast("dict[str, Any]", found)[step]
    return found if isinstance(found, int | float) else None


_CONDITIONS: Final = {"Old-Valid": "old-valid", "Old-Stale": "old-stale"}
_LAPSE: Final = {"lapse, honest verifier": "lapse", "lapse, 0.9 stand-in": "lapse, 0.9"}
"""Who stands beside the rows of TRACE: no measurement of its models."""


def _admitted(ours: Mapping[str, Any], method: str, block: str, column: str) -> float | None:
    """VIA, IIR or WSAR of a condition or of the average."""
    what = column.lower()
    if block in _CONDITIONS:
        return _of(ours, "manbench", method, "conditions", _CONDITIONS[block], what)
    if what == "wsar":
        iir = _of(ours, "manbench", method, "iir")
        return None if iir is None else round(100 - iir, 2)
    return _of(ours, "manbench", method, what)


def _both(
    ours: Mapping[str, Any], method: str, block: str, column: str
) -> tuple[float | None, float | None]:
    """Over all tasks, and for MemStrata also over those whose answers are words."""
    found = _admitted(ours, method, block, column)
    if method != "memstrata":
        return found, None
    return found, _admitted(ours, BRACKETLESS, block, column)


def _manbench(place: str, ours: Mapping[str, Any]) -> Iterator[Cell]:
    for row, columns in TABLES[place].items():
        block, _, method = row.partition("/")
        for column, printed in columns.items():
            if column not in {"VIA", "IIR", "WSAR"}:
                yield _measured(place, row, column, printed, {}, "")
            elif method in BASELINES:
                found = _both(ours, method, block, column)
                yield _constructed(place, row, column, printed, *found)
            else:
                beside = {n: _admitted(ours, m, block, column) for n, m in _LAPSE.items()}
                yield _measured(place, row, column, printed, beside, _VIEWS)


def _memora(place: str, ours: Mapping[str, Any]) -> Iterator[Cell]:
    for row, columns in TABLES[place].items():
        block, _, method = row.partition("/")
        name = "lapse" if method == "TRACE" else method
        for column, printed in columns.items():
            path = (name, "departures", block) if block.isdecimal() else (name,)
            found = _of(ours, "memora", *path, column.lower())
            yield _measured(place, row, column, printed, {"views": found}, _VIEWS)


_PROBES: Final = {"Dim1": "sr", "Dim2": "pr"}


def _stale_like(
    place: str,
    rows: Mapping[str, Mapping[str, float]],
    ours: Mapping[str, Any],
    *,
    prefix: str = "",
) -> Iterator[Cell]:
    for row, columns in rows.items():
        block, _, method = (prefix + row).partition("/")
        name = "lapse" if method == "TRACE" else method
        stratum = block.lower()
        for column, printed in columns.items():
            what = _PROBES.get(column, column.lower())
            path = (name, "strata", stratum) if stratum in STRATA else (name,)
            found, why = _of(ours, "stale", *path, what), _SHAPED
            if what == "tokens":  # printed for one episode; the strata of ours do not tell it
                episodes = _of(ours, "stale", *path, "n")
                found = None if found is None or not episodes else round(found / episodes)
                why = _COST
            yield _measured(place, row, column, printed, {"views": found}, why)


def _table_1(ours: Mapping[str, Any]) -> Iterator[Cell]:
    place = "Table 1"
    for row, columns in TABLES[place].items():
        _, _, method = row.partition("/")
        name = "lapse" if method == "TRACE" else method
        for column, printed in columns.items():
            bench, _, what = column.partition(" ")
            if bench == "ManBench" and what != "Overall" and method in BASELINES:
                found = _both(ours, method, "Average", what)
                yield _constructed(place, row, column, printed, *found)
                continue
            path = (bench.lower(), name, what.lower())
            why = _SHAPED if bench == "STALE" else _VIEWS
            yield _measured(place, row, column, printed, {"views": _of(ours, *path)}, why)


def _scale(ours: Mapping[str, Any]) -> Iterator[Cell]:
    for place in ("Table 3", "Table 16"):
        for row, columns in TABLES[place].items():
            size, _, method = row.rpartition("/")
            name = "lapse" if method == "TRACE" else method
            for column, printed in columns.items():
                path = (name, "sizes", size) if size else (name,)
                found = _of(ours, "manbench", *path, column.lower())
                yield _measured(place, row, column, printed, {"views": found}, _SCALE)


def _settings() -> Iterator[Cell]:
    found = {
        "departure fraction": ", ".join(f"{percent}%" for percent in DEPARTURES),
        "departure strata": "; ".join(
            f"{name.title()}: {first}-{last}" for name, (first, last) in STRATA.items()
        ),
        "group sizes (D.6)": ", ".join(map(str, GROUP_SIZES)),
        "sessions of a STALE history (D.4)": str(SESSIONS),
        "coverage thresholds (C.6)": f"{POLICY.budget.coverage:g}, {POLICY.budget.critical:g}",
        "item budget (C.6)": str(POLICY.budget.items),
    }
    for row, printed in TABLE_4.items():
        same = found[row] == printed
        yield Cell(
            place="Table 4",
            row=row,
            column="value",
            printed=printed,
            ours={"lapse-bench": found[row]},
            verdict="equal" if same else "different",
            basis="setting",
            why="" if same else UNEXPLAINED,
        )


_BLOCKED: Final = (
    "ours is over the hand-written set in STALE's shape, of views: what a model makes of a view "
    "that lacks something does not show"
)


def _ablations(place: str, columns: tuple[str, ...], ours: Mapping[str, Any]) -> Iterator[Cell]:
    for row, printed in TABLES["Table 15"].items():
        for column in columns:
            beside: dict[str, Value] = {
                f"{row}, {verifier}": _of(ours, "ablations", verifier, row, column.lower())
                for verifier in ("honest", "0.9 stand-in")
            }
            named = {name.partition(", ")[2]: value for name, value in beside.items()}
            yield _measured(place, row, column, printed[column], named, _BLOCKED)


def _stores() -> Iterator[Cell]:
    for place, left_out in (("Table 17", ""), ("Figure 5", "VIA")):
        for row, columns in TABLES["Table 17"].items():
            for column, printed in columns.items():
                if column != left_out:
                    yield _measured(place, row, column, printed, {}, "")


def _plane(ours: Mapping[str, Any]) -> Iterator[Cell]:
    """Figure 4 is the conditions of Tables 8, 11 and 14, VIA against IIR."""
    for actor, place in MANBENCH.items():
        for row, columns in TABLES[place].items():
            block, _, method = row.partition("/")
            if block not in _CONDITIONS:
                continue
            for column in ("VIA", "IIR"):
                if method in BASELINES:
                    found = _both(ours, method, block, column)
                    where = f"{actor}/{row}"
                    yield _constructed("Figure 4", where, column, columns[column], *found)
                else:
                    beside = {n: _admitted(ours, m, block, column) for n, m in _LAPSE.items()}
                    yield _measured(
                        "Figure 4", f"{actor}/{row}", column, columns[column], beside, _VIEWS
                    )
