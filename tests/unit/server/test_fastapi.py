"""The seat in a FastAPI application."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import jsonschema
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

from lapse.contract import Registry, Table, Violation
from lapse.server import Contract, Rejected
from lapse.server.fastapi import envelope_route, install, problem_responses
from lapse.wire import read_response

REGISTRY = Registry.of([Table("codes", {"growth": {"code": "S25"}}, "1.0.0")])


class Order(BaseModel):
    plan: str
    promotion_code: str | None = None


def listed() -> list[int]:
    return [1]


def other_json() -> JSONResponse:
    return JSONResponse({"success": "ours"}, media_type="application/vnd.ours+json")


def own_member() -> dict[str, str]:
    return {"success": "ours"}


def teapot() -> JSONResponse:
    return JSONResponse({"tea": True}, status_code=418)


def stream() -> StreamingResponse:
    return StreamingResponse(iter([b'{"a":', b"1}"]), media_type="application/json")


def routed() -> dict[str, int]:
    return {"n": 1}


def service(**options: Any) -> FastAPI:
    contract = Contract(REGISTRY)
    app = FastAPI()
    install(app, contract, **options)

    def subscribe(order: Order) -> dict[str, str]:
        with contract.reading() as tables:
            assigned = tables["codes"].get(order.plan)
            if assigned and order.promotion_code != assigned["code"]:
                fix = tables.suggest(
                    "ADD", {"promotion_code": assigned["code"]}, when={"plan": order.plan}
                )
                raise Rejected(
                    Violation(policy="assigned-code", title="T", detail="D", suggestions=(fix,))
                )
        return {"id": "sub_1"}

    app.add_api_route("/v1/subscriptions", subscribe, methods=["POST"])
    for answer in (listed, other_json, own_member, teapot, stream):
        app.add_api_route(f"/{answer.__name__}", answer)
    router = APIRouter(route_class=envelope_route(contract))
    router.add_api_route("/routed", routed)
    app.include_router(router)
    return app


@asynccontextmanager
async def client(**options: Any) -> AsyncGenerator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=service(**options))
    async with httpx2.AsyncClient(transport=transport, base_url="http://service") as http:
        yield http


@pytest.mark.requirement("C-PRB-01", "C-PRB-05", "C-HDR-06")
async def test_a_rejection_is_one_problem_document() -> None:
    async with client() as http:
        answer = await http.post("/v1/subscriptions", json={"plan": "growth"})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert (answer.headers["cache-control"], answer.headers["vary"]) == ("no-store", "Accept")
    reading = read_response(answer.headers.raw, answer.content)
    assert reading.refusals == ()
    assert reading.envelope.suggestions[0].parameters == {"promotion_code": "S25"}
    assert reading.envelope.suggestions[0].when == {"plan": "growth"}
    assert reading.envelope.location == "/contract"


@pytest.mark.requirement("C-ENV-02", "C-ENV-04", "C-ENV-05")
async def test_json_objects_of_successes_carry_the_members() -> None:
    body = {"plan": "growth", "promotion_code": "S25"}
    async with client() as http:
        answer = await http.post("/v1/subscriptions", json=body)
        routed = await http.get("/routed")
    assert answer.json() == {
        "success": True,
        "table_versions": {"codes": "1.0.0"},
        "rules_version": REGISTRY.rules_version,
        "id": "sub_1",
    }
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert routed.json()["n"] == 1
    assert routed.json()["table_versions"] == {"codes": "1.0.0"}


@pytest.mark.requirement("C-HDR-06")
async def test_other_answers_keep_their_bodies_and_get_headers() -> None:
    bodies = {
        "/listed": b"[1]",
        "/other_json": b'{"success":"ours"}',
        "/teapot": b'{"tea":true}',
        "/stream": b'{"a":1}',
    }
    async with client() as http:
        for path, body in bodies.items():
            answer = await http.get(path)
            assert answer.content == body
            assert answer.headers["contract-versions"] == '"codes";v="1.0.0"'
        assert (await http.get("/own_member")).json()["success"] == "ours"
        assert (await http.get("/contract/versions")).json()["table_versions"] == {"codes": "1.0.0"}


async def test_the_envelope_can_be_left_to_headers() -> None:
    async with client(envelope=False) as http:
        answer = await http.post("/v1/subscriptions", json={"plan": "free"})
    assert answer.json() == {"id": "sub_1"}
    assert read_response(answer.headers.raw, answer.content).envelope.table_versions == {
        "codes": "1.0.0"
    }


async def test_a_request_of_another_shape() -> None:
    async with client() as http:
        own = await http.post("/v1/subscriptions", json={"plan": 3})
        assert list(own.json()) == ["detail"]
    async with client(validation=True) as http:
        ours = await http.post("/v1/subscriptions", json={"plan": {"secret": 3}})
    document = ours.json()
    assert (ours.status_code, document["title"]) == (
        422,
        "The request does not have the declared shape",
    )
    assert document["errors"] == [
        {"loc": ["body", "plan"], "msg": "Input should be a valid string", "type": "string_type"}
    ]
    assert "secret" not in ours.text
    assert document["success"] is False


def schema_of(responses: dict[int | str, dict[str, Any]]) -> dict[str, Any]:
    return responses[422]["content"]["application/json"]["schema"]


@pytest.mark.parametrize("validation", [False, True])
async def test_open_api_describes_the_answer(*, validation: bool) -> None:
    async with client(validation=validation) as http:
        document = (await http.get("/openapi.json")).json()
        answers = [
            await http.post("/v1/subscriptions", json=body) for body in ({"plan": "growth"}, {})
        ]
    described = document["paths"]["/v1/subscriptions"]["post"]["responses"]["422"]
    assert set(described["content"]) == {"application/problem+json", "application/json"}
    schema = described["content"]["application/problem+json"]["schema"]
    assert "$ref" not in str(schema)
    assert ("anyOf" in schema) is ("anyOf" in schema_of(problem_responses(validation=validation)))
    for answer in answers:
        jsonschema.validate(answer.json(), schema, cls=jsonschema.Draft202012Validator)
