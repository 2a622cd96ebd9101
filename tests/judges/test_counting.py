"""Tokens are counted with a real tokenizer, on the words that a model would be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapse.contract import Consumption, Fix, word
from lapse.errors import InvalidValue
from lapse.judges import (
    SCRIPTED,
    Counted,
    Move,
    Offer,
    Probe,
    Prompting,
    Refusal,
    Task,
    TokenCounter,
    Tokens,
    counter_named,
)
from lapse.judges.prompting import after_refusal, at_first
from lapse.ledger import Interval, JsonObject, Kind, Record

TASK = Task(operation="POST /v1/subscriptions", request={"plan": "growth"}, words="Subscribe.")
CONTENT = {"type": "ADD", "parameters": {"promotion_code": "SUMMERSALE25"}, "when": {}}
FIX = Fix.of(Record(id="1", kind=Kind.FIX, slot="s", content=CONTENT, valid=Interval(0)))


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    return counter_named()


def test_counts_are_those_of_the_published_encoding(counter: TokenCounter) -> None:
    # "hello world" is two tokens in every encoding of this family.
    assert [counter.count(text) for text in ("", "hello world")] == [0, 2]
    assert counter.name == "o200k_base"


@given(st.text(max_size=40))
def test_any_text_has_a_count_and_control_words_are_text(counter: TokenCounter, text: str) -> None:
    assert 0 <= counter.count(text) <= len(text.encode(errors="replace"))
    assert counter.count(f"<|endoftext|>{text}") > 1


def test_prompt_completion_and_memory_are_counted_apart(counter: TokenCounter) -> None:
    planner = Counted(SCRIPTED["newest"], counter)
    bare, told = planner.first(TASK, ()), planner.first(TASK, (FIX,))
    block = counter.count(word((FIX,), request=TASK.request))
    assert (bare.tokens.memory, told.tokens.memory) == (0, block)
    assert 0 < bare.tokens.prompt < told.tokens.prompt
    assert told.tokens.prompt > block
    assert told.tokens.completion > bare.tokens.completion > 0
    assert (told.request, told.followed) == (
        {"plan": "growth", "promotion_code": "SUMMERSALE25"},
        (FIX,),
    )


def test_a_retry_costs_what_the_refusal_says_and_no_memory(counter: TokenCounter) -> None:
    planner = Counted(SCRIPTED["newest"], counter)
    offers = (Offer("ADD", {"promotion_code": "SUMMERSALE25"}),)
    short = planner.again(TASK, TASK.request, Refusal(title="No", offers=offers))
    long = planner.again(TASK, TASK.request, Refusal(title="No", detail="why " * 50, offers=offers))
    assert short.tokens.memory == long.tokens.memory == 0
    assert long.tokens.prompt >= short.tokens.prompt + 50
    assert long.tokens.completion == short.tokens.completion


class Billed:
    name = "billed"

    def probe(self) -> Probe:
        return Probe("billed", "billed")

    def first(self, task: Task, fixes: object) -> Move:
        del fixes
        return Move(dict(task.request), tokens=Tokens(7, 5, 3))

    def again(self, task: Task, sent: JsonObject, refusal: Refusal) -> Move:
        del sent, refusal
        return Move(dict(task.request), tokens=Tokens(9, 5))


def test_what_a_planner_counts_itself_is_left_alone(counter: TokenCounter) -> None:
    planner = Counted(Billed(), counter)
    assert planner.first(TASK, (FIX,)).tokens == Tokens(7, 5, 3)
    assert planner.again(TASK, {}, Refusal()).tokens == Tokens(9, 5)
    assert (planner.name, planner.probe()) == ("billed", Probe("billed", "billed"))


@pytest.mark.parametrize("prompting", Prompting)
@pytest.mark.parametrize("level", Consumption)
def test_what_is_counted_is_what_a_model_would_be_sent(
    counter: TokenCounter, level: Consumption, prompting: Prompting
) -> None:
    planner = Counted(SCRIPTED["newest"], counter, level=level, prompting=prompting)
    said = at_first(TASK, (FIX,), level=level, prompting=prompting).messages
    assert planner.first(TASK, (FIX,)).tokens.prompt == sum(counter.count(m.content) for m in said)
    answer = Refusal(title="No", offers=(Offer("ADD", {"promotion_code": "A"}),))
    said = after_refusal(TASK, TASK.request, answer, prompting=prompting).messages
    again = planner.again(TASK, TASK.request, answer)
    assert again.tokens.prompt == sum(counter.count(m.content) for m in said)


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(InvalidValue, match="o200k_base, cl100k_base"):
        counter_named("morse")
