"""The travel case of TRACE (arXiv 2609.33517, appendix C.6) as what four agents say in a workspace.

A1 plans a family's trip and goes away. Meanwhile A2 books another hotel and A4 another train.
Nobody says that the pickup at the old hotel is void: it follows, by the place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lapse.admission import Budget, Pair, Policy, Verdict
from lapse.judges import AllPairs, ScriptedJudge
from lapse.ledger import Kind, Scope
from lapse.runtime import Judging

if TYPE_CHECKING:
    from lapse.runtime import Workspace

__all__ = [
    "ABSENCE",
    "BEFORE",
    "CONFIRMED",
    "DEAD",
    "MEMBER",
    "POLICY",
    "TRIP",
    "Line",
    "judging",
]

TRIP: Final = "trip"
MEMBER: Final = Scope(principal="A1", role="planner", task=TRIP)
"""Who leaves and returns."""

_DESK: Final = "booking-desk"
_BUDGET: Final = Budget(items=8, chars=1000)

POLICY: Final = Policy(observers=frozenset({_DESK}), budget=_BUDGET)
"""What the desk vouches for counts; the budget holds the eight items of the complete view."""

DEAD: Final = frozenset({"h0", "t0", "p0"})
"""What is no longer true when A1 returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that somebody says.

    Attributes:
        name: the item's id.
        by: who says it.
        text: what.
        slot: what it is about; the name when left out.
        kind: what sort of statement.
        supports: the dependencies that it is evidence for.
        needs: what an obligation needs; all of it is critical.
        obligation: the obligation that it opens or tells of.
        source: for an experience, the item that it was learned from.
        replaces: the item that it takes the place of.
        seen: whether the booking desk vouches for it.
    """

    name: str
    by: str
    text: str
    slot: str = ""
    kind: Kind = Kind.FACT
    supports: str = ""
    needs: tuple[str, ...] = ()
    obligation: str = ""
    source: str = ""
    replaces: str = ""
    seen: bool = True

    def say(self, workspace: Workspace) -> None:
        """Write it."""
        workspace.record(
            self.text,
            slot=self.slot or self.name,
            by=self.by,
            item_id=self.name,
            kind=self.kind,
            scope=Scope(task=TRIP),
            supports=(self.supports,) if self.supports else (),
            required=self.needs,
            critical=self.needs,
            obligation=self.obligation,
            rests_on=(self.source,) if self.source else (),
            replaces=(self.replaces,) if self.replaces else (),
            observer=_DESK if self.seen else "",
        )


def _owed(name: str, text: str, *needs: str) -> tuple[Line, Line]:
    opens = Line(
        name=f"o_{name}", by="A1", text=text, kind=Kind.OBLIGATION, obligation=name, needs=needs
    )
    told = f"{text}: still open"
    tells = Line(name=f"f_{name}", by="A1", text=told, kind=Kind.FRONTIER, obligation=name)
    return opens, tells


def _learned(name: str, text: str, source: str) -> Line:
    return Line(name=name, by="A1", text=text, kind=Kind.EXPERIENCE, source=source)


BEFORE: Final = (
    Line(
        name="c",
        by="family",
        text="A quiet hotel near the station, below 300 dollars",
        supports="constraints",
    ),
    Line(name="h0", by="A2", text="Sunrise Hotel is booked", slot="hotel", supports="hotel"),
    Line(name="t0", by="A4", text="The train leaves at 9:00", slot="train", supports="train"),
    Line(name="p0", by="A4", text="Pickup at 8:00 from Sunrise", slot="pickup", supports="pickup"),
    *_owed("stay", "Settle the hotel", "hotel", "constraints"),
    *_owed("transfer", "Settle the transfer", "train", "pickup", "constraints"),
    _learned("e_c", "Quiet means away from the main road", "c"),
    _learned("e_h0", "Sunrise keeps a late desk", "h0"),
    _learned("e_p0", "The driver waits at the side door", "p0"),
)
"""What is said before A1 leaves; the last three are its own experience."""

ABSENCE: Final = (
    Line(
        name="h1",
        by="A2",
        text="Riverside is booked for 282 dollars",
        slot="hotel",
        supports="hotel",
        replaces="h0",
    ),
    Line(name="t1", by="A4", text="The train leaves at 9:30", slot="train", supports="train"),
    Line(
        name="guess",
        by="A3",
        text="Perhaps a pickup at 8:30",
        slot="pickup-proposal",
        supports="pickup",
        seen=False,
    ),
)
"""What is said while A1 is away; nobody has seen the last one."""

CONFIRMED: Final = Line(
    name="p1", by="A4", text="Pickup at 8:30 from Riverside", slot="pickup", supports="pickup"
)
"""What completes it."""

_BY_PLACE: Final = {
    Pair("p0", "h1"): Verdict.INVALIDATES,  # it starts at a hotel where nobody stays
    Pair("p0", "t1"): Verdict.STANDS,  # a later train alone makes no early pickup impossible
}


def judging() -> Judging:
    """Looks at every pair; a script stands in for the model that would rule on them."""
    return Judging((AllPairs(),), ScriptedJudge(_BY_PLACE, called="stand-in by place"))
