"""The HTTP transport over another one that behaves in every way a network does."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import A2D
from lapse.ledger import Status
from lapse.runtime import Event, Memory
from lapse.storage import InMemoryStore
from lapse.testing import ManualClock, SequenceIds
from lapse.transports.exchange import BODY_LIMIT
from lapse.transports.http import Transport

JSON = {"content-type": "application/json"}
SUGGESTION = {
    "type": "SET",
    "parameters": {"code": "A"},
    "cache_hint": "cacheable",
    "table": "codes",
    "when": {"tier": "gold"},
}


def body_of(version: str = "v1", *suggestions: dict[str, Any], **more: Any) -> bytes:
    """A body with contract members."""
    members = {
        "table_versions": {"codes": version},
        "recovery_feedback": {"suggestions": suggestions},
    }
    return json.dumps({**members, **more}).encode()


TEACHING = body_of("v1", SUGGESTION)


def packed(body: bytes) -> bytes:
    """The same bytes in every process: a time would be written into them otherwise."""
    return gzip.compress(body, mtime=0)


@dataclass
class Stream(httpx2.SyncByteStream):
    """A body in pieces; writes down what happens to it."""

    chunks: Iterable[bytes]
    log: list[str] = field(default_factory=list[str])
    breaks: Exception | None = None

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.chunks:
            self.log.append("chunk")
            yield chunk
        if self.breaks is not None:
            raise self.breaks

    def close(self) -> None:
        self.log.append("close")


def not_offered(_: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(404)


@dataclass
class Network(httpx2.BaseTransport):
    """Answers calls with what is ready, and questions with what a test says."""

    ready: list[Callable[[], httpx2.Response]] = field(
        default_factory=list[Callable[[], httpx2.Response]]
    )
    question: Callable[[httpx2.Request], httpx2.Response] = not_offered
    asked: list[httpx2.Request] = field(default_factory=list[httpx2.Request])
    log: list[str] = field(default_factory=list[str])

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/changes"):
            self.asked.append(request)
            self.log.append("question")
            return self.question(request)
        return self.ready.pop(0)()

    def answers(
        self,
        *chunks: bytes,
        status: int = 200,
        headers: dict[str, str] | list[tuple[bytes, bytes]] = JSON,
        breaks: Exception | None = None,
    ) -> None:
        stream = Stream(chunks, self.log, breaks)
        self.ready.append(lambda: httpx2.Response(status, headers=headers, stream=stream))


def same(request: httpx2.Request) -> httpx2.Response:
    """Says that nothing changed, at the version `v2`."""
    asked = dict(request.url.params)
    return httpx2.Response(200, json={**asked, "version": "v2", "complete": True, "rows": {}})


class Agent:
    """A client over a network, with its memory."""

    def __init__(self, network: httpx2.BaseTransport, **options: Any) -> None:
        ids = SequenceIds()
        self.memory = Memory(InMemoryStore(ids=ids), clock=ManualClock(1), ids=ids, policy=A2D)
        self.events: list[Event] = []
        self.memory.observe(self.events.append)
        self.http = httpx2.Client(
            transport=Transport(self.memory, network, **options), base_url="http://api.example"
        )

    def serves(self, operation: str = "POST /x") -> list[object]:
        found = self.memory.fixes(operation, {"tier": "gold"}, issuer="http://api.example")
        return [fix.parameters["code"] for fix in found]

    def told(self, what: str) -> list[tuple[str, str]]:
        return [(event.reason, event.where) for event in self.events if event.what == what]


def agent_that_learned(network: Network, **options: Any) -> Agent:
    """An agent with one fix under `codes` at v1."""
    agent = Agent(network, **options)
    network.answers(TEACHING, status=422)
    says, network.question = network.question, not_offered
    agent.http.post("/x", json={"tier": "gold"})
    assert agent.serves() == ["A"]
    network.question = says
    network.asked.clear()
    network.log.clear()
    agent.events.clear()
    return agent


# -- byte for byte ---------------------------------------------------------------------------------

bodies = st.one_of(
    st.binary(max_size=40),
    st.just(TEACHING),
    st.just(packed(TEACHING)),
    st.just(zlib.compress(TEACHING)),
    st.just(packed(TEACHING)[:-9]),
)
field_values = st.sampled_from(
    [
        ("content-type", "application/json"),
        ("content-type", "application/problem+json; charset=utf-8"),
        ("content-type", "text/plain"),
        ("content-type", "Application/JSON"),
        ("content-encoding", "gzip"),
        ("content-encoding", "deflate"),
        ("content-encoding", "br, gzip"),
        ("content-encoding", "who-knows"),
        ("contract-versions", '"codes";v="v1"'),
        ("contract-versions", "((("),
        ("contract-rules", '"r1"'),
        ("contract-location", '"//evil.example"'),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("x-bytes", "\xff"),
        ("etag", 'W/"x"'),
    ]
)


def pieces(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)] or [b""]


def read_whole(response: httpx2.Response) -> object:
    return response.read()


def read_raw(response: httpx2.Response) -> object:
    return list(response.iter_raw())


def read_in_pieces(response: httpx2.Response) -> object:
    return list(response.iter_bytes(3))


def read_first_piece(response: httpx2.Response) -> object:
    return next(response.iter_raw(), None)


def read_nothing(response: httpx2.Response) -> object:
    return response.is_closed


readings = st.sampled_from([read_whole, read_raw, read_in_pieces, read_first_piece, read_nothing])


def outcome(
    client: httpx2.Client, method: str, read: Callable[[httpx2.Response], object]
) -> object:
    try:
        with client.stream(method, "/x") as response:
            found = read(response)
            return response.status_code, response.headers.raw, response.extensions, found
    except httpx2.HTTPError as failure:
        return type(failure), str(failure)


@given(
    body=bodies,
    size=st.integers(1, 50),
    fields=st.lists(field_values, max_size=5),
    status=st.sampled_from([200, 204, 206, 304, 404, 422, 500]),
    method=st.sampled_from(["GET", "HEAD", "POST"]),
    read=readings,
    breaks=st.sampled_from([None, httpx2.ReadError("gone"), httpx2.RemoteProtocolError("cut")]),
)
def test_a_response_is_the_same_with_the_transport_and_without(
    body: bytes,
    size: int,
    fields: list[tuple[str, str]],
    status: int,
    method: str,
    read: Callable[[httpx2.Response], object],
    breaks: Exception | None,
) -> None:
    plain, wrapped = Network(), Network()
    lines = [(name.encode(), value.encode("latin-1")) for name, value in fields]
    for network in (plain, wrapped):
        network.answers(*pieces(body, size), status=status, headers=lines, breaks=breaks)
    expected = outcome(httpx2.Client(transport=plain, base_url="http://a"), method, read)
    assert outcome(Agent(wrapped).http, method, read) == expected
    assert wrapped.log.count("close") == 1
    assert [entry for entry in wrapped.log if entry == "chunk"] == [
        entry for entry in plain.log if entry == "chunk"
    ]


# -- what is taken in ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "coded"),
    [
        ("gzip", packed(TEACHING)),
        ("deflate", zlib.compress(TEACHING)),
        ("gzip, deflate", zlib.compress(packed(TEACHING))),
        ("identity", TEACHING),
    ],
    ids=["gzip", "deflate", "both", "none"],
)
def test_content_codings_are_undone(encoding: str, coded: bytes) -> None:
    network = Network()
    network.answers(*pieces(coded, 7), headers={**JSON, "content-encoding": encoding})
    agent = Agent(network)
    assert agent.http.post("/x", json={}).content == TEACHING
    assert agent.serves() == ["A"]


@pytest.mark.parametrize(
    ("headers", "body", "reason"),
    [
        ({"content-encoding": "gzip"}, packed(TEACHING)[:10] + b"!!!!!", "undecodable"),
        ({"content-encoding": "gzip"}, packed(b" " * (BODY_LIMIT + 1)), "too_large"),
        ({"content-encoding": "br"}, b"\x8b\x07\x80\xff", "not_utf8"),
        ({}, b'{"x": "' + b"y" * BODY_LIMIT + b'"}', "too_large"),
        ({}, b'{"table_versions"', "malformed_json"),
    ],
    ids=["broken code", "a bomb", "an unknown code", "a flood", "no JSON"],
)
def test_a_body_that_cannot_be_looked_at_is_told_and_its_headers_still_count(
    headers: dict[str, str], body: bytes, reason: str
) -> None:
    network = Network()
    agent = agent_that_learned(network)
    mirrors = {"contract-versions": '"codes";v="v2"'}
    network.answers(*pieces(body, 64 * 1024), headers={**JSON, **headers, **mirrors})
    with agent.http.stream("POST", "/x") as response:
        assert b"".join(response.iter_raw()) == body
    assert (reason, "body") in agent.told("refused")
    assert agent.told("evicted") == [("log_too_short", "")]


@pytest.mark.parametrize(
    ("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304), ("GET", 301)]
)
def test_a_response_without_a_body_is_taken_in_by_its_headers(method: str, status: int) -> None:
    network = Network(question=same)
    agent = agent_that_learned(network)
    network.answers(status=status, headers={"contract-versions": '"codes";v="v2"'})
    agent.http.request(method, "/anything")
    assert len(network.asked) == 1
    assert agent.memory.counters["restamped"] == 1


@pytest.mark.parametrize("read", [read_first_piece, read_nothing])
def test_a_body_left_early_is_taken_in_by_its_headers_alone(
    read: Callable[[httpx2.Response], object],
) -> None:
    network = Network(question=same)
    agent = agent_that_learned(network)
    mirrors = {"contract-versions": '"codes";v="v2"'}
    network.answers(*pieces(body_of("v9"), 4), headers={**JSON, **mirrors})
    with agent.http.stream("GET", "/x") as response:
        read(response)
    assert network.log[-2:] == ["close", "question"]
    assert [dict(request.url.params)["since"] for request in network.asked] == ["v1"]
    assert agent.serves() == ["A"]


def test_a_body_that_breaks_off_breaks_off_for_the_caller_and_its_headers_count() -> None:
    network = Network(question=same)
    agent = agent_that_learned(network)
    mirrors = {"contract-versions": '"codes";v="v2"'}
    network.answers(b"{", headers={**JSON, **mirrors}, breaks=httpx2.ReadError("gone"))
    with pytest.raises(httpx2.ReadError, match="gone"):
        agent.http.get("/x")
    assert len(network.asked) == 1


def test_an_event_stream_flows_and_what_its_headers_say_is_held_back_at_once() -> None:
    network = Network(question=same)
    agent = agent_that_learned(network)
    headers = {"content-type": "text/event-stream", "contract-versions": '"codes";v="v2"'}
    network.answers(b"data: 1\n\n", b"data: 2\n\n", headers=headers)
    with agent.http.stream("GET", "/events") as response:
        assert agent.serves() == []  # before the first event
        for event in response.iter_raw():
            assert event.startswith(b"data")
            assert network.asked == []
    assert network.log == ["chunk", "chunk", "close", "question"]
    assert agent.serves() == ["A"]


def test_the_service_is_asked_after_the_response_gave_its_connection_back() -> None:
    network = Network(question=same)
    agent = agent_that_learned(network)
    network.answers(*pieces(body_of("v2"), 30))
    agent.http.get("/x")
    assert network.log[-2:] == ["close", "question"]
    assert network.log.count("close") == 1


def test_a_response_that_was_read_already_is_taken_in_at_once() -> None:
    network = Network(question=same)
    agent = agent_that_learned(network)
    network.ready.append(lambda: httpx2.Response(200, content=body_of("v2"), headers=JSON))
    with agent.http.stream("GET", "/x"):
        assert len(network.asked) == 1


# -- what the request says -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "members"),
    [
        ({"json": {"a": 1}}, {"a": 1}),
        ({"content": b'{"a": 1}', "headers": {"content-type": "application/x+json"}}, {"a": 1}),
        ({"data": {"a": "1", "b": ""}}, {"a": "1", "b": ""}),
        ({"params": {"a": "1"}}, {"a": "1"}),
        ({"json": [1]}, None),
        ({"content": b"{", "headers": JSON}, None),
        ({"content": b"[" * 100_000, "headers": JSON}, None),
        ({"content": b"\xff", "headers": JSON}, None),
        ({"content": b"plain"}, None),
        ({"files": {"f": b"x"}}, None),
        ({"content": iter([b'{"a":', b" 1}"]), "headers": JSON}, None),
    ],
)
def test_a_fix_for_one_request_is_bound_to_its_members(
    sent: dict[str, Any], members: dict[str, Any] | None
) -> None:
    network = Network()
    bare = {name: value for name, value in SUGGESTION.items() if name != "when"}
    network.answers(body_of("v1", bare), status=422)
    agent = Agent(network)
    assert agent.http.post("/x", **sent).status_code == 422
    if members is None:
        assert agent.told("refused")[-1][0] == "no_situation"
    else:
        assert len(agent.memory.fixes("POST /x", members)) == 1


def test_a_body_that_is_a_stream_reaches_the_wrapped_transport_whole() -> None:
    class Echo(httpx2.BaseTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, content=request.read(), headers=JSON)

    parts = (part for part in (b'{"a":', b" 1}"))
    assert Agent(Echo()).http.post("/x", content=parts).json() == {"a": 1}


def test_operations_and_issuers_may_be_named() -> None:
    network = Network()
    network.answers(TEACHING, status=422)

    def template(request: httpx2.Request) -> str:
        return f"{request.method} template"

    agent = Agent(network, issuer="billing", operation=template)
    agent.http.post("/customers/17")
    (record,) = agent.memory.records()
    assert (record.issuer, record.topic) == ("billing", "POST template")


def test_a_name_that_cannot_be_given_is_a_failure_of_nobody_else() -> None:
    def unnamed(request: httpx2.Request) -> str:
        raise LookupError(request.url.path)

    network = Network()
    network.answers(TEACHING, status=422)
    agent = Agent(network, operation=unnamed)
    assert agent.http.post("/x").content == TEACHING
    assert agent.told("failed") == [("LookupError", "")]


def test_an_observer_that_raises_does_not_reach_the_caller() -> None:
    def broken(event: Event, /) -> None:
        raise RuntimeError(event.what)

    network = Network()
    network.answers(TEACHING, status=422)
    agent = Agent(network)
    agent.memory.observe(broken)
    assert agent.http.post("/x", json={}).status_code == 422
    assert agent.serves() == ["A"]
    assert agent.memory.counters["observer_failed"] > 0


def test_a_failure_of_the_wrapped_transport_is_the_callers() -> None:
    def refuse() -> httpx2.Response:
        raise httpx2.ConnectError("nobody is there")

    with pytest.raises(httpx2.ConnectError, match="nobody"):
        Agent(Network([refuse])).http.get("/x")


def test_closing_the_client_closes_the_wrapped_transport() -> None:
    closed: list[bool] = []

    class Closing(Network):
        def close(self) -> None:
            closed.append(True)

    Agent(Closing()).http.close()
    assert closed == [True]


# -- asking ----------------------------------------------------------------------------------------


def hangs_up(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ReadError(f"{request.url} hung up")


def breaks_off(_: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(200, stream=Stream([b"{"], breaks=httpx2.ReadError("cut")))


def says(status: int, **members: Any) -> Callable[[httpx2.Request], httpx2.Response]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        asked: dict[str, Any] = dict(request.url.params)
        asked |= {"version": "v2", "complete": True, "rows": {}}
        return httpx2.Response(status, json={**asked, **members})

    return answer


def writes(body: bytes) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda _: httpx2.Response(200, stream=Stream(pieces(body, 64 * 1024)))


BAD_ANSWERS = {
    "hangs up": hangs_up,
    "breaks off": breaks_off,
    "an error": says(500),
    "a busy server": says(503),
    "a redirect": says(302),
    "no permission": says(401),
    "another table": says(200, table="tokens"),
    "another version": says(200, since="v0"),
    "no rows": says(200, rows=5),
    "no boolean": says(200, complete="yes"),
    "garbage": writes(b"garbage"),
    "nothing": writes(b""),
    "an abyss": writes(b"[" * 100_000),
    "a flood": writes(b" " * 10_000_000),
}


@pytest.mark.parametrize("question", BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
def test_an_answer_that_does_not_count_leaves_the_fixes_held(
    question: Callable[[httpx2.Request], httpx2.Response],
) -> None:
    network = Network(question=same)
    agent = agent_that_learned(network)
    network.question = question
    network.answers(body_of("v2"))
    assert agent.http.get("/x").content == body_of("v2")
    assert agent.serves() == []
    assert [record.status for record in agent.memory.records()] == [Status.SUSPENDED]
    network.question = same
    network.answers(body_of("v2"))
    agent.http.get("/x")
    assert agent.serves() == ["A"]


@pytest.mark.requirement("C-CLI-16")
def test_a_question_that_wants_credentials_leaves_the_fixes_held_and_says_so() -> None:
    network = Network(question=same)
    agent = agent_that_learned(network)
    network.question = says(401)
    network.answers(body_of("v2"))
    agent.http.get("/x")
    assert agent.serves() == []
    assert ("unauthenticated", "changes") in agent.told("refused")


@pytest.mark.requirement("C-CLI-16")
@pytest.mark.parametrize("status", [403, 404, 405, 410, 501])
def test_a_service_without_the_endpoint_costs_the_whole_table(status: int) -> None:
    network = Network(question=same)
    agent = agent_that_learned(network)
    network.question = says(status)
    network.answers(body_of("v2"))
    agent.http.get("/x")
    assert agent.told("evicted") == [("log_too_short", "")]


def test_a_question_goes_with_the_headers_that_were_named_and_the_calls_patience() -> None:
    network = Network(question=same)
    agent = agent_that_learned(network, forwarded=("x-api-key",))
    network.answers(body_of("v2"))
    headers = {"x-api-key": "k", "authorization": "Bearer b", "x-http-method-override": "DELETE"}
    agent.http.get("/x", headers=headers, timeout=7.0, extensions={"target": b"/elsewhere"})
    (request,) = network.asked
    assert dict(request.headers) == {"host": "api.example", "x-api-key": "k"}
    assert request.extensions == {"timeout": httpx2.Timeout(7.0).as_dict()}
    assert request.method == "GET"


def test_a_table_of_any_name_is_asked_about_by_its_name() -> None:
    table = "a/b?c=d&e#f +%é\u4e2d"
    suggestion = {**SUGGESTION, "table": table}
    network = Network(question=same)
    agent = Agent(network)
    versions = {table: "v 1&since=x"}
    body = {"table_versions": versions, "recovery_feedback": {"suggestions": [suggestion]}}
    network.answers(json.dumps(body).encode(), status=422)
    agent.http.post("/x", json={})
    assert [dict(r.url.params) for r in network.asked] == [{"table": table, "since": "v 1&since=x"}]


def test_a_redirect_to_another_origin_is_another_issuer_and_gets_no_credentials() -> None:
    network = Network(question=same)
    agent = agent_that_learned(network)
    network.answers(b"{}", status=307, headers={**JSON, "location": "http://other.example/x"})
    network.answers(TEACHING, status=422)
    response = agent.http.post(
        "/x", json={}, headers={"authorization": "Bearer s"}, follow_redirects=True
    )
    assert response.status_code == 422
    (request,) = network.asked
    assert (request.url.host, request.headers.get("authorization")) == ("other.example", None)
    assert {record.issuer for record in agent.memory.records()} == {
        "http://api.example",
        "http://other.example",
    }


# -- the other library -----------------------------------------------------------------------------


class OldNetwork(httpx.BaseTransport):
    """A service behind an httpx client: teaches, then moves."""

    def __init__(self) -> None:
        self.asked: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/changes"):
            self.asked.append(request)
            asked = dict(request.url.params)
            return httpx.Response(200, json={**asked, "version": "v1", "complete": True})
        stream = OldStream(pieces(packed(TEACHING), 11))
        return httpx.Response(422, headers={**JSON, "content-encoding": "gzip"}, stream=stream)


@dataclass
class OldStream(httpx.SyncByteStream):
    chunks: Iterable[bytes]

    def __iter__(self) -> Iterator[bytes]:
        yield from self.chunks


def test_an_httpx_client_with_an_httpx_transport_is_served_as_well() -> None:
    network = OldNetwork()
    agent = Agent(Network())
    transport: Any = Transport(agent.memory, network)  # type: ignore[arg-type]  # alike, not related
    with httpx.Client(transport=transport, base_url="http://api.example") as client:
        response = client.post("/x", json={"tier": "gold"})
    assert response.json() == json.loads(TEACHING)
    assert isinstance(network.asked[0], httpx.Request)
    assert agent.serves() == ["A"]
    assert agent.told("failed") == []
