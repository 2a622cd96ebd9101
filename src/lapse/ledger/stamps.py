"""A source at a version, and what comparing says.

Versions are opaque strings: two are equal or they are not, and no order is read into them.
Comparing gives `Comparison.SAME`, `MOVED` or `UNKNOWN`, never a guess; a vector with nothing in it
is UNKNOWN, because nothing vouches for the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING, Any

from lapse.errors import InvalidValue
from lapse.ledger.sources import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Comparison", "Stamp", "compare", "vector"]


class Comparison(StrEnum):
    """What is known about a stamp against the current versions."""

    SAME = "same"
    MOVED = "moved"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Stamp:
    """A source at a version.

    Attributes:
        source: what was looked at.
        version: the version seen; None when the thing did not exist, which is an observation too:
            a fix that rests on the absence of a row lapses when the row appears.
        within: for a row, the version of its table in which this row version was seen; None for
            every other kind, and for a row whose table version is not known.
    """

    source: Source
    version: str | None
    within: str | None = None

    def compare(self, current: Mapping[Source, str | None]) -> Comparison:
        """Compare with the versions known now.

        A row is SAME when its table has not moved since, or when the row's own version is known and
        equal; a table that moved says nothing about the row by itself.
        """
        source = self.source
        if self.within is not None:
            table = source.container
            if table in current and current[table] == self.within:
                return Comparison.SAME
        if source not in current:
            return Comparison.UNKNOWN
        return Comparison.SAME if current[source] == self.version else Comparison.MOVED

    def as_json(self) -> list[object]:
        """The form that is stored and digested: ``[source parts, version, within]``."""
        return [list(self.source), self.version, self.within]

    @classmethod
    def from_json(cls, value: Any) -> Stamp:
        """Read what `as_json` wrote.

        Raises:
            InvalidValue: the value has another shape.
        """
        match value:
            case [source, (str() | None) as version, (str() | None) as within]:
                found = Source.from_parts(source)
                if found.kind != "row":
                    return _shared(found, version, within)
                return cls(found, _interned(version), _interned(within))
            case _:
                raise InvalidValue("stamp", value, "pass [source, version, within]")


def vector(stamps: Iterable[Stamp]) -> tuple[Stamp, ...]:
    """A dependency vector: each source once, in a fixed order, so that equal sets are equal values.

    Raises:
        InvalidValue: two stamps name one source at different versions.
    """
    seen: dict[Source, Stamp] = {}
    for stamp in stamps:
        known = seen.setdefault(stamp.source, stamp)
        if known.version != stamp.version:
            raise InvalidValue(
                "stamps",
                str(stamp.source),
                "give one version per source; keep the one that was read",
            )
    return tuple(seen[source] for source in sorted(seen))


def compare(stamps: Sequence[Stamp], current: Mapping[Source, str | None]) -> Comparison:
    """Compare a whole vector: one MOVED makes it MOVED, else one UNKNOWN makes it UNKNOWN."""
    outcome = Comparison.SAME if stamps else Comparison.UNKNOWN
    for stamp in stamps:
        found = stamp.compare(current)
        if found is Comparison.MOVED:
            return found
        if found is Comparison.UNKNOWN:
            outcome = found
    return outcome


@lru_cache(maxsize=4096)
def _shared(source: Source, version: str | None, within: str | None) -> Stamp:
    """One object for the version of a table or rule set that a million records saw."""
    return Stamp(source, version, within)


def _interned(version: str | None) -> str | None:
    return None if version is None else intern(version)
