"""Verifiers without a model: rules, scripts, and several in turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lapse.admission import Pair, Question, Verdict
from lapse.errors import InvalidValue, NoVerdict, PeerError
from lapse.judges import DeclaredPremises, InTurn, ScriptedJudge
from lapse.runtime import FREE, Cost, Opinion, PairJudge
from lapse.testing.judging_cases import PAIR_JUDGE_CASES
from lapse.testing.workspace import statement

HOTEL = statement("hotel", "Sunrise", slot="trip/hotel")
PICKUP = statement("pickup", epoch=2, stamps=(HOTEL.as_premise(),))
MOVED = statement("moved", "Riverside", slot="trip/hotel", epoch=12)
TALK = statement("talk", epoch=12)

JUDGES: list[PairJudge] = [
    DeclaredPremises(),
    ScriptedJudge(),
    ScriptedJudge(otherwise=None),
    InTurn((DeclaredPremises(), ScriptedJudge())),
]


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.name)
@pytest.mark.parametrize("case", PAIR_JUDGE_CASES, ids=lambda case: case.__name__)
def test_the_rules_of_this_room_keep_what_judges_promise(
    case: Callable[[PairJudge], None], judge: PairJudge
) -> None:
    case(judge)


def test_another_value_of_a_premise_breaks_what_takes_it_for_granted() -> None:
    judge = DeclaredPremises()
    assert judge.verify(Question(PICKUP, MOVED)).verdict is Verdict.INVALIDATES
    restated = statement("again", "Sunrise", slot="trip/hotel", epoch=12)
    assert judge.verify(Question(PICKUP, restated)).verdict is Verdict.STANDS
    assert judge.verify(Question(PICKUP, TALK)).verdict is Verdict.UNSURE
    assert judge.verify(Question(HOTEL, MOVED)).verdict is Verdict.UNSURE
    assert judge.most(Question(PICKUP, MOVED)) == FREE


def test_a_script_answers_as_it_says_and_is_named_by_what_it_says() -> None:
    script = {Pair("hotel", "talk"): Verdict.INVALIDATES}
    judge = ScriptedJudge(script, otherwise=None)
    assert judge.verify(Question(HOTEL, TALK)).verdict is Verdict.INVALIDATES
    with pytest.raises(NoVerdict, match="nothing is scripted"):
        judge.verify(Question(PICKUP, TALK))
    names = {judge.name, ScriptedJudge(script).name, ScriptedJudge().name}
    assert len(names) == 3
    assert ScriptedJudge(dict(script), otherwise=None).name == judge.name


class Costly:
    """Costs something, and is as it was told to be."""

    name = "costly"

    def __init__(self, answer: Verdict | Exception) -> None:
        self.answer = answer
        self.asked = 0

    def most(self, question: Question) -> Cost:
        del question
        return Cost(2, 10, 10)

    def verify(self, question: Question) -> Opinion:
        del question
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return Opinion(self.answer, "so it is", Cost(1, 5, 1))


def test_the_next_judge_is_asked_only_where_the_one_before_is_not_sure() -> None:
    last = Costly(Verdict.STANDS)
    judge = InTurn((DeclaredPremises(), Costly(Verdict.UNSURE), last))
    assert judge.verify(Question(PICKUP, MOVED)).verdict is Verdict.INVALIDATES
    assert last.asked == 0
    opinion = judge.verify(Question(PICKUP, TALK))
    assert opinion == Opinion(Verdict.STANDS, "so it is", Cost(2, 10, 2))
    assert judge.most(Question(PICKUP, TALK)) == Cost(4, 20, 20)
    assert judge.name == "declared-premises-1 then costly then costly"


def test_where_nobody_is_sure_nobody_is() -> None:
    judge = InTurn((Costly(Verdict.UNSURE), DeclaredPremises()))
    assert judge.verify(Question(PICKUP, TALK)) == Opinion(Verdict.UNSURE, "", Cost(1, 5, 1))


def test_a_failure_ends_the_asking_and_its_cost_is_added_up() -> None:
    mumbles = Costly(NoVerdict("it mumbled", calls=2, prompt=8, completion=4))
    with pytest.raises(NoVerdict, match="it mumbled") as caught:
        InTurn((Costly(Verdict.UNSURE), mumbles)).verify(Question(PICKUP, TALK))
    assert (caught.value.calls, caught.value.prompt, caught.value.completion) == (3, 13, 5)
    with pytest.raises(PeerError, match="down"):
        InTurn((Costly(PeerError("down")), ScriptedJudge())).verify(Question(PICKUP, TALK))
    with pytest.raises(InvalidValue, match="at least one"):
        InTurn(())


def test_what_a_later_judge_would_refuse_is_no_matter_where_an_earlier_one_is_sure() -> None:
    class Refusing(Costly):
        def most(self, question: Question) -> Cost:
            raise InvalidValue("question", question.pair, "split the items")

    judge = InTurn((DeclaredPremises(), Costly(Verdict.UNSURE), Refusing(PeerError("too long"))))
    assert judge.most(Question(PICKUP, MOVED)) == Cost(2, 10, 10)
    assert judge.verify(Question(PICKUP, MOVED)).verdict is Verdict.INVALIDATES
    with pytest.raises(PeerError, match="too long"):
        judge.verify(Question(PICKUP, TALK))
