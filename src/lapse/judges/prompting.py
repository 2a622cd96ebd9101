"""What a model is shown: messages, and which part of them is the memory block.

Three prompts, so that what a prompt does can be told from what a model does. Of a fix, a model sees
the action, the values and what they make of the request (`lapse.contract.word`); of a refusal, its
words and what it suggests. Versions, tables, rows, cache hints and fingerprints of rules are the
contract's: nothing here takes them in, so nothing here can pass them on.

Pure: no model, no clock, no randomness.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, cast

from lapse.contract import PATCH_SENTENCE, Consumption, word
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lapse.contract import Fix
    from lapse.judges.planning import Refusal, Task
    from lapse.ledger import JsonObject

__all__ = ["Message", "Prompt", "Prompting", "after_refusal", "at_first", "form", "in_order"]

_MOST_SAID = 2_000
"""Characters of a refusal's title and detail that a model is shown: they come from a service."""

_ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>`"}
"""What chat templates, markup and code fences are made of."""

_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    tuple: "array",
}
"""JSON's names of what Python reads; the rest is an object."""

_MOST_OPTIONAL = 4
"""Optional members whose sets are written out: sixteen choices, which cost no time to speak of."""

_SYSTEM = (
    "You write the JSON body of one API request. "
    "Answer with one JSON object and nothing else: no comments, no explanation."
)
_EXAMPLE = """

An example. The request as the task has it:
{"guests": 2, "room": "garden"}
What to answer when nothing else is known:
{"guests": 2, "room": "garden"}
What to answer when a fix has the parameters {"deposit": 40, "room": "lake"}:
{"deposit": 40, "guests": 2, "room": "lake"}"""


class Prompting(StrEnum):
    """The words around a task."""

    PLAIN = "plain"
    """What to write and in which form, as system message."""
    SHORT = "short"
    """No system message, and one line that asks for the body."""
    EXAMPLE = "example"
    """As PLAIN, with one worked example of another operation."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is shown.

    Attributes:
        messages: in order; a system message comes first, if there is one.
        memory: the memory block in them, word for word; empty when nothing was remembered.
    """

    messages: tuple[Message, ...]
    memory: str = ""

    @property
    def system(self) -> str:
        """The system message, for services that take it apart from the others; empty: none."""
        return "\n".join(one.content for one in self.messages if one.role == "system")

    @property
    def chat(self) -> tuple[Message, ...]:
        """The messages without the system's."""
        return tuple(one for one in self.messages if one.role != "system")

    def forgetting(self) -> Prompt:
        """The same without the memory block: what is left is what the block did not cost."""
        if not self.memory:
            return self
        return Prompt(
            tuple(
                Message(one.role, one.content.replace(self.memory, "", 1)) for one in self.messages
            )
        )


def at_first(
    task: Task,
    fixes: Sequence[Fix],
    *,
    level: Consumption = Consumption.AMENDED,
    prompting: Prompting = Prompting.PLAIN,
) -> Prompt:
    """The prompt for the first attempt (source text, section 3.4).

    At Level 3 the request is shown once, with the fixes in it; at Level 2 as the task has it, and
    the fixes beside it.

    Args:
        task: what to do.
        fixes: those that hold for it, oldest first.
        level: how fixes are put.
        prompting: the words around them.

    Raises:
        InvalidValue: the request is not JSON.
    """
    block = word(fixes, request=task.request, level=level)
    said = _task(task)
    if not block or level is Consumption.PATCH:
        said += ["The request as the task has it:", _json("request", task.request)]
    if block:
        said.append(block)
    return Prompt(_messages(said, prompting), block)


def after_refusal(
    task: Task,
    sent: JsonObject,
    refusal: Refusal,
    *,
    prompting: Prompting = Prompting.PLAIN,
) -> Prompt:
    """The prompt for the next attempt: what was sent, what the service said, what it suggests.

    Raises:
        InvalidValue: what was sent, or a suggestion, is not JSON.
    """
    said = [
        *_task(task),
        "The request that was sent:",
        _json("sent", sent),
        "The service refused it and says:",
        _json("refusal", f"{refusal.title} {refusal.detail}".strip()[:_MOST_SAID]),
    ]
    if refusal.offers:
        said += [
            PATCH_SENTENCE,
            "Suggestions of the service:",
            *(
                f"- {_json('offer', {'type': offer.type, 'parameters': offer.parameters})}"
                for offer in refusal.offers
            ),
        ]
    return Prompt(_messages(said, prompting))


def form(task: Task, offered: Iterable[JsonObject] = ()) -> JsonObject:
    """The JSON Schema that an answer has to follow.

    It is the task's own. Where nobody declared one: the members of the request, which are required,
    and those of what is offered, which are not; whether to add one stays the model's choice.

    Args:
        task: what to do.
        offered: the parameters of fixes or suggestions.
    """
    if task.schema is not None:
        return task.schema
    members: dict[str, list[object]] = {}
    for source in (task.request, *offered):
        for name, value in source.items():
            members.setdefault(name, []).append(value)
    return {
        "type": "object",
        "properties": {name: _shape(values) for name, values in members.items()},
        "required": list(task.request),
        "additionalProperties": False,
    }


def in_order(schema: JsonObject) -> JsonObject:
    """The same schema, so put that its grammar has members in the order in which prompts show them.

    llama.cpp has required members first and optional ones last. A model that copies a request from
    left to right cannot go back for a field that was added in the middle, and would look as if it
    refused the field. So every set of optional members becomes a choice of its own, sorted; where
    there are too many sets, llama.cpp's order stays.
    """
    members, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(members, dict) or schema.get("additionalProperties") is not False:
        return schema
    told = cast("dict[str, Any]", members)
    optional = [name for name in told if name not in required]
    if len(optional) > _MOST_OPTIONAL:
        return {**schema, "properties": dict(sorted(told.items()))}
    choices: list[JsonObject] = []
    for size in range(len(optional), -1, -1):
        for left_out in combinations(optional, len(optional) - size):
            kept = {name: told[name] for name in sorted(told) if name not in left_out}
            choices.append({**schema, "properties": kept, "required": list(kept)})
    rest = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
    return {**rest, "anyOf": choices} if len(choices) > 1 else choices[0]


def _shape(values: Iterable[object]) -> dict[str, Any]:
    kinds = sorted({_kind(value) for value in values})
    return {"type": kinds[0] if len(kinds) == 1 else kinds}


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "object")


def _task(task: Task) -> list[str]:
    said = [f"Operation: {_line(task.operation)}"]
    if task.words:
        said.append(f"Task: {_line(task.words)}")
    return said


def _messages(said: Sequence[str], prompting: Prompting) -> tuple[Message, ...]:
    if prompting is Prompting.SHORT:
        asked = "Answer with the JSON body of the request to send, and nothing else."
        return (Message("user", "\n".join([*said, asked])),)
    system = _SYSTEM + (_EXAMPLE if prompting is Prompting.EXAMPLE else "")
    text = "\n".join([*said, "Write the request to send."])
    return Message("system", system), Message("user", text)


def _line(text: str) -> str:
    """One line, whatever the text: what is on it can start no other part of the prompt or chat."""
    return " ".join(text.split()).replace("<|", "< |")


def _json(field: str, value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=True, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as failure:
        raise InvalidValue(field, cast("Any", value), f"pass plain JSON ({failure})") from None
    return text.translate(_ESCAPED)
