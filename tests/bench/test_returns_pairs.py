"""The pairs that proposers and verifiers are measured on, and the measuring."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from lapse.admission import Pair, Question, Verdict
from lapse.errors import InvalidValue, NoVerdict, PeerError
from lapse.judges import AllPairs, Bm25, Embedded, ScriptedJudge, Union
from lapse.runtime import Cost, Opinion
from lapse_bench.cli import app
from lapse_bench.returns.pairs import Tried, figures, pairs_of, recalled, tried
from lapse_bench.returns.stale_shaped import CUES, cues_in

PLAIN, CUED = pairs_of("plain"), pairs_of("cued")


def test_every_belief_has_a_change_and_a_near_miss_among_all_the_others() -> None:
    for pairs in (PLAIN, CUED):
        assert (len(pairs.scans), len(pairs.broken), len(pairs.near), pairs.all) == (
            20,
            20,
            20,
            940,
        )
        offered = {scan.older.id: {item.id for item in scan.later} for scan in pairs.scans}
        for question in (*pairs.broken, *pairs.near):
            assert question.later.id in offered[question.older.id]
    assert [one.older.text for one in PLAIN.broken] == [one.older.text for one in CUED.broken]
    assert not any(cues_in(one.later.text) for one in PLAIN.broken)
    assert all(cues_in(one.later.text) & CUES for one in CUED.broken)


def test_all_pairs_find_everything_at_the_price_of_everything() -> None:
    assert recalled(PLAIN, AllPairs()) == {
        "proposer": "all-pairs",
        "found": 20,
        "of": 20,
        "recall": 1.0,
        "calls": 940,
        "all_pairs": 940,
        "missed": [],
    }


def test_recall_grows_with_what_is_asked_and_a_union_finds_what_either_finds() -> None:
    before = 0
    for most in (1, 4, 16):
        words, meaning = Bm25(most=most), Embedded(most=most)
        one, other = recalled(PLAIN, words), recalled(PLAIN, meaning)
        both = recalled(PLAIN, Union((words, meaning)))
        assert max(one["found"], other["found"]) <= both["found"]
        assert both["calls"] <= one["calls"] + other["calls"]
        assert one["calls"] <= most * 20
        assert both["found"] >= before
        before = both["found"]
    assert set(both["missed"]) == set(one["missed"]) & set(other["missed"])


def both(most: int) -> Union:
    """What either ranking names for each event."""
    return Union((Bm25(most, "event"), Embedded(most, "event")))


def test_the_published_recall_is_what_is_measured() -> None:
    found = {
        name: [recalled(pairs, Embedded(most=most))["found"] for most in (1, 2, 4, 8, 16)]
        for name, pairs in (("cued", CUED), ("plain", PLAIN))
    }
    assert found == {"cued": [9, 14, 17, 19, 19], "plain": [6, 9, 12, 14, 18]}
    found = {
        name: [recalled(pairs, both(most)) for most in (1, 2, 4, 8)]
        for name, pairs in (("cued", CUED), ("plain", PLAIN))
    }
    assert {name: [one["found"] for one in some] for name, some in found.items()} == {
        "cued": [16, 18, 18, 19],
        "plain": [12, 13, 16, 16],
    }


def test_a_judge_that_knows_is_right_and_one_that_always_says_the_same_is_at_chance() -> None:
    script = {one.pair: Verdict.INVALIDATES for one in PLAIN.broken}
    right = figures(tried(PLAIN, ScriptedJudge(script)))
    assert (right["accuracy"], right["balanced"], right["false_invalidations"]) == (1.0, 1.0, 0.0)
    always = figures(tried(PLAIN, ScriptedJudge(otherwise=Verdict.INVALIDATES)))
    assert (always["breaks_seen"], always["balanced"]) == (1.0, 0.5)
    assert always["false_invalidations"] == 1.0
    unsure = figures(tried(PLAIN, ScriptedJudge(otherwise=Verdict.UNSURE)))
    assert (unsure["accuracy"], unsure["answers"]) == (0.0, {"unsure": 40})


class Failing:
    """Has no verdict about breaks, and is down for near misses."""

    name = "failing"

    def most(self, question: Question) -> Cost:
        del question
        return Cost(1)

    def verify(self, question: Question) -> Opinion:
        if question.later.id.startswith("change"):
            raise NoVerdict("it mumbled", calls=2, prompt=30, completion=4)
        raise PeerError("down")


def test_what_a_judge_fails_on_is_counted_as_no_answer_with_what_it_cost() -> None:
    told: list[Tried] = []
    said = tried(PLAIN, Failing(), told.append)
    assert tuple(told) == said
    assert {one.failure for one in said} == {"it mumbled", "down"}
    found = figures(said)
    assert (found["answers"], found["accuracy"]) == ({"none": 40}, 0.0)
    assert (found["calls"], found["prompt_tokens"], found["completion_tokens"]) == (40, 600, 80)
    assert said[0].pair == Pair(PLAIN.broken[0].older.id, PLAIN.broken[0].later.id)


def test_the_command_prints_recall_and_refuses_a_judge_that_it_does_not_know() -> None:
    done = CliRunner().invoke(app, ["run", "pairs", "--most", "2", "--format", "json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert len(result["methods"]) == 8
    assert result["methods"]["plain: all-pairs"]["found"] == 20
    assert result["commit"]
    refused = CliRunner().invoke(app, ["run", "pairs", "--most", "2", "--judge", "oracle"])
    assert isinstance(refused.exception, InvalidValue)


def test_the_command_says_which_number_is_none() -> None:
    refused = CliRunner().invoke(app, ["run", "pairs", "--most", "x"])
    assert isinstance(refused.exception, InvalidValue)
    with pytest.raises(InvalidValue, match="most"):
        raise refused.exception
