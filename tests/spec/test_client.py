"""The client's duties, clause by clause, through the real transport."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from lapse.contract import A2, A2D, A2DC, EvictionPolicy, Fix
from lapse.ledger import Status
from lapse.runtime import Event, Memory
from lapse.storage import InMemoryStore
from lapse.testing import ManualClock, SequenceIds
from lapse.testing.service import ScriptedService
from lapse.transports.http import Transport

JSON = {"content-type": "application/json"}
ROWS = {"a": "1", "b": "2"}


@dataclass
class Wire(httpx2.BaseTransport):
    """Plays a service word for word: the next answer to a call, and one to every question."""

    answers: list[httpx2.Response] = field(default_factory=list[httpx2.Response])
    changes: dict[str, Any] | None = None
    asked: list[httpx2.Request] = field(default_factory=list[httpx2.Request])

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/changes"):
            self.asked.append(request)
            if self.changes is None:
                return httpx2.Response(404)
            asked_for = dict(request.url.params)
            return httpx2.Response(200, json={"complete": True, **asked_for, **self.changes})
        return self.answers.pop(0)


class Relay(httpx2.BaseTransport):
    """Passes everything on to a service, but for one answer that it has ready."""

    def __init__(self, service: httpx2.BaseTransport) -> None:
        self.service = service
        self.ready: httpx2.Response | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.ready is not None and request.method == "POST":
            ready, self.ready = self.ready, None
            return httpx2.Response(ready.status_code, content=ready.content, headers=JSON)
        return self.service.handle_request(request)


class Client:
    """An agent's client with its memory."""

    def __init__(
        self,
        wire: httpx2.BaseTransport,
        *,
        policy: EvictionPolicy = A2D,
    ) -> None:
        self.clock = ManualClock(1)
        ids = SequenceIds()
        self.store = InMemoryStore(ids=ids)
        self.memory = Memory(self.store, clock=self.clock, ids=ids, policy=policy)
        self.events: list[Event] = []
        self.memory.observe(self.events.append)
        self.relay = Relay(wire)
        self.http = httpx2.Client(
            transport=Transport(self.memory, self.relay), base_url="http://api.example"
        )

    def call(self, table: str = "codes", key: str = "a", value: str = "") -> httpx2.Response:
        return self.http.post(f"/fix/{table}/{key}", json={"key": key, "value": value})

    def replay(self, old: httpx2.Response) -> None:
        """Have an old answer to the call that it was an answer to."""
        self.relay.ready = old
        self.call()

    def fixes(self, table: str = "codes", key: str = "a") -> tuple[Fix, ...]:
        return self.memory.fixes(f"POST /fix/{table}/{key}", {"key": key, "value": ""})

    def serves(self, table: str = "codes", key: str = "a") -> list[object]:
        return [fix.parameters["value"] for fix in self.fixes(table, key)]

    def told(self, what: str) -> list[str]:
        return [event.reason for event in self.events if event.what == what]


def suggestion(**members: Any) -> dict[str, Any]:
    """A suggestion that may be stored, but for what a test says otherwise."""
    whole = {
        "type": "SET",
        "parameters": {"value": "1"},
        "cache_hint": "cacheable",
        "table": "codes",
        "when": {"key": "a"},
        **members,
    }
    return {name: value for name, value in whole.items() if value is not ...}


def refusal(
    *suggestions: dict[str, Any],
    versions: Mapping[str, object] | None = None,
    **options: Any,
) -> httpx2.Response:
    """A 422 with suggestions; `codes` is at v1 unless a test says otherwise."""
    body: dict[str, Any] = {"success": False, "recovery_feedback": {"suggestions": suggestions}}
    body["table_versions"] = {"codes": "v1"} if versions is None else versions
    return httpx2.Response(422, json=body, **options)


def report(versions: Mapping[str, object] | None) -> httpx2.Response:
    """A success that says these versions."""
    return httpx2.Response(200, json={"success": True, "table_versions": versions})


def taught(*suggestions: dict[str, Any], policy: EvictionPolicy = A2D) -> tuple[Client, Wire]:
    """A client that was refused once, with these suggestions, by a service that stands by them."""
    wire = Wire([refusal(*suggestions)], {"version": "v1", "rows": {}})
    client = Client(wire, policy=policy)
    client.call()
    wire.asked.clear()
    return client, wire


# -- never in the way ------------------------------------------------------------------------------


