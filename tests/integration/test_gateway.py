"""The gateway over real HTTP: a real upstream behind it, real clients in front of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import httpx2
import pytest
import uvicorn
from uvicorn._types import ASGIApplication

import lapse
from lapse.errors import InvalidValue
from lapse.server import ASGIApp, Receive, Scope, Send
from lapse.server.gateway import Forwarding, Gateway
from lapse.transports.http import Transport
from lapse.wire import read_response

TOKEN = "operator"  # noqa: S105 - of a server that lives for one test
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def document(*, most: int = 100, colours: tuple[str, ...] = ("red",)) -> dict[str, Any]:
    """A service with a list that has a size, and paints that have a colour and a coat."""
    size = {"type": "integer", "minimum": 1, "maximum": most}
    paint = {
        "type": "object",
        "required": ["colour", "coats"],
        "properties": {
            "colour": {"enum": list(colours)},
            "coats": {"type": "integer", "default": 2},
            "name": {"type": "string", "maxLength": 8},
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Paint", "version": "1"},
        "paths": {
            "/paints": {
                "get": {"parameters": [{"name": "size", "in": "query", "schema": size}]},
                "post": {"requestBody": {"content": {"application/json": {"schema": paint}}}},
            }
        },
    }


@contextmanager
def served(app: ASGIApp) -> Generator[str]:
    """A real server on loopback for as long as it is needed, with its lifespan."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    config = uvicorn.Config(
        cast("ASGIApplication", app),
        log_level="critical",
        ws="none",
        date_header=False,
        server_header=False,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


SILENT = 0
"""The status of an upstream that answers nothing."""


@dataclass
class Upstream:
    """A service that answers what it is told to, and keeps what it was asked."""

    status: int = 200
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    parts: list[bytes] = field(default_factory=lambda: [b"{}"])
    seen: list[tuple[Scope, bytes]] = field(default_factory=list[tuple[Scope, bytes]])
    whole: bool = True
    """Whether it ends what it begins."""
    go_on: Event | None = None
    """What it waits for before each part but the first."""
    left: Event = field(default_factory=Event)
    """Set when its client went away."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.seen.append((scope, body))
        if self.status == SILENT:
            await receive()
            self.left.set()
            return
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        for place, part in enumerate(self.parts):
            if place and self.go_on is not None:
                await asyncio.to_thread(self.go_on.wait, 30)
            await send({"type": "http.response.body", "body": part, "more_body": True})
        if self.whole:
            await send({"type": "http.response.body", "body": b""})
            return
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()

    def says(self, status: int, value: Any, *lines: tuple[bytes, bytes]) -> None:
        """Answer with JSON from now on, or with bytes as they are."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.status, self.parts = status, [body]
        given = {name for name, _ in lines}
        kind = (b"content-type", b"application/json")
        length = (b"content-length", str(len(body)).encode())
        self.headers = [*lines, *(line for line in (kind, length) if line[0] not in given)]

    def forgets(self) -> None:
        """Be as at the start."""
        fresh = Upstream()
        for one in fields(self):
            setattr(self, one.name, getattr(fresh, one.name))

    def lines(self) -> dict[str, str]:
        """The header lines of the last request."""
        return {k.decode(): v.decode() for k, v in self.seen[-1][0]["headers"]}


@dataclass
class Stage:
    """A gateway in front of an upstream."""

    upstream: Upstream
    gateway: Gateway
    url: str
    behind: str
    file: Path

    def client(self, **options: Any) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, **options)

    def ask(self, method: str, path: str, **options: Any) -> httpx2.Response:
        with self.client() as client:
            return client.request(method, path, **options)

    def get(self, path: str, **options: Any) -> httpx2.Response:
        return self.ask("GET", path, **options)


