"""What a method is handed when an agent comes back, and what it must not see.

A `ReturnEpisode` is what anybody could know at the return: what the agent held when it left, what
happened since, and what the team's store would serve now. An `Answers` is which of the facts
hold. They are two objects so that no method can look: `judged` alone sees both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "UNLIMITED",
    "Admission",
    "Answers",
    "Budget",
    "Claim",
    "Fact",
    "Judged",
    "ReturnEpisode",
    "ReturnMethod",
    "fitting",
    "judged",
    "viewed",
]

Fact: TypeAlias = tuple[str, str, str]
"""An entity, an attribute of it, and a value: what is scored, whichever claim states it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One entry in a bank or a log.

    Attributes:
        id: unique within an episode.
        at: the logical time of the transaction: a session, or a turn of a team.
        entity: what it is about.
        attribute: which of the entity's attributes; with the entity, the slot.
        value: what it says; empty for a withdrawal.
        does: `state` says that the slot has the value, `withdraw` that it has none any more.
        text: the same in words.
        about: the question that it answers, in words; empty where entity and attribute say it all.
        supersedes: the ids that the entry itself names as replaced, in any slot.
        derived_from: the ids that it was concluded from.
        assumes: the slots that it takes for granted, by `slot_name`, each with its value then.
        source: who said it.
        authority: how much the source decides, in [0, 1].
        confidence: how sure the source is, in [0, 1].
        valid_from: the logical time from which it holds; `at` when None.
        valid_to: the last logical time at which it holds; no end when None.
    """

    id: str
    at: int
    entity: str
    attribute: str
    value: str
    does: Literal["state", "withdraw"] = "state"
    text: str = ""
    about: str = ""
    supersedes: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    assumes: tuple[tuple[str, str], ...] = ()
    source: str = "user"
    authority: float = 0.5
    confidence: float = 0.75
    valid_from: int | None = None
    valid_to: int | None = None

    @property
    def slot(self) -> tuple[str, str]:
        """What only one value can stand in."""
        return self.entity, self.attribute

    @property
    def slot_name(self) -> str:
        """The slot in one text, with the question where there is one."""
        return " / ".join(part for part in (*self.slot, self.about) if part)

    @property
    def fact(self) -> Fact:
        """What it states."""
        return self.entity, self.attribute, self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnEpisode:
    """What is known at a return.

    Attributes:
        id: names the episode; says nothing about what holds.
        workload: what the agent comes back to do, in words.
        departed: the logical time of the departure.
        returned: the logical time of the return, after everything in the log.
        bank: the claims that stood when the agent left, in order.
        log: what was written in its absence, in order; later than the departure.
        store: the ids that the shared store serves at the return, as its own writes left it.
        needs: the slots that the workload itself names, as `slot_name` gives them; None: it names
            none, and wants what is known on its topic.
    """

    id: str
    workload: str
    departed: int
    returned: int
    bank: tuple[Claim, ...]
    log: tuple[Claim, ...]
    store: frozenset[str]
    needs: frozenset[str] | None = None

    @property
    def written(self) -> tuple[Claim, ...]:
        """Everything in the order of its transactions."""
        return self.bank + self.log


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What holds at the return; never handed to a method.

    Attributes:
        valid: facts that the workload needs and that hold.
        stale: facts that ceased to hold during the absence; none of them is valid.
    """

    valid: frozenset[Fact]
    stale: frozenset[Fact]

    def __post_init__(self) -> None:
        """Refuse a fact that both holds and does not."""
        both = self.valid & self.stale
        if both:
            raise InvalidValue("stale", sorted(both)[:1], "let a fact be valid or stale, not both")


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a view may hold; None is no bound.

    Attributes:
        items: claims.
        characters: of the claims' texts together.
    """

    items: int | None = None
    characters: int | None = None

    def __post_init__(self) -> None:
        """Refuse a bound below zero."""
        for field in ("items", "characters"):
            bound: int | None = getattr(self, field)
            if bound is not None and bound < 0:
                raise InvalidValue(field, bound, "give at least 0, or None for no bound")

    def allows(self, claims: Sequence[Claim]) -> bool:
        """Whether a view of these claims is small enough."""
        return (self.items is None or len(claims) <= self.items) and (
            self.characters is None or sum(len(claim.text) for claim in claims) <= self.characters
        )


UNLIMITED = Budget()
"""No bound: what a method admits is its judgement alone, not what there was room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What a method lets the agent act on.

    Attributes:
        items: ids out of the bank and the log; the empty view is a decision too.
        calls: calls to a model that it took.
        tokens: of those calls, in and out.
    """

    items: frozenset[str]
    calls: int = 0
    tokens: int = 0


class ReturnMethod(Protocol):
    """Decides at a return which items may be used.

    A method has the episode and the budget and nothing else: no label, no memory of the episode
    before. It is called once an episode, in any order; equal calls get equal answers unless it
    asks a model. It raises only when a model that it asks fails.
    """

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def admit(self, episode: ReturnEpisode, budget: Budget) -> Admission:
        """Which items may be used; the view has to keep to the budget."""
        ...


def fitting(claims: Iterable[Claim], budget: Budget) -> frozenset[str]:
    """The ids of as many claims as there is room for, the latest first.

    Claims are taken from the latest backwards, of one time the one that comes later first, and one
    that does not fit is passed over.
    """
    kept: list[Claim] = []
    latest = sorted(enumerate(claims), key=lambda one: (one[1].at, one[0]), reverse=True)
    for _, claim in latest:
        if budget.allows([*kept, claim]):
            kept.append(claim)
    return frozenset(claim.id for claim in kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One admission against the answers: for each fact, whether it came out right.

    Attributes:
        available: for each valid fact, whether the view states it.
        withheld: for each stale fact, whether the view does not.
        items: how many items the view has.
        calls: calls to a model.
        tokens: tokens of those calls.
    """

    available: tuple[bool, ...]
    withheld: tuple[bool, ...]
    items: int
    calls: int
    tokens: int


def viewed(
    method: ReturnMethod, episode: ReturnEpisode, budget: Budget
) -> tuple[Admission, list[Claim]]:
    """Ask a method, and look up what it admits.

    Raises:
        InvalidValue: the method admitted what is not in the episode, a withdrawal, or too much.
    """
    said = method.admit(episode, budget)
    usable = {claim.id: claim for claim in episode.written if claim.does == "state"}
    unknown = said.items - usable.keys()
    if unknown:
        raise InvalidValue(
            f"the view of {method.name}", sorted(unknown), "admit statements of the episode only"
        )
    view = [usable[item] for item in said.items]
    if not budget.allows(view):
        raise InvalidValue(f"the view of {method.name}", len(view), f"keep to {budget}")
    return said, view


def judged(
    method: ReturnMethod, episode: ReturnEpisode, answers: Answers, budget: Budget
) -> Judged:
    """Ask a method and hold what it says against the answers.

    A fact counts as stated whichever claim states it: two claims that say the same are one fact.

    Raises:
        InvalidValue: the method admitted what is not in the episode, a withdrawal, or too much.
    """
    said, view = viewed(method, episode, budget)
    stated = {claim.fact for claim in view}
    return Judged(
        available=tuple(fact in stated for fact in sorted(answers.valid)),
        withheld=tuple(fact not in stated for fact in sorted(answers.stale)),
        items=len(view),
        calls=said.calls,
        tokens=said.tokens,
    )
