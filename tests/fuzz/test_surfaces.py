"""Schemathesis against every HTTP surface: what its OpenAPI document allows, and what it does not.

Each surface is served on loopback, asked for its own document, and sent requests made from it:
right ones, wrong ones, undescribed methods, missing and wrong credentials. No answer may be a
server's error, be undescribed, differ from its schema, or hold contract members that a reader
leaves out.
"""

from __future__ import annotations

import socket
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Annotated, Any, Literal, cast

import httpx2
import pytest
import schemathesis
import uvicorn
from fastapi import FastAPI, HTTPException, Path, Query
from pydantic import BaseModel, Field
from schemathesis.engine import events, from_schema
from uvicorn._types import ASGIApplication

import lapse
from lapse.contract import Aliases, Registry, Rule, Table, Violation
from lapse.server import (
    ASGIApp,
    Contract,
    Receive,
    Rejected,
    Scope,
    Send,
    Signing,
    application,
)
from lapse.server.declared import parse
from lapse.server.fastapi import install
from lapse.server.gateway import Gateway
from lapse.server.metrics_prometheus import measured
from lapse.server.workspace_asked import Leaving, Said
from lapse.server.workspace_grants import Grant
from lapse.server.workspace_http import workspace_application
from lapse.server.workspace_seat import Seat
from lapse.server.workspace_tokens import Tokens
from lapse.signing import HmacKeys
from lapse.testing import ManualClock
from lapse.wire import read_response

TOKEN = "operator"  # noqa: S105 - of a server that lives for one test
DECLARED = """
tables:
  codes: {version: "1.0.0", rows: {growth: {code: S}, "0": {code: T}}}
  known: {version: "1.0.0", rows: {S: {}, T: {}}}
rules:
  - {from: codes, to: known, relation: requires, via: code}
policies:
  - id: assigned
    operation: POST /v1/subscriptions
    title: Another code is on file
    detail: The request carries another code, or none.
    look_ups: {row: {table: codes, key: {field: plan}}}
    require: {field: code, equals: {look_up: row, member: code}}
    suggest: {type: ADD, parameters: {code: {look_up: row, member: code}}}
"""
QUICK, DEEP = 5, 150
"""Requests that are made up for each operation, beside those that follow from its schema."""


@contextmanager
def served(app: ASGIApp) -> Generator[str]:
    """A real server on loopback for as long as it is needed, with its lifespan."""
    # The protocol is named, so that the loop switches Nagle's algorithm off.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    config = uvicorn.Config(cast("ASGIApplication", app), log_level="critical", ws="none")
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@dataclass
class Found:
    """What came back.

    Attributes:
        wrong: what should not have.
        statuses: the statuses of each operation.
    """

    wrong: list[str] = field(default_factory=list[str])
    statuses: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set[int]))

    def take(self, recorder: Any) -> None:
        for case, checks in recorder.checks.items():
            for check in checks:
                if check.status.value == "failure":
                    failure = check.failure_info
                    said = f"{failure.failure.title}: {failure.failure.message}"
                    self.wrong.append(f"{check.name} {said}\n{failure.code_sample} ({case})")
        for interaction in recorder.interactions.values():
            response = interaction.response
            self.statuses[recorder.label].add(response.status_code)
            lines = [
                (name.encode(), line.encode("latin-1"))
                for name, several in response.headers.items()
                for line in several
            ]
            refusals = read_response(lines, response.content).refusals
            if refusals:
                self.wrong.append(f"{refusals} {response.request.url} {response.content!r}")


def fuzzed(
    base: str,
    document: dict[str, Any],
    *,
    examples: int,
    accepted: tuple[int, ...] = (),
    scheme: str = "operator",
) -> Found:
    """Send one service what its document makes think of.

    Args:
        base: its address.
        document: its OpenAPI document.
        examples: how many requests are made up for each operation.
        accepted: statuses with which it may refuse a request that fits its schema.
        scheme: what its document calls the token.
    """
    deep = examples == DEEP
    wanted = {
        "base-url": base,
        # The same requests in every run, and nothing read from or written to the disk.
        "seed": 1,
        "cache": {"enabled": False},
        "generation": {
            "max-examples": examples,
            "deterministic": True,
            "database": "none",
            "no-shrink": not deep,
        },
        "phases": {"stateful": {"enabled": deep}},
        "auth": {"openapi": {scheme: {"bearer": TOKEN if scheme == "operator" else TOKEN * 4}}},
        "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", *map(str, accepted)]}},
    }
    # It is annotated as taking some dict, of whatever.
    config = schemathesis.Config.from_dict(wanted)  # pyright: ignore[reportUnknownMemberType]
    found = Found()
    schema = schemathesis.openapi.from_dict(document, config=config)
    for event in from_schema(schema).execute():
        match event:
            case events.ScenarioFinished():
                found.take(event.recorder)
            case events.NonFatalError():
                found.wrong.append(f"{event.label}: {event.value!r}")
            case events.FatalError():
                raise event.exception
            case _:
                pass
    return found


