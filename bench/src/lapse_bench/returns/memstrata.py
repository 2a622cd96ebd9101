"""MemStrata: supersession by subject, relation and object in a bi-temporal ledger.

The mechanism of Yadav (arXiv 2606.26511) as TRACE's authors rebuilt it, since the public core of
MemStrata has no ledger. Deterministic: no threshold, no model.

For each candidate, in the order of transactions:

1. What it names as superseded is closed, in whatever slot it stands.
2. A deletion closes the slot's current row and leaves a tombstone.
3. Into an empty slot it is stored.
4. What says the same as the current row is a duplicate, and the current row stays.
5. Otherwise the current row closes when the new one begins, and the new one is active.

At the end, rows that the absence names and that still stand are invalidated, and rows whose
interval is over by the last logical time have expired. Only active rows are returned.

"The same" is without case and punctuation; so two answers of brackets alone say the same, and the
later one is taken for a duplicate.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lapse_bench.returns.episodes import Admission, fitting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lapse_bench.returns.episodes import Budget, Claim, ReturnEpisode

__all__ = ["MEMSTRATA", "MemStrata", "Row", "RowStatus", "fingerprint", "key_of", "ledger"]

_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


class RowStatus(StrEnum):
    """What a row of the ledger is."""

    ACTIVE = "active"
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    TOMBSTONE = "tombstone"
    INVALIDATED = "invalidated"
    EXPIRED = "expired"


@dataclass(slots=True)
class Row:
    """One row; a later candidate may close it.

    Attributes:
        claim: the candidate.
        valid_from: when it begins to hold.
        valid_to: when it ends; None while it has no end.
        status: what it is.
        duplicate_of: the id of the row that said it first.
        superseded_by: the id of the candidate that closed it.
    """

    claim: Claim
    valid_from: int
    valid_to: int | None
    status: RowStatus = RowStatus.ACTIVE
    duplicate_of: str | None = None
    superseded_by: str | None = None

    def close(self, by: Claim, at: int) -> None:
        """End the row when a candidate begins."""
        self.status = RowStatus.SUPERSEDED
        self.valid_to = at
        self.superseded_by = by.id


def key_of(claim: Claim) -> str:
    """The slot as one text, with case and space made even."""
    return "::".join(" ".join(part.casefold().split()) for part in claim.slot)


def fingerprint(claim: Claim) -> str:
    """What a candidate says, without case and punctuation: its value, or its text without one."""
    said = (claim.value or claim.text).casefold().translate(_WITHOUT_PUNCTUATION)
    return " ".join(said.split())


def ledger(bank: Sequence[Claim], log: Sequence[Claim]) -> dict[str, Row]:
    """Every candidate's row, by its id, in the order of transactions."""
    rows: dict[str, Row] = {}
    current: dict[str, Row] = {}
    for claim in (*bank, *log):
        begins = claim.at if claim.valid_from is None else claim.valid_from
        row = Row(claim, begins, claim.valid_to)
        rows[claim.id] = row
        for named in claim.supersedes:
            target = rows.get(named)
            if target is not None and target.status is RowStatus.ACTIVE and target is not row:
                target.close(claim, begins)
                if current.get(key_of(target.claim)) is target:
                    del current[key_of(target.claim)]
        _place(row, current)
    _settle(rows, log)
    return rows


def _place(row: Row, current: dict[str, Row]) -> None:
    key = key_of(row.claim)
    there = current.get(key)
    if row.claim.does == "withdraw":
        row.status = RowStatus.TOMBSTONE
        if there is not None:
            there.close(row.claim, row.valid_from)
            del current[key]
    elif there is None:
        current[key] = row
    elif fingerprint(there.claim) == fingerprint(row.claim):
        row.status = RowStatus.DUPLICATE
        row.duplicate_of = there.claim.id
    else:
        there.close(row.claim, row.valid_from)
        current[key] = row


def _settle(rows: dict[str, Row], log: Iterable[Claim]) -> None:
    named = {target for claim in log for target in claim.supersedes}
    last = max((row.claim.at for row in rows.values()), default=0)
    for row in rows.values():
        if row.status is not RowStatus.ACTIVE:
            continue
        if row.claim.id in named:
            row.status = RowStatus.INVALIDATED
        elif row.valid_to is not None and row.valid_to < last:
            row.status = RowStatus.EXPIRED


@dataclass(frozen=True, slots=True)
class MemStrata:
    """The method: the ledger's active rows."""

    name: str = "memstrata"

    def admit(self, episode: ReturnEpisode, budget: Budget) -> Admission:
        """As many active rows as there is room for, the latest first."""
        rows = ledger(episode.bank, episode.log).values()
        active = (row.claim for row in rows if row.status is RowStatus.ACTIVE)
        return Admission(items=fitting(active, budget))


MEMSTRATA = MemStrata()
