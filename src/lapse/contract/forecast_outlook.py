"""Foresight: what is likely to move next, by the ledger's own history.

::

    outlook = forecast(memory.store.changes(), memory.now)
    outlook.of(Source.row(issuer, "codes", "growth"), 7 * DAY).probability
    outlook.confidence(fix.record)                       # that it still holds, unasked
    outlook.prefetch(memory.records(), horizon=DAY, prices=Prices(ask=1, stale_use=20))

A forecast is an opinion about the future, and this is all that may come of it: a confidence that
falls with time, and a list of tables worth asking about before the next use. It never evicts, never
suspends, and makes nothing usable; no verdict is built from it. Only what the service says does
that. Confidence never rises by waiting, and never above what was last seen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from lapse.contract.forecast_ledger import drift_of
from lapse.contract.forecast_period import FEWEST_CYCLES, rhythm
from lapse.contract.forecast_rates import Rates
from lapse.contract.forecast_together import CoDrift, co_drift
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from lapse.contract.forecast_drift import Drift
    from lapse.contract.forecast_period import Rhythm
    from lapse.contract.forecast_rates import Assumptions
    from lapse.ledger import Change, Instant, Record, Source

__all__ = ["Forecast", "Foresight", "Model", "Outlook", "Prefetch", "Prices", "forecast"]

_OUTSIDE: Final = 0.05
"""How much of the belief lies below the interval of a forecast, and above it: 90 % lie inside."""
_FALSE_RHYTHMS: Final = 0.01
"""The chance that a whole ledger without any rhythm is said to have one."""


class Model(StrEnum):
    """What a probability was computed with."""

    MEMORYLESS = "memoryless"
    """Pooled rates; the time since the last move says nothing."""
    RHYTHM = "rhythm"
    """Waits that are alike as those of a schedule are, for as long as it may last."""
    UNKNOWN = "unknown"
    """It was never watched. Unknown is not valid: the probability is 1, and says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """How likely a source is to move.

    Attributes:
        source: a table, a rule set or a row.
        now: the instant of the forecast.
        horizon: how far it looks, in microseconds.
        probability: that it moves at least once after now, within the horizon.
        low: the lower end of the 90 % credible interval of the probability. A rhythm has none: it
            is the probability or the memoryless interval's end, whichever is lower.
        high: its upper end, likewise.
        confidence: that what was last seen of it still stands now; only a look raises it.
        events: how many moves of its own it rests on.
        around: how many moves it rests on by pooling: of its table's rows, or its issuer's tables.
        quiet_until: the last instant at which it is known to have stood; None: never watched.
        model: what the probability was computed with.
    """

    source: Source
    now: Instant
    horizon: Instant
    probability: float
    low: float
    high: float
    confidence: float
    events: int
    around: int
    quiet_until: Instant | None
    model: Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What things cost, in any one unit: requests, seconds, tokens or money.

    Attributes:
        ask: asking a service what changed in one table.
        stale_use: acting once on what no longer holds.
    """

    ask: float = 1.0
    stale_use: float = 10.0

    def __post_init__(self) -> None:
        """Refuse what is below zero."""
        for name, value in (("ask", self.ask), ("stale_use", self.stale_use)):
            if not value >= 0:
                raise InvalidValue(name, value, "pass 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefetch:
    """A table worth asking about before the next use.

    Attributes:
        table: which.
        probability: that something under it that is needed has moved by then.
        saving: what asking saves in expectation, less its price.
        rows: what is needed of it; empty when what is needed rests on the table as a whole.
    """

    table: Source
    probability: float
    saving: float
    rows: tuple[str, ...]


class Foresight(Protocol):
    """Anything that can tell how likely a source is to move; `Outlook` is one.

    Failure: none; what is not known has the model UNKNOWN. Threading: any thread may ask.
    """

    def of(self, source: Source, horizon: Instant) -> Forecast:
        """How likely it is to move within so many microseconds."""
        ...


class Outlook:
    """Forecasts at one instant.

    Args:
        drift: what was seen up to then; not to be changed afterwards.
        now: the instant.
        assumptions: what the rates take for granted.

    Raises:
        InvalidValue: something was seen later than now.
    """

    __slots__ = ("_around", "_drift", "_rates", "_rhythms", "now")

    def __init__(self, drift: Drift, now: Instant, assumptions: Assumptions | None = None) -> None:
        if drift.sources and drift.latest() > now:
            remedy = f"pass an instant from the last look on ({drift.latest()})"
            raise InvalidValue("now", now, remedy)
        self.now = now
        self._drift = drift
        self._rates = Rates(drift, assumptions)
        self._rhythms = dict(_rhythms(drift))
        self._around: Counter[int | str] = Counter()
        for number, seen in drift.counted().items():
            self._around[self._group(number)] += seen

    @property
    def rates(self) -> Rates:
        """The memoryless rates behind the forecasts."""
        return self._rates

    @property
    def rhythms(self) -> Mapping[Source, Rhythm]:
        """The sources that move in a rhythm; on real tables there are next to none."""
        return {self._drift.sources[number]: found for number, found in self._rhythms.items()}

    def of(self, source: Source, horizon: Instant) -> Forecast:
        """How likely a table, a rule set or a row is to move within so many microseconds.

        Raises:
            InvalidValue: the horizon is below zero.
        """
        if horizon < 0:
            raise InvalidValue("horizon", horizon, "pass microseconds, 0 or more")
        number = self._drift.number(source)
        if number is None:
            return Forecast(
                source=source,
                now=self.now,
                horizon=horizon,
                probability=1.0,
                low=0.0,
                high=1.0,
                confidence=0.0,
                events=0,
                around=0,
                quiet_until=None,
                model=Model.UNKNOWN,
            )
        low, high = self._rates.between(number, horizon, outside=_OUTSIDE)
        probability = self._moving(number, horizon)
        watched = self._drift.watches(number)
        return Forecast(
            source=source,
            now=self.now,
            horizon=horizon,
            probability=probability,
            low=min(low, probability),
            high=max(high, probability),
            confidence=1 - self._moved_since(number),
            events=self._rates.moves(number),
            around=self._around[self._group(number)],
            quiet_until=self._drift.quiet_until(number) if watched else None,
            model=Model.RHYTHM if number in self._rhythms else Model.MEMORYLESS,
        )

    def tables(self, horizon: Instant) -> tuple[Forecast, ...]:
        """The forecasts of all tables and rule sets, the likeliest to move first."""
        return self._sorted(self._drift.tables(), horizon)

    def rows(self, horizon: Instant, *, table: Source | None = None) -> tuple[Forecast, ...]:
        """The forecasts of the rows being watched, the likeliest to move first."""
        wanted = None if table is None else self._drift.number(table)
        found = (
            number
            for number in self._drift.rows()
            if table is None or self._drift.parents[number] == wanted
        )
        return self._sorted(found, horizon)

    def confidence(self, record: Record) -> float:
        """How sure it is that a record still holds, if nobody is asked: between 0 and 1.

        The sources under it are taken as independent. Those that drift together lapse together, so
        the truth is at or above this, up to the least of the single confidences.
        """
        held = 1.0
        for source in _needed(record):
            held *= self.of(source, 0).confidence
        return held

    def together(self, *, table: Source | None = None) -> tuple[CoDrift, ...]:
        """Tables that move together, over all issuers; or with a table, rows of it that do."""
        if table is None:
            by_issuer: dict[str, list[int]] = {}
            for number in self._drift.tables():
                by_issuer.setdefault(self._drift.sources[number].issuer, []).append(number)
            return tuple(
                pair for numbers in by_issuer.values() for pair in co_drift(self._drift, numbers)
            )
        parent = self._drift.number(table)
        rows = (n for n, of in enumerate(self._drift.parents) if of == parent)
        return () if parent is None else co_drift(self._drift, rows)

    def prefetch(
        self,
        records: Iterable[Record],
        *,
        horizon: Instant,
        prices: Prices,
        moved: Collection[Source] = (),
    ) -> tuple[Prefetch, ...]:
        """The tables worth asking about before the next use, the greatest saving first.

        Asking settles all of a table at once, and so does the first answer after a stale use, which
        reports every version: at most one stale use is saved per table. Whether any needed row has
        moved is likelier than for each alone, and no likelier than that the table has.

        Args:
            records: what is going to be used.
            horizon: how long from now, in microseconds.
            prices: what asking and acting on what no longer holds cost.
            moved: tables just seen to move: those that drift along with them are likelier, too.
        """
        needed: dict[Source, set[Source]] = {}
        for record in records:
            for source in _needed(record):
                needed.setdefault(source.container, set()).add(source)
        along = self._along(moved) if moved else {}
        found = [
            self._worth(table, sources, horizon, prices, along.get(table, 0.0))
            for table, sources in needed.items()
        ]
        worth = (item for item in found if item.saving > 0)
        return tuple(sorted(worth, key=lambda item: (-item.saving, item.table)))

    def _worth(
        self,
        table: Source,
        sources: Collection[Source],
        horizon: Instant,
        prices: Prices,
        along: float,
    ) -> Prefetch:
        stands = 1.0
        for source in sources:
            stands *= 1 - self._by(source, horizon)
        of_table = self._by(table, horizon)
        likely = min(1 - stands, of_table)
        if along > of_table:
            likely *= along / of_table  # the table is likelier to have moved, its rows as it moves
        return Prefetch(
            table=table,
            probability=likely,
            saving=likely * prices.stale_use - prices.ask,
            rows=tuple(sorted(source.key for source in sources if source.kind == "row")),
        )

    def _by(self, source: Source, horizon: Instant) -> float:
        """The chance that a source is, at the horizon, no longer as it was last seen."""
        ahead = self.of(source, horizon)
        return 1 - ahead.confidence * (1 - ahead.probability)

    def _along(self, moved: Collection[Source]) -> dict[Source, float]:
        found: dict[Source, float] = {}
        for pair in self.together():
            for one, other, share in (
                (pair.first, pair.second, pair.given_first),
                (pair.second, pair.first, pair.given_second),
            ):
                if one in moved:
                    found[other] = max(share, found.get(other, 0.0))
        return found

    def _moving(self, number: int, span: Instant) -> float:
        """The chance that it moves after now."""
        plain = self._rates.chance(number, span)
        known = self._rhythms.get(number)
        if known is None:
            return plain
        in_time = known.chance(self.now, span, quiet_until=self._drift.quiet_until(number))
        return known.lasting * in_time + (1 - known.lasting) * plain

    def _moved_since(self, number: int) -> float:
        """The chance that it moved after it was last known to stand, and up to now."""
        if not self._drift.watches(number):
            return 1.0  # nobody knows since when
        quiet = self._drift.quiet_until(number)
        plain = self._rates.chance(number, self.now - quiet)
        known = self._rhythms.get(number)
        if known is None:
            return plain
        in_time = known.chance(quiet, self.now - quiet, quiet_until=quiet)
        return known.lasting * in_time + (1 - known.lasting) * plain

    def _group(self, number: int) -> int | str:
        """With what a source is pooled: the rows of its table, or the tables of its issuer."""
        parent = self._drift.parents[number]
        return parent if parent >= 0 else self._drift.sources[number].issuer

    def _sorted(self, numbers: Iterable[int], horizon: Instant) -> tuple[Forecast, ...]:
        found = (self.of(self._drift.sources[number], horizon) for number in numbers)
        return tuple(sorted(found, key=lambda ahead: (-ahead.probability, ahead.source)))


def forecast(
    changes: Iterable[Change], now: Instant, *, assumptions: Assumptions | None = None
) -> Outlook:
    """What a ledger's own history says about what moves next.

    Args:
        changes: all of a ledger's changes, in order; ``memory.store.changes()`` gives them.
        now: the instant of the forecast, in microseconds since 1970; ``memory.now`` gives it.
        assumptions: what the rates take for granted.

    Raises:
        InvalidValue: a change is later than now.
    """
    return Outlook(drift_of(changes), now, assumptions)


def _needed(record: Record) -> tuple[Source, ...]:
    """What has to stand for a record to hold: its rows, and the tables it names without a row."""
    return tuple(stamp.source for stamp in record.stamps if stamp.source.kind in ("row", "table"))


def _rhythms(drift: Drift) -> Iterable[tuple[int, Rhythm]]:
    asked = drift.grouped(least=FEWEST_CYCLES + 1)
    for number, seen in asked.items():
        if drift.watches(number):
            found = rhythm(seen, drift.quiet_until(number), level=_FALSE_RHYTHMS / len(asked))
            if found is not None:
                yield number, found
