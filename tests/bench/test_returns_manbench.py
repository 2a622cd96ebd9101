"""ManBench as returns: counts, conditions, and nothing that gives a condition away."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lapse.admission import Question, Verdict
from lapse.errors import InvalidValue
from lapse.testing.workspace import statement
from lapse_bench.returns.manbench import (
    GROUP_SIZES,
    Item,
    ManbenchEpisode,
    episodes_of,
    read_manbench,
    said,
)
from lapse_bench.returns.manbench_truth import truth_of
from lapse_bench.returns.stand_in import StandIn

A = Item("capitals", "Capital of France?", "Paris", "Lyon")
B = Item("capitals", "Capital of Italy?", "Rome", "Milan")
C = Item("capitals", "Where is the Louvre?", "Paris", "Rome")


@cache
def items() -> tuple[Item, ...]:
    return read_manbench()


@cache
def episodes(size: int) -> tuple[ManbenchEpisode, ...]:
    return tuple(episodes_of(items(), size=size))


def test_nineteen_tasks_ship() -> None:
    assert len(items()) == 4538
    assert len({item.task for item in items()}) == 19
    assert not any(item.right.casefold() == item.misleading.casefold() for item in items())


def test_conditions_alternate_and_look_alikes_are_left_out() -> None:
    # 2,270 even and 2,268 odd positions; at 781 of these, the next question has the same answer.
    by = Counter(one.condition for one in episodes(4))
    assert by == {"old-valid": 2270, "corrected": 2270, "old-stale": 1487}


@pytest.mark.parametrize("size", GROUP_SIZES)
def test_everybody_who_stayed_writes_once(size: int) -> None:
    for one in episodes_of(items()[:40], size=size):
        assert one.size == size
        assert [claim.source for claim in one.episode.log] == [f"agent {n}" for n in range(size)]


def test_what_each_condition_says() -> None:
    valid, corrected, stale = episodes_of((A, B), size=4)
    assert [one.condition for one in (valid, corrected, stale)] == [
        "old-valid",
        "corrected",
        "old-stale",
    ]
    assert (valid.episode.bank[0].value, valid.episode.log[0].value) == ("Paris", "Lyon")
    assert valid.answers.valid == {("team/capitals", "answer", "Paris")}
    assert (corrected.episode.bank[0].value, corrected.episode.log[0].value) == ("Lyon", "Paris")
    assert corrected.answers.stale == {("team/capitals", "answer", "Lyon")}
    # B is the last of its task, so the question moves on to A.
    assert (stale.episode.bank[0].value, stale.episode.log[0].value) == ("Rome", "Paris")
    assert stale.episode.workload == A.question
    assert valid.episode.workload == corrected.episode.workload == A.question


def test_a_next_question_with_the_same_answer_decides_nothing() -> None:
    assert {one.condition for one in episodes_of((B, A, C), size=1)} == {"old-valid", "corrected"}


def test_nothing_but_the_question_differs_between_conditions() -> None:
    valid, corrected, stale = (one.episode for one in episodes_of((A, B), size=4))
    shapes = [
        [(c.id, c.at, c.slot, c.does, c.source, c.authority, c.confidence) for c in one.written]
        for one in (valid, corrected, stale)
    ]
    assert shapes[0] == shapes[1] == shapes[2]
    assert valid.store == corrected.store == stale.store == {"new-3"}
    names = [one.episode.id for one in episodes(4)]
    assert len(set(names)) == len(names)
    assert all(len(name) == 16 and int(name, 16) >= 0 for name in names)


def test_dissenters_are_drawn_by_the_seed() -> None:
    (valid, *_) = episodes_of((A, B), size=8, dissent=0.25, seed=1)
    says = Counter(claim.value for claim in valid.episode.log)
    assert says == {"Lyon": 6, "Paris": 2}
    again = list(episodes_of((A, B), size=8, dissent=0.25, seed=1))
    assert again[0] == valid
    drawn = {
        tuple(
            claim.value
            for claim in next(iter(episodes_of((A, B), size=8, dissent=0.25, seed=s))).episode.log
        )
        for s in range(8)
    }
    assert len(drawn) > 1


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({}, "row 1, task"),
        ({"task": "t", "inputs": "?", "targets": [], "misleading_target": "b"}, "row 1, targets"),
        ({"task": "t", "inputs": "?", "targets": ["a"]}, "row 1, misleading_target is None"),
    ],
)
def test_another_form_is_refused(tmp_path: Path, row: dict[str, Any], says: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(InvalidValue, match=says):
        read_manbench(path)


def test_bounds_are_told(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(InvalidValue, match="at least one item"):
        read_manbench(empty)
    with pytest.raises(InvalidValue, match="size is 0"):
        list(episodes_of((A, B), size=0))
    with pytest.raises(InvalidValue, match=r"dissent is 0\.5"):
        list(episodes_of((A, B), size=4, dissent=0.5))
    with pytest.raises(InvalidValue, match="every is 0"):
        list(episodes_of((A, B), size=4, every=0))


def test_an_answer_says_which_question_it_answers_or_not() -> None:
    hidden, *_ = episodes_of((A, B), size=4)
    named, *_ = episodes_of((A, B), size=4, subjects="named")
    assert {claim.about for claim in hidden.episode.written} == {""}
    assert {claim.about for claim in named.episode.written} == {A.question}
    assert hidden.episode.needs == {"team/capitals / answer"}
    assert named.episode.needs == {f"team/capitals / answer / {A.question}"}


def test_every_so_manieth_pair_keeps_all_conditions() -> None:
    some = Counter(one.condition for one in episodes_of(items(), size=1, every=40))
    assert some.keys() == {"old-valid", "corrected", "old-stale"}
    kept = {one.episode.id for one in episodes_of(items(), size=4, every=40)}
    assert kept < {one.episode.id for one in episodes(4)}


def asked(older: str, later: str) -> Question:
    return Question(statement("older", older), statement("later", later, epoch=2))


def test_the_labels_say_which_of_two_answers_stands() -> None:
    truth = truth_of((A, B))
    right, wrong = said(A.question, A.right), said(A.question, A.misleading)
    other = said(B.question, B.right)
    assert truth(asked(right, wrong)) is Verdict.STANDS
    assert truth(asked(wrong, right)) is Verdict.INVALIDATES
    assert truth(asked(right, other)) is Verdict.INVALIDATES
    assert truth(asked(right, said(B.question, B.misleading))) is Verdict.STANDS
    assert truth(asked(wrong, said(B.question, B.misleading))) is Verdict.UNSURE
    assert truth(asked(right, "something else")) is Verdict.UNSURE


def test_a_stand_in_is_right_as_often_as_it_says_and_always_about_the_same_pairs() -> None:
    pairs = [asked(f"older {n}", f"later {n}") for n in range(2000)]
    answers = {
        share: [StandIn(lambda _: Verdict.STANDS, share, 3).verify(one).verdict for one in pairs]
        for share in (0.6, 0.9, 1)
    }
    right = {
        share: {n for n, verdict in enumerate(found) if verdict is Verdict.STANDS}
        for share, found in answers.items()
    }
    assert len(right[1]) == 2000
    assert len(right[0.9]) == pytest.approx(1800, abs=50)  # four deviations
    assert len(right[0.6]) == pytest.approx(1200, abs=90)
    assert right[0.6] < right[0.9]
    unsure = StandIn(lambda _: Verdict.UNSURE, 0.5)
    assert {unsure.verify(one).verdict for one in pairs} == {Verdict.UNSURE}
    for text in ("", "a <note> `or` \x07 two", "\N{GRINNING FACE}" * 30):
        question = asked(text or "x", text or "y")
        spent, bound = unsure.verify(question).cost, unsure.most(question)
        assert spent.calls == bound.calls == 1
        assert 200 < spent.prompt <= bound.prompt