def own_document(base: str, path: str = "/contract/openapi.json") -> dict[str, Any]:
    answer = httpx2.get(f"{base}{path}")
    assert answer.status_code == 200
    return answer.json()


profiles = pytest.mark.parametrize(
    "examples", [QUICK, pytest.param(DEEP, marks=pytest.mark.slow)], ids=["quick", "deep"]
)


def test_what_is_wrong_is_found() -> None:
    said = {"application/json": {"schema": {"type": "object", "required": ["order"]}}}
    paths = {"/": {"get": {"responses": {"200": {"description": "D", "content": said}}}}}
    document = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": paths}

    async def careless(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        if scope["type"] == "http":
            lines = [(b"content-type", b"application/json"), (b"contract-versions", b"codes=1;;")]
            await send({"type": "http.response.start", "status": 200, "headers": lines})
            await send({"type": "http.response.body", "body": b"{}"})

    with served(careless) as base:
        found = "\n".join(fuzzed(base, document, examples=1).wrong)
    assert "response_schema_conformance" in found
    assert "unsupported_method" in found
    assert "Refusal(" in found


# -- lapse serve -----------------------------------------------------------------------------------


def declared(**options: Any) -> ASGIApp:
    service = parse(DECLARED)
    contract = Contract(service.registry, operator_token=TOKEN, **options)
    app = application(contract, service.policies)
    return measured(app, contract)


def declared_document(base: str) -> dict[str, Any]:
    """The service's own document, with a request that is refused, and the counts beside it."""
    document = own_document(base)
    body = document["paths"]["/v1/subscriptions"]["post"]["requestBody"]["content"]
    body["application/json"]["examples"] = {"refused": {"value": {"plan": "growth"}}}
    counts = {"schema": {"type": "string", "minLength": 1}}
    kinds = {"text/plain": counts, "application/openmetrics-text": counts}
    answers = {"200": {"description": "The counts.", "content": kinds}}
    document["paths"]["/contract/metrics"] = {"get": {"responses": answers}}
    return document


# If-None-Match may name what stands, If-Match what does not; versions are taken; policies decide.
REFUSES = (304, 400, 412, 422)


@profiles
@pytest.mark.requirement("C-DOC-01")
def test_a_declared_service_does_what_its_document_says(examples: int) -> None:
    with served(declared()) as base:
        document = declared_document(base)
        if examples == QUICK:
            # They are what stands under the location, once more.
            del document["paths"]["/admin/graph"], document["paths"]["/admin/reload-table"]
        found = fuzzed(base, document, examples=examples, accepted=REFUSES)
    assert found.wrong == []
    assert {200, 400, 401, 405} <= found.statuses["POST /contract/reload"]
    assert {200, 400, 405} <= found.statuses["GET /contract/changes"]
    assert {200, 405} <= found.statuses["GET /contract/versions"]
    assert {200, 400, 422} <= found.statuses["POST /v1/subscriptions"]
    assert {200, 405} <= found.statuses["GET /contract/metrics"]


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1, 4, 5])
def test_a_service_of_a_lower_level_does_too(level: int) -> None:
    with served(declared(level=level)) as base:
        found = fuzzed(base, declared_document(base), examples=QUICK, accepted=REFUSES)
    assert found.wrong == []
    assert ("GET /contract/changes" in found.statuses) == (level >= 1)
    assert ("GET /admin/graph" in found.statuses) == (level >= 5)


@pytest.mark.slow
def test_a_service_that_signs_and_names_no_table_does_too() -> None:
    keys = HmacKeys({"shared": bytes(range(32))}, sign_with="shared")
    signing = Signing(keys, issuer="https://api.example", clock=ManualClock(1_000_000_000))
    app = declared(signing=signing, aliases=Aliases(secret="sixteen characters"))  # noqa: S106
    with served(app) as base:
        found = fuzzed(base, declared_document(base), examples=QUICK, accepted=REFUSES)
    assert found.wrong == []
    assert {200, 400, 422} <= found.statuses["POST /v1/subscriptions"]


# -- FastAPI ---------------------------------------------------------------------------------------


# FastAPI answers a body that is no text with 400, and does not say so by itself.
UNREADABLE: dict[int | str, dict[str, Any]] = {400: {"description": "The body cannot be read."}}


class Order(BaseModel):
    plan: Literal["growth", "scale"]
    code: Annotated[str, Field(max_length=8)] | None = None


class Placed(BaseModel):
    order: int
    plan: str


