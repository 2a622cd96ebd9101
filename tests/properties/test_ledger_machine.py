"""The status machine against a model of plain dictionaries, allowed and refused changes alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lapse.errors import IllegalChange, StoreConflict
from lapse.ledger import ChangeKind, Draft, Source, Stamp, vector
from lapse.storage import InMemoryStore
from lapse.testing import Scribe, SequenceIds, sample
from lapse.testing.scribe import ISSUER

LIVE = ("active", "suspended", "disputed")
LEADS = {
    "suspended": ({"active"}, "suspended"),
    "reinstated": ({"suspended", "disputed"}, "active"),
    "disputed": ({"active", "suspended"}, "disputed"),
    "superseded": (set(LIVE), "superseded"),
    "revoked": (set(LIVE), "revoked"),
    "evicted": (set(LIVE), "evicted"),
    "witnessed": (set(LIVE), None),
    "applied": ({"active"}, None),
    "purged": ({*LIVE, "superseded", "revoked", "evicted", "purged"}, "purged"),
}
"""From which statuses, and to which: written down again, not taken from the code."""

NAMES = [f"r{number}" for number in range(6)]
TABLES = ["t", "u"]


@dataclass
class Model:
    """What the ledger should know."""

    status: dict[str, str] = field(default_factory=dict[str, str])
    slots: dict[str, str] = field(default_factory=dict[str, str])
    tables: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    receipts: dict[str, int] = field(default_factory=dict[str, int])
    reconciled: dict[str, str | None] = field(default_factory=dict[str, str | None])
    observed: dict[str, str | None] = field(default_factory=dict[str, str | None])

    def usable(self, name: str) -> bool:
        """Active, and no table under it has moved unreconciled."""
        return self.status[name] == "active" and all(
            self.reconciled.get(table) == self.observed.get(table) for table in self.tables[name]
        )


class Ledger(RuleBasedStateMachine):
    """Each rule tries a change; the model says whether it is allowed and what it leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.scribe = Scribe(InMemoryStore(ids=SequenceIds("l")))
        self.model = Model()

    def tried(self, *drafts: Draft, allowed: bool) -> None:
        """Carry drafts out, or see them refused."""
        if allowed:
            self.scribe.carry_out(*drafts)
            return
        changes = self.scribe.sealed(*drafts)
        for call in (
            lambda: self.scribe.expected.check(changes),
            lambda: self.scribe.store.append(changes, after=self.scribe.expected.head),
        ):
            with pytest.raises(IllegalChange):
                call()

    @rule(
        name=st.sampled_from(NAMES),
        slot=st.sampled_from("ab"),
        tables=st.lists(st.sampled_from(TABLES), unique=True),
        version=st.sampled_from(["1", "2"]),
    )
    def write(self, name: str, slot: str, tables: list[str], version: str) -> None:
        stamps = vector(Stamp(Source.row(ISSUER, table, name), "x", version) for table in tables)
        record = replace(sample(name), slot=slot, stamps=stamps)
        model = self.model
        carried = {
            table
            for other, under in model.tables.items()
            if model.status[other] in LIVE
            for table in under
        }
        allowed = name not in model.status and all(
            table not in model.reconciled
            or table not in carried
            or model.reconciled[table] == version
            for table in tables
        )
        self.tried(*self.scribe.written_by(record), allowed=allowed)
        if allowed:
            model.status[name] = "active"
            model.slots[name] = slot
            model.tables[name] = tables
            model.receipts[name] = 0
            for table in tables:
                if table not in model.reconciled or model.reconciled[table] != version:
                    model.reconciled[table] = model.observed[table] = version

    @rule(name=st.sampled_from(NAMES), kind=st.sampled_from(sorted(LEADS)))
    def judge(self, name: str, kind: str) -> None:
        came_from, leads_to = LEADS[kind]
        status = self.model.status.get(name)
        allowed = status in came_from
        if kind == "purged":
            if not allowed:
                return  # a purge of what was never there cannot even be drafted
            draft = self.scribe.purged(name)
        elif kind == "witnessed":
            draft = self.scribe.witnessed(name)
        else:
            draft = self.scribe.judged(ChangeKind(kind), name)
        self.tried(draft, allowed=allowed)
        if not allowed:
            return
        if kind == "witnessed":
            self.model.receipts[name] += 1
        elif leads_to is not None:
            self.model.status[name] = leads_to

    @rule(
        table=st.sampled_from(TABLES),
        version=st.none() | st.sampled_from(["1", "2"]),
        kind=st.sampled_from([ChangeKind.OBSERVED, ChangeKind.ADVANCED]),
    )
    def move(self, table: str, version: str | None, kind: ChangeKind) -> None:
        self.tried(self.scribe.moved(kind, Source.table(ISSUER, table), version), allowed=True)
        if kind is ChangeKind.ADVANCED or table not in self.model.reconciled:
            self.model.reconciled[table] = version
        self.model.observed[table] = version

    @precondition(lambda self: self.scribe.written)
    @rule()
    def be_late(self) -> None:
        (change,) = self.scribe.sealed(
            self.scribe.moved(ChangeKind.OBSERVED, Source.table(ISSUER, "t"), "1")
        )
        earlier = self.scribe.written[0]
        with pytest.raises(StoreConflict):
            self.scribe.store.append(
                (replace(change, seq=earlier.seq, previous=earlier.previous),),
                after=earlier.head._replace(seq=0, digest=earlier.previous),
            )

    @invariant()
    def the_state_is_the_models(self) -> None:
        model, state = self.model, self.scribe.expected
        assert {r.id: r.status.value for r in state.records()} == model.status
        live = [name for name in model.status if model.status[name] in LIVE]
        assert [record.id for record in state] == live
        assert len(state) == len(live)
        receipts = {record.id: len(record.receipts) for record in state}
        assert receipts == {name: model.receipts[name] for name in live}
        usable = {record.id for record in state if state.usable(record)}
        assert usable == {name for name in live if model.usable(name)}
        for slot in "ab":
            there = [name for name in live if model.slots[name] == slot]
            assert [record.id for record in state.in_slot(ISSUER, slot)] == there
            served = state.first_usable(ISSUER, slot)
            wanted = [name for name in there if model.usable(name)]
            assert (served and served.id) == (wanted[-1] if wanted else None)
        for table in TABLES:
            source = Source.table(ISSUER, table)
            under = {name for name in live if table in model.tables[name]}
            assert set(state.index.on(source)) == under
            mark = state.mark(source)
            assert (mark is not None) is (table in model.reconciled)
            if mark is not None:
                found = (mark.reconciled, mark.observed)
                assert found == (model.reconciled[table], model.observed[table])

    @invariant()
    def the_store_keeps_the_same(self) -> None:
        assert self.scribe.store.state() == self.scribe.expected
        assert self.scribe.store.head() == self.scribe.expected.head


class TestLedger(Ledger.TestCase):
    """The machine as a test."""

    settings = settings(max_examples=40, stateful_step_count=30)
