"""The digest envelope over real HTTP: a service, a client that remembers, what lies between."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

import lapse
from lapse.contract import Demand, Held, Registry, Rule, Table, Violation
from lapse.runtime import Digests, Memory
from lapse.server import ASGIApp, Contract, ContractMiddleware, Receive, Scope, Send, Signing
from lapse.server.gateway import Gateway
from lapse.signing.ed25519 import Ed25519Signer
from lapse.testing import ManualClock
from lapse.transports.http import Transport, envelope_of
from lapse_bench.serving import loopback, served

SECOND = 1_000_000
BEGIN = 1_764_500_000 * SECOND
ISSUER = "shop"
RULE = Rule("codes", "plans", "needs", "plan")


def registry(**versions: str) -> Registry:
    tables = {"codes": "1.0.0", "plans": "1.0.0", **versions}
    rows = {"growth": {"code": "A", "plan": "growth"}, "scale": {"code": "S", "plan": "scale"}}
    return Registry.of([Table(name, rows, version) for name, version in tables.items()], [RULE])


def shop(contract: Callable[[], Contract]) -> ASGIApp:
    """Takes an order under `/{plan}` if it has the plan's code; `GET` says that all is well."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        held = contract()
        head = [(b"content-type", b"application/json")]
        if scope["method"] == "GET":
            await _send(send, 200, b"{}", head)
            return
        with held.reading() as tables:
            row = tables["codes"].get(scope["path"].rpartition("/")[2])
            if dict(scope["headers"]).get(b"x-code", b"").decode() == row["code"]:
                body = str(held.envelope_members()).replace("'", '"').replace("True", "true")
                await _send(send, 200, body.encode(), head)
                return
            fix = tables.suggest("SET_CODE", {"code": row["code"]}, when={})
            if scope["path"].startswith("/slow"):
                held.reload("plans", {"growth": {"code": "", "plan": "moved"}})
            violation = Violation(
                policy="codes", title="codes", detail="see codes", suggestions=(fix,)
            )
        answer = held.problem(violation, registry=tables.registry)
        await _send(send, answer.status, answer.body, list(answer.headers))

    async def whole(scope: Scope, receive: Receive, send: Send) -> None:
        await ContractMiddleware(app, contract())(scope, receive, send)

    return whole