@contextmanager
def staged(folder: Path, *, before: str = "", **options: Any) -> Generator[Stage]:
    file = folder / "openapi.json"
    file.write_text(json.dumps(document()))
    upstream = Upstream()
    forwarding = Forwarding(refusal_bytes=4096, **options)
    with ExitStack() as stack:
        behind = stack.enter_context(served(upstream))
        gateway = Gateway(file, behind + before, operator_token=TOKEN, forwarding=forwarding)
        yield Stage(upstream, gateway, stack.enter_context(served(gateway)), behind, file)


@pytest.fixture(scope="module")
def shared_stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    with staged(tmp_path_factory.mktemp("gateway")) as one:
        yield one


@pytest.fixture
def stage(shared_stage: Stage) -> Stage:
    """The shared pair of servers, its upstream as at the start."""
    shared_stage.upstream.forgets()
    return shared_stage


# -- passing through -----------------------------------------------------------------------------


def test_an_answer_passes_byte_for_byte_with_stamps_alone(stage: Stage) -> None:
    stage.upstream.headers = [
        (b"content-type", b"text/plain"),
        (b"set-cookie", b"a=1"),
        (b"set-cookie", b"b=2"),
        (b"connection", b"x-private"),
        (b"x-private", b"1"),
        (b"keep-alive", b"timeout=5"),
    ]
    stage.upstream.parts = [b"one ", b"\xff\x00 two"]
    answer = stage.get("/paints?size=5")
    assert answer.content == b"one \xff\x00 two"
    version = stage.gateway.contract.registry.table_versions["paint"]
    assert sorted(answer.headers.multi_items()) == [
        ("content-type", "text/plain"),
        ("contract-location", '"/contract"'),
        ("contract-versions", f'"paint";v="{version}"'),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("transfer-encoding", "chunked"),
    ]


def test_a_request_passes_as_it_was_written(stage: Stage) -> None:
    target = "/a%2Fb/%7Ec;x='1'?q=a%20b&q=%C3%BC&empty"
    headers = {
        "Connection": "x-private, host",
        "X-Private": "1",
        "X-Kept": "2",
        "TE": "trailers",
        "Proxy-Authorization": "Basic eA==",
        "X-Forwarded-For": "203.0.113.7",
        "X-Forwarded-Proto": "gopher",
        "Via": "1.1 edge",
        "Cookie": "a=b",
    }
    stage.ask("PUT", target, headers=headers, content=b"\x00body")
    scope, body = stage.upstream.seen[-1]
    assert (scope["method"], body) == ("PUT", b"\x00body")
    assert scope["raw_path"].decode() + "?" + scope["query_string"].decode() == target
    lines = stage.upstream.lines()
    for name in ("accept", "accept-encoding", "user-agent"):
        lines.pop(name)
    forwarded = lines.pop("x-forwarded-for")
    assert forwarded.startswith("203.0.113.7, ")
    assert lines == {
        "host": stage.behind.removeprefix("http://"),
        "x-kept": "2",
        "cookie": "a=b",
        "content-length": "5",
        "via": "1.1 edge, 1.1 lapse",
        "x-forwarded-host": stage.url.removeprefix("http://"),
        "x-forwarded-proto": "http",
    }


def test_cookies_and_redirects_are_the_clients_business(stage: Stage) -> None:
    stage.upstream.says(302, {}, (b"location", b"/else"), (b"set-cookie", b"a=1"))
    assert stage.get("/paints").headers["location"] == "/else"
    stage.get("/paints")
    assert len(stage.upstream.seen) == 2
    assert "cookie" not in stage.upstream.lines()


def test_a_body_of_unknown_length_streams_both_ways(stage: Stage) -> None:
    stage.upstream.parts = [b"first", b"second"]
    stage.upstream.go_on = Event()
    with stage.client() as client, client.stream("POST", "/x", content=iter([b"a", b"b"])) as got:
        parts = got.iter_raw()
        assert next(parts) == b"first"  # the second is not made before this has come
        stage.upstream.go_on.set()
        assert b"".join(parts) == b"second"
    assert stage.upstream.seen[-1][1] == b"ab"
    assert stage.upstream.lines()["transfer-encoding"] == "chunked"


