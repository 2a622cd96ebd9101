"""Proposers that look at what items declare: names, premises, or nothing at all.

Each of them is a rule: it costs no model's time, and two runs agree. What a proposer leaves out is
never asked about, so each says what it cannot see. Several are combined in `Judging`, or by `Union`
where one proposer is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Literal, get_args

from lapse.errors import InvalidValue
from lapse.runtime import FREE, Cost, Proposal, Proposer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse.admission import Scan, WorkItem

__all__ = [
    "AllPairs",
    "DeclaredPremise",
    "Per",
    "Ranked",
    "SharedEntity",
    "Union",
    "check_most",
    "named",
]


Per = Literal["item", "event"]
"""For each of what so many pairs are named: the earlier item, or the later event."""

Ranked = Callable[["WorkItem"], Iterable[str]]
"""From an item to the ids of others, the most plausible first."""


def check_most(most: int, per: str) -> None:
    """Refuse settings that name nothing.

    Raises:
        InvalidValue: a number below 1, or another word than item or event.
    """
    if most < 1:
        raise InvalidValue("most", most, "pass how many are named for each, 1 or more")
    if per not in get_args(Per):
        raise InvalidValue("per", per, "pass item or event")


def named(
    scans: Sequence[Scan],
    rank: Callable[[Mapping[str, WorkItem]], Ranked],
    most: int | None,
    per: Per,
) -> dict[str, Proposal]:
    """Proposals out of one ranking.

    Args:
        scans: what is asked.
        rank: from candidates by id to their ranking for one item; what a scan does not offer is
            passed over.
        most: how many are named for each; None: all that are ranked.
        per: for each item or for each event.
    """
    later = _later(scans)
    if per == "item":
        ranked = rank(later)
        return {
            scan.older.id: Proposal(
                tuple(islice((name for name in ranked(scan.older) if name in offered), most))
            )
            for scan, offered in _offers(scans)
        }
    ranked = rank({scan.older.id: scan.older for scan in scans})
    offers = {scan.older.id: offered for scan, offered in _offers(scans)}
    places: dict[str, list[tuple[int, str]]] = {older: [] for older in offers}
    for event in later.values():
        broken = (older for older in ranked(event) if event.id in offers[older])
        for place, older in enumerate(islice(broken, most)):
            places[older].append((place, event.id))
    return {
        older: Proposal(tuple(name for _, name in sorted(found))) for older, found in places.items()
    }


def _offers(scans: Sequence[Scan]) -> Iterator[tuple[Scan, frozenset[str]]]:
    """Each scan with the ids that it offers; most scans share them."""
    shared: Sequence[WorkItem] = ()
    offered: frozenset[str] = frozenset()
    for scan in scans:
        if scan.later is not shared:
            shared, offered = scan.later, frozenset(item.id for item in scan.later)
        yield scan, offered


def _later(scans: Sequence[Scan]) -> dict[str, WorkItem]:
    """Every later item of some scans, once."""
    found: dict[str, WorkItem] = {}
    shared: Sequence[WorkItem] = ()
    for scan in scans:
        if scan.later is not shared:
            shared = scan.later
            found |= {item.id: item for item in shared}
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
        most: how many it names for each.
        per: for each item, or for each event.
    """

    most: int = 8
    per: Per = "item"

    def __post_init__(self) -> None:
        """Refuse settings that name nothing."""
        check_most(self.most, self.per)

    @property
    def name(self) -> str:
        """What it is, with its settings."""
        return f"shared-entity-1 most={self.most} per={self.per}"

    def scan(self, scans: Sequence[Scan]) -> Mapping[str, Proposal]:
        """See `Proposer`."""
        return named(scans, _by_names, self.most, self.per)


def _by_names(candidates: Mapping[str, WorkItem]) -> Ranked:
    by_name: dict[str, dict[str, WorkItem]] = {}
    for item in candidates.values():
        for name in _names(item):
            by_name.setdefault(name, {})[item.id] = item

    def ranked(about: WorkItem) -> Iterable[str]:
        met = {i.id: i for name in _names(about) for i in by_name.get(name, {}).values()}
        found = ((_common(about, item), item) for item in met.values())
        return [item.id for _, item in sorted(found, key=_most_common)]

    return ranked


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
        return named(scans, _by_premises, None, "item")


def _by_premises(candidates: Mapping[str, WorkItem]) -> Ranked:
    speaking: dict[str, list[WorkItem]] = {}
    for item in candidates.values():
        for slot in _and_above(item.slot):
            speaking.setdefault(slot, []).append(item)

    def ranked(older: WorkItem) -> Iterable[str]:
        found = {i.id: i for slot, _ in older.assumes for i in speaking.get(slot, ())}
        return [item.id for item in sorted(found.values(), key=_latest)]

    return ranked


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
