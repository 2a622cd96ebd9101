"""ManBench's items as returns to a team that agrees: on something wrong, or on something new.

TRACE (arXiv 2609.33517, appendix D.5) made two conditions out of ManBench (arXiv 2602.00428), by
alternating positions within each task, before anybody has answered:

* `old-valid`: the question stays, and the team promotes the misleading answer.
* `old-stale`: the question moves on to the task's next item, cyclically, and the team solves it.

Whoever sees that the question stayed knows the condition. So there is a third one, which the
source has not: `corrected`, where the question stays, the agent left with the misleading answer,
and the team has the right one. It is scored beside the two and is no part of their average.

No method is told the condition: an episode's id is a digest, and both its banks and its logs look
alike in all three. Nobody answers a question here, so what the agent left with and what the team
says are the source's labels, not a model's answers; the source's eligibility by an actor's own
answers has no counterpart.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from lapse.errors import InvalidValue
from lapse_bench.returns.episodes import Answers, Claim, ReturnEpisode
from lapse_bench.returns.shipped import rows_of, shipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "CONDITIONS",
    "GROUP_SIZES",
    "HEADLINE",
    "Condition",
    "Item",
    "ManbenchEpisode",
    "Subjects",
    "episodes_of",
    "read_manbench",
    "said",
]

Condition: TypeAlias = Literal["old-valid", "old-stale", "corrected"]

HEADLINE: Final[tuple[Condition, ...]] = ("old-valid", "old-stale")
"""The source's conditions, of equal weight in its average."""

CONDITIONS: Final[tuple[Condition, ...]] = (*HEADLINE, "corrected")

Subjects: TypeAlias = Literal["hidden", "named"]
"""Whether an answer says which question it answers, beside its words."""

GROUP_SIZES: Final = (4, 8, 16, 32)
"""How many stayed (appendix D.6)."""

_SLOT: Final = "answer"


@dataclass(frozen=True, slots=True)
class Item:
    """One question of a task.

    Attributes:
        task: which of the tasks.
        question: with its choices.
        right: the source's target.
        misleading: the wrong answer that the source promotes.
    """

    task: str
    question: str
    right: str
    misleading: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ManbenchEpisode:
    """One return to a team.

    Attributes:
        condition: for the score only.
        task: which of the tasks.
        size: how many stayed.
        episode: for methods.
        answers: for the score.
    """

    condition: Condition
    task: str
    size: int
    episode: ReturnEpisode
    answers: Answers


def read_manbench(path: Path | None = None) -> tuple[Item, ...]:
    """Read the data that ships, or a file of the same form, in its order.

    Args:
        path: a file with one object a line: `task`, `inputs`, `misleading_target` and `targets`,
            of which the first counts; the shipped file when None.

    Raises:
        InvalidValue: the file cannot be read, a member is missing, or it is empty.
    """
    where = shipped("manbench") if path is None else path
    items = tuple(
        _item(row, f"{where.name}, row {number}") for number, row in enumerate(rows_of(where), 1)
    )
    if not items:
        raise InvalidValue("data", str(where), "give at least one item")
    return items


def _item(row: Mapping[str, Any], where: str) -> Item:
    targets = cast("object", row.get("targets"))
    if isinstance(targets, list):
        targets = next(iter(cast("list[object]", targets)), None)
    if isinstance(targets, list):  # several names of one answer; choices show them as Python does
        targets = str(cast("list[object]", targets))
    return Item(
        task=_text(row.get("task"), f"{where}, task"),
        question=_text(row.get("inputs"), f"{where}, inputs"),
        right=_text(targets, f"{where}, targets"),
        misleading=_text(row.get("misleading_target"), f"{where}, misleading_target"),
    )


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidValue(where, value, "write a text")
    return value


