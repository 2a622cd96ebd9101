"""Printed averages and derived numbers, computed again from the printed rows they are made of.

This needs no model, and says nothing about one: it tells whether the source's tables agree with
each other and with its own definitions (appendix D.1). A sum of rounded numbers may be off in the
last digit, and is then within the interval that rounding leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse_bench.report.admission_printed import (
    ACTORS,
    BUCKETS,
    MANBENCH,
    MEMORA,
    STALE,
    TABLES,
)
from lapse_bench.report.cells import UNEXPLAINED, Cell
from lapse_bench.returns.metrics import equal_weight, pooled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["PLACE", "ROUNDING", "arithmetic"]

PLACE: Final = "Arithmetic"

ROUNDING: Final = 0.0101
"""Points: inputs and result are each rounded to two decimals, so a mean is off by 0.01 at most."""

_ROUGHLY: Final = 0.051
"""Of a ratio that is printed with one or two decimals."""

_SWAPPED: Final = (
    "the printed cell repeats another column of its row: the episodes of the three buckets do not "
    "give it, and the row's own Overall is not the mean of its probes"
)
_UNPOOLED: Final = "the buckets of this row are not printed, so nothing can be computed again"
_REPEATS: Final = {"Dim1": "VIA", "Dim2": "IIR"}
"""Columns of Table 6 whose pooled cells repeat another column."""

_CHANGED: Final = "the printed rows do not give it"


def arithmetic() -> list[Cell]:
    """Every derived cell of the tables, and every derived number of the text."""
    return [
        *_means("Memora", MEMORA, ("25", "50", "75"), "Average"),
        *_means("ManBench", MANBENCH, ("Old-Valid", "Old-Stale"), "Average"),
        *_stale(),
        *_probes(),
        *_complements(),
        *_repeated(),
        *_bounds(),
        *_said(),
    ]


def _cell(
    row: str,
    column: str,
    printed: float,
    ours: float,
    *,
    note: str = "",
    tolerance: float = ROUNDING,
) -> Cell:
    """One derived number against what the printed rows give."""
    off = abs(printed - ours)
    if off < 1e-9:  # noqa: PLR2004 - the same but for binary fractions
        verdict, why = "equal", ""
    elif off <= tolerance:
        verdict, why = "within interval", "rounding of the printed rows"
    else:
        verdict, why = "different", note or UNEXPLAINED
    return Cell(
        place=PLACE,
        row=row,
        column=column,
        printed=printed,
        ours={"computed": round(ours, 2)},
        verdict=verdict,
        basis="arithmetic",
        why=why,
    )


def _means(
    name: str, tables: Mapping[str, str], blocks: tuple[str, ...], average: str
) -> Iterator[Cell]:
    """Equal weights: the departures of Memora, the conditions of ManBench (D.1)."""
    note = f"{_CHANGED}; the source averages {name} before it rounds"
    for actor, place in tables.items():
        rows = TABLES[place]
        for row, columns in rows.items():
            block, _, method = row.partition("/")
            if block != average:
                continue
            for column, printed in columns.items():
                found = [rows[f"{one}/{method}"][column] for one in blocks]
                yield _cell(
                    f"{place}, {actor}, {method}", column, printed, equal_weight(found), note=note
                )


def _stale() -> Iterator[Cell]:
    """Qwen pools episodes; the others weigh the buckets alike, as does the subset (D.1)."""
    for actor, place in (*STALE.items(), ("Qwen", "Table 7")):
        rows = TABLES[place]
        total = next(row.partition("/")[0] for row in rows if row.partition("/")[0] not in BUCKETS)
        for row, columns in rows.items():
            block, _, method = row.partition("/")
            if block != total or f"Early/{method}" not in rows:
                continue
            for column, printed in columns.items():
                found = [(rows[f"{one}/{method}"][column], n) for one, n in BUCKETS.items()]
                whole = total == "Pooled"
                ours = pooled(found) if whole else equal_weight([value for value, _ in found])
                repeats = columns.get(_REPEATS.get(column, ""))
                note = _SWAPPED if repeats == printed else _CHANGED
                near = 0.51 if column == "tokens" else ROUNDING
                yield _cell(
                    f"{place}, {actor}, {method}", column, printed, ours, note=note, tolerance=near
                )


def _probes() -> Iterator[Cell]:
    """Overall is the mean of the three probes (equation 9)."""
    for actor, place in (*STALE.items(), ("Qwen", "Table 7")):
        for row, columns in TABLES[place].items():
            ours = equal_weight([columns["Dim1"], columns["Dim2"], columns["VIA"]])
            repeats = all(columns[one] == columns[other] for one, other in _REPEATS.items())
            note = _SWAPPED if repeats else _CHANGED
            yield _cell(
                f"{place}, {actor}, {row}",
                "Overall as the mean of the probes",
                columns["Overall"],
                ours,
                note=note,
            )


def _complements() -> Iterator[Cell]:
    """WSAR is 100 less IIR (equation 8), RSR in Old-Valid 100 less Overall (E.4)."""
    for place in (*MANBENCH.values(), "Table 16"):
        for row, columns in TABLES[place].items():
            yield _cell(f"{place}, {row}", "WSAR", columns["WSAR"], 100 - columns["IIR"])
            if "RSR" in columns:
                yield _cell(f"{place}, {row}", "RSR", columns["RSR"], 100 - columns["Overall"])


def _repeated() -> Iterator[Cell]:
    """Table 1 against the tables that it sums up."""
    for actor in ACTORS:
        for name, tables in (("Memora", MEMORA), ("STALE", STALE), ("ManBench", MANBENCH)):
            rows = TABLES[tables[actor]]
            for row, columns in rows.items():
                block, _, method = row.partition("/")
                if block not in {"Average", "Pooled"}:
                    continue
                for what in ("Overall", "VIA", "IIR"):
                    printed = TABLES["Table 1"][f"{actor}/{method}"][f"{name} {what}"]
                    where = f"Table 1, {actor}, {method}"
                    yield _cell(where, f"{name} {what} of {tables[actor]}", printed, columns[what])
    yield from _printed_again()


def _printed_again() -> Iterator[Cell]:
    """The other numbers that are printed twice, and Table 16 against Table 3."""
    for method, columns in TABLES["Table 2"].items():
        for what, printed in columns.items():
            again = TABLES["Table 7"][f"Aggregate/{method}"][what]
            yield _cell(f"Table 2, {method}", f"{what} of Table 7", printed, again)
    for what, printed in TABLES["Table 15"]["full"].items():
        again = TABLES["Table 6"]["Pooled/TRACE"][what]
        yield _cell("Table 15, full", f"{what} of Table 6", printed, again)
    for method in ("static", "TRACE"):
        for what, printed in TABLES["Table 17"][f"ScopedMem/{method}"].items():
            again = TABLES["Table 5"][f"50/{method}"][what]
            yield _cell(f"Table 17, ScopedMem, {method}", f"{what} of Table 5", printed, again)
        for what in ("Overall", "VIA", "IIR"):
            found = [TABLES["Table 3"][f"{size}/{method}"][what] for size in (4, 8, 16, 32)]
            printed = TABLES["Table 16"][method][what]
            yield _cell(f"Table 16, {method}", f"{what} of Table 3", printed, equal_weight(found))


def _bounds() -> Iterator[Cell]:
    """A conjunction within an episode is at most each of its parts (after equation 10)."""
    for place in (*STALE.values(), "Table 7"):
        for what, parts in (("IIR", ("Dim1", "Dim2")), ("LS", ("IIR", "VIA"))):
            rows = TABLES[place]
            kept = sum(
                row[what] <= min(row[part] for part in parts) + ROUNDING for row in rows.values()
            )
            yield _cell(
                place,
                f"rows with {what} at most {' and '.join(parts)}",
                len(rows),
                kept,
                note=f"{len(rows) - kept} rows break the bound",
            )


def _said() -> Iterator[Cell]:
    """Differences and ratios of the text."""
    full, without = TABLES["Table 15"]["full"], TABLES["Table 15"]["no-inference"]
    tokens = {name: row["tokens"] for name, row in _aggregates()}
    told: Iterable[tuple[str, float, float, float]] = (
        ("4.4: Overall lost without I", 25.83, full["Overall"] - without["Overall"], ROUNDING),
        ("4.4: IIR lost without I", 31.0, full["IIR"] - without["IIR"], ROUNDING),
        ("4.4: TRACE's tokens over static's", 2.3, tokens["TRACE"] / tokens["static"], _ROUGHLY),
        ("4.4: CUPMem's tokens over TRACE's", 3.99, tokens["cupmem"] / tokens["TRACE"], ROUNDING),
        ("E.2: share of proposed pairs accepted", 6.9, 100 * 385 / 5610, _ROUGHLY),
        ("E.2: LS over MemTX", 21.0, 39.0 - 18.0, ROUNDING),
        ("E.3: 19 episodes that completed", 85.96, 81.67 * 20 / 19, ROUNDING),
    )
    for row, printed, ours, near in told:
        yield _cell(row, "the text", printed, ours, tolerance=near, note=_CHANGED)
    for method, gains in (("Overall", 19.56), ("VIA", 52.52), ("IIR", 54.59)):
        means = TABLES["Table 16"]
        ours = means["TRACE"][method] - means["static"][method]
        yield _cell(f"I.1: {method} over static", "the text", gains, ours)
    rows = TABLES["Table 17"]
    for store, changes in _CHANGES.items():
        for what, printed in zip(("VIA", "IIR", "FAMA"), changes, strict=True):
            ours = rows[f"{store}/TRACE"][what] - rows[f"{store}/static"][what]
            yield _cell(f"I.2: {store}, {what}", "the text", printed, ours)


_CHANGES: Final = {
    "ScopedMem": (-3.03, 6.42, 0.18),
    "Mem0": (-0.05, 1.13, 0.48),
    "Memobase": (-1.35, 0.39, -1.35),
    "A-MEM": (-1.33, 1.11, -1.12),
}
"""What TRACE changes over static, as section I.2 says: VIA, IIR and FAMA."""


def _aggregates() -> Iterator[tuple[str, Mapping[str, float]]]:
    for row, columns in TABLES["Table 7"].items():
        block, _, method = row.partition("/")
        if block == "Aggregate":
            yield method, columns
