"""Item by item: the gates (paper, equation 2), each with reasons of its own.

Every gate is asked about every item, so that a report names all that speaks against an item and not
what happened to be found first. An item passes when at least one gate was set and none objects.

| gate | asks |
| --- | --- |
| authorization | may this tenant, principal and role see it |
| temporal | does it stand, by what the workspace says and by what was inferred |
| applicability | is it for this task and purpose, and of a kind that is asked for |
| provenance | does an accepted observer vouch for it, and for what it rests on as it was |
| size | does it alone fit |

A receipt binds; it does not make true. An authentic receipt of a cancelled booking stays authentic,
so provenance never speaks for validity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lapse.admission.reasons import Fallen, Reason
from lapse.ledger import Kind, Outcome

if TYPE_CHECKING:
    from lapse.admission.checkpoint import Returning
    from lapse.admission.items import WorkItem
    from lapse.ledger import Receipt

__all__ = ["GATES", "Gate", "Judgement", "Situation", "weigh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What the gates may know.

    Attributes:
        returning: who returns, when; its instant is the only one.
        items: every candidate, by id.
        fallen: what does not stand, and why.
        kinds: the kinds that are asked for.
        observers: whose receipts count; none: nobody's.
        item_chars: how many characters one item may have.
    """

    returning: Returning
    items: Mapping[str, WorkItem]
    fallen: Mapping[str, Fallen]
    kinds: frozenset[Kind]
    observers: frozenset[str]
    item_chars: int
    _digests: dict[str, str] = field(default_factory=dict[str, str], compare=False)

    def digest(self, item_id: str) -> str | None:
        """The digest of a candidate, computed once; None when it is not there."""
        found = self._digests.get(item_id)
        if found is None and item_id in self.items:
            found = self._digests[item_id] = self.items[item_id].digest()
        return found


@dataclass(frozen=True, slots=True)
class Gate:
    """One question about an item.

    Attributes:
        name: for reports.
        objections: the reasons against an item; none: it passes. It must not have effects; if it
            raises, the item is left out.
        looks_around: whether its answer may depend on more than the item, why it fell, the items
            that it rests on, and who returns. Such a gate is asked about every item again whenever
            anything changes (see `Readmission`).
    """

    name: str
    objections: Callable[[WorkItem, Situation], Sequence[Reason]]
    looks_around: bool = True


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the gates say about an item.

    Attributes:
        item: which.
        reasons: everything that speaks against it; none: it may be acted on.
        by: the item that brought it down; empty where none did.
    """

    item: WorkItem
    reasons: tuple[Reason, ...]
    by: str = ""

    @property
    def eligible(self) -> bool:
        """Whether it may be acted on."""
        return not self.reasons


def weigh(
    items: Iterable[WorkItem], situation: Situation, gates: Sequence[Gate]
) -> tuple[Judgement, ...]:
    """Ask every gate about every item; with no gate nothing passes."""
    asked = [gate.objections for gate in gates]
    fallen = situation.fallen
    return tuple(
        Judgement(
            item,
            _reasons(item, situation, asked),
            fallen[item.id].by if item.id in fallen else "",
        )
        for item in items
    )


def _reasons(
    item: WorkItem,
    situation: Situation,
    asked: Sequence[Callable[[WorkItem, Situation], Sequence[Reason]]],
) -> tuple[Reason, ...]:
    if not asked:
        return (Reason.NO_GATES,)
    found: tuple[Reason, ...] = ()
    for objections in asked:
        try:
            against = objections(item, situation)
            if against:
                found += tuple(against)
        except Exception:  # noqa: BLE001 - whatever a gate fails with, the item stays out
            found += (Reason.GATE_RAISED,)
    return found


def _authorization(item: WorkItem, situation: Situation) -> Sequence[Reason]:
    scope, who = item.scope, situation.returning.who
    if (  # as `Scope.admits`, of tenant, principal and role alone
        (scope.tenant is None or scope.tenant == who.tenant)
        and (scope.principal is None or scope.principal == who.principal)
        and (scope.role is None or scope.role == who.role)
    ):
        return ()
    return (Reason.AUTHORIZATION_DENIED,)


def _temporal(item: WorkItem, situation: Situation) -> Sequence[Reason]:
    fallen = situation.fallen.get(item.id)
    return () if fallen is None else (fallen.reason,)


def _applicability(item: WorkItem, situation: Situation) -> Sequence[Reason]:
    scope, who = item.scope, situation.returning.who
    found: tuple[Reason, ...] = ()
    if scope.task is not None and scope.task != who.task:
        found += (Reason.OTHER_TASK,)
    if (scope.purpose is not None and scope.purpose != who.purpose) or (
        item.purposes and who.purpose not in item.purposes
    ):
        found += (Reason.OTHER_PURPOSE,)
    if item.kind not in situation.kinds:
        found += (Reason.OTHER_KIND,)
    return found


def _provenance(item: WorkItem, situation: Situation) -> Sequence[Reason]:
    at, observers = situation.returning.at, situation.observers
    known = [r for r in item.receipts if r.at <= at and r.observer in observers]
    if not known:
        return (Reason.PROVENANCE_MISSING,)
    found: tuple[Reason, ...] = ()
    against = [receipt.at for receipt in known if receipt.outcome is Outcome.CONTRADICTS]
    if against and max(against) == max(receipt.at for receipt in known):
        found += (Reason.CONTRADICTED,)
    if item.stamps:
        found += _binding(item, situation, known)
    return found


def _binding(item: WorkItem, situation: Situation, known: Sequence[Receipt]) -> tuple[Reason, ...]:
    """Whether what it rests on is what it was, and a receipt says so."""
    bound = [(s.source, s.version) for s in item.stamps if s.source.kind == "record"]
    if not bound:
        return ()
    confirmed = {(r.source, r.digest) for r in known if r.outcome is Outcome.CONFIRMS}
    found: tuple[Reason, ...] = ()
    if not confirmed.issuperset(bound):
        found += (Reason.PROVENANCE_UNBOUND,)
    if any(situation.digest(source.name) != seen for source, seen in bound):
        found += (Reason.PROVENANCE_DRIFT,)
    return found


def _size(item: WorkItem, situation: Situation) -> Sequence[Reason]:
    return (Reason.TOO_LARGE,) if len(item.text) > situation.item_chars else ()


GATES = (
    Gate("authorization", _authorization, looks_around=False),
    Gate("temporal", _temporal, looks_around=False),
    Gate("applicability", _applicability, looks_around=False),
    Gate("provenance", _provenance, looks_around=False),
    Gate("size", _size, looks_around=False),
)
"""All five; what `Policy` uses unless told otherwise."""
