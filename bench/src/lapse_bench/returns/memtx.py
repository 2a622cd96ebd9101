"""MemTX: a memory is written by transactions, and read by how sure its rows are.

The mechanism of Li et al. (arXiv 2607.23929) as TRACE's authors ported it, read at the isolation
`committed`, their default. One serial transaction for each candidate:

1. Too unsure from too weak a source, outside its interval at the last logical time, or concluded
   from something that is not committed: quarantined. Otherwise validated.
2. A deletion revokes the slot's rows, what it names, and all that was concluded from either; it
   commits itself unseen.
3. What it names as superseded is superseded only where it stands in the same slot; what was
   concluded from that is revoked.
4. Into an empty slot it commits. What says the same is superseded at once, as a duplicate. From
   the same source or a weightier one, it replaces the old row, and what was concluded from that
   is revoked. From a lesser one it is quarantined. From another of equal weight, old and new are
   both quarantined.

By the last case a clash empties the slot, so whoever writes next commits unopposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from lapse_bench.returns.episodes import Admission, fitting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lapse_bench.returns.episodes import Budget, Claim, ReturnEpisode

__all__ = ["MEMTX", "MemTx", "TxState", "transacted"]

CONFIDENCE: Final = 0.6
"""Below it a candidate is unsure."""

AUTHORITY: Final = 0.9
"""From here on a source is believed even when unsure."""


class TxState(StrEnum):
    """Where a candidate ends up; only committed ones are read."""

    COMMITTED = "committed"
    QUARANTINED = "quarantined"
    SUPERSEDED = "superseded"
    REVOKED = "revoked"


class _Table:
    """The rows as the transactions so far have left them."""

    __slots__ = ("claims", "current", "last", "states")

    def __init__(self, claims: Sequence[Claim]) -> None:
        self.claims = {claim.id: claim for claim in claims}
        self.last = max((claim.at for claim in claims), default=0)
        self.states: dict[str, TxState] = {}
        self.current: dict[tuple[str, str], str] = {}

    def admissible(self, claim: Claim) -> bool:
        """Rule 1."""
        sure = claim.confidence >= CONFIDENCE or claim.authority >= AUTHORITY
        begun = claim.valid_from is None or claim.valid_from <= self.last
        going = claim.valid_to is None or claim.valid_to >= self.last
        return (
            sure
            and begun
            and going
            and all(self.states.get(one) is TxState.COMMITTED for one in claim.derived_from)
        )

    def end(self, name: str, state: TxState) -> None:
        """End a row that stands, without looking at what was concluded from it."""
        self.states[name] = state
        slot = self.claims[name].slot
        if self.current.get(slot) == name:
            del self.current[slot]

    def revoke_derived(self, roots: Iterable[str]) -> None:
        """Revoke all that was concluded from these, and from that, while it is committed."""
        open_, seen = list(roots), set(roots)
        while open_:
            parent = open_.pop()
            for name, state in tuple(self.states.items()):
                if name in seen or parent not in self.claims[name].derived_from:
                    continue
                seen.add(name)
                open_.append(name)
                if state is TxState.COMMITTED:
                    self.end(name, TxState.REVOKED)


def transacted(claims: Sequence[Claim]) -> dict[str, TxState]:
    """The state of every candidate after the last transaction, by its id.

    A deletion that was let through is committed: it is never read, but stands in the history.
    """
    table = _Table(claims)
    for claim in claims:
        if not table.admissible(claim):
            table.states[claim.id] = TxState.QUARANTINED
        elif claim.does == "withdraw":
            _delete(claim, table)
        else:
            _write(claim, table)
    return table.states


def _delete(claim: Claim, table: _Table) -> None:
    gone = [name for name in claim.supersedes if table.states.get(name) is TxState.COMMITTED]
    standing = table.current.get(claim.slot)
    if standing is not None and standing not in gone:
        gone.append(standing)
    for name in gone:
        table.end(name, TxState.REVOKED)
    table.revoke_derived(gone)
    table.states[claim.id] = TxState.COMMITTED


def _write(claim: Claim, table: _Table) -> None:
    standing = table.current.get(claim.slot)
    if standing is not None and standing in claim.supersedes:
        _replace(standing, table)
        standing = None
    if standing is None:
        _commit(claim, table)
        return
    old = table.claims[standing]
    if old.value == claim.value:
        table.states[claim.id] = TxState.SUPERSEDED
    elif claim.source == old.source or claim.authority > old.authority:
        _replace(standing, table)
        _commit(claim, table)
    elif claim.authority < old.authority:
        table.states[claim.id] = TxState.QUARANTINED
    else:
        table.end(standing, TxState.QUARANTINED)
        table.states[claim.id] = TxState.QUARANTINED


def _replace(name: str, table: _Table) -> None:
    table.end(name, TxState.SUPERSEDED)
    table.revoke_derived([name])


def _commit(claim: Claim, table: _Table) -> None:
    table.states[claim.id] = TxState.COMMITTED
    table.current[claim.slot] = claim.id


@dataclass(frozen=True, slots=True)
class MemTx:
    """The method: committed rows."""

    name: str = "memtx"

    def admit(self, episode: ReturnEpisode, budget: Budget) -> Admission:
        """As many committed statements as there is room for, the latest first."""
        states = transacted(episode.written)
        read = (
            claim
            for claim in episode.written
            if claim.does == "state" and states[claim.id] is TxState.COMMITTED
        )
        return Admission(items=fitting(read, budget))


MEMTX = MemTx()