@pytest.mark.requirement("C-CLI-01")
@pytest.mark.parametrize(
    "body",
    [
        b'{"table_versions": 5, "recovery_feedback": [], "rules_version": {}}',
        b'{"table_versions": {"codes": "v1"}, "table_versions": {}}',
        b'{"table_versions": {"codes": NaN}}',
        b'{"recovery_feedback": {"suggestions": [null, 1, {"type": 3}, {"type": "x"}]}}',
        b'{"table_versions": {"\\ud800": "v"}}',
        b"[" * 100_000,
        b"\xff\xfe",
        b"",
        b"not json at all",
    ],
)
def test_the_call_returns_what_the_service_answered_whatever_it_holds(body: bytes) -> None:
    headers = {"content-type": "application/problem+json", "contract-versions": "((("}
    client = Client(Wire([httpx2.Response(418, content=body, headers=headers)]))
    response = client.call()
    assert (response.status_code, response.content) == (418, body)
    assert headers.items() <= dict(response.headers).items()
    assert client.memory.records() == ()


@pytest.mark.requirement("C-CLI-01")
def test_a_memory_that_cannot_be_written_does_not_fail_the_call() -> None:
    client = Client(ScriptedService({"codes": ROWS}))
    client.memory.close()
    assert client.call().status_code == 422
    assert client.told("failed") == ["StoreClosed"]


@pytest.mark.requirement("C-CLI-01")
def test_an_endpoint_that_cannot_be_asked_does_not_fail_the_call() -> None:
    service = ScriptedService({"codes": ROWS})
    client = Client(service)
    service.reachable = False
    assert client.call().status_code == 422
    assert client.told("failed") == ["ConnectError"]


@pytest.mark.requirement("C-CLI-02")
def test_what_was_not_taken_in_is_told_with_reason_and_place_and_the_rest_is_read() -> None:
    broken = suggestion(type=7)
    client, _ = taught(broken, suggestion(cache_hint="recompute"), suggestion())
    assert client.serves() == ["1"]
    assert [(e.reason, e.where) for e in client.events if e.what == "refused"] == [
        ("wrong_type", "recovery_feedback.suggestions[0].type"),
        ("not_cacheable", "recovery_feedback.suggestions"),
    ]
    assert client.memory.counters["refused"] == 2


@pytest.mark.requirement("C-CLI-03")
def test_a_response_without_members_changes_nothing() -> None:
    client, wire = taught(suggestion())
    head = client.memory.store.head()
    wire.answers = [
        httpx2.Response(200, json={"orders": [1, 2]}),
        httpx2.Response(200, text="hello"),
        httpx2.Response(204),
        httpx2.Response(404, json={"detail": "no such thing"}),
    ]
    for _ in range(4):
        client.call()
    assert client.memory.store.head() == head
    assert client.serves() == ["1"]


# -- order -----------------------------------------------------------------------------------------


@pytest.mark.requirement("C-CLI-04")
@pytest.mark.parametrize("policy", [A2, A2D], ids=str)
def test_versions_are_reconciled_before_the_suggestion_beside_them_is_stored(
    policy: EvictionPolicy,
) -> None:
    service = ScriptedService({"codes": ROWS})
    client = Client(service, policy=policy)
    client.call()
    service.reload("codes", {"a": "9"})
    client.call()
    assert client.serves() == ["9"]
    assert [r.status for r in client.memory.records(live=False)] == [Status.ACTIVE, Status.EVICTED]
    assert client.memory.counters["evicted"] == 1


@pytest.mark.requirement("C-CLI-05")
def test_what_a_response_changes_is_durable_when_the_caller_has_it() -> None:
    client = Client(ScriptedService({"codes": ROWS}))
    client.call()
    (held,) = client.store.again().state()
    assert held.content["parameters"] == {"value": "1"}


@pytest.mark.requirement("C-CLI-06")
def test_an_old_response_brings_nothing_back() -> None:
    service = ScriptedService({"codes": ROWS})
    old = service.handle_request(httpx2.Request("POST", "http://x/fix/codes/a", json={}))
    client = Client(service)
    service.reload("codes", {"a": "9", "b": "2"})
    client.call()
    client.replay(old)
    assert client.serves() == ["9"]
    assert client.told("refused") == ["late"]
    assert client.told("evicted") == []


@pytest.mark.requirement("C-CLI-06")
def test_a_suggestion_of_an_old_response_is_stored_if_nothing_under_it_has_changed() -> None:
    service = ScriptedService({"codes": ROWS})
    old = service.handle_request(httpx2.Request("POST", "http://x/fix/codes/a", json={}))
    client = Client(service)
    service.reload("codes", {"a": "1", "b": "8"})
    client.replay(old)
    assert client.serves() == ["1"]
    client.call(key="b")
    assert client.serves(key="b") == ["8"]
    assert client.serves() == ["1"]