def test_an_upstream_is_let_go_when_the_client_leaves(stage: Stage) -> None:
    stage.upstream.whole = False
    with stage.client() as client, client.stream("GET", "/events") as got:
        assert next(got.iter_raw()) == b"{}"
    assert stage.upstream.left.wait(30)


def test_head_has_the_headers_and_no_body(stage: Stage) -> None:
    stage.upstream.says(200, {"a": 1})
    answer = stage.ask("HEAD", "/paints")
    assert (answer.headers["content-length"], answer.content) == ("8", b"")


def test_the_clients_host_is_shown_on_request_and_a_path_before_every_path_is_not_left(
    tmp_path: Path,
) -> None:
    with staged(tmp_path, before="/inner/", preserve_host=True) as stage:
        stage.get("/paints")
        assert stage.upstream.seen[-1][0]["path"] == "/inner/paints"
        assert stage.upstream.lines()["host"] == stage.url.removeprefix("http://")
        for target in (b"/../admin", b"/a/%2e%2E/admin"):
            with stage.client() as client:
                answer = client.get("/", extensions={"target": target})
            assert answer.status_code == 400
    assert len(stage.upstream.seen) == 1


# -- what the gateway answers itself -------------------------------------------------------------


def test_an_upstream_that_is_not_there_is_a_bad_gateway() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    gateway = Gateway(json.dumps(document()).encode(), f"http://127.0.0.1:{port}")
    with served(gateway) as url, httpx2.Client(base_url=url) as client:
        answer = client.post("/paints", json={"colour": "red"})
    assert (answer.status_code, answer.json()["status"]) == (502, 502)
    assert answer.headers["content-type"] == "application/problem+json"
    assert "contract-versions" in answer.headers


def test_an_upstream_that_is_silent_is_given_up(tmp_path: Path) -> None:
    with staged(tmp_path, read_s=0.1) as stage:
        stage.upstream.status = SILENT
        assert stage.get("/paints").status_code == 504
        assert stage.upstream.left.wait(30)


def test_an_upstream_that_falls_silent_is_given_up_where_it_stands(tmp_path: Path) -> None:
    # Long enough for a busy machine to send the head; the silence after it lasts for ever.
    with staged(tmp_path, read_s=2.0) as stage:
        # An answer that has begun cannot become another one: it is seen to break off.
        stage.upstream.status, stage.upstream.whole = 200, False
        with pytest.raises(httpx2.RemoteProtocolError):
            stage.get("/paints")
        # A refusal is read before it goes out, so there is still time to say what happened.
        stage.upstream.says(422, b"{", (b"content-length", b"99"))
        assert stage.ask("POST", "/paints", json={}).status_code in (502, 504)


def test_more_connections_than_there_may_be_are_turned_away(tmp_path: Path) -> None:
    with staged(tmp_path, connections=1, pool_s=0.1) as stage:
        stage.upstream.parts = [b"first", b"second"]
        stage.upstream.go_on = Event()
        with stage.client() as client, client.stream("GET", "/x") as got:
            parts = got.iter_raw()
            next(parts)
            assert stage.get("/paints").status_code == 503
            stage.upstream.go_on.set()
            b"".join(parts)


def test_websockets_are_refused_with_a_reason(stage: Stage) -> None:
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    answer = stage.get("/socket", headers=headers)
    assert (answer.status_code, answer.json()["title"]) == (501, "WebSockets are not carried")
    assert stage.upstream.seen == []


