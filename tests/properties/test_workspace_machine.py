"""A workspace against a simple model: who may see what, and what is never shown to anybody.

The model does not decide; it knows what must not happen. Members leave and return while others
write, end, dispute and bring back, services move rows, processes die and start again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lapse.admission import (
    Pair,
    Presence,
    Refused,
    Sealed,
    Verdict,
    WorkItem,
    capture,
)
from lapse.errors import IllegalChange, InvalidValue
from lapse.judges import AllPairs, ScriptedJudge
from lapse.ledger import (
    LIVE,
    ChangeKind,
    Draft,
    Intact,
    Kind,
    Outcome,
    Part,
    Receipt,
    Scope,
    Source,
    Stamp,
    Status,
    examine,
    seal,
)
from lapse.runtime import Judging
from lapse.runtime.departures import departure_of, state_at
from lapse.runtime.workspace_forms import Departed
from lapse.runtime.workstate import Workstate
from lapse.storage import InMemoryStore
from lapse.testing import SequenceIds
from lapse.testing.workspaces import Town

TABLE = Source.table("https://api.example", "rooms")
MEMBERS = (
    Scope(principal="A1", role="planner", task="trip"),
    Scope(principal="A2", role="driver", task="trip"),
)
DEPENDENCIES = ("a", "b", "c")
OWED = {"ox", "fx", "oy", "fy"}
WRITERS = ("A1", "A2", "A3")
AUTHORITIES = ("user", "agent", "")


@dataclass
class Model:
    """What is known without asking."""

    vouched: set[str] = field(default_factory=set[str])
    over: set[str] = field(default_factory=set[str])
    doubted: set[str] = field(default_factory=set[str])
    on_row: set[str] = field(default_factory=set[str])
    broken: set[Pair] = field(default_factory=set[Pair])


class WorkspaceMachine(RuleBasedStateMachine):
    """Two members, three writers and a service share a workspace."""

    def __init__(self) -> None:
        super().__init__()
        self.store = InMemoryStore(ids=SequenceIds("ledger"))
        self.model = Model()
        self.items: dict[str, WorkItem] = {}
        self.views: dict[str, tuple[Scope, Sealed]] = {}
        self.count = 0
        self.row = 0
        self.verdicts: dict[Pair, Verdict] = {}
        self.town = self.opened()

    def opened(self, clock: Any = None) -> Town:
        """Another process's hold on the same ledger."""
        self.count += 1
        judge = ScriptedJudge(self.verdicts)
        judging = Judging((AllPairs(),), judge)
        prefix = f"p{self.count}"
        return Town(self.store.again(), prefix, clock=clock, judging=judging)

    def new(self) -> str:
        self.count += 1
        return f"i{self.count}"

    def known(self, item: WorkItem) -> None:
        self.items[item.id] = item
        if item.receipts:
            self.model.vouched.add(item.id)

    def some(self, data: st.DataObject) -> str:
        """Evidence or an experience: a workspace whose obligations fall shows nobody anything."""
        return data.draw(st.sampled_from(sorted(self.items.keys() - OWED)))

    @initialize()
    def owe(self) -> None:
        for name, needs in (("x", ("a", "b")), ("y", ("c",))):
            opens: dict[str, Any] = {"kind": Kind.OBLIGATION, "required": needs, "critical": needs}
            self.known(self.town.says(f"o{name}", obligation=name, **opens))
            self.known(self.town.says(f"f{name}", obligation=name, kind=Kind.FRONTIER))
        for name in DEPENDENCIES:
            self.known(self.town.says(f"first {name}", slot=name, supports=[name]))

    # -- writing -----------------------------------------------------------------------------

    @rule(
        data=st.data(),
        slot=st.sampled_from(DEPENDENCIES),
        role=st.sampled_from([None, "planner", "driver"]),
        by=st.sampled_from(WRITERS),
        authority=st.sampled_from(AUTHORITIES),
        vouched=st.booleans(),
        stamped=st.booleans(),
    )
    def state(
        self,
        data: st.DataObject,
        slot: str,
        role: str | None,
        by: str,
        authority: str,
        vouched: bool,  # noqa: FBT001 - Hypothesis passes by name
        stamped: bool,  # noqa: FBT001
    ) -> None:
        live = sorted(self.items.keys() - self.model.over - OWED)
        rests_on = data.draw(st.lists(st.sampled_from(live), max_size=1)) if live else []
        name = self.new()
        more: dict[str, Any] = {"observer": "booking-desk" if vouched else ""}
        if stamped:
            row = Source.row(TABLE.issuer, TABLE.name, "1")
            more["stamps"] = [Stamp(row, "1", within=str(self.row))]
        scope = Scope(role=role, task="trip")
        try:
            item = self.town.says(
                name,
                slot=data.draw(st.sampled_from([slot, name])),
                supports=[slot],
                scope=scope,
                by=by,
                authority=authority,
                rests_on=rests_on,
                **more,
            )
        except IllegalChange:
            assert stamped  # the row moved, and what is under it was not reconciled
            return
        self.known(item)
        if stamped:
            self.model.on_row.add(name)
        if data.draw(st.booleans()):
            older = self.some(data)
            if older != name:
                self.verdicts[Pair(older, name)] = Verdict.INVALIDATES
                self.model.broken.add(Pair(older, name))

    @rule(data=st.data(), by=st.sampled_from(["A1", "A2"]))
    def learn(self, data: st.DataObject, by: str) -> None:
        live = sorted(self.items.keys() - self.model.over)
        source = data.draw(st.sampled_from(live))
        what: dict[str, Any] = {"kind": Kind.EXPERIENCE, "rests_on": [source], "scope": Scope()}
        self.known(self.town.says(self.new(), by=by, **what))

    @rule(data=st.data(), by=st.sampled_from(WRITERS), authority=st.sampled_from(AUTHORITIES))
    def replace(self, data: st.DataObject, by: str, authority: str) -> None:
        old = self.some(data)
        try:
            item = self.town.work.supersede(
                old,
                f"said instead {self.new()}",
                by=by,
                authority=authority,
                observer="booking-desk",
            )
        except (InvalidValue, IllegalChange):
            return
        self.known(item)
        self.read()

    @rule(
        data=st.data(),
        how=st.sampled_from(["revoke", "close", "dispute"]),
        by=st.sampled_from(WRITERS),
    )
    def end(self, data: st.DataObject, how: str, by: str) -> None:
        name = self.some(data)
        try:
            getattr(self.town.work, how)(name, by=by)
        except (InvalidValue, IllegalChange):
            return
        self.read()

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        self.town.clock.advance(seconds=1)
        try:
            self.known(self.town.work.restore(self.some(data), by="A3", observer="booking-desk"))
        except (InvalidValue, IllegalChange):
            return
        self.read()

    def read(self) -> None:
        """What the ledger says about every item; the model trusts statuses, and nothing else."""
        state = self.store.state()
        for name in self.items:
            status = state.record(name).status
            (self.model.over.add if status not in LIVE else self.model.over.discard)(name)
            doubted = status in LIVE and status.value != "active"
            (self.model.doubted.add if doubted else self.model.doubted.discard)(name)

    # -- other engines -----------------------------------------------------------------------

    @rule(kind=st.sampled_from([ChangeKind.OBSERVED, ChangeKind.ADVANCED]))
    def move_the_row(self, kind: ChangeKind) -> None:
        self.row += kind is ChangeKind.OBSERVED
        at = self.town.clock.now()
        version = str(self.row)
        self.append(
            Draft(kind=kind, at=at, reason="diff", actor="c", source=TABLE, version=version)
        )

    @rule(data=st.data())
    def contradict(self, data: st.DataObject) -> None:
        name = self.some(data)
        if name in self.model.over | self.model.doubted:
            return
        at = self.town.clock.advance(seconds=1)
        seen = Receipt(
            observer="booking-desk",
            source=Source.probe("http", "x"),
            at=at,
            digest="",
            outcome=Outcome.CONTRADICTS,
        )
        told: tuple[tuple[ChangeKind, object], ...] = (
            (ChangeKind.WITNESSED, seen.as_json()),
            (ChangeKind.SUSPENDED, {}),
        )
        for kind, said in told:
            part = Part.of(name, said, salt=self.new())
            self.append(Draft(kind=kind, at=at, reason="recheck", actor="upkeep", parts=(part,)))
        self.read()

    def append(self, draft: Draft) -> None:
        head = self.store.head()
        self.store.append(seal([draft], head), after=head)

    @rule()
    def another_process(self) -> None:
        self.town = self.opened(self.town.clock)

    # -- leaving and returning ---------------------------------------------------------------

    @rule(who=st.sampled_from(MEMBERS))
    def depart(self, who: Scope) -> None:
        try:
            self.town.work.depart(who)
        except IllegalChange:
            member = self.town.work.member(who)
            assert member is not None
            assert member.presence not in (Presence.ACTIVE, Presence.ADMITTED)

    @rule(who=st.sampled_from(MEMBERS))
    def go_and_come_back(self, who: Scope) -> None:
        self.depart(who)
        self.come_back(who)

    @rule(who=st.sampled_from(MEMBERS))
    def come_back(self, who: Scope) -> None:
        asking = replace(who, purpose="booking")
        member = self.town.work.member(who)
        self.count += 1
        cycle = f"cycle {self.count}"
        if member is None or member.presence is Presence.ADMITTED:
            with pytest.raises((InvalidValue, IllegalChange)):
                self.town.work.return_(asking, cycle=cycle)
            return
        ended = self.town.work.return_(asking, cycle=cycle)
        event(f"return: {type(ended).__name__}")
        if isinstance(ended, Sealed):
            self.views[cycle] = asking, ended
            assert self.looked(cycle, asking) == ended.view
            shown = {item.id for item in ended.view.items}
            mine = {item.id for item in ended.experience}
            assert shown | mine <= self.model.vouched
            assert not (shown | mine) & (self.model.over | self.model.doubted)
            for item in ended.view.items:
                assert item.scope.role in (None, who.role)
                assert item.kind is not Kind.EXPERIENCE
            departed = self.town.work.member(who)
            assert departed is not None
            left = departed.departed or 0
            for pair in self.model.broken:
                older, later = self.items[pair.older], self.items[pair.later]
                told = later.epochs.since > max(left, older.epochs.since)
                asked = older.kind is Kind.FACT and later.slot != older.slot
                if told and asked and later.kind is not Kind.EXPERIENCE:
                    revoked = self.store.state().record(later.id).status.value == "revoked"
                    assert revoked or older.id not in shown
            supported = {d for item in ended.view.items for d in item.supports}
            needed = {d for item in ended.view.items for d in item.required}
            assert needed <= supported
            for item in ended.experience:
                assert item.scope.principal == who.principal
                assert set(item.rests_on) <= shown

    # -- what always holds -------------------------------------------------------------------

    @precondition(lambda self: self.views)
    @rule(data=st.data(), who=st.sampled_from(MEMBERS))
    def look(self, data: st.DataObject, who: Scope) -> None:
        self.looked(data.draw(st.sampled_from(sorted(self.views))), replace(who, purpose="booking"))

    def looked(self, cycle: str, asking: Scope) -> object:
        """Whatever is read, nothing is reached that the view does not show."""
        owner, sealed = self.views[cycle]
        work = self.town.work
        view, text = work.view(cycle, asking), work.brief(cycle, asking)
        signed, mine = work.signed_view(cycle, asking), work.experience(cycle, asking)
        event(f"look: {type(view).__name__}")
        if isinstance(view, Refused):
            assert text == signed == mine == view
            return view
        member = work.member(replace(asking, purpose=None))
        assert asking == owner
        assert member is not None
        assert (member.presence, member.cycle) == (Presence.ADMITTED, cycle)
        assert isinstance(text, str)
        assert isinstance(mine, tuple)
        assert (view, signed) == (sealed.view, sealed.signed)
        shown = {item.id for item in view.items}
        assert {item.id for item in mine} <= {item.id for item in sealed.experience}
        hidden = [item.text for item in self.items.values() if item.id not in shown]
        said = [item.text for item in view.items]
        assert [words for words in hidden if f'"{words}"' in text and words not in said] == []
        assert not shown & (self.model.over | self.model.doubted)
        return view

    @precondition(lambda self: self.views)
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        """The ledger gives the same view again, byte by byte."""
        cycle = data.draw(st.sampled_from(sorted(self.views)))
        asking, sealed = self.views[cycle]
        again = self.opened(self.town.clock).work.return_(asking, cycle=cycle)
        assert again == sealed

    @rule()
    def examine(self) -> None:
        """The chain is whole, and the kept state is what it adds up to."""
        changes = list(self.store.changes())
        assert isinstance(examine(self.store.ledger, changes, kept=self.store.state()), Intact)

    @rule()
    def read_from_the_start(self) -> None:
        """What was followed step by step is what is there, and departures are what they were."""
        state = self.store.state()
        fresh = Workstate(None).at(state)
        status = self.town.work.status()
        assert status.epoch == fresh.epoch
        assert status.items == Counter(item.status for item in fresh.items)
        for ids, told in ((status.suspended, Status.SUSPENDED), (status.disputed, Status.DISPUTED)):
            assert set(ids) == {item.id for item in fresh.items if item.status is told}
        assert {member.identity: member for member in status.members} == fresh.members
        for who in MEMBERS:
            for record in state.in_slot("", Departed.slot(who)):
                departed = Departed.of(record)
                then = Workstate(None).at(state_at(self.store, departed.head))
                whole = capture(then.items, who, epoch=departed.epoch, at=departed.at)
                assert departure_of(self.store, state, fresh, departed) == whole


TestWorkspaceMachine = WorkspaceMachine.TestCase
TestWorkspaceMachine.settings = settings(
    TestWorkspaceMachine.settings, max_examples=20, stateful_step_count=30, deadline=None
)


@pytest.mark.slow
def test_a_workspace_holds_over_long_histories() -> None:
    deep = settings(max_examples=150, stateful_step_count=60, deadline=None)
    run_state_machine_as_test(WorkspaceMachine, settings=deep)