# -- what is stored --------------------------------------------------------------------------------


@pytest.mark.requirement("C-CLI-07")
@pytest.mark.parametrize("hint", ["recompute", "CACHEABLE", "forever", None, ..., 1])
def test_only_what_is_cacheable_is_stored(hint: object) -> None:
    client, wire = taught(suggestion(cache_hint=hint))
    assert client.memory.records() == ()
    assert wire.asked == []
    assert "not_cacheable" in client.told("refused")


@pytest.mark.requirement("C-CLI-08")
@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"table": ...}, "no_dependency"),
        ({"table": "unheard_of"}, "unknown_version"),
        (
            {"table": ..., "rows": [{"table": "unheard_of", "key": "a", "version": "x"}]},
            "unknown_version",
        ),
    ],
)
def test_what_nothing_could_evict_is_not_stored(members: dict[str, Any], reason: str) -> None:
    client, _ = taught(suggestion(**members))
    assert client.memory.records() == ()
    assert client.told("refused") == [reason]


@pytest.mark.requirement("C-CLI-09")
def test_table_is_paired_with_the_version_of_the_same_response() -> None:
    client, _ = taught(suggestion())
    (record,) = client.memory.records()
    assert [(str(s.source), s.version) for s in record.stamps] == [
        ("http://api.example/codes", "v1")
    ]


@pytest.mark.requirement("C-CLI-09")
def test_tables_takes_precedence_over_table() -> None:
    both = suggestion(table="tokens", tables=[{"table": "codes", "version": "v1"}])
    client, _ = taught(both)
    (record,) = client.memory.records()
    assert [(s.source.name, s.version) for s in record.stamps] == [("codes", "v1")]


@pytest.mark.requirement("C-CLI-10")
@pytest.mark.parametrize(
    ("when", "request_", "holds"),
    [
        ({"key": "a"}, {"key": "a", "more": 1}, True),
        ({"key": "a"}, {"key": "b"}, False),
        ({"key": "a"}, {}, False),
        ({"key": None}, {}, True),
        ({"user.tier": "gold"}, {"user": {"tier": "gold"}}, True),
        ({"user.tier": "gold"}, {"user.tier": "gold"}, True),
        ({"user.tier": "gold"}, {"user": "gold"}, False),
        ({"n": 1}, {"n": 1.0}, True),
        ({"n": 1}, {"n": True}, False),
        ({"n": True}, {"n": 1}, False),
        ({"n": [1, {"x": True}]}, {"n": [1, {"x": 1}]}, False),
        ({"n": [1, {"x": True}]}, {"n": [1.0, {"x": True}]}, True),
        ({}, {"anything": 1}, True),
    ],
)
def test_a_fix_is_used_for_the_requests_that_when_names(
    when: dict[str, object], request_: dict[str, object], *, holds: bool
) -> None:
    client, _ = taught(suggestion(when=when))
    assert bool(client.memory.fixes("POST /fix/codes/a", request_)) is holds


@pytest.mark.requirement("C-CLI-10")
def test_a_fix_without_when_is_used_for_an_equal_request_only() -> None:
    client, _ = taught(suggestion(when=...))
    asked = {"value": "", "key": "a"}
    assert len(client.memory.fixes("POST /fix/codes/a", asked)) == 1
    for other in ({"key": "a"}, {**asked, "more": 1}, {**asked, "value": None}, {}):
        assert client.memory.fixes("POST /fix/codes/a", other) == ()


@pytest.mark.requirement("C-CLI-11")
def test_a_fix_neither_reaches_another_issuer_nor_is_evicted_by_its_versions() -> None:
    client, wire = taught(suggestion())
    (held,) = client.memory.records()
    wire.answers = [report({"codes": "v2"})]
    client.http.post("http://other.example/fix/codes/a", json={"key": "a"})
    operation = "POST /fix/codes/a"
    assert client.memory.fixes(operation, {"key": "a"}, issuer="http://other.example") == ()
    assert client.memory.fixes(operation, {"key": "a"}, issuer=held.issuer) != ()
    assert wire.asked == []


# -- reconciling -----------------------------------------------------------------------------------


