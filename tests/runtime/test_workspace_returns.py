"""Returns that are broken off, raced, repeated, purged, forged or overtaken by other engines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lapse.admission import (
    Blocked,
    Failure,
    Incomplete,
    Pair,
    Presence,
    Question,
    Reason,
    Refusal,
    Refused,
    Scan,
    Sealed,
    Verdict,
)
from lapse.errors import (
    IllegalChange,
    InvalidValue,
    LedgerNotTrusted,
    NoVerdict,
    StoreConflict,
    StoreCorrupt,
    StoreFull,
    UnknownRecord,
)
from lapse.judges import AllPairs, ScriptedJudge
from lapse.ledger import (
    Change,
    ChangeKind,
    Draft,
    Head,
    Interval,
    Kind,
    Outcome,
    Part,
    Receipt,
    Record,
    Scope,
    Source,
    Stamp,
    State,
    Store,
    seal,
    writing,
)
from lapse.runtime import (
    Allowance,
    Cost,
    CycleStory,
    ItemStory,
    Judging,
    LeftOut,
    Memory,
    Opinion,
    Proposal,
    Workspace,
)
from lapse.signing import HmacKeys
from lapse.storage import InMemoryStore
from lapse.storage.sqlite import SqliteStore
from lapse.testing import ManualClock, SequenceIds
from lapse.testing.workspaces import BY_PLACE, FOR_BOOKING, HER, STRICT, Town


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore(ids=SequenceIds("ledger"))


@pytest.fixture
def town(store: InMemoryStore) -> Town:
    """She has left, and while she is away everything is settled."""
    town = Town(store)
    town.before()
    town.work.depart(HER)
    town.meanwhile()
    town.confirms()
    return town


def again(town: Town, prefix: str, **options: Any) -> Town:
    """Another process on the same ledger, at the same time."""
    store = town.work.store
    assert isinstance(store, InMemoryStore)
    return Town(store.again(), prefix, clock=town.clock, **options)


def sealed(town: Town, cycle: str = "r1") -> Sealed:
    """She comes back, and is shown a view."""
    ended = town.work.return_(FOR_BOOKING, cycle=cycle)
    assert isinstance(ended, Sealed)
    return ended


def presence(town: Town) -> tuple[Presence, str]:
    """Where she is, and in which cycle."""
    member = town.work.member(HER)
    assert member is not None
    return member.presence, member.cycle


class Full:
    """Implements `lapse.ledger.Store` over another one; the append after some is refused."""

    def __init__(self, behind: Store, appends: int) -> None:
        self.behind = behind
        self.left = appends

    @property
    def ledger(self) -> str:
        return self.behind.ledger

    def head(self) -> Head:
        return self.behind.head()

    def append(self, changes: Sequence[Change], *, after: Head) -> None:
        if not self.left:
            raise StoreFull("no space is left")
        self.left -= 1
        self.behind.append(changes, after=after)

    def changes(
        self, *, after: int = 0, record: str | None = None, sources: Collection[Source] = ()
    ) -> Iterator[Change]:
        return self.behind.changes(after=after, record=record, sources=sources)

    def state(self) -> State:
        return self.behind.state()

    def close(self) -> None:
        self.behind.close()


class Meanwhile:
    """A verifier during whose first answers something else happens."""

    name = "meanwhile"

    def __init__(self, *happens: Callable[[], object]) -> None:
        self.happens = list(happens)

    def most(self, question: Question) -> Cost:
        del question
        return Cost(calls=1)

    def verify(self, question: Question) -> Opinion:
        if self.happens:
            self.happens.pop(0)()
        return Opinion(BY_PLACE.get(question.pair, Verdict.STANDS), cost=Cost(calls=1))


@dataclass
class Busy:
    """A proposer that suspects nothing, and during whose every look something is written."""

    town: Town
    name: str = "busy"
    count: int = 0

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        self.count += 1
        self.town.says(f"n{self.count}")
        return {scan.older.id: Proposal() for scan in scans}


def during(town: Town, *happens: Callable[[], object]) -> Town:
    """Another process, in whose return something happens while questions are answered."""
    return again(town, "slow", judging=Judging((AllPairs(),), Meanwhile(*happens)))


# -- broken off ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cycle", ["r1", "r2"])
def test_a_return_that_broke_off_shows_nothing_and_begins_again(town: Town, cycle: str) -> None:
    broken = Town(Full(town.work.store, 1), "b", clock=town.clock, judging=None)
    with pytest.raises(StoreFull):
        broken.work.return_(FOR_BOOKING, cycle="r1")
    assert presence(town) == (Presence.RETURNING, "r1")
    with pytest.raises(UnknownRecord, match="status"):
        town.work.view("r1", FOR_BOOKING)
    with pytest.raises(IllegalChange):
        town.work.depart(HER)
    assert sealed(town, cycle).view.returning.cycle == cycle
    assert presence(town) == (Presence.ADMITTED, cycle)


def test_a_return_that_was_taken_over_writes_nothing(town: Town) -> None:
    slow = during(town, lambda: sealed(town, "r2"))
    with pytest.raises(IllegalChange, match="taken over"):
        slow.work.return_(FOR_BOOKING, cycle="r1")
    assert presence(town) == (Presence.ADMITTED, "r2")
    with pytest.raises(UnknownRecord):
        town.work.view("r1", FOR_BOOKING)


def test_one_cycle_in_two_processes_is_decided_once(town: Town) -> None:
    decided: list[Sealed] = []
    slow = during(town, lambda: decided.append(sealed(town, "r1")))
    assert slow.work.return_(FOR_BOOKING, cycle="r1") == decided[0]


def test_what_came_while_questions_were_answered_is_decided_on(town: Town) -> None:
    def later() -> None:
        town.says("h2", "Lakeside is booked", slot="hotel", supports=("d_h",), replaces=("h1",))

    ended = sealed(during(town, later))
    assert "h2" in {item.id for item in ended.view.items}
    assert ended.view.returning.epoch == town.work.status().epoch
    assert town.work.view("r1", FOR_BOOKING) == ended.view


def test_what_a_verifier_failed_on_is_not_asked_again_in_the_same_return(town: Town) -> None:
    asked: list[Pair] = []

    class Failing(Meanwhile):
        def verify(self, question: Question) -> Opinion:
            super().verify(question)
            asked.append(question.pair)
            raise NoVerdict("it is down")

    failing = Failing(lambda: town.says("n"))
    slow = again(town, "slow", judging=Judging((AllPairs(),), failing))
    assert isinstance(slow.work.return_(FOR_BOOKING, cycle="r1"), Blocked)
    assert Pair("c", "n") in asked
    assert len(asked) == len(set(asked))


def test_a_workspace_that_never_rests_lets_nobody_in(town: Town) -> None:
    busy = Judging((Busy(town),), ScriptedJudge())
    with pytest.raises(StoreConflict, match="begin again"):
        again(town, "slow", judging=busy).work.return_(FOR_BOOKING, cycle="r1")
    assert presence(town) == (Presence.RETURNING, "r1")
    assert isinstance(town.work.return_(FOR_BOOKING, cycle="r1"), Sealed)


# -- repeated ------------------------------------------------------------------------------------


def test_a_cycle_is_decided_once_and_given_again(town: Town) -> None:
    ended = sealed(town)
    town.says("n", "more")
    head = town.work.store.head()
    assert again(town, "x").work.return_(FOR_BOOKING, cycle="r1") == ended
    assert town.work.store.head() == head
    assert presence(town) == (Presence.ADMITTED, "r1")


def test_a_blocked_cycle_is_given_again_and_another_one_may_succeed(store: InMemoryStore) -> None:
    town = Town(store)
    town.before()
    town.work.depart(HER)
    town.meanwhile()
    first = town.work.return_(FOR_BOOKING, cycle="r1")
    assert isinstance(first, Blocked)
    town.confirms()
    assert town.work.return_(FOR_BOOKING, cycle="r1") == first
    with pytest.raises(InvalidValue, match="was admitted"):
        town.work.view("r1", FOR_BOOKING)
    assert isinstance(town.work.return_(FOR_BOOKING, cycle="r2"), Sealed)


def test_a_decision_is_not_taken_again_under_another_policy(town: Town) -> None:
    ended = sealed(town)
    other = again(town, "x", policy=replace(STRICT, lifetime_us=5))
    with pytest.raises(InvalidValue, match=r"^policy is "):
        other.work.return_(FOR_BOOKING, cycle="r1")
    assert other.work.view("r1", FOR_BOOKING) == ended.view


def test_a_cycle_belongs_to_one_return(town: Town) -> None:
    sealed(town)
    with pytest.raises(InvalidValue, match="another return"):
        town.work.return_(replace(FOR_BOOKING, purpose="other"), cycle="r1")


def test_a_reset_lets_her_work_with_nothing_inherited(store: InMemoryStore) -> None:
    town = Town(store, policy=replace(STRICT, when_incomplete=Incomplete.RESET))
    town.before()
    town.work.depart(HER)
    town.meanwhile()
    ended = town.work.return_(FOR_BOOKING, cycle="r1")
    assert isinstance(ended, Blocked)
    assert presence(town) == (Presence.ADMITTED, "r1")
    with pytest.raises(InvalidValue):
        town.work.view("r1", FOR_BOOKING)
    town.work.depart(HER)


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({"role": "driver"}, {}, "depart first"),
        ({"purpose": None}, {}, r"^identity.purpose is None"),
        ({"principal": None}, {}, r"^identity.principal is None"),
        ({"tenant": "other"}, {}, r"^identity.tenant is 'other'"),
        ({}, {"workload": "x" * 5_000}, r"^workload is '5000 characters'"),
        ({}, {"cycle": ""}, r"^cycle is ''"),
    ],
)
def test_a_return_that_cannot_be_decided_is_refused_and_changes_nothing(
    town: Town, fields: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    head = town.work.store.head()
    with pytest.raises(InvalidValue, match=message):
        town.work.return_(replace(FOR_BOOKING, **fields), **options)
    assert town.work.store.head() == head


def test_who_is_here_does_not_return_and_is_not_scanned_for(town: Town) -> None:
    sealed(town)
    with pytest.raises(InvalidValue, match="it is here"):
        town.work.scan(HER)
    with pytest.raises(IllegalChange):
        town.work.return_(FOR_BOOKING, cycle="r2")


# -- what answers ------------------------------------------------------------------------------


def test_an_allowance_leaves_questions_and_a_scan_goes_on_until_none_is_left(town: Town) -> None:
    poor = Allowance(pairs=1)
    ended = town.work.return_(FOR_BOOKING, cycle="r1", allowance=poor)
    assert isinstance(ended, Blocked)
    story = town.work.explain("r1")
    assert isinstance(story, CycleStory)
    assert (story.spent.asked, story.spent.left > 0) == (1, True)
    assert story.left_out["c"].reasons == (Reason.UNANSWERED,)
    other = again(town, "x")
    rounds = 0
    while (looked := other.work.scan(HER, allowance=poor)) is not None and looked.left:
        rounds += 1
    assert rounds > 1
    assert isinstance(town.work.return_(FOR_BOOKING, cycle="r2"), Sealed)
    second = town.work.explain("r2")
    assert isinstance(second, CycleStory)
    assert second.spent.asked == 0


def test_a_verifier_that_fails_leaves_items_out_and_the_decision_can_be_given_again(
    town: Town,
) -> None:
    failing = again(town, "x", judging=Judging((AllPairs(),), ScriptedJudge({}, otherwise=None)))
    ended = failing.work.return_(FOR_BOOKING, cycle="r1")
    assert isinstance(ended, Blocked)
    assert Failure.INSUFFICIENT_COVERAGE in ended.failures
    story = town.work.explain("r1")
    assert isinstance(story, CycleStory)
    assert story.left_out["c"].reasons == (Reason.VERIFIER_RAISED,)
    assert town.work.return_(FOR_BOOKING, cycle="r1") == ended


def test_without_anybody_who_looks_what_was_followed_is_left_out(town: Town) -> None:
    ended = again(town, "x", judging=None).work.return_(FOR_BOOKING, cycle="r1")
    assert isinstance(ended, Blocked)
    assert town.work.scan(HER) is not None
    assert again(town, "y", judging=None).work.scan(HER) is None
    story = town.work.explain("r1")
    assert isinstance(story, CycleStory)
    assert story.left_out["c"].reasons == (Reason.UNSCANNED,)
    assert town.work.return_(FOR_BOOKING, cycle="r1") == ended


# -- other engines -------------------------------------------------------------------------------

TABLE = Source.table("https://api.example", "rooms")


def moved(town: Town, kind: ChangeKind, version: str) -> None:
    """A service moves its table, or says that what rests on it holds all the same."""
    at = town.clock.now()
    draft = Draft(kind=kind, at=at, reason="diff", actor="contract", source=TABLE, version=version)
    town.work.store.append(seal([draft], town.work.store.head()), after=town.work.store.head())


def test_what_rests_on_a_row_that_moved_fails_the_temporal_gate(store: InMemoryStore) -> None:
    town = Town(store)
    row = Stamp(Source.row(TABLE.issuer, TABLE.name, "7"), "1", within="v1")
    town.says("a", supports=["d"], stamps=[row])
    town.owes("o", "d")
    town.work.depart(HER)
    assert sealed(town).view.items[2].id == "a"

    moved(town, ChangeKind.OBSERVED, "v2")
    assert town.work.view("r1", FOR_BOOKING) == Refused((Refusal.ITEM_LAPSED,))
    assert town.work.status().suspended == ("a",)
    town.work.depart(HER)
    ended = town.work.return_(FOR_BOOKING, cycle="r2")
    assert isinstance(ended, Blocked)
    story = town.work.explain("r2")
    assert isinstance(story, CycleStory)
    assert story.left_out["a"] == LeftOut((Reason.SUSPENDED,), "")
    with pytest.raises(InvalidValue, match="source"):
        town.work.restore("a", by="A2", observer="booking-desk")

    moved(town, ChangeKind.ADVANCED, "v2")
    assert isinstance(town.work.return_(FOR_BOOKING, cycle="r3"), Sealed)


def test_what_happened_since_is_no_part_of_what_she_left_with(town: Town) -> None:
    town.work.dispute("c", by="A3")
    town.clock.advance(seconds=1)
    back = town.work.restore("c", by="A3", observer="booking-desk")
    assert len(back.receipts) == 2
    before = town.work.status().epoch
    assert sealed(town).view.returning.epoch == before
    town.work.dispute("c", by="A3")
    town.work.close("o_h", by="A2")
    town.work.depart(HER)
    town.clock.advance(seconds=1)
    town.work.restore("c", by="A3", observer="booking-desk")
    sealed(town, "r2")


def test_what_a_recheck_contradicts_fails_with_both_reasons(town: Town) -> None:
    at = town.clock.advance(seconds=1)
    receipt = Receipt(
        observer="booking-desk",
        source=Source.probe("http", "desk"),
        at=at,
        digest="",
        outcome=Outcome.CONTRADICTS,
    )
    for kind, said in (
        (ChangeKind.WITNESSED, receipt.as_json()),
        (ChangeKind.SUSPENDED, {"by": "recheck"}),
    ):
        part = Part.of("h1", said, salt="s")
        draft = Draft(kind=kind, at=at, reason="recheck", actor="upkeep", parts=(part,))
        head = town.work.store.head()
        town.work.store.append(seal([draft], head), after=head)
    ended = town.work.return_(FOR_BOOKING, cycle="r1")
    assert isinstance(ended, Blocked)
    story = town.work.explain("r1")
    assert isinstance(story, CycleStory)
    assert story.left_out["h1"].reasons == (Reason.SUSPENDED, Reason.CONTRADICTED)
    town.clock.advance(seconds=1)
    town.work.restore("h1", by="A2", observer="booking-desk")
    assert isinstance(town.work.return_(FOR_BOOKING, cycle="r2"), Sealed)


# -- views ---------------------------------------------------------------------------------------


def test_a_view_ends_with_its_time_and_is_refused_when_the_clock_was_set_back(town: Town) -> None:
    sealed(town)
    at = town.clock.now()
    town.clock.jump(at - 1)
    found = town.work.view("r1", FOR_BOOKING)
    assert isinstance(found, Refused)
    assert Refusal.NOT_YET_ISSUED in found.reasons
    town.clock.jump(at + STRICT.lifetime_us)
    assert town.work.view("r1", FOR_BOOKING) == Refused((Refusal.VIEW_EXPIRED,))


def test_who_left_again_is_not_shown_the_old_view(town: Town) -> None:
    sealed(town)
    town.work.depart(HER)
    for read in (town.work.view, town.work.brief, town.work.signed_view, town.work.experience):
        assert read("r1", FOR_BOOKING) == Refused((Refusal.CYCLE_MISMATCH,))
    sealed(town, "r2")
    assert town.work.view("r1", FOR_BOOKING) == Refused((Refusal.CYCLE_MISMATCH,))


def test_a_view_outlives_the_key_that_signed_it_as_long_as_that_is_known(town: Town) -> None:
    ended = sealed(town)
    new = b"a newer key of at least 32 bytes."
    both = HmacKeys({"new": new, "test": b"a key for tests, of 32 bytes..: "}, sign_with="new")
    rotated = opened(town, both)
    assert rotated.view("r1", FOR_BOOKING) == ended.view
    assert rotated.return_(FOR_BOOKING, cycle="r1") == ended
    alone = opened(town, HmacKeys({"new": new}, sign_with="new"))
    assert alone.view("r1", FOR_BOOKING) == Refused((Refusal.SIGNATURE_INVALID,))


def opened(town: Town, keys: HmacKeys) -> Workspace:
    """The same workspace with other keys."""
    store = town.work.store
    ids = SequenceIds("k")
    return Workspace(
        store, clock=town.clock, ids=ids, policy=STRICT, signer=keys, verifier=keys, judging=None
    )


@pytest.mark.parametrize(
    "altered",
    [
        {"shown": ["c", "h1", "h0"]},
        {"shown": ["c"]},
        {"checkpoint": "0" * 64},
        {"sealing": [10**15, "test", "00" * 32]},
    ],
)
def test_a_stored_view_that_was_altered_is_refused(town: Town, altered: dict[str, Any]) -> None:
    sealed(town)
    (kept,) = forms(town, "cycle")
    content = {**kept.content, **altered, "cycle": "forged"}
    slot = kept.slot.replace("r1", "forged")
    write(town, replace(kept, id="forged", slot=slot, content=content))
    found = town.work.view("forged", FOR_BOOKING)
    assert isinstance(found, Refused)
    assert Refusal.SIGNATURE_INVALID in found.reasons


def test_a_view_without_a_canonical_form_is_refused(town: Town) -> None:
    sealed(town)
    (kept,) = forms(town, "cycle")
    content = {**kept.content, "sealing": [10**18, "test", "00" * 32]}
    write(town, replace(kept, id="twice", content=content))
    assert town.work.view("r1", FOR_BOOKING) == Refused((Refusal.MALFORMED,))


def test_a_decision_that_cannot_be_read_is_not_believed(town: Town) -> None:
    sealed(town)
    (kept,) = forms(town, "cycle")
    slot = kept.slot.replace("r1", "broken")
    write(town, replace(kept, id="x", slot=slot, content={"form": "cycle", "cycle": "broken"}))
    with pytest.raises(InvalidValue):
        town.work.view("broken", FOR_BOOKING)


@pytest.mark.parametrize(
    "altered", [{"after": [3, "0" * 64]}, {"after": [0, "0" * 64]}, {"digest": "0" * 64}]
)
def test_a_departure_that_was_altered_is_not_believed(town: Town, altered: dict[str, Any]) -> None:
    (kept,) = forms(town, "departure")
    content = {**kept.content, **altered}
    write(town, replace(kept, id="forged", content=content))
    with pytest.raises(LedgerNotTrusted):
        town.work.return_(FOR_BOOKING, cycle="r1")


def forms(town: Town, form: str) -> list[Record]:
    """The records of a form."""
    return [one for one in town.work.store.state().records() if one.content.get("form") == form]


def write(town: Town, record: Record) -> None:
    """Write a record past the workspace."""
    state = town.work.store.state()
    drafts = writing(state, record, at=town.clock.now(), reason="x", actor="x", salt="x")
    town.work.store.append(seal(drafts, state.head), after=state.head)


def test_a_repeated_return_does_not_give_what_nobody_signed(town: Town) -> None:
    sealed(town)
    (kept,) = forms(town, "cycle")
    content = {**kept.content, "cycle": "forged"}
    write(town, replace(kept, id="forged", slot=kept.slot.replace("r1", "forged"), content=content))
    with pytest.raises(InvalidValue, match="purged"):  # another checkpoint than that cycle's own
        town.work.return_(FOR_BOOKING, cycle="forged")
    content = {**kept.content, "sealing": [kept.content["sealing"][0], "test", "00" * 32]}
    write(town, replace(kept, id="twice", content=content))
    with pytest.raises(LedgerNotTrusted):
        town.work.return_(FOR_BOOKING, cycle="r1")


@pytest.mark.parametrize("form", ["work", "member"])
def test_what_cannot_be_read_stops_everything_until_it_is_ended(town: Town, form: str) -> None:
    record = Record(id="x", kind=Kind.FACT, slot="x", content={"form": form}, valid=Interval(0))
    write(town, record)
    other = again(town, "y")
    for deed in (town.work.status, lambda: sealed(other), lambda: town.says("n")):
        with pytest.raises(StoreCorrupt, match="record x cannot be read"):
            deed()
    part = Part.of("x", {"by": ""}, salt="s")
    revoked = ChangeKind.REVOKED
    draft = Draft(kind=revoked, at=town.clock.now(), reason="broken", actor="x", parts=(part,))
    head = town.work.store.head()
    town.work.store.append(seal([draft], head), after=head)
    assert sealed(town)


def test_a_notice_that_cannot_be_read_tells_nothing(town: Town) -> None:
    content = {"form": "notice", "items": ["c"]}
    write(town, Record(id="x", kind=Kind.FACT, slot="x", content=content, valid=Interval(0)))
    story = town.work.explain("c")
    assert isinstance(story, ItemStory)
    assert story.notices == ()


def test_an_experience_that_was_slipped_in_stays_withheld(town: Town) -> None:
    town.says("n", "The weather is fine")
    own: dict[str, Any] = {"kind": Kind.EXPERIENCE, "rests_on": ["n"], "scope": Scope()}
    town.says("e_n", by="A1", **own)
    others: dict[str, Any] = {**own, "rests_on": ["c"]}
    town.says("e_other", by="A7", **others)
    assert [one.id for one in sealed(town).experience] == ["e_c"]
    (kept,) = forms(town, "cycle")
    content = {**kept.content, "experience": ["e_c", "e_n", "e_other", "e_h0", "c"]}
    write(town, replace(kept, id="twice", content=content))
    experience = town.work.experience("r1", FOR_BOOKING)
    assert isinstance(experience, tuple)
    assert [one.id for one in experience] == ["e_c"]


# -- purging -------------------------------------------------------------------------------------


def test_what_is_purged_is_in_no_view_no_departure_and_no_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    store = SqliteStore(path, ids=SequenceIds("ledger"))
    town = Town(store, clock=ManualClock(1_000))
    town.before()
    town.says("secret", "the guest is called Ypsilanti", supports=("d_x",))
    town.owes("x", "d_x")
    town.work.depart(HER)
    roomy = replace(STRICT, budget=replace(STRICT.budget, items=20))
    town = Town(store, "x", clock=town.clock, policy=roomy)
    ended = town.work.return_(FOR_BOOKING, cycle="r1")
    assert isinstance(ended, Sealed)
    assert "secret" in {item.id for item in ended.view.items}
    assert town.work.purge("secret", by="A2") == ("secret",)

    assert town.work.view("r1", FOR_BOOKING) == Refused((Refusal.ITEM_LAPSED,))
    with pytest.raises(InvalidValue, match="purged"):
        town.work.return_(FOR_BOOKING, cycle="r1")
    story = town.work.explain("r1")
    assert isinstance(story, CycleStory)
    assert "secret" in story.shown
    with pytest.raises(UnknownRecord):
        town.work.explain("secret")
    town.work.depart(HER)
    second = town.work.return_(FOR_BOOKING, cycle="r2")
    assert isinstance(second, Blocked)
    assert [one.dependency for one in second.missing] == ["d_x"]
    for file in tmp_path.iterdir():
        assert b"Ypsilanti" not in file.read_bytes()


def test_a_purge_takes_the_rulings_along_and_knows_its_own_items_only(town: Town) -> None:
    town.work.scan(HER)
    about = [one.id for one in forms(town, "ruling") if "p1" in one.content["pair"]]
    assert about
    head = town.work.store.head().seq
    assert town.work.purge("p1", by="A2", reason="erasure") == ("p1", *about)
    assert town.work.store.head().seq == head + 1
    assert [one for one in forms(town, "ruling") if "p1" in one.content["pair"]] == []
    for name in ("p1", about[0], "nothing"):
        with pytest.raises(UnknownRecord):
            town.work.purge(name, by="A2")
    with pytest.raises(UnknownRecord):
        again(town, "x", tenant="other").work.purge("c", by="A2")


def test_a_return_after_a_purge_starts_from_what_is_left(town: Town) -> None:
    store = town.work.store
    Memory(store, clock=town.clock, ids=SequenceIds("m")).purge(["e_c"])
    ended = sealed(town)
    assert ended.experience == ()


# -- what is told --------------------------------------------------------------------------------


def test_what_was_not_needed_is_told_too(town: Town) -> None:
    town.says("n", "The weather is fine")
    sealed(town)
    story = town.work.explain("r1")
    assert isinstance(story, CycleStory)
    assert story.outcome is None
    assert story.left_out["n"].reasons == (Reason.NOT_NEEDED,)
    assert story.left_out["e_p0"].reasons == (Reason.DEPENDENCY_LAPSED, Reason.SOURCE_NOT_SHOWN)
    assert story.experience == ("e_c",)
    assert (story.missing, story.failures, story.unknown) == ((), (), ())


def test_what_nobody_knows_is_not_explained(town: Town) -> None:
    with pytest.raises(UnknownRecord, match="no item and no ended return"):
        town.work.explain("nothing")


def test_the_status_says_who_is_where_and_what_is_open(town: Town) -> None:
    town.work.dispute("c", by="A3")
    status = town.work.status()
    assert status.tenant is None
    assert status.epoch == 15
    assert [(one.identity, one.presence) for one in status.members] == [(HER, Presence.ABSENT)]
    assert [(one.name, one.required) for one in status.obligations] == [
        ("h", {"d_h", "d_c"}),
        ("t", {"d_t", "d_p", "d_c"}),
    ]
    assert status.disputed == ("c",)
    assert status.suspended == ("e_c", "e_h0")
    assert {name.value: number for name, number in status.items.items()} == {
        "active": 10,
        "suspended": 2,
        "superseded": 1,
        "disputed": 1,
    }
