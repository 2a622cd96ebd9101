"""The source's component ablations (Table 15), in percent: a model's, over STALE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TABLE_15"]

TABLE_15: Final[Mapping[str, Mapping[str, float]]] = {
    "full": {"Overall": 52.33, "VIA": 52.5, "IIR": 50.5, "LS": 39.0},
    "no-inference": {"Overall": 26.5, "VIA": 34.0, "IIR": 19.5, "LS": 18.0},
    "by-relevance": {"Overall": 38.67, "VIA": 35.5, "IIR": 36.0, "LS": 29.0},
    "incomplete-views": {"Overall": 47.33, "VIA": 48.0, "IIR": 44.0, "LS": 35.0},
    "unbound-experience": {"Overall": 42.0, "VIA": 43.0, "IIR": 38.5, "LS": 31.0},
}
