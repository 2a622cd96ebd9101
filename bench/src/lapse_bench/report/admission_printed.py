"""What TRACE (arXiv 2609.33517) prints about admission, table by table, in percent.

Rows are named ``block/method``; a dash is a cell that the source leaves empty. Nearly all of these
numbers are measurements of the models named, and of a model that judged them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse_bench.ablations.printed import TABLE_15

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ACTORS",
    "BUCKETS",
    "MANBENCH",
    "MEMORA",
    "STALE",
    "TABLES",
]

ACTORS: Final = ("Qwen", "Gemini", "DeepSeek")
MEMORA: Final[dict[str, str]] = dict(zip(ACTORS, ("Table 5", "Table 9", "Table 12"), strict=True))
STALE: Final[dict[str, str]] = dict(zip(ACTORS, ("Table 6", "Table 10", "Table 13"), strict=True))
MANBENCH: Final[dict[str, str]] = dict(
    zip(ACTORS, ("Table 8", "Table 11", "Table 14"), strict=True)
)
BUCKETS: Final = {"Early": 64, "Middle": 64, "Late": 72}
"""Episodes of STALE's strata."""

_OVER: Final = ("Overall", "VIA", "IIR")
_MEMORA: Final = (*_OVER, "FAMA")
_STALE: Final = ("Overall", "Dim1", "Dim2", "VIA", "IIR", "LS")
_MANBENCH: Final = (*_OVER, "WSAR")


