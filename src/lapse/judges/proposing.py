"""Proposers that look at what items declare: names, premises, or nothing at all.

Each of them is a rule: it costs no model's time, and two runs agree. What a proposer leaves out is
never asked about, so each says what it cannot see. Several are combined in `Judging`, or by `Union`
where one proposer is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from lapse.errors import InvalidValue
from lapse.runtime import FREE, Cost, Proposal, Proposer

if TYPE_CHECKING:
    from collections.abc import Callable

    from lapse.admission import Scan, WorkItem

__all__ = [
    "AllPairs",
    "DeclaredPremise",
    "SharedEntity",
    "Union",
    "check_most",
    "later_items",
    "proposed",
]


def check_most(most: int) -> None:
    """Refuse a number of pairs that is none.

    Raises:
        InvalidValue: it is below 1.
    """
    if most < 1:
        raise InvalidValue("most", most, "pass how many later items to name for each, 1 or more")


def later_items(scans: Sequence[Scan]) -> dict[str, WorkItem]:
    """Every later item of some scans, once."""
    found: dict[str, WorkItem] = {}
    shared: Sequence[WorkItem] = ()
    for scan in scans:
        if scan.later is not shared:
            shared = scan.later
            found |= {item.id: item for item in shared}
    return found


def proposed(
    scans: Sequence[Scan], ranked: Callable[[WorkItem], Iterable[str]], most: int | None = None
) -> dict[str, Proposal]:
    """A proposal for each scan out of one ranking of all later items.

    Args:
        scans: what is asked.
        ranked: ids of later items for one older item, the most plausible first; those that its scan
            does not offer are passed over.
        most: how many are named for each item; None: all.
    """
    found: dict[str, Proposal] = {}
    shared: Sequence[WorkItem] = ()
    offered: frozenset[str] = frozenset()
    for scan in scans:
        if scan.later is not shared:
            shared, offered = scan.later, frozenset(item.id for item in scan.later)
        named = (name for name in ranked(scan.older) if name in offered)
        found[scan.older.id] = Proposal(tuple(islice(named, most)))
    return found


@dataclass(frozen=True, slots=True)
class AllPairs:
    """Names every later item, the latest first: what the source text does. It misses nothing.

    Calls grow with items times events; see `docs/how-to/judges.md` for what that is in figures.
    """

    @property
    def name(self) -> str:
        """`all-pairs`."""
        return "all-pairs"

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        """See `Proposer`."""
        return {
            scan.older.id: Proposal(tuple(item.id for item in reversed(scan.later)))
            for scan in scans
        }


@dataclass(frozen=True, slots=True)
class SharedEntity:
    """Names later items that are about the same thing by name.

    Two items are, when they support a dependency in common, or when their slots, read as paths with
    ``/``, begin with the same segment, the last one of each left out: ``trip/hotel`` and
    ``trip/train`` share ``trip``. More in common comes first, then the later item, then its id.

    It cannot see what is named otherwise: a flood has no slot in common with a hotel.

    Attributes:
        most: how many later items it names for each.
    """

    most: int = 8

    def __post_init__(self) -> None:
        """Refuse a number that is none."""
        check_most(self.most)

    @property
    def name(self) -> str:
        """What it is, with its setting."""
        return f"shared-entity-1 most={self.most}"

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        """See `Proposer`."""
        by_name: dict[str, dict[str, WorkItem]] = {}
        for item in later_items(scans).values():
            for name in _names(item):
                by_name.setdefault(name, {})[item.id] = item

        def ranked(older: WorkItem) -> Iterable[str]:
            met = {
                item.id: item for name in _names(older) for item in by_name.get(name, {}).values()
            }
            found = ((_common(older, item), item) for item in met.values())
            return [item.id for _, item in sorted(found, key=_most_common)]

        return proposed(scans, ranked, self.most)


def _names(item: WorkItem) -> Iterable[str]:
    """What it is about: the first segment of its slot's path, and what it supports."""
    first, rest, _ = item.slot.partition("/")
    if rest:
        yield f"slot {first}"
    for name in item.supports:
        yield f"dependency {name}"


def _common(one: WorkItem, other: WorkItem) -> int:
    paths = zip(one.slot.split("/")[:-1], other.slot.split("/")[:-1], strict=False)
    leading = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], paths))
    return leading + len(set(one.supports) & set(other.supports))


def _most_common(found: tuple[int, WorkItem]) -> tuple[int, int, int, str]:
    common, item = found
    epoch, at = item.moment
    return -common, -epoch, -at, item.id


@dataclass(frozen=True, slots=True)
class DeclaredPremise:
    """Names later items that speak about what an item takes for granted.

    An item takes a slot for granted where it is stamped with it (`WorkItem.assumes`). A later item
    speaks about that slot when it stands in it, or below it: ``trip/hotel/address`` is below
    ``trip/hotel``. The latest comes first. What an item takes for granted and does not declare, it
    cannot see.
    """

    @property
    def name(self) -> str:
        """`declared-premise-1`."""
        return "declared-premise-1"

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        """See `Proposer`."""
        speaking: dict[str, list[WorkItem]] = {}
        for item in later_items(scans).values():
            for slot in _and_above(item.slot):
                speaking.setdefault(slot, []).append(item)

        def ranked(older: WorkItem) -> Iterable[str]:
            found = {i.id: i for slot, _ in older.assumes for i in speaking.get(slot, ())}
            return [item.id for item in sorted(found.values(), key=_latest)]

        return proposed(scans, ranked)


def _and_above(slot: str) -> Iterable[str]:
    segments = slot.split("/")
    for length in range(1, len(segments) + 1):
        yield "/".join(segments[:length])


def _latest(item: WorkItem) -> tuple[int, int, str]:
    return -item.moment[0], -item.moment[1], item.id


@dataclass(frozen=True, slots=True)
class Union:
    """Several proposers as one: what any of them names, by its best place among them.

    Attributes:
        proposers: whose proposals are united; at least one.
    """

    proposers: tuple[Proposer, ...]

    def __post_init__(self) -> None:
        """Refuse a union of nothing, which would look and see nothing."""
        if not self.proposers:
            raise InvalidValue("proposers", (), "pass at least one")

    @property
    def name(self) -> str:
        """The names of all."""
        return " + ".join(proposer.name for proposer in self.proposers)

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        """See `Proposer`; an item that one of them failed on has that failure."""
        said = [proposer.scan(scans) for proposer in self.proposers]
        return {scan.older.id: _united([one[scan.older.id] for one in said]) for scan in scans}


def _united(proposals: Sequence[Proposal]) -> Proposal:
    cost: Cost = sum((one.cost for one in proposals), FREE)
    for one in proposals:
        if one.failure is not None:
            return Proposal(failure=one.failure, cost=cost)
    places: dict[str, int] = {}
    for one in proposals:
        for place, name in enumerate(one.named):
            places[name] = min(place, places.get(name, place))
    return Proposal(tuple(sorted(places, key=lambda name: (places[name], name))), cost=cost)
