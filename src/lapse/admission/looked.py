"""What was asked about the items of a workspace that goes on changing, and what was answered.

A scan of an item that was answered once is asked only about what came since; what was named then
stays named as long as it may be asked about. An item is out until its scan is answered for
everything that came, and so is one whose answer failed: it is asked again as a whole.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, NamedTuple, cast

from lapse.admission.lifecycle import in_time
from lapse.admission.questions import (
    ASKED_ABOUT,
    Absence,
    Pair,
    Question,
    Scan,
    Verdict,
    comes,
    judge,
    propose,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from lapse.admission.checkpoint import Returning
    from lapse.admission.items import WorkItem
    from lapse.admission.links import Links
    from lapse.admission.reasons import Fallen

__all__ = ["Looked"]

_Moment = tuple[int, int]
_MANY = 64
"""One in so many: from there on, everything is put in order at once."""

_NEVER: _Moment = (-1, 0)
"""Before every moment: revisions count from 0."""


class _Line:
    """Items along time, each at its moment."""

    def __init__(self) -> None:
        self._places: list[tuple[_Moment, str]] = []

    def put(self, items: Collection[WorkItem]) -> None:
        """Put items on the line that are not on it."""
        places = [(item.moment, item.id) for item in items]
        if len(places) * _MANY > len(self._places):
            self._places = sorted([*self._places, *places])
            return
        for place in places:
            insort(self._places, place)

    def take(self, item: WorkItem) -> None:
        """Take an item off the line that is on it."""
        del self._places[bisect_left(self._places, (item.moment, item.id))]

    def between(self, first: _Moment, end: _Moment) -> list[str]:
        """The ids from one moment on and before another, in order."""
        start = bisect_left(self._places, (first, ""))
        return [name for _, name in self._places[start : bisect_left(self._places, (end, ""))]]

    def after(self, moment: _Moment) -> list[str]:
        """The ids after a moment, in order."""
        start = bisect_left(self._places, ((moment[0], moment[1] + 1), ""))
        return [name for _, name in self._places[start:]]

    def reaches(self, items: Mapping[str, WorkItem]) -> _Reach:
        """Up to when items are followed by one of these in another slot."""
        latest: tuple[_Moment, str] | None = None
        for moment, name in reversed(self._places):
            if latest is None:
                latest = moment, items[name].slot
            elif items[name].slot != latest[1]:
                return _Reach(*latest, moment)
        return _Reach(_NEVER, "", _NEVER) if latest is None else _Reach(*latest, _NEVER)


class _Reach(NamedTuple):
    """Before which moment an item has something later in another slot.

    Attributes:
        usually: for most slots.
        slot: the slot for which it is otherwise.
        there: for that slot.
    """

    usually: _Moment
    slot: str
    there: _Moment

    def covers(self, item: WorkItem) -> bool:
        """Whether something later in another slot follows an item."""
        return item.moment < (self.there if item.slot == self.slot else self.usually)


class Looked:
    """Scans and answers, kept up with the items.

    Args:
        items: the items by id, as whoever holds them keeps them; looked at and never changed.
        links: their links.
        departed: the revision after which items came.

    Attributes:
        scanned: what was named about each item, or what came instead, as far as somebody looked.
        answers: what was answered about each pair: as `judge` takes it.
    """

    def __init__(self, items: Mapping[str, WorkItem], links: Links, *, departed: int) -> None:
        self.scanned: dict[str, object] = {}
        self.answers: dict[Pair, object] = {}
        self._items, self._links = items, links
        self._departed = departed
        self._asked, self._came = _Line(), _Line()
        self._there: set[str] = set()
        self._fresh: set[str] = set()
        self._open: set[str] = set()
        self._named_by: dict[str, set[str]] = {}
        self._reach = self._came.reaches(items)

    def renew(
        self,
        gone: Iterable[WorkItem],
        added: Collection[WorkItem],
        touched: Iterable[WorkItem],
        returning: Returning,
    ) -> set[str]:
        """Follow the items; gives the ids of those about which something else holds by now.

        Args:
            gone: items that are there no longer.
            added: items that were not there.
            touched: items that are there, with another status or at another time than before.
            returning: whose revision counts.
        """
        told: set[str] = set()
        lost = tuple(gone)
        for item in lost:
            if item.kind in ASKED_ABOUT:
                self._asked.take(item)
                self._open.discard(item.id)
                self._forget(item.id)
        for item in lost:
            self._leave(item, told)
        asked = [item for item in added if item.kind in ASKED_ABOUT]
        self._asked.put(asked)
        self._open.update(item.id for item in asked)
        came: list[WorkItem] = []
        for item in (*added, *touched):
            if not comes(item, after=self._departed, until=returning.epoch):
                self._leave(item, told)
            elif item.id not in self._there:
                came.append(item)
        self._came.put(came)
        names = {item.id for item in came}
        self._there |= names
        self._fresh |= names
        for name in names:
            told |= self._named_by.get(name, set())
        return told | self._reach_again()

    def told(self) -> dict[str, object]:
        """What was named about each item that was looked at for everything that came."""
        behind = self._behind()
        return {name: answer for name, answer in self.scanned.items() if name not in behind}

    @property
    def is_behind(self) -> bool:
        """Whether anything came since somebody looked."""
        return bool(self._fresh)

    def scans(self, fallen: Mapping[str, Fallen]) -> Iterator[Scan]:
        """What has to be looked at now, by id: whole scans, and what came since of the others.

        Args:
            fallen: what fell without any answer; nothing is asked about it.
        """
        whole = self._whole(fallen)
        further = self._behind() - fallen.keys()
        latest = [self._items[name] for name in self._since(whole)]
        every = Absence(latest)
        fresh = Absence(self._items[name] for name in self._fresh)
        for name in sorted(whole | further):
            item = self._items[name]
            yield Scan(item, (every if name in whole else fresh).after(item))

    def look(self, scanned: Mapping[str, object], fallen: Mapping[str, Fallen]) -> set[str]:
        """Take in the answers to `scans`; gives the ids of the items that they are about.

        An item whose scan is not answered loses the answer that it had: it does not reach as far.
        """
        told, behind = set[str](), self._behind()
        for name in self._whole(fallen):
            if name in scanned:
                self._keep(name, scanned[name])
                told.add(name)
        for name in behind & (fallen.keys() | (behind - scanned.keys())):
            self._forget(name)
            self._open.add(name)
            told.add(name)
        for name in [name for name, answer in scanned.items() if not _is_empty(answer)]:
            if name in behind and name not in told:
                self._keep(name, _both(self.scanned[name], scanned[name]))
                told.add(name)
        self._fresh.clear()
        return told

    def came(self) -> tuple[WorkItem, ...]:
        """What came since somebody looked, from the earliest on."""
        items = [self._items[name] for name in self._fresh]
        return tuple(sorted(items, key=in_time))

    def sweep(self, named: Mapping[str, object]) -> set[str]:
        """Take in what each of `came` may break; gives the ids of the items that were named.

        An answer that is none, or that names what could not be asked about, changes nothing.
        """
        told: set[str] = set()
        for name in self._fresh & named.keys():
            answer = named[name]
            if not isinstance(answer, list | tuple | set | frozenset):
                continue
            older = cast("Collection[object]", answer)
            if all(self._precedes(one, self._items[name]) for one in older):
                for one in {one for one in older if isinstance(one, str)} - self._open:
                    self._keep(one, _both(self.scanned[one], (name,)))
                    told.add(one)
                self._fresh.discard(name)
        return told

    def questions(self, fallen: Mapping[str, Fallen]) -> tuple[Question, ...]:
        """The named pairs about which no verdict is there yet, by id."""
        olders = {name for names in self._named_by.values() for name in names}
        return tuple(
            question
            for name in sorted(olders - fallen.keys())
            for question in propose((self._scan(name),), self.scanned).questions
            if not isinstance(self.answers.get(question.pair), Verdict)
        )

    def answer(self, answers: Mapping[Pair, object]) -> set[str]:
        """Take in what a verifier answered; gives the ids of the items that it is about."""
        self.answers.update(answers)
        return {pair.older for pair in answers if pair.older in self._items}

    def inferred(self, item: WorkItem) -> Fallen | None:
        """What the answers say about an item that stands otherwise; None: nothing against it."""
        if item.kind not in ASKED_ABOUT or not self._reach.covers(item):
            return None
        proposals = propose((self._scan(item.id),), self.scanned)
        return judge(proposals, self.answers).get(item.id)

    def _leave(self, item: WorkItem, told: set[str]) -> None:
        """It breaks nothing any more, so it is taken out of what was named."""
        if item.id not in self._there:
            return
        self._there.remove(item.id)
        self._fresh.discard(item.id)
        self._came.take(item)
        for name in self._named_by.get(item.id, set[str]()).copy():
            kept = cast("tuple[str, ...]", self.scanned[name])
            self._keep(name, tuple(one for one in kept if one != item.id))
            told.add(name)

    def _reach_again(self) -> set[str]:
        was, now = self._reach, self._came.reaches(self._items)
        self._reach = now
        if was == now:
            return set()
        first, end = sorted((was.usually, now.usually))
        special = {item.id for slot in (was.slot, now.slot) for item in self._links.in_slot(slot)}
        about = special.union(self._asked.between(first, end))
        for name in [n for n in about if n in self._open and n not in self.scanned]:
            item = self._items[name]
            if now.covers(item) and not was.covers(item):
                self._keep(name, ())  # nothing had come after it: what came since is all
        return about

    def _since(self, names: set[str]) -> list[str]:
        """What came after the earliest of some items: mostly few, where few are asked about."""
        if not names:
            return []
        return self._came.after(min(self._items[name].moment for name in names))

    def _whole(self, fallen: Mapping[str, Fallen]) -> set[str]:
        """The items without an answer that something follows."""
        reach, items = self._reach, self._items
        return {name for name in self._open - fallen.keys() if reach.covers(items[name])}

    def _behind(self) -> set[str]:
        """The items whose answer does not reach as far as what came since."""
        if not self._fresh:
            return set()
        line = _Line()
        line.put([self._items[name] for name in self._fresh])
        reach = line.reaches(self._items)
        found = set(self._asked.between(_NEVER, reach.usually)) - self._open
        special = self._links.in_slot(reach.slot)
        return found - {item.id for item in special if not reach.covers(item)}

    def _scan(self, name: str) -> Scan:
        """What an answer may name: enough of a scan to read that answer."""
        item, answer = self._items[name], self.scanned.get(name)
        named = cast("tuple[object, ...]", answer) if isinstance(answer, tuple) else ()
        names = {one for one in named if isinstance(one, str)}
        offered = (self._items[one] for one in sorted(names) if one in self._there)
        return Scan(
            item, tuple(i for i in offered if i.moment > item.moment and i.slot != item.slot)
        )

    def _precedes(self, name: object, later: WorkItem) -> bool:
        """Whether a scan of an item would offer this one."""
        item = self._items.get(name) if isinstance(name, str) else None
        return (
            item is not None
            and item.kind in ASKED_ABOUT
            and item.moment < later.moment
            and item.slot != later.slot
        )

    def _keep(self, name: str, answer: object) -> None:
        self._forget(name)
        if isinstance(answer, list | tuple | set | frozenset):
            answer = tuple(cast("Collection[object]", answer))
            for one in answer:
                if isinstance(one, str):
                    self._named_by.setdefault(one, set()).add(name)
        self.scanned[name] = answer
        if propose((self._scan(name),), self.scanned).fallen:
            self._open.add(name)
        else:
            self._open.discard(name)

    def _forget(self, name: str) -> None:
        answer = self.scanned.pop(name, None)
        if isinstance(answer, tuple):
            for one in cast("tuple[object, ...]", answer):
                if isinstance(one, str):
                    self._named_by[one].discard(name)


def _is_empty(answer: object) -> bool:
    """Whether somebody looked and named nothing."""
    return answer == () or (isinstance(answer, list | set | frozenset) and not answer)


def _both(before: object, since: object) -> object:
    """Two answers about one item as one; where either is none, that."""
    if isinstance(before, tuple) and isinstance(since, list | tuple | set | frozenset):
        return (*cast("tuple[object, ...]", before), *cast("Collection[object]", since))
    return since