def _grid(columns: tuple[str, ...], rows: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in rows.split("\n"):
        if line.strip():
            name, *values = line.split()
            told = zip(columns, values, strict=True)
            found[name] = {column: float(value) for column, value in told if value != "-"}
    return found


TABLES: Final[Mapping[str, Mapping[str, Mapping[str, float]]]] = {
    "Table 1": _grid(
        tuple(f"{name} {what}" for name in ("Memora", "STALE", "ManBench") for what in _OVER),
        """
Qwen/static 63.16 55.39 68.13 28.33 35.00 22.33 84.38 50.00 50.00
Qwen/restore 65.11 42.11 82.24 5.75 14.00 1.00 95.05 50.00 50.00
Qwen/reset 72.40 38.88 99.93 15.83 12.50 3.00 96.38 0.00 100.00
Qwen/memstrata 66.10 55.53 73.02 28.66 32.00 22.50 84.43 50.00 50.00
Qwen/memtx 66.21 55.62 73.57 30.00 33.50 23.50 84.84 50.00 50.00
Qwen/TRACE 65.20 53.60 72.36 52.33 52.50 50.50 94.32 95.96 98.78
Gemini/static 67.63 54.46 76.08 70.31 76.27 63.77 88.04 50.00 50.00
Gemini/restore 66.87 45.00 83.43 7.77 19.21 0.52 98.40 50.00 50.00
Gemini/reset 72.00 43.31 95.23 8.83 20.49 0.52 97.75 0.00 100.00
Gemini/memstrata 67.83 55.53 75.74 64.80 74.88 56.71 86.79 50.00 50.00
Gemini/memtx 68.43 55.81 76.09 62.29 69.79 55.73 86.65 50.00 50.00
Gemini/TRACE 67.70 54.41 76.41 88.81 89.99 87.73 98.32 98.34 99.47
DeepSeek/static 68.36 52.47 80.20 22.05 34.20 12.62 65.45 50.00 50.00
DeepSeek/restore 69.81 42.27 91.13 6.02 16.03 0.00 93.51 50.00 50.00
DeepSeek/reset 72.51 39.97 99.27 16.09 23.55 0.00 96.39 0.00 100.00
DeepSeek/memstrata 69.31 53.57 80.01 26.00 36.23 14.58 76.18 50.00 50.00
DeepSeek/memtx 69.89 53.84 81.01 26.89 36.75 14.58 76.19 50.00 50.00
DeepSeek/TRACE 68.83 51.86 80.72 54.40 57.81 49.94 92.63 92.58 98.44
""",
    ),
    "Table 2": _grid(
        ("Overall", "Dim2", "VIA"),
        """
static 33.33 26.67 45.00
memstrata 31.11 36.67 35.00
memtx 30.00 35.00 33.33
cupmem 80.56 85.00 75.00
TRACE 58.89 55.00 60.00
""",
    ),
    "Table 3": _grid(
        _OVER,
        """
4/static 77.20 44.26 44.26
4/TRACE 96.19 96.88 98.94
8/static 76.61 44.20 44.20
8/TRACE 96.04 96.63 98.72
16/static 76.06 44.23 44.23
16/TRACE 96.21 96.92 98.88
32/static 76.18 44.26 44.26
32/TRACE 95.85 96.62 98.76
""",
    ),
    "Table 5": _grid(
        _MEMORA,
        """
25/static 62.10 53.91 67.94 37.88
25/restore 65.74 41.12 85.16 34.46
25/reset 72.47 39.19 99.90 39.19
25/memstrata 65.55 54.22 73.68 40.87
25/memtx 65.38 54.72 73.46 41.15
25/TRACE 63.98 52.35 70.18 38.75
50/static 63.38 55.04 67.77 39.13
50/restore 64.57 41.35 81.39 33.00
50/reset 72.30 38.46 100.00 38.46
50/memstrata 64.62 54.17 70.41 39.92
50/memtx 64.80 53.39 71.18 39.49
50/TRACE 65.66 52.01 74.19 39.31
75/static 64.00 57.21 68.68 41.43
75/restore 65.01 43.85 80.17 35.01
75/reset 72.44 38.99 99.90 38.99
75/memstrata 68.12 58.20 74.98 45.15
75/memtx 68.46 58.75 76.06 45.78
75/TRACE 65.96 56.45 72.71 42.34
Average/static 63.16 55.39 68.13 39.48
Average/restore 65.11 42.11 82.24 34.16
Average/reset 72.40 38.88 99.93 38.88
Average/memstrata 66.10 55.53 73.02 41.98
Average/memtx 66.21 55.62 73.57 42.14
Average/TRACE 65.20 53.60 72.36 40.14
""",
    ),
    "Table 6": _grid(
        _STALE,
        """
Early/static 35.94 32.81 32.81 42.19 28.12 21.88
Early/restore 5.73 1.56 1.56 14.06 1.56 0.00
Early/reset 17.19 3.12 39.06 9.38 3.12 0.00
Early/TRACE 64.06 65.62 68.75 57.81 65.62 48.44
Middle/static 24.48 21.88 21.88 29.69 18.75 12.50
Middle/restore 6.25 1.56 3.12 14.06 0.00 0.00
Middle/reset 15.62 3.12 28.12 15.62 3.12 1.56
Middle/TRACE 49.48 48.44 46.88 53.12 45.31 35.94
Late/static 25.00 22.22 19.44 33.33 19.44 13.89
Late/restore 5.56 1.39 1.39 13.89 1.39 0.00
Late/reset 14.81 2.78 29.17 12.50 2.78 0.00
Late/TRACE 44.44 44.44 41.67 47.22 41.67 33.33
Pooled/static 28.33 35.00 22.33 35.00 22.33 17.67
Pooled/restore 5.75 14.00 1.00 14.00 1.00 0.00
Pooled/reset 15.83 12.50 3.00 12.50 3.00 0.50
Pooled/memstrata 28.66 32.00 22.50 32.00 22.50 17.00
Pooled/memtx 30.00 33.50 23.50 33.50 23.50 18.00
Pooled/TRACE 52.33 52.50 52.00 52.50 50.50 39.00
""",
    ),
    "Table 7": _grid(
        (*_STALE, "tokens"),
        """
Early/static 36.67 30.00 25.00 55.00 20.00 15.00 219855
Early/memstrata 23.33 10.00 25.00 35.00 10.00 5.00 218115
Early/memtx 23.33 15.00 20.00 35.00 10.00 5.00 217662
Early/cupmem 81.67 80.00 85.00 80.00 80.00 70.00 2127613
Early/TRACE 73.33 80.00 60.00 80.00 60.00 55.00 316750
Middle/static 36.67 30.00 35.00 45.00 30.00 15.00 215073
Middle/memstrata 50.00 40.00 60.00 50.00 40.00 30.00 212723
Middle/memtx 46.67 40.00 60.00 40.00 40.00 25.00 212732
Middle/cupmem 90.00 85.00 90.00 95.00 85.00 85.00 1935913
Middle/TRACE 60.00 60.00 65.00 55.00 60.00 35.00 517366
Late/static 26.67 25.00 20.00 35.00 15.00 10.00 219754
Late/memstrata 20.00 15.00 25.00 20.00 10.00 5.00 217669
Late/memtx 20.00 10.00 25.00 25.00 10.00 10.00 217624
Late/cupmem 70.00 80.00 80.00 50.00 80.00 35.00 1920918
Late/TRACE 43.33 45.00 40.00 45.00 40.00 30.00 664860
Aggregate/static 33.33 28.33 26.67 45.00 21.67 13.33 218227
Aggregate/memstrata 31.11 21.67 36.67 35.00 20.00 13.33 216169
Aggregate/memtx 30.00 21.67 35.00 33.33 20.00 13.33 216006
Aggregate/cupmem 80.56 81.67 85.00 75.00 81.67 63.33 1994815
Aggregate/TRACE 58.89 61.67 55.00 60.00 53.33 40.00 499659
""",
    ),
    "Table 8": _grid(
        (*_MANBENCH, "RSR"),
        """
Old-Valid/static 70.06 0.00 0.00 100.00 29.94
Old-Valid/restore 96.30 100.00 100.00 0.00 3.70
Old-Valid/reset 95.75 0.00 100.00 0.00 4.25
Old-Valid/memstrata 70.25 0.00 0.00 100.00 29.75
Old-Valid/memtx 70.86 0.00 0.00 100.00 29.14
Old-Valid/TRACE 93.37 95.75 97.57 2.43 6.63
Old-Stale/static 98.68 100.00 100.00 0.00 -
Old-Stale/restore 93.80 0.00 0.00 100.00 -
Old-Stale/reset 97.01 0.00 100.00 0.00 -
Old-Stale/memstrata 98.61 100.00 100.00 0.00 -
Old-Stale/memtx 98.81 100.00 100.00 0.00 -
Old-Stale/TRACE 95.26 96.17 100.00 0.00 -
Average/static 84.38 50.00 50.00 50.00 -
Average/restore 95.05 50.00 50.00 50.00 -
Average/reset 96.38 0.00 100.00 0.00 -
Average/memstrata 84.43 50.00 50.00 50.00 -
Average/memtx 84.84 50.00 50.00 50.00 -
Average/TRACE 94.32 95.96 98.78 1.22 -
""",
    ),
    "Table 9": _grid(
        _MEMORA,
        """
25/static 66.50 52.62 75.50 40.58
25/restore 67.62 43.63 85.96 37.23
25/reset 71.71 43.44 95.04 41.48
25/memstrata 67.95 53.47 76.95 42.37
25/memtx 68.12 53.56 76.97 42.53
25/TRACE 64.93 51.11 73.31 38.42
50/static 67.97 54.45 75.92 42.41
50/restore 66.40 44.67 83.70 37.20
50/reset 72.10 43.45 94.33 41.39
50/memstrata 67.54 56.59 73.99 43.18
50/memtx 67.99 55.63 75.19 43.32
50/TRACE 68.71 55.14 76.76 43.51
75/static 68.41 56.32 76.82 44.93
75/restore 66.59 46.69 80.62 38.41
75/reset 72.20 43.03 96.32 41.60
75/memstrata 68.00 56.52 76.27 44.38
75/memtx 69.19 58.26 76.11 46.50
75/TRACE 69.45 56.98 79.14 46.47
Average/static 67.63 54.46 76.08 42.64
Average/restore 66.87 45.00 83.43 37.61
Average/reset 72.00 43.31 95.23 41.49
Average/memstrata 67.83 55.53 75.74 43.31
Average/memtx 68.43 55.81 76.09 44.12
Average/TRACE 67.70 54.41 76.41 42.80
""",
    ),
    "Table 10": _grid(
        _STALE,
        """
Early/static 78.13 73.44 78.13 82.81 71.88 64.06
Early/restore 9.90 0.00 6.25 23.44 0.00 0.00
Early/reset 8.33 0.00 6.25 18.75 0.00 0.00
Early/TRACE 91.15 92.19 92.19 89.06 92.19 87.50
Middle/static 70.31 70.31 64.06 76.56 62.50 60.94
Middle/restore 8.33 1.56 3.13 20.31 1.56 1.56
Middle/reset 9.38 1.56 4.69 21.88 1.56 1.56
Middle/TRACE 90.10 89.06 90.63 90.63 89.06 85.94
Late/static 62.50 59.72 58.33 69.44 56.94 52.78
Late/restore 5.09 0.00 1.39 13.89 0.00 0.00
Late/reset 8.80 0.00 5.56 20.83 0.00 0.00
Late/TRACE 85.19 83.33 81.94 90.28 81.94 79.17
Average/static 70.31 67.82 66.84 76.27 63.77 59.26
Average/restore 7.77 0.52 3.59 19.21 0.52 0.52
Average/reset 8.83 0.52 5.50 20.49 0.52 0.52
Average/memstrata 64.80 60.24 59.26 74.88 56.71 55.67
Average/memtx 62.29 58.80 58.28 69.79 55.73 52.72
Average/TRACE 88.81 88.19 88.25 89.99 87.73 84.20
""",
    ),
    "Table 11": _grid(
        _MANBENCH,
        """
Old-Valid/static 76.19 0.00 0.00 100.00
Old-Valid/restore 99.75 100.00 100.00 0.00
Old-Valid/reset 97.34 0.00 100.00 0.00
Old-Valid/memstrata 73.71 0.00 0.00 100.00
Old-Valid/memtx 73.35 0.00 0.00 100.00
Old-Valid/TRACE 97.84 97.89 98.95 1.05
Old-Stale/static 99.88 100.00 100.00 0.00
Old-Stale/restore 97.05 0.00 0.00 100.00
Old-Stale/reset 98.15 0.00 100.00 0.00
Old-Stale/memstrata 99.88 100.00 100.00 0.00
Old-Stale/memtx 99.94 100.00 100.00 0.00
Old-Stale/TRACE 98.79 98.79 100.00 0.00
Average/static 88.04 50.00 50.00 50.00
Average/restore 98.40 50.00 50.00 50.00
Average/reset 97.75 0.00 100.00 0.00
Average/memstrata 86.79 50.00 50.00 50.00
Average/memtx 86.65 50.00 50.00 50.00
Average/TRACE 98.32 98.34 99.47 0.53
""",
    ),
    "Table 12": _grid(
        _MEMORA,
        """
25/static 66.66 49.88 78.02 39.72
25/restore 69.22 41.02 91.77 37.57
25/reset 72.52 40.39 99.19 39.95
25/memstrata 68.43 51.78 79.54 42.24
25/memtx 68.69 52.39 79.64 42.66
25/TRACE 67.83 50.71 79.67 40.77
50/static 67.51 51.99 77.79 41.50
50/restore 69.50 42.30 90.62 38.45
50/reset 72.79 39.98 99.59 39.82
50/memstrata 68.36 53.02 78.15 42.35
50/memtx 69.69 52.86 80.63 43.39
50/TRACE 68.06 50.88 79.15 40.99
75/static 70.93 55.53 84.81 47.30
75/restore 70.71 43.48 91.00 39.79
75/reset 72.21 39.53 99.04 39.13
75/memstrata 71.15 55.89 82.33 47.39
75/memtx 71.28 56.28 82.75 48.12
75/TRACE 70.61 54.00 83.33 45.99
Average/static 68.36 52.47 80.20 42.84
Average/restore 69.81 42.27 91.13 38.60
Average/reset 72.51 39.97 99.27 39.63
Average/memstrata 69.31 53.57 80.01 43.99
Average/memtx 69.89 53.84 81.01 44.72
Average/TRACE 68.83 51.86 80.72 42.58
""",
    ),
    "Table 13": _grid(
        _STALE,
        """
Early/static 25.00 17.19 17.19 40.63 12.50 12.50
Early/restore 6.25 0.00 3.13 15.63 0.00 0.00
Early/reset 13.02 0.00 14.06 25.00 0.00 0.00
Early/TRACE 71.88 76.56 70.31 68.75 70.31 59.38
Middle/static 24.48 20.31 20.31 32.81 15.63 9.38
Middle/restore 6.25 0.00 1.56 17.19 0.00 0.00
Middle/reset 17.19 0.00 28.13 23.44 0.00 0.00
Middle/TRACE 46.88 43.75 42.19 54.69 40.63 37.50
Late/static 16.67 9.72 11.11 29.17 9.72 6.94
Late/restore 5.56 1.39 0.00 15.28 0.00 0.00
Late/reset 18.06 0.00 31.94 22.22 0.00 0.00
Late/TRACE 44.44 41.67 41.67 50.00 38.89 31.94
Average/static 22.05 15.74 16.20 34.20 12.62 9.61
Average/restore 6.02 0.46 1.56 16.03 0.00 0.00
Average/reset 16.09 0.00 24.71 23.55 0.00 0.00
Average/memstrata 26.00 16.15 25.64 36.23 14.58 11.63
Average/memtx 26.89 19.21 24.71 36.75 14.58 10.07
Average/TRACE 54.40 53.99 51.39 57.81 49.94 42.94
""",
    ),
    "Table 14": _grid(
        _MANBENCH,
        """
Old-Valid/static 31.06 0.00 0.00 100.00
Old-Valid/restore 99.88 100.00 100.00 0.00
Old-Valid/reset 95.39 0.00 100.00 0.00
Old-Valid/memstrata 52.50 0.00 0.00 100.00
Old-Valid/memtx 52.38 0.00 0.00 100.00
Old-Valid/TRACE 92.04 91.86 96.89 3.11
Old-Stale/static 99.85 100.00 100.00 0.00
Old-Stale/restore 87.13 0.00 0.00 100.00
Old-Stale/reset 97.38 0.00 100.00 0.00
Old-Stale/memstrata 99.85 100.00 100.00 0.00
Old-Stale/memtx 100.00 100.00 100.00 0.00
Old-Stale/TRACE 93.22 93.30 100.00 0.00
Average/static 65.45 50.00 50.00 50.00
Average/restore 93.51 50.00 50.00 50.00
Average/reset 96.39 0.00 100.00 0.00
Average/memstrata 76.18 50.00 50.00 50.00
Average/memtx 76.19 50.00 50.00 50.00
Average/TRACE 92.63 92.58 98.44 1.56
""",
    ),
    "Table 15": TABLE_15,
    "Table 16": _grid(
        _MANBENCH,
        """
static 76.51 44.24 44.24 55.76
TRACE 96.07 96.76 98.83 1.17
""",
    ),
    "Table 17": _grid(
        ("VIA", "IIR", "FAMA"),
        """
ScopedMem/static 55.04 67.77 39.13
ScopedMem/TRACE 52.01 74.19 39.31
Mem0/static 53.53 68.93 37.81
Mem0/TRACE 53.48 70.06 38.29
Memobase/static 54.54 67.94 38.52
Memobase/TRACE 53.19 68.33 37.17
A-MEM/static 55.33 67.24 39.21
A-MEM/TRACE 54.00 68.35 38.09
""",
    ),
}