async def _send(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@dataclass
class Between(httpx2.BaseTransport):
    """Sees what passes, and may change the answers."""

    seen: list[tuple[str | None, httpx2.Response]] = field(default_factory=list[Any])
    change: Callable[[list[tuple[bytes, bytes]]], Iterable[tuple[bytes, bytes]]] = list
    wrapped: httpx2.BaseTransport = field(default_factory=loopback)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self.wrapped.handle_request(request)
        body = response.read()
        headers = list(self.change(list(response.headers.raw)))
        changed = httpx2.Response(response.status_code, headers=headers, content=body)
        if "/changes" not in request.url.path:
            self.seen.append((request.headers.get("lapse"), changed))
        return changed

    def close(self) -> None:
        self.wrapped.close()

    @property
    def last(self) -> tuple[str | None, dict[str, str], dict[str, Any]]:
        """What the last request said; the contract's header lines and the body of its answer."""
        said, response = self.seen[-1]
        names = ("lapse", "contract-", "vary", "signature")
        ours = {n: v for n, v in response.headers.items() if n.startswith(names)}
        return said, ours, response.json()


@contextmanager
def calling(
    contract: Callable[[], Contract], between: Between, **options: Any
) -> Generator[tuple[httpx2.Client, Memory]]:
    with (
        served(shop(contract)) as url,
        lapse.open("memory:", **options) as memory,
        httpx2.Client(base_url=url, transport=Transport(memory, between, issuer=ISSUER)) as client,
    ):
        yield client, memory


def held(contract: Contract) -> Held:
    now = contract.registry
    return Held(now.table_versions, now.rules_version)


def codes(memory: Memory, path: str = "/growth") -> list[Any]:
    return [fix.parameters["code"] for fix in memory.fixes(f"POST {path}", {}, issuer=ISSUER)]


@pytest.mark.requirement("C-DIG-03", "C-DIG-04", "C-DIG-06", "C-DIG-12", "C-DIG-18")
def test_what_is_known_is_said_in_one_line() -> None:
    contract, between = Contract(registry()), Between()
    with calling(lambda: contract, between) as (client, memory):
        client.post("/growth")
        assert between.last[0] is None
        first = between.last[2]
        assert first["table_versions"] == {"codes": "1.0.0", "plans": "1.0.0"}
        client.post("/scale")
        said, headers, body = between.last
        tag = held(contract).tag
        assert (said, headers) == (tag, {"lapse": tag[:4], "vary": "Accept"})
        assert body.keys() == {"type", "title", "status", "detail", "recovery_feedback"}
        (fix,) = body["recovery_feedback"]["suggestions"]
        row = contract.registry.row_version("codes", "scale")
        on = [[held(contract).references["codes"], "scale", row]]
        assert fix == {"type": "SET_CODE", "parameters": {"code": "S"}, "on": on, "when": {}}
        assert (codes(memory), codes(memory, "/scale")) == (["A"], ["S"])
        before, after = memory.records()
        assert [s.version for s in before.stamps if not s.source.key] == [
            s.version for s in after.stamps if not s.source.key
        ]
        response = client.post("/growth", headers={"x-code": "A"})
        assert (between.last[1], response.json()) == ({"lapse": tag[:4]}, {})
        assert envelope_of(response).table_versions == contract.registry.table_versions
        assert envelope_of(response).success is True
        assert memory.counters["unchanged"] == 1
        assert memory.counters["digests"] == 2


@pytest.mark.requirement("C-DIG-07", "C-DIG-18")
def test_only_what_moved_is_said_and_the_fix_it_is_about_goes() -> None:
    more = {f"table_{n}": "1" for n in range(8)}
    contract, between = Contract(registry(**more)), Between()
    with calling(lambda: contract, between) as (client, memory):
        client.post("/growth")
        client.post("/scale")
        before = held(contract).tag
        rows = {"growth": {"code": "B", "plan": "growth"}, "scale": {"code": "S", "plan": "scale"}}
        contract.reload("codes", rows, "1.0.1")
        contract.reload("table_3", None)
        contract.declare([])
        client.post("/scale", headers={"x-code": "S"})
        moved = next(r for _, r in between.seen if ";to=" in r.headers.get("lapse", ""))
        headers = {n: v for n, v in moved.headers.items() if n.startswith(("lapse", "contract-"))}
        assert headers == {
            "lapse": f"{before[:4]};to={held(contract).tag}",
            "contract-moved": '"codes";v="1.0.1", "table_3"',
            "contract-rules": f'"{contract.registry.rules_version}"',
        }
        assert (codes(memory), codes(memory, "/scale")) == ([], ["S"])
        kept = memory.digests.kept(ISSUER)
        assert kept is not None
        assert kept.held == held(contract)


@pytest.mark.requirement("C-DIG-08")
def test_a_service_that_was_started_again_says_the_whole_map() -> None:
    contract, between = Contract(registry(codes="old")), Between()
    with calling(lambda: contract, between) as (client, memory):
        client.post("/growth")
        contract = Contract(registry(codes="new"))
        client.get("/")
        said, headers, _ = between.last
        assert said == held(Contract(registry(codes="old"))).tag
        assert headers["contract-versions"] == '"codes";v="new", "plans";v="1.0.0"'
        assert "lapse" not in headers
        client.get("/")
        assert between.last[1] == {"lapse": held(contract).tag[:4], "vary": "Lapse"}
        assert memory.counters.get("failed", 0) == 0


@pytest.mark.requirement("C-DIG-08")
def test_when_most_of_the_map_moved_the_map_is_said() -> None:
    contract, between = Contract(registry()), Between()
    with calling(lambda: contract, between) as (client, _):
        client.get("/")
        for table in ("codes", "plans"):
            contract.reload(table, {"growth": {"code": "N", "plan": "p"}})
        contract.reload("rates", {"a": 1})
        client.get("/")
        assert "contract-versions" in between.last[1]
        assert "lapse" not in between.last[1]


@pytest.mark.requirement("C-DIG-05", "C-DIG-06", "C-DIG-08")
def test_a_client_that_says_nothing_readable_gets_what_it_always_got() -> None:
    contract = Contract(registry())
    with served(shop(lambda: contract)) as url, httpx2.Client(base_url=url) as client:
        plain = client.post("/growth")
        for said in ("", '"text"', "?1", "a b", "1abc", "x" * 65, "a=b", "tag, tag"):
            answer = client.post("/growth", headers=[("lapse", said)])
            assert answer.content == plain.content
            without = [line for line in answer.headers.raw if line[0] != b"date"]
            assert without == [line for line in plain.headers.raw if line[0] != b"date"]
        known = client.post("/growth", headers={"Lapse": f"{held(contract).tag};by=1;more=?0"})
        assert known.headers["lapse"] == held(contract).tag[:4]


@pytest.mark.requirement("C-DIG-09")
def test_a_body_about_an_earlier_state_has_the_whole_map() -> None:
    contract, between = Contract(registry()), Between()
    with calling(lambda: contract, between) as (client, _):
        client.get("/")
        client.post("/slow/growth")
        said, headers, body = between.seen[1][0], between.seen[1][1].headers, between.seen[1][1]
        assert said is not None
        assert "lapse" not in headers
        assert body.json()["table_versions"] == {"codes": "1.0.0", "plans": "1.0.0"}


@pytest.mark.requirement("C-DIG-11")
def test_caches_are_told_what_a_digest_depends_on() -> None:
    contract, between = Contract(registry(), location="/elsewhere"), Between()
    with calling(lambda: contract, between) as (client, memory):
        client.get("/")
        assert "vary" not in between.last[1]
        client.get("/")
        tag = held(contract).tag[:4]
        assert between.last[1] == {
            "lapse": tag,
            "vary": "Lapse",
            "contract-location": '"/elsewhere"',
        }
        kept = memory.digests.kept(ISSUER)
        assert kept is not None
        assert kept.location == "/elsewhere"


@pytest.mark.requirement("C-DIG-14", "C-DIG-16")
@pytest.mark.parametrize("given", [b"none", b'"text"', b"abcd;to=1", b"(", b"abcd;to=abcd"])
def test_an_answer_to_somebody_else_is_silence(given: bytes) -> None:
    contract, between = Contract(registry()), Between()
    with calling(lambda: contract, between) as (client, memory):
        client.post("/growth")
        between.change = lambda lines: [
            (name, given if name.lower() == b"lapse" else value) for name, value in lines
        ]
        client.get("/")
        assert between.last[0] is not None
        assert memory.counters.get("unchanged", 0) == 0
        assert memory.counters["refused"] == 1
        assert codes(memory) == ["A"]
        client.get("/")
        assert between.last[0] is None
        assert "contract-versions" in between.last[1]


@pytest.mark.requirement("C-DIG-15", "C-DIG-16")
def test_what_moved_has_to_lead_to_the_map_that_was_said() -> None:
    more = {f"table_{n}": "1" for n in range(8)}
    contract, between = Contract(registry(**more)), Between()
    with calling(lambda: contract, between) as (client, memory):
        client.post("/growth")
        contract.reload("table_1", {"a": 1}, "2")
        between.change = lambda lines: [
            (name, value.replace(b'"2"', b'"3"')) for name, value in lines
        ]
        client.get("/")
        assert memory.counters["refused"] == 1
        assert memory.digests.kept(ISSUER) is None
        between.change = list
        client.get("/")
        assert between.last[0] is None


@pytest.mark.requirement("C-DIG-16")
def test_a_field_that_gets_lost_on_the_way_is_soon_not_sent_any_more() -> None:
    contract, between = Contract(registry()), Between()
    between.change = lambda lines: [line for line in lines if line[0].lower() != b"lapse"]
    with calling(lambda: contract, between) as (client, memory):
        for _ in range(10):
            client.get("/")
        sent = [said is not None for said, _ in between.seen]
        assert sent == [False, True] * 2 + [False] * 6
        assert memory.counters["unchanged"] == 7  # each answer with the map, but for the first


@pytest.mark.requirement("C-DIG-03", "C-DIG-10", "C-DIG-18")
def test_a_statement_that_is_believed_is_not_repeated(tmp_path: Path) -> None:
    clock = ManualClock(BEGIN)
    signer = Ed25519Signer("2026", b"\1" * 32)

    def signing() -> Signing:
        return Signing(signer, issuer=ISSUER, clock=clock)

    contract, between = Contract(registry(), signing=signing()), Between()
    trust = lapse.trust(tmp_path / "trust", otherwise=Demand.ALWAYS)
    with calling(lambda: contract, between, clock=clock, trust=trust) as (client, memory):
        client.post("/growth")
        client.post("/scale")
        said, headers, _ = between.last
        assert said is not None
        assert ";by=" in said
        assert headers.keys() == {"lapse", "vary"}
        assert (codes(memory), codes(memory, "/scale")) == (["A"], ["S"])
        clock.advance(seconds=200)  # more than half of its life: another statement stands
        client.get("/")
        assert {"contract-stamp", "signature", "lapse"} <= between.last[1].keys()
        client.get("/")
        assert between.last[1].keys() == {"lapse", "vary"}
        clock.advance(seconds=140)
        assert codes(memory) == ["A"]
        # The same versions over other rows: the statement is another one, and is said.
        other = Registry.of([Table(n, {"growth": 1}, "1.0.0") for n in ("codes", "plans")], [RULE])
        contract = Contract(other, signing=signing())
        clock.advance(seconds=1)
        client.get("/")
        assert "contract-stamp" in between.last[1]
        assert "untrusted" not in memory.counters
        assert codes(memory) == []


@pytest.mark.requirement("C-DIG-10", "C-DIG-18")
def test_a_statement_that_is_not_believed_is_asked_for_again(tmp_path: Path) -> None:
    clock = ManualClock(BEGIN)
    signer = Ed25519Signer("2026", b"\1" * 32)
    contract = Contract(registry(), signing=Signing(signer, issuer="another", clock=clock))
    between = Between()
    trust = lapse.trust(tmp_path / "trust", otherwise=Demand.ALWAYS)
    with calling(lambda: contract, between, clock=clock, trust=trust) as (client, memory):
        for _ in range(3):
            client.post("/growth")
            assert "contract-stamp" in between.last[1]
        said = between.last[0]
        assert said is not None
        assert "by=" not in said
        assert memory.counters["untrusted"] == 3
        assert codes(memory) == []


@pytest.mark.requirement("C-DIG-17")
def test_the_whole_map_counts_first() -> None:
    contract, between = Contract(registry()), Between()
    with calling(lambda: contract, between) as (client, memory):
        client.get("/")
        versions = client.get("/contract/versions")
        assert versions.json()["table_versions"] == contract.registry.table_versions
        assert envelope_of(versions).table_versions == contract.registry.table_versions
        assert memory.counters.get("refused", 0) == 0


@pytest.mark.requirement("C-DIG-19")
@pytest.mark.parametrize("on", ['"none"', '"none none"', '["none"]', '[["none","k","1"]]', "7"])
def test_a_reference_that_names_no_table_is_no_fix(on: str) -> None:
    fix = f'{{"type":"SET","parameters":{{"a":1}},"on":{on},"when":{{}}}}'
    contract, between = Contract(registry()), Between()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        await receive()
        body = f'{{"recovery_feedback":{{"suggestions":[{fix}]}}}}'.encode()
        await _send(send, 422, body, [(b"content-type", b"application/json")])

    with served(ContractMiddleware(app, contract)) as url, lapse.open("memory:") as memory:
        transport = Transport(memory, between, issuer=ISSUER)
        with httpx2.Client(base_url=url, transport=transport) as client:
            for _ in range(2):
                client.post("/")
            assert memory.counters["digests"] == 1
            assert len(memory.records()) == 0


def test_a_memory_may_want_whole_maps() -> None:
    contract, between = Contract(registry()), Between()
    with calling(lambda: contract, between) as (client, memory):
        memory.digests = Digests(speaks=False)
        for _ in range(3):
            client.post("/growth")
        assert [said for said, _ in between.seen if said] == []


@pytest.mark.requirement("C-DIG-04")
def test_a_redirect_takes_nothing_along_to_another_service() -> None:
    contract = Contract(registry())
    with served(shop(lambda: contract)) as url, lapse.open("memory:") as memory:
        between = Between()
        with httpx2.Client(base_url=url, transport=Transport(memory, between)) as client:
            client.get("/")
            request = client.build_request("GET", "/", headers={"Lapse": "said-elsewhere"})
            client.send(request)
            assert between.last[0] == held(contract).tag
            request.url = httpx2.URL(url.replace("127.0.0.1", "localhost"))
            client.send(request)
            assert between.last[0] is None


@pytest.mark.requirement("C-DIG-06", "C-DIG-12")
def test_a_gateway_says_digests_for_a_service_that_knows_nothing_of_them() -> None:
    async def upstream(scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        await receive()
        head = [(b"content-type", b"application/json")]
        await _send(send, 422, b'{"message":"no"}', head)

    colour = {"type": "object", "required": ["colour"], "properties": {"colour": {"const": "red"}}}
    body = {"required": True, "content": {"application/json": {"schema": colour}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "paints", "version": "1"},
        "paths": {"/paint": {"post": {"requestBody": body, "responses": {}}}},
    }
    with served(upstream) as behind:
        gateway = Gateway(json.dumps(document).encode(), behind)
        with served(gateway, lives=True) as url, lapse.open("memory:") as memory:
            between = Between()
            transport = Transport(memory, between, issuer=ISSUER)
            with httpx2.Client(base_url=url, transport=transport) as client:
                client.post("/paint", json={"colour": "blue"})
                whole = between.last
                client.post("/paint", json={"colour": "green"})
                said, headers, short = between.last
                assert said is not None
                assert headers == {"lapse": said[:4]}
                assert "table_versions" in whole[2]
                assert "table_versions" not in short
                (fix,) = short["recovery_feedback"]["suggestions"]
                assert fix.keys() == {"type", "parameters", "r"}
                assert len(memory.records()) == 2
                one, other = memory.records()
                assert one.content["when"].keys() == other.content["when"].keys()
                assert [s.source for s in one.stamps] == [s.source for s in other.stamps]