@pytest.mark.requirement("C-CLI-12")
def test_no_order_is_read_into_versions_and_no_time() -> None:
    client, wire = taught(suggestion(rows=[{"table": "codes", "key": "a", "version": "x"}]))
    client.clock.advance(seconds=10**9)
    assert client.serves() == ["1"]
    wire.changes = {"version": "v0", "rows": {"a": "y"}}
    wire.answers = [report({"codes": "v0"})]
    client.call()
    assert client.serves() == []
    client.clock.advance(seconds=10**9)
    assert client.serves() == []


@pytest.mark.requirement("C-CLI-13")
def test_silence_says_nothing_and_a_map_without_the_table_says_it_is_gone() -> None:
    client, wire = taught(suggestion())
    wire.answers = [report(None), report({})]
    wire.changes = {"version": None, "complete": False}
    client.call()
    assert client.serves() == ["1"]
    assert wire.asked == []
    client.call()
    assert client.serves() == []
    assert client.told("evicted") == ["table_gone"]


@pytest.mark.requirement("C-CLI-14")
def test_what_moved_is_held_until_the_service_says_what_changed() -> None:
    service = ScriptedService({"codes": ROWS})
    client = Client(service)
    client.call()
    old = service.handle_request(
        httpx2.Request("POST", "http://x/fix/codes/b", json={"value": "2"})
    )
    service.reload("codes", ROWS)
    service.reachable = False
    client.call(key="b")
    assert client.serves() == []
    assert [r.status for r in client.memory.records()] == [Status.SUSPENDED]
    client.clock.advance(seconds=10**9)
    client.replay(old)  # it says the old version, and is no answer to what changed
    assert client.serves() == []
    service.reachable = True
    client.call(key="b")
    assert client.serves() == ["1"]


@pytest.mark.requirement("C-CLI-14")
def test_what_moved_is_held_before_the_service_is_asked() -> None:
    client, wire = taught(suggestion(), policy=A2DC)
    served: list[object] = []

    class Curious(Wire):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            served.append(client.serves())
            return super().handle_request(request)

    client.relay.service = Curious([report({"codes": "v2"})], {"version": "v2", "rows": {}})
    client.call()
    assert served == [["1"], []]  # at the call, and at the question
    assert client.serves() == ["1"]
    assert wire.asked == []


@pytest.mark.requirement("C-CLI-15")
def test_rows_that_changed_evict_and_the_others_are_restamped() -> None:
    service = ScriptedService({"codes": ROWS})
    client = Client(service)
    client.call(key="a")
    client.call(key="b")
    service.reload("codes", {"a": "1", "b": "3"})
    client.call(key="a", value="1")
    assert (client.serves(key="a"), client.serves(key="b")) == (["1"], [])
    assert client.told("evicted") == ["row_moved"]
    assert client.memory.counters["restamped"] == 1


@pytest.mark.requirement("C-CLI-16")
def test_an_answer_that_is_not_complete_evicts_everything_under_the_table() -> None:
    service = ScriptedService({"codes": ROWS, "tokens": ROWS})
    client = Client(service)
    for table, key in (("codes", "a"), ("codes", "b"), ("tokens", "a")):
        client.call(table, key)
    service.reload("codes", ROWS)
    service.forget_log("codes")
    client.call("tokens", "b", "2")
    assert client.told("evicted") == ["log_too_short"] * 2
    assert client.serves("tokens", "a") == ["1"]


@pytest.mark.requirement("C-CLI-16")
def test_a_fix_that_names_no_row_goes_when_any_row_changed_and_stays_when_none_did() -> None:
    service = ScriptedService({"codes": ROWS}, rows_told=False)
    client = Client(service)
    client.call()
    service.reload("codes", ROWS)
    client.call(value="1")
    assert client.serves() == ["1"]
    service.reload("codes", {"a": "1", "b": "3"})
    client.call(value="1")
    assert client.serves() == []
    assert client.told("evicted") == ["row_unknown"]


@pytest.mark.requirement("C-CLI-17")
def test_a_fix_that_rests_on_an_absent_row_goes_when_the_row_appears() -> None:
    absent = {"table": "codes", "key": "new", "version": None}
    client, wire = taught(suggestion(rows=[absent]))
    wire.answers = [report({"codes": "v2"}), report({"codes": "v3"})]
    wire.changes = {"version": "v2", "rows": {"other": "x"}}
    client.call()
    assert client.serves() == ["1"]
    wire.changes = {"version": "v3", "rows": {"new": "x"}}
    client.call()
    assert client.told("evicted") == ["row_moved"]


