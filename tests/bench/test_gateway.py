"""A real history behind a gateway: documents are read back exactly, agents save what they can."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lapse.server.openapi import read_openapi
from lapse_bench.gateway import document, gateway_result, prefixed, run_gateway
from lapse_bench.gateway.documents import paths_of
from lapse_bench.gateway.requests import call_of, flat_of, flattened
from lapse_bench.traces import History, fewer, find, read

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def twilio() -> History:
    found = find("twilio", start=ROOT, full=False)
    return fewer(read(found.path, name=found.name), tables=4)


@pytest.mark.parametrize("trace", ["twilio", "adyen"])
def test_a_document_made_of_rows_is_read_as_those_rows(trace: str) -> None:
    found = find(trace, start=ROOT, full=False)
    history = fewer(read(found.path, name=found.name), tables=6)
    rows: dict[str, dict[str, Any]] = {}
    for event in history.events:
        table = rows.setdefault(event.table, {})
        if event.after is None:
            table.pop(event.key, None)
        else:
            table[event.key] = event.after
    for table, expected in rows.items():
        made = document(paths_of(table, expected), title=table)
        (got,) = read_openapi(json.dumps(made), service=table).tables.values()
        assert got == {prefixed(table, key): row for key, row in expected.items()}


def test_a_request_comes_back_from_the_wire_as_it_was() -> None:
    flat = {
        "path.Sid": "a b/c",
        "query.Size": "5",
        "header.X-Key": "k",
        "body.a.b": 1,
        "body.l[].n": "x",
        "body.m.*": True,
    }
    operation = "POST /s/things/{Sid}"
    call = call_of(operation, {**flat, "body.gone": None}, has_body=True)
    assert call.operation == "POST /s/things/a%20b%2Fc"
    assert call.body == {"a": {"b": 1}, "l": [{"n": "x"}], "m": {"*": True}}
    back = flat_of(
        [*flat, "body", "body.a", "body.l", "body.l[]", "body.m"],
        "/s/things/{Sid}",
        path=call.path,
        query=b"Size=5&Other=1",
        headers={"x-key": "k"},
        body=json.dumps(call.body).encode(),
    )
    assert back == {**flat, "query.Other": "1"}
    assert flattened({"a": {"b": 2}, "c": [1]}, place="body") == {"body.a.b": 2, "body.c": [1]}


def test_a_slice_of_a_history_is_followed_row_by_row(twilio: History) -> None:
    result = gateway_result(twilio, run_gateway(twilio, episodes=25, seed=0), config={})
    assert result["problems"] == []
    assert result["reloads"] > 0
    assert (result["reloads_inexact"], result["unsaid"]) == (0, {})
    bare, plain, remembering = result["arms"].values()
    assert bare["looked_up"] >= plain["looked_up"] >= remembering["looked_up"]
    assert remembering["attempts"] <= plain["attempts"]
    assert remembering["failed"] == 0


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, "examples/gateway_history.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "of which 0 had another diff" in done.stdout
