"""Which of two answers a verifier should let stand, by the labels of ManBench's items.

It is asked about two texts and sees nothing else: no condition, no team, no workload. Of two
answers to one question the right one stands. An answer to another question, given later, ends the
earlier one when it is right itself: the work moved on. What the labels do not know is unsure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapse.admission import Verdict
from lapse_bench.returns.manbench import said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lapse.admission import Question
    from lapse_bench.returns.manbench import Item

__all__ = ["truth_of"]


def truth_of(items: Iterable[Item]) -> Callable[[Question], Verdict]:
    """What an honest verifier answers about two of these items' answers."""
    known: dict[str, tuple[str, bool]] = {}
    for item in items:
        known.setdefault(said(item.question, item.misleading), (item.question, False))
    for item in items:
        known[said(item.question, item.right)] = item.question, True

    def truth(question: Question) -> Verdict:
        older, later = known.get(question.older.text), known.get(question.later.text)
        if older is None or later is None:
            return Verdict.UNSURE
        if later[1] and (not older[1] or older[0] != later[0]):
            return Verdict.INVALIDATES
        return Verdict.STANDS if older[1] else Verdict.UNSURE

    return truth
