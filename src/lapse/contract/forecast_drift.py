"""What was seen of tables and rows over time: the evidence that a forecast rests on.

::

    drift = Drift()
    drift.look(Look(table, monday, watched=("growth", "team")))
    drift.look(Look(table, friday, moved=True, rows=("growth",)))   # since Monday, at least once

A look tells that something moved after the look before it, and not when, nor how often. Where the
source of the looks knows the instant, as a log of commits does, `since` says so. Nothing is thrown
away and nothing is discounted here; what the past is worth is decided by whoever reads it.

Here a row that is first named as moved counts from then on only: it was named because it moved, and
counting that move would make every row look livelier than it is.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Final

from lapse.errors import InvalidValue
from lapse.ledger import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lapse.ledger import Instant

__all__ = ["DAY", "UNWATCHED", "Drift", "Look", "Move"]

DAY: Final = 86_400_000_000
"""Microseconds in a day; rates are per day."""

UNWATCHED: Final = -(2**63)
"""Marks a source that nobody is watching; no instant is that early."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a table, or at a rule set.

    Attributes:
        table: what was looked at.
        at: when, in microseconds since 1970.
        moved: whether it differed from what the look before had seen.
        rows: the keys that moved since the last look that knew, of those watched; None when that is
            not known, or not yet: then the rows stay unexplained until a look that knows.
        since: the last instant at which it is known to have stood as before; None: the look before
            this one. The same as `at` when the instant of the move is known.
        watched: keys that are watched from now on.
        gone: keys that nobody watches any more; what they did since the last look that knew is not
            known, unless they are among `rows`.
    """

    table: Source
    at: Instant
    _: KW_ONLY
    moved: bool = False
    rows: tuple[str, ...] | None = ()
    since: Instant | None = None
    watched: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a look that could not have happened."""
        if self.table.kind not in ("table", "rules"):
            raise InvalidValue("table", str(self.table), "pass a table or a rule set")
        if self.since is not None and self.since > self.at:
            raise InvalidValue("since", self.since, f"pass an instant up to at ({self.at})")


@dataclass(frozen=True, slots=True)
class Move:
    """A source moved at least once: after `since`, and not after `at`."""

    since: Instant
    at: Instant


