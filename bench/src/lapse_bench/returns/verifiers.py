"""Whom `lapse` asks: nobody, a stand-in at stated accuracies, or the local model."""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue
from lapse.judges import ModelJudge
from lapse.runtime import Judging
from lapse_bench.returns.lapse_method import LapseMethod
from lapse_bench.returns.stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from lapse.admission import Question, Verdict
    from lapse.runtime import PairJudge, Proposer

__all__ = ["Verifiers", "accuracy_of", "local_judge", "stand_ins", "verified"]


class Verifiers(StrEnum):
    """Who answers."""

    NONE = "none"
    STAND_IN = "stand-in"
    LOCAL = "local"


def verified(
    verifier: Verifiers,
    accuracies: Sequence[float],
    truth: Callable[[Question], Verdict],
    *,
    seed: int,
    proposers: Sequence[Proposer] = (),
    local: PairJudge | None = None,
) -> tuple[LapseMethod, ...]:
    """`lapse` with its verifier, first as `lapse`, then once for each further accuracy.

    Args:
        verifier: who answers.
        accuracies: of the stand-in; at least one.
        truth: what an honest verifier would say; only the stand-in knows it.
        seed: decides the stand-in's errors.
        proposers: who names the pairs.
        local: the local model, where it is to answer.

    Raises:
        InvalidValue: an accuracy is out of bounds, or there is none.
    """
    if verifier is Verifiers.NONE:
        return (LapseMethod(),)
    if local is not None:
        return (LapseMethod("lapse", Judging(proposers, local)),)
    return tuple(
        LapseMethod(
            "lapse" if place == 0 else f"lapse, {judge.accuracy:g}", Judging(proposers, judge)
        )
        for place, judge in enumerate(stand_ins(accuracies, truth, seed=seed))
    )


@contextmanager
def local_judge(verifier: Verifiers = Verifiers.LOCAL) -> Generator[PairJudge | None]:
    """The small model that ships in a package, while the block runs; None where it is not asked.

    Raises:
        MissingExtra: it is not installed.
    """
    if verifier is not Verifiers.LOCAL:
        yield None
        return
    from lapse.judges.local import LocalModel  # noqa: PLC0415 - an extra

    with LocalModel() as model:
        yield ModelJudge(model)


def stand_ins(
    accuracies: Sequence[float], truth: Callable[[Question], Verdict], *, seed: int
) -> tuple[StandIn, ...]:
    """One stand-in for each accuracy.

    Raises:
        InvalidValue: an accuracy is out of bounds, or there is none.
    """
    if not accuracies:
        raise InvalidValue("accuracies", accuracies, "name at least one, as 1,0.8,0.6")
    return tuple(StandIn(truth, accuracy, seed) for accuracy in accuracies)


def accuracy_of(name: str) -> float | None:
    """The accuracy in a method's name; None where it names none."""
    _, comma, share = name.partition(", ")
    return float(share) if comma else None
