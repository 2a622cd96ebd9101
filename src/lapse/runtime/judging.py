"""Answers a return's questions: proposers name pairs, a verifier rules on each, and it is kept.

The loop decides nothing about an item. It asks, and hands what came back to `Screened.next`: a
failure stays there as the exception that it was, so that the item is left out for that reason.

1. The pairs of all proposers are one set; each pair is asked about once. What one proposer failed
   on is unknown, whatever the others found.
2. A ruling is kept by the digest of all that went into it, and a kept one is not asked for again. A
   failure is not kept.
3. Pairs are asked in the order of their plausibility: every item's first pair before any item's
   second; ties by id. With several proposers the best place counts.
4. An allowance is never exceeded: before each question, the most that its answer may cost has to
   fit into what is left. At the first that does not fit, or after so many failures in a row as it
   says, asking ends; what is kept is still used.
   A greater allowance answers all that a smaller one does.

So a scan in the background is this call with an allowance, repeated until nothing is left, or until
nothing can be asked because the allowance is too small for even one question::

    looked = judging.look(screened, allowance=Allowance(calls=20))
    while looked.left and looked.asked:
        looked = judging.look(screened, allowance=Allowance(calls=20), failed=looked.failed)
    judged = screened.next(looked.scanned, looked.answers)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, cast

from lapse.admission import Pair, Reason, Verdict
from lapse.errors import NoVerdict
from lapse.runtime.judging_costs import FREE, Allowance, Cost
from lapse.runtime.judging_ports import OnlyKept, Opinion, PairJudge, Proposal, Proposer
from lapse.runtime.judging_rulings import (
    Ruling,
    Rulings,
    RulingsInLedger,
    RulingsInMemory,
    ruling_key,
)

if TYPE_CHECKING:
    from lapse.admission import Proposals, Question, Scan, Screened, WorkItem

__all__ = [
    "FREE",
    "Allowance",
    "Answered",
    "Cost",
    "Judging",
    "Looked",
    "OnlyKept",
    "Opinion",
    "PairJudge",
    "Proposal",
    "Proposer",
    "Ruling",
    "Rulings",
    "RulingsInLedger",
    "RulingsInMemory",
    "ruling_key",
]


@dataclass(frozen=True, slots=True)
class Answered:
    """One question that was answered.

    Attributes:
        question: the pair.
        answer: a `Verdict`, the exception that came instead, or whatever else came.
        said: why, in the verifier's words; empty for a kept ruling. Untrusted.
        reused: whether it was kept from before.
    """

    question: Question
    answer: object
    said: str = ""
    reused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What came of looking: what `Screened.next` takes, and what it cost.

    Attributes:
        scanned: for each scanned item's id the ids of later ones, or the exception.
        answers: for each pair a `Verdict`, or the exception, or what cannot be read.
        said: why, in the verifier's words, where it said anything. Untrusted.
        cost: what is known to have been billed.
        asked: how many questions the verifier was asked.
        reused: how many kept rulings were used.
        left: the pairs that were not asked about, the most plausible first.
    """

    scanned: Mapping[str, object]
    answers: Mapping[Pair, object]
    said: Mapping[Pair, str] = field(default_factory=dict[Pair, str])
    cost: Cost = FREE
    asked: int = 0
    reused: int = 0
    left: tuple[Pair, ...] = ()

    @property
    def failed(self) -> dict[Pair, Exception]:
        """The pairs that the verifier failed on; pass them on, and they are not asked again."""
        return {pair: one for pair, one in self.answers.items() if isinstance(one, Exception)}


def _nobody(_answered: Answered) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Judging:
    """Who answers. Safe to call from several threads: one looks at a time.

    Attributes:
        proposers: name pairs; with none of them every item is left out as not scanned.
        verifier: rules on them; `OnlyKept` where only kept rulings are to be used.
        rulings: where rulings are kept.
    """

    proposers: Sequence[Proposer]
    verifier: PairJudge
    rulings: Rulings = field(default_factory=RulingsInMemory)
    _turn: RLock = field(default_factory=RLock, init=False, repr=False, compare=False)

    def look(
        self,
        screened: Screened,
        *,
        allowance: Allowance | None = None,
        failed: Mapping[Pair, Exception] | None = None,
        tell: Callable[[Answered], object] = _nobody,
    ) -> Looked:
        """Ask what a return leaves to be asked.

        Args:
            screened: the return, after the explicit rules.
            allowance: how much may be asked; None: all of it.
            failed: what the verifier failed on in an earlier look: taken as it is, not asked again.
            tell: is called after each answer.

        Raises:
            StoreError: the rulings could not be read or kept.
        """
        with self._turn:
            return self._look(screened, allowance or Allowance(), failed or {}, tell)

    def _look(
        self,
        screened: Screened,
        allowance: Allowance,
        failed: Mapping[Pair, Exception],
        tell: Callable[[Answered], object],
    ) -> Looked:
        found = _Found()
        if screened.scans:
            for proposer in self.proposers:
                found.take(screened.scans, _proposed(proposer, screened.scans))
        bench = _Bench(
            self.verifier, self.verifier.name, self.rulings, allowance, billed=found.cost
        )
        bench.spent = found.cost
        answers: dict[Pair, object] = {}
        said: dict[Pair, str] = {}
        left: list[Pair] = []
        for question in found.in_order(screened.proposals(found.scanned)):
            answered = bench.answer(question, failed)
            if answered is None:
                left.append(question.pair)
                continue
            answers[question.pair] = answered.answer
            if answered.said:
                said[question.pair] = answered.said
            tell(answered)
        return Looked(
            scanned=found.scanned,
            answers=answers,
            said=said,
            cost=bench.billed,
            asked=bench.asked,
            reused=bench.reused,
            left=tuple(left),
        )


