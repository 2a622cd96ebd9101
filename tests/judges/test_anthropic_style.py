"""The official SDK against a server that speaks the Messages format, in health and in sickness."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from lapse.contract import Fix
from lapse.errors import InvalidValue, LapseError, MalformedMessage, NoRequest, PeerError, Refused
from lapse.judges import Offer, Planner, Probe, Refusal, Task, Tokens, checked
from lapse.judges.anthropic_style import AnthropicPlanner
from lapse.judges.prompting import Prompting
from lapse.judges.services import Limits
from lapse.ledger import Interval, Kind, Record

MODEL = "small-20260101"
KEY = "sk-secret-0123456789"
TASK = Task(operation="POST /orders", request={"plan": "growth"})
WRITTEN = '{"plan": "growth", "code": "SUMMER"}'


def fix() -> Fix:
    content = {"type": "ADD", "parameters": {"code": "SUMMER"}, "when": {}, "request": None}
    return Fix.of(Record(id="r", kind=Kind.FIX, slot="s", content=content, valid=Interval(0)))


def events(*found: dict[str, Any]) -> bytes:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in found).encode()


def start(model: str = MODEL, **usage: int) -> dict[str, Any]:
    return {
        "type": "message_start",
        "message": {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 50, "output_tokens": 1, **usage},
        },
    }


def tool_input(piece: str) -> dict[str, Any]:
    delta = {"type": "input_json_delta", "partial_json": piece}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def text(piece: str) -> dict[str, Any]:
    delta = {"type": "text_delta", "text": piece}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


OPENED: dict[str, Any] = {
    "type": "content_block_start",
    "index": 0,
    "content_block": {"type": "tool_use", "id": "t", "name": "send_request", "input": {}},
}
CLOSED = {"type": "content_block_stop", "index": 0}
STOP = {"type": "message_stop"}


def stopping(reason: str) -> dict[str, Any]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}


def answer(written: str = WRITTEN, *, end: str = "tool_use", model: str = MODEL) -> bytes:
    half = len(written) // 2
    return events(
        start(model),
        OPENED,
        {"type": "ping"},
        tool_input(written[:half]),
        tool_input(written[half:]),
        CLOSED,
        stopping(end),
        STOP,
    )


@pytest.fixture
def planner(service: Any) -> Iterator[AnthropicPlanner]:
    with AnthropicPlanner(
        model=MODEL,
        key=SecretStr(KEY),
        base_url=service.url,
        limits=Limits(timeout_seconds=30, retries=1, answer_tokens=99),
    ) as made:
        yield made


def test_a_request_is_gathered_from_the_stream_with_what_it_cost(
    service: Any, planner: AnthropicPlanner
) -> None:
    service.turns = [answer()]
    service.counted = 38
    move = planner.first(TASK, [fix()])
    assert move.request == {"plan": "growth", "code": "SUMMER"}
    assert move.followed == (fix(),)
    assert move.tokens == Tokens(50, 9, 12)
    (path, asked), (counting, without) = service.asked
    assert (path, counting) == ("/v1/messages", "/v1/messages/count_tokens")
    assert asked["model"] == MODEL
    assert asked["stream"] is True
    assert asked["max_tokens"] == 99
    assert asked["tool_choice"]["type"] == "tool"
    assert asked["tools"][0]["input_schema"]["required"] == ["plan"]
    assert "SUMMER" in asked["messages"][-1]["content"]
    assert "SUMMER" not in json.dumps(without["messages"])
    assert all(key.endswith(KEY) for key in service.keys)


def test_it_is_a_planner_that_names_who_answers(service: Any, planner: AnthropicPlanner) -> None:
    service.turns = [answer("{}")]
    same: Planner = planner
    assert checked(same) == Probe(MODEL, MODEL)
    assert same.name == f"anthropic:{MODEL}"


def test_without_a_memory_nothing_is_counted_apart(service: Any, planner: AnthropicPlanner) -> None:
    service.turns = [answer()]
    assert planner.first(TASK, ()).tokens == Tokens(50, 9, 0)
    assert len(service.asked) == 1


def test_the_memory_can_go_uncounted(service: Any) -> None:
    service.turns = [answer()]
    with AnthropicPlanner(
        model=MODEL,
        key=SecretStr(KEY),
        base_url=service.url,
        count_memory=False,
        prompting=Prompting.SHORT,
    ) as planner:
        assert planner.first(TASK, [fix()]).tokens == Tokens(50, 9, 0)
    [(_, asked)] = service.asked
    assert "system" not in asked


def test_what_a_cache_read_and_kept_is_billed_too(service: Any, planner: AnthropicPlanner) -> None:
    begun = start(cache_creation_input_tokens=20, cache_read_input_tokens=30)
    service.turns = [events(begun, OPENED, tool_input("{}"), CLOSED, stopping("tool_use"), STOP)]
    assert planner.first(TASK, ()).tokens == Tokens(100, 9, 0)


def test_a_tool_called_without_input_is_an_empty_request(
    service: Any, planner: AnthropicPlanner
) -> None:
    service.turns = [events(start(), OPENED, CLOSED, stopping("tool_use"), STOP)]
    assert planner.first(TASK, ()).request == {}


def test_a_retry_carries_the_suggestion(service: Any, planner: AnthropicPlanner) -> None:
    service.turns = [answer()]
    refusal = Refusal(title="No code", offers=(Offer("ADD", {"code": "SUMMER"}),))
    move = planner.again(TASK, {"plan": "growth"}, refusal)
    assert move.request["code"] == "SUMMER"
    assert "No code" in service.asked[0][1]["messages"][-1]["content"]


def test_another_model_shows_in_the_probe_and_stops_any_later_answer(
    service: Any, planner: AnthropicPlanner
) -> None:
    service.turns = [answer(model="other")]
    assert planner.probe() == Probe(MODEL, "other")
    with pytest.raises(InvalidValue, match=f"'other': it answered instead of {MODEL}"):
        planner.first(TASK, ())


@pytest.mark.parametrize(("status", "tries"), [(400, 1), (401, 1), (429, 2), (500, 2), (529, 2)])
def test_errors_are_refusals_after_as_many_tries_as_are_due(
    service: Any, planner: AnthropicPlanner, status: int, tries: int
) -> None:
    service.errors(status, "not now")
    with pytest.raises(Refused, match="not now") as raised:
        planner.first(TASK, ())
    assert raised.value.status == status
    assert len(service.asked) == tries


def test_a_rate_limit_that_ends_is_waited_for(service: Any, planner: AnthropicPlanner) -> None:
    service.errors(429, "slow down")
    service.turns.append(answer())
    assert planner.first(TASK, ()).request["code"] == "SUMMER"
    assert len(service.asked) == 2


def test_the_key_is_in_no_error_no_log_and_no_repr(
    service: Any, planner: AnthropicPlanner, caplog: pytest.LogCaptureFixture
) -> None:
    service.errors(401, f"the key {KEY} is wrong")
    with caplog.at_level(logging.DEBUG), pytest.raises(Refused) as raised:
        planner.first(TASK, ())
    assert "[key] is wrong" in str(raised.value)
    assert KEY not in f"{raised.value!r}{planner!r}{vars(vars(planner)['_service'])['_key']!r}"
    assert KEY not in caplog.text


ERROR: dict[str, Any] = {
    "type": "error",
    "error": {"type": "overloaded_error", "message": f"{KEY} overloaded"},
}


@pytest.mark.parametrize(
    ("stream", "error", "said"),
    [
        (events(start(), OPENED, tool_input(WRITTEN)), MalformedMessage, "breaks off"),
        (events(start(), OPENED, stopping("tool_use")), MalformedMessage, "breaks off"),
        (events(STOP), MalformedMessage, "breaks off"),
        (b"", MalformedMessage, "breaks off"),
        (
            events(start(), OPENED, CLOSED, {**stopping("tool_use"), "usage": {}}, STOP),
            MalformedMessage,
            "how many tokens",
        ),
        (b"event: message_start\ndata: {oh no\n\n", MalformedMessage, "cannot be read"),
        (b"event: message_start\ndata: 5\n\n", MalformedMessage, "cannot be read"),
        (events(start(), ERROR), PeerError, "overloaded"),
        (answer(end="max_tokens"), NoRequest, "cut off"),
        (answer(end="refusal"), NoRequest, "refuses"),
        (
            events(start(), text("Sure, here you are"), stopping("end_turn"), STOP),
            NoRequest,
            "Expecting value",
        ),
        (answer("x" * 70_000), MalformedMessage, "more than 65,536 characters"),
    ],
)
def test_what_is_no_whole_answer_is_an_error_that_says_why(
    service: Any, planner: AnthropicPlanner, stream: bytes, error: type[LapseError], said: str
) -> None:
    service.turns = [stream]
    with pytest.raises(error, match=said) as raised:
        planner.first(TASK, ())
    assert KEY not in str(raised.value)
    if isinstance(raised.value, NoRequest):
        assert (raised.value.prompt, raised.value.completion) == (50, 9)


def test_a_connection_that_breaks_under_the_answer_is_the_peers(
    service: Any, planner: AnthropicPlanner
) -> None:
    service.turns = [events(start(), OPENED)]
    service.breaks = True
    with pytest.raises(PeerError, match="does not answer"):
        planner.first(TASK, ())


def test_a_count_that_is_no_number_is_refused(service: Any, planner: AnthropicPlanner) -> None:
    service.turns = [answer()]
    service.counted = "many"
    with pytest.raises(MalformedMessage, match="no number"):
        planner.first(TASK, [fix()])