class Drift:
    """The looks at any number of tables, kept as columns. Not safe for several threads.

    Attributes:
        sources: every table, rule set and row that was ever watched, by its number.
        parents: for each, the number of a row's table, or -1.
        issuers: for each, the number of its issuer, in the order of their appearance.
        starts: for each, since when it is known to stand as it does; `UNWATCHED` if not at all.
        explained: for a table, until when it is known which of its rows moved; for a row, unused.
        seen: for a table, its last look; for a row, unused.
        spans: the ended quiet times: number of the source, from, to.
        moves: number of the source, since, at, and number of the look.
    """

    __slots__ = (
        "_index",
        "_issuers",
        "explained",
        "issuers",
        "looks",
        "moves",
        "parents",
        "seen",
        "sources",
        "spans",
        "starts",
    )

    def __init__(self) -> None:
        self._index: dict[Source, int] = {}
        self.sources: list[Source] = []
        self._issuers: dict[str, int] = {}
        self.parents = array("q")
        self.issuers = array("q")
        self.starts = array("q")
        self.explained = array("q")
        self.seen = array("q")
        self.spans = (array("q"), array("q"), array("q"))
        self.moves = (array("q"), array("q"), array("q"), array("q"))
        self.looks = 0

    def look(self, look: Look) -> None:
        """Take in a look.

        Raises:
            InvalidValue: it is older than the last look at its table.
        """
        table = self._number(look.table, -1)
        if self.seen[table] > look.at:
            raise InvalidValue(
                "at", look.at, f"give the looks at {look.table} in time order ({self.seen[table]})"
            )
        self.looks += 1
        before = self.explained[table]
        if look.moved:
            self._move(table, self.seen[table] if look.since is None else look.since, look.at)
        elif not self.watches(table):
            self.starts[table] = look.at
        self.seen[table] = look.at
        if look.rows is not None:
            since = before if look.since is None else max(before, look.since)
            for key in look.rows:
                self._move(self._row(look.table, table, key), since, look.at)
            self.explained[table] = look.at
        for key in look.gone:
            self._end(self._row(look.table, table, key), before)
        for key in look.watched:
            row = self._row(look.table, table, key)
            if not self.watches(row):
                self.starts[row] = look.at

    def known_until(self, at: Instant) -> None:
        """Every move up to here is known: what was not seen to move stood still.

        For complete histories, such as a log of commits.

        Raises:
            InvalidValue: some table was looked at later than that.
        """
        for number, parent in enumerate(self.parents):
            if parent < 0:
                if self.seen[number] > at:
                    remedy = f"pass an instant from {self.seen[number]} on"
                    raise InvalidValue("at", at, remedy)
                self.seen[number] = self.explained[number] = at

    def watches(self, number: int) -> bool:
        """Whether a source is being watched."""
        return self.starts[number] != UNWATCHED

    def number(self, source: Source) -> int | None:
        """The number of a source; None when it was never watched."""
        return self._index.get(source)

    def quiet_until(self, number: int) -> Instant:
        """Until when a source is known to stand as it does; for one that is watched."""
        parent = self.parents[number]
        known = self.seen[number] if parent < 0 else self.explained[parent]
        return max(self.starts[number], known)

    def moves_of(self, number: int) -> Sequence[Move]:
        """The moves of a source, oldest first."""
        of, since, at, _ = self.moves
        return [Move(since[place], at[place]) for place, whose in enumerate(of) if whose == number]

    def counted(self) -> Mapping[int, int]:
        """How many moves were seen of each source that had any."""
        return Counter(self.moves[0])

    def grouped(self, *, least: int = 1) -> dict[int, list[Move]]:
        """The moves of every source that has so many, oldest first."""
        found: dict[int, list[Move]] = {
            n: [] for n, seen in self.counted().items() if seen >= least
        }
        of, since, at, _ = self.moves
        for whose, after, until in zip(of, since, at, strict=True):
            if whose in found:
                found[whose].append(Move(after, until))
        return found

    def tables(self) -> Iterator[int]:
        """The numbers of the tables and rule sets."""
        return (number for number, parent in enumerate(self.parents) if parent < 0)

    def rows(self) -> list[int]:
        """The numbers of the rows being watched."""
        kept = enumerate(zip(self.parents, self.starts, strict=True))
        return [n for n, (parent, start) in kept if parent >= 0 and start != UNWATCHED]

    def latest(self) -> Instant:
        """The last look of all; 0 when there was none."""
        return max((self.seen[number] for number in self.tables()), default=0)

    def _row(self, table: Source, parent: int, key: str) -> int:
        return self._number(Source.row(table.issuer, table.name, key), parent)

    def _number(self, source: Source, parent: int) -> int:
        number = self._index.setdefault(source, len(self.sources))
        if number == len(self.sources):
            self.sources.append(source)
            self.parents.append(parent)
            self.issuers.append(self._issuers.setdefault(source.issuer, len(self._issuers)))
            for column in (self.starts, self.explained, self.seen):
                column.append(UNWATCHED)
        return number

    def _move(self, number: int, since: Instant, at: Instant) -> None:
        start = self.starts[number]
        self.starts[number] = at
        if start == UNWATCHED:
            return
        since = max(since, start)
        self._span(number, start, since)
        for column, value in zip(self.moves, (number, since, at, self.looks), strict=True):
            column.append(value)

    def _end(self, number: int, known: Instant) -> None:
        if self.watches(number):
            # After a move at this very look the start is later than `known`, and nothing is added.
            self._span(number, self.starts[number], known)
            self.starts[number] = UNWATCHED

    def _span(self, number: int, start: Instant, end: Instant) -> None:
        if end > start:
            for column, value in zip(self.spans, (number, start, end), strict=True):
                column.append(value)
