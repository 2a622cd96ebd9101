"""The places of the report on admission, and the source's settings that need no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TABLE_4", "TITLES"]

TABLE_4: Final[Mapping[str, str]] = {
    "departure fraction": "25%, 50%, 75%",
    "departure strata": "Early: 0-4; Middle: 5-9; Late: 10-14",
    "group sizes (D.6)": "4, 8, 16, 32",
    "sessions of a STALE history (D.4)": "50",
    "coverage thresholds (C.6)": "1, 1",
    "item budget (C.6)": "8",
}
"""The settings of Table 4, and of the appendices named, that need no model."""

TITLES: Final[Mapping[str, str]] = {
    "Table 1": "All three benchmarks, by actor",
    "Table 2": "Accuracy and cost on the STALE subset",
    "Table 3": "ManBench-Return by team size",
    "Table 4": "Settings",
    "Table 5": "Memora, Qwen",
    "Table 6": "STALE, Qwen",
    "Table 7": "STALE subset, Qwen",
    "Table 8": "ManBench-Return, Qwen",
    "Table 9": "Memora, Gemini",
    "Table 10": "STALE, Gemini",
    "Table 11": "ManBench-Return, Gemini",
    "Table 12": "Memora, DeepSeek",
    "Table 13": "STALE, DeepSeek",
    "Table 14": "ManBench-Return, DeepSeek",
    "Table 15": "Component ablations",
    "Table 16": "ManBench-Return over team sizes",
    "Table 17": "Stores",
    "Figure 3": "Component ablations",
    "Figure 4": "The admission plane of ManBench-Return",
    "Figure 5": "Stores",
    "Case C.6": "Returning to a changed travel plan",
    "Arithmetic": "Printed averages, computed again from printed rows",
}
"""What each place of the report is about."""
