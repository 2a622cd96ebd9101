"""The baselines, on cases small enough that the rule of each decides them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.errors import InvalidValue
from lapse_bench.returns.episodes import (
    UNLIMITED,
    Admission,
    Answers,
    Budget,
    Claim,
    ReturnEpisode,
    fitting,
    judged,
)
from lapse_bench.returns.manbench import Item, episodes_of
from lapse_bench.returns.memstrata import MEMSTRATA, RowStatus, fingerprint, key_of, ledger
from lapse_bench.returns.memtx import MEMTX, TxState, transacted
from lapse_bench.returns.policies import LAST_WRITER_WINS, REPLAY, RESET, RESTORE, STATIC
from lapse_bench.returns.registry import METHODS, chosen_methods

HOTEL = Claim(id="h0", at=1, entity="hotel", attribute="name", value="Sunrise", text="at Sunrise")
TRAIN = Claim(id="t0", at=2, entity="train", attribute="at", value="9:00", text="train at 9:00")
MOVED = Claim(
    id="h1", at=5, entity="hotel", attribute="name", value="Riverside", text="at Riverside"
)
CANCELLED = Claim(id="x", at=6, entity="train", attribute="at", value="", does="withdraw")


def returning(bank: tuple[Claim, ...], log: tuple[Claim, ...]) -> ReturnEpisode:
    return ReturnEpisode(
        id="e",
        workload="go on",
        departed=3,
        returned=9,
        bank=bank,
        log=log,
        store=frozenset(claim.id for claim in (*bank, *log) if claim.does == "state"),
    )


def admitted(name: str, episode: ReturnEpisode, budget: Budget = UNLIMITED) -> set[str]:
    return set(METHODS[name].admit(episode, budget).items)


def test_each_policy_on_one_change_and_one_withdrawal() -> None:
    episode = returning((HOTEL, TRAIN), (MOVED, CANCELLED))
    assert admitted("static", episode) == {"h0", "t0", "h1"}
    assert admitted("restore", episode) == {"h0", "t0"}
    assert admitted("reset", episode) == set()
    assert admitted("checkpoint-replay", episode) == {"h0", "h1"}
    assert admitted("last-writer-wins", episode) == {"h1"}
    assert admitted("memstrata", episode) == {"h1"}
    assert admitted("memtx", episode) == {"h1"}


def test_a_value_that_moves_to_another_slot_has_to_be_named() -> None:
    other = replace(MOVED, entity="guest house", supersedes=("h0",))
    episode = returning((HOTEL,), (other,))
    assert admitted("checkpoint-replay", episode) == {"h1"}
    assert admitted("memstrata", episode) == {"h1"}
    # MemTX follows a link within a slot only, and the last writer reads none at all.
    assert admitted("memtx", episode) == {"h0", "h1"}
    assert admitted("last-writer-wins", episode) == {"h0", "h1"}


# MemStrata


def test_memstrata_keeps_the_first_of_two_that_say_the_same() -> None:
    again = replace(MOVED, entity=" Hotel ", value="sunrise!")
    rows = ledger((HOTEL,), (again,))
    assert (rows["h0"].status, rows["h1"].status) == (RowStatus.ACTIVE, RowStatus.DUPLICATE)
    assert rows["h1"].duplicate_of == "h0"
    assert key_of(again) == key_of(HOTEL) == "hotel::name"
    assert fingerprint(replace(again, value="")) == "at riverside"


def test_memstrata_takes_answers_of_punctuation_alone_for_one() -> None:
    rows = ledger((replace(HOTEL, value="] )"),), (replace(MOVED, value="} >"),))
    assert rows["h1"].status is RowStatus.DUPLICATE


def test_memstrata_closes_a_row_when_the_next_begins() -> None:
    rows = ledger((HOTEL,), (replace(MOVED, valid_from=4),))
    assert (rows["h0"].status, rows["h0"].valid_to) == (RowStatus.SUPERSEDED, 4)
    assert rows["h0"].superseded_by == "h1"
    assert (rows["h1"].status, rows["h1"].valid_to) == (RowStatus.ACTIVE, None)


def test_memstrata_leaves_a_tombstone_and_stores_anew() -> None:
    back = replace(TRAIN, id="t1", at=7)
    rows = ledger((TRAIN,), (CANCELLED, back))
    statuses = [rows[name].status for name in ("t0", "x", "t1")]
    assert statuses == [RowStatus.SUPERSEDED, RowStatus.TOMBSTONE, RowStatus.ACTIVE]


def test_memstrata_expires_what_ended_before_the_last_moment() -> None:
    rows = ledger(
        (replace(HOTEL, valid_to=4), replace(TRAIN, valid_to=5)), (replace(MOVED, entity="z"),)
    )
    assert rows["h0"].status is RowStatus.EXPIRED
    assert rows["t0"].status is RowStatus.ACTIVE


def test_memstrata_invalidates_what_the_absence_named_too_early() -> None:
    early = replace(MOVED, at=4, entity="guest house", supersedes=("t0",))
    late = replace(TRAIN, at=5)
    rows = ledger((), (early, late))
    assert rows["t0"].status is RowStatus.INVALIDATED


# MemTX


def test_memtx_quarantines_both_sides_of_a_clash_and_the_next_writer_wins() -> None:
    a, b, c = (replace(MOVED, id=f"n{n}", at=5 + n, source=f"agent {n}") for n in range(3))
    states = transacted((HOTEL, a))
    assert states == {"h0": TxState.QUARANTINED, "n0": TxState.QUARANTINED}
    states = transacted((HOTEL, a, b, c))
    assert states["n1"] is TxState.COMMITTED
    assert states["n2"] is TxState.SUPERSEDED  # says what stands: an idempotent duplicate


@pytest.mark.parametrize(
    ("authority", "old", "new"),
    [
        (0.6, TxState.SUPERSEDED, TxState.COMMITTED),
        (0.5, TxState.QUARANTINED, TxState.QUARANTINED),
        (0.4, TxState.COMMITTED, TxState.QUARANTINED),
    ],
)
def test_memtx_weighs_the_source(authority: float, old: TxState, new: TxState) -> None:
    other = replace(MOVED, source="somebody", authority=authority)
    assert transacted((HOTEL, other)) == {"h0": old, "h1": new}


@pytest.mark.parametrize(
    ("confidence", "authority", "state"),
    [
        (0.59, 0.89, TxState.QUARANTINED),
        (0.59, 0.9, TxState.COMMITTED),
        (0.6, 0.0, TxState.COMMITTED),
    ],
)
def test_memtx_lets_in_who_is_sure_or_weighty(
    confidence: float, authority: float, state: TxState
) -> None:
    claim = replace(HOTEL, confidence=confidence, authority=authority)
    assert transacted((claim,)) == {"h0": state}


@pytest.mark.parametrize("interval", [{"valid_to": 4}, {"valid_from": 6}])
def test_memtx_quarantines_what_does_not_hold_at_the_last_moment(interval: dict[str, int]) -> None:
    outside = replace(
        HOTEL, valid_from=interval.get("valid_from"), valid_to=interval.get("valid_to")
    )
    assert transacted((outside, replace(MOVED, entity="z")))["h0"] is TxState.QUARANTINED


def test_memtx_revokes_what_was_concluded_from_what_fell() -> None:
    pickup = Claim(
        id="p", at=3, entity="pickup", attribute="at", value="8:00", derived_from=("t0",)
    )
    taxi = Claim(id="c", at=4, entity="taxi", attribute="booked", value="yes", derived_from=("p",))
    states = transacted((TRAIN, pickup, taxi, CANCELLED))
    assert [states[name] for name in ("t0", "p", "c")] == [TxState.REVOKED] * 3
    later = replace(TRAIN, id="t1", at=6, value="9:30")
    states = transacted((TRAIN, pickup, taxi, later))
    assert [states[name] for name in ("t0", "p", "c")] == [
        TxState.SUPERSEDED,
        TxState.REVOKED,
        TxState.REVOKED,
    ]
    orphan = replace(taxi, id="o", at=8)
    assert transacted((TRAIN, pickup, later, orphan))["o"] is TxState.QUARANTINED


def test_memtx_revokes_what_a_deletion_names_in_another_slot() -> None:
    states = transacted((HOTEL, TRAIN, replace(CANCELLED, supersedes=("h0",))))
    assert states == {"h0": TxState.REVOKED, "t0": TxState.REVOKED, "x": TxState.COMMITTED}


def test_memtx_follows_a_link_within_the_slot_whoever_wrote_it() -> None:
    other = replace(MOVED, source="somebody", authority=0.1, supersedes=("h0",))
    assert transacted((HOTEL, other)) == {"h0": TxState.SUPERSEDED, "h1": TxState.COMMITTED}


# What holds for all


def test_who_wrote_last_decides_what_a_team_says() -> None:
    # As in the source: in one condition these lose all, in the other they win all.
    one = Item("t", "one?", "a", "b")
    two = Item("t", "two?", "c", "d")
    valid, corrected, stale = episodes_of((one, two), size=4)
    for method in (STATIC, LAST_WRITER_WINS, MEMSTRATA, MEMTX):
        for made, right in ((valid, False), (corrected, True), (stale, True)):
            score = judged(method, made.episode, made.answers, UNLIMITED)
            assert (score.available, score.withheld) == ((right,), (right,))
    for made, right in ((valid, True), (corrected, False), (stale, False)):
        score = judged(RESTORE, made.episode, made.answers, UNLIMITED)
        assert (score.available, score.withheld) == ((right,), (right,))
        score = judged(RESET, made.episode, made.answers, UNLIMITED)
        assert (score.available, score.withheld) == ((False,), (True,))
        score = judged(REPLAY, made.episode, made.answers, UNLIMITED)
        assert (score.available, score.withheld) == ((True,), (False,))


CLAIMS = st.lists(
    st.builds(
        Claim,
        id=st.just(""),
        at=st.just(0),
        entity=st.sampled_from("ab"),
        attribute=st.just("is"),
        value=st.sampled_from(["1", "2"]),
        does=st.sampled_from(["state", "state", "withdraw"]),
        text=st.sampled_from(["", "xx"]),
        supersedes=st.lists(st.sampled_from("0123"), max_size=1).map(tuple),
        derived_from=st.lists(st.sampled_from("0123"), max_size=1).map(tuple),
        source=st.sampled_from(["me", "you"]),
        authority=st.sampled_from([0.4, 0.5]),
    ),
    max_size=8,
)
BUDGETS = st.builds(
    Budget, st.one_of(st.none(), st.integers(0, 3)), st.one_of(st.none(), st.integers(0, 5))
)


@given(CLAIMS, st.integers(0, 8), BUDGETS)
def test_every_method_admits_statements_within_the_budget(
    drawn: list[Claim], left: int, budget: Budget
) -> None:
    claims = [replace(claim, id=str(n), at=n) for n, claim in enumerate(drawn)]
    bank = tuple(claim for claim in claims[:left] if claim.does == "state")
    episode = returning(bank, tuple(claims[left:]))
    for method in METHODS.values():
        score = judged(method, episode, Answers(valid=frozenset(), stale=frozenset()), budget)
        assert budget.items is None or score.items <= budget.items
        again = method.admit(episode, budget)
        assert again == method.admit(episode, budget)
        assert (again.calls, again.tokens) == (0, 0)


@given(CLAIMS)
def test_ledgers_keep_one_row_for_each_slot(drawn: list[Claim]) -> None:
    claims = [replace(claim, id=str(n), at=n) for n, claim in enumerate(drawn)]
    rows = ledger((), claims)
    active = [key_of(row.claim) for row in rows.values() if row.status is RowStatus.ACTIVE]
    assert len(active) == len(set(active))
    states = transacted(claims)
    assert states.keys() == rows.keys()
    read = [c.slot for c in claims if c.does == "state" and states[c.id] is TxState.COMMITTED]
    assert len(read) == len(set(read))


def test_room_goes_to_the_latest() -> None:
    assert fitting([HOTEL, TRAIN, MOVED], Budget(items=2)) == {"h1", "t0"}
    # 12 for Riverside leave 10, where the train's 13 have no room and Sunrise's 10 have.
    assert fitting([HOTEL, TRAIN, MOVED], Budget(characters=22)) == {"h1", "h0"}
    assert fitting([HOTEL, replace(TRAIN, at=1)], Budget(items=1)) == {"t0"}


@pytest.mark.parametrize(
    ("items", "budget", "says"),
    [
        ({"other"}, UNLIMITED, "admit statements of the episode only"),
        ({"x"}, UNLIMITED, "admit statements of the episode only"),
        ({"h0", "t0"}, Budget(items=1), "keep to Budget"),
        ({"h0", "t0"}, Budget(characters=20), "keep to Budget"),
    ],
)
def test_a_method_that_breaks_its_word_is_told(items: set[str], budget: Budget, says: str) -> None:
    class Careless:
        name = "careless"

        def admit(self, episode: ReturnEpisode, budget: Budget) -> Admission:
            del episode, budget
            return Admission(items=frozenset(items))

    nothing = Answers(valid=frozenset(), stale=frozenset())
    with pytest.raises(InvalidValue, match=says):
        judged(Careless(), returning((HOTEL, TRAIN), (CANCELLED,)), nothing, budget)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidValue, match="valid or stale, not both"):
        Answers(valid=frozenset([HOTEL.fact]), stale=frozenset([HOTEL.fact]))
    with pytest.raises(InvalidValue, match="items is -1"):
        Budget(items=-1)
    with pytest.raises(InvalidValue, match="methods is 'cupmem'"):
        chosen_methods(["cupmem"])
    with pytest.raises(InvalidValue, match="each method once"):
        chosen_methods(["reset", "reset"])
    with pytest.raises(InvalidValue, match="name some of static"):
        chosen_methods([])
    assert chosen_methods(["memtx", "reset"]) == (MEMTX, RESET)