@pytest.mark.parametrize("extensions", [{}, {"websocket.http.response": {}}])
async def test_a_server_that_opens_websockets_is_told_to_close(extensions: Any) -> None:
    gateway = Gateway(json.dumps(document()).encode(), "http://127.0.0.1:9")
    said: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        said.append(message)

    scope: Any = {"type": "websocket", "path": "/s", "headers": [], "extensions": extensions}
    await gateway(scope, receive, send)
    await gateway.aclose()
    closed = ["websocket.http.response.start", "websocket.http.response.body"]
    assert [one["type"] for one in said] == (closed if extensions else ["websocket.close"])


def test_beside_its_own_place_it_answers_nothing(stage: Stage) -> None:
    stage.upstream.says(200, {"mine": True})
    assert stage.get("/admin/graph").json() == {"mine": True}
    assert stage.ask("POST", "/admin/reload-table").json() == {"mine": True}
    assert stage.get("/contract").json() == {"mine": True}
    versions = stage.get("/contract/versions").json()["table_versions"]
    assert versions == stage.gateway.contract.registry.table_versions


@pytest.mark.parametrize("url", ["ftp://x", "x", "http://", "http://u:p@x", "http://x/?q=1"])
def test_an_upstream_that_cannot_be_one_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue, match="upstream"):
        Gateway(json.dumps(document()).encode(), url)


# -- refusals ------------------------------------------------------------------------------------

WRONG = {"colour": "blue", "name": "much too long"}


def test_a_refusal_keeps_what_it_said_and_gains_what_the_document_determines(stage: Stage) -> None:
    said = b'{"code": 7, "price": 1.10,\n "type": "theirs"} '
    stage.upstream.says(422, said, (b"etag", b'"x"'), (b"x-id", b"1"))
    answer = stage.ask("POST", "/paints", json=WRONG)
    assert answer.content.startswith(said.rstrip()[:-1] + b',"')
    version = stage.gateway.contract.registry.table_versions["paint"]

    def stamps(key: str) -> dict[str, Any]:
        row = stage.gateway.contract.registry.row_version("paint", key)
        return {
            "cache_hint": "cacheable",
            "table": "paint",
            "tables": [{"table": "paint", "version": version}],
            "rows": [{"table": "paint", "key": key, "version": row}],
        }

    assert answer.json() == {
        "code": 7,
        "price": 1.1,
        "type": "theirs",
        "title": "The request does not satisfy the document of the service",
        "status": 422,
        "detail": "Members of the request do not satisfy what its operation demands of them.",
        "success": False,
        "recovery_feedback": {
            "suggestions": [
                {
                    "type": "SET_ALLOWED",
                    "parameters": {"colour": "red"},
                    "when": {"colour": "blue"},
                    **stamps("POST /paints#body.colour"),
                },
                {
                    "type": "ADD_REQUIRED",
                    "parameters": {"coats": 2},
                    "when": {"coats": None},
                    **stamps("POST /paints#body.coats"),
                },
            ]
        },
        "table_versions": {"paint": version},
    }
    assert answer.status_code == 422
    assert answer.headers["x-id"] == "1"
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers
    assert read_response(answer.headers.raw, answer.content).refusals == ()


def test_a_refusal_that_was_compressed_is_read_and_answered_plainly(stage: Stage) -> None:
    stage.upstream.says(400, gzip.compress(b'{"a":1}'), (b"content-encoding", b"gzip"))
    answer = stage.ask("POST", "/paints", json=WRONG)
    assert "content-encoding" not in answer.headers
    assert len(answer.json()["recovery_feedback"]["suggestions"]) == 2


def test_a_refusal_that_says_nothing_becomes_a_problem_document(stage: Stage) -> None:
    stage.upstream.status, stage.upstream.headers = 422, [(b"content-length", b"0")]
    stage.upstream.parts = []
    answer = stage.ask("POST", "/paints", json=WRONG)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "/contract/problems#request-does-not-fit"


PLAIN = (b"content-type", b"text/plain")
PACKED = (b"content-encoding", b"gzip")


