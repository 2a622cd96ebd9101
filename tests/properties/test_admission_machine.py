"""A workspace that is written, ended, disputed, resolved and restored in any order, and a return.

After every step somebody returns who left before all of it, and the laws hold for what is admitted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lapse.admission import (
    RANKS,
    Captured,
    Checkpoint,
    Decision,
    Eligible,
    Ending,
    Epochs,
    Policy,
    Reason,
    WorkItem,
    premise_cycle,
    settlement,
)
from lapse.errors import InvalidValue
from lapse.ledger import (
    ChangeKind,
    Draft,
    Interval,
    Part,
    Source,
    Stamp,
    Status,
    fold,
    genesis,
)
from lapse.testing.workspace import (
    OBSERVER,
    WrittenWorkspace,
    leaving,
    resting_on,
    returning,
    statement,
)

POLICY = Policy(observers=frozenset({OBSERVER}), unsafe_without_inference=True)
SLOTS = ("hotel", "train", "pickup")
WRITERS = ("A2", "A3")
VALUES = ("one", "two")
HELD = (Status.SUSPENDED, Status.DISPUTED)


class Written(RuleBasedStateMachine):
    """The workspace, its revision, and who is asked about it."""

    def __init__(self) -> None:
        super().__init__()
        self.here = WrittenWorkspace()
        self.epoch = 0
        self.known: tuple[object, Eligible] | None = None

    # -- what happens ------------------------------------------------------------------------

    @rule(data=st.data())
    def say(self, data: st.DataObject) -> None:
        """Somebody states a slot, and may rest on an item or take another slot for granted."""
        self._pass()
        slot = data.draw(st.sampled_from(SLOTS), label="slot")
        live = [item for item in self.here.items() if item.status is Status.ACTIVE]
        below = data.draw(st.lists(st.sampled_from(live), max_size=1), label="on") if live else []
        over = data.draw(st.lists(st.sampled_from(live), max_size=1), label="over") if live else []
        assumed = data.draw(st.none() | st.sampled_from(SLOTS), label="assumed")
        stamps = resting_on(*below)
        if assumed not in (None, slot):
            worth = data.draw(st.sampled_from([*VALUES, None]), label="worth")
            stamps += (Stamp(Source.premise("", str(assumed)), worth),)
        fields: dict[str, Any] = {
            "slot": slot,
            "writer": data.draw(st.sampled_from(WRITERS), label="writer"),
            "authority": data.draw(st.sampled_from(["agent", "agent", "user"]), label="authority"),
            "value": data.draw(st.sampled_from(VALUES), label="value"),
            "stamps": stamps,
            "replaces": tuple(item.id for item in over),
        }
        name = f"i{self.epoch}"
        item = statement(name, epoch=self.epoch, rests_on=tuple(below), **fields)
        if premise_cycle(self.here.state, item):
            with pytest.raises(InvalidValue, match=f"stamps is '{name} > "):
                self.here.put(item)
        else:
            self.here.put(item)

    @precondition(lambda self: self._named(Status.ACTIVE, *HELD))
    @rule(data=st.data(), ending=st.sampled_from([e for e in Ending if e is not Ending.DISPUTED]))
    def end(self, data: st.DataObject, ending: Ending) -> None:
        """An item ends for good."""
        self._pass()
        self.here.end(ending, data.draw(st.sampled_from(self._named(Status.ACTIVE, *HELD))))

    @precondition(lambda self: self._named(Status.ACTIVE, Status.SUSPENDED))
    @rule(data=st.data())
    def dispute(self, data: st.DataObject) -> None:
        """Somebody disputes an item."""
        self._pass()
        names = self._named(Status.ACTIVE, Status.SUSPENDED)
        self.here.end(Ending.DISPUTED, data.draw(st.sampled_from(names)))

    @precondition(lambda self: self._named(Status.ACTIVE))
    @rule(data=st.data())
    def hold(self, data: st.DataObject) -> None:
        """Another engine holds an item until somebody rechecks it."""
        self._pass()
        part = Part.of(data.draw(st.sampled_from(self._named(Status.ACTIVE))), {}, salt="h")
        kind = ChangeKind.SUSPENDED
        why = "recheck_due"
        self.here.carry_out(
            [Draft(kind=kind, at=self.epoch, reason=why, actor="upkeep", parts=(part,))]
        )

    @precondition(lambda self: self._named(*HELD))
    @rule(data=st.data())
    def lift(self, data: st.DataObject) -> None:
        """A receipt lifts what is held."""
        self._pass()
        self.here.lift(data.draw(st.sampled_from(self._named(*HELD))))

    @precondition(lambda self: self._named(Status.REVOKED, Status.EVICTED))
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """An item that ended is said again."""
        self._pass()
        name = data.draw(st.sampled_from(self._named(Status.REVOKED, Status.EVICTED)))
        self._say_again(name)

    @precondition(lambda self: self.returned().disputes)
    @rule(data=st.data())
    def resolve(self, data: st.DataObject) -> None:
        """Ada decides a dispute; whoever wins stands, if its own premises let it."""
        self._pass()
        dispute = data.draw(st.sampled_from(self.returned().disputes), label="dispute")
        by_id = {item.id: item for item in self.here.items()}
        sides = [by_id[name] for name in dispute.sides]
        live = [side.id for side in sides if side.status in (Status.ACTIVE, *HELD)]
        ground = Decision("Ada")
        winner = data.draw(st.sampled_from(live), label="winner")
        name = f"i{self.epoch}"
        at = self.epoch
        item = settlement(sides, winner, ground, RANKS, item_id=name, epoch=at, at=at)
        self.here.resolve(item, ground)
        found = self.returned()
        assert dispute.slot not in {one.slot for one in found.disputes}
        reasons = {j.item.id: j.reasons for j in found.judgements}
        assert not set(reasons[name]) & {Reason.CONTESTED, Reason.SUPERSEDED, Reason.DISPUTED}
        assert not found.digests().keys() & set(dispute.sides)

    @precondition(lambda self: self.returned().digests())
    @rule(data=st.data(), ending=st.sampled_from(list(Ending)))
    def end_and_undo(self, data: st.DataObject, ending: Ending) -> None:
        """Ending what stands and restoring it leaves what stood before, whatever fell with it."""
        self._pass()
        before = set(self.returned().digests())
        chosen = data.draw(st.sets(st.sampled_from(sorted(before)), min_size=1, max_size=2))
        self.here.end(ending, *sorted(chosen))
        assert not chosen & self.returned().digests().keys()
        called = {name: name for name in before}
        for name in data.draw(st.permutations(sorted(chosen)), label="order"):
            if ending is Ending.DISPUTED:
                self.here.lift(name)
            else:
                called[name] = self._say_again(name)
        assert set(self.returned().digests()) == {called[name] for name in before}

    # -- what holds --------------------------------------------------------------------------

    @invariant()
    def the_chain_folds_to_the_state(self) -> None:
        """What is suspended with something is suspended, and the chain says all there is."""
        assert fold(genesis("workspace"), self.here.changes) == self.here.state
        assert self.here.held() <= set(self._named(Status.SUSPENDED))

    @invariant()
    def what_is_admitted_stands(self) -> None:
        """One item a slot; active; on what stands; at what the slots are worth."""
        found = self.returned()
        admitted = {j.item.id: j.item for j in found.judgements if j.eligible}
        worth = {item.slot: item.states for item in admitted.values()}
        assert len(worth) == len(admitted)
        by_id = {item.id: item for item in self.here.items()}
        for item in admitted.values():
            assert item.status is Status.ACTIVE
            for slot, assumed in item.assumes:
                assert worth.get(slot) == assumed
            for needed in item.rests_on:  # itself, or what says the same by now
                assert worth.get(by_id[needed].slot) == by_id[needed].states
        for judgement in found.judgements:
            assert judgement.eligible is not bool(judgement.reasons)

    @invariant()
    def no_order_matters_and_no_gate_admits_nothing(self) -> None:
        """The same items in any order give the same; without a gate nothing passes."""
        items = self.here.items()[::-1]
        found = self.returned()
        assert self.returned(*items) == found
        nobody = Captured(self._checkpoint(*items), replace(POLICY, gates=()))
        assert nobody.next().next({}, {}).next().digests() == {}

    @invariant()
    def more_authority_costs_nobody_its_own_place(self) -> None:
        """What stands still stands when its own authority is higher."""
        admitted = self.returned().digests()
        for name in admitted:
            items = [
                replace(item, authority="user") if item.id == name else item
                for item in self.here.items()
            ]
            if all(name not in item.rests_on for item in items):  # its digest is another now
                assert name in self.returned(*items).digests()

    # -- how ---------------------------------------------------------------------------------

    def returned(self, *items: WorkItem) -> Eligible:
        """The cycle up to the gates, for somebody who left before anything was written."""
        moment = self.here.state.head, self.epoch
        if items or self.known is None or self.known[0] != moment:
            found = Captured(self._checkpoint(*items), POLICY).next().next({}, {}).next()
            if items:
                return found
            self.known = moment, found
        return self.known[1]

    def _checkpoint(self, *items: WorkItem) -> Checkpoint:
        there = items or self.here.items()
        return returning(leaving(epoch=0), *there, epoch=self.epoch + 1)

    def _pass(self) -> None:
        self.epoch += 1
        self.here.at = self.epoch

    def _named(self, *statuses: Status) -> list[str]:
        return [item.id for item in self.here.items() if item.status in statuses]

    def _say_again(self, name: str) -> str:
        self._pass()
        (ended,) = (item for item in self.here.items() if item.id == name)
        again = replace(
            ended,
            id=f"i{self.epoch}",
            epochs=Epochs(self.epoch),
            valid=Interval(self.epoch),
            replaces=(name,),
            status=Status.ACTIVE,
        )
        self.here.restore(again)
        return again.id


class TestWritten(Written.TestCase):
    """The machine as a test."""

    settings = settings(max_examples=15, stateful_step_count=12)


@pytest.mark.slow
class TestWrittenAtLength(Written.TestCase):
    """The same for longer."""

    settings = settings(max_examples=200, stateful_step_count=30)
