"""Who may name pairs and who may rule on them: the ports that `Judging` asks through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lapse.errors import NoVerdict
from lapse.runtime.judging_costs import FREE, Cost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lapse.admission import Question, Scan, Verdict

__all__ = ["OnlyKept", "Opinion", "PairJudge", "Proposal", "Proposer"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Which later items may break one item.

    Attributes:
        named: their ids, the most plausible first.
        failure: what came instead; then nothing is named.
        cost: what finding them cost.
    """

    named: tuple[str, ...] = ()
    failure: Exception | None = None
    cost: Cost = FREE


class Proposer(Protocol):
    """Names pairs that are worth a verifier's time. Called from one thread at a time.

    What it leaves out is never asked about, so the item stands as far as this witness goes: its
    recall is the recall of the whole. It is not held to an allowance.
    """

    @property
    def name(self) -> str:
        """What it is, with version and settings."""
        ...

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        """A proposal for each scan, by the older item's id.

        Raises:
            LapseError: it failed on all of them. One that it failed on has that in its proposal.
        """
        ...


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a verifier answers.

    Attributes:
        verdict: the answer.
        said: why, in its own words; untrusted, and not kept.
        cost: what it cost.
    """

    verdict: Verdict
    said: str = ""
    cost: Cost = FREE


class PairJudge(Protocol):
    """Rules on one pair at a time, and sees nothing but that pair. Called from one thread."""

    @property
    def name(self) -> str:
        """What it is, with version, prompt and settings: rulings are kept under it."""
        ...

    def most(self, question: Question) -> Cost:
        """The most that `verify` may cost for this question, with all its repetitions."""
        ...

    def verify(self, question: Question) -> Opinion:
        """Rule on a pair.

        Raises:
            NoVerdict: a model answered, and not with a verdict; it knows what that cost.
            LapseError: it failed otherwise.
        """
        ...


@dataclass(frozen=True, slots=True)
class OnlyKept:
    """A verifier that is not there: what it ruled once is used, and it rules on nothing more.

    Attributes:
        name: the name of the verifier whose rulings were kept.
    """

    name: str

    def most(self, question: Question) -> Cost:
        """Nothing: it is not asked."""
        del question
        return FREE

    def verify(self, question: Question) -> Opinion:
        """Refuse.

        Raises:
            NoVerdict: always.
        """
        raise NoVerdict(f"nothing is kept of {self.name} about {question.pair}")
