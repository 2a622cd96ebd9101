"""The child that dies in a workspace, and what has to be true of what it leaves.

It does what the workspace's verbs do, says before and after each what it tries and what was
acknowledged, and is killed at a point of the store. Whoever opens the ledger afterwards must find
every acknowledged deed; the one under way whole or not at all; no view that nobody signed, and no
view of a return that did not end; and must be able to go on where the child died.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lapse.admission import Presence, Refused, Sealed
from lapse.errors import UnknownRecord
from lapse.ledger import Intact, Status, Store, examine
from lapse.testing import ManualClock
from lapse.testing.workspaces import FOR_BOOKING, HER, Town

__all__ = ["SCENARIOS", "Deed", "deeds", "left", "prepare", "reopened"]

_LATER = 1_000_000_000
"""When whoever finds the ledger looks at it, in microseconds: within the view's hour."""

Deed = tuple[str, Callable[[], object]]
"""What is tried, in a word, and how."""


def prepare(scenario: str, store: Store) -> None:
    """What there is before the child is born."""
    town = Town(store, "before")
    town.before()
    if scenario == "return":
        town.work.depart(HER)
        town.meanwhile()
        town.confirms()


def reopened(store: Store, prefix: str) -> Town:
    """Another process's hold on the ledger, some time later."""
    return Town(store, prefix, clock=ManualClock(_LATER))


def deeds(scenario: str, town: Town) -> Iterator[Deed]:
    """What the child does, one by one."""
    match scenario:
        case "record":
            yield "h1", lambda: town.says("h1", "Riverside", slot="hotel", replaces=("h0",))
            yield "n1", lambda: town.says("n1", rests_on=("h1",))
            yield "n2", lambda: town.says("n2")
        case "depart":
            yield "depart", lambda: town.work.depart(HER)
            yield "n1", lambda: town.says("n1")
        case _:
            yield "return", lambda: town.work.return_(FOR_BOOKING, cycle="r1")
            yield "n1", lambda: town.says("n1")


SCENARIOS = ("record", "depart", "return")
"""The names of what the child may do."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the ledger holds after the child died."""

    town: Town
    store: Store

    def done(self, deed: str) -> bool | str:
        """Whether a deed is there whole; a text says what is wrong with a half one."""
        match deed:
            case "h1":
                old = self.store.state().record("h0").status
                return self._same(self._has("h1"), old is Status.SUPERSEDED, "half replaced")
            case "depart":
                member = self.town.work.member(HER)
                away = member is not None and member.presence is Presence.ABSENT
                return self._same(away, bool(self._forms("departure")), "half a departure")
            case "return":
                return self._returned()
            case _:
                return self._has(deed)

    def _returned(self) -> bool | str:
        member = self.town.work.member(HER)
        assert member is not None
        if not self._forms("cycle"):
            try:
                self.town.work.view("r1", FOR_BOOKING)
            except UnknownRecord:
                away = member.presence in (Presence.ABSENT, Presence.RETURNING)
                return False if away else "admitted without a decision"
            return "a view without a decision"
        if (member.presence, member.cycle) != (Presence.ADMITTED, "r1"):
            return "a decision without its step"
        found = self.town.work.view("r1", FOR_BOOKING)
        # What was said after the return moved the revision, and the view is refused for that alone.
        moved = isinstance(found, Refused) and {one.value for one in found.reasons}
        return True if not moved or moved == {"epoch_mismatch"} else f"a view that is {moved}"

    def _forms(self, form: str) -> list[Any]:
        return [one for one in self.store.state().records() if one.content.get("form") == form]

    def _has(self, item: str) -> bool:
        try:
            self.town.work.explain(item)
        except UnknownRecord:
            return False
        return True

    @staticmethod
    def _same(one: bool, other: bool, wrong: str) -> bool | str:  # noqa: FBT001 - two facts
        return one if one is other else wrong


def left(store: Store, scenario: str, acknowledged: list[str], tried: list[str]) -> str:
    """Whether the deed under way is absent or whole, or what is wrong."""
    changes = list(store.changes())
    intact = examine(store.ledger, changes, kept=store.state())
    if not isinstance(intact, Intact):
        return f"the ledger is broken: {intact}"
    found = Found(reopened(store, "after"), store)
    for deed in acknowledged:
        if found.done(deed) is not True:
            return f"an acknowledged deed is lost: {deed}"
    under_way = [deed for deed in tried if deed not in acknowledged]
    there = [found.done(deed) for deed in under_way]
    for one in there:
        if isinstance(one, str):
            return one
    return _goes_on(found, scenario) or ("whole" if any(there) else "absent")


def _goes_on(found: Found, scenario: str) -> str:
    """What is wrong when somebody takes up where the child died; empty when nothing is."""
    town = reopened(found.store, "on")
    if scenario == "depart" and town.work.member(HER) is None:
        town.work.depart(HER)
    if scenario != "record":
        ended = town.work.return_(FOR_BOOKING, cycle="r1")
        if not isinstance(ended, Sealed):
            return "the return cannot go on"
        again = reopened(found.store, "again").work.return_(FOR_BOOKING, cycle="r1")
        if again != ended:
            return "the return is not the same when it is repeated"
    else:
        for deed, do in deeds("record", town):  # what is there is not written twice
            do()
            if found.done(deed) is not True:
                return f"the next write went wrong: {deed}"
    town.says("after")
    return "" if found.done("after") is True else "the next write went wrong"
