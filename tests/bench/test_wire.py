"""What the contract costs on the wire, counted over real HTTP/1.1 and HTTP/2 on loopback."""

from __future__ import annotations

import json
from statistics import mean

import httpx2
import pytest

from lapse_bench.wire.counting import sized
from lapse_bench.wire.http2 import Http2, served_2
from lapse_bench.wire.mcp import run_mcp
from lapse_bench.wire.streams import Form, run_stream, streams
from lapse_bench.wire.tokens import added, tokens

FULL = Form(6)
DIGEST = Form(6, digest=True)
DEFAULT = Form(6, extensions=True, digest=True)
"""What a service sends by default."""


def test_every_byte_of_the_contract_is_counted_once() -> None:
    body: dict[str, object] = {
        "success": False,
        "recovery_feedback": {
            "suggestions": [
                {"type": "T", "parameters": {}, "cache_hint": "cacheable", "table": "t"}
            ]
        },
        "table_versions": {"t": "1"},
        "rules_version": "abc",
    }
    text = json.dumps(body, separators=(",", ":")).encode()
    request = httpx2.Request("POST", "http://h/x", headers={"Lapse": "abcd"}, content=b"{}")
    headers = [(b"contract-rules", b'"abc"'), (b"vary", b"Lapse"), (b"vary", b"Accept")]
    counted = sized(request, 422, headers, text)
    assert counted.envelope == len(b',"table_versions":{"t":"1"},"rules_version":"abc"')
    assert counted.fixes == len(b',"cache_hint":"cacheable","table":"t"')
    assert counted.lines == len(b'contract-rules: "abc"\r\nvary: Lapse\r\n')
    assert counted.request == len(b"Lapse: abcd\r\n")
    assert counted.payload == len(text) + counted.lines


def share_of(stream: str, form: Form) -> float:
    """How much of the answers is the contract's, the first one to each client left out."""
    ran = run_stream(streams()[stream], form)
    later = [call for one in ran.recorded for call in one.calls[1:]]
    assert ran.counters.get("failed", 0) == 0
    assert added(ran.contexts) == 0
    assert any(tokens(context.brief) for context in ran.contexts)
    return sum(c.contract for c in later) / sum(c.payload for c in later)


@pytest.mark.parametrize("stream", ["payments", "rules"])
def test_all_that_a_service_sends_costs_a_twentieth_of_a_payload(stream: str) -> None:
    assert share_of(stream, DEFAULT) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["payments", "rules"])
def test_a_digest_costs_a_twentieth_of_a_payload(stream: str) -> None:
    assert share_of(stream, DIGEST) <= 0.05
    assert share_of(stream, FULL) > 0.4


@pytest.mark.slow
def test_the_shortest_answers_stay_below_a_fifteenth() -> None:
    assert 0.05 < share_of("recipes", DEFAULT) <= 0.065


@pytest.mark.slow
def test_what_is_learned_does_not_depend_on_how_it_is_said() -> None:
    for stream in streams().values():
        learned = [run_stream(stream, form) for form in (DEFAULT, Form(6, extensions=True))]
        briefs = [[(context.brief, context.bare) for context in ran.contexts] for ran in learned]
        assert briefs[0] == briefs[1]
        kinds = ("stored", "refused", "evicted", "questions", "failed")
        counts = [[ran.counters.get(kind, 0) for kind in kinds] for ran in learned]
        assert counts[0] == counts[1]


@pytest.mark.slow
def test_a_digest_does_not_grow_with_the_tables() -> None:
    found = streams()["payments"]
    few, many = (
        mean(call.contract for one in ran.recorded for call in one.calls[1:])
        for ran in (run_stream(found, DIGEST, tables=size) for size in (6, 300))
    )
    assert few == many


def test_http2_carries_digests_and_repeats_them_as_an_index() -> None:
    made: list[Http2] = []

    def connection() -> Http2:
        made.append(Http2())
        return made[-1]

    ran = run_stream(streams()["payments"], DIGEST, serving=served_2, wrapped=connection)
    assert ran.counters["digests"] > 50
    assert ran.counters.get("failed", 0) == 0
    ours = [answer.ours for one in made for answer in one.answers[1:]]
    assert min(ours) == 1  # the line that was sent before
    assert mean(ours) < 8


@pytest.mark.slow
def test_nothing_of_the_contract_reaches_a_model_over_mcp() -> None:
    stream = streams()["payments"]
    digest = run_mcp(stream, Form(6, extensions=True, digest=True))
    full = run_mcp(stream, Form(6, extensions=True))
    assert sum(result.tokens for result in digest) == 0
    assert sum(result.tokens for result in full) > 0
    assert mean(r.contract for r in digest) < mean(r.contract for r in full) / 4
