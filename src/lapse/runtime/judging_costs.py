"""What answers cost, and how much may be spent on them."""

from __future__ import annotations

from dataclasses import dataclass

from lapse.errors import InvalidValue

__all__ = ["FREE", "Allowance", "Cost"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What answers cost.

    Attributes:
        calls: requests that a model answered.
        prompt: tokens that it read.
        completion: tokens that it wrote.
    """

    calls: int = 0
    prompt: int = 0
    completion: int = 0

    def __add__(self, other: Cost) -> Cost:
        """The cost of both."""
        return Cost(
            self.calls + other.calls,
            self.prompt + other.prompt,
            self.completion + other.completion,
        )

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.prompt + self.completion


FREE = Cost()
"""What a rule costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much one look may ask; None: no limit. What is kept costs nothing of it.

    Attributes:
        pairs: questions.
        calls: requests that a model answers; a repeated question counts each time.
        tokens: read and written.
        failures: failures in a row that end the asking, so that a service that is down is not asked
            about every pair there is. An answer that is no verdict is no such failure.
    """

    pairs: int | None = None
    calls: int | None = None
    tokens: int | None = None
    failures: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be spent."""
        for name, least in (("pairs", 0), ("calls", 0), ("tokens", 0), ("failures", 1)):
            limit = getattr(self, name)
            if limit is not None and limit < least:
                raise InvalidValue(name, limit, f"pass {least} or more, or None for no limit")

    def affords(self, pairs: int, spent: Cost) -> bool:
        """Whether so much may be spent altogether."""
        return all(
            limit is None or used <= limit
            for limit, used in (
                (self.pairs, pairs),
                (self.calls, spent.calls),
                (self.tokens, spent.tokens),
            )
        )
