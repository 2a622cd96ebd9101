"""The loop that answers a return's questions: what it asks, what it keeps, what it may spend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event

import pytest

from lapse.admission import Captured, Pair, Policy, Question, Reason, Scan, Screened, Verdict
from lapse.errors import InvalidValue, NoVerdict, PeerError
from lapse.ledger import ChangeKind, Draft, Part, Scope
from lapse.runtime import (
    Allowance,
    Answered,
    Cost,
    Judging,
    Looked,
    OnlyKept,
    Opinion,
    Proposal,
    Ruling,
    RulingsInLedger,
    RulingsInMemory,
    Session,
)
from lapse.storage import InMemoryStore
from lapse.testing import ManualClock, SequenceIds
from lapse.testing.workspace import OBSERVER, leaving, returning, statement

HOTEL = statement("hotel", "the hotel is Sunrise")
TRAIN = statement("train", "the train leaves at nine")
FLOOD = statement("flood", "the river is over its banks", epoch=12)
STRIKE = statement("strike", "the railway is on strike", epoch=12)


def screened() -> Screened:
    before = leaving(HOTEL, TRAIN)
    checkpoint = returning(before, HOTEL, TRAIN, FLOOD, STRIKE)
    return Captured(checkpoint, Policy(observers=frozenset({OBSERVER}))).next()


@dataclass
class Fixed:
    """Proposes what it is given."""

    named: Mapping[str, object]
    name: str = "fixed"
    seen: list[Sequence[Scan]] = field(default_factory=list[Sequence[Scan]])

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        self.seen.append(scans)
        return self.named  # type: ignore[return-value] - some of it is malformed on purpose


EVERY = Fixed(
    {
        "hotel": Proposal(("flood", "strike")),
        "train": Proposal(("strike", "flood")),
    }
)


FIRST_TO_LAST = [
    Pair("hotel", "flood"),
    Pair("train", "strike"),
    Pair("hotel", "strike"),
    Pair("train", "flood"),
]
"""What `EVERY` names, in the order in which it is asked about."""


@dataclass
class Answering:
    """Answers as scripted; what is not scripted stands."""

    script: Mapping[Pair, object] = field(default_factory=dict[Pair, object])
    each: Cost = field(default_factory=lambda: Cost(1, 10, 2))
    name: str = "answering-1"
    asked: list[Pair] = field(default_factory=list[Pair])

    def most(self, question: Question) -> Cost:
        del question
        return self.each

    def verify(self, question: Question) -> Opinion:
        self.asked.append(question.pair)
        found = self.script.get(question.pair, Verdict.STANDS)
        if isinstance(found, Exception):
            raise found
        if isinstance(found, Opinion):
            return found
        return Opinion(found, "because", self.each)  # type: ignore[arg-type]


def test_the_pairs_of_all_proposers_are_asked_once_the_most_plausible_first() -> None:
    first = Fixed({"hotel": Proposal(("flood",)), "train": Proposal(("flood", "strike"))})
    other = Fixed({"hotel": Proposal(("flood", "strike")), "train": Proposal(("strike",))})
    judge = Answering()
    told: list[Answered] = []
    looked = Judging((first, other), judge).look(screened(), tell=told.append)
    assert judge.asked == [
        Pair("hotel", "flood"),
        Pair("train", "flood"),
        Pair("train", "strike"),
        Pair("hotel", "strike"),
    ]
    assert [one.question.pair for one in told] == judge.asked
    assert looked.scanned == {"hotel": ("flood", "strike"), "train": ("flood", "strike")}
    assert looked.answers == dict.fromkeys(judge.asked, Verdict.STANDS)
    assert looked.said == dict.fromkeys(judge.asked, "because")
    assert looked.cost == Cost(4, 40, 8)
    assert (looked.asked, looked.reused, looked.left) == (4, 0, ())


def test_without_a_proposer_nobody_looked() -> None:
    looked = Judging((), Answering()).look(screened())
    assert looked.scanned == {}
    fallen = screened().next(looked.scanned, looked.answers).fallen
    assert {one.reason for one in fallen.values()} == {Reason.UNSCANNED}


def test_where_nothing_came_meanwhile_nobody_is_asked() -> None:
    before = leaving(HOTEL)
    state = Captured(returning(before, HOTEL), Policy(observers=frozenset({OBSERVER}))).next()
    proposer, judge = Fixed({}), Answering()
    assert Judging((proposer,), judge).look(state).answers == {}
    assert (proposer.seen, judge.asked) == ([], [])


def test_what_is_kept_is_not_asked_again_and_can_be_replayed_without_the_judge() -> None:
    script = {Pair("hotel", "flood"): Verdict.INVALIDATES, Pair("train", "flood"): Verdict.UNSURE}
    judging = Judging((EVERY,), judge := Answering(script))
    first = judging.look(screened())
    again = judging.look(screened())
    assert len(judge.asked) == 4
    assert again.answers == first.answers
    assert (again.asked, again.reused, again.cost, again.said) == (0, 4, Cost(), {})
    alone = Judging((EVERY,), OnlyKept(judge.name), judging.rulings).look(screened())
    assert alone == again


def test_another_judge_prompt_or_text_is_another_question() -> None:
    judging = Judging((EVERY,), Answering())
    judging.look(screened())
    other = Answering(name="answering-2")
    assert Judging((EVERY,), other, judging.rulings).look(screened()).asked == 4
    before = leaving(HOTEL)
    flood = statement("flood", "the river is back in its bed", epoch=12)
    changed = Captured(
        returning(before, HOTEL, flood, STRIKE), Policy(observers=frozenset({OBSERVER}))
    ).next()
    looked = judging.look(changed)
    assert (looked.asked, looked.reused) == (1, 1)


def test_without_judge_and_ruling_a_pair_is_left_unanswered() -> None:
    looked = Judging((EVERY,), OnlyKept("gone")).look(screened())
    assert looked.answers == {}
    assert len(looked.left) == 4
    fallen = screened().next(looked.scanned, looked.answers).fallen
    assert {one.reason for one in fallen.values()} == {Reason.UNANSWERED}
    with pytest.raises(NoVerdict, match="nothing is kept of gone"):
        OnlyKept("gone").verify(Question(HOTEL, FLOOD))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (PeerError("it is down"), Reason.VERIFIER_RAISED),
        (ZeroDivisionError(), Reason.VERIFIER_RAISED),
        (NoVerdict("it mumbled", calls=3, prompt=5, completion=1), Reason.VERIFIER_RAISED),
        (Opinion("perhaps"), Reason.ANSWER_MALFORMED),  # type: ignore[arg-type]
    ],
)
def test_a_judge_that_fails_leaves_the_item_out_and_nothing_is_kept(
    answer: object, reason: Reason
) -> None:
    judging = Judging((EVERY,), Answering({Pair("hotel", "flood"): answer}))
    looked = judging.look(screened())
    fallen = screened().next(looked.scanned, looked.answers).fallen
    assert {name: one.reason for name, one in fallen.items()} == {"hotel": reason}
    assert judging.look(screened()).asked == 1


def test_what_is_no_opinion_is_malformed() -> None:
    class Mute(Answering):
        def verify(self, question: Question) -> Opinion:
            del question
            return "perhaps"  # type: ignore[return-value]

    looked = Judging((EVERY,), Mute()).look(screened())
    fallen = screened().next(looked.scanned, looked.answers).fallen
    assert {one.reason for one in fallen.values()} == {Reason.ANSWER_MALFORMED}
    assert looked.cost == Cost()


def test_a_question_that_cannot_be_priced_is_not_asked_and_its_failure_is_the_answer() -> None:
    class TooLong(Answering):
        def most(self, question: Question) -> Cost:
            if question.later.id == "flood":
                raise InvalidValue("text", "…", "split it")
            return self.each

    looked = Judging((EVERY,), judge := TooLong()).look(screened())
    assert set(looked.failed) == {Pair("hotel", "flood"), Pair("train", "flood")}
    assert len(judge.asked) == 2


def test_what_one_proposer_failed_on_is_unknown_whatever_the_others_found() -> None:
    down = Fixed({"hotel": Proposal(failure=PeerError("down")), "train": Proposal()})
    for proposers in ((EVERY, down), (down, EVERY)):
        looked = Judging(proposers, judge := Answering()).look(screened())
        assert isinstance(looked.scanned["hotel"], PeerError)
        assert {pair.older for pair in judge.asked} == {"train"}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({}, Reason.UNSCANNED),
        ("hotel", Reason.SCAN_MALFORMED),
        ({"hotel": ["flood"], "train": ["flood"]}, Reason.SCAN_MALFORMED),
        (
            {"hotel": Proposal(["flood"]), "train": Proposal(({},))},  # type: ignore[arg-type]
            Reason.SCAN_MALFORMED,
        ),
        ({"hotel": Proposal(("moon",)), "train": Proposal(("hotel",))}, Reason.SCAN_MALFORMED),
    ],
)
def test_what_a_proposer_says_is_not_trusted(said: object, reason: Reason) -> None:
    looked = Judging((Fixed(said),), judge := Answering()).look(screened())  # type: ignore[arg-type]
    fallen = screened().next(looked.scanned, looked.answers).fallen
    assert {name: one.reason for name, one in fallen.items()} == {"hotel": reason, "train": reason}
    assert judge.asked == []


def test_a_proposer_that_raises_failed_on_everything() -> None:
    class Broken(Fixed):
        def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
            raise PeerError(f"down, with {len(scans)} to scan")

    looked = Judging((EVERY, Broken({})), Answering()).look(screened())
    fallen = screened().next(looked.scanned, looked.answers).fallen
    assert {one.reason for one in fallen.values()} == {Reason.SCAN_RAISED}


def test_an_allowance_is_not_exceeded_and_what_is_left_is_told() -> None:
    judge = Answering()
    judging = Judging((EVERY,), judge)
    looked = judging.look(screened(), allowance=Allowance(pairs=3, calls=9, tokens=30))
    assert judge.asked == [Pair("hotel", "flood"), Pair("train", "strike")]
    assert looked.cost == Cost(2, 20, 4)
    assert looked.left == (Pair("hotel", "strike"), Pair("train", "flood"))
    again = judging.look(screened(), allowance=Allowance(calls=2))
    assert (again.reused, again.asked, again.left) == (2, 2, ())


def test_what_failed_without_a_bill_counts_against_the_allowance_at_its_most() -> None:
    script = {Pair("hotel", "flood"): PeerError("down")}
    looked = Judging((EVERY,), Answering(script)).look(screened(), allowance=Allowance(calls=1))
    assert (looked.asked, looked.cost, len(looked.left)) == (1, Cost(), 3)


def test_what_proposers_cost_is_taken_off_first() -> None:
    costly = Fixed({"hotel": Proposal(("flood",), cost=Cost(2, 5, 5)), "train": Proposal()})
    looked = Judging((costly,), Answering()).look(screened(), allowance=Allowance(calls=2))
    assert (looked.cost, looked.left) == (Cost(2, 5, 5), (Pair("hotel", "flood"),))


def test_a_service_that_is_down_is_not_asked_about_every_pair() -> None:
    down = {pair: PeerError("down") for pair in FIRST_TO_LAST}
    judge = Answering(down)
    looked = Judging((EVERY,), judge).look(screened(), allowance=Allowance(failures=2))
    assert judge.asked == FIRST_TO_LAST[:2]
    assert list(looked.left) == FIRST_TO_LAST[2:]
    now_and_then = Answering({FIRST_TO_LAST[0]: down[FIRST_TO_LAST[0]]})
    looked = Judging((EVERY,), now_and_then).look(screened(), allowance=Allowance(failures=2))
    assert looked.left == ()
    mumbling = Answering({pair: NoVerdict("it mumbled") for pair in FIRST_TO_LAST})
    looked = Judging((EVERY,), mumbling).look(screened(), allowance=Allowance(failures=1))
    assert len(looked.failed) == 4


@pytest.mark.parametrize("name", ["pairs", "calls", "tokens", "failures"])
def test_an_allowance_is_no_debt(name: str) -> None:
    with pytest.raises(InvalidValue, match=name):
        Allowance(**{name: -1})


def test_a_background_scan_ends_even_where_a_question_always_fails() -> None:
    script = {Pair("hotel", "flood"): PeerError("down")}
    judging = Judging((EVERY,), judge := Answering(script))
    once = Allowance(pairs=1)
    looked = judging.look(screened(), allowance=once)
    rounds = 1
    while looked.left:
        looked = judging.look(screened(), allowance=once, failed=looked.failed)
        rounds += 1
    assert rounds == 4
    assert sorted(judge.asked) == sorted(looked.answers)
    assert set(looked.failed) == {Pair("hotel", "flood")}


def test_one_thread_looks_at_a_time() -> None:
    class Crowded(Answering):
        """At its first question another thread looks too, and must not get as far as asking."""

        def verify(self, question: Question) -> Opinion:
            if not self.asked:
                others.append(pool.submit(judging.look, screened()))
                met.append(entered.wait(timeout=0.1))
            else:
                entered.set()
            return super().verify(question)

    others: list[Future[Looked]] = []
    met: list[bool] = []
    entered = Event()
    judging = Judging((EVERY,), Crowded())
    with ThreadPoolExecutor(1) as pool:
        looked = judging.look(screened())
    assert met == [False]
    assert others[0].result().answers == looked.answers
    assert (looked.asked, others[0].result().asked) == (4, 0)


def ledger(scope: Scope | None = None) -> tuple[Session, RulingsInLedger]:
    session = Session(InMemoryStore(ids=SequenceIds("store")))
    clock, ids = ManualClock(7), SequenceIds()
    kept = RulingsInLedger(session, clock=clock, ids=ids, scope=scope or Scope())
    return session, kept


def test_rulings_are_kept_in_the_ledger_by_digests_without_a_word_of_the_items() -> None:
    session, kept = ledger()
    judging = Judging((EVERY,), Answering({Pair("hotel", "flood"): Verdict.INVALIDATES}), kept)
    first = judging.look(screened())
    records = list(session.state.records())
    assert len(records) == 4
    assert records[0].content == {
        "form": "ruling",
        "judge": "answering-1",
        "older": HOTEL.digest(),
        "later": FLOOD.digest(),
        "verdict": "invalidates",
        "pair": ["hotel", "flood"],
        "cost": [1, 10, 2],
    }
    reopened = RulingsInLedger(Session(session.store), clock=ManualClock(9), ids=SequenceIds("b"))
    again = Judging((EVERY,), OnlyKept("answering-1"), reopened).look(screened())
    assert (again.answers, again.reused) == (first.answers, 4)


RULING = Ruling("judge", "aa", "bb", Verdict.STANDS)


def test_of_two_rulings_under_one_key_the_first_stays() -> None:
    session, in_ledger = ledger()
    for kept in (RulingsInMemory(), in_ledger):
        kept.keep(RULING.key, RULING)
        kept.keep(RULING.key, Ruling("judge", "aa", "bb", Verdict.INVALIDATES))
        assert kept.get(RULING.key) == RULING
    assert len(list(session.state.records())) == 1


def test_a_revoked_ruling_is_not_used_and_may_be_given_anew() -> None:
    session, kept = ledger()
    kept.keep(RULING.key, RULING)
    [record] = session.state.records()
    draft = Draft(
        kind=ChangeKind.REVOKED,
        at=8,
        reason="a person looked",
        actor="ops",
        parts=(Part.of(record.id, None, salt="s"),),
    )
    session.write(lambda _: (None, [draft]))
    assert kept.get(RULING.key) is None
    other = Ruling("judge", "aa", "bb", Verdict.INVALIDATES)
    kept.keep(other.key, other)
    assert kept.get(RULING.key) == other


def test_a_record_that_is_no_ruling_of_its_key_is_passed_over() -> None:
    session, kept = ledger()
    kept.keep(RULING.key, RULING)
    [record] = session.state.records()
    for content in ({"form": "ruling"}, {**record.content, "judge": "another"}):
        other_session, other = ledger()
        part = Part.of("x", {**record.as_json(), "content": content}, salt="s")
        draft = Draft(kind=ChangeKind.WRITTEN, at=8, reason="r", actor="a", parts=(part,))
        other_session.write(lambda _, draft=draft: (None, [draft]))
        assert other.get(RULING.key) is None
    with pytest.raises(InvalidValue, match="key"):
        kept.keep("another", RULING)


def test_rulings_are_found_by_the_items_that_they_are_about() -> None:
    session, kept = ledger()
    Judging((EVERY,), Answering(), kept).look(screened())
    records = {record.id: record.content["pair"] for record in session.state.records()}
    about = {name for name, pair in records.items() if "flood" in pair}
    assert set(kept.about("flood")) == about
    assert len(about) == 2
    assert kept.about("nobody") == ()
    elsewhere = RulingsInLedger(
        session, clock=ManualClock(), ids=SequenceIds("d"), scope=Scope(tenant="other")
    )
    assert elsewhere.about("flood") == ()


def test_a_ruling_of_another_scope_is_not_used() -> None:
    session, kept = ledger(Scope(tenant="team"))
    kept.keep(RULING.key, RULING)
    elsewhere = RulingsInLedger(session, clock=ManualClock(), ids=SequenceIds("c"))
    assert elsewhere.get(RULING.key) is None
