"""How much may be spent, whatever it would be worth.

Two accounts: a hard cap over a trailing window, as the source has it, and a bucket that fills at a
constant rate, which spends the same on average and does not lose what a quiet time left. An errand
under way is finished: what it takes beyond is charged, and opens the account later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

from lapse.errors import InvalidValue
from lapse.upkeep.numbers import nonnegative, positive

__all__ = ["Account", "Bucket", "Unlimited", "Window"]


class Account(Protocol):
    """What an account answers; a value, so nothing that is asked changes it."""

    def allows(self, now: float) -> bool:
        """Whether another errand may begin."""
        ...

    def charged(self, actions: float, now: float) -> Self:
        """The account after so many actions were spent.

        Raises:
            InvalidValue: the actions are negative, or `now` lies before what was charged last.
        """
        ...


@dataclass(frozen=True, slots=True)
class Unlimited:
    """No limit: what is spent is the wage's affair alone."""

    spent: float = 0.0

    def allows(self, now: float) -> bool:
        """Always."""
        _ = now
        return True

    def charged(self, actions: float, now: float) -> Unlimited:
        """The account after so many actions were spent."""
        _ = now
        return Unlimited(self.spent + float(nonnegative("actions", actions)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A cap on what is spent in any stretch of time of a length: the source's account.

    Attributes:
        cap: actions.
        span: the length, 100 steps in the source.
        entries: when what was spent, as far back as it counts.
    """

    cap: float
    span: float
    entries: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        """Refuse a window without extent."""
        positive("cap", self.cap)
        positive("span", self.span)

    def spent(self, now: float) -> float:
        """What counts now: what was charged since `span` ago, that instant not included."""
        return sum(actions for at, actions in self.entries if at > now - self.span)

    def allows(self, now: float) -> bool:
        """Whether anything of the cap is left."""
        return self.spent(now) < self.cap

    def charged(self, actions: float, now: float) -> Window:
        """The account after so many actions were spent."""
        nonnegative("actions", actions)
        if self.entries and now < self.entries[-1][0]:
            raise InvalidValue("now", now, f"pass a time from {self.entries[-1][0]} on")
        counting = tuple(entry for entry in self.entries if entry[0] > now - self.span)
        return replace(self, entries=(*counting, (now, actions)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A budget that is saved up: so many actions per unit of time, and no more than a depth.

    Attributes:
        rate: actions per unit of time.
        depth: the most that is saved up.
        level: what there is at `at`; below 0 when an errand took more than there was.
        at: the time of the last charge.
    """

    rate: float
    depth: float
    level: float
    at: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a bucket that never fills, or holds more than it can."""
        positive("rate", self.rate)
        positive("depth", self.depth)
        if not self.level <= self.depth:
            raise InvalidValue("level", self.level, f"pass at most the depth, {self.depth}")

    def left(self, now: float) -> float:
        """What there is to spend."""
        return min(self.depth, self.level + self.rate * (now - self.at))

    def allows(self, now: float) -> bool:
        """Whether there is anything."""
        return self.left(now) > 0

    def charged(self, actions: float, now: float) -> Bucket:
        """The account after so many actions were spent."""
        nonnegative("actions", actions)
        if now < self.at:
            raise InvalidValue("now", now, f"pass a time from {self.at} on")
        return replace(self, level=self.left(now) - actions, at=now)