def _proposed(proposer: Proposer, scans: Sequence[Scan]) -> Mapping[str, object]:
    try:
        proposed = cast("object", proposer.scan(scans))
    except Exception as failure:  # noqa: BLE001 - whatever it failed with is the answer
        return {scan.older.id: Proposal(failure=failure) for scan in scans}
    if isinstance(proposed, Mapping):
        return cast("Mapping[str, object]", proposed)
    return {scan.older.id: proposed for scan in scans}


@dataclass(slots=True)
class _Found:
    """What the proposers named together.

    Attributes:
        scanned: for each item the ids that were named, or the first thing that was no answer.
        places: for each pair its best place among an item's pairs.
        cost: what naming them cost.
    """

    scanned: dict[str, object] = field(default_factory=dict[str, object])
    places: dict[Pair, int] = field(default_factory=dict[Pair, int])
    cost: Cost = FREE

    def take(self, scans: Sequence[Scan], proposed: Mapping[str, object]) -> None:
        """Add what one proposer says."""
        for scan in scans:
            older = scan.older.id
            said = proposed.get(older, Reason.UNSCANNED)
            if isinstance(said, Proposal):
                self.cost += said.cost
            before = self.scanned.get(older, ())
            if isinstance(before, tuple):
                self.scanned[older] = self._united(older, cast("tuple[str, ...]", before), said)

    def _united(self, older: str, before: tuple[str, ...], said: object) -> object:
        if not isinstance(said, Proposal):
            return said if isinstance(said, Reason) else None
        if said.failure is not None:
            return said.failure
        named = cast("object", said.named)
        if not isinstance(named, tuple):
            return None
        for place, later in enumerate(cast("tuple[object, ...]", named)):
            if not isinstance(later, str):
                return None  # malformed, as whatever else is no list of ids
            pair = Pair(older, later)
            self.places[pair] = min(place, self.places.get(pair, place))
        return tuple(dict.fromkeys((*before, *said.named)))

    def in_order(self, proposals: Proposals) -> list[Question]:
        """The questions, the most plausible first."""
        return sorted(proposals.questions, key=lambda q: (self.places[q.pair], q.pair))


@dataclass(slots=True)
class _Bench:
    """Answers one question after another out of what is kept and what may be spent.

    Attributes:
        spent: known costs, and unknown ones at the most that they can be: held to the allowance.
        billed: known costs.
        closed: whether a question did not fit into the allowance any more.
        failing: how many failures there were in a row.
    """

    verifier: PairJudge
    name: str
    rulings: Rulings
    allowance: Allowance
    spent: Cost = FREE
    billed: Cost = FREE
    asked: int = 0
    reused: int = 0
    closed: bool = False
    failing: int = 0
    digests: dict[str, str] = field(default_factory=dict[str, str])

    def answer(self, question: Question, failed: Mapping[Pair, Exception]) -> Answered | None:
        """The answer; None where nothing is kept and no more may be asked."""
        name = self.name
        older, later = self._digest(question.older), self._digest(question.later)
        kept = self.rulings.get(ruling_key(name, older, later))
        if kept is not None:
            self.reused += 1
            return Answered(question, kept.verdict, reused=True)
        if (failure := failed.get(question.pair)) is not None:
            return Answered(question, failure, reused=True)
        if isinstance(self.verifier, OnlyKept):
            return None
        try:
            most = self.verifier.most(question)
        except Exception as failure:  # noqa: BLE001 - whatever it failed with is the answer
            return Answered(question, failure)
        if self.closed or not self.allowance.affords(self.asked + 1, self.spent + most):
            self.closed = True
            return None
        answered, known = self._asked(question)
        self.failing = self.failing + 1 if _failed(answered.answer) else 0
        self.closed = self.failing == self.allowance.failures
        self.spent += most if known is None else known
        self.billed += known or FREE
        if isinstance(answered.answer, Verdict):
            given = answered.answer
            ruling = Ruling(name, older, later, given, known or FREE, question.pair)
            self.rulings.keep(ruling.key, ruling)
        return answered

    def _asked(self, question: Question) -> tuple[Answered, Cost | None]:
        """The verifier's answer, and what it cost as far as that is known."""
        self.asked += 1
        try:
            opinion = cast("object", self.verifier.verify(question))
        except NoVerdict as failure:
            known = Cost(failure.calls, failure.prompt, failure.completion)
            return Answered(question, failure), known
        except Exception as failure:  # noqa: BLE001 - whatever it failed with is the answer
            return Answered(question, failure), None
        if not isinstance(opinion, Opinion):
            return Answered(question, opinion), None
        return Answered(question, opinion.verdict, opinion.said), opinion.cost

    def _digest(self, item: WorkItem) -> str:
        if item.id not in self.digests:
            self.digests[item.id] = item.digest()
        return self.digests[item.id]


def _failed(answer: object) -> bool:
    return isinstance(answer, Exception) and not isinstance(answer, NoVerdict)
