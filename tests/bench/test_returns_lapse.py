"""lapse as a way to come back: what claims become, and what a return makes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from lapse.admission import Question, Reason, Verdict
from lapse.errors import LapseError, NoVerdict
from lapse.judges import AllPairs
from lapse.ledger import Status
from lapse.runtime import FREE, Cost, Judging, Opinion
from lapse_bench.returns.episodes import UNLIMITED, Budget, Claim, ReturnEpisode
from lapse_bench.returns.lapse_items import LOG, ranks_of, worked
from lapse_bench.returns.lapse_method import LAPSE, LapseMethod

HOTEL = Claim(id="h0", at=1, entity="hotel", attribute="name", value="Sunrise", text="at Sunrise")
TRAIN = Claim(id="t0", at=2, entity="train", attribute="at", value="9:00", text="train at 9:00")
PICKUP = Claim(
    id="p0", at=3, entity="pickup", attribute="at", value="8:00", derived_from=("t0",), text="at 8"
)
TAXI = Claim(id="c0", at=3, entity="taxi", attribute="is", value="booked", derived_from=("p0",))
MOVED = replace(HOTEL, id="h1", at=5, value="Riverside", text="at Riverside")
CANCELLED = Claim(id="x", at=6, entity="train", attribute="at", value="", does="withdraw")


def returning(
    *log: Claim, bank: tuple[Claim, ...] = (HOTEL, TRAIN), needs: frozenset[str] | None = None
) -> ReturnEpisode:
    return ReturnEpisode(
        id="e",
        workload="go on",
        departed=3,
        returned=9,
        bank=bank,
        log=log,
        store=frozenset(claim.id for claim in (*bank, *log)),
        needs=needs,
    )


def shown(episode: ReturnEpisode, budget: Budget = UNLIMITED) -> set[str]:
    return set(LAPSE.admit(episode, budget).items)


@dataclass(frozen=True)
class Saying:
    """A verifier that answers one thing, or fails."""

    answer: Verdict | Exception
    name: str = "saying"

    def most(self, question: Question) -> Cost:
        del question
        return FREE

    def verify(self, question: Question) -> Opinion:
        del question
        if isinstance(self.answer, Exception):
            raise self.answer
        return Opinion(self.answer, cost=Cost(1, 10, 2))


# What claims become


def test_a_claim_has_the_receipt_of_when_it_was_written() -> None:
    items = worked((HOTEL, TRAIN, PICKUP))
    assert [r.observer for r in items["h0"].receipts] == [LOG]
    assert [r.at for r in items["h0"].receipts] == [1]
    assert items["p0"].rests_on == ("t0",)
    assert len(items["p0"].receipts) == 2  # one for what it says, one that binds it to the train
    assert items["h0"].supports == ("hotel / name",)


def test_a_withdrawal_closes_what_stands_and_is_no_item() -> None:
    items = worked((HOTEL, TRAIN, CANCELLED))
    assert {name: item.status for name, item in items.items()} == {
        "h0": Status.ACTIVE,
        "t0": Status.EVICTED,
    }
    named = worked((HOTEL, TRAIN, replace(CANCELLED, supersedes=("h0", "nobody"))))
    assert {item.status for item in named.values()} == {Status.EVICTED}


def test_what_takes_slots_for_granted_rests_on_their_worth_alone() -> None:
    note = replace(PICKUP, assumes=((TRAIN.slot_name, "9:00"),))
    items = worked((TRAIN, note))
    assert (items["p0"].rests_on, items["p0"].assumes) == ((), (("train / at", "9:00"),))
    bare = worked((TRAIN, note), premises=False)
    assert (bare["p0"].rests_on, bare["p0"].assumes) == (("t0",), ())


def test_an_interval_ends_after_its_last_moment() -> None:
    (item,) = worked((replace(HOTEL, valid_from=2, valid_to=4),)).values()
    assert item.valid.holds_at(4)
    assert not item.valid.holds_at(5)
    assert not item.valid.holds_at(1)


def test_authorities_rank_as_their_numbers_and_a_ruling_above_all() -> None:
    episode = returning(replace(MOVED, authority=0.9), bank=(HOTEL,))
    assert ranks_of(episode) == {"0.5": 0, "0.9": 1, "settled": 2}


# What a return makes of them


def test_one_change_and_one_withdrawal() -> None:
    assert shown(returning(MOVED, CANCELLED)) == {"h1"}
    elsewhere = replace(MOVED, entity="guest house", supersedes=("h0",))
    assert shown(returning(elsewhere)) == {"t0", "h1"}


def test_what_rests_on_what_fell_falls_however_far_up() -> None:
    bank = (TRAIN, PICKUP, TAXI)
    assert shown(returning(bank=bank)) == {"t0", "p0", "c0"}
    assert shown(returning(CANCELLED, bank=bank)) == set()
    outcome = LAPSE.come_back(returning(CANCELLED, bank=bank), UNLIMITED)
    reasons = {j.item.id: j.reasons for j in outcome.eligible.shared if j.reasons}
    assert reasons["t0"] == (Reason.CLOSED,)
    assert reasons["p0"] == reasons["c0"] == (Reason.DEPENDENCY_LAPSED,)


def test_what_was_concluded_from_nothing_written_falls() -> None:
    assert shown(returning(bank=(PICKUP,))) == set()


@pytest.mark.parametrize(("authority", "stands"), [(0.9, {"h1"}), (0.1, {"h0"}), (0.5, set[str]())])
def test_a_source_is_weighed_and_equals_who_differ_are_both_out(
    authority: float, stands: set[str]
) -> None:
    other = replace(MOVED, source="somebody", authority=authority)
    assert shown(returning(other, bank=(HOTEL,))) == stands


@pytest.mark.parametrize(
    ("answer", "stands", "calls"),
    [
        (Verdict.INVALIDATES, {"h1"}, 1),
        (Verdict.STANDS, {"h0"}, 1),
        (Verdict.UNSURE, set[str](), 1),
        (NoVerdict("none", calls=2, prompt=5), set[str](), 2),
        (LapseError("down"), set[str](), 0),
    ],
)
def test_a_dispute_is_the_verifiers_and_stays_open_where_it_cannot_tell(
    answer: Verdict | Exception, stands: set[str], calls: int
) -> None:
    other = replace(MOVED, source="somebody")
    again = replace(other, id="h2", at=6, source="another")
    method = LapseMethod("lapse", Judging((), Saying(answer)))
    said = method.admit(returning(other, again, bank=(HOTEL,)), UNLIMITED)
    assert {name.replace("h2", "h1") for name in said.items} == stands
    assert said.calls == calls  # two who say the same are one side


def test_a_workload_that_names_what_it_needs_gets_that_or_nothing() -> None:
    hotel, train = HOTEL.slot_name, TRAIN.slot_name
    assert shown(returning(needs=frozenset({hotel}))) == {"h0"}
    assert shown(returning(needs=frozenset({hotel, train}))) == {"h0", "t0"}
    assert shown(returning(CANCELLED, needs=frozenset({hotel, train}))) == set()
    assert shown(returning(CANCELLED)) == {"h0"}


def test_a_tight_budget_is_kept_by_asking_for_less() -> None:
    assert shown(returning(), Budget(items=1)) < {"h0", "t0"}
    assert len(shown(returning(), Budget(items=1))) == 1
    assert shown(returning(), Budget(items=0)) == set()
    assert shown(returning(), Budget(characters=11)) == {"h0"}


def test_nothing_is_kept_from_one_return_to_the_next() -> None:
    method = LapseMethod("lapse", Judging((AllPairs(),), Saying(Verdict.STANDS)))
    episode = returning(replace(MOVED, entity="guest house"))
    first, second = (method.admit(episode, UNLIMITED) for _ in range(2))
    assert first == second
    assert (first.calls, first.tokens) == (2, 24)
    assert first.items == {"h0", "t0", "h1"}


def test_a_scan_that_breaks_everything_leaves_the_last_word() -> None:
    method = LapseMethod("lapse", Judging((AllPairs(),), Saying(Verdict.INVALIDATES)))
    assert method.admit(returning(replace(MOVED, entity="z")), UNLIMITED).items == {"h1"}
