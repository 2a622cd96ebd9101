"""A verifier at a stated accuracy, in place of a model: it knows the answers, and errs by a coin.

It measures what admission makes of a verifier, and no model. With accuracy 1 it is the honest
witness. Below that, a coin of its own for each pair of texts decides whether it says the opposite;
the same pair is always answered alike, whoever asks and however often, and who is right at one
accuracy is right at every higher one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lapse.admission import Verdict
from lapse.errors import InvalidValue
from lapse.judges import counter_named, pair_prompt
from lapse.runtime import Cost, Opinion

if TYPE_CHECKING:
    from collections.abc import Callable

    from lapse.admission import Question
    from lapse.judges import TokenCounter

__all__ = ["StandIn", "tokens_in"]

_OPPOSITE = {Verdict.INVALIDATES: Verdict.STANDS, Verdict.STANDS: Verdict.INVALIDATES}

_AROUND = 1_024
"""More tokens than the instructions and the frame around two texts have."""

_VERDICT_TOKENS = 7
"""Of `{"verdict":"invalidates"}` in the same encoding; the others are as long or one shorter."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """The verifier.

    Attributes:
        truth: what is so; `UNSURE` where the data say nothing, and then no coin is drawn.
        accuracy: how often it says that, above one half and at most 1.
        seed: decides the coins.
    """

    truth: Callable[[Question], Verdict]
    accuracy: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse one that is worse than a coin: turned round it would be better."""
        if not 0.5 <= self.accuracy <= 1:  # noqa: PLR2004 - as the docstring says
            raise InvalidValue("accuracy", self.accuracy, "give a share from 0.5 to 1")

    @property
    def name(self) -> str:
        """What rulings are kept under."""
        return f"stand-in, accuracy {self.accuracy:g}, seed {self.seed}"

    def most(self, question: Question) -> Cost:
        """At most so much; no text is more tokens than bytes, and six of JSON are one as it was."""
        said = len(question.older.text.encode()) + len(question.later.text.encode())
        slots = len(question.older.slot.encode()) + len(question.later.slot.encode())
        return Cost(1, _AROUND + 6 * (said + slots), _VERDICT_TOKENS)

    def verify(self, question: Question) -> Opinion:
        """Say what is so, or by the coin the opposite."""
        verdict = self.truth(question)
        if not self._knows(question):
            verdict = _OPPOSITE.get(verdict, verdict)
        return Opinion(verdict, cost=_cost(question))

    def _knows(self, question: Question) -> bool:
        pair = f"{self.seed}\n{question.older.text}\n\n{question.later.text}"
        drawn = hashlib.sha256(pair.encode()).digest()[:8]
        return int.from_bytes(drawn) < self.accuracy * 2**64


def tokens_in(text: str) -> int:
    """How many tokens a text is, in the encoding that results name."""
    return _counter().count(text)


def _cost(question: Question) -> Cost:
    """What the question would cost a model: the words that `ModelJudge` sends, and one verdict."""
    system, asked = pair_prompt(question).messages
    read = _tokens_of_instructions(system.content) + tokens_in(asked.content)
    return Cost(1, read, _VERDICT_TOKENS)


@cache  # the same for every pair
def _tokens_of_instructions(text: str) -> int:
    return tokens_in(text)


@cache  # its tables take a second to load
def _counter() -> TokenCounter:
    return counter_named()
