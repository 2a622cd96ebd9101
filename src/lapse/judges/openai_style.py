"""Models behind services that speak the Chat Completions format, through the official SDK.

The answer is asked for as JSON after the operation's schema, and streamed. Who answers is compared
on every answer, not only at the probe. Prompt and completion are the service's billed figures; the
memory block is counted with the tokenizer o200k, which current OpenAI models use themselves, and
which is an estimate for any other model.

    planner = OpenAIPlanner(model="gpt-5-mini-2025-08-07", key=SecretStr(key))

Not every service takes a temperature, or a schema: see the arguments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

from lapse.contract import Consumption
from lapse.errors import MissingExtra
from lapse.judges.counting import counter_named
from lapse.judges.planning import Move, Probe, Refusal, Task, Tokens
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
    import httpx2
    import openai
except ImportError as missing:
    raise MissingExtra("a model behind an OpenAI-style service", "openai") from missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import SecretStr

    from lapse.contract import Fix
    from lapse.ledger import JsonObject

__all__ = ["OPENAI", "OpenAIPlanner", "OpenAIService"]

OPENAI = "https://api.openai.com/v1"
"""Where the models of the company of that name are served."""

_PROBED = Prompt((Message("user", "Answer with the JSON object {} and nothing else."),))

_STOPPED: Mapping[str, str] = {
    "length": "it is cut off at the limit of answer_tokens",
    "content_filter": "the service's filter withheld it",
    "refusal": "the model refuses",
}


class OpenAIService:
    """A model behind an OpenAI-style service. One thread at a time; close it, or use `with`.

    Args:
        model: the name that the answers have to bear; an alias that answers under a dated name does
            not match, so ask for the dated one.
        key: the service's key; it is sent to `base_url` and reaches no message.
        base_url: where the service is.
        temperature: None for models that take none.
        limits: how long and how often to ask.

    Raises:
        InvalidValue: the key cannot be sent.
        MissingExtra: the extra `openai` is not installed.
    """

    def __init__(
        self,
        *,
        model: str,
        key: SecretStr,
        base_url: str = OPENAI,
        temperature: float | None = 0.0,
        limits: Limits | None = None,
    ) -> None:
        check_key(key)
        self.model = model
        self._key = key
        self._base_url = base_url
        self._temperature = temperature
        self._limits = limits or Limits()
        self._client = openai.OpenAI(
            api_key=key.get_secret_value(),
            base_url=base_url,
            timeout=self._limits.timeout_seconds,
            max_retries=self._limits.retries,
        )

    def __repr__(self) -> str:
        """Who and where; no key."""
        return f"OpenAIService(model={self.model!r}, base_url={self._base_url!r})"

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
        return f"openai:{self.model}"

    @property
    def settings(self) -> tuple[str, ...]:
        """Where it is served, and the temperature."""
        return (self._base_url, str(self._temperature))

    @property
    def answer_tokens(self) -> int:
        """How long an answer may be."""
        return self._limits.answer_tokens

    def ask(self, prompt: Prompt, form: Form) -> Answer:
        """See `Service`."""
        gathering = Gathering()
        with explained(
            cast("Errors", openai), httpx2.HTTPError, key=self._key, base_url=self._base_url
        ):
            create = cast("Any", self._client.chat.completions.create)
            stream = create(
                model=self.model,
                messages=[{"role": one.role, "content": one.content} for one in prompt.messages],
                response_format={
                    "type": "json_schema",
                    "json_schema": {
                        "name": form.name,
                        "schema": dict(form.schema),
                        "strict": form.strict,
                    },
                },
                max_completion_tokens=self._limits.answer_tokens,
                stream=True,
                stream_options={"include_usage": True},
                **({} if self._temperature is None else {"temperature": self._temperature}),
            )
            with stream:
                for chunk in stream:
                    _take(gathering, chunk.to_dict(warnings=False))
        answer = gathering.whole()
        if answer.ended == "stop":
            return answer
        told = f"the model ended with {answer.ended[:40]!r}"
        return replace(answer, cut=_STOPPED.get(answer.ended, told))


class OpenAIPlanner:
    """A model behind an OpenAI-style service. One thread at a time; close it, or use `with`.

    Args:
        model: the name that the answers have to bear; an alias that answers under a dated name does
            not match, so ask for the dated one.
        key: the service's key; it is sent to `base_url` and reaches no message.
        base_url: where the service is.
        level: how fixes are put.
        prompting: the words around a task.
        temperature: None for models that take none.
        limits: how long and how often to ask.

    Raises:
        InvalidValue: the key cannot be sent.
        MissingExtra: the extra `openai` is not installed.
    """

    def __init__(
        self,
        *,
        model: str,
        key: SecretStr,
        base_url: str = OPENAI,
        level: Consumption = Consumption.AMENDED,
        prompting: Prompting = Prompting.PLAIN,
        temperature: float | None = 0.0,
        limits: Limits | None = None,
    ) -> None:
        self._service = OpenAIService(
            model=model, key=key, base_url=base_url, temperature=temperature, limits=limits
        )
        self._level = level
        self._prompting = prompting
        self._counter = counter_named()

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
        # Strict would have every member required, and leave no fix to choice.
        answer = self._service.ask(prompt, Form(schema=schema, strict=False))
        same_model(self._service.model, answer.model)
        tokens = answer.tokens + Tokens(memory=self._counter.count(prompt.memory))
        if answer.cut:
            raise without(answer.cut, tokens)
        return read_move(answer.text, fixes, tokens)


def _take(gathering: Gathering, chunk: dict[str, Any]) -> None:
    """What one chunk adds."""
    gathering.event()
    gathering.model(chunk.get("model"))
    usage = member(chunk, "usage")
    gathering.bill(usage.get("prompt_tokens"), usage.get("completion_tokens"))
    for choice in chunk.get("choices") or ():
        delta = member(choice, "delta")
        gathering.text(delta.get("content"))
        if delta.get("refusal"):
            gathering.end("refusal")
        gathering.end(choice.get("finish_reason"))
