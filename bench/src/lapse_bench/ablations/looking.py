"""Who is asked in an ablation: a scan that misses nothing that is so, and a stand-in to rule.

The scan names every pair that the data know to be broken, and beside it what ranks first by words
(BM25), so that the verifier has something to be wrong about. All variants share its answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lapse.admission import Captured, Question, Scan, Verdict
from lapse.judges import Bm25
from lapse.runtime import Judging, Proposal
from lapse_bench.returns.stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lapse.admission import Checkpoint, Policy, WorkItem
    from lapse.runtime import Looked

__all__ = ["NAMED_BY_WORDS", "judging", "looked_at", "relevance"]

NAMED_BY_WORDS: Final = 4
"""Later items that are named for each item, whatever is so (four later ones share one of the
source's scans, Table 4)."""


@dataclass(frozen=True, slots=True)
class Sure:
    """Names the pairs that are broken, and no other.

    Attributes:
        truth: what is so.
    """

    truth: Callable[[Question], Verdict]
    name: str = "sure"

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        """The later items that break each one."""
        return {
            scan.older.id: Proposal(
                tuple(
                    later.id
                    for later in scan.later
                    if self.truth(Question(scan.older, later)) is Verdict.INVALIDATES
                )
            )
            for scan in scans
        }


def judging(truth: Callable[[Question], Verdict], accuracy: float, seed: int) -> Judging:
    """A scan that misses nothing, and a stand-in of this accuracy."""
    return Judging((Sure(truth), Bm25(NAMED_BY_WORDS)), StandIn(truth, accuracy, seed))


def looked_at(checkpoint: Checkpoint, policy: Policy, by: Judging) -> Looked:
    """The answers about a return, asked for once."""
    return by.look(Captured(checkpoint, policy).next())


def relevance(workload: WorkItem, items: Iterable[WorkItem]) -> dict[str, float]:
    """How high each item ranks for a workload by words; what shares none with it has no score."""
    there = tuple(items)
    if not there:
        return {}
    ranked = Bm25(len(there)).scan((Scan(workload, there),))[workload.id].named
    return {name: float(len(there) - place) for place, name in enumerate(ranked)}
