"""What an HTTP exchange is called, and what an answer to a question is worth."""

from __future__ import annotations

import json

import httpx2
import pytest

from lapse.contract import Envelope, Moved, TableChanges
from lapse.ledger import Source
from lapse.transports.exchange import (
    answer_of,
    asked_of,
    carries_json,
    carries_mirrors,
    question_url,
)

QUESTION = Moved(Source.table("i", "codes"), "v1", "v2")
ANSWER = {"table": "codes", "since": "v1", "version": "v2", "complete": True, "rows": {"a": None}}


@pytest.mark.parametrize(
    ("url", "issuer", "operation"),
    [
        ("http://api.example/x?q=1#f", "http://api.example", "GET /x"),
        ("https://API.example:443/x", "https://api.example", "GET /x"),
        ("https://user:pw@api.example:8443/x", "https://api.example:8443", "GET /x"),
        ("http://[::1]:80/x", "http://[::1]", "GET /x"),
        ("http://bücher.example/ä", "http://xn--bcher-kva.example", "GET /ä"),
        ("http://api.example", "http://api.example", "GET /"),
    ],
)
def test_the_issuer_is_the_origin_and_the_operation_method_and_path(
    url: str, issuer: str, operation: str
) -> None:
    asked = asked_of(httpx2.Request("GET", url), None, None)
    assert (asked.issuer, asked.operation) == (issuer, operation)


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        ("application/json", True),
        ("application/problem+json; charset=utf-8", True),
        ("TEXT/JSON", True),
        ("application/x-ndjson", False),
        ("text/event-stream", False),
        ("", False),
    ],
)
def test_only_json_may_hold_members(kind: str, *, holds: bool) -> None:
    assert carries_json(httpx2.Response(200, headers={"content-type": kind})) is holds


@pytest.mark.parametrize("name", ["Contract-Versions", "contract-rules", "CONTRACT-LOCATION"])
def test_mirrors_are_found_by_any_spelling(name: str) -> None:
    assert carries_mirrors(httpx2.Response(200, headers={name: "x"}))
    assert not carries_mirrors(httpx2.Response(200, headers={f"x-{name}": "x"}))


def test_a_question_without_a_version_asks_since_nothing() -> None:
    asked = asked_of(httpx2.Request("GET", "http://api.example/x"), None, None)
    url = question_url(asked, Envelope(), Moved(Source.table("i", "t"), None, "v1"))
    assert str(url) == "http://api.example/contract/changes?table=t&since="


def test_an_answer_is_read() -> None:
    assert answer_of(QUESTION, 200, json.dumps(ANSWER).encode()) == TableChanges(
        table="codes", since="v1", version="v2", complete=True, rows={"a": None}
    )


@pytest.mark.parametrize("status", [201, 204, 206, 301, 400, 401, 429, 500, 503])
def test_any_other_status_is_no_answer(status: int) -> None:
    assert answer_of(QUESTION, status, json.dumps(ANSWER).encode()) is None


@pytest.mark.parametrize("status", [403, 404, 405, 410, 501])
@pytest.mark.parametrize("now", ["v2", None])
def test_no_endpoint_is_an_answer_that_says_nothing_about_rows(
    status: int, now: str | None
) -> None:
    question = Moved(QUESTION.source, "v1", now)
    assert answer_of(question, status, b"") == TableChanges(
        table="codes", since="v1", version=now, complete=False
    )