def shop(*, validation: bool) -> FastAPI:
    tables = [Table("codes", {"growth": {"code": "S"}}, "1"), Table("known", {"S": {}}, "1")]
    registry = Registry.of(tables, [Rule("codes", "known", "requires", "code")])
    contract = Contract(registry, operator_token=TOKEN)
    app = FastAPI()
    install(app, contract, validation=validation)

    @app.post("/orders", responses=UNREADABLE)
    def place(order: Order) -> Placed:
        with contract.reading() as read:
            row = read["codes"].get(order.plan)
            if row is not None and order.code != row["code"]:
                fix = read.suggest("ADD", {"code": row["code"]}, when={"plan": order.plan})
                raise Rejected(Violation(policy="code", title="T", detail="D", suggestions=(fix,)))
        return Placed(order=1, plan=order.plan)

    @app.get("/orders/{number}", responses={404: {"description": "There is none."}})
    def look(number: Annotated[int, Path(ge=1, le=2**31)]) -> Placed:
        if number > 5:
            raise HTTPException(404)
        return Placed(order=number, plan="scale")

    return app


@profiles
def test_a_fastapi_application_does_what_its_document_says(examples: int) -> None:
    with served(shop(validation=examples == QUICK)) as base:
        theirs = own_document(base, "/openapi.json")
        found = fuzzed(base, theirs, examples=examples, accepted=(404, 422))
    assert found.wrong == []
    assert {200, 422} <= found.statuses["POST /orders"]
    assert {200, 404, 422} <= found.statuses["GET /orders/{number}"]


@pytest.mark.slow
def test_so_do_the_contract_endpoints_beside_it() -> None:
    with served(shop(validation=False)) as base:
        found = fuzzed(base, own_document(base), examples=DEEP, accepted=REFUSES)
    assert found.wrong == []
    assert {200, 400, 401, 405} <= found.statuses["POST /admin/reload-table"]


# -- the gateway -----------------------------------------------------------------------------------


class Paint(BaseModel):
    colour: Literal["red"]
    coats: int = Field(ge=1, le=9)
    name: Annotated[str, Field(max_length=8)] | None = None


def upstream() -> FastAPI:
    """A service that validates, and knows nothing of any contract."""
    app = FastAPI(title="Paint")

    @app.get("/paints")
    def listed(size: Annotated[int, Query(ge=1, le=100)] = 10) -> list[Paint]:
        return [Paint(colour="red", coats=1)] * min(size, 3)

    @app.post("/mixtures", status_code=201, responses=UNREADABLE)
    def mixed(paint: Paint) -> Paint:
        return paint

    @app.delete("/paints/{number}", status_code=204)
    def poured(number: Annotated[int, Path(ge=1)]) -> None:
        del number

    return app


@profiles
def test_through_a_gateway_a_service_does_what_its_document_says(examples: int) -> None:
    with served(upstream()) as behind:
        document = httpx2.get(f"{behind}/openapi.json")
        gateway = Gateway(document.content, behind, operator_token=TOKEN)
        with served(gateway) as base:
            found = fuzzed(base, document.json(), examples=examples)
            own = own_document(base)
            if examples == QUICK:
                own["paths"] = {"/contract/reload-spec": own["paths"]["/contract/reload-spec"]}
            ours = fuzzed(base, own, examples=examples, accepted=REFUSES)
    assert found.wrong == ours.wrong == []
    assert {200, 422} <= found.statuses["GET /paints"]
    assert {201, 422} <= found.statuses["POST /mixtures"]
    assert {204, 422} <= found.statuses["DELETE /paints/{number}"]
    assert {400, 401, 405} <= ours.statuses["POST /contract/reload-spec"]


# -- a workspace -----------------------------------------------------------------------------------


def workspace_service() -> ASGIApp:
    workspace = lapse.workspace("memory:", observers=["desk"])
    seat = Seat(workspace, Grant(principal="A1", role="planner", observer="desk", operator=True))
    seat.record(Said(text="Sunrise", slot="hotel", item_id="h0"))
    seat.depart(Leaving())
    return workspace_application({None: workspace}, Tokens().granting(TOKEN * 4, seat.grant))


@pytest.mark.parametrize("examples", [QUICK, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.requirement("C-WS-15")
def test_a_workspace_does_what_its_document_says(examples: int) -> None:
    with served(workspace_service()) as base:
        document = own_document(base, "/workspace/openapi.json")
        paths = document["paths"]
        for parameter in paths["/workspace/items/{item}"]["get"]["parameters"]:
            parameter["examples"] = {"known": {"value": "h0"}}
        if examples == QUICK:
            kept = ("items", "items/{item}", "return", "returns/{cycle}/view", "status")
            document["paths"] = {f"/workspace/{name}": paths[f"/workspace/{name}"] for name in kept}
        refused = (403, 404, 409, 422)
        found = fuzzed(base, document, examples=examples, accepted=refused, scheme="member")
    assert found.wrong == []
    assert {201, 401, 422} <= found.statuses["POST /workspace/items"]
    assert {200, 401, 422} <= found.statuses["GET /workspace/items/{item}"]
