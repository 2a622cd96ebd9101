"""The preflight: its cases, its judge, its interval, its advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isclose, sqrt

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import Fix, amend
from lapse.errors import InvalidValue, NoRequest, Refused
from lapse.judges import NO_TOKENS, Move, Probe, Refusal, Shape, Task, Tokens, shape_of
from lapse.judges.preflight import (
    Advice,
    Factor,
    Outcome,
    Preflight,
    Trial,
    advise,
    judged,
    preflight,
    wilson,
)
from lapse.judges.preflight_cases import CONTROL, Case, cases
from lapse.ledger import JsonObject

KINDS = (*Shape, CONTROL)
seeds = st.integers(0, 10_000)


def nth(kind: str, number: int, seed: int) -> Case:
    return cases([kind], each=number, seed=seed)[-1]


some_cases = st.builds(nth, st.sampled_from(KINDS), st.integers(1, 20), seeds)


@given(some_cases)
def test_a_case_is_of_its_kind_and_its_fix_holds(case: Case) -> None:
    if case.fix is None:
        assert case.kind == CONTROL
        assert case.expected == case.task.request
        return
    assert case.fix.holds_for(case.task.request)
    assert case.fix.when is not None
    assert shape_of(case.fix.parameters, case.fix.when, case.task.request) == case.kind
    assert case.expected == amend(case.task.request, case.fix.parameters)
    assert case.expected != case.task.request


@given(some_cases)
def test_requests_follow_the_schema_with_and_without_the_fix(case: Case) -> None:
    assert case.task.schema is not None
    jsonschema.validate(case.task.request, case.task.schema)
    jsonschema.validate(case.expected, case.task.schema)


@given(some_cases)
def test_what_a_fix_says_stands_nowhere_else(case: Case) -> None:
    given_away = f"{case.task.words} {dict(case.task.request)} {case.task.schema}"
    parameters: JsonObject = case.fix.parameters if case.fix else {}
    assert [value for value in parameters.values() if str(value) in given_away] == []


@given(some_cases)
def test_only_a_conditional_rewrite_goes_against_the_words(case: Case) -> None:
    replaced = [
        str(case.task.request[name])
        for name in (case.fix.parameters if case.fix else ())
        if name in case.task.request
    ]
    said = [value for value in replaced if value in case.task.words]
    assert said == (replaced if case.kind == Shape.CONDITIONAL_REWRITE else [])


@given(seeds, st.integers(1, 8))
def test_equal_seeds_give_equal_cases_and_kinds_take_turns(seed: int, each: int) -> None:
    made = cases(KINDS, each=each, seed=seed)
    assert made == cases(KINDS, each=each, seed=seed)
    assert [case.kind for case in made] == list(KINDS) * each
    assert len({case.task.key for case in made}) == len(made)


def test_another_seed_gives_other_values() -> None:
    assert cases(KINDS, each=1, seed=0) != cases(KINDS, each=1, seed=1)


def test_fixes_of_one_member_and_of_two_take_turns_over_all_operations() -> None:
    made = cases([Shape.ADD_A_FIELD], each=20, seed=0)
    sizes = [len(case.fix.parameters) for case in made if case.fix]
    assert sizes == [1, 2] * 10
    assert len({case.task.operation for case in made}) == 5
    assert len({tuple(case.fix.parameters) for case in made if case.fix}) == 15


@pytest.mark.parametrize(
    ("kinds", "each", "said"),
    [(["add"], 1, "types is 'add'"), ([], 1, "at least one"), ([CONTROL], 0, "at least one")],
)
def test_cases_that_make_no_sense_are_refused(kinds: list[str], each: int, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        cases(kinds, each=each, seed=0)


TWO = cases([Shape.REWRITE_A_VALUE], each=2, seed=0)[1]
REQUEST, RIGHT = TWO.task.request, TWO.expected


@pytest.mark.parametrize(
    ("request_", "outcome"),
    [
        (RIGHT, Outcome.APPLIED),
        (REQUEST, Outcome.IGNORED),
        ({**RIGHT, "more": 1}, Outcome.DAMAGED),
        ({name: value for name, value in RIGHT.items() if name != "zone"}, Outcome.DAMAGED),
        ({**REQUEST, "depot": RIGHT["depot"]}, Outcome.PARTIAL),
        ({**REQUEST, "zone": "mars"}, Outcome.OTHER),
        ({}, Outcome.OTHER),
        ({"zone": float("nan")}, Outcome.OTHER),
    ],
    ids=str,
)
def test_a_request_is_judged_against_what_is_right(request_: JsonObject, outcome: Outcome) -> None:
    assert TWO.fix is not None
    assert set(TWO.fix.parameters) == {"depot", "carrier"}
    assert judged(TWO, request_) is outcome


def test_a_control_is_right_or_damaged() -> None:
    [control] = cases([CONTROL], each=1, seed=0)
    assert judged(control, control.expected) is Outcome.APPLIED
    assert judged(control, {**control.expected, "more": 1}) is Outcome.DAMAGED


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Newcombe, Two-sided confidence intervals for the single proportion (1998), table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_interval_is_wilsons(successes: int, trials: int, low: float, high: float) -> None:
    found = wilson(successes, trials)
    assert (round(found[0], 4), round(found[1], 4)) == (low, high)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_ends_of_the_interval_solve_the_score_equation(pair: tuple[int, int]) -> None:
    successes, trials = pair
    low, high = wilson(successes, trials, z=2.0)
    share = successes / trials
    assert 0 <= low <= share <= high <= 1
    for end in {low, high} - {0.0, 1.0}:
        score = abs(share - end) / sqrt(end * (1 - end) / trials)
        assert isclose(score, 2.0, rel_tol=1e-6)
    mirrored = wilson(trials - successes, trials, z=2.0)
    assert isclose(low, 1 - mirrored[1], abs_tol=1e-12)


def test_without_a_trial_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    with pytest.raises(InvalidValue, match="successes is 3"):
        wilson(3, 2)


@dataclass(frozen=True)
class Doing:
    """A planner that does what it is made to do."""

    what: Callable[[Task, Sequence[Fix]], JsonObject]
    answered: str = "doing"
    tokens: Tokens = NO_TOKENS

    @property
    def name(self) -> str:
        return "doing"

    def probe(self) -> Probe:
        return Probe("doing", self.answered)

    def first(self, task: Task, fixes: Sequence[Fix]) -> Move:
        return Move(dict(self.what(task, fixes)), (), self.tokens)

    def again(self, task: Task, sent: JsonObject, refusal: Refusal) -> Move:
        del task, refusal
        return Move(dict(sent))


def follows(task: Task, fixes: Sequence[Fix]) -> JsonObject:
    request = task.request
    for fix in fixes:
        request = amend(request, fix.parameters)
    return request


def conservative(task: Task, fixes: Sequence[Fix]) -> JsonObject:
    kept = [fix for fix in fixes if set(fix.parameters) <= set(task.request)]
    return follows(task, kept)


def test_the_factor_of_each_kind_is_read_out() -> None:
    told: list[Trial] = []
    result = preflight(Doing(conservative), cases(KINDS, each=20, seed=0), tell=told.append)
    assert tuple(told) == result.trials
    assert {factor.kind: (factor.applied, factor.trials) for factor in result.factors} == {
        Shape.ADD_A_FIELD: (0, 20),
        Shape.REWRITE_A_VALUE: (20, 20),
        Shape.CONDITIONAL_REWRITE: (20, 20),
        CONTROL: (20, 20),
    }
    advice = {factor.kind: result.advice(factor).advice for factor in result.factors}
    assert advice[Shape.ADD_A_FIELD] is Advice.APPLY
    assert advice[Shape.REWRITE_A_VALUE] is Advice.BRIEF


def test_two_preflights_with_one_seed_are_equal() -> None:
    def run(seed: int) -> Preflight:
        return preflight(Doing(follows), cases(KINDS, each=3, seed=seed), tell=lambda _: None)

    assert run(4) == run(4)
    assert run(4) != run(5)


def test_a_preflight_of_another_planner_does_not_start() -> None:
    told: list[Trial] = []
    with pytest.raises(InvalidValue, match="answered instead of doing"):
        preflight(Doing(follows, answered="other"), cases(KINDS, each=1, seed=0), tell=told.append)
    assert told == []


def test_what_is_no_request_is_an_outcome_with_its_cost() -> None:
    def rambles(task: Task, fixes: Sequence[Fix]) -> JsonObject:
        del task, fixes
        raise NoRequest("prose", prompt=9, completion=4, memory=2)

    result = preflight(Doing(rambles), cases([CONTROL], each=2, seed=0), tell=lambda _: None)
    [factor] = result.factors
    assert factor.outcomes == {Outcome.NO_REQUEST: 2}
    assert factor.tokens == Tokens(18, 8, 4)
    assert [trial.said for trial in result.trials] == ["prose", "prose"]


def test_a_service_that_fails_ends_the_preflight() -> None:
    def down(task: Task, fixes: Sequence[Fix]) -> JsonObject:
        del task, fixes
        raise Refused("down", status=503)

    with pytest.raises(Refused, match="down"):
        preflight(Doing(down), cases([CONTROL], each=2, seed=0), tell=lambda _: None)


def factor(applied: int, trials: int = 20, *, kind: str = "k", each: Tokens = NO_TOKENS) -> Factor:
    outcomes = {Outcome.APPLIED: applied, Outcome.IGNORED: trials - applied}
    tokens = Tokens(each.prompt * trials, each.completion * trials, each.memory * trials)
    return Factor(kind, trials, outcomes, tokens)


def test_a_saving_is_validity_times_compliance() -> None:
    found = advise(factor(15), control=factor(18), validity=0.8)
    assert isclose(found.saving, 0.8 * 0.75)
    assert isclose(found.saving_applied, 0.8 * 0.9)
    assert found.net_tokens is None
    assert isclose(advise(factor(15), control=None, validity=0.8).saving_applied, 0.8)


def test_the_memory_block_is_paid_for() -> None:
    told = factor(20, each=Tokens(150, 30, 60))
    control = factor(20, each=Tokens(100, 20))
    found = advise(told, control=control, validity=0.5)
    assert found.net_tokens == 0.5 * 120 - 60
    assert found.advice is Advice.APPLY
    assert advise(told, control=control, validity=0.9).advice is Advice.BRIEF


@pytest.mark.parametrize(
    ("applied", "control", "validity", "advice"),
    [
        (20, 20, 1.0, Advice.BRIEF),
        (15, 20, 1.0, Advice.BRIEF),
        (14, 20, 1.0, Advice.ASK),
        (6, 20, 1.0, Advice.ASK),
        (5, 20, 1.0, Advice.APPLY),
        (0, None, 1.0, Advice.APPLY),
        (20, 20, 0.05, Advice.SKIP),
        (0, 5, 1.0, Advice.SKIP),
        (20, 6, 1.0, Advice.BRIEF),
    ],
)
def test_advice_needs_the_whole_interval_on_one_side(
    applied: int, control: int | None, validity: float, advice: Advice
) -> None:
    besides = None if control is None else factor(control, kind=CONTROL)
    found = advise(factor(applied), control=besides, validity=validity)
    assert found.advice is advice
    assert found.words.endswith((".", ". "))


@pytest.mark.parametrize("given_", [{"validity": 1.5}, {"validity": 0.5, "bound": -1}])
def test_a_share_that_is_none_is_refused(given_: dict[str, float]) -> None:
    with pytest.raises(InvalidValue, match="share from 0 to 1"):
        advise(factor(3), control=None, **given_)
