"""The travel case's two returns, for the ablations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse.admission import Verdict
from lapse_bench.ablations.looking import relevance
from lapse_bench.ablations.variants import Return
from lapse_bench.travel import FIRST, POLICY, SECOND
from lapse_bench.workstate import statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse.admission import Question

__all__ = ["travel_returns", "travel_truth"]

_WORKLOAD: Final = "Prepare the final hotel and transport details for the family"


def travel_returns() -> Iterator[Return]:
    """The return before the pickup is confirmed, and the one after."""
    for block, checkpoint in (("before", FIRST), ("after", SECOND)):
        asked = statement("asked", _WORKLOAD)
        there = {item.id for item in checkpoint.items}
        yield Return(
            id=f"travel-{block}",
            block=block,
            checkpoint=checkpoint,
            policy=POLICY,
            relevance=relevance(asked, (i for i in checkpoint.items if i.kind.value == "fact")),
            needed={name: frozenset({name}) for name in ("c", "h1", "t1", "p1") if name in there},
            stale={name: frozenset({name, f"e_{name}"}) for name in ("h0", "t0", "p0")},
        )


def travel_truth(question: Question) -> Verdict:
    """The old pickup starts at a hotel where nobody stays; nothing else breaks anything."""
    pair = (question.older.id, question.later.id)
    return Verdict.INVALIDATES if pair == ("p0", "h1") else Verdict.STANDS
