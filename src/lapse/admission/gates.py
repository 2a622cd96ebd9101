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
from lapse.ledger import Kind, Outcome, Scope, Source

if TYPE_CHECKING:
    from lapse.admission.checkpoint import Returning
    from lapse.admission.items import WorkItem

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
    """

    name: str
    objections: Callable[[WorkItem, Situation], Sequence[Reason]]


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
    return tuple(
        Judgement(item, _reasons(item, situation, gates), _by(situation.fallen.get(item.id)))
        for item in items
    )


def _reasons(item: WorkItem, situation: Situation, gates: Sequence[Gate]) -> tuple[Reason, ...]:
    if not gates:
        return (Reason.NO_GATES,)
    found: list[Reason] = []
    for gate in gates:
        try:
            found += gate.objections(item, situation)
        except Exception:  # noqa: BLE001 - whatever a gate fails with, the item stays out
            found.append(Reason.GATE_RAISED)
    return tuple(found)


def _by(fallen: Fallen | None) -> str:
    return "" if fallen is None else fallen.by


def _authorization(item: WorkItem, situation: Situation) -> Sequence[Reason]:
    scope, who = item.scope, situation.returning.who
    who_may = Scope(tenant=scope.tenant, principal=scope.principal, role=scope.role)
    return () if who_may.admits(who) else (Reason.AUTHORIZATION_DENIED,)


def _temporal(item: WorkItem, situation: Situation) -> Sequence[Reason]:
    fallen = situation.fallen.get(item.id)
    return () if fallen is None else (fallen.reason,)


def _applicability(item: WorkItem, situation: Situation) -> Sequence[Reason]:
    scope, who = item.scope, situation.returning.who
    found: list[Reason] = []
    if scope.task not in (None, who.task):
        found.append(Reason.OTHER_TASK)
    if scope.purpose not in (None, who.purpose) or (
        item.purposes and who.purpose not in item.purposes
    ):
        found.append(Reason.OTHER_PURPOSE)
    if item.kind not in situation.kinds:
        found.append(Reason.OTHER_KIND)
    return found


def _provenance(item: WorkItem, situation: Situation) -> Sequence[Reason]:
    at = situation.returning.at
    known = [r for r in item.receipts if r.observer in situation.observers and r.at <= at]
    if not known:
        return (Reason.PROVENANCE_MISSING,)
    latest = max(receipt.at for receipt in known)
    confirmed = {
        (receipt.source, receipt.digest) for receipt in known if receipt.outcome is Outcome.CONFIRMS
    }
    found: list[Reason] = []
    if any(r.at == latest and r.outcome is Outcome.CONTRADICTS for r in known):
        found.append(Reason.CONTRADICTED)
    if item.rests_on:
        bound = {s.source.name: s.version for s in item.stamps if s.source.kind == "record"}
        if any((Source.record(name), seen) not in confirmed for name, seen in bound.items()):
            found.append(Reason.PROVENANCE_UNBOUND)
        if any(situation.digest(name) != seen for name, seen in bound.items()):
            found.append(Reason.PROVENANCE_DRIFT)
    return found


def _size(item: WorkItem, situation: Situation) -> Sequence[Reason]:
    return (Reason.TOO_LARGE,) if len(item.text) > situation.item_chars else ()


GATES = (
    Gate("authorization", _authorization),
    Gate("temporal", _temporal),
    Gate("applicability", _applicability),
    Gate("provenance", _provenance),
    Gate("size", _size),
)
"""All five; what `Policy` uses unless told otherwise."""
