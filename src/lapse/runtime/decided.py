"""How a return was decided, as it lies in the ledger.

What is kept is enough to show the view again, to say why each item was left out, and to take the
whole decision again; all of it by id. The view's bytes are not kept: they are made again from the
items, and the signature says whether they are what was signed.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# JSON is anything until its shape is matched.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapse.admission import (
    Failure,
    Fallen,
    Incomplete,
    Reason,
    Returning,
    ReturnView,
    Sealed,
    SignedView,
    measure,
    obligations_in,
    select,
)
from lapse.errors import InvalidValue
from lapse.ledger import LIVE, Head, Instant, Interval, Kind, Record, Scope, encode
from lapse.runtime.heard import Heard
from lapse.runtime.judging import FREE, Cost
from lapse.runtime.workspace_forms import ids

if TYPE_CHECKING:
    from collections.abc import Callable

    from lapse.admission import Blocked, WorkItem
    from lapse.runtime.judging import Looked

__all__ = ["Basis", "Decided", "Sealing", "Spent"]


@dataclass(frozen=True, slots=True)
class Sealing:
    """What makes a view out of its items again.

    Attributes:
        expires: the first instant at which it is no longer exposed.
        key: the id of the key.
        signature: over the view's bytes.
    """

    expires: Instant
    key: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class Spent:
    """What the answers of a return took.

    Attributes:
        asked: questions that a verifier was asked.
        reused: questions that were answered by kept rulings.
        left: questions that nobody was asked, for want of allowance.
        cost: what was billed.
    """

    asked: int = 0
    reused: int = 0
    left: int = 0
    cost: Cost = FREE

    def and_then(self, looked: Looked) -> Spent:
        """Together with another look; what is left is what that one left."""
        return Spent(
            self.asked + looked.asked,
            looked.reused,
            len(looked.left),
            self.cost + looked.cost,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What a return was decided on, and who said what.

    Attributes:
        id: the id of the record that keeps the decision.
        left_by: the id of the record that keeps the departure.
        after: the end of the chain that was decided on.
        policy: the digest of the policy.
        heard: what was answered.
        spent: what that took.
        workload: what the member came back for, in its own words.
    """

    id: str
    left_by: str
    after: Head
    policy: str
    heard: Heard
    spent: Spent
    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A return that ended.

    Attributes:
        basis: what it was decided on.
        returning: who returned into which revision, when, in which cycle.
        departure: the digest of the departure.
        departed: that departure's revision.
        checkpoint: the digest of the checkpoint.
        outcome: None: admitted with a view; else what a return without one comes to.
        against: what speaks against each item that had not ended by then, and what brought it down,
            unless it was not needed; and the last word about each dependency that is missing.
        shown: the items chosen, in the order of the view; of a blocked return, what was not enough.
        experience: the private experience that came back.
        failures: why the set was not enough.
        unknown: the latest items of slots whose current value nobody knows, and why they fell.
        sealing: what makes the view again; None without one.
    """

    basis: Basis
    returning: Returning
    departure: str
    departed: int
    checkpoint: str
    outcome: Incomplete | None
    against: Mapping[str, tuple[tuple[Reason, ...], str]]
    shown: tuple[str, ...]
    experience: tuple[str, ...]
    failures: tuple[Failure, ...]
    unknown: Mapping[str, Fallen]
    sealing: Sealing | None

    @classmethod
    def of_cycle(cls, ended: Sealed | Blocked, basis: Basis) -> Decided:
        """What is kept of a cycle that ended."""
        checkpoint = ended.eligible.checkpoint
        if isinstance(ended, Sealed):
            signed = ended.signed
            sealing = Sealing(ended.view.expires, signed.key, signed.signature)
            shown = tuple(item.id for item in ended.view.items)
            experience = tuple(item.id for item in ended.experience)
        else:
            sealing, experience, shown = None, tuple[str, ...](), _chosen(ended)
        return cls(
            basis=basis,
            returning=checkpoint.returning,
            departure=checkpoint.departure,
            departed=checkpoint.departed,
            checkpoint=checkpoint.digest(),
            outcome=None if isinstance(ended, Sealed) else ended.outcome,
            against=_against(ended),
            shown=shown,
            experience=experience,
            failures=ended.failures,
            unknown={one.last: Fallen(one.reason, one.by) for one in ended.eligible.unknown},
            sealing=sealing,
        )

    @staticmethod
    def slot(tenant: str | None, cycle: str) -> str:
        """The slot of a cycle; it holds one record for ever."""
        return f"workspace/cycle/{encode([tenant, cycle]).decode()}"

    def view(self, item: Callable[[str], WorkItem | None]) -> SignedView | None:
        """The view as it was signed, made again from its items; None where one of them is gone.

        Raises:
            InvalidValue: no view was made, or what is kept is none.
        """
        if self.sealing is None:
            remedy = "name a cycle that was admitted; explain() says why this one was not"
            raise InvalidValue("cycle", self.returning.cycle, remedy)
        items = [found for name in self.shown if (found := item(name)) is not None]
        if len(items) != len(self.shown):
            return None
        supported = {name for one in items for name in one.supports}
        view = ReturnView.of(
            items,
            measure(obligations_in(items), supported),
            returning=self.returning,
            checkpoint=self.checkpoint,
            expires=self.sealing.expires,
        )
        return SignedView(view.body(self.sealing.key), self.sealing.key, self.sealing.signature)

    def record(self) -> Record:
        """The ledger record that says this."""
        who, sealing, basis = self.returning.who, self.sealing, self.basis
        spent = basis.spent
        return Record(
            id=basis.id,
            kind=Kind.FACT,
            slot=self.slot(who.tenant, self.returning.cycle),
            content={
                "form": "cycle",
                "cycle": self.returning.cycle,
                "departure": [basis.left_by, self.departure, self.departed],
                "after": [basis.after.seq, basis.after.digest],
                "checkpoint": self.checkpoint,
                "policy": basis.policy,
                "outcome": None if self.outcome is None else self.outcome.value,
                "against": {
                    name: [[reason.value for reason in reasons], by]
                    for name, (reasons, by) in self.against.items()
                },
                "shown": list(self.shown),
                "experience": list(self.experience),
                "failures": [failure.value for failure in self.failures],
                "unknown": {n: [f.reason.value, f.by] for n, f in self.unknown.items()},
                "sealing": None
                if sealing is None
                else [sealing.expires, sealing.key, sealing.signature.hex()],
                "heard": basis.heard.as_json(),
                "spent": [spent.asked, spent.reused, spent.left, *_costs(spent.cost)],
                "workload": basis.workload,
            },
            valid=Interval(self.returning.at),
            scope=who,
            epoch=self.returning.epoch,
        )

    @classmethod
    def of(cls, record: Record) -> Decided:
        """Read a record that `record` wrote.

        Raises:
            InvalidValue: it holds something else.
        """
        try:
            return cls._read(record.id, record.content, record.scope, record.epoch, record.valid)
        except (AttributeError, KeyError, TypeError, ValueError):
            remedy = "pass what Decided.record() gives"
            raise InvalidValue("content", record.content, remedy) from None

    @classmethod
    def _read(
        cls, record_id: str, said: Mapping[str, Any], who: Scope, epoch: int, valid: Interval
    ) -> Decided:
        left_by, departure, departed = said["departure"]
        seq, link = said["after"]
        asked, reused, left, calls, prompt, completion = map(int, said["spent"])
        sealing = said["sealing"]
        if sealing is not None:
            expires, key, signature = sealing
            sealing = Sealing(int(expires), str(key), bytes.fromhex(signature))
        basis = Basis(
            id=record_id,
            left_by=str(left_by),
            after=Head(int(seq), str(link)),
            policy=str(said["policy"]),
            heard=Heard.from_json(said["heard"]),
            spent=Spent(asked, reused, left, Cost(calls, prompt, completion)),
            workload=str(said["workload"]),
        )
        return cls(
            basis=basis,
            returning=Returning(cycle=str(said["cycle"]), who=who, epoch=epoch, at=valid.since),
            departure=str(departure),
            departed=int(departed),
            checkpoint=str(said["checkpoint"]),
            outcome=None if said["outcome"] is None else Incomplete(said["outcome"]),
            against={
                str(name): (tuple(map(Reason, reasons)), str(by))
                for name, (reasons, by) in said["against"].items()
            },
            shown=ids("shown", said["shown"]),
            experience=ids("experience", said["experience"]),
            failures=tuple(map(Failure, said["failures"])),
            unknown={
                str(name): Fallen(Reason(reason), str(by))
                for name, (reason, by) in said["unknown"].items()
            },
            sealing=sealing,
        )


def _costs(cost: Cost) -> tuple[int, int, int]:
    return cost.calls, cost.prompt, cost.completion


def _chosen(blocked: Blocked) -> tuple[str, ...]:
    policy = blocked.eligible.policy
    found = select(blocked.eligible.shared, policy.budget, unsafe_relevance=policy.unsafe_relevance)
    return tuple(item.id for item in found.items)


def _against(ended: Sealed | Blocked) -> dict[str, tuple[tuple[Reason, ...], str]]:
    """What is not told by an item's end alone, and the last words about what is missing."""
    left: Mapping[str, tuple[Reason, ...]] = {}
    if isinstance(ended, Sealed):
        left = ended.left_out
    last = set[str]()
    if not isinstance(ended, Sealed):
        last = {one.last.item for one in ended.missing if one.last is not None}
    found: dict[str, tuple[tuple[Reason, ...], str]] = {}
    for judgement in ended.eligible.judgements:
        item = judgement.item
        reasons = left.get(item.id, judgement.reasons)
        counts = reasons not in ((), (Reason.NOT_NEEDED,)) and item.status in LIVE
        if counts or item.id in last:
            found[item.id] = reasons, judgement.by
    return found
