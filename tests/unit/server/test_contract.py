"""The contract a service holds, and the middleware around its application."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import httpx2
import pytest

from lapse.contract import Registry, RowVersion, Suggestion, Table, Violation
from lapse.errors import InvalidValue
from lapse.server import Contract, ContractMiddleware, Receive, Rejected, Scope, Send
from lapse.wire import read_response

REGISTRY = Registry.of([Table("codes", {"growth": {"code": "S25"}}, "1.0.0")])
FIX = Suggestion(type="ADD", parameters={"promotion_code": "S25"})


def problem(contract: Contract, **options: Any) -> Any:
    violation = Violation(policy="assigned-code", title="T", detail="D", suggestions=(FIX,))
    return contract.problem(violation, **options)


@pytest.mark.requirement("C-PRB-01", "C-PRB-02", "C-PRB-05", "C-ENV-02")
def test_a_violation_as_an_answer() -> None:
    answer = problem(Contract(REGISTRY))
    assert answer.status == 422
    assert dict(answer.headers) == {
        b"content-type": b"application/problem+json",
        b"cache-control": b"no-store",
        b"vary": b"Accept",
    }
    envelope = read_response(answer.headers, answer.body).envelope
    assert (envelope.success, envelope.suggestions) == (False, (FIX,))
    assert envelope.table_versions == {"codes": "1.0.0"}
    assert b'"type":"/contract/problems#assigned-code","title":"T","status":422' in answer.body


@pytest.mark.requirement("C-PRB-04")
def test_the_same_body_for_a_client_that_takes_plain_json() -> None:
    contract = Contract(REGISTRY)
    plain = problem(contract, accept="application/json")
    assert dict(plain.headers)[b"content-type"] == b"application/json"
    assert plain.body == problem(contract).body


@pytest.mark.requirement("C-PRB-02")
def test_a_policy_may_have_a_uri_of_its_own() -> None:
    contract = Contract(REGISTRY, location="/c")
    assert contract.problem_type("https://example.org/p") == "https://example.org/p"
    assert contract.problem_type("p") == "/c/problems#p"


@pytest.mark.requirement("C-ENV-10", "C-ENV-01")
def test_level_0_says_what_is_wrong_and_nothing_else() -> None:
    contract = Contract(REGISTRY, level=0)
    answer = problem(contract)
    assert answer.body == (
        b'{"type":"/contract/problems#assigned-code","title":"T","status":422,"detail":"D"}'
    )
    assert contract.envelope_members() == {}
    assert contract.envelope_members(success=False) == {}
    assert contract.headers() == contract.lines == ()


@pytest.mark.requirement("C-ENV-02", "C-ENV-04", "C-ENV-05")
def test_the_members_of_a_success() -> None:
    contract = Contract(REGISTRY)
    members = contract.envelope_members()
    assert members == {
        "success": True,
        "table_versions": {"codes": "1.0.0"},
        "rules_version": REGISTRY.rules_version,
    }
    members["success"] = "changed by the caller"
    assert contract.envelope_members()["success"] is True
    assert contract.envelope_members(success=False)["success"] is False


@pytest.mark.requirement("C-PRB-06")
def test_a_rejection_keeps_the_tables_it_was_found_in() -> None:
    contract = Contract(REGISTRY)

    def judge() -> None:
        with contract.reading() as tables:
            code = tables["codes"].get("growth")["code"]
            contract.reload("codes", {"growth": {"code": "W26"}})
            fix = tables.suggest("ADD", {"promotion_code": code})
            raise Rejected(Violation(policy="p", title="T", detail="D", suggestions=(fix,)))

    with pytest.raises(Rejected, match="T") as rejected:
        judge()
    answer = contract.problem(rejected.value.violation, registry=rejected.value.registry)
    envelope = read_response(answer.headers, answer.body).envelope
    assert envelope.table_versions == {"codes": "1.0.0"}
    version = REGISTRY.row_version("codes", "growth")
    assert envelope.suggestions[0].rows == (RowVersion("codes", "growth", version),)
    assert contract.registry.tables["codes"].version != "1.0.0"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"level": 2}, "level"),
        ({"level": 7}, "level"),
        ({"location": "contract"}, "location"),
        ({"location": "/contract/"}, "location"),
        ({"location": "/é"}, "location"),
        ({"operator_token": ""}, "operator_token"),
    ],
)
def test_what_a_contract_refuses(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        Contract(REGISTRY, **options)
    assert refused.value.field == field


@pytest.mark.requirement("C-RLD-07")
def test_threads_see_a_reload_whole() -> None:
    contract = Contract(REGISTRY)
    start = Barrier(3)
    torn: list[object] = []

    def write(name: str) -> None:
        start.wait()
        for number in range(100):
            contract.reload(name, {"n": number})

    def look() -> None:
        start.wait()
        for _ in range(300):
            published = contract.published
            if published.members["table_versions"] != published.registry.table_versions:
                torn.append(published)

    threads = [
        Thread(target=write, args=("a",)),
        Thread(target=write, args=("b",)),
        Thread(target=look),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torn == []
    assert len(contract.registry.log["a"]) == len(contract.registry.log["b"]) == 100


START = {"type": "http.response.start", "status": 204, "headers": [(b"x-app", b"1")]}


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    del receive
    if scope["type"] != "http":
        await send({"type": f"{scope['type']}.seen"})
        return
    await send(
        START if scope["path"] == "/constant" else {"type": "http.response.start", "status": 500}
    )
    await send({"type": "http.response.body", "body": b"a", "more_body": True})
    await send({"type": "http.response.body", "body": b"b"})


async def sent(contract: Contract, **scope: Any) -> list[Any]:
    messages: list[Any] = []

    async def receive() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        messages.append(message)

    whole: Scope = {"type": "http", "method": "GET", "path": "/", "headers": [], **scope}
    await ContractMiddleware(app, contract)(whole, receive, send)
    return messages


@pytest.mark.requirement("C-HDR-06", "C-HDR-05")
async def test_headers_are_added_and_bodies_pass_through() -> None:
    contract = Contract(REGISTRY)
    start, *body = await sent(contract)
    assert start["status"] == 500
    assert start["headers"] == [
        (b"contract-versions", b'"codes";v="1.0.0"'),
        (b"contract-rules", f'"{REGISTRY.rules_version}"'.encode()),
        (b"contract-location", b'"/contract"'),
    ]
    assert body == [
        {"type": "http.response.body", "body": b"a", "more_body": True},
        {"type": "http.response.body", "body": b"b"},
    ]


@pytest.mark.requirement("C-HDR-06")
async def test_a_message_that_is_sent_again_is_not_changed() -> None:
    contract = Contract(REGISTRY)
    first, second = [(await sent(contract, path="/constant"))[0] for _ in range(2)]
    assert first == second
    assert first["headers"][0] == (b"x-app", b"1")
    assert len(first["headers"]) == 4
    assert START["headers"] == [(b"x-app", b"1")]


@pytest.mark.requirement("C-HDR-04")
async def test_a_map_that_is_too_long_for_a_header_stays_in_bodies() -> None:
    contract = Contract(Registry.of(Table(f"table_{n}", {}, "1.0.0") for n in range(500)))
    start, *_ = await sent(contract)
    assert {name for name, _ in start["headers"]} == {b"contract-rules", b"contract-location"}
    assert len(contract.envelope_members()["table_versions"]) == 500


async def test_other_protocols_pass_through() -> None:
    contract = Contract(REGISTRY)
    assert await sent(contract, type="lifespan") == [{"type": "lifespan.seen"}]
    assert await sent(contract, type="websocket") == [{"type": "websocket.seen"}]


async def test_the_endpoints_are_found_below_a_mount() -> None:
    contract = Contract(REGISTRY)
    for path in ("/api/contract/versions", "/contract/versions"):
        start, _ = await sent(contract, path=path, root_path="/api")
        assert start["status"] == 200
    start, *_ = await sent(contract, path="/contract/other")
    assert start["status"] == 500


async def test_it_can_be_asked_over_a_client_too() -> None:
    transport = httpx2.ASGITransport(app=ContractMiddleware(app, Contract(REGISTRY)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://service") as http:
        answer = await http.get("/")
    assert (answer.text, answer.headers["contract-location"]) == ("ab", '"/contract"')
