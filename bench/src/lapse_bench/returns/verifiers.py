"""Whom `lapse` asks: nobody, or a stand-in at stated accuracies."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue
from lapse.runtime import Judging
from lapse_bench.returns.lapse_method import LapseMethod
from lapse_bench.returns.stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse.admission import Question, Verdict
    from lapse.runtime import Proposer

__all__ = ["Verifiers", "accuracy_of", "verified"]


class Verifiers(StrEnum):
    """Who answers."""

    NONE = "none"
    STAND_IN = "stand-in"


def verified(
    verifier: Verifiers,
    accuracies: Sequence[float],
    truth: Callable[[Question], Verdict],
    *,
    seed: int,
    proposers: Sequence[Proposer] = (),
) -> tuple[LapseMethod, ...]:
    """`lapse` with its verifier, first as `lapse`, then once for each further accuracy.

    Args:
        verifier: who answers.
        accuracies: of the stand-in; at least one.
        truth: what an honest verifier would say; only the stand-in knows it.
        seed: decides the stand-in's errors.
        proposers: who names the pairs.

    Raises:
        InvalidValue: an accuracy is out of bounds, or there is none.
    """
    if verifier is Verifiers.NONE:
        return (LapseMethod(),)
    if not accuracies:
        raise InvalidValue("accuracies", accuracies, "name at least one, as 1,0.8,0.6")
    return tuple(
        LapseMethod(
            "lapse" if place == 0 else f"lapse, {accuracy:g}",
            Judging(proposers, StandIn(truth, accuracy, seed)),
        )
        for place, accuracy in enumerate(accuracies)
    )


def accuracy_of(name: str) -> float | None:
    """The accuracy in a method's name; None where it names none."""
    _, comma, share = name.partition(", ")
    return float(share) if comma else None