def episodes_of(
    items: Sequence[Item],
    *,
    size: int,
    dissent: float = 0.0,
    seed: int = 0,
    subjects: Subjects = "hidden",
    every: int = 1,
) -> Iterator[ManbenchEpisode]:
    """The episodes of a team of one size.

    Left out are items whose two answers are the same: in `old-stale`, the next question's answer
    may be this one's, and then to keep and to drop look alike.

    Args:
        items: in the source's order; positions alternate within a task.
        size: how many stayed, at least 1.
        dissent: the share of the team that says the opposite, below one half, rounded down. Who
            they are is drawn, so the last to write may be one of them.
        seed: decides that draw.
        subjects: `named` records with each answer which question it answers. That tells
            `old-stale` from the other two, and those not from each other.
        every: take every so manieth pair of positions of a task, 1 for all.

    Raises:
        InvalidValue: the size or the share is out of bounds.
    """
    if size < 1:
        raise InvalidValue("size", size, "give at least 1")
    if every < 1:
        raise InvalidValue("every", every, "give at least 1")
    if not 0 <= dissent < 0.5:  # noqa: PLR2004 - with half of it, a team says nothing
        raise InvalidValue("dissent", dissent, "give a share from 0 to below 0.5")
    tasks: dict[str, list[Item]] = {}
    for item in items:
        tasks.setdefault(item.task, []).append(item)
    for task, questions in tasks.items():
        for place, item in enumerate(questions):
            if place // 2 % every:
                continue
            following = questions[(place + 1) % len(questions)]
            for condition in ("old-valid", "corrected") if place % 2 == 0 else ("old-stale",):
                made = _made(condition, item, following)
                if made is None:
                    continue
                draw = hashlib.sha256(f"{seed}/{task}/{place}/{condition}".encode())
                yield _episode(
                    made,
                    condition=condition,
                    task=task,
                    name=draw.hexdigest()[:16],
                    odd=_dissenters(draw.digest(), size, int(size * dissent)),
                    size=size,
                    named=subjects == "named",
                )


@dataclass(frozen=True, slots=True)
class _Made:
    asked_then: str
    left_with: str
    asked_now: str
    team_says: str
    others_say: str
    old_holds: bool


def _made(condition: Condition, item: Item, following: Item) -> _Made | None:
    if condition == "old-stale":
        now, old, new, other = following, item.right, following.right, following.misleading
    elif condition == "old-valid":
        now, old, new, other = item, item.right, item.misleading, item.right
    else:
        now, old, new, other = item, item.misleading, item.right, item.misleading
    if _same(old, new) or (condition == "old-stale" and _same(new, other)):
        return None
    return _Made(item.question, old, now.question, new, other, condition == "old-valid")


def _same(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()


def _episode(
    made: _Made,
    *,
    condition: Condition,
    task: str,
    name: str,
    odd: frozenset[int],
    size: int,
    named: bool,
) -> ManbenchEpisode:
    entity = f"team/{task}"
    bank = Claim(
        id="old",
        at=0,
        entity=entity,
        attribute=_SLOT,
        value=made.left_with,
        text=said(made.asked_then, made.left_with),
        about=made.asked_then if named else "",
        source="returning agent",
    )
    log: list[Claim] = []
    for agent in range(size):
        says = made.others_say if agent in odd else made.team_says
        log.append(
            Claim(
                id=f"new-{agent}",
                at=agent + 1,
                entity=entity,
                attribute=_SLOT,
                value=says,
                text=said(made.asked_now, says),
                about=made.asked_now if named else "",
                source=f"agent {agent}",
            )
        )
    old, new = bank.fact, (entity, _SLOT, made.team_says)
    return ManbenchEpisode(
        condition=condition,
        task=task,
        size=size,
        episode=ReturnEpisode(
            id=name,
            workload=made.asked_now,
            departed=0,
            returned=size + 1,
            bank=(bank,),
            log=tuple(log),
            # The team keeps one answer, and each who writes it overwrites it.
            store=frozenset([log[-1].id]),
            needs=frozenset([log[-1].slot_name]),
        ),
        answers=Answers(
            valid=frozenset([old if made.old_holds else new]),
            stale=frozenset([new if made.old_holds else old]),
        ),
    )


def said(question: str, answer: str) -> str:
    """A claim that a question has an answer, in words."""
    return f"{question}\nAnswer: {answer}"


def _dissenters(draw: bytes, size: int, how_many: int) -> frozenset[int]:
    """Who says the opposite: the agents whose digests come first."""
    ranked = sorted(range(size), key=lambda a: hashlib.sha256(draw + a.to_bytes(4, "big")).digest())
    return frozenset(ranked[:how_many])
