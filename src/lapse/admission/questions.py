"""What the workspace's history does not say: does a later item break a premise of an earlier one?

Two kinds of question go out, and who answers is not decided here (paper, 3.2 and C.2). A *scan*
asks broadly which later items might break an item; each pair it names is then asked about alone, of
a *verifier*: would treating the earlier item as current be incompatible with the later one?

1. A pair goes forward in time, strictly, so pairs can never form a cycle.
2. Of several verified breaks the latest is the one that counts; a break outweighs any failure.
3. A scan or an answer that is missing, failed or cannot be read leaves the earlier item out, with
   that reason. So does a verifier that cannot tell.
4. A verified break leaves the earlier item out and admits nothing: the later one passes the gates
   by itself.

Obligations and frontiers are not asked about: one that is void by inference would still demand what
it demands, and is closed by whoever opened it. Nor is a private experience: it goes where its
source goes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, cast

from lapse.admission.reasons import Fallen, Reason
from lapse.ledger import Kind, Status

if TYPE_CHECKING:
    from lapse.admission.checkpoint import Checkpoint
    from lapse.admission.items import WorkItem

__all__ = ["Pair", "Proposals", "Question", "Scan", "Verdict", "judge", "propose", "scans"]

ASKED_ABOUT = frozenset({Kind.FACT, Kind.CONSTRAINT})
"""The kinds of item of which a premise may be broken by something that nobody linked."""


class Verdict(StrEnum):
    """What a verifier may answer about a pair."""

    INVALIDATES = "invalidates"
    """The later item cannot hold while the earlier one is treated as current."""
    STANDS = "stands"
    """Both can hold, whatever topic they share."""
    UNSURE = "unsure"
    """It cannot tell."""


class Pair(NamedTuple):
    """An earlier and a later item, by id."""

    older: str
    later: str


@dataclass(frozen=True, slots=True)
class Scan:
    """Which of these later items might break a premise of this one?

    Attributes:
        older: the item in question.
        later: items written during the absence and after it, from the earliest on; at least one.
    """

    older: WorkItem
    later: tuple[WorkItem, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """Does the later item break a premise of the earlier one? Asked of a verifier, pair by pair."""

    older: WorkItem
    later: WorkItem

    @property
    def pair(self) -> Pair:
        """The ids: what its answer is filed under."""
        return Pair(self.older.id, self.later.id)


@dataclass(frozen=True, slots=True)
class Proposals:
    """What came of scanning.

    Attributes:
        questions: for the verifier, in the order of ids.
        fallen: items whose scan is missing or unusable.
    """

    questions: tuple[Question, ...] = ()
    fallen: Mapping[str, Fallen] = field(default_factory=dict[str, Fallen])


def scans(checkpoint: Checkpoint, fallen: Collection[str]) -> Iterator[Scan]:
    """One scan for each item that stands so far and was followed by something.

    What was revoked was never true, and breaks nothing. Items of one slot are left to the explicit
    rules.
    """
    returning, departed = checkpoint.returning, checkpoint.departed
    came = (i for i in checkpoint.items if comes(i, after=departed, until=returning.epoch))
    absence = Absence(came)
    for item in checkpoint.items:
        if item.id in fallen or item.kind not in ASKED_ABOUT:
            continue
        later = absence.after(item)
        if later:
            yield Scan(item, later)


def comes(item: WorkItem, *, after: int, until: int) -> bool:
    """Whether an item, written in these revisions, may break what was before it."""
    return (
        after < item.epochs.since <= until
        and item.status is not Status.REVOKED
        and item.kind is not Kind.EXPERIENCE
    )


class Absence:
    """What came later, given as one tuple to all that it came after.

    Args:
        came: the items, in any order.
    """

    def __init__(self, came: Iterable[WorkItem]) -> None:
        self._items = tuple(sorted(came, key=lambda item: (item.moment, item.id)))
        self._moments = [item.moment for item in self._items]
        self._last = {item.slot: at for at, item in enumerate(self._items)}
        self._tails: dict[int, tuple[WorkItem, ...]] = {}

    def after(self, item: WorkItem) -> tuple[WorkItem, ...]:
        """What came after an item and is about another slot, from the earliest on."""
        begins = bisect_right(self._moments, item.moment)
        later = self._tails.get(begins)
        if later is None:
            later = self._tails[begins] = self._items[begins:]
        if self._last.get(item.slot, -1) < begins:
            return later
        return tuple(other for other in later if other.slot != item.slot)


def propose(asked: Collection[Scan], scanned: Mapping[str, object]) -> Proposals:
    """The pairs to verify.

    Args:
        asked: the scans that went out.
        scanned: for each scanned item's id a list, tuple or set of the ids of later items, or the
            exception that came instead. Anything else is a malformed answer, and so is an id that
            the scan did not offer.
    """
    questions: list[Question] = []
    fallen: dict[str, Fallen] = {}
    for scan in asked:
        named = _named(scanned.get(scan.older.id, Reason.UNSCANNED), scan.later)
        if isinstance(named, Reason):
            fallen[scan.older.id] = Fallen(named)
        else:
            questions += (Question(scan.older, item) for item in named)
    return Proposals(tuple(questions), fallen)


def _named(answer: object, offered: Collection[WorkItem]) -> Reason | list[WorkItem]:
    if isinstance(answer, Reason):
        return answer
    if isinstance(answer, Exception):
        return Reason.SCAN_RAISED
    if not isinstance(answer, list | tuple | set | frozenset):
        return Reason.SCAN_MALFORMED
    named = cast("Collection[object]", answer)
    names = {name for name in named if isinstance(name, str)}
    if not all(isinstance(name, str) for name in named):
        return Reason.SCAN_MALFORMED
    found = [item for item in offered if item.id in names] if names else []
    found.sort(key=lambda item: item.id)
    return found if len(found) == len(names) else Reason.SCAN_MALFORMED


def judge(proposals: Proposals, answers: Mapping[Pair, object]) -> dict[str, Fallen]:
    """Which items fall by inference.

    Args:
        proposals: what was asked.
        answers: a `Verdict` for each question's pair, or the exception that came instead; anything
            else is a malformed answer. An answer to what was not asked is passed over.
    """
    fallen = dict(proposals.fallen)
    broken: dict[str, WorkItem] = {}
    for question in proposals.questions:
        older, later = question.older.id, question.later
        reason = _meaning(answers.get(question.pair, Reason.UNANSWERED))
        if reason is Reason.INVALIDATED:
            known = broken.get(older)
            if known is None or (known.moment, known.id) < (later.moment, later.id):
                broken[older] = later
        elif reason is not None:
            fallen.setdefault(older, Fallen(reason, later.id))
    for older, later in broken.items():
        fallen[older] = Fallen(Reason.INVALIDATED, later.id)
    return fallen


def _meaning(answer: object) -> Reason | None:
    """The reason that an answer gives; None when the item stands."""
    match answer:
        case Reason():
            return answer
        case Verdict.STANDS:
            return None
        case Verdict.INVALIDATES:
            return Reason.INVALIDATED
        case Verdict.UNSURE:
            return Reason.UNVERIFIED
        case Exception():
            return Reason.VERIFIER_RAISED
        case _:
            return Reason.ANSWER_MALFORMED
