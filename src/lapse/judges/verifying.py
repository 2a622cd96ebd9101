"""Verifiers that are rules or scripts: they rule on a pair without a model.

`InTurn` puts them before a model, so that a model is asked only where the rule has nothing to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lapse.admission import Pair, Question, Verdict
from lapse.errors import InvalidValue, NoVerdict
from lapse.ledger import canonical, digest
from lapse.runtime import FREE, Cost, Opinion, PairJudge

__all__ = ["DeclaredPremises", "InTurn", "ScriptedJudge"]


@dataclass(frozen=True, slots=True)
class DeclaredPremises:
    """Rules by what items declare: a slot taken for granted, and what it is worth now.

    | the later item | verdict |
    | --- | --- |
    | states another value of a slot that the earlier one takes for granted | invalidates |
    | states the same value | stands |
    | stands in no such slot | unsure |
    """

    @property
    def name(self) -> str:
        """`declared-premises-1`."""
        return "declared-premises-1"

    def most(self, question: Question) -> Cost:
        """Nothing."""
        del question
        return FREE

    def verify(self, question: Question) -> Opinion:
        """See `PairJudge`; it never fails."""
        later = question.later
        for slot, worth in question.older.assumes:
            if slot == later.slot:
                same = later.states == worth
                return Opinion(Verdict.STANDS if same else Verdict.INVALIDATES, f"premise {slot}")
        return Opinion(Verdict.UNSURE)


@dataclass(frozen=True, slots=True)
class ScriptedJudge:
    """Rules as it was told to, for tests and demonstrations.

    Attributes:
        verdicts: the answers, by pair.
        otherwise: the answer about every other pair; None: it has none, and says so as an error.
        called: a name of its own, for two scripts in one ledger.
    """

    verdicts: Mapping[Pair, Verdict] = field(default_factory=dict[Pair, Verdict])
    otherwise: Verdict | None = Verdict.STANDS
    called: str = "scripted"

    @property
    def name(self) -> str:
        """Its name, with the digest of the script: another script has other rulings."""
        script = [[*pair, verdict.value] for pair, verdict in sorted(self.verdicts.items())]
        rest = "" if self.otherwise is None else self.otherwise.value
        return f"{self.called}:{digest(canonical([script, rest]))[:16]}"

    def most(self, question: Question) -> Cost:
        """Nothing."""
        del question
        return FREE

    def verify(self, question: Question) -> Opinion:
        """The scripted answer.

        Raises:
            NoVerdict: none is scripted, and none for the rest.
        """
        verdict = self.verdicts.get(question.pair, self.otherwise)
        if verdict is None:
            raise NoVerdict(f"nothing is scripted about {question.pair}")
        return Opinion(verdict, "as scripted")


@dataclass(frozen=True, slots=True)
class InTurn:
    """Asks several judges until one of them is sure.

    Attributes:
        judges: in the order in which they are asked; at least one. A failure ends the asking.
    """

    judges: tuple[PairJudge, ...]

    def __post_init__(self) -> None:
        """Refuse a bench without a judge."""
        if not self.judges:
            raise InvalidValue("judges", (), "pass at least one")

    @property
    def name(self) -> str:
        """The names of all, in order."""
        return " then ".join(judge.name for judge in self.judges)

    def most(self, question: Question) -> Cost:
        """What all of them may cost together, up to the first that would refuse to be asked."""
        most = FREE
        for judge in self.judges:
            try:
                most += judge.most(question)
            except InvalidValue:
                break  # whoever is asked before may be sure; if nobody is, this one refuses
        return most

    def verify(self, question: Question) -> Opinion:
        """The first sure opinion, or the last one; with what all of them cost.

        Raises:
            NoVerdict: one of them had none.
            LapseError: one of them failed otherwise.
        """
        spent = FREE
        opinion = Opinion(Verdict.UNSURE)
        for judge in self.judges:
            try:
                opinion = judge.verify(question)
            except NoVerdict as failure:
                spent += Cost(failure.calls, failure.prompt, failure.completion)
                raise NoVerdict(
                    failure.reason,
                    calls=spent.calls,
                    prompt=spent.prompt,
                    completion=spent.completion,
                ) from failure
            spent += opinion.cost
            if opinion.verdict is not Verdict.UNSURE:
                break
        return Opinion(opinion.verdict, opinion.said, spent)
