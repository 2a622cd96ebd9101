"""The official SDK against a server that speaks Chat Completions, in health and in sickness."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from lapse.cli.main import app
from lapse.contract import Consumption, Fix
from lapse.errors import InvalidValue, LapseError, MalformedMessage, NoRequest, PeerError, Refused
from lapse.judges import Offer, Planner, Probe, Refusal, Task, Tokens, checked
from lapse.judges.openai_style import OpenAIPlanner
from lapse.judges.services import Limits
from lapse.ledger import Interval, Kind, Record

MODEL = "small-2026-01-01"
KEY = "sk-secret-0123456789"
SCHEMA = {
    "type": "object",
    "properties": {"plan": {"type": "string"}, "code": {"type": "string"}},
    "required": ["plan"],
}
TASK = Task(operation="POST /orders", request={"plan": "growth"}, schema=SCHEMA)
WRITTEN = '{"plan": "growth", "code": "SUMMER"}'


def fix() -> Fix:
    content = {"type": "ADD", "parameters": {"code": "SUMMER"}, "when": {}, "request": None}
    return Fix.of(Record(id="r", kind=Kind.FIX, slot="s", content=content, valid=Interval(0)))


def chunk(**more: Any) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": MODEL,
        "choices": [],
        **more,
    }


def choice(text: str | None = None, end: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"index": 0, "delta": {"content": text, **delta}, "finish_reason": end}


def events(*chunks: Any, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(one)}\n\n" for one in chunks]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


USAGE = chunk(usage={"prompt_tokens": 50, "completion_tokens": 9, "total_tokens": 59})


def answer(text: str = WRITTEN, *, end: str = "stop", model: str = MODEL) -> bytes:
    half = len(text) // 2
    return events(
        chunk(model=model, choices=[choice(text[:half])]),
        chunk(model=model, choices=[choice(text[half:])]),
        chunk(model=model, choices=[choice(end=end)]),
        {**USAGE, "model": model},
    )


@pytest.fixture
def planner(service: Any) -> Iterator[OpenAIPlanner]:
    with OpenAIPlanner(
        model=MODEL,
        key=SecretStr(KEY),
        base_url=f"{service.url}/v1",
        level=Consumption.PATCH,
        limits=Limits(timeout_seconds=30, retries=1, answer_tokens=99),
    ) as made:
        yield made


def test_a_request_is_gathered_from_the_stream_with_what_it_cost(
    service: Any, planner: OpenAIPlanner
) -> None:
    service.turns = [answer()]
    move = planner.first(TASK, [fix()])
    assert move.request == {"plan": "growth", "code": "SUMMER"}
    assert move.followed == (fix(),)
    assert (move.tokens.prompt, move.tokens.completion) == (50, 9)
    assert 20 < move.tokens.memory < 60
    [(path, asked)] = service.asked
    assert path == "/v1/chat/completions"
    assert asked["model"] == MODEL
    assert asked["stream"] is True
    assert asked["stream_options"] == {"include_usage": True}
    assert asked["temperature"] == 0.0
    assert asked["max_completion_tokens"] == 99
    assert asked["response_format"]["json_schema"]["schema"] == SCHEMA
    assert "SUMMER" in asked["messages"][-1]["content"]
    assert service.keys == [f"Bearer {KEY}"]


def test_it_is_a_planner_that_names_who_answers(service: Any, planner: OpenAIPlanner) -> None:
    service.turns = [answer("{}")]
    same: Planner = planner
    assert checked(same) == Probe(MODEL, MODEL)
    assert same.name == f"openai:{MODEL}"


def test_without_a_memory_no_token_is_the_memorys(service: Any, planner: OpenAIPlanner) -> None:
    service.turns = [answer()]
    assert planner.first(TASK, ()).tokens == Tokens(50, 9, 0)


def test_a_retry_carries_the_suggestion(service: Any, planner: OpenAIPlanner) -> None:
    service.turns = [answer()]
    refusal = Refusal(title="No code", offers=(Offer("ADD", {"code": "SUMMER"}),))
    move = planner.again(TASK, {"plan": "growth"}, refusal)
    assert move.request["code"] == "SUMMER"
    assert "No code" in service.asked[0][1]["messages"][-1]["content"]


def test_another_model_shows_in_the_probe_and_stops_any_later_answer(
    service: Any, planner: OpenAIPlanner
) -> None:
    service.turns = [answer(model="other")]
    assert planner.probe() == Probe(MODEL, "other")
    with pytest.raises(InvalidValue, match=f"'other': it answered instead of {MODEL}"):
        planner.first(TASK, ())


def test_a_model_that_changes_within_one_answer_is_another(
    service: Any, planner: OpenAIPlanner
) -> None:
    service.turns = [events(chunk(choices=[choice("{}", "stop")]), {**USAGE, "model": "other"})]
    with pytest.raises(InvalidValue, match=f"{MODEL} and other"):
        planner.first(TASK, ())


@pytest.mark.parametrize(("status", "tries"), [(400, 1), (401, 1), (429, 2), (500, 2), (503, 2)])
def test_errors_are_refusals_after_as_many_tries_as_are_due(
    service: Any, planner: OpenAIPlanner, status: int, tries: int
) -> None:
    service.errors(status, "not now")
    with pytest.raises(Refused, match="not now") as raised:
        planner.first(TASK, ())
    assert raised.value.status == status
    assert len(service.asked) == tries


def test_a_rate_limit_that_ends_is_waited_for(service: Any, planner: OpenAIPlanner) -> None:
    service.errors(429, "slow down")
    service.turns.append(answer())
    assert planner.first(TASK, ()).request["code"] == "SUMMER"
    assert len(service.asked) == 2


def test_the_key_is_in_no_error_no_log_and_no_repr(
    service: Any, planner: OpenAIPlanner, caplog: pytest.LogCaptureFixture
) -> None:
    service.errors(401, f"the key {KEY} is wrong")
    with caplog.at_level(logging.DEBUG), pytest.raises(Refused) as raised:
        planner.first(TASK, ())
    assert "[key] is wrong" in str(raised.value)
    assert KEY not in f"{raised.value!r}{planner!r}{vars(vars(planner)['_service'])['_key']!r}"
    assert KEY not in caplog.text


@pytest.mark.parametrize("key", ["", "with\nbreak", "clé"])
def test_a_key_that_cannot_be_sent_is_refused_unseen(key: str) -> None:
    with pytest.raises(InvalidValue, match="printable ASCII") as raised:
        OpenAIPlanner(model=MODEL, key=SecretStr(key))
    assert not key or key not in str(raised.value)


@pytest.mark.parametrize(
    ("stream", "error", "said"),
    [
        (events(chunk(choices=[choice(WRITTEN)]), done=False), MalformedMessage, "breaks off"),
        (events(USAGE), MalformedMessage, "breaks off"),
        (b"", MalformedMessage, "breaks off"),
        (events(chunk(choices=[choice("{}", "stop")])), MalformedMessage, "how many tokens"),
        (b"data: {oh no\n\n", MalformedMessage, "cannot be read"),
        (b"data: 5\n\n", MalformedMessage, "cannot be read"),
        (events(chunk(choices=[7])), MalformedMessage, "cannot be read"),
        (events(chunk(choices=7)), MalformedMessage, "cannot be read"),
        (events({"error": {"message": "overloaded"}}), PeerError, "overloaded"),
        (answer(end="length"), NoRequest, "cut off"),
        (answer(end="content_filter"), NoRequest, "filter"),
        (answer(end="tool_calls"), NoRequest, "'tool_calls'"),
        (answer("Sure, here you are"), NoRequest, "Expecting value"),
        (
            events(chunk(choices=[choice(refusal="I will not")]), USAGE),
            NoRequest,
            "the model refuses",
        ),
        (answer("x" * 70_000), MalformedMessage, "more than 65,536 characters"),
    ],
)
def test_what_is_no_whole_answer_is_an_error_that_says_why(
    service: Any, planner: OpenAIPlanner, stream: bytes, error: type[LapseError], said: str
) -> None:
    service.turns = [stream]
    with pytest.raises(error, match=said) as raised:
        planner.first(TASK, ())
    assert KEY not in str(raised.value)
    if isinstance(raised.value, NoRequest):
        assert (raised.value.prompt, raised.value.completion) == (50, 9)


def test_a_connection_that_breaks_under_the_answer_is_the_peers(
    service: Any, planner: OpenAIPlanner
) -> None:
    service.turns = [events(chunk(choices=[choice("{")]), done=False)]
    service.breaks = True
    with pytest.raises(PeerError, match="does not answer"):
        planner.first(TASK, ())


def test_a_service_that_is_not_there_is_the_peers() -> None:
    with (
        OpenAIPlanner(
            model=MODEL,
            key=SecretStr(KEY),
            base_url="http://127.0.0.1:9/v1",
            limits=Limits(retries=0),
        ) as planner,
        pytest.raises(PeerError, match=r"http://127.0.0.1:9/v1 does not answer"),
    ):
        planner.probe()


def test_a_model_that_takes_no_temperature_is_sent_none(service: Any) -> None:
    service.turns = [answer()]
    with OpenAIPlanner(
        model=MODEL, key=SecretStr(KEY), base_url=service.url, temperature=None
    ) as planner:
        planner.first(TASK, ())
    assert "temperature" not in service.asked[0][1]


@pytest.mark.parametrize("limits", [{"timeout_seconds": 0}, {"retries": -1}, {"answer_tokens": 0}])
def test_limits_that_no_answer_could_keep_are_refused(limits: dict[str, Any]) -> None:
    [name] = limits
    with pytest.raises(InvalidValue, match=name):
        Limits(**limits)


def test_a_preflight_names_who_answered_and_shows_no_key(service: Any) -> None:
    service.turns = [answer("{}")]
    words = ["--planner", "openai", "--model", MODEL, "--base-url", service.url]
    result = CliRunner().invoke(
        app,
        ["preflight", *words, "--per-type", "1", "--format", "json"],
        env={"OPENAI_API_KEY": KEY},
    )
    assert result.exit_code == 1, result.output
    found = json.loads(result.stdout)
    assert found["planner"] == {"name": f"openai:{MODEL}", "asked": MODEL, "answered": MODEL}
    assert {one["compliance"] for one in found["factors"]} == {0.0}
    assert found["factors"][-1]["tokens"]["prompt"] == 50
    assert KEY not in result.output
    assert len(service.asked) == 5


def test_a_preflight_of_another_model_asks_once_and_ends(service: Any) -> None:
    service.turns = [answer("{}", model="other")]
    result = CliRunner().invoke(
        app,
        ["preflight", "--planner", f"openai:{MODEL}", "--base-url", service.url],
        env={"OPENAI_API_KEY": KEY},
    )
    assert result.exit_code == 2
    assert f"'other': it answered instead of {MODEL}" in result.output
    assert len(service.asked) == 1
