"""Whatever a client or an operator sends, the server answers it, and stays as it was if it must."""

from __future__ import annotations

import json
from typing import Any

import httpx2
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import BY_KEY, Node, Registry, Rule, Table, is_name
from lapse.errors import InvalidValue
from lapse.server import Contract, ContractMiddleware, application
from lapse.server.declared import parse
from lapse.wire import read_changes, read_response

FILE = """
tables:
  codes: {version: "1.0.0", rows: {growth: {code: S}}}
policies:
  - id: assigned
    operation: POST /v1/subscriptions
    title: T
    detail: D
    look_ups: {row: {table: codes, key: {field: plan}}}
    require: {field: code, equals: {look_up: row, member: code}}
    suggest: {type: ADD, parameters: {code: {look_up: row, member: code}}}
"""
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
OBJECT = st.dictionaries(st.text(max_size=3), JUNK, max_size=3)
BODIES = st.binary(max_size=60) | JUNK.map(lambda value: json.dumps(value).encode())
RELOADS = BODIES | st.fixed_dictionaries(
    {"table": st.sampled_from(["codes", "new"]) | JUNK, "rows": st.none() | OBJECT},
    optional={"version": st.sampled_from(["1.0.0", "2"]) | JUNK},
).map(lambda value: json.dumps(value).encode())
REQUESTS = BODIES | st.fixed_dictionaries({"plan": JUNK, "code": JUNK}).map(
    lambda value: json.dumps(value).encode()
)
WORDS = st.sampled_from([*FILE.split(), "\n", "  ", "- ", ": ", "&a", "*a", "!!str", "{", "]"])
TABLES = st.dictionaries(st.sampled_from("ab"), OBJECT, max_size=2)
RULES = st.sets(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from(["", "x", "x.y", BY_KEY])
    ),
    max_size=4,
)
PARTS = st.text(st.characters(codec="utf-8"), max_size=10)


async def nothing(*_: object) -> None:
    raise AssertionError


async def exchange(app: Any, method: str, url: str, **options: Any) -> httpx2.Response:
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://service") as http:
        return await http.request(method, url, **options)


@given(RELOADS, st.none() | st.binary(min_size=1, max_size=20))
async def test_reloads(body: bytes, if_match: bytes | None) -> None:
    contract = Contract(parse(FILE).registry, operator_token="t")  # noqa: S106 - of one test
    before = contract.registry
    headers = [(b"authorization", b"Bearer t")]
    if if_match is not None:
        headers.append((b"if-match", if_match))
    app = ContractMiddleware(nothing, contract)
    answer = await exchange(app, "POST", "/contract/reload", content=body, headers=headers)
    assert answer.status_code in (200, 400, 412)
    if answer.status_code != 200:
        assert contract.registry is before
    reading = read_response(answer.headers.raw, None)
    assert reading.refusals == ()
    assert (reading.envelope.table_versions or {}) == contract.registry.table_versions


@given(PARTS, PARTS)
async def test_questions(table: str, since: str) -> None:
    app = ContractMiddleware(nothing, Contract(parse(FILE).registry))
    names = is_name(table) and is_name(since)
    query = {"table": table, "since": since}
    answer = await exchange(app, "GET", "/contract/changes", params=query)
    assert answer.status_code == (200 if names else 400)
    if names:
        assert read_changes(answer.content).table == table


@given(REQUESTS)
async def test_requests(body: bytes) -> None:
    declared = parse(FILE)
    app = application(Contract(declared.registry), declared.policies)
    answer = await exchange(app, "POST", "/v1/subscriptions", content=body)
    assert answer.status_code in (200, 400, 422)
    assert read_response(answer.headers.raw, answer.content).refusals == ()


def refused(text: str | bytes) -> InvalidValue | None:
    try:
        parse(text)
    except InvalidValue as failure:
        return failure
    return None


@given(st.binary(max_size=80) | st.text(max_size=80) | st.lists(WORDS).map(" ".join))
def test_declarations_are_read_or_refused(text: str | bytes) -> None:
    failure = refused(text)
    assert failure is None or (failure.field and len(str(failure)) < 2_000)


@given(st.text(FILE, max_size=4), st.integers(0, len(FILE)), st.integers(0, 6))
def test_a_declaration_with_a_slip_is_read_or_refused(slip: str, place: int, length: int) -> None:
    failure = refused(FILE[:place] + slip + FILE[place + length :])
    assert failure is None or failure.field


@given(TABLES, RULES)
def test_graphs_over_any_rows_end(tables: dict[str, Any], rules: set[tuple[str, str, str]]) -> None:
    declared = [Rule(start, end, via or "whole", via) for start, end, via in rules]
    try:
        registry = Registry.of([Table(n, rows, "1") for n, rows in tables.items()], declared)
    except InvalidValue:
        return  # a row that is no JSON
    everything = list(registry.graph.nodes())
    for node in everything:
        below = registry.graph.affected_downstream([node])
        assert node not in below
        assert set(below) <= set(everything)
    assert registry.graph.affected_downstream([Node("nowhere", "x")]) == ()
