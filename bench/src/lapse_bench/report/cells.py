"""A printed number beside ours, with a verdict.

=================  =============================================================================
`equal`            a planner that follows every fix determines the number, whichever of two
                   entries it believes, and it is the one that came out here
`within interval`  it does, and ours lies in the interval that is printed
`different`        it does, and ours is another; the cell says why
`needs a model`    it is a measurement of a model that nobody here has paid for
=================  =============================================================================

What a verdict rests on is a cell's `basis`. Three of them are no measurement of a model: `policy`
(evictions, alerts, the rule stream's retries, the coverage of an arm), `stream` (classes that the
source text found the same for every model, section 3.6) and `bound`, a number that somebody who
follows every fix cannot pass. Of a bound, `equal` says that the printed model reached it, and
nothing else: a model that stayed below it needs that model. `model` is everything else.

Numbers of the scripted planners and of stand-ins stand beside a cell that needs a model, under
their own names. They are something to read it against; no verdict is taken from a stand-in.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["BASES", "DEVIATION", "UNEXPLAINED", "VERDICTS", "Cell", "Value", "counted", "judged"]

VERDICTS: Final = ("equal", "within interval", "different", "needs a model")
BASES: Final = ("policy", "stream", "bound", "model")

UNEXPLAINED: Final = "unexplained"
"""Why a cell differs that should not: a report with one of these is a failure."""

DEVIATION: Final = 18.1
"""Points: no standard deviation over three seeds is larger (caption of Table 3)."""

Value = float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One printed number.

    Attributes:
        place: the table or figure.
        row: the model or arm.
        column: what is measured.
        printed: the number as printed.
        ours: what came out here, by the planner that wrote the requests; empty: nothing comparable.
        stand_in: what a stand-in for the row's model gave; shown, and never a reason for a verdict.
        verdict: one of `VERDICTS`.
        basis: one of `BASES`.
        why: the reason, where the verdict alone does not say it.
    """

    place: str
    row: str
    column: str
    printed: Value
    ours: Mapping[str, Value] = field(default_factory=dict[str, "Value"])
    stand_in: Value = None
    verdict: str
    basis: str = "model"
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """Its members."""
        return {
            "place": self.place,
            "row": self.row,
            "column": self.column,
            "printed": self.printed,
            "ours": dict(self.ours),
            "stand_in": self.stand_in,
            "verdict": self.verdict,
            "basis": self.basis,
            "why": self.why,
        }


def judged(
    printed: Value, ours: Mapping[str, Value], basis: str, *, note: str = "", mean: bool = False
) -> tuple[str, str]:
    """The verdict on a number, and why.

    Args:
        printed: the number as printed.
        ours: what came out here, by planner.
        basis: what a verdict would rest on.
        note: why it may differ; empty: nothing explains a difference.
        mean: whether the printed number is a rate in percent and a mean over three seeds, so that
            it stands for an interval `DEVIATION` wide to either side.
    """
    values = set(ours.values())
    if basis == "model" or len(values) != 1:
        return "needs a model", note
    (only,) = values
    if only == printed:
        return "equal", ""
    if basis == "bound":
        return "needs a model", note
    if mean and isinstance(only, float) and isinstance(printed, float):
        off = abs(only - printed)
        if off <= DEVIATION:
            return "within interval", f"{off:.1f} points off a mean of three seeds; {note}"
    return "different", note or UNEXPLAINED


def counted(cells: Sequence[Cell]) -> dict[str, int]:
    """How many cells have each verdict."""
    found = Counter(cell.verdict for cell in cells)
    return {verdict: found[verdict] for verdict in VERDICTS}
