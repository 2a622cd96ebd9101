"""What was asked in one exchange, and what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from lapse.contract import Answers, Moved, TableChanges
    from lapse.ledger import Source

    Asked = dict[tuple[Source, str | None], TableChanges | None]
    """What was asked, with the answers; None where none came."""

__all__ = ["answers", "ask"]


def ask(questions: Sequence[Moved], asked: Asked) -> Generator[Moved, TableChanges | None, None]:
    """Ask each question that was not asked yet, and keep what comes back."""
    for question in questions:
        if (question.source, question.was) not in asked:
            asked[question.source, question.was] = yield question


def answers(asked: Asked) -> Answers:
    """The questions that were answered."""
    return {question: answer for question, answer in asked.items() if answer is not None}
