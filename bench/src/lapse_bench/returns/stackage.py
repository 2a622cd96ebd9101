"""Returns to a history that nobody made up: the packages of Stackage, blocked and let in again.

Stackage keeps a list of packages with a status each: built, or blocked, with bounds or without, or
not listed. It flips, and much of what flips comes back (`lapse_bench.returns.data`). An agent works
on some packages, leaves at a moment of that history and comes back days to a year later.

What it holds when it leaves: the status of each package of its workload, and notes that it
concluded from them. A note says which statuses it takes for granted, and holds as long as each of
those packages has that status: when one is blocked the note is stale, and when that is undone it
holds again. The statuses are the history's; which of them a note rests on is drawn, as the history
does not say who concluded what.

So methods are told everything: no model has to find anything out. What differs is what they make of
a status that ends, of what rested on it, and of a status that comes back.
"""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lapse.errors import InvalidValue
from lapse_bench.returns.episodes import Answers, Claim, ReturnEpisode
from lapse_bench.returns.shipped import shipped
from lapse_bench.traces import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from lapse.ledger import JsonObject
    from lapse_bench.returns.episodes import Fact
    from lapse_bench.traces import History

__all__ = [
    "ABSENCES",
    "PER_NOTE",
    "StackageEpisode",
    "Statuses",
    "episodes_of",
    "read_statuses",
]

ABSENCES: Final = (1, 7, 30, 90, 180, 365)
"""Days."""

PER_NOTE: Final = 3
"""A note rests on one to so many statuses."""

_DAY: Final = 86_400
"""Seconds."""

_TABLE: Final = "packages"
_SETTLED_AFTER: Final = 365 * _DAY
"""No agent leaves in the first year: the list was being filled."""


@dataclass(frozen=True, slots=True)
class Statuses:
    """What each package's status was, when.

    Attributes:
        name: of the history.
        since: the first event, in seconds since 1970.
        until: the last one.
        at: for each package the moments at which its status changed, in order.
        values: for each package its status from each of those moments on; empty: not listed.
    """

    name: str
    since: int
    until: int
    at: Mapping[str, Sequence[int]]
    values: Mapping[str, Sequence[str]]

    def status(self, package: str, moment: int) -> str:
        """The status at a moment; empty: not listed."""
        place = bisect_right(self.at[package], moment)
        return self.values[package][place - 1] if place else ""

    def changes(self, package: str, after: int, until: int) -> Iterator[tuple[int, str]]:
        """Each change after one moment and up to another."""
        for place in range(bisect_right(self.at[package], after), len(self.at[package])):
            moment = self.at[package][place]
            if moment > until:
                return
            yield moment, self.values[package][place]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackageEpisode:
    """One return.

    Attributes:
        days: how long the agent was away.
        departure: which of the departures; the same ones for every absence.
        episode: for methods.
        answers: for the score.
        restored: notes that hold although a status under them had moved meanwhile.
    """

    days: int
    departure: int
    episode: ReturnEpisode
    answers: Answers
    restored: frozenset[Fact]


def read_statuses(path: Path | None = None) -> Statuses:
    """Read the history that ships, or a trace of the same form with a table `packages`.

    Raises:
        InvalidValue: the file cannot be read, does not replay, or has no such table.
    """
    return statuses_of(read(shipped("stackage") if path is None else path))


def statuses_of(history: History) -> Statuses:
    """The statuses of a history's packages.

    Raises:
        InvalidValue: it has no table `packages`.
    """
    at: dict[str, list[int]] = {}
    values: dict[str, list[str]] = {}
    for event in history.events:
        if event.table != _TABLE:
            continue
        moment, value = event.at // 1_000_000, _status(event.after)
        times = at.setdefault(event.key, [])
        if times and times[-1] == moment:  # of one second, the last word
            values[event.key][-1] = value
            continue
        times.append(moment)
        values.setdefault(event.key, []).append(value)
    if not at:
        raise InvalidValue("data", history.name, f"give a trace with a table {_TABLE}")
    return Statuses(
        history.name, history.since // 1_000_000, history.until // 1_000_000, at, values
    )


def _status(row: JsonObject | None) -> str:
    if row is None:
        return ""
    bounds: Any = row.get("bounds")
    said = "built" if row.get("enabled") else "blocked"
    return said if bounds is None else f"{said}, bounds {json.dumps(bounds)}"


