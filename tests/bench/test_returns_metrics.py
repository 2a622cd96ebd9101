"""The metrics of returns: worked checks to four digits, ranges and identities."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.errors import InvalidValue
from lapse_bench.returns import metrics
from lapse_bench.returns.metrics import Criteria, ManbenchOutcome, Probes

BOOLS = st.booleans()
PROBES = st.lists(st.builds(Probes, BOOLS, BOOLS, BOOLS), min_size=1, max_size=20)
MET = st.lists(BOOLS, max_size=8).map(tuple)
CRITERIA = st.builds(Criteria, st.lists(BOOLS, min_size=1, max_size=8).map(tuple), MET)
OUTCOMES = st.lists(
    st.builds(
        ManbenchOutcome,
        valid_admitted=BOOLS,
        invalid_admitted=BOOLS,
        correct_before=st.just(True),  # noqa: FBT003 - the strategy's only value
        correct=BOOLS,
    ),
    min_size=1,
    max_size=20,
)
SHARES = st.floats(0, 1)


def met(of: int, right: int) -> tuple[bool, ...]:
    return (True,) * right + (False,) * (of - right)


def test_the_worked_question() -> None:
    # P = .8 and F = .5 with five presence and four forgetting criteria.
    question = Criteria(met(5, 4), met(4, 2))
    assert round(metrics.presence(question), 4) == 0.8
    assert round(metrics.forgetting(question), 4) == 0.5
    assert round(metrics.weight(question), 4) == 0.4444
    assert round(metrics.memora_overall(question), 4) == 0.6667
    assert round(metrics.fama(question), 4) == 0.5778


def test_forgetting_nothing_costs_until_nothing_is_left() -> None:
    assert metrics.fama(Criteria(met(1, 0), met(9, 0))) == 0.0
    assert metrics.fama(Criteria(met(4, 1), ())) == 0.25
    assert metrics.weight(Criteria(met(4, 1), ())) == 0.0


def test_a_block_of_questions_weighs_each_the_same() -> None:
    scores = metrics.memora_scores([Criteria(met(5, 4), met(4, 2)), Criteria(met(1, 1), met(1, 1))])
    assert (scores.n, round(scores.via, 4), round(scores.iir, 4)) == (2, 0.9, 0.75)
    assert (round(scores.overall, 4), round(scores.fama, 4)) == (0.8333, 0.7889)


def test_the_conjunctions_of_stale_are_within_an_episode() -> None:
    # Two of three resolve and two of three resist, but only one does both.
    scores = metrics.stale_scores(
        [Probes(True, True, False), Probes(True, False, True), Probes(False, True, True)]  # noqa: FBT003 - three verdicts
    )
    assert (round(scores.sr, 4), round(scores.pr, 4), round(scores.ipa, 4)) == (
        0.6667,
        0.6667,
        0.6667,
    )
    assert round(scores.overall, 4) == 0.6667
    assert (round(scores.iir, 4), scores.ls) == (0.3333, 0.0)


def test_manbench_counts_answers_only_where_there_are_some() -> None:
    admitted = ManbenchOutcome(valid_admitted=True, invalid_admitted=False)
    silent = metrics.manbench_scores([admitted])
    assert (silent.via, silent.iir, silent.overall, silent.rsr) == (1.0, 1.0, None, None)
    right = ManbenchOutcome(
        valid_admitted=False, invalid_admitted=True, correct_before=True, correct=True
    )
    wrong = ManbenchOutcome(
        valid_admitted=True, invalid_admitted=True, correct_before=True, correct=False
    )
    never = ManbenchOutcome(
        valid_admitted=True, invalid_admitted=False, correct_before=False, correct=False
    )
    scores = metrics.manbench_scores([right, wrong, never])
    assert (round(scores.via, 4), round(scores.iir, 4)) == (0.6667, 0.3333)
    assert scores.overall is not None
    assert (round(scores.overall, 4), scores.rsr) == (0.3333, 0.5)


def test_averages_as_the_source_takes_them() -> None:
    # 64, 64 and 72 episodes pooled; the same three blocks of equal weight.
    blocks = [(0.73, 64), (0.5, 64), (0.43, 72)]
    assert round(metrics.pooled(blocks), 4) == 0.5484
    assert round(metrics.equal_weight([score for score, _ in blocks]), 4) == 0.5533


@pytest.mark.parametrize(
    "score",
    [
        metrics.stale_scores,
        metrics.memora_scores,
        metrics.manbench_scores,
        metrics.equal_weight,
        metrics.pooled,
    ],
)
def test_nothing_has_no_mean(score: object) -> None:
    assert callable(score)
    with pytest.raises(InvalidValue, match="a mean of nothing"):
        score([])


def test_what_has_no_meaning_is_refused() -> None:
    with pytest.raises(InvalidValue, match="presence"):
        Criteria((), (True,))
    with pytest.raises(InvalidValue, match="leave out a block"):
        metrics.pooled([(0.5, 0)])


@given(PROBES)
def test_a_lifecycle_is_stricter_than_its_parts(episodes: list[Probes]) -> None:
    scores = metrics.stale_scores(episodes)
    assert 0 <= scores.ls <= min(scores.iir, scores.ipa)
    assert scores.iir <= min(scores.sr, scores.pr) <= 1
    assert scores.via == scores.ipa
    assert metrics.wrong_state(scores.iir) == 1 - scores.iir


@given(CRITERIA)
def test_overall_pools_all_criteria_and_fama_is_at_most_presence(question: Criteria) -> None:
    together = [*question.presence, *question.forgetting]
    assert metrics.memora_overall(question) == pytest.approx(sum(together) / len(together))
    assert 0 <= metrics.fama(question) <= metrics.presence(question)
    if all(question.forgetting):
        assert metrics.fama(question) == metrics.presence(question)


@given(OUTCOMES)
def test_reality_shifts_are_what_overall_lacks(episodes: list[ManbenchOutcome]) -> None:
    scores = metrics.manbench_scores(episodes)
    assert scores.overall is not None
    assert scores.rsr == pytest.approx(1 - scores.overall)
    assert 0 <= scores.via <= 1
    assert 0 <= scores.iir <= 1


@given(st.lists(SHARES, min_size=1, max_size=6), st.integers(1, 50))
def test_blocks_of_one_size_pool_to_their_mean(shares: list[float], n: int) -> None:
    together = metrics.pooled([(share, n) for share in shares])
    assert together == pytest.approx(metrics.equal_weight(shares))
    assert min(shares) - 1e-9 <= together <= max(shares) + 1e-9
