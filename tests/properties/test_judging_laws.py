"""Laws of asking: what an allowance, kept rulings and the order of proposers may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from lapse.admission import Captured, Pair, Policy, Question, Scan, Screened, Verdict
from lapse.errors import NoVerdict, PeerError
from lapse.runtime import (
    Allowance,
    Cost,
    Judging,
    Looked,
    OnlyKept,
    Opinion,
    Proposal,
    RulingsInMemory,
)
from lapse.testing.workspace import OBSERVER, leaving, returning, statement

OLDER = [statement(f"o{at}") for at in range(3)]
LATER = [statement(f"l{at}", epoch=12) for at in range(4)]
PAIRS = [Pair(older.id, later.id) for older in OLDER for later in LATER]


@cache
def screened() -> Screened:
    checkpoint = returning(leaving(*OLDER), *OLDER, *LATER)
    return Captured(checkpoint, Policy(observers=frozenset({OBSERVER}))).next()


@dataclass
class Fixed:
    named: Mapping[str, tuple[str, ...]]
    name: str = "fixed"

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        return {scan.older.id: Proposal(self.named.get(scan.older.id, ())) for scan in scans}


@dataclass
class Judge:
    """Answers and costs as drawn, and never more than it says."""

    answers: Mapping[Pair, object]
    costs: Mapping[Pair, tuple[Cost, Cost]]
    name: str = "drawn"
    asked: list[Pair] = field(default_factory=list[Pair])

    def most(self, question: Question) -> Cost:
        return self.costs[question.pair][1]

    def verify(self, question: Question) -> Opinion:
        self.asked.append(question.pair)
        cost, answer = self.costs[question.pair][0], self.answers[question.pair]
        if isinstance(answer, Verdict):
            return Opinion(answer, cost=cost)
        if answer == "mumbles":
            raise NoVerdict("?", calls=cost.calls, prompt=cost.prompt, completion=cost.completion)
        raise PeerError("down")


COSTS = st.builds(Cost, st.integers(0, 3), st.integers(0, 20), st.integers(0, 5))
PRICED = st.tuples(COSTS, COSTS).map(lambda two: (two[0], two[0] + two[1]))
JUDGES = st.builds(
    Judge,
    st.fixed_dictionaries(
        {pair: st.sampled_from([*Verdict, "mumbles", "is down"]) for pair in PAIRS}
    ),
    st.fixed_dictionaries(dict.fromkeys(PAIRS, PRICED)),
)
NAMED = st.lists(st.sampled_from([one.id for one in LATER]), unique=True).map(tuple)
PROPOSERS = st.lists(
    st.dictionaries(st.sampled_from([one.id for one in OLDER]), NAMED).map(Fixed),
    min_size=1,
    max_size=3,
)
LIMITS = st.none() | st.integers(0, 30)
ALLOWANCES = st.builds(Allowance, pairs=LIMITS, calls=LIMITS, tokens=LIMITS)


def spent(judge: Judge) -> Cost:
    """What was spent: known costs, and the most of what was never billed."""
    return sum(
        (judge.costs[pair][judge.answers[pair] == "is down"] for pair in judge.asked), Cost()
    )


@given(proposers=PROPOSERS, judge=JUDGES, allowance=ALLOWANCES)
def test_an_allowance_is_never_exceeded(
    proposers: list[Fixed], judge: Judge, allowance: Allowance
) -> None:
    looked = Judging(proposers, judge).look(screened(), allowance=allowance)
    assert allowance.affords(len(judge.asked), spent(judge))
    assert looked.asked == len(judge.asked) == len(looked.answers)
    assert looked.cost.calls <= spent(judge).calls
    assert looked.cost.tokens <= spent(judge).tokens
    proposed = {
        pair for pair in PAIRS if any(pair.later in p.named.get(pair.older, ()) for p in proposers)
    }
    assert set(looked.answers) | set(looked.left) == proposed
    assert not set(looked.answers) & set(looked.left)


@given(proposers=PROPOSERS, judge=JUDGES, pairs=st.integers(0, 12), more=st.integers(0, 12))
def test_a_greater_allowance_answers_all_that_a_smaller_one_does(
    proposers: list[Fixed], judge: Judge, pairs: int, more: int
) -> None:
    judging = [Judging(proposers, replace(judge, asked=[])) for _ in range(2)]
    small = judging[0].look(screened(), allowance=Allowance(calls=pairs))
    great = judging[1].look(screened(), allowance=Allowance(calls=pairs + more))
    assert list(small.answers) == list(great.answers)[: len(small.answers)]


@given(proposers=PROPOSERS, judge=JUDGES)
def test_each_pair_is_asked_once_whoever_names_it_and_in_whatever_order_they_are_asked(
    proposers: list[Fixed], judge: Judge
) -> None:
    other = replace(judge, asked=[])
    Judging(proposers, judge).look(screened())
    Judging(proposers[::-1], other).look(screened())
    assert len(set(judge.asked)) == len(judge.asked)
    assert other.asked == judge.asked


@given(proposers=PROPOSERS, judge=JUDGES)
def test_a_second_look_costs_nothing_for_what_is_kept_and_agrees(
    proposers: list[Fixed], judge: Judge
) -> None:
    judging = Judging(proposers, judge)
    first = judging.look(screened())
    judge.asked.clear()
    again = judging.look(screened(), failed=first.failed)
    assert judge.asked == []
    assert (again.cost, again.asked) == (Cost(), 0)
    assert again.answers == first.answers
    alone = Judging(proposers, OnlyKept(judge.name), judging.rulings).look(screened())
    kept = {pair: answer for pair, answer in first.answers.items() if isinstance(answer, Verdict)}
    assert alone.answers == kept
    assert set(alone.left) == set(first.failed)


@given(proposers=PROPOSERS, judge=JUDGES, each=st.integers(1, 4))
def test_a_scan_in_pieces_ends_and_comes_to_the_same_as_one_at_once(
    proposers: list[Fixed], judge: Judge, each: int
) -> None:
    whole = Judging(proposers, replace(judge, asked=[])).look(screened())
    judging = Judging(proposers, judge, RulingsInMemory())
    piece = Allowance(pairs=each)
    failed: dict[Pair, Exception] = {}
    looked: Looked | None = None
    for _ in range(len(PAIRS) + 1):
        looked = judging.look(screened(), allowance=piece, failed=failed)
        failed |= looked.failed
        if not looked.left:
            break
    assert looked is not None
    assert looked.left == ()
    assert sorted(judge.asked) == sorted(whole.answers)
    assert {pair: str(answer) for pair, answer in looked.answers.items()} == {
        pair: str(answer) for pair, answer in whole.answers.items()
    }
    assert screened().next(looked.scanned, looked.answers).fallen == (
        screened().next(whole.scanned, whole.answers).fallen
    )
