"""Verdicts that are kept, so that no question is paid for twice and a run can be replayed.

A ruling holds ids, digests and a verdict, and no word of the items or of the model. A purge of an
item leaves its digest here, with which somebody could confirm a guess at its whole text:
`RulingsInLedger.about` names the rulings to purge with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lapse.admission import Pair, Verdict
from lapse.errors import InvalidValue
from lapse.ledger import EVERYWHERE, Interval, Kind, Record, canonical, digest, writing
from lapse.runtime.judging_costs import FREE, Cost

if TYPE_CHECKING:
    from lapse.ledger import Clock, Draft, Ids, Scope, State
    from lapse.runtime.session import Session

__all__ = ["Ruling", "Rulings", "RulingsInLedger", "RulingsInMemory", "ruling_key"]

_FORM = "ruling"
"""The member of a record's content that makes it a ruling, and the topic it is listed under."""

_SLOT = "ruling/"
"""What the slot of a ruling begins with; its key follows."""

_NO_PAIR = Pair("", "")
"""Of a ruling that nobody needs to find by its items."""

_ACTOR = "judging"
"""Who writes rulings, in the ledger."""

_KEY = "lapse-ruling-1"
"""What a key is made of; another number for another recipe."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict with what it was given about; no word of the items.

    Attributes:
        judge: the verifier's name.
        older: the digest of the earlier item.
        later: the digest of the later one.
        verdict: the answer.
        cost: what it cost when it was given.
        pair: the ids of both, so that it is found by them; they are no part of its key.
    """

    judge: str
    older: str
    later: str
    verdict: Verdict
    cost: Cost = FREE
    pair: Pair = _NO_PAIR

    @property
    def key(self) -> str:
        """What it is kept under."""
        return ruling_key(self.judge, self.older, self.later)


def ruling_key(judge: str, older: str, later: str) -> str:
    """SHA-256, in hex, of all that goes into a ruling.

    Args:
        judge: the verifier's name, which has its version, prompt and settings in it.
        older: the digest of the earlier item.
        later: the digest of the later one.
    """
    return digest(canonical([_KEY, judge, older, later]))


class Rulings(Protocol):
    """Where rulings are kept. Safe to call from several threads."""

    def get(self, key: str) -> Ruling | None:
        """The ruling under a key; None where none is kept.

        Raises:
            StoreError: it could not be read.
        """
        ...

    def keep(self, key: str, ruling: Ruling) -> None:
        """Keep a ruling, durably once this returns; of two under one key the first stays.

        Raises:
            StoreError: it is not kept.
        """
        ...


class RulingsInMemory:
    """Keeps rulings as long as this object lives."""

    def __init__(self) -> None:
        self._kept: dict[str, Ruling] = {}

    def get(self, key: str) -> Ruling | None:
        """The ruling under a key; None where none is kept."""
        return self._kept.get(key)

    def keep(self, key: str, ruling: Ruling) -> None:
        """Keep a ruling; of two under one key the first stays."""
        self._kept.setdefault(key, ruling)

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)


class RulingsInLedger:
    """Keeps rulings in a ledger, as records of their own beside the items. Safe for threads.

    A ruling that is revoked, disputed or purged there is not used again: the pair is asked anew.

    Args:
        session: the ledger.
        clock: tells when a ruling was kept.
        ids: makes up record ids and salts.
        scope: for whom rulings are kept; rulings of another scope are neither used nor replaced.
    """

    def __init__(
        self, session: Session, *, clock: Clock, ids: Ids, scope: Scope = EVERYWHERE
    ) -> None:
        self._session = session
        self._clock = clock
        self._ids = ids
        self._scope = scope

    def get(self, key: str) -> Ruling | None:
        """The ruling under a key; None where none is kept that can be read.

        Raises:
            StoreError: the ledger could not be read.
        """
        with self._session.lock:
            return self._found(self._session.catch_up(), key)

    def keep(self, key: str, ruling: Ruling) -> None:
        """Keep a ruling, durably; of two under one key the first stays.

        Raises:
            StoreError: it is not kept.
            InvalidValue: it is no ruling of this key.
        """
        if key != ruling.key:
            raise InvalidValue("key", key, "pass the ruling's own key")
        at = self._clock.now()
        record = Record(
            id=self._ids.new(),
            kind=Kind.FACT,
            slot=_SLOT + key,
            topic=_FORM,
            content={
                "form": _FORM,
                "judge": ruling.judge,
                "older": ruling.older,
                "later": ruling.later,
                "verdict": ruling.verdict.value,
                "pair": list(ruling.pair),
                "cost": [ruling.cost.calls, ruling.cost.prompt, ruling.cost.completion],
            },
            valid=Interval(at),
            scope=self._scope,
        )
        salt = self._ids.new()

        def decide(state: State) -> tuple[None, tuple[Draft, ...]]:
            if self._found(state, key) is not None:
                return None, ()
            return None, writing(state, record, at=at, reason="ruled", actor=_ACTOR, salt=salt)

        self._session.write(decide)

    def about(self, item_id: str) -> tuple[str, ...]:
        """The ids of the records with rulings about an item, whichever of the two it was.

        For whoever wants to look at them, revoke them, or purge them with the item. It reads every
        ruling of this scope.

        Raises:
            StoreError: the ledger could not be read.
        """
        with self._session.lock:
            found = [r for r in self._session.catch_up().records() if self._is_ruling(r)]
        rulings = ((record.id, _read(record)) for record in found)
        return tuple(name for name, ruling in rulings if ruling and item_id in ruling.pair)

    def _is_ruling(self, record: Record) -> bool:
        return record.topic == _FORM and record.scope == self._scope

    def _found(self, state: State, key: str) -> Ruling | None:
        for record in state.in_slot("", _SLOT + key):
            if self._is_ruling(record) and state.usable(record):
                ruling = _read(record)
                if ruling is not None and ruling.key == key:
                    return ruling
        return None


def _read(record: Record) -> Ruling | None:
    match record.content:
        case {
            "form": "ruling",
            "judge": str(judge),
            "older": str(older),
            "later": str(later),
            "verdict": ("invalidates" | "stands" | "unsure") as verdict,
            "pair": [str(older_id), str(later_id)],
            "cost": [int(calls), int(prompt), int(completion)],
        }:
            cost = Cost(calls, prompt, completion)
            pair = Pair(older_id, later_id)
            return Ruling(judge, older, later, Verdict(verdict), cost, pair)
        case _:
            return None