@pytest.mark.parametrize(
    ("status", "body", "lines"),
    [
        (422, b"no", [PLAIN]),
        (422, b"[1]", []),
        (422, b'{"a": 1, "a": 2}', []),
        (422, b"{", []),
        (422, b'{"recovery_feedback": {"suggestions": []}}', []),
        (422, b'{"table_versions": {}}', []),
        (422, b"not gzip", [PACKED]),
        (422, gzip.compress(b" " * 100_000 + b"{}"), [PACKED]),
        (422, b'{"long": "' + b"x" * 5_000 + b'"}', []),
        (403, b"{}", []),
        (500, b"{}", []),
        (200, b"{}", []),
    ],
)
def test_what_cannot_be_added_to_passes_as_it_is(
    stage: Stage, status: int, body: bytes, lines: list[tuple[bytes, bytes]]
) -> None:
    stage.upstream.says(status, body, *lines)
    with stage.client() as client, client.stream("POST", "/paints", json=WRONG) as answer:
        assert b"".join(answer.iter_raw()) == body
    assert answer.status_code == status
    assert "contract-versions" in answer.headers


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("POST", "/paints", {"json": {"colour": "red", "coats": 1}}),
        ("POST", "/unheard/of", {"json": WRONG}),
        ("POST", "/paints", {"content": b"{", "headers": {"content-type": "application/json"}}),
        ("POST", "/paints", {"json": {"x": "x" * 300_000}}),
        ("GET", "/paints?size=5", {}),
        ("GET", "/paints?size=many", {}),
    ],
)
def test_a_refusal_without_a_fault_that_can_be_cured_passes_as_it_is(
    stage: Stage, method: str, path: str, options: dict[str, Any]
) -> None:
    stage.upstream.says(400, {"message": "no"})
    assert stage.ask(method, path, **options).json() == {"message": "no"}


def test_a_detail_that_would_say_the_answer_is_left_out() -> None:
    upstream = Upstream()
    upstream.says(422, {})
    text = json.dumps(document(colours=("members",))).encode()
    with ExitStack() as stack:
        behind = stack.enter_context(served(upstream))
        url = stack.enter_context(served(Gateway(text, behind)))
        client = stack.enter_context(httpx2.Client(base_url=url))
        assert "detail" not in client.post("/paints", json=WRONG).json()


def test_an_upstream_that_speaks_the_contract_speaks_for_itself(stage: Stage) -> None:
    stage.upstream.says(422, {"a": 1}, (b"contract-versions", b'"mine";v="1"'))
    answer = stage.ask("POST", "/paints", json=WRONG)
    assert answer.json() == {"a": 1}
    assert answer.headers["contract-versions"] == '"mine";v="1"'
    assert "contract-location" not in answer.headers


# -- new documents -------------------------------------------------------------------------------


def test_a_new_document_is_a_diff_of_rows_and_a_client_forgets_what_lapsed(tmp_path: Path) -> None:
    with ExitStack() as stack:
        stage = stack.enter_context(staged(tmp_path))
        memory = stack.enter_context(lapse.open("memory:"))
        client = stack.enter_context(stage.client(transport=Transport(memory)))

        def known(operation: str, request: dict[str, Any]) -> list[Any]:
            return [fix.parameters for fix in memory.fixes(operation, request)]

        stage.upstream.says(422, {})
        client.post("/paints", json=WRONG)
        client.get("/paints?size=5000")
        wide = {"size": "5000"}
        assert known("GET /paints", wide) == [{"size": 100}]
        assert known("POST /paints", WRONG) == [{"colour": "red"}, {"coats": 2}]

        new = json.dumps(document(most=50)).encode()
        answer = stage.ask("POST", "/contract/reload-spec", content=new, headers=BEARER)
        (reload,) = answer.json()["reloads"]
        assert reload["diff"] == {"added": [], "removed": [], "changed": ["GET /paints#query.size"]}

        stage.upstream.says(200, {})
        client.get("/paints?size=5")
        assert known("GET /paints", wide) == []
        assert known("POST /paints", WRONG) == [{"colour": "red"}, {"coats": 2}]
        assert dict(memory.counters)["evicted"] == 1

        stage.upstream.says(400, {})
        client.get("/paints?size=5000")
        assert known("GET /paints", wide) == [{"size": 50}]


