"""What stands between an attacker and a returning agent, with every control that can be weakened.

The scene is the travel case (`lapse_bench.travel`). A `Defence` runs return cycles and exposes
views with all controls on, or without those that are named: they are left out by configuration
(`Policy`, the gates it lists, ``expose(unsafe_without=…)``, the keys that a verifier knows), and
nothing is patched. `RENDERING` alone has no switch: without it the attack meets a block of text as
a program writes it that formats strings by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Final

from lapse.admission import (
    GATES,
    Blocked,
    Captured,
    Refusal,
    Refused,
    ReturnView,
    Sealed,
    admit,
    expose,
    render,
)
from lapse.signing import HmacKeys
from lapse_bench.travel import POLICY, SECOND, back, honest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from lapse.admission import Checkpoint, Pair, Policy, SignedView, WorkItem
    from lapse.ledger import Verifier

__all__ = [
    "ATTACKER",
    "KEYS",
    "STRANGER",
    "AdmissionCase",
    "Control",
    "Defence",
    "Outcome",
    "complete",
    "complete_with",
]

_SECRET: Final = b"the workspace's key, 32 bytes or more"
KEYS: Final = HmacKeys({"k1": _SECRET}, sign_with="k1")
"""What views are signed with."""

_ROTATED: Final = HmacKeys({"k2": b"the key after the rotation, 32 bytes"}, sign_with="k2")
_KEPT: Final = HmacKeys(
    {"k1": _SECRET, "k2": b"the key after the rotation, 32 bytes"}, sign_with="k2"
)

ATTACKER: Final = HmacKeys({"k1": b"the attacker's own key, 32 bytes or more"}, sign_with="k1")
"""It calls its key as the workspace calls its own."""


class Control(StrEnum):
    """One control."""

    # on exposure
    SIGNATURE = "signature"
    DIGESTS = "digests"
    CYCLE = "cycle"
    TENANT = "tenant"
    PRINCIPAL = "principal"
    ROLE = "role"
    TASK = "task"
    PURPOSE = "purpose"
    REVISION = "revision"
    ISSUE = "issue"
    EXPIRY = "expiry"
    ITEMS = "items"
    COVERAGE = "coverage report"
    ROTATION = "key rotation"
    RENDERING = "rendering"
    # gates
    AUTHORIZATION = "authorization gate"
    TEMPORAL = "temporal gate"
    APPLICABILITY = "applicability gate"
    PROVENANCE = "provenance gate"
    SIZE = "size gate"
    # policy
    INFERENCE = "inference"
    COMPLETENESS = "complete-view gate"
    BINDING = "binding of experience"
    RANKS = "ranks"
    OBSERVERS = "accepted observers"


_REFUSALS: Final = {
    Control.SIGNATURE: Refusal.SIGNATURE_INVALID,
    Control.DIGESTS: Refusal.DIGEST_MISMATCH,
    Control.CYCLE: Refusal.CYCLE_MISMATCH,
    Control.TENANT: Refusal.TENANT_MISMATCH,
    Control.PRINCIPAL: Refusal.PRINCIPAL_MISMATCH,
    Control.ROLE: Refusal.ROLE_MISMATCH,
    Control.TASK: Refusal.TASK_MISMATCH,
    Control.PURPOSE: Refusal.PURPOSE_MISMATCH,
    Control.REVISION: Refusal.EPOCH_MISMATCH,
    Control.ISSUE: Refusal.NOT_YET_ISSUED,
    Control.EXPIRY: Refusal.VIEW_EXPIRED,
    Control.ITEMS: Refusal.ITEM_LAPSED,
    Control.COVERAGE: Refusal.COVERAGE_MISMATCH,
}
_GATES: Final = {
    Control.AUTHORIZATION: "authorization",
    Control.TEMPORAL: "temporal",
    Control.APPLICABILITY: "applicability",
    Control.PROVENANCE: "provenance",
    Control.SIZE: "size",
}

STRANGER: Final = "stranger"
"""An observer whom no policy accepts."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attack.

    Attributes:
        through: whether the attacker got what it wanted.
        reasons: what was said against it; empty where nothing was.
    """

    through: bool
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Defence:
    """All controls but those that are off."""

    off: frozenset[Control] = frozenset()

    def policy(self, policy: Policy = POLICY) -> Policy:
        """A policy without the controls that are off."""
        off = {_GATES[control] for control in self.off & _GATES.keys()}
        changed: dict[str, Any] = {
            "gates": tuple(gate for gate in GATES if gate.name not in off),
            "unsafe_without_inference": Control.INFERENCE in self.off,
            "unsafe_incomplete_views": Control.COMPLETENESS in self.off,
            "unsafe_unbound_experience": Control.BINDING in self.off,
        }
        if Control.RANKS in self.off:
            changed["ranks"] = {}
        if Control.OBSERVERS in self.off:
            changed["observers"] = policy.observers | {STRANGER}
        return replace(policy, **changed)

    def decide(
        self,
        checkpoint: Checkpoint,
        policy: Policy = POLICY,
        *,
        asked: Callable[[Captured], tuple[Mapping[str, object], Mapping[Pair, object]]] = honest,
    ) -> Sealed | Blocked:
        """A whole return cycle."""
        captured = Captured(checkpoint, self.policy(policy))
        scanned, answers = asked(captured)
        return admit(checkpoint, captured.policy, scanned=scanned, answers=answers, signer=KEYS)

    def shows(self, item_id: str, found: Sealed | Blocked) -> Outcome:
        """Whether a cycle shows an item, and what speaks against it."""
        if isinstance(found, Sealed) and item_id in {item.id for item in found.view.items}:
            return Outcome(through=True)
        (judgement,) = (j for j in found.eligible.judgements if j.item.id == item_id)
        return Outcome(through=False, reasons=tuple(reason.value for reason in judgement.reasons))

    def ask(
        self,
        signed: SignedView,
        sealed: Sealed,
        *,
        verifier: Verifier = KEYS,
        current: Mapping[str, str] | None = None,
        **asking: Any,
    ) -> Outcome:
        """Whether a view is exposed to whoever asks like this.

        Args:
            signed: what is presented.
            sealed: the honest outcome, whose return asks unless `asking` changes it.
            verifier: the keys that are known.
            current: what passes the gates now; as at the return when None.
            asking: fields of the return that asks.
        """
        found = expose(
            signed,
            verifier,
            replace(sealed.view.returning, **asking),
            sealed.eligible.digests() if current is None else current,
            unsafe_without={_REFUSALS[control] for control in self.off & _REFUSALS.keys()},
        )
        if isinstance(found, Refused):
            return Outcome(through=False, reasons=tuple(reason.value for reason in found.reasons))
        return Outcome(through=True)

    @property
    def rotated(self) -> HmacKeys:
        """The keys after a rotation; without that control the old one is still among them."""
        return _KEPT if Control.ROTATION in self.off else _ROTATED

    def text(self, view: ReturnView) -> str:
        """The block of text that a model reads."""
        if Control.RENDERING not in self.off:
            return render(view)
        said = "\n".join(f"- {item.text}" for item in view.items)
        return f"<return-view>\n{said}\n</return-view>"


@cache
def complete() -> Sealed:
    """The honest view, made with every control on."""
    return _sealed(SECOND)


def complete_with(pickup: WorkItem) -> Sealed:
    """An honest view with another pickup."""
    return _sealed(back(pickup))


def _sealed(checkpoint: Checkpoint) -> Sealed:
    found = Defence().decide(checkpoint)
    if isinstance(found, Blocked):  # the attacks would prove nothing
        raise TypeError(f"the honest return is blocked: {found.failures}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionCase:
    """One attack.

    Attributes:
        name: what it is called.
        attack: what the attacker does.
        gains: what it gets where it gets through.
        run: plays it against a defence.
        refused_as: what is said against it with every control on; empty: nothing is.
        controls: what has to be weakened for it to get through, all of these together; empty: it is
            refused whatever is weakened.
        residual: what is left, in words.
        known_limit: whether nothing stops it, as the documentation says.
        panel: whether it is a row of the source's security panel.
    """

    name: str
    attack: str
    gains: str
    run: Callable[[Defence], Outcome]
    refused_as: tuple[str, ...]
    controls: tuple[Control, ...] = ()
    residual: str = ""
    known_limit: bool = False
    panel: bool = False

    def run_strong(self) -> Outcome:
        """Play it with every control on."""
        return self.run(Defence())
