"""The hand-written set in STALE's shape."""

from __future__ import annotations

from collections import Counter
from functools import cache

from lapse_bench.returns.stale_shaped import SESSIONS, STRATA, Shaped, cues_in, stale_shaped


@cache
def episodes() -> tuple[Shaped, ...]:
    return tuple(stale_shaped())


def test_each_belief_stands_at_three_places_in_two_wordings() -> None:
    by = Counter((one.stratum, one.wording) for one in episodes())
    assert by == {(stratum, wording): 20 for stratum in STRATA for wording in ("cued", "plain")}
    assert len({one.record["uid"] for one in episodes()}) == 120


def test_a_record_is_shaped_like_stale() -> None:
    for one in episodes():
        record = one.record
        old, new = record["relevant_session_index"]
        first, last = STRATA[one.stratum]
        assert first <= old <= last < new < SESSIONS
        assert old < one.near < new
        assert len(record["timestamps"]) == len(record["haystack_session"]) == SESSIONS
        assert record["timestamps"] == sorted(record["timestamps"])
        said = [session[0]["content"] for session in record["haystack_session"]]
        assert (said[old], said[new]) == (record["M_old"], record["M_new"])
        assert said.count(record["M_old"]) == said.count(record["M_new"]) == 1
        assert set(record["probing_queries"]) == {"dim1_query", "dim2_query", "dim3_query"}
        assert all(record["probing_queries"].values())


def test_only_one_wording_has_cue_words() -> None:
    for one in episodes():
        assert bool(cues_in(one.record["M_new"])) == (one.wording == "cued"), one.record["M_new"]


def test_the_two_wordings_differ_in_nothing_else() -> None:
    for cued, plain in zip(episodes()[::2], episodes()[1::2], strict=True):
        assert cued.record["relevant_session_index"] == plain.record["relevant_session_index"]
        new = cued.record["relevant_session_index"][1]
        pairs = zip(cued.record["haystack_session"], plain.record["haystack_session"], strict=True)
        assert [index for index, (a, b) in enumerate(pairs) if a != b] == [new]
