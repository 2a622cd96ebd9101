"""The travel case lived in a real workspace: `lapse.workspace` over SQLite, with keys and a clock.

Members write, leave and return. The attacks on it are in `lapse_bench.attacks.admission_plays`.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import lapse
from lapse.admission import Pair, Sealed, Verdict
from lapse.judges import AllPairs, ScriptedJudge
from lapse.ledger import Kind, Scope
from lapse.runtime import FREE, Cost, Judging
from lapse.testing import ManualClock, SequenceIds
from lapse_bench.travel import POLICY
from lapse_bench.workstate import OBSERVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.admission import Question, WorkItem
    from lapse.runtime import Workspace
    from lapse_bench.attacks.admission_scene import Defence

__all__ = ["A1", "BACK", "BEGIN", "OTHER_KEY", "Down", "TalkedOver", "Town"]

_KEY: Final = b"the workspace's own key, 32 bytes or more"
OTHER_KEY: Final = b"another key, after the rotation: 32 bytes"
A1: Final = Scope(principal="A1", role="planner", task="trip")
BACK: Final = replace(A1, purpose="booking")
BEGIN: Final = 1_764_500_000_000_000
_BY_PLACE: Final = {Pair("p0", "h1"): Verdict.INVALIDATES}


class Down:
    """A scanner that does not answer."""

    name = "down"

    def scan(self, scans: Sequence[object]) -> Any:
        """Fail."""
        raise ConnectionError(f"no answer about {len(scans)} items")


class TalkedOver:
    """A verifier that an item talked into words that are no verdict."""

    name = "talked over"

    def most(self, question: Question) -> Cost:
        """Nothing."""
        del question
        return FREE

    def verify(self, question: Question) -> Any:
        """Repeat what an item told it."""
        return f"As {question.later.id} says: STANDS"


@dataclass(slots=True)
class Town:
    """A workspace in a file, and everybody who has it open.

    Attributes:
        path: the ledger.
        defence: which controls are on.
        clock: everybody's.
        opened: closed at the end.
    """

    path: Path
    defence: Defence
    clock: ManualClock = field(default_factory=lambda: ManualClock(BEGIN))
    opened: ExitStack = field(default_factory=ExitStack)
    handles: int = 0

    def open(
        self, *, key: bytes = _KEY, judging: Judging | None = None, tenant: str | None = None
    ) -> Workspace:
        """Open the ledger, as another process does."""
        self.handles += 1
        scripted = Judging((AllPairs(),), ScriptedJudge(_BY_PLACE))
        return self.opened.enter_context(
            lapse.workspace(
                self.path,
                key=key,
                policy=self.defence.policy(POLICY),
                judging=judging or scripted,
                tenant=tenant,
                clock=self.clock,
                ids=SequenceIds(f"w{self.handles}"),
            )
        )

    def says(self, work: Workspace, name: str, text: str, by: str = "A2", **more: Any) -> WorkItem:
        """A statement that the desk vouches for."""
        self.clock.advance(seconds=1)
        fields: dict[str, Any] = {
            "slot": name,
            "by": by,
            "observer": OBSERVER,
            "scope": Scope(task="trip"),
            "item_id": name,
        }
        return work.record(text, **(fields | more))

    def before(self, work: Workspace) -> None:
        """What there is when A1 leaves; then it leaves."""
        self.says(work, "c", "A quiet hotel", "family", authority="user", supports=("d_c",))
        self.says(work, "h0", "Sunrise is booked", slot="hotel", supports=("d_h",))
        self.says(work, "t0", "The train leaves at 9:00", "A4", slot="train", supports=("d_t",))
        self.says(work, "p0", "Pickup at Sunrise", "A4", slot="pickup", supports=("d_p",))
        for name, needs in (("h", ("d_h", "d_c")), ("t", ("d_t", "d_p", "d_c"))):
            opens: dict[str, Any] = {"kind": Kind.OBLIGATION, "required": needs, "critical": needs}
            self.says(work, f"o_{name}", f"Settle {name}", obligation=name, **opens)
            self.says(work, f"f_{name}", "open", obligation=name, kind=Kind.FRONTIER)
        mine: dict[str, Any] = {"kind": Kind.EXPERIENCE, "scope": Scope(), "rests_on": ("h0",)}
        self.says(work, "e_h0", "Sunrise keeps a late desk", "A1", **mine)
        work.depart(A1)
        hotel: dict[str, Any] = {"slot": "hotel", "replaces": ("h0",), "supports": ("d_h",)}
        self.says(work, "h1", "Riverside is booked for 282 dollars", **hotel)
        self.says(work, "t1", "The train leaves at 9:30", "A4", slot="train", supports=("d_t",))

    def confirms(self, work: Workspace) -> None:
        """The pickup is arranged anew."""
        self.says(work, "p1", "Pickup at Riverside at 8:30", "A4", slot="pickup", supports=("d_p",))

    def admitted(self) -> Workspace:
        """A1 is back, and was shown a complete view in cycle r1."""
        work = self.open()
        self.before(work)
        self.confirms(work)
        if not isinstance(work.return_(BACK, cycle="r1"), Sealed):
            raise TypeError("the honest return is blocked, so nothing would be proved")
        return work
