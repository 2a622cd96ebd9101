"""A model as verifier: it is shown one pair and answers with one of three words.

::

    with OpenAIService(model="gpt-5-mini-2025-08-07", key=SecretStr(key)) as service:
        judge = ModelJudge(service)

Services that speak Chat Completions or Messages, and the model that ships in a package, are asked
alike: `lapse.judges.openai_style`, `lapse.judges.anthropic_style`, `lapse.judges.local`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from lapse.admission import Question, Verdict
from lapse.errors import InvalidValue, NoRequest, NoVerdict
from lapse.judges.replies import read_request, same_model
from lapse.judges.verifying_prompts import PAIR_PROMPT, instructions, pair_form, pair_prompt
from lapse.ledger import canonical, digest
from lapse.runtime import FREE, Cost, Opinion

if TYPE_CHECKING:
    from lapse.judges.prompting import Prompt
    from lapse.judges.services import Answer, Form, Service

__all__ = ["LONGEST_PROMPT", "ModelJudge"]

LONGEST_PROMPT: Final = 24_000
"""Characters of a prompt, as in the source text's implementation."""

_AROUND: Final = 1_024
"""Tokens that may be billed beyond the prompt's bytes: for chat templates and calls of tools."""

_VERDICTS: Final = {verdict.value: verdict for verdict in Verdict}

_SHOWN = 60
"""Characters of a wrong verdict, and of a reason five times as many, that are passed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """What a judge is told to do; see `ModelJudge`."""

    cues: tuple[str, ...]
    reasons: bool
    tries: int
    longest: int


class ModelJudge:
    """Asks a model. It keeps nothing between pairs; one thread at a time; close it, or use `with`.

    An answer that is no verdict is asked for again, then it is an error. A pair that does not fit
    is refused, and nothing is cut off: half a note means something else.

    Args:
        service: the model.
        cues: kinds of change that often matter in this workspace; none by default, since a list
            that fits a benchmark measures the list.
        reasons: whether the model writes a sentence before its verdict. It costs more tokens, and
            is shown and not kept.
        tries: how often one pair is asked about, 1 or more.
        longest: characters that a prompt may have.

    Raises:
        InvalidValue: a number below 1.
    """

    def __init__(
        self,
        service: Service,
        *,
        cues: tuple[str, ...] = (),
        reasons: bool = False,
        tries: int = 2,
        longest: int = LONGEST_PROMPT,
    ) -> None:
        for name, value in (("tries", tries), ("longest", longest)):
            if value < 1:
                raise InvalidValue(name, value, "pass 1 or more")
        self._service = service
        self._form: Form = pair_form(reasons=reasons)
        self._settings = _Settings(cues=cues, reasons=reasons, tries=tries, longest=longest)
        asked = [list(service.settings), instructions(cues), dict(self._form.schema)]
        told = digest(canonical([*asked, service.answer_tokens]))
        self._name = f"{service.name} {PAIR_PROMPT}:{told[:16]}"

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the service."""
        self._service.close()

    @property
    def name(self) -> str:
        """The model, and the digest of all that it is told beside the pair."""
        return self._name

    def most(self, question: Question) -> Cost:
        """The most that asking about a pair may cost.

        No tokenizer of a model makes more tokens of a text than it has bytes.

        Raises:
            InvalidValue: the pair does not fit.
        """
        prompt = self._prompt(question)
        said = sum(len(message.content.encode()) for message in prompt.messages)
        form = len(json.dumps(dict(self._form.schema)))
        tries = self._settings.tries
        return Cost(tries, tries * (said + form + _AROUND), tries * self._service.answer_tokens)

    def verify(self, question: Question) -> Opinion:
        """Ask about a pair; see `PairJudge`.

        Raises:
            NoVerdict: the model gave none, as often as it was asked.
            InvalidValue: the pair does not fit, or another model answers.
            Refused, MalformedMessage, PeerError: the service does not do its part.
        """
        prompt = self._prompt(question)
        spent, reason = FREE, ""
        for _ in range(self._settings.tries):
            answer = self._service.ask(prompt, self._form)
            same_model(self._service.model, answer.model)
            spent += Cost(1, answer.tokens.prompt, answer.tokens.completion)
            try:
                verdict, said = _read(answer)
            except NoRequest as failure:
                reason = failure.reason
                continue
            return Opinion(verdict, said, spent)
        raise NoVerdict(reason, calls=spent.calls, prompt=spent.prompt, completion=spent.completion)

    def _prompt(self, question: Question) -> Prompt:
        prompt = pair_prompt(question, cues=self._settings.cues)
        length = sum(len(message.content) for message in prompt.messages)
        if length > self._settings.longest:
            remedy = f"split the items: {self._settings.longest:,} characters at most"
            raise InvalidValue("question", f"a pair of {length:,} characters", remedy)
        return prompt


def _read(answer: Answer) -> tuple[Verdict, str]:
    """The verdict that an answer is.

    Raises:
        NoRequest: it is none.
    """
    if answer.cut:
        raise NoRequest(answer.cut)
    found = read_request(answer.text)
    word, because = found.get("verdict"), found.get("because")
    verdict = _VERDICTS.get(word) if isinstance(word, str) else None
    if verdict is None:
        raise NoRequest(f"its verdict is {repr(word)[:_SHOWN]}")
    return verdict, because[: 5 * _SHOWN] if isinstance(because, str) else ""
