"""The laws of the contract client, whatever the world and the wire do.

Over random tables, reloads, lost and repeated responses, outages and restarts. The model keeps what
each row was at every version; the clients see bytes. Three of them run side by side: two on one
store, and a third on its own store that is given the very responses the others got.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import httpx2
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import lapse
from lapse.contract import Fix
from lapse.ledger import fold, genesis
from lapse.runtime import Event, Memory
from lapse.storage import InMemoryStore
from lapse.testing import ManualClock, SequenceIds
from lapse.testing.service import ScriptedService
from lapse.transports.http import Transport

TABLES = ("codes", "tokens")
KEYS = ("a", "b", "c")
VALUES = ("1", "2", "3")
ISSUER = "service"

tables = st.sampled_from(TABLES)
keys = st.sampled_from(KEYS)
rows = st.dictionaries(keys, st.sampled_from(VALUES))


class Recorder(httpx2.BaseTransport):
    """Passes requests on and remembers the responses, so that one can be played again later."""

    def __init__(self, service: ScriptedService) -> None:
        self.service = service
        self.replay: tuple[int, bytes] | None = None
        self.lose = False
        self.answers: list[tuple[str, int, bytes]] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.replay is not None and request.method == "POST":
            status, body = self.replay
            self.replay = None
            return httpx2.Response(
                status, content=body, headers={"content-type": "application/json"}
            )
        response = self.service.handle_request(request)
        if request.method == "POST":
            if self.lose:
                self.lose = False
                msg = "the response was lost"
                raise httpx2.ReadError(msg)
            self.answers.append((request.url.path, response.status_code, response.content))
        return response


@dataclass
class Client:
    """One client: its memory and its wire."""

    memory: Memory
    wire: Recorder
    events: list[Event] = field(default_factory=list[Event])

    def __post_init__(self) -> None:
        self.memory.observe(self.events.append)
        self.http = httpx2.Client(
            transport=Transport(self.memory, self.wire, issuer=ISSUER), base_url="http://s"
        )

    def call(self, table: str, key: str, value: str) -> None:
        self.http.post(f"/fix/{table}/{key}", json={"key": key, "value": value})

    def serves(self) -> dict[tuple[str, str], str]:
        """What it would act on now: (table, key) to value."""
        return {
            (table, key): fix.parameters["value"]
            for table in TABLES
            for key in KEYS
            for fix in self.fixes(table, key)
        }

    def fixes(self, table: str, key: str) -> tuple[Fix, ...]:
        return self.memory.fixes(f"POST /fix/{table}/{key}", {"key": key}, issuer=ISSUER)


class ContractLaws(RuleBasedStateMachine):
    """See the module."""

    @initialize(codes=rows, tokens=rows)
    def start(self, codes: dict[str, str], tokens: dict[str, str]) -> None:
        self.service = ScriptedService({"codes": codes, "tokens": tokens})
        self.clock = ManualClock(1)
        self.ids = SequenceIds()
        self.store = InMemoryStore(ids=self.ids)
        self.first = self.new_client(self.store)
        self.second = self.new_client(self.store.again())
        self.mirror = self.new_client(InMemoryStore(ids=self.ids))
        self.past: dict[str, list[dict[str, str]]] = {t: [self.service.rows(t)] for t in TABLES}
        self.told: dict[str, int] = dict.fromkeys(TABLES, 0)
        self.forgotten: set[str] = set()

    def new_client(self, store: InMemoryStore) -> Client:
        memory = Memory(store, clock=self.clock, ids=self.ids, policy=lapse.A2D)
        return Client(memory, Recorder(self.service))

    # -- the world moves ---------------------------------------------------------------------

    @rule(table=tables, new=rows)
    def reload(self, table: str, new: dict[str, str]) -> None:
        self.service.reload(table, new)
        self.past[table].append(dict(new))

    @rule(table=tables)
    def benign_bump(self, table: str) -> None:
        self.reload(table, self.service.rows(table))

    @rule(table=tables)
    def forget_log(self, table: str) -> None:
        self.service.forget_log(table)
        self.forgotten.add(table)

    @rule()
    def restart_service(self) -> None:
        self.service.restart()
        self.forgotten.update(TABLES)

    @rule()
    def outage(self) -> None:
        self.service.reachable = not self.service.reachable

    @rule(days=st.integers(1, 10_000))
    def time_passes(self, days: int) -> None:
        before = [client.serves() for client in self.clients()]
        self.clock.advance(seconds=days * 86_400)
        assert [client.serves() for client in self.clients()] == before

    # -- the clients act ---------------------------------------------------------------------

    @rule(table=tables, key=keys, value=st.sampled_from(("", *VALUES)))
    def call(self, table: str, key: str, value: str) -> None:
        self.deliver(self.first, table, key, value)

    @rule(table=tables, key=keys, value=st.sampled_from(("", *VALUES)))
    def second_calls(self, table: str, key: str, value: str) -> None:
        self.deliver(self.second, table, key, value)

    @rule(table=tables, key=keys)
    def response_is_lost(self, table: str, key: str) -> None:
        self.first.wire.lose = True
        try:
            self.first.call(table, key, "")
        except httpx2.ReadError:
            return
        raise AssertionError

    @precondition(lambda self: bool(self.first.wire.answers))
    @rule(data=st.data())
    def old_response_again(self, data: st.DataObject) -> None:
        """A response that was delivered before arrives once more, at any later time."""
        path, status, body = data.draw(st.sampled_from(self.first.wire.answers))
        _, _, table, key = path.split("/")
        self.first.wire.replay = (status, body)
        asked = len(self.service.questions)
        before = self.first.serves()
        self.first.call(table, key, "")
        self.pulled(asked)
        self.copy_to_mirror(table, key, (path, status, body))
        # It may say anything about where it came from, but nothing new about what holds.
        if self.service.reachable and not self.forgotten:
            assert (
                before.items()
                >= {k: v for k, v in self.first.serves().items() if k in before}.items()
            )

    @rule()
    def restart_client(self) -> None:
        self.first = self.rebuilt(self.first, self.store)

    def rebuilt(self, client: Client, store: InMemoryStore) -> Client:
        fresh = self.new_client(store.again())
        fresh.wire.answers = client.wire.answers
        assert fresh.serves() == client.serves()
        return fresh

    # -- what the model knows ----------------------------------------------------------------

    def clients(self) -> Iterable[Client]:
        return (self.first, self.second, self.mirror)

    def deliver(self, client: Client, table: str, key: str, value: str) -> None:
        client.call(table, key, value)
        self.copy_to_mirror(table, key, client.wire.answers[-1])
        for table_ in TABLES:
            self.told[table_] = len(self.past[table_]) - 1

    def copy_to_mirror(self, table: str, key: str, answer: tuple[str, int, bytes]) -> None:
        self.mirror.wire.replay = answer[1:]
        self.mirror.call(table, key, "")

    def pulled(self, asked: int) -> None:
        if self.service.reachable:
            for table, _ in self.service.questions[asked:]:
                self.told[table] = len(self.past[table]) - 1

    # -- the laws ----------------------------------------------------------------------------

    @invariant()
    def nothing_stale_is_served(self) -> None:
        """After the newer stamp was seen, no record whose row changed is served."""
        if not hasattr(self, "first"):
            return
        for client in self.clients():
            for (table, key), value in client.serves().items():
                then = self.past[table][self.told[table] :]
                assert any(snapshot.get(key) == value for snapshot in then), (table, key, value)

    @invariant()
    def what_did_not_change_is_not_evicted(self) -> None:
        """While the change log reaches back, an eviction means that the row changed since."""
        if not hasattr(self, "first"):
            return
        for client in self.clients():
            for event in client.events:
                if event.what == "evicted":
                    assert event.reason == "row_moved" or self.forgotten
            client.events.clear()
        for record in self.first.memory.records(live=False):
            for chapter in self.first.memory.why(record.id):
                if chapter.what == "evicted" and chapter.reason == "row_moved":
                    assert chapter.detail["was"] != chapter.detail["now"]

    @invariant()
    def clients_that_saw_the_same_agree(self) -> None:
        """Two on one ledger, and one on its own that was given every response the others got."""
        if hasattr(self, "first"):
            assert self.first.serves() == self.second.serves() == self.mirror.serves()

    @invariant()
    def the_state_is_the_fold(self) -> None:
        if hasattr(self, "first"):
            changes = tuple(self.store.changes())
            assert fold(genesis(self.store.ledger), changes) == self.store.state()


ContractLaws.TestCase.settings = settings(
    settings.get_profile(settings.get_current_profile_name()),
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestContractLaws = ContractLaws.TestCase
