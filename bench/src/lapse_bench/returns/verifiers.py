"""Whom `lapse` asks: nobody, a stand-in at stated accuracies, or a model."""

from __future__ import annotations

from contextlib import contextmanager
from os import environ
from typing import TYPE_CHECKING, Annotated, Final

import typer
from pydantic import SecretStr

from lapse.errors import InvalidValue
from lapse.judges import JudgeSettings, judge_named
from lapse.runtime import Judging
from lapse_bench.returns.lapse_method import LapseMethod
from lapse_bench.returns.stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from lapse.admission import Question, Verdict
    from lapse.runtime import PairJudge, Proposer

__all__ = [
    "NOBODY",
    "STAND_IN",
    "Accuracies",
    "Verifier",
    "accuracy_of",
    "model_named",
    "stand_ins",
    "verified",
]


Verifier = Annotated[
    str,
    typer.Option(
        "--verifier",
        help="Whom lapse asks: none, stand-in, local, openai:MODEL or anthropic:MODEL.",
    ),
]

Accuracies = Annotated[
    str, typer.Option("--accuracies", help="How often the stand-in is right; several: a curve.")
]

STAND_IN: Final = "stand-in"
NOBODY: Final = "none"


def verified(
    verifier: str,
    accuracies: Sequence[float],
    truth: Callable[[Question], Verdict],
    *,
    seed: int,
    proposers: Sequence[Proposer] = (),
    model: PairJudge | None = None,
) -> tuple[LapseMethod, ...]:
    """`lapse` with its verifier, first as `lapse`, then once for each further accuracy.

    Args:
        verifier: who answers: `none`, `stand-in`, or the name of a model.
        accuracies: of the stand-in; at least one.
        truth: what an honest verifier would say; only the stand-in knows it.
        seed: decides the stand-in's errors.
        proposers: who names the pairs.
        model: the model, where one is to answer.

    Raises:
        InvalidValue: an accuracy is out of bounds, or there is none.
    """
    if verifier == NOBODY:
        return (LapseMethod(),)
    if model is not None:
        return (LapseMethod("lapse", Judging(proposers, model)),)
    return tuple(
        LapseMethod(
            "lapse" if place == 0 else f"lapse, {judge.accuracy:g}", Judging(proposers, judge)
        )
        for place, judge in enumerate(stand_ins(accuracies, truth, seed=seed))
    )


@contextmanager
def model_named(verifier: str) -> Generator[PairJudge | None]:
    """The model behind a name while the block runs; None for a stand-in and for nobody.

    Raises:
        InvalidValue: there is none of that name, or its key is not in the environment.
        MissingExtra: a package that it needs is not installed.
    """
    if verifier in {STAND_IN, NOBODY}:
        yield None
        return
    kind, colon, _ = verifier.partition(":")
    variable = f"{kind.upper()}_API_KEY"
    key = environ.get(variable) if colon else None
    if colon and not key:
        raise InvalidValue(variable, None, f"set it to the key of the service behind {verifier}")
    with judge_named(verifier, JudgeSettings(key=SecretStr(key) if key else None)) as judge:
        yield judge


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
