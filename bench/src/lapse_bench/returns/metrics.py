"""What is measured when an agent comes back: pure functions over judgements already made.

Definitions of TRACE (arXiv 2609.33517), appendix D.1; the equation is named at each function.
Scores are shares in [0, 1]; `percent` writes them as the source prints them. Nothing here judges:
who decided that a criterion was met, a rule or a model, is the caller's to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Criteria",
    "ManbenchOutcome",
    "ManbenchScores",
    "MemoraScores",
    "Probes",
    "StaleScores",
    "equal_weight",
    "fama",
    "forgetting",
    "manbench_scores",
    "memora_overall",
    "memora_scores",
    "percent",
    "pooled",
    "presence",
    "stale_scores",
    "weight",
    "wrong_state",
]


def percent(share: float) -> float:
    """A share in percent, to two decimal places, as the source's tables have it."""
    return round(100 * share, 2)


def wrong_state(iir: float) -> float:
    """WSAR, the share of invalid state let in: 1 minus IIR (equation 8)."""
    return 1 - iir


@dataclass(frozen=True, slots=True)
class Probes:
    """The three judgements of one STALE episode (appendix D.4).

    Attributes:
        resolved: Dim1, the outdated belief was recognised.
        resisted: Dim2, a question that presumes it was corrected.
        adapted: Dim3, the current state was acted upon.
    """

    resolved: bool
    resisted: bool
    adapted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleScores:
    """STALE over a block of episodes (equations 9 and 10).

    Attributes:
        n: episodes.
        sr: share resolved.
        pr: share resisted.
        ipa: share adapted.
        overall: the mean of the three.
        via: the same as `ipa`.
        iir: share resolved and resisted within one episode.
        ls: share with all three within one episode.
    """

    n: int
    sr: float
    pr: float
    ipa: float
    overall: float
    via: float
    iir: float
    ls: float


def stale_scores(episodes: Sequence[Probes]) -> StaleScores:
    """Score a block of STALE episodes.

    Raises:
        InvalidValue: there is none.
    """
    _some("episodes", episodes)
    sr = fmean(episode.resolved for episode in episodes)
    pr = fmean(episode.resisted for episode in episodes)
    ipa = fmean(episode.adapted for episode in episodes)
    return StaleScores(
        n=len(episodes),
        sr=sr,
        pr=pr,
        ipa=ipa,
        overall=(sr + pr + ipa) / 3,
        via=ipa,
        iir=fmean(one.resolved and one.resisted for one in episodes),
        ls=fmean(one.resolved and one.resisted and one.adapted for one in episodes),
    )


@dataclass(frozen=True, slots=True)
class Criteria:
    """The criteria of one Memora question, each met or not.

    Attributes:
        presence: C^P, what an answer has to contain; at least one.
        forgetting: C^F, what it must not contain; may be empty, and then nothing was wrongly kept.
    """

    presence: tuple[bool, ...]
    forgetting: tuple[bool, ...]

    def __post_init__(self) -> None:
        """Refuse a question that asks for nothing: P would have no meaning."""
        _some("presence", self.presence)


def presence(question: Criteria) -> float:
    """P, the share of presence criteria met."""
    return fmean(question.presence)


def forgetting(question: Criteria) -> float:
    """F, the share of forgetting criteria met; 1 when there is none."""
    return fmean(question.forgetting) if question.forgetting else 1.0


def weight(question: Criteria) -> float:
    """The weight w of forgetting, |C^F| / (|C^P| + |C^F|)."""
    return len(question.forgetting) / (len(question.presence) + len(question.forgetting))


def memora_overall(question: Criteria) -> float:
    """(1 - w) P + w F: the share of all criteria met, presence and forgetting pooled."""
    w = weight(question)
    return (1 - w) * presence(question) + w * forgetting(question)


def fama(question: Criteria) -> float:
    """max(0, P - w (1 - F)) (equation 13): equals P when forgetting is perfect."""
    return max(0.0, presence(question) - weight(question) * (1 - forgetting(question)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoraScores:
    """Memora over a set of questions, each question weighing the same (equations 11 and 12)."""

    n: int
    via: float
    iir: float
    overall: float
    fama: float


def memora_scores(questions: Sequence[Criteria]) -> MemoraScores:
    """Score a set of Memora questions.

    Raises:
        InvalidValue: there is none.
    """
    _some("questions", questions)
    return MemoraScores(
        n=len(questions),
        via=fmean(map(presence, questions)),
        iir=fmean(map(forgetting, questions)),
        overall=fmean(map(memora_overall, questions)),
        fama=fmean(map(fama, questions)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ManbenchOutcome:
    """One ManBench-Return episode (appendix D.5).

    Attributes:
        valid_admitted: the candidate that holds was let in.
        invalid_admitted: the one that does not was let in.
        correct_before: the agent's answer before it left was right; None where nobody answered.
        correct: its answer after the return is right; None where nobody answered.
    """

    valid_admitted: bool
    invalid_admitted: bool
    correct_before: bool | None = None
    correct: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManbenchScores:
    """ManBench-Return over one condition.

    Attributes:
        n: episodes.
        via: share with the valid candidate admitted (equation 6).
        iir: share with the invalid candidate kept out (equation 7).
        overall: share of right answers; None where some episode has no answer.
        rsr: of the episodes right before, the share that is wrong after (appendix E.4); None where
            answers are missing or none was right before. It has a meaning only in Old-Valid.
    """

    n: int
    via: float
    iir: float
    overall: float | None
    rsr: float | None


def manbench_scores(episodes: Sequence[ManbenchOutcome]) -> ManbenchScores:
    """Score one condition of ManBench-Return.

    Raises:
        InvalidValue: there is no episode.
    """
    _some("episodes", episodes)
    answered = [one.correct for one in episodes if one.correct is not None]
    complete = len(answered) == len(episodes)
    started = [one for one in episodes if one.correct_before]
    return ManbenchScores(
        n=len(episodes),
        via=fmean(one.valid_admitted for one in episodes),
        iir=fmean(not one.invalid_admitted for one in episodes),
        overall=fmean(answered) if complete else None,
        rsr=fmean(one.correct is False for one in started) if complete and started else None,
    )


def equal_weight(blocks: Sequence[float]) -> float:
    """The mean of block scores, each block weighing the same, however many episodes it has.

    Raises:
        InvalidValue: there is no block.
    """
    _some("blocks", blocks)
    return fmean(blocks)


def pooled(blocks: Sequence[tuple[float, int]]) -> float:
    """The mean of block scores weighed by their episodes: as if there had been one block.

    Args:
        blocks: a score and a number of episodes each, the numbers at least 1.

    Raises:
        InvalidValue: there is no block, or one without episodes.
    """
    _some("blocks", blocks)
    for _, n in blocks:
        if n < 1:
            raise InvalidValue("blocks", n, "leave out a block without episodes")
    return sum(score * n for score, n in blocks) / sum(n for _, n in blocks)


def _some(field: str, values: Sequence[object]) -> None:
    if not values:
        raise InvalidValue(field, values, "give at least one; a mean of nothing has no value")
