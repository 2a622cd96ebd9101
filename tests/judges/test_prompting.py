"""What a model is shown, and what it can never be shown."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import PATCH_SENTENCE, Consumption, Fix, amend, word
from lapse.errors import InvalidValue
from lapse.judges import Offer, Refusal, Task
from lapse.judges.prompting import Prompting, after_refusal, at_first, form, in_order
from lapse.ledger import Interval, JsonObject, Kind, Record, Source, Stamp

TASK = Task(
    operation="POST /orders", request={"plan": "growth", "seats": 3}, words="Order three seats."
)
EVERY = [(level, prompting) for level in Consumption for prompting in Prompting]


def fix(parameters: JsonObject, **more: Any) -> Fix:
    content = {"type": "ADD_CODE", "parameters": dict(parameters), "when": {}, "request": None}
    record = Record(id="r", kind=Kind.FIX, slot="s", content=content, valid=Interval(0), **more)
    return Fix.of(record)


CODE = fix({"code": "SUMMER"})


@pytest.mark.parametrize("prompting", Prompting)
def test_without_a_memory_a_model_sees_the_task_and_the_request(prompting: Prompting) -> None:
    prompt = at_first(TASK, (), prompting=prompting)
    assert prompt.memory == ""
    [chat] = prompt.chat
    assert chat.content.startswith(
        "Operation: POST /orders\nTask: Order three seats.\nThe request as the task has it:\n"
        '{"plan": "growth", "seats": 3}\n'
    )
    assert bool(prompt.system) is (prompting is not Prompting.SHORT)


def test_as_a_patch_a_fix_stands_beside_the_request() -> None:
    prompt = at_first(TASK, [CODE], level=Consumption.PATCH)
    [chat] = prompt.chat
    assert '{"plan": "growth", "seats": 3}' in chat.content
    assert prompt.memory == word([CODE], request=TASK.request, level=Consumption.PATCH)
    assert prompt.memory in chat.content
    assert PATCH_SENTENCE in prompt.memory


def test_amended_the_request_is_shown_once_with_the_fix_in_it() -> None:
    prompt = at_first(TASK, [CODE], level=Consumption.AMENDED)
    [chat] = prompt.chat
    assert "The request as the task has it" not in chat.content
    assert chat.content.count('"plan": "growth"') == 1
    assert '{"code": "SUMMER", "plan": "growth", "seats": 3}' in prompt.memory


@pytest.mark.parametrize(("level", "prompting"), EVERY)
def test_without_its_block_a_prompt_is_the_rest_of_it(
    level: Consumption, prompting: Prompting
) -> None:
    prompt = at_first(TASK, [CODE], level=level, prompting=prompting)
    bare = prompt.forgetting()
    assert bare.memory == ""
    assert bare.system == prompt.system
    whole, rest = prompt.chat[-1].content, bare.chat[-1].content
    assert len(whole) == len(rest) + len(prompt.memory)
    assert "SUMMER" not in rest
    assert bare.forgetting() is bare


secrets = st.text("abcdefghij0123456789", min_size=12, max_size=16).map(lambda text: f"zq{text}")


@given(
    st.lists(secrets, min_size=7, max_size=7, unique=True),
    st.sampled_from(EVERY),
    st.dictionaries(st.sampled_from("abc"), st.integers(), min_size=1, max_size=3),
)
def test_nothing_of_the_contract_reaches_a_model(
    hidden: list[str], how: tuple[Consumption, Prompting], parameters: dict[str, int]
) -> None:
    issuer, table, key, version, row, rules, record_id = hidden
    stamps = (
        Stamp(Source.table(issuer, table), version),
        Stamp(Source.row(issuer, table, key), row),
        Stamp(Source.rules(issuer), rules),
    )
    content = {"type": "ADD", "parameters": parameters, "when": {}, "request": rules}
    record = Record(
        id=record_id,
        kind=Kind.FIX,
        slot=key,
        content=content,
        valid=Interval(0),
        issuer=issuer,
        stamps=stamps,
    )
    level, prompting = how
    shown = at_first(TASK, [Fix.of(record)], level=level, prompting=prompting)
    text = "\n".join(message.content for message in shown.messages)
    assert [secret for secret in hidden if secret in text] == []
    assert all(f'"{name}": {value}' in text for name, value in parameters.items())


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=50))
def test_what_a_service_says_stays_on_its_line(title: str, detail: str, value: str) -> None:
    refusal = Refusal(title=title, detail=detail, offers=(Offer("SET", {"code": value}),))
    quiet = Refusal(title="x", offers=(Offer("SET", {"code": "x"}),))
    shown = after_refusal(TASK, {"plan": "growth"}, refusal).chat[-1].content.split("\n")
    usual = after_refusal(TASK, {"plan": "growth"}, quiet).chat[-1].content.split("\n")
    assert len(shown) == len(usual)
    assert not any(mark in line for line in shown for mark in ("<|", "```"))
    assert json.loads(shown[-2].removeprefix("- "))["parameters"] == {"code": value}


def test_a_retry_shows_what_was_sent_what_was_said_and_what_is_suggested() -> None:
    refusal = Refusal(
        title="No code", detail="A code is due.", offers=(Offer("ADD_CODE", {"code": "SUMMER"}),)
    )
    prompt = after_refusal(TASK, {"plan": "growth"}, refusal)
    assert prompt.memory == ""
    assert prompt.chat[-1].content == (
        "Operation: POST /orders\n"
        "Task: Order three seats.\n"
        "The request that was sent:\n"
        '{"plan": "growth"}\n'
        "The service refused it and says:\n"
        '"No code A code is due."\n'
        f"{PATCH_SENTENCE}\n"
        "Suggestions of the service:\n"
        '- {"parameters": {"code": "SUMMER"}, "type": "ADD_CODE"}\n'
        "Write the request to send."
    )


def test_a_retry_without_suggestions_promises_none() -> None:
    shown = after_refusal(TASK, {}, Refusal(title="No")).chat[-1].content
    assert PATCH_SENTENCE not in shown


def test_a_refusal_without_end_is_cut() -> None:
    shown = after_refusal(TASK, {}, Refusal(title="x" * 9_000)).chat[-1].content
    assert shown.count("x") < 2_100


def test_words_of_a_task_stay_on_one_line() -> None:
    task = Task(operation="POST /a\n\nb", request={}, words="one\ntwo<|im_end|>")
    shown = at_first(task, ()).chat[-1].content.split("\n")
    assert shown[:2] == ["Operation: POST /a b", "Task: one two< |im_end|>"]


def test_what_is_no_json_is_refused_by_name() -> None:
    with pytest.raises(InvalidValue, match="sent is"):
        after_refusal(TASK, {"a": float("nan")}, Refusal())


def test_a_declared_schema_is_the_form_of_the_answer() -> None:
    schema = {"type": "object"}
    assert form(Task(operation="o", request={}, schema=schema), [{"a": 1}]) is schema


def test_without_a_schema_the_request_is_required_and_what_is_offered_is_not() -> None:
    assert form(TASK, [{"code": "SUMMER", "seats": None}, {"extra": {"a": 1}, "tags": [1.5]}]) == {
        "type": "object",
        "properties": {
            "plan": {"type": "string"},
            "seats": {"type": ["integer", "null"]},
            "code": {"type": "string"},
            "extra": {"type": "object"},
            "tags": {"type": "array"},
        },
        "required": ["plan", "seats"],
        "additionalProperties": False,
    }


values = st.none() | st.booleans() | st.integers() | st.text() | st.just([1]) | st.just({"a": 1})
objects = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


@given(objects, st.lists(objects, max_size=3))
def test_the_form_takes_the_request_with_and_without_each_offer(
    request: dict[str, Any], offered: list[dict[str, Any]]
) -> None:
    shape = form(Task(operation="o", request=request), offered)
    jsonschema.validate(request, shape)
    for parameters in offered:
        merged = amend(request, parameters)
        jsonschema.validate(merged, shape)


def closed(members: dict[str, Any], required: set[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": members,
        "required": sorted(required),
        "additionalProperties": False,
    }


kinds: st.SearchStrategy[dict[str, str]] = st.sampled_from(
    [{"type": "integer"}, {"type": "string"}]
)
members_ = st.sampled_from("abcdefg")
schemas = st.dictionaries(members_, kinds, min_size=1).flatmap(
    lambda members: st.sets(st.sampled_from(sorted(members))).map(partial(closed, members))
)
answers = st.dictionaries(members_, st.integers() | st.text(max_size=2))


@given(schemas, answers)
def testin_order_a_schema_takes_the_same_answers(schema: dict[str, Any], answer: Any) -> None:
    ordered = dict(in_order(schema))
    assert takes(ordered, answer) is takes(schema, answer)


@given(schemas)
def testin_order_members_stand_as_prompts_show_them(schema: dict[str, Any]) -> None:
    ordered = dict(in_order(schema))
    choices: list[Any] = ordered.get("anyOf", [ordered])
    for choice in choices:
        assert list(choice["properties"]) == sorted(choice["properties"])
    optional = len(schema["properties"]) - len(schema["required"])
    if optional <= 4:
        assert len(choices) == 2**optional
        assert all(set(choice["required"]) == set(choice["properties"]) for choice in choices)


def takes(schema: JsonObject, answer: JsonObject) -> bool:
    try:
        jsonschema.validate(answer, schema)
    except jsonschema.ValidationError:
        return False
    return True


def test_a_schema_that_lets_anything_in_stays_as_it_is() -> None:
    schema: JsonObject = {"type": "object", "properties": {"b": {}, "a": {}}}
    assert in_order(schema) is schema
    assert in_order({"type": "object"}) == {"type": "object"}


def test_definitions_are_where_references_look_for_them() -> None:
    schema: JsonObject = {
        "$defs": {"code": {"type": "string"}},
        "properties": {"code": {"$ref": "#/$defs/code"}},
        "additionalProperties": False,
    }
    ordered = in_order(schema)
    assert takes(ordered, {"code": "x"})
    assert not takes(ordered, {"code": 1})
