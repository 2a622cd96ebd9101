"""What stands, in the order and by the keys in which it is asked for; and what its time will bring.

Both are kept up with a few changes at a time: the parts of a `Readmission` that know no rule.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from lapse.admission.candidates import Candidates
from lapse.admission.gates import Judgement
from lapse.admission.reasons import Reason
from lapse.admission.selection import SERVING, Selection, choose
from lapse.ledger import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from lapse.admission.checkpoint import Returning
    from lapse.admission.items import WorkItem
    from lapse.admission.policy import Policy

__all__ = ["Due", "Standing"]

_MANY = 64
"""One in so many: from there on, everything is put in order at once."""


class Due:
    """The instants and revisions at which something holds, ends or counts."""

    def __init__(self) -> None:
        self._instants: list[tuple[int, str]] = []
        self._epochs: list[tuple[int, str]] = []

    def add(self, items: Iterable[WorkItem], returning: Returning) -> None:
        """Remember what lies ahead of a return."""
        first = not self._instants and not self._epochs
        for item in items:
            self._add(item, returning, sift=not first)
        if first:
            heapify(self._instants)
            heapify(self._epochs)

    def reached(self, returning: Returning) -> set[str]:
        """The ids of the items for which something lay ahead that does so no longer."""
        found: set[str] = set()
        for ahead, now in ((self._instants, returning.at), (self._epochs, returning.epoch)):
            while ahead and ahead[0][0] <= now:
                found.add(heappop(ahead)[1])
        return found

    def _add(self, item: WorkItem, returning: Returning, *, sift: bool) -> None:
        instants = (item.valid.since, item.valid.until, *(r.at for r in item.receipts))
        for ahead, now, times in (
            (self._instants, returning.at, instants),
            (self._epochs, returning.epoch, (item.epochs.since, item.epochs.until)),
        ):
            for time in times:
                if time is not None and time > now:
                    if sift:
                        heappush(ahead, (time, item.id))
                    else:
                        ahead.append((time, item.id))


class Standing:
    """Every item with its judgement, by id, and what a choice among them needs."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._items: list[WorkItem] = []
        self._judged: list[Judgement] = []
        self._eligible: dict[str, WorkItem] = {}
        self._candidates = Candidates()
        self._serving: dict[str, Judgement] = {}
        self._private: dict[str, Judgement] = {}
        self._left: dict[str, tuple[Reason, ...]] = {}
        self._supporting: dict[str, set[str]] = {}

    def items(self) -> tuple[WorkItem, ...]:
        """The items, by id."""
        return tuple(self._items)

    def judgements(self) -> tuple[Judgement, ...]:
        """The judgements, by id."""
        return tuple(self._judged)

    def private(self) -> list[Judgement]:
        """The judgements of private experience, by id."""
        return [self._private[name] for name in sorted(self._private)]

    def renew(
        self,
        gone: Iterable[WorkItem],
        added: Collection[WorkItem],
        changed: Iterable[WorkItem],
    ) -> None:
        """Follow the items; what was added is out until it is judged."""
        for item in gone:
            at = bisect_left(self._names, item.id)
            self._forget(self._judged[at])
            del self._names[at], self._items[at], self._judged[at]
            if item.kind is not Kind.EXPERIENCE:
                for dependency in item.supports:
                    self._supporting[dependency].discard(item.id)
        self._insert([Judgement(item, (Reason.NO_GATES,)) for item in added])
        for item in added:
            if item.kind is not Kind.EXPERIENCE:
                for dependency in item.supports:
                    self._supporting.setdefault(dependency, set()).add(item.id)
        for item in changed:
            self._items[bisect_left(self._names, item.id)] = item

    def put(self, judgements: Collection[Judgement]) -> None:
        """Take judgements in the place of those before."""
        many = len(judgements) * _MANY > len(self._names)
        for new in judgements:
            at = bisect_left(self._names, new.item.id)
            old, self._judged[at] = self._judged[at], new
            if old.item is new.item and old.reasons == new.reasons:
                if new.item.kind in SERVING:
                    self._serving[new.item.id] = new
                continue
            self._forget(old, indexed=not many)
            self._keep(new, indexed=not many)
        if many:
            self._candidates = Candidates(self._eligible.values())

    def choose(self, policy: Policy) -> Selection:
        """A set, as `select` chooses it, but for what becomes of the others."""
        return choose(
            [self._serving[name] for name in sorted(self._serving)],
            self._eligible,
            self._candidates,
            policy.budget,
            selector=policy.selector,
            unsafe_relevance=policy.unsafe_relevance,
        )

    def left(self, selection: Selection, *, by_score: bool) -> dict[str, tuple[Reason, ...]]:
        """What speaks against each shared item that is not in a set."""
        left = dict(self._left)
        over: Iterable[str] = self._eligible
        if not by_score:
            about = self._candidates.about
            groups = {group for dependency in selection.lacking for group in about(dependency)}
            over = (name for group in groups for name in self._candidates.members(group))
        left.update(dict.fromkeys(over, (Reason.OVER_BUDGET,)))
        for item in selection.items:
            del left[item.id]
        return left

    def about(self, dependencies: Iterable[str]) -> list[Judgement]:
        """The judgements of the shared items that support any of these dependencies."""
        names = {name for one in dependencies for name in self._supporting.get(one, ())}
        return [self._judged[bisect_left(self._names, name)] for name in names]

    def _insert(self, judgements: Collection[Judgement]) -> None:
        for judgement in judgements:
            self._keep(judgement, indexed=True)
        if len(judgements) * _MANY > len(self._names):
            rows = [*zip(self._items, self._judged, strict=True)]
            rows += ((judgement.item, judgement) for judgement in judgements)
            rows.sort(key=lambda row: row[0].id)
            self._items = [item for item, _ in rows]
            self._judged = [judgement for _, judgement in rows]
            self._names = [item.id for item in self._items]
            return
        for judgement in judgements:
            at = bisect_left(self._names, judgement.item.id)
            self._names.insert(at, judgement.item.id)
            self._items.insert(at, judgement.item)
            self._judged.insert(at, judgement)

    def _forget(self, judgement: Judgement, *, indexed: bool = True) -> None:
        item = judgement.item
        self._private.pop(item.id, None)
        self._serving.pop(item.id, None)
        self._left.pop(item.id, None)
        if self._eligible.pop(item.id, None) is not None and indexed:
            self._candidates.remove(item)

    def _keep(self, judgement: Judgement, *, indexed: bool) -> None:
        item = judgement.item
        if item.kind is Kind.EXPERIENCE:
            self._private[item.id] = judgement
            return
        if item.kind in SERVING:
            self._serving[item.id] = judgement
        self._left[item.id] = judgement.reasons or (Reason.NOT_NEEDED,)
        if judgement.eligible:
            self._eligible[item.id] = item
            if indexed:
                self._candidates.add(item)
