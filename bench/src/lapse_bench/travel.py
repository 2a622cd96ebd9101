"""The travel case of TRACE (arXiv 2609.33517, appendix C.6) as work-state items.

A1 plans a family's trip and leaves. Meanwhile the hotel is replaced and the train moves, and nobody
says that the pickup at the old hotel is void. `FIRST` is the return before a pickup is confirmed,
`SECOND` the one after; `honest` answers what a scanner and a verifier are asked about either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse.admission import Budget, Captured, Pair, Policy, Verdict, WorkItem
from lapse.ledger import Kind, Scope, Status
from lapse_bench.workstate import OBSERVER, leaving, returning, statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.admission import Checkpoint

__all__ = ["ABSENCE", "BEFORE", "CONFIRMED", "FIRST", "POLICY", "SECOND", "back", "honest"]

POLICY: Final = Policy(observers=frozenset({OBSERVER}), budget=Budget(items=8, chars=1000))
"""One desk vouches for bookings; the budget holds the eight items of the complete view."""

_A4: Final = "A4"


def _obliges(name: str, says: str, *needs: str) -> tuple[WorkItem, WorkItem]:
    opens = statement(
        f"o_{name}", says, kind=Kind.OBLIGATION, obligation=name, required=needs, critical=needs
    )
    tells = statement(f"f_{name}", f"{says}: open", kind=Kind.FRONTIER, obligation=name)
    return opens, tells


def _learned(name: str, says: str, source: WorkItem) -> WorkItem:
    own = Scope(tenant="team", principal="A1")
    return statement(name, says, kind=Kind.EXPERIENCE, scope=own, rests_on=(source,))


_FAMILY: Final = statement(
    "c",
    "A quiet hotel near the station, below 300 dollars",
    supports=("d_c",),
    writer="family",
    authority="user",
)
_SUNRISE: Final = statement("h0", "Sunrise Hotel is booked", slot="hotel", supports=("d_h",))
_EARLY: Final = statement(
    "t0", "The train leaves at 9:00", slot="train", supports=("d_t",), writer=_A4
)
_PICKUP: Final = statement(
    "p0", "Pickup at 8:00 from Sunrise", slot="pickup", supports=("d_p",), writer=_A4
)

BEFORE: Final = (
    _FAMILY,
    _SUNRISE,
    _EARLY,
    _PICKUP,
    *_obliges("h", "Settle the hotel", "d_h", "d_c"),
    *_obliges("t", "Settle the transfer", "d_t", "d_p", "d_c"),
    _learned("e_c", "Quiet means away from the main road", _FAMILY),
    _learned("e_h0", "Sunrise keeps a late desk", _SUNRISE),
    _learned("e_p0", "The driver waits at the side door", _PICKUP),
)
"""What A1 could see when it left, with its own experience."""

_RIVERSIDE: Final = statement(
    "h1",
    "Riverside is booked for 282 dollars",
    slot="hotel",
    epoch=12,
    replaces=("h0",),
    supports=("d_h",),
)
_LATER: Final = statement(
    "t1", "The train leaves at 9:30", slot="train", epoch=13, supports=("d_t",), writer=_A4
)
_PROPOSED: Final = statement(
    "p_proposed",
    "Perhaps a pickup at 8:30",
    slot="pickup-proposal",
    epoch=14,
    supports=("d_p",),
    writer=_A4,
    confirmed=False,
)

ABSENCE: Final = (
    _FAMILY,
    _SUNRISE.with_status(Status.SUPERSEDED),
    *BEFORE[2:],
    _RIVERSIDE,
    _LATER,
    _PROPOSED,
)
"""The workspace after the absence: the pickup is open, and only proposed."""

CONFIRMED: Final = statement(
    "p1",
    "Confirmed: pickup at 8:30 from Riverside",
    slot="pickup",
    epoch=16,
    supports=("d_p",),
    writer=_A4,
)
"""What completes it."""

_DEPARTURE: Final = leaving(*BEFORE)


def back(*more: WorkItem, instead: Mapping[str, WorkItem] | None = None) -> Checkpoint:
    """A1 returns after the absence.

    Args:
        more: what was written beside.
        instead: items as they are by now, by id, in place of what `ABSENCE` has.
    """
    changed = instead or {}
    now = (changed.get(item.id, item) for item in ABSENCE)
    return returning(_DEPARTURE, *now, *more)


FIRST: Final = back()
"""Before the pickup is confirmed: Cov 1/2, Crit 3/4, and nothing is shown."""

SECOND: Final = back(CONFIRMED)
"""After: eight items, and both measures are 1."""

_SUSPECTED: Final = frozenset({"h1", "t1"})
_BY_PLACE: Final[dict[Pair, object]] = {
    Pair("p0", "h1"): Verdict.INVALIDATES,  # it starts at a hotel where nobody stays
    Pair("p0", "t1"): Verdict.STANDS,  # a later train alone makes no early pickup impossible
}


def honest(captured: Captured) -> tuple[dict[str, object], dict[Pair, object]]:
    """Scans and answers of somebody who looks at the pickup, and sees it by the place."""
    scanned: dict[str, object] = {
        scan.older.id: [
            item.id for item in scan.later if scan.older.id == "p0" and item.id in _SUSPECTED
        ]
        for scan in captured.next().scans
    }
    return scanned, dict(_BY_PLACE)
