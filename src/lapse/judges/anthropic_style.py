"""Models behind services that speak the Messages format, through the official SDK.

The answer is asked for as the input of one tool whose schema is the operation's, and streamed. Who
answers is compared on every answer, not only at the probe. Prompt and completion are the service's
billed figures. The memory block is the difference between what was billed and what the service
counts for the same prompt without the block; that takes one more call, of its counting endpoint.

    planner = AnthropicPlanner(model="claude-haiku-4-5-20251001", key=SecretStr(key))
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

from lapse.contract import Consumption
from lapse.errors import MalformedMessage, MissingExtra
from lapse.judges.planning import Move, Probe, Refusal, Task
from lapse.judges.prompting import Message, Prompt, Prompting, after_refusal, at_first, form
from lapse.judges.replies import read_move, same_model, without
from lapse.judges.services import (
    Answer,
    Errors,
    Form,
    Gathering,
    Limits,
    check_key,
    explained,
    member,
)

try:
    import anthropic
    import httpx2
except ImportError as missing:
    raise MissingExtra("a model behind an Anthropic-style service", "anthropic") from missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import SecretStr

    from lapse.contract import Fix
    from lapse.ledger import JsonObject

__all__ = ["ANTHROPIC", "AnthropicPlanner", "AnthropicService"]

ANTHROPIC = "https://api.anthropic.com"
"""Where the models of the company of that name are served."""

_PROBED = Prompt((Message("user", "Call the tool with an empty input."),))

_STOPPED: Mapping[str, str] = {
    "max_tokens": "it is cut off at the limit of answer_tokens",
    "model_context_window_exceeded": "it is cut off at the end of the model's context",
    "refusal": "the model refuses",
}


class AnthropicService:
    """A model behind an Anthropic-style service. One thread at a time; close it, or use `with`.

    Args:
        model: the name that the answers have to bear; an alias that answers under a dated name does
            not match, so ask for the dated one.
        key: the service's key; it is sent to `base_url` and reaches no message.
        base_url: where the service is.
        limits: how long and how often to ask.

    Raises:
        InvalidValue: the key cannot be sent.
        MissingExtra: the extra `anthropic` is not installed.
    """

    def __init__(
        self,
        *,
        model: str,
        key: SecretStr,
        base_url: str = ANTHROPIC,
        limits: Limits | None = None,
    ) -> None:
        check_key(key)
        self.model = model
        self._key = key
        self._base_url = base_url
        self._limits = limits or Limits()
        self._client = anthropic.Anthropic(
            api_key=key.get_secret_value(),
            base_url=base_url,
            timeout=self._limits.timeout_seconds,
            max_retries=self._limits.retries,
            open_telemetry=False,
        )

    def __repr__(self) -> str:
        """Who and where; no key."""
        return f"AnthropicService(model={self.model!r}, base_url={self._base_url!r})"

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def name(self) -> str:
        """The model, behind the kind of its service."""
        return f"anthropic:{self.model}"

    @property
    def settings(self) -> tuple[str, ...]:
        """Where it is served."""
        return (self._base_url,)

    @property
    def answer_tokens(self) -> int:
        """How long an answer may be."""
        return self._limits.answer_tokens

    def ask(self, prompt: Prompt, form: Form) -> Answer:
        """See `Service`."""
        gathering = Gathering()
        with self._explained():
            create = cast("Any", self._client.messages.create)
            stream = create(
                **self._asked(prompt, form), max_tokens=self._limits.answer_tokens, stream=True
            )
            with stream:
                for event in stream:
                    _take(gathering, event.to_dict(warnings=False))
        answer = gathering.whole()
        # A tool that is called without input sends no piece of it.
        empty = "{}" if answer.ended == "tool_use" else ""
        return replace(answer, text=answer.text or empty, cut=_STOPPED.get(answer.ended, ""))

    def count(self, prompt: Prompt, form: Form) -> int:
        """How many tokens the service counts for a prompt: one call, of which it bills nothing.

        Raises:
            Refused, MalformedMessage, PeerError: the service does not do its part.
        """
        with self._explained():
            count = cast("Any", self._client.messages.count_tokens)
            counted = count(**self._asked(prompt, form)).input_tokens
        if not isinstance(counted, int):
            raise MalformedMessage(f"{self._base_url} counts tokens in no number")
        return counted

    def _asked(self, prompt: Prompt, form: Form) -> dict[str, Any]:
        asked: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": one.role, "content": one.content} for one in prompt.chat],
            "tools": [
                {
                    "name": f"send_{form.name}",
                    "description": form.says,
                    "input_schema": dict(form.schema),
                }
            ],
            "tool_choice": {
                "type": "tool",
                "name": f"send_{form.name}",
                "disable_parallel_tool_use": True,
            },
        }
        return {**asked, "system": prompt.system} if prompt.system else asked

    def _explained(self) -> Any:
        return explained(
            cast("Errors", anthropic), httpx2.HTTPError, key=self._key, base_url=self._base_url
        )


class AnthropicPlanner:
    """A model behind an Anthropic-style service. One thread at a time; close it, or use `with`.

    Args:
        model: the name that the answers have to bear; an alias that answers under a dated name does
            not match, so ask for the dated one.
        key: the service's key; it is sent to `base_url` and reaches no message.
        base_url: where the service is.
        level: how fixes are put.
        prompting: the words around a task.
        count_memory: whether to ask what the memory block costs; without, it is reported as 0.
        limits: how long and how often to ask.

    Raises:
        InvalidValue: the key cannot be sent.
        MissingExtra: the extra `anthropic` is not installed.
    """

    def __init__(
        self,
        *,
        model: str,
        key: SecretStr,
        base_url: str = ANTHROPIC,
        level: Consumption = Consumption.AMENDED,
        prompting: Prompting = Prompting.PLAIN,
        count_memory: bool = True,
        limits: Limits | None = None,
    ) -> None:
        self._service = AnthropicService(model=model, key=key, base_url=base_url, limits=limits)
        self._level = level
        self._prompting = prompting
        self._count_memory = count_memory

    def __repr__(self) -> str:
        """Who and where; no key."""
        return repr(self._service).replace("Service", "Planner", 1)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    @property
    def name(self) -> str:
        """The model, behind the kind of its service."""
        return self._service.name

    def probe(self) -> Probe:
        """Ask who answers: one short request.

        Raises:
            Refused, MalformedMessage, PeerError: nobody does, or not in this format.
        """
        answer = self._service.ask(_PROBED, Form(schema={"type": "object"}))
        return Probe(self._service.model, answer.model)

    def first(self, task: Task, fixes: Sequence[Fix]) -> Move:
        """The first attempt; see `Planner`.

        Raises:
            NoRequest: the model wrote none, or refused to.
            InvalidValue: another model answers.
            Refused, MalformedMessage, PeerError: the service does not do its part.
        """
        prompt = at_first(task, fixes, level=self._level, prompting=self._prompting)
        return self._move(prompt, form(task, [fix.parameters for fix in fixes]), fixes)

    def again(self, task: Task, sent: JsonObject, refusal: Refusal) -> Move:
        """The next attempt; see `Planner`, and `first` for what it raises."""
        prompt = after_refusal(task, sent, refusal, prompting=self._prompting)
        return self._move(prompt, form(task, [offer.parameters for offer in refusal.offers]), ())

    def _move(self, prompt: Prompt, schema: JsonObject, fixes: Sequence[Fix]) -> Move:
        form = Form(schema=schema)
        answer = self._service.ask(prompt, form)
        same_model(self._service.model, answer.model)
        tokens = answer.tokens
        if prompt.memory and self._count_memory:
            rest = self._service.count(prompt.forgetting(), form)
            tokens = replace(tokens, memory=max(0, tokens.prompt - rest))
        if answer.cut:
            raise without(answer.cut, tokens)
        return read_move(answer.text, fixes, tokens)


def _take(gathering: Gathering, event: dict[str, Any]) -> None:
    """What one event of the stream adds."""
    gathering.event()
    match event.get("type"):
        case "message_start":
            message = member(event, "message")
            gathering.model(message.get("model"))
            gathering.bill(_read(member(message, "usage")), None)
        case "content_block_delta":
            delta = member(event, "delta")
            gathering.text(delta.get("partial_json"))
            # Prose beside the tool's input, or instead of it: taken in, so that it is seen.
            gathering.text(delta.get("text"))
        case "message_delta":
            gathering.stopping = member(event, "delta").get("stop_reason")
            gathering.bill(None, member(event, "usage").get("output_tokens"))
        case "message_stop":
            gathering.end(gathering.stopping)
        case _:
            return


def _read(usage: dict[str, Any]) -> int | None:
    """What a prompt is billed: what was read afresh, and what a cache was written to or read from.

    None where the service does not say.
    """
    if "input_tokens" not in usage:
        return None
    parts = [
        usage.get(name)
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    return sum(part for part in parts if isinstance(part, int))
