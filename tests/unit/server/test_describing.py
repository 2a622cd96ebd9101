"""The OpenAPI document of the contract endpoints."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import jsonschema
import pytest

from lapse.server import Contract, application
from lapse.server.declared import parse
from lapse.server.describing import description

FILE = """
tables:
  hidden_codes: {version: "7.7.7", rows: {hidden_growth: {code: HIDDEN25}}}
policies:
  - id: hidden-policy
    operation: POST /v1/subscriptions
    title: A hidden title
    detail: A hidden detail.
    look_ups: {row: {table: hidden_codes, key: {field: plan}}}
    require: {field: code, equals: {look_up: row, member: code}}
"""
OWN = ["/contract/openapi.json", "/contract/reload"]


async def asked(path: str, **options: Any) -> httpx2.Response:
    declared = parse(FILE)
    app = application(Contract(declared.registry, **options), declared.policies)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://service") as http:
        return await http.get(path)


@pytest.mark.requirement("C-DOC-01")
@pytest.mark.parametrize(
    ("level", "further"),
    [
        (0, ()),
        (1, ("versions", "changes")),
        (4, ("versions", "changes")),
        (5, ("versions", "changes", "graph")),
        (6, ("versions", "changes", "graph")),
    ],
)
async def test_it_describes_what_is_offered(level: int, further: tuple[str, ...]) -> None:
    answer = await asked("/contract/openapi.json", level=level)
    assert answer.headers["content-type"] == "application/json"
    document = answer.json()
    admin = ["/admin/reload-table", *(["/admin/graph"] if "graph" in further else [])]
    own = [*OWN, *(f"/contract/{name}" for name in further)]
    assert document["openapi"] == "3.1.0"
    assert sorted(document["paths"]) == sorted([*own, *admin, "/v1/subscriptions"])


async def test_its_schemas_describe_what_is_answered() -> None:
    document = (await asked("/contract/openapi.json")).json()
    # References start at the root of the document, so the schema that is tried stands beside them.
    schema = {**document, "$ref": "#/components/schemas/versions"}
    jsonschema.Draft202012Validator.check_schema(schema)
    versions = (await asked("/contract/versions")).json()
    jsonschema.validate(versions, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"table_versions": {"codes": 1}}, schema)


@pytest.mark.requirement("C-DOC-02")
async def test_it_gives_nothing_away() -> None:
    text = (await asked("/contract/openapi.json")).text
    assert "hidden" not in text.lower()
    assert "7.7.7" not in text


def test_one_service_may_stand_elsewhere_and_have_more() -> None:
    contract = Contract(parse(FILE).registry, location="/lapse")
    found = description(contract, paths={"/lapse/more": {"get": {}}}, admin=False)
    assert [path for path in found["paths"] if not path.startswith("/lapse/")] == []
    assert "/lapse/more" in found["paths"]
    assert json.loads(json.dumps(found)) == found
