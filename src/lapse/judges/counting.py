"""What a planner's words cost in tokens, for planners that are billed by nobody.

`Counted` says what a request would have cost a model: the same messages that the model planners
send, and the request as JSON. It changes nothing about the planner inside.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol
from warnings import catch_warnings, simplefilter

from lapse.contract import Consumption
from lapse.errors import InvalidValue, MissingExtra
from lapse.judges.planning import NO_TOKENS, Tokens
from lapse.judges.prompting import Prompting, after_refusal, at_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.contract import Fix
    from lapse.judges.planning import Move, Planner, Probe, Refusal, Task
    from lapse.judges.prompting import Prompt
    from lapse.ledger import JsonObject

__all__ = ["COUNTERS", "Counted", "TokenCounter", "counter_named"]

COUNTERS: Final = ("o200k_base", "cl100k_base")
"""The encodings whose tables the extra `tokens` brings along."""


class TokenCounter(Protocol):
    """Counts tokens. Pure: the same text has the same count; any text has one."""

    @property
    def name(self) -> str:
        """The encoding."""
        ...

    def count(self, text: str) -> int:
        """How many tokens a text is."""
        ...


class _Encoding:
    """An encoding of `bpe-openai`; its tables are in the package, and nothing is fetched."""

    def __init__(self, name: str) -> None:
        try:
            with catch_warnings():
                # It reads its tables by a function of importlib that newer ones have replaced.
                simplefilter("ignore", DeprecationWarning)
                package: Any = import_module("bpe_openai")
                self._encoding: Any = package.get_encoding(name)
        except ImportError:
            raise MissingExtra("counting tokens", "tokens") from None
        self.name = name

    def count(self, text: str) -> int:
        """How many tokens a text is; what spells a control token is text like any other."""
        return len(self._encoding.encode_ordinary(text))


def counter_named(name: str = "o200k_base") -> TokenCounter:
    """The counter of an encoding; the first one takes a second or two to load.

    Raises:
        InvalidValue: there is none of this name.
        MissingExtra: the tokenizer is not installed.
    """
    if name not in COUNTERS:
        raise InvalidValue("encoding", name, f"name one of {', '.join(COUNTERS)}")
    return _Encoding(name)


@dataclass(frozen=True, slots=True)
class Counted:
    """A planner with the cost that its moves would have for a model.

    Attributes:
        planner: does the work; what it counts itself is left as it is.
        counter: counts for it.
        level: how a model would be shown fixes.
        prompting: the words that would stand around a task.
    """

    planner: Planner
    counter: TokenCounter
    level: Consumption = Consumption.AMENDED
    prompting: Prompting = Prompting.PLAIN

    @property
    def name(self) -> str:
        """The planner's name."""
        return self.planner.name

    def probe(self) -> Probe:
        """Ask the planner."""
        return self.planner.probe()

    def first(self, task: Task, fixes: Sequence[Fix]) -> Move:
        """The planner's first attempt, and what reading task and memory would have cost."""
        move = self.planner.first(task, fixes)
        prompt = at_first(task, fixes, level=self.level, prompting=self.prompting)
        return self._billed(move, prompt)

    def again(self, task: Task, sent: JsonObject, refusal: Refusal) -> Move:
        """The planner's next attempt, and what reading the refusal would have cost."""
        move = self.planner.again(task, sent, refusal)
        prompt = after_refusal(task, sent, refusal, prompting=self.prompting)
        return self._billed(move, prompt)

    def _billed(self, move: Move, prompt: Prompt) -> Move:
        if move.tokens != NO_TOKENS:
            return move
        count = self.counter.count
        tokens = Tokens(
            prompt=sum(count(message.content) for message in prompt.messages),
            completion=count(json.dumps(move.request, ensure_ascii=False)),
            memory=count(prompt.memory),
        )
        return replace(move, tokens=tokens)
