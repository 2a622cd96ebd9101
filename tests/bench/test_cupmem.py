"""CUPMem's write path, step by step, with scripted answers; and what a stand-in makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from lapse.admission import Verdict
from lapse.errors import LapseError, NoVerdict
from lapse.runtime import Cost
from lapse_bench.returns.cupmem import CupMem, State, consolidated
from lapse_bench.returns.cupmem_stand_in import (
    ClaimSteps,
    affected_by,
    bucket_of,
    cupmem_stand_in,
)
from lapse_bench.returns.cupmem_steps import (
    BUCKETS,
    Chunk,
    ChunkKind,
    Delta,
    DeltaKind,
    Entry,
    Lane,
    Proposed,
    Ruled,
    Ruling,
    Update,
    Updated,
)
from lapse_bench.returns.episodes import UNLIMITED, Budget, Claim, ReturnEpisode
from lapse_bench.returns.stale_returns import own_episodes, probe, truth_of
from lapse_bench.returns.stand_in import StandIn

if TYPE_CHECKING:
    from lapse.admission import Question

ONE = Cost(calls=1, prompt=10, completion=2)
HOME, WORK = "location_and_living", "work_and_schedule"


def claim(name: str, at: int, value: str = "v", **more: Any) -> Claim:
    made = Claim(id=name, at=at, entity=f"about {name}", attribute="is", value=value)
    return replace(made, **more)


@dataclass
class Script:
    """Answers that are written down; whatever is not is the plainest."""

    kinds: dict[str, ChunkKind] = field(default_factory=dict[str, ChunkKind])
    buckets: dict[str, str] = field(default_factory=dict[str, str])
    unsure: dict[str, tuple[DeltaKind, float, float]] = field(
        default_factory=dict[str, tuple[DeltaKind, float, float]]
    )
    updates: dict[str, Updated] = field(default_factory=dict[str, Updated])
    bridges: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    proposals: dict[tuple[str, Lane], tuple[str, ...]] = field(
        default_factory=dict[tuple[str, Lane], tuple[str, ...]]
    )
    rulings: dict[tuple[str, str], Ruled] = field(default_factory=dict[tuple[str, str], Ruled])
    sure: dict[str, float] = field(default_factory=dict[str, float])
    shown: dict[tuple[str, Lane], tuple[str, ...]] = field(
        default_factory=dict[tuple[str, Lane], tuple[str, ...]]
    )
    judged: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def chunk(self, session: Sequence[Claim]) -> tuple[Sequence[Chunk], Cost]:
        plain = ChunkKind.EXPLICIT_STATE
        return [Chunk(self.kinds.get(one.id, plain), (one,)) for one in session], ONE

    def extract(self, chunk: Chunk) -> tuple[Sequence[Delta], Cost]:
        sure = (DeltaKind.OBSERVED, 1.0, 1.0)
        return [
            Delta(
                claim=one,
                bucket=self.buckets.get(one.id, HOME),
                track="t",
                kind=self.unsure.get(one.id, sure)[0],
                salience=self.unsure.get(one.id, sure)[1],
                confidence=self.unsure.get(one.id, sure)[2],
            )
            for one in chunk.claims
        ], ONE

    def update(self, delta: Delta, bucket: Sequence[Entry]) -> tuple[Updated, Cost]:
        del bucket
        return self.updates.get(delta.claim.id, Updated(Update.ADD)), ONE

    def bridge(self, delta: Delta) -> tuple[Sequence[str], Cost]:
        return self.bridges.get(delta.claim.id, ()), ONE

    def propose(
        self, lane: Lane, delta: Delta, candidates: Sequence[Entry]
    ) -> tuple[Sequence[Proposed], Cost]:
        self.shown[delta.claim.id, lane] = tuple(one.id for one in candidates)
        names = self.proposals.get((delta.claim.id, lane), ())
        return [Proposed(name, self.sure.get(name, 0.5)) for name in names], ONE

    def judge(self, delta: Delta, entry: Entry) -> tuple[Ruled, Cost]:
        self.judged.append((delta.claim.id, entry.id))
        return self.rulings.get((delta.claim.id, entry.id), Ruled(Ruling.NO_OP)), ONE


def kept(state: State) -> list[str]:
    return list(state.current)


def proposing(by: str, *names: str) -> dict[tuple[str, Lane], tuple[str, ...]]:
    return {(by, Lane.GLOBAL_RECALL): names}


def test_noise_and_what_is_past_are_not_read_on_and_a_session_has_two_chunks() -> None:
    session = [claim(name, 1) for name in ("noise", "past", "third")]
    script = Script(kinds={"noise": ChunkKind.TASK_NOISE, "past": ChunkKind.PAST_FUTURE})
    state = consolidated(session, script)
    assert kept(state) == []
    assert state.calls == {"chunk": 1}
    assert kept(consolidated(session[1:], Script())) == ["past", "third"]


def test_what_is_inferred_has_to_be_surer_than_what_was_said() -> None:
    said = {
        "said": (DeltaKind.OBSERVED, 0.3, 0.45),
        "doubtful": (DeltaKind.OBSERVED, 0.3, 0.44),
        "inferred": (DeltaKind.INFERRED, 0.3, 0.6),
        "guessed": (DeltaKind.INFERRED, 0.3, 0.59),
        "idle": (DeltaKind.OBSERVED, 0.29, 1.0),
    }
    claims = [claim(name, place) for place, name in enumerate(said)]
    assert kept(consolidated(claims, Script(unsure=said))) == ["said", "inferred"]


def test_an_update_replaces_empties_or_leaves_its_own_slot() -> None:
    old, new = claim("old", 1), claim("new", 2)

    def after(update: Update) -> State:
        return consolidated([old, new], Script(updates={"new": Updated(update, "old")}))

    for update in (Update.REPLACE, Update.REFINE):
        assert kept(after(update)) == ["new"]
        archived = after(update).archive["old"]
        assert (archived.support, archived.successor) == ("new", "new")
    assert kept(after(Update.NO_OP)) == ["old"]
    assert kept(after(Update.ADD)) == ["old", "new"]
    emptied = after(Update.INDIRECT_INVALIDATE)
    assert kept(emptied) == ["new"]
    assert (emptied.archive["old"].successor, emptied.unknown) == ("", {old.slot: "new"})


def test_a_withdrawal_takes_down_and_states_nothing() -> None:
    gone = claim("gone", 2, "", does="withdraw")
    script = Script(updates={"gone": Updated(Update.REPLACE, "old")})
    state = consolidated([claim("old", 1), gone], script)
    assert kept(state) == []
    assert state.archive["old"].successor == ""


def test_an_older_source_takes_nothing_down_that_is_newer() -> None:
    script = Script(
        updates={"old": Updated(Update.REPLACE, "new")},
        proposals=proposing("old", "new"),
        rulings={("old", "new"): Ruled(Ruling.INDIRECT_INVALIDATE)},
    )
    late = [claim("new", 5), claim("old", 1)]
    assert kept(consolidated(late, script)) == ["new"]
    assert script.judged == []


def test_lanes_show_what_they_are_for_and_two_of_their_proposals_are_judged() -> None:
    places = {"a": HOME, "b": WORK, "c": BUCKETS[2], "x": HOME}
    claims = [*(claim(name, place) for place, name in enumerate("abc")), claim("x", 9)]
    script = Script(
        buckets=places,
        bridges={"x": (WORK, HOME)},
        proposals={
            ("x", Lane.DIRECT_BUCKET): ("c", "a"),
            ("x", Lane.AFFECTED_BUCKET): ("b",),
            ("x", Lane.GLOBAL_RECALL): ("nobody", "c", "b"),
        },
        sure={"a": 0.4, "b": 0.6},
    )
    state = consolidated(claims, script)
    assert script.shown["x", Lane.DIRECT_BUCKET] == ("a", "c")
    assert script.shown["x", Lane.AFFECTED_BUCKET] == ("b",)
    assert set(script.shown["x", Lane.GLOBAL_RECALL]) == set("abc")
    judged = [name for by, name in script.judged if by == "x"]
    assert judged == ["b", "c"]
    assert state.calls["judge"] == len(script.judged)


def test_the_lane_that_looks_everywhere_shows_the_four_nearest_by_words() -> None:
    texts = ["the red boat", "a blue car", "the red car", "green tea", "red", "a boat"]
    claims = [claim(f"c{place}", place, text=text) for place, text in enumerate(texts)]
    script = Script(buckets={f"c{place}": WORK for place in range(6)})
    consolidated([*claims, claim("x", 9, text="my red boat")], script)
    assert script.shown["x", Lane.GLOBAL_RECALL] == ("c0", "c5", "c4", "c2")


def test_a_ruling_archives_challenges_or_empties() -> None:
    old, new = claim("old", 1), claim("new", 2)

    def after(ruled: Ruled) -> State:
        script = Script(proposals=proposing("new", "old"), rulings={("new", "old"): ruled})
        return consolidated([old, new], script)

    gone = after(Ruled(Ruling.INDIRECT_INVALIDATE))
    assert (kept(gone), gone.unknown) == (["new"], {})
    assert gone.archive["old"].support == "new"
    unknown = after(Ruled(Ruling.SET_UNKNOWN_CURRENT))
    assert (kept(unknown), unknown.unknown) == (["new"], {old.slot: "new"})
    for weak in (Ruled(Ruling.WEAK_CHALLENGE), Ruled(Ruling.INDIRECT_INVALIDATE, 0.54)):
        assert kept(after(weak)) == ["old", "new"]
        assert after(weak).challenged == {"old": ["new"]}
    assert after(Ruled(Ruling.NO_OP)).challenged == {}


def test_within_a_session_the_strongest_ruling_counts_and_what_it_states_stands() -> None:
    old, one, two = claim("old", 1), claim("one", 2), claim("two", 2)
    script = Script(
        proposals={**proposing("one", "old"), **proposing("two", "old")},
        rulings={
            ("one", "old"): Ruled(Ruling.INDIRECT_INVALIDATE),
            ("two", "old"): Ruled(Ruling.WEAK_CHALLENGE),
        },
    )
    state = consolidated([old, one, two], script)
    assert state.archive["old"].support == "one"
    assert set(script.judged) == {("one", "old"), ("two", "old")}


def test_an_unknown_slot_is_known_again_when_something_states_it() -> None:
    old, new = claim("old", 1), claim("new", 2)
    again = replace(old, id="again", at=3, value="w")
    script = Script(
        proposals=proposing("new", "old"),
        rulings={("new", "old"): Ruled(Ruling.SET_UNKNOWN_CURRENT)},
    )
    assert consolidated([old, new], script).unknown == {old.slot: "new"}
    state = consolidated([old, new, again], script)
    assert (kept(state), state.unknown) == (["new", "again"], {})


def episode(*claims: Claim, departed: int = 1) -> ReturnEpisode:
    bank = tuple(one for one in claims if one.at <= departed)
    log = tuple(one for one in claims if one.at > departed)
    return ReturnEpisode(
        id="e", workload="w", departed=departed, returned=99, bank=bank, log=log, store=frozenset()
    )


def test_the_method_shows_what_is_current_and_counts_what_it_asked() -> None:
    claims = [claim("old", 1), claim("new", 2)]
    script = Script(updates={"new": Updated(Update.REPLACE, "old")})
    said = CupMem(script).admit(episode(*claims), UNLIMITED)
    assert said.items == frozenset({"new"})
    # Two sessions of one chunk and one delta each; nothing is left to propose.
    assert (said.calls, said.tokens) == (8, 8 * 12)
    both = CupMem(Script()).admit(episode(*claims), Budget(items=1))
    assert both.items == frozenset({"new"})


def test_a_step_that_fails_fails_the_return() -> None:
    class Down(Script):
        def judge(self, delta: Delta, entry: Entry) -> tuple[Ruled, Cost]:
            raise NoVerdict(f"{delta.claim.id}, {entry.id}")

    script = Down(proposals=proposing("new", "old"))
    with pytest.raises(LapseError):
        CupMem(script).admit(episode(claim("old", 1), claim("new", 2)), UNLIMITED)


def test_a_stand_in_decides_updates_by_slots_and_links() -> None:
    first = claim("first", 1, "tea")
    same = replace(first, id="same", at=2)
    other = replace(first, id="other", at=3, value="coffee")
    linked = claim("linked", 4, supersedes=("other",))
    gone = replace(linked, id="gone", at=5, does="withdraw", value="", supersedes=())
    steps = cupmem_stand_in(standing).steps
    for claims, expected in (
        ((first, same), ["first"]),
        ((first, other), ["other"]),
        ((first, other, linked), ["linked"]),
        ((first, other, linked, gone), []),
    ):
        assert kept(consolidated(claims, steps)) == expected


def standing(_question: Question) -> Verdict:
    return Verdict.STANDS


def test_buckets_go_by_words_and_the_last_one_takes_the_rest() -> None:
    assert bucket_of(claim("a", 1, text="I moved to an apartment")) == HOME
    assert bucket_of(claim("b", 1, text="Quarterly numbers")) == BUCKETS[-1]


def test_what_a_bridge_does_not_name_is_missed_and_what_it_names_is_found() -> None:
    some = [one for one in own_episodes() if one.stratum == "early" and one.wording == "plain"][:4]
    truth = truth_of(some)
    bridge = affected_by([one.episode for one in some], truth)
    found = [probe(cupmem_stand_in(truth, affects=bridge), one) for one in some]
    assert all(seen.probes.resolved and seen.probes.adapted for seen in found)
    assert all(seen.left_out == 0 for seen in found)
    blind = [probe(cupmem_stand_in(truth), one) for one in some]
    assert not all(seen.probes.resolved for seen in blind)
    assert min(seen.calls for seen in found) > 300


def test_a_judge_that_cannot_tell_challenges_the_latest() -> None:
    def unsure(_question: Question) -> Verdict:
        return Verdict.UNSURE

    steps = ClaimSteps(StandIn(unsure))
    claims = [claim(f"c{place}", place) for place in range(5)]
    state = consolidated([*claims, claim("x", 9)], steps)
    assert len(state.current) == 6
    assert {name for name, by in state.challenged.items() if "x" in by} == {"c3", "c4"}
