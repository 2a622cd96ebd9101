"""Questions go out as pairs, answers come in as values, and nothing else is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lapse.admission import (
    Checkpoint,
    Fallen,
    Pair,
    Proposals,
    Question,
    Reason,
    Scan,
    Verdict,
    judge,
    propose,
    scans,
)
from lapse.ledger import Kind, Status
from lapse.testing.workspace import leaving, returning, statement

OLD = statement("pickup")
MOVED = statement("hotel", epoch=12)
LATE = statement("train", epoch=13)


def absence() -> Checkpoint:
    """One item from before, two from the absence."""
    return returning(leaving(OLD), OLD, MOVED, LATE)


def pairs(checkpoint: Checkpoint, *fallen: str) -> dict[str, list[str]]:
    """Which later items each scan offers."""
    return {s.older.id: [i.id for i in s.later] for s in scans(checkpoint, fallen)}


def answered(answers: Mapping[Pair, Any]) -> dict[str, Fallen]:
    """What falls when both pairs about the pickup were proposed."""
    asked = list(scans(absence(), ["hotel"]))
    return judge(propose(asked, {"pickup": ["hotel", "train"]}), answers)


def test_a_scan_offers_what_came_later_during_the_absence() -> None:
    assert pairs(absence()) == {"hotel": ["train"], "pickup": ["hotel", "train"]}
    assert pairs(absence(), "pickup", "hotel") == {}
    assert pairs(returning(leaving(OLD), OLD)) == {}


def test_a_scan_leaves_out_what_cannot_break_anything() -> None:
    same_slot = statement("next", slot="pickup", epoch=14)
    revoked = statement("false", epoch=14, status=Status.REVOKED)
    private = statement("mine", epoch=14, kind=Kind.EXPERIENCE)
    future = statement("future", epoch=21)
    owed = statement("owed", kind=Kind.OBLIGATION)
    told = statement("told", kind=Kind.FRONTIER, epoch=15)
    checkpoint = returning(leaving(OLD, owed), OLD, owed, same_slot, revoked, private, future, told)
    assert pairs(checkpoint, "false") == {"pickup": ["told"], "next": ["told"]}


def test_a_proposal_becomes_a_question_about_one_pair() -> None:
    asked = list(scans(absence(), ["hotel"]))
    assert asked == [Scan(OLD, (MOVED, LATE))]
    proposals = propose(asked, {"pickup": {"train", "hotel"}})
    assert proposals == Proposals((Question(OLD, MOVED), Question(OLD, LATE)))
    assert [question.pair for question in proposals.questions] == [
        Pair("pickup", "hotel"),
        Pair("pickup", "train"),
    ]


@pytest.mark.parametrize(
    ("scanned", "reason"),
    [
        ({}, Reason.UNSCANNED),
        ({"pickup": TimeoutError()}, Reason.SCAN_RAISED),
        ({"pickup": "hotel"}, Reason.SCAN_MALFORMED),
        ({"pickup": None}, Reason.SCAN_MALFORMED),
        ({"pickup": ["pickup"]}, Reason.SCAN_MALFORMED),
        ({"pickup": ["hotel", 1]}, Reason.SCAN_MALFORMED),
        ({"pickup": [["hotel"]]}, Reason.SCAN_MALFORMED),
    ],
)
def test_a_scan_that_cannot_be_used_leaves_the_item_out(
    scanned: dict[str, Any], reason: Reason
) -> None:
    proposals = propose(list(scans(absence(), ["hotel"])), scanned)
    assert proposals == Proposals((), {"pickup": Fallen(reason)})
    assert judge(proposals, {}) == {"pickup": Fallen(reason)}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Verdict.STANDS, None),
        pytest.param("stands", None, id="as text"),
        (Verdict.INVALIDATES, Reason.INVALIDATED),
        (Verdict.UNSURE, Reason.UNVERIFIED),
        (ValueError("no"), Reason.VERIFIER_RAISED),
        ("INVALIDATES, I think", Reason.ANSWER_MALFORMED),
        (None, Reason.ANSWER_MALFORMED),
    ],
)
def test_an_answer_that_cannot_be_used_leaves_the_item_out(
    answer: object, reason: Reason | None
) -> None:
    fallen = answered({Pair("pickup", "hotel"): answer, Pair("pickup", "train"): Verdict.STANDS})
    assert fallen == ({} if reason is None else {"pickup": Fallen(reason, "hotel")})


def test_a_question_without_an_answer_leaves_the_item_out() -> None:
    expected = {"pickup": Fallen(Reason.UNANSWERED, "train")}
    assert answered({Pair("pickup", "hotel"): Verdict.STANDS}) == expected


def test_the_latest_verified_break_counts_and_outweighs_failures() -> None:
    yes = Verdict.INVALIDATES
    hotel, train = Pair("pickup", "hotel"), Pair("pickup", "train")
    assert answered({hotel: yes, train: yes}) == {"pickup": Fallen(Reason.INVALIDATED, "train")}
    expected = {"pickup": Fallen(Reason.INVALIDATED, "hotel")}
    assert answered({hotel: yes, train: Verdict.UNSURE}) == expected
    asked = [Question(OLD, LATE), Question(OLD, MOVED)]
    latest = judge(Proposals(tuple(asked)), {hotel: yes, train: yes})
    assert latest == {"pickup": Fallen(Reason.INVALIDATED, "train")}


def test_an_answer_to_what_was_not_asked_is_passed_over() -> None:
    extra = {Pair("train", "pickup"): Verdict.INVALIDATES}
    stands = dict.fromkeys([Pair("pickup", "hotel"), Pair("pickup", "train")], Verdict.STANDS)
    assert answered({**stands, **extra}) == {}


def test_items_from_before_share_one_absence() -> None:
    other = statement("budget")
    checkpoint = returning(leaving(OLD, other), OLD, other, MOVED, LATE)
    asked = list(scans(checkpoint, ["hotel"]))
    assert asked[0].later is asked[1].later
    proposals = propose(asked, {"pickup": (), "budget": ("train",)})
    assert proposals == Proposals((Question(other, LATE),))