@pytest.mark.requirement("C-CLI-18")
def test_two_clients_that_saw_the_same_keep_the_same() -> None:
    kept: list[list[object]] = []
    for _ in range(2):
        service = ScriptedService({"codes": ROWS})
        client = Client(service)
        for key in ("b", "a"):
            client.call(key=key)
        service.reload("codes", {"a": "1", "b": "9"})
        client.call(key="a", value="1")
        kept.append([dict(record.content) for record in client.memory.records()])
    assert kept[0] == kept[1] != []


# -- asking ----------------------------------------------------------------------------------------


@pytest.mark.requirement("C-CLI-19")
@pytest.mark.parametrize(
    ("location", "asked"),
    [
        (None, "http://api.example/contract/changes"),
        ("/x/contract", "http://api.example/x/contract/changes"),
        ("contract", "http://api.example/fix/codes/contract/changes"),
        ("../rules/", "http://api.example/fix/rules/changes"),
        ("http://API.example:80/c?q=1", "http://api.example/c/changes"),
        ("http://user:pass@api.example/c", "http://api.example/c/changes"),
        ("//other.example/contract", None),
        ("https://api.example/contract", None),
        ("http://api.example:8080/contract", None),
        ("http://api.example@other.example/", None),
        ("javascript:alert(1)", None),
        ("http://[::1", None),
    ],
)
def test_the_place_to_ask_is_resolved_and_another_origin_is_ignored(
    location: str | None, asked: str | None
) -> None:
    client, wire = taught(suggestion())
    told = {} if location is None else {"contract-location": json.dumps(location)}
    wire.answers = [
        httpx2.Response(200, json={"table_versions": {"codes": "v2"}}, headers=told),
    ]
    client.call()
    assert [str(r.url).partition("?")[0] for r in wire.asked] == ([] if asked is None else [asked])
    if asked is None:
        assert client.told("refused") == ["foreign_location"]
        assert client.serves() == []


@pytest.mark.requirement("C-CLI-19")
def test_credentials_of_the_call_go_to_its_own_origin_and_nowhere_else() -> None:
    client, wire = taught(suggestion())
    secrets = {"authorization": "Bearer s3cret", "cookie": "session=1", "x-api-key": "k"}
    wire.answers = [report({"codes": "v2"})]
    client.http.post("/fix/codes/a", json={}, headers=secrets)
    (request,) = wire.asked
    assert request.url.host == "api.example"
    assert {n: request.headers.get(n) for n in secrets} == {**secrets, "x-api-key": None}


@pytest.mark.requirement("C-CLI-20")
def test_only_what_moved_under_own_fixes_is_asked_about_and_once_a_response() -> None:
    client, wire = taught(suggestion())
    wire.changes = {"version": "v2", "rows": {}}
    wire.answers = [
        report({"codes": "v1", "tokens": "t1"}),
        report({"codes": "v1", "tokens": "t2"}),
        report({"codes": "v2", "tokens": "t2"}),
        report({"codes": "v2", "tokens": "t2"}),
    ]
    for _ in range(4):
        client.call()
    assert [dict(r.url.params) for r in wire.asked] == [{"table": "codes", "since": "v1"}]
    assert client.memory.counters["unchanged"] == 1


@pytest.mark.requirement("C-CLI-21")
def test_the_first_fix_under_a_table_is_confirmed_before_it_is_stored() -> None:
    wire = Wire([refusal(suggestion())], {"version": "v1", "rows": {}})
    client = Client(wire)
    client.call()
    assert [dict(r.url.params) for r in wire.asked] == [{"table": "codes", "since": "v1"}]
    assert client.serves() == ["1"]


@pytest.mark.requirement("C-CLI-21")
@pytest.mark.parametrize(
    "changes",
    [
        {"version": "v2", "rows": {"a": "y"}},
        {"version": "v2", "complete": False},
        {"version": None, "complete": False},
    ],
)
def test_the_first_fix_is_not_stored_if_what_it_rests_on_has_changed(
    changes: dict[str, Any],
) -> None:
    rows = [{"table": "codes", "key": "a", "version": "x"}]
    client = Client(Wire([refusal(suggestion(rows=rows))], changes))
    client.call()
    assert client.memory.records() == ()
    assert client.told("refused") == ["late"]


@pytest.mark.requirement("C-CLI-21")
def test_a_service_without_the_endpoint_is_taken_at_its_word() -> None:
    client = Client(Wire([refusal(suggestion())], None))
    client.call()
    assert client.serves() == ["1"]
