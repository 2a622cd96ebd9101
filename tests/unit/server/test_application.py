"""A service made of declared policies, in process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from lapse.contract import Check, Constant, Field, Policy, Registry, Table, Test
from lapse.errors import InvalidValue
from lapse.server import Contract, Scope, application
from lapse.server.declared import load, parse
from lapse.wire import read_response

FILE = """
tables:
  codes:
    version: "1.0.0"
    rows:
      growth: {code: SUMMERSALE25}
policies:
  - id: assigned-code
    operation: POST /v1/subscriptions
    title: The plan's assigned promotion code is missing
    detail: The plan has a code assigned to it, and the request carries another or none.
    look_ups:
      assigned: {table: codes, key: {field: plan}}
    require: {field: promotion_code, equals: {look_up: assigned, member: code}}
    suggest:
      type: ADD_PROMOTION_CODE
      parameters: {promotion_code: {look_up: assigned, member: code}}
  - id: precision
    operation: PUT /v1/subscriptions
    title: The amount is too precise
    detail: An amount has two decimals at most.
    require: {field: amount, decimals: 2}
"""


def client(**options: Any) -> httpx2.AsyncClient:
    declared = parse(FILE)
    app = application(Contract(declared.registry, **options), declared.policies)
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app),
        base_url="http://service",
    )


@pytest.mark.requirement("C-PRB-01", "C-ENV-02", "C-ENV-03", "C-SUG-08")
async def test_a_violation_and_its_repair() -> None:
    async with client() as http:
        request: dict[str, Any] = {"plan": "growth", "seats": 3}
        refused = await http.post("/v1/subscriptions", json=request)
        envelope = read_response(refused.headers.raw, refused.content).envelope
        (fix,) = envelope.suggestions
        accepted = await http.post("/v1/subscriptions", json={**request, **fix.parameters})
    assert (refused.status_code, accepted.status_code) == (422, 200)
    assert (envelope.success, fix.when) == (False, {"plan": "growth"})
    assert accepted.headers["cache-control"] == "no-store"
    success = read_response(accepted.headers.raw, accepted.content)
    assert (success.envelope.success, success.envelope.suggestions) == (True, ())
    assert success.envelope.table_versions == envelope.table_versions == {"codes": "1.0.0"}
    assert success.refusals == ()


@pytest.mark.requirement("C-ENV-04", "C-ENV-05")
async def test_what_no_policy_was_asked_about_carries_the_versions_too() -> None:
    async with client() as http:
        answers = [
            await http.post("/v2", json={}),
            await http.get("/v1/subscriptions"),
            await http.post("/v1/subscriptions", content=b"{"),
            await http.post("/v1/subscriptions", content=b" " * (1024 * 1024 + 1)),
        ]
    assert [answer.status_code for answer in answers] == [404, 405, 400, 413]
    for answer in answers:
        body = answer.json()
        assert body["table_versions"] == {"codes": "1.0.0"}
        assert body["rules_version"]
        assert "success" not in body


async def test_level_0_answers_in_plain_words() -> None:
    async with client(level=0) as http:
        refused = await http.post("/v1/subscriptions", json={"plan": "growth"})
        accepted = await http.post("/v1/subscriptions", json={})
    assert set(refused.json()) == {"type", "title", "status", "detail"}
    assert accepted.json() == {"success": True}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000])
async def test_a_request_that_cannot_be_read(body: bytes) -> None:
    async with client() as http:
        answer = await http.post("/v1/subscriptions", content=body)
    assert answer.status_code == 400
    assert "contract-versions" in answer.headers


async def test_while_a_table_that_decides_is_not_loaded_nobody_can_say() -> None:
    declared = parse(FILE)
    contract = Contract(declared.registry)
    app = application(contract, declared.policies)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://service") as http:
        contract.reload("codes", None)
        asked = await http.post("/v1/subscriptions", json={"plan": "growth"})
        other = await http.put("/v1/subscriptions", json={"amount": 1})
        contract.reload("codes", {"growth": {"code": "S"}})
        back = await http.post("/v1/subscriptions", json={"plan": "growth"})
    assert (asked.status_code, other.status_code, back.status_code) == (503, 200, 422)
    assert asked.json()["title"] == "The request cannot be checked"
    assert "codes" not in asked.text
    envelope = read_response(asked.headers.raw, asked.content).envelope
    assert (envelope.table_versions, envelope.success) == ({}, None)


async def test_what_no_policy_names() -> None:
    async with client() as http:
        assert (await http.post("/v2", json={})).status_code == 404
        other = await http.delete("/v1/subscriptions")
        assert (other.status_code, other.headers["allow"]) == (405, "POST, PUT")
        large = await http.post("/v1/subscriptions", content=b"x" * (1024 * 1024 + 1))
        assert large.status_code == 413
        assert (await http.put("/v1/subscriptions", json={"amount": 1.005})).status_code == 422


async def test_it_lives_and_it_hangs_up() -> None:
    app = application(Contract(Registry.of([])), ())
    sent: list[str] = []
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive() -> Any:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await app({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    await app({"type": "websocket"}, receive, send)
    declared = parse(FILE)
    app = application(Contract(declared.registry), declared.policies)
    scope: Scope = {"type": "http", "method": "POST", "path": "/v1/subscriptions", "headers": []}
    await app(scope, receive, send)
    assert len(sent) == 2


@pytest.mark.parametrize("operation", ["POST", "post /v1", "POST v1"])
def test_an_operation_is_a_method_and_a_path(operation: str) -> None:
    policy = Policy(
        id="p",
        operation=operation,
        title="T",
        detail="D",
        require=Check(Field("x"), Test.EQUALS, Constant(1)),
    )
    with pytest.raises(InvalidValue, match="operation"):
        application(Contract(Registry.of([])), [policy])


def test_a_file_is_loaded_with_its_state(tmp_path: Path) -> None:
    path = tmp_path / "service.yaml"
    path.write_text(FILE, encoding="utf-8")
    contract, policies = load(path, state_file=tmp_path / "state.json", level=4, location="/c")
    assert [policy.id for policy in policies] == ["assigned-code", "precision"]
    assert contract.registry.tables["codes"] == Table(
        "codes", {"growth": {"code": "SUMMERSALE25"}}, "1.0.0"
    )
    contract.reload("codes", {})
    again, _ = load(path, state_file=tmp_path / "state.json")
    assert again.registry == contract.registry
    with pytest.raises(InvalidValue, match="readable file"):
        load(tmp_path / "nowhere.yaml")