def test_the_file_is_read_again_when_no_document_is_sent(tmp_path: Path) -> None:
    with staged(tmp_path) as stage:
        before = stage.gateway.contract.registry.table_versions
        answer = stage.ask("POST", "/contract/reload-spec", headers=BEARER)
        assert answer.json() == {"title": "Paint", "version": "1", "reloads": [], "unsaid": {}}
        assert stage.gateway.contract.registry.table_versions == before
        stage.file.write_text(json.dumps(document(colours=("red", "green"))))
        answer = stage.ask("POST", "/contract/reload-spec", headers=BEARER)
        (reload,) = answer.json()["reloads"]
        assert reload["diff"]["changed"] == ["POST /paints#body.colour"]


async def test_tables_that_did_not_change_keep_their_versions() -> None:
    def tagged(*tags: str, most: int) -> bytes:
        size = {"name": "size", "in": "query", "schema": {"type": "integer", "maximum": most}}
        paths = {
            f"/{tag}": {"get": {"tags": [tag], "parameters": [size] if tag == "a" else []}}
            for tag in tags
        }
        return json.dumps({"openapi": "3.1.0", "info": {"title": "x"}, "paths": paths}).encode()

    gateway = Gateway(tagged("a", "b", "c", most=1), "http://127.0.0.1:9", grouping="tag")
    before = gateway.contract.registry.table_versions
    done = gateway.reload(tagged("a", "b", "d", most=2))
    assert [(one.table, one.diff.changed) for one in done] == [
        ("x/a", ("GET /a#query.size",)),
        ("x/d", ()),
        ("x/c", ()),
    ]
    after = gateway.contract.registry.table_versions
    assert sorted(after) == ["x/a", "x/b", "x/d"]
    assert after["x/b"] == before["x/b"]
    with pytest.raises(InvalidValue, match="document"):
        gateway.reload()
    await gateway.aclose()


@pytest.mark.parametrize(
    ("method", "content", "headers", "status"),
    [
        ("POST", b"{}", {}, 401),
        ("POST", b"{}", BEARER, 400),
        ("POST", b"%", BEARER, 400),
        ("GET", b"", BEARER, 405),
    ],
)
def test_a_reload_that_may_not_or_cannot_be_changes_nothing(
    stage: Stage, method: str, content: bytes, headers: dict[str, str], status: int
) -> None:
    before = stage.gateway.contract.registry
    answer = stage.ask(method, "/contract/reload-spec", content=content, headers=headers)
    assert answer.status_code == status
    assert stage.gateway.contract.registry is before
    assert stage.upstream.seen == []


async def test_a_restart_keeps_versions_and_the_change_log(tmp_path: Path) -> None:
    file, state = tmp_path / "openapi.json", tmp_path / "state.json"

    def started() -> Gateway:
        return Gateway(file, "http://127.0.0.1:9", state_file=state)

    file.write_text(json.dumps(document()))
    one = started()
    first = one.contract.registry.table_versions["paint"]
    file.write_text(json.dumps(document(most=7)))
    one.reload()
    second = one.contract.registry.table_versions["paint"]
    two = started()
    changes = two.contract.changes_since("paint", second)
    assert (changes.complete, changes.rows) == (True, {})
    file.write_text(json.dumps(document(most=8)))
    three = started()
    changes = three.contract.changes_since("paint", first)
    assert (changes.complete, list(changes.rows)) == (True, ["GET /paints#query.size"])
    for gateway in (one, two, three):
        await gateway.aclose()
