"""The transport that merges fixes into requests: into which, when, and what is left on record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapse.contract import A2D, Amendment, AmendmentRules, fingerprint_of
from lapse.errors import InvalidValue, StoreUnavailable
from lapse.ledger import Change, ChangeKind, Head, Status
from lapse.runtime import Event, Memory
from lapse.storage import InMemoryStore
from lapse.testing import ManualClock, SequenceIds
from lapse.transports.http import Amended, AsyncTransport, RequestSchemas, Transport, unamended
from lapse.transports.http_amending import Consume

JSON = {"content-type": "application/json"}
SCHEMAS = RequestSchemas.by_operation(
    {
        "POST /order": {
            "type": "object",
            "properties": {
                "plan": {"type": "string"},
                "code": {"type": "string"},
                "tier": {"enum": ["gold", "silver"]},
                "amount": {"type": "number"},
            },
        }
    }
)
URL = "http://api.example/order"


class Shop(httpx2.BaseTransport):
    """Wants a code; offers it when it is missing, with whatever else a test says."""

    def __init__(self) -> None:
        self.code = "A"
        self.offer: dict[str, Any] = {"code": "A"}
        self.heard: list[httpx2.Request] = []
        self.answer: Callable[[dict[str, Any]], httpx2.Response] = self.judge
        self.version = "1"

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/changes"):
            return httpx2.Response(404)
        self.heard.append(request)
        return self.answer(json.loads(request.read() or b"{}"))

    def judge(self, members: dict[str, Any]) -> httpx2.Response:
        stamps = {"table_versions": {"codes": self.version}}
        if members.get("code") == self.code:
            return httpx2.Response(200, json={"success": True, **stamps})
        suggestion = {
            "type": "SET",
            "parameters": self.offer,
            "cache_hint": "cacheable",
            "table": "codes",
            "when": {"plan": members.get("plan")},
        }
        feedback = {"suggestions": [suggestion] if self.offer else []}
        body = {"success": False, "recovery_feedback": feedback, **stamps}
        return httpx2.Response(422, json=body)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.read()) for request in self.heard]


class Scene:
    """A shop, a memory that knows its fix, and a client."""

    def __init__(self, consume: Consume = "apply", **options: Any) -> None:
        self.shop, ids = Shop(), SequenceIds()
        self.store = options.pop("store", None) or InMemoryStore(ids=ids)
        self.memory = Memory(self.store, clock=ManualClock(1), ids=ids, policy=A2D)
        self.events: list[Event] = []
        self.memory.observe(self.events.append)
        if consume != "brief":
            options = {"schemas": SCHEMAS, **options}
        self.transport = Transport(self.memory, self.shop, consume=consume, **options)
        self.client = httpx2.Client(transport=self.transport)

    def learn(self, **offer: Any) -> str:
        """Have an order refused that was not amended; the id of the fix that comes of it."""
        self.shop.offer = offer or {"code": "A"}
        self.order()
        self.shop.heard.clear()
        return self.memory.records()[-1].id

    def order(self, **more: Any) -> httpx2.Response:
        return self.client.post(URL, json={"plan": "growth", **more})

    def told(self, what: str) -> list[str]:
        return [event.reason for event in self.events if event.what == what]

    def applied(self) -> list[Change]:
        return [c for c in self.store.changes() if c.kind is ChangeKind.APPLIED]


@pytest.mark.requirement("C-CLI-22")
def test_a_request_is_not_touched_unless_that_was_asked_for() -> None:
    scene = Scene("brief")
    scene.learn()
    scene.client = httpx2.Client(transport=Transport(scene.memory, scene.shop))
    assert scene.order().status_code == 422
    assert scene.shop.heard[-1].read() == b'{"plan":"growth"}'
    assert scene.applied() == []


def test_a_fix_is_merged_and_the_first_try_passes() -> None:
    scene = Scene()
    fix = scene.learn()
    response = scene.order()
    assert response.status_code == 200
    assert scene.shop.bodies == [{"plan": "growth", "code": "A"}]
    assert scene.shop.heard[0].headers["content-length"] == str(len(scene.shop.heard[0].read()))
    assert scene.told("applied") == ["merged"]
    assert [r.outcome.value for r in scene.memory.record(fix).receipts] == ["confirms", "confirms"]


@pytest.mark.requirement("C-CLI-23")
def test_the_callers_request_is_not_changed() -> None:
    scene = Scene()
    scene.learn()
    request = scene.client.build_request("POST", URL, json={"plan": "growth"}, headers={"x-a": "b"})
    before = (request.read(), request.headers.raw, dict(request.extensions))
    response = scene.client.send(request)
    assert (request.read(), request.headers.raw, dict(request.extensions)) == before
    assert response.request is request
    sent = scene.shop.heard[-1]
    assert (sent.method, sent.url, sent.headers["x-a"]) == ("POST", request.url, "b")
    assert sent.extensions["timeout"] == request.extensions["timeout"]


@pytest.mark.requirement("C-CLI-23")
@pytest.mark.parametrize(
    "given",
    [
        {"data": {"plan": "growth"}},
        {"content": b'{"plan": "growth"}'},
        {"content": b'{"plan": "growth"}', "headers": {"content-type": "text/plain"}},
        {"content": b'{"plan": "growth"}', "headers": {**JSON, "content-encoding": "identity"}},
        {"content": b'{"plan": "growth"}', "headers": {**JSON, "content-digest": "sha-256=:x:"}},
        {"content": b'{"plan": "growth"}', "headers": {**JSON, "signature": "a=:x:"}},
        {"content": b'{"plan": "growth", "plan": "growth"}', "headers": JSON},
        {"content": b'{"plan": "growth", "n": 0.1000000000000000055511}', "headers": JSON},
        {"content": b'{"plan": "growth", "n": 1e999}', "headers": JSON},
        {"content": b'{"plan": "growth", "n": NaN}', "headers": JSON},
        {"content": b'{"plan": "growth"', "headers": JSON},
        {"content": '{"plan": "growth"}'.encode("utf-16"), "headers": JSON},
        {"content": b'["growth"]', "headers": JSON},
        {"content": b"", "headers": JSON},
        {"content": b"[" * 100_000, "headers": JSON},
    ],
)
def test_what_could_not_be_written_again_as_it_was_passes_byte_for_byte(
    given: dict[str, Any],
) -> None:
    scene = Scene()
    scene.learn()
    heard: list[bytes] = []

    class Ear(httpx2.BaseTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            heard.append(request.read())
            return httpx2.Response(204)

    client = httpx2.Client(
        transport=Transport(scene.memory, Ear(), consume="apply", schemas=SCHEMAS)
    )
    request = client.build_request("POST", URL, **given)
    client.send(request)
    assert heard == [request.read()]
    assert scene.applied() == []


@pytest.mark.requirement("C-CLI-23")
def test_a_body_that_is_a_stream_is_left_to_the_wrapped_transport() -> None:
    scene = Scene()
    scene.learn()

    def pieces() -> Iterator[bytes]:
        yield b'{"plan":'
        yield b'"growth"}'

    response = scene.client.post(URL, content=pieces(), headers=JSON)
    assert response.status_code == 422
    assert scene.shop.bodies == [{"plan": "growth"}]


@pytest.mark.requirement("C-CLI-22")
def test_an_operation_without_a_schema_gets_nothing_merged() -> None:
    scene = Scene(schemas=RequestSchemas.by_operation({}))
    scene.learn()
    assert scene.order().status_code == 422
    assert scene.told("declined") == ["no_schema"]


@pytest.mark.requirement("C-CLI-24")
def test_a_fix_goes_to_its_own_issuer_and_to_requests_like_the_one_it_was_given_for() -> None:
    scene = Scene()
    scene.learn()
    scene.client.post(URL, json={"plan": "scale"})
    scene.client.post("http://other.example/order", json={"plan": "growth"})
    assert scene.shop.bodies == [{"plan": "scale"}, {"plan": "growth"}]


@pytest.mark.requirement("C-CLI-24")
def test_a_fix_in_abeyance_is_not_merged() -> None:
    scene = Scene()
    fix = scene.learn()
    scene.shop.version = "2"
    scene.client.post(URL, json={"plan": "scale", "code": "A"})  # tells that the table moved
    assert scene.memory.record(fix).status is not Status.ACTIVE
    scene.order()
    assert scene.shop.bodies[-1] == {"plan": "growth"}


@pytest.mark.requirement("C-CLI-26")
def test_a_fix_that_also_sets_something_sensitive_is_not_merged_at_all() -> None:
    scene = Scene()
    scene.learn(code="A", amount=1)
    assert scene.order().status_code == 422
    assert scene.shop.bodies == [{"plan": "growth"}]
    assert scene.told("declined") == ["sensitive_field"]


@pytest.mark.requirement("C-CLI-27")
def test_the_amendment_is_on_record_before_the_request_leaves_and_holds_no_content() -> None:
    scene = Scene()
    fix = scene.learn()
    on_record: list[int] = []

    def judge(members: dict[str, Any]) -> httpx2.Response:
        on_record.append(len(scene.applied()))
        return Shop.judge(scene.shop, members)

    scene.shop.answer = judge
    scene.client.post(URL, json={"plan": "growth", "note": "s3cret"})
    assert on_record == [1]
    (change,) = scene.applied()
    before = {"plan": "growth", "note": "s3cret"}
    assert [(part.record, part.value()) for part in change.parts] == [
        (
            fix,
            {
                "operation": "POST /order",
                "before": fingerprint_of(before),
                "after": fingerprint_of({**before, "code": "A"}),
            },
        )
    ]
    assert (change.actor, change.reason) == ("transport", "merged")
    assert b"s3cret" not in b"".join(p.body or b"" for c in scene.store.changes() for p in c.parts)
    assert [c.what for c in scene.memory.why(fix)][:2] == [ChangeKind.WRITTEN, ChangeKind.APPLIED]


class Failing(InMemoryStore):
    """Takes no change of one kind, or cannot be read."""

    fails = False
    is_away = False

    def head(self) -> Head:
        if self.is_away:
            raise StoreUnavailable("gone")
        return super().head()

    def append(self, changes: Any, *, after: Head) -> None:
        if self.fails and any(change.kind is ChangeKind.APPLIED for change in changes):
            raise StoreUnavailable("gone")
        super().append(changes, after=after)


@pytest.mark.requirement("C-CLI-27")
def test_what_cannot_be_recorded_is_not_merged_and_is_told() -> None:
    store = Failing(ids=SequenceIds("s"))
    scene = Scene(store=store)
    scene.learn()
    store.fails = True
    assert scene.order().status_code == 422
    assert scene.shop.bodies == [{"plan": "growth"}]
    assert scene.told("declined") == ["not_recorded"]
    assert scene.told("failed") == ["StoreUnavailable"]
    assert scene.memory.counters["declined"] == 1


@pytest.mark.requirement("C-CLI-27")
def test_a_fix_that_goes_while_the_user_is_asked_is_not_merged() -> None:
    def ask(made: Amendment) -> bool:
        return scene.memory.purge([made.merged[0].id]) == 1

    scene = Scene("ask", ask=ask)
    scene.learn()
    scene.order()
    assert scene.shop.bodies == [{"plan": "growth"}]
    assert scene.told("declined") == ["lapsed_meanwhile"]


def test_a_memory_that_cannot_be_read_lets_the_request_pass() -> None:
    scene = Scene()
    scene.learn()
    scene.memory.close()
    assert scene.order().status_code == 422
    assert scene.shop.bodies == [{"plan": "growth"}]


@pytest.mark.requirement("C-CLI-28")
def test_the_caller_sees_what_was_merged_and_can_take_it_back() -> None:
    scene = Scene()
    fix = scene.learn()
    request = scene.client.build_request("POST", URL, json={"plan": "growth"})
    response = scene.client.send(request)
    amended = response.extensions["lapse"]
    assert isinstance(amended, Amended)
    assert amended.original is request
    assert amended.amendment.before == {"plan": "growth"}
    assert amended.amendment.after == {"plan": "growth", "code": "A"}
    assert [one.id for one in amended.amendment.merged] == [fix]
    undone = scene.client.send(unamended(response))
    assert undone.status_code == 422
    assert scene.shop.bodies == [{"plan": "growth", "code": "A"}, {"plan": "growth"}]
    assert "lapse" not in undone.extensions
    with pytest.raises(InvalidValue, match="amended request"):
        unamended(undone)


@pytest.mark.requirement("C-CLI-28")
def test_a_request_that_was_amended_is_not_amended_again() -> None:
    scene = Scene()
    scene.learn()
    above = Transport(scene.memory, scene.transport, consume="apply", schemas=SCHEMAS)
    assert httpx2.Client(transport=above).post(URL, json={"plan": "growth"}).status_code == 200
    assert len(scene.applied()) == 1
    response = scene.order()
    scene.client.send(response.extensions["lapse"].sent)
    assert len(scene.applied()) == 2


@pytest.mark.requirement("C-CLI-28")
def test_a_retry_of_the_same_request_is_amended_as_the_first_try_was() -> None:
    scene = Scene()
    scene.learn()
    request = scene.client.build_request("POST", URL, json={"plan": "growth"})
    for _ in range(3):
        scene.client.send(request)
    assert scene.shop.bodies == [{"plan": "growth", "code": "A"}] * 3


@pytest.mark.requirement("C-CLI-28")
def test_an_idempotency_key_never_goes_out_with_two_bodies() -> None:
    scene = Scene()
    key = {"idempotency-key": "k-1"}

    def unreachable(_members: dict[str, Any]) -> httpx2.Response:
        raise httpx2.ConnectError("gone")

    scene.shop.answer = unreachable
    with pytest.raises(httpx2.ConnectError):
        scene.client.post(URL, json={"plan": "growth"}, headers=key)
    scene.shop.answer = scene.shop.judge
    scene.learn()
    scene.client.post(URL, json={"plan": "growth"}, headers=key)
    assert scene.shop.bodies == [{"plan": "growth"}]  # as it went out before the fix was known
    # that was refused, which ends the key's first life; from here on it is amended
    scene.client.post(URL, json={"plan": "growth"}, headers=key)
    assert scene.shop.bodies[-1] == {"plan": "growth", "code": "A"}
    scene.memory.purge([record.id for record in scene.memory.records()])
    scene.client.post(URL, json={"plan": "growth"}, headers=key)
    assert scene.shop.bodies[-1] == {"plan": "growth", "code": "A"}
    scene.client.post(URL, json={"plan": "growth"}, headers={"idempotency-key": "k-2"})
    assert scene.shop.bodies[-1] == {"plan": "growth"}


@pytest.mark.requirement("C-CLI-28")
def test_a_key_that_went_out_while_the_memory_was_away_stays_as_it_went_out() -> None:
    store = Failing(ids=SequenceIds("s"))
    scene = Scene(store=store)
    scene.learn()
    scene.shop.answer = lambda _members: httpx2.Response(503)
    store.is_away = True
    for _ in range(2):
        scene.client.post(URL, json={"plan": "growth"}, headers={"idempotency-key": "k"})
        store.is_away = False
    assert scene.shop.bodies == [{"plan": "growth"}] * 2


def test_idempotency_keys_are_remembered_up_to_a_bound() -> None:
    scene = Scene()
    scene.shop.answer = lambda _members: httpx2.Response(503)
    for number in range(300):
        scene.client.post(URL, json={"plan": "growth"}, headers={"idempotency-key": str(number)})
    scene.shop.answer = scene.shop.judge
    scene.learn()
    for number, merged in ((299, False), (0, True)):  # the first of them was forgotten by then
        scene.client.post(URL, json={"plan": "growth"}, headers={"idempotency-key": str(number)})
        assert ("code" in scene.shop.bodies[-1]) is merged


@pytest.mark.requirement("C-CLI-29")
@pytest.mark.parametrize(
    ("status", "disputed"),
    [
        (400, True),
        (403, True),
        (409, True),
        (422, True),
        (401, False),
        (408, False),
        (429, False),
        (500, False),
        (503, False),
        (302, False),
    ],
)
def test_a_refusal_without_a_word_of_the_contract_counts_when_it_may_be_about_the_request(
    status: int, *, disputed: bool
) -> None:
    scene = Scene()
    fix = scene.learn()
    scene.shop.answer = lambda _members: httpx2.Response(status)
    assert scene.order().status_code == status
    assert scene.memory.record(fix).status is (Status.DISPUTED if disputed else Status.ACTIVE)
    scene.order()
    assert ("code" in scene.shop.bodies[-1]) is not disputed


@pytest.mark.requirement("C-CLI-29")
def test_a_success_that_says_it_is_none_counts_as_a_refusal() -> None:
    scene = Scene()
    fix = scene.learn()
    scene.shop.answer = lambda _members: httpx2.Response(200, json={"success": False})
    scene.order()
    assert scene.memory.record(fix).status is Status.DISPUTED


def test_an_acceptance_without_a_word_of_the_contract_confirms() -> None:
    scene = Scene()
    fix = scene.learn()
    scene.shop.answer = lambda _members: httpx2.Response(204)
    scene.order()
    assert len(scene.memory.record(fix).receipts) == 2


@pytest.mark.requirement("C-CLI-29")
def test_a_success_whose_body_nobody_read_confirms_nothing() -> None:
    scene = Scene()
    fix = scene.learn()
    body = json.dumps({"success": False}).encode()

    class Slow(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield body

    scene.shop.answer = lambda _members: httpx2.Response(200, headers=JSON, stream=Slow())
    with scene.client.stream("POST", URL, json={"plan": "growth"}) as response:
        assert response.extensions["lapse"].amendment.merged
    assert len(scene.memory.record(fix).receipts) == 1
    scene.order()  # and this one is read to its end
    assert scene.memory.record(fix).status is Status.DISPUTED


@pytest.mark.requirement("C-CLI-30")
@pytest.mark.parametrize("says", [True, False, None, 1, "yes"])
def test_only_true_is_a_yes(says: object) -> None:
    asked: list[Amendment] = []

    def ask(made: Amendment) -> Any:
        asked.append(made)
        return says

    scene = Scene("ask", ask=ask)
    fix = scene.learn()
    scene.order()
    (made,) = asked
    assert (made.issuer, made.operation) == ("http://api.example", "POST /order")
    assert (made.before, made.after) == ({"plan": "growth"}, {"plan": "growth", "code": "A"})
    assert [one.id for one in made.merged] == [fix]
    merged = says is True
    assert scene.shop.bodies == [{"plan": "growth", **({"code": "A"} if merged else {})}]
    assert scene.told("declined" if not merged else "applied") == [
        "agreed" if merged else "not_confirmed"
    ]


@pytest.mark.requirement("C-CLI-30")
def test_a_callback_that_fails_says_no_and_one_that_edits_changes_nothing() -> None:
    def fails(_made: Amendment) -> bool:
        raise ZeroDivisionError

    def edits(made: Amendment) -> bool:
        made.after["code"] = "B"  # type: ignore[index]  # what it is not to do
        return True

    scene = Scene("ask", ask=fails)
    scene.learn()
    assert scene.order().status_code == 422
    scene = Scene("ask", ask=edits)
    scene.learn()
    assert scene.order().status_code == 200


@pytest.mark.requirement("C-CLI-30")
def test_an_answer_that_would_have_to_be_awaited_is_a_no_here() -> None:
    async def ask(_made: Amendment) -> bool:
        return True

    scene = Scene("ask", ask=ask)
    scene.learn()
    assert scene.order().status_code == 422


@pytest.mark.requirement("C-CLI-30")
@pytest.mark.parametrize("awaited", [True, False])
async def test_an_asynchronous_transport_asks_both_ways(*, awaited: bool) -> None:
    async def later(_made: Amendment) -> bool:
        return True

    scene = Scene()
    scene.learn()

    def judge(request: httpx2.Request) -> httpx2.Response:
        return scene.shop.handle_request(request)

    transport = AsyncTransport(
        scene.memory,
        httpx2.MockTransport(judge),
        consume="ask",
        schemas=SCHEMAS,
        ask=later if awaited else lambda _made: True,
    )
    async with httpx2.AsyncClient(transport=transport) as client:
        response = await client.post(URL, json={"plan": "growth"})
        assert response.status_code == 200
        assert (await client.send(unamended(response))).status_code == 422
    assert scene.told("applied") == ["agreed"]


def test_a_client_of_httpx_gets_a_request_of_its_own_kind() -> None:
    scene = Scene()
    scene.learn()
    kinds: list[type] = []

    class Old(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            kinds.append(type(request))
            members = json.loads(request.read())
            return httpx.Response(200 if members.get("code") == "A" else 422)

    old: Any = Old()
    transport: Any = Transport(scene.memory, old, consume="apply", schemas=SCHEMAS)
    response = httpx.Client(transport=transport).post(URL, json={"plan": "growth"})
    assert response.status_code == 200
    assert kinds == [httpx.Request]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"consume": "always"}, "consume"),
        ({"consume": "apply"}, "schemas"),
        ({"consume": "ask", "schemas": SCHEMAS}, "ask"),
        ({"consume": "apply", "schemas": SCHEMAS, "ask": bool}, "ask"),
    ],
)
def test_a_mode_that_lacks_what_it_needs_is_refused(options: dict[str, Any], field: str) -> None:
    memory = Memory(
        InMemoryStore(ids=SequenceIds()), clock=ManualClock(1), ids=SequenceIds("m"), policy=A2D
    )
    with pytest.raises(InvalidValue) as refusal:
        Transport(memory, Shop(), **options)
    assert refusal.value.field == field


def test_what_the_rules_refuse_is_not_merged() -> None:
    scene = Scene(amendment=AmendmentRules(refuses=lambda _op, path, _value: path == "code"))
    scene.learn()
    scene.order()
    assert scene.told("declined") == ["users_rule"]


members = st.dictionaries(
    st.text(max_size=4),
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats() | st.text(),
    max_size=4,
)


@settings(max_examples=60)
@given(members)
def test_law_what_is_sent_is_what_was_written_and_the_fix(given: dict[str, Any]) -> None:
    scene = Scene()
    scene.learn()
    body = json.dumps({**given, "plan": "growth"}, ensure_ascii=True).encode()
    scene.client.post(URL, content=body, headers=JSON)
    sent = scene.shop.heard[-1].read()
    if scene.applied():
        assert json.loads(sent) == {**given, "plan": "growth", "code": "A"}
    else:
        assert sent == body