def episodes_of(
    statuses: Statuses,
    *,
    absences: Sequence[int] = ABSENCES,
    departures: int = 20,
    packages: int = 20,
    notes: int = 10,
    seed: int = 0,
) -> Iterator[StackageEpisode]:
    """Episodes at departures drawn from the history, the same ones for each absence.

    Half of the packages of a workload are drawn from those whose status changes in the absence, as
    far as there are so many, the others from the rest: a workload in which nothing moves asks
    nothing of anybody. An absence in which nothing at all moved makes no episode.

    Args:
        statuses: the history.
        absences: in days.
        departures: how many moments to leave at.
        packages: how many packages a workload has.
        notes: how many notes the agent takes with it.
        seed: decides every draw.

    Raises:
        InvalidValue: a number is below 1, or the history is too short for the longest absence.
    """
    for field, value in (
        ("absences", min(absences, default=0)),
        ("departures", departures),
        ("packages", packages),
    ):
        if value < 1:
            raise InvalidValue(field, value, "give at least 1")
    if notes < 0:
        raise InvalidValue("notes", notes, "give at least 0")
    first, last = statuses.since + _SETTLED_AFTER, statuses.until - max(absences) * _DAY
    if last <= first:
        remedy = "give shorter ones: the history is not long enough"
        raise InvalidValue("absences", max(absences), remedy)
    for departure in range(departures):
        left = random.Random(f"{seed}/{departure}").randrange(first, last)
        for days in absences:
            draw = random.Random(f"{seed}/{departure}/{days}")
            workload = _workload(statuses, left, left + days * _DAY, packages, draw)
            if workload:
                yield _episode(statuses, left, days, departure, workload, notes, draw)


def _workload(
    statuses: Statuses, left: int, back: int, how_many: int, draw: random.Random
) -> list[str]:
    listed = [name for name in sorted(statuses.at) if statuses.status(name, left)]
    moving = [name for name in listed if any(True for _ in statuses.changes(name, left, back))]
    if not moving:
        return []
    chosen = draw.sample(moving, min(len(moving), (how_many + 1) // 2))
    still = sorted(set(listed) - set(moving))
    return sorted([*chosen, *draw.sample(still, min(len(still), how_many - len(chosen)))])


def _episode(
    statuses: Statuses,
    left: int,
    days: int,
    departure: int,
    workload: list[str],
    notes: int,
    draw: random.Random,
) -> StackageEpisode:
    back = left + days * _DAY
    held = {name: _states(name, left, statuses.status(name, left)) for name in workload}
    concluded = [_note(number, held, left, draw) for number in range(notes)]
    log: list[Claim] = []
    ended: set[Fact] = set()
    moved: set[str] = set()
    for name in workload:
        standing = held[name]
        for moment, value in statuses.changes(name, left, back):
            if value == standing.value:
                continue
            moved.add(held[name].slot_name)
            ended.add(standing.fact)
            standing = _states(name, moment, value)
            log.append(standing)
    log.sort(key=lambda claim: (claim.at, claim.id))
    now = {(name, "status", value) for name in workload if (value := statuses.status(name, back))}
    worth = {held[name].slot_name: statuses.status(name, back) for name in workload}
    holding = {
        note.fact for note in concluded if all(worth[slot] == was for slot, was in note.assumes)
    }
    came_back = {
        note.fact
        for note in concluded
        if note.fact in holding and any(slot in moved for slot, _ in note.assumes)
    }
    bank = (*held.values(), *concluded)
    stale = ({fact for fact in ended if fact[2]} | {note.fact for note in concluded}) - now
    return StackageEpisode(
        days=days,
        departure=departure,
        episode=ReturnEpisode(
            id=f"{statuses.name}-{departure}-{days}",
            workload=f"Go on with {', '.join(workload)}."[:4000],
            departed=left,
            returned=back,
            bank=bank,
            log=tuple(log),
            store=frozenset(claim.id for claim in (*bank, *log) if claim.does == "state"),
        ),
        answers=Answers(valid=frozenset(now | holding), stale=frozenset(stale - holding)),
        restored=frozenset(came_back),
    )


def _states(package: str, moment: int, value: str) -> Claim:
    return Claim(
        id=f"{package}@{moment}",
        at=moment,
        entity=package,
        attribute="status",
        value=value,
        does="state" if value else "withdraw",
        text=f"{package}: {value or 'not listed any more'}",
        source="curators",
    )


def _note(number: int, held: Mapping[str, Claim], left: int, draw: random.Random) -> Claim:
    names = sorted(draw.sample(sorted(held), draw.randint(1, min(PER_NOTE, len(held)))))
    premises = [held[name] for name in names]
    said = "; ".join(claim.text for claim in premises)
    return Claim(
        id=f"note-{number}",
        at=left,
        entity=f"note {number}",
        attribute="concluded",
        value=f"go on as long as {said}",
        text=f"note {number}: go on as long as {said}",
        derived_from=tuple(claim.id for claim in premises),
        assumes=tuple((claim.slot_name, claim.value) for claim in premises),
        source="returning agent",
    )
