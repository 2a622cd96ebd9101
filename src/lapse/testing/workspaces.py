"""A workspace for tests: time stands still, ids count up, and a script answers what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lapse.admission import Budget, Pair, Policy, Verdict
from lapse.judges import AllPairs, ScriptedJudge
from lapse.ledger import Kind, Scope
from lapse.runtime import Judging, Workspace
from lapse.signing import HmacKeys
from lapse.testing.fakes import ManualClock, SequenceIds
from lapse.testing.workspace import OBSERVER

if TYPE_CHECKING:
    from lapse.admission import WorkItem
    from lapse.ledger import Store
    from lapse.runtime import Session

__all__ = ["FOR_BOOKING", "HER", "KEYS", "STRICT", "Town"]

KEYS = HmacKeys({"test": b"a key for tests, of 32 bytes..: "}, sign_with="test")
"""What signs the views of tests."""

STRICT = Policy(observers=frozenset({OBSERVER}), budget=Budget(items=8, chars=1000))
"""The default policy, with room for eight items."""

HER = Scope(principal="A1", role="planner", task="trip")
"""Who leaves and returns."""

FOR_BOOKING = Scope(principal="A1", role="planner", task="trip", purpose="booking")
"""The same, as she returns."""


class Town:
    """A workspace in which a trip is planned, as in the source text (appendix C.6).

    Args:
        store: where it is kept, or a session that is held already.
        prefix: sets the ids of one opening of a ledger apart from another's.
        verdicts: what the verifier says about pairs; that it stands, about every other.
        clock: tells the time; one of its own when left out.
        options: further arguments of `Workspace`.
    """

    def __init__(
        self,
        store: Store | Session,
        prefix: str = "w",
        *,
        verdicts: Mapping[Pair, Verdict] | None = None,
        clock: ManualClock | None = None,
        **options: Any,
    ) -> None:
        self.clock = ManualClock(1_000) if clock is None else clock
        judge = ScriptedJudge(BY_PLACE if verdicts is None else verdicts)
        given: dict[str, Any] = {"policy": STRICT, "judging": Judging((AllPairs(),), judge)}
        self.work = Workspace(
            store,
            clock=self.clock,
            ids=SequenceIds(prefix),
            signer=KEYS,
            verifier=KEYS,
            **(given | options),
        )

    def says(self, name: str, text: str = "", *, by: str = "A2", **more: Any) -> WorkItem:
        """A statement that the observer vouches for, a second after the one before."""
        self.clock.advance(seconds=1)
        fields: dict[str, Any] = {
            "slot": name,
            "by": by,
            "observer": OBSERVER,
            "scope": Scope(task="trip"),
            "item_id": name,
        }
        return self.work.record(text or f"what {name} says", **(fields | more))

    def owes(self, name: str, *needs: str) -> None:
        """An obligation whose dependencies are all critical, and its frontier."""
        opens: dict[str, Any] = {"kind": Kind.OBLIGATION, "required": needs, "critical": needs}
        self.says(f"o_{name}", f"Settle {name}", obligation=name, **opens)
        self.says(f"f_{name}", f"{name} is open", obligation=name, kind=Kind.FRONTIER)

    def before(self) -> None:
        """What there is when she leaves: eleven revisions."""
        self.says("c", "A quiet hotel, below 300 dollars", supports=("d_c",))
        self.says("h0", "Sunrise is booked", slot="hotel", supports=("d_h",))
        self.says("t0", "The train leaves at 9:00", slot="train", supports=("d_t",), by="A4")
        self.says("p0", "Pickup at Sunrise", slot="pickup", supports=("d_p",), by="A4")
        self.owes("h", "d_h", "d_c")
        self.owes("t", "d_t", "d_p", "d_c")
        for source in ("c", "h0", "p0"):
            what: dict[str, Any] = {"kind": Kind.EXPERIENCE, "rests_on": (source,)}
            self.says(f"e_{source}", f"learned from {source}", by="A1", scope=Scope(), **what)

    def meanwhile(self) -> None:
        """What the others do while she is away: the hotel is another, and the train is later."""
        hotel: dict[str, Any] = {"slot": "hotel", "supports": ("d_h",), "replaces": ("h0",)}
        self.says("h1", "Riverside is booked", **hotel)
        self.says("t1", "The train leaves at 9:30", slot="train", supports=("d_t",), by="A4")

    def confirms(self) -> WorkItem:
        """The pickup is arranged anew."""
        return self.says("p1", "Pickup at Riverside", slot="pickup", supports=("d_p",), by="A4")


BY_PLACE = {Pair("p0", "h1"): Verdict.INVALIDATES}
"""The pickup starts at a hotel where nobody stays."""
