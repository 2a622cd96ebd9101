"""The return cycle: from a checkpoint to a signed view, or to what is missing for one.

::

    Captured ──► Screened ──► Judged ──► Eligible ──► Selected ──► Sealed
                  │    ▲                     │
         questions ▼    │ answers             └──► Blocked
                 whoever answers

1. Captured: one checkpoint and one policy; nothing else is looked at from here on.
2. Screened: the workspace's own history has spoken, and the scans are known.
3. Judged: answers have come, or their absence counts; what rests on the fallen fell too.
4. Eligible: every gate was asked about every item.
5. Selected: the chosen set covers what is owed. A set that does not is Blocked: nothing of it is
   shown, and what is missing is named. A policy says whether the agent then waits or starts anew
   (or, to measure what this gate is worth, that it is shown all the same).
6. Sealed: the view is signed; private experience comes back only with its source.

A state is never changed. A second return starts from another checkpoint, and the first view stays
what it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from lapse.admission.coverage import Coverage, Missing, measure, missing
from lapse.admission.disputes import Dispute, disputes_in
from lapse.admission.gates import Judgement, weigh
from lapse.admission.lifecycle import (
    History,
    UnknownCurrent,
    explicit,
    unknown_current,
)
from lapse.admission.obligations import obligations_in
from lapse.admission.policy import Incomplete, Policy
from lapse.admission.premises import settle
from lapse.admission.questions import Pair, Proposals, Scan, judge, propose, scans
from lapse.admission.reasons import Failure, Fallen, Reason
from lapse.admission.selection import Selection, select
from lapse.admission.view import ReturnView, SignedView, sign
from lapse.ledger import Kind

if TYPE_CHECKING:
    from lapse.admission.checkpoint import Checkpoint
    from lapse.admission.items import WorkItem
    from lapse.ledger import Signer

__all__ = [
    "Blocked",
    "Captured",
    "Eligible",
    "Judged",
    "Screened",
    "Sealed",
    "Selected",
    "admit",
]


@dataclass(frozen=True, slots=True)
class Captured:
    """The state to decide on, and how."""

    checkpoint: Checkpoint
    policy: Policy

    def next(self) -> Screened:
        """Apply the explicit rules."""
        history = explicit(self.checkpoint, self.policy.ranks)
        settle(self.checkpoint.items, history)  # what fell already is asked nothing
        asked: tuple[Scan, ...] = ()
        if not self.policy.unsafe_without_inference:
            asked = tuple(scans(self.checkpoint, history.fallen))
        return Screened(self.checkpoint, self.policy, history, asked)


@dataclass(frozen=True, slots=True)
class Screened:
    """What the workspace's history says, and what it leaves to be asked."""

    checkpoint: Checkpoint
    policy: Policy
    history: History
    scans: tuple[Scan, ...]

    def proposals(self, scanned: Mapping[str, object]) -> Proposals:
        """The questions for a verifier, once the scans are answered (see `propose`)."""
        return propose(self.scans, scanned)

    def next(self, scanned: Mapping[str, object], answers: Mapping[Pair, object]) -> Judged:
        """Take the answers in; what was not answered counts against the item."""
        history = History(dict(self.history.fallen), dict(self.history.restated))
        for item_id, fallen in judge(self.proposals(scanned), answers).items():
            history.drop(item_id, fallen.reason, fallen.by)
        settle(self.checkpoint.items, history)
        unknown = unknown_current(self.checkpoint.items, history.fallen)
        disputes = disputes_in(self.checkpoint.items, history.fallen)
        return Judged(self.checkpoint, self.policy, history.fallen, unknown, disputes)


@dataclass(frozen=True, slots=True)
class Judged:
    """What stands and what fell, with the slots that nobody knows about or that are disputed."""

    checkpoint: Checkpoint
    policy: Policy
    fallen: Mapping[str, Fallen]
    unknown: tuple[UnknownCurrent, ...]
    disputes: tuple[Dispute, ...] = ()

    def next(self) -> Eligible:
        """Ask the gates."""
        items, policy = self.checkpoint.items, self.policy
        by_id = {item.id: item for item in items}
        situation = policy.situation(self.checkpoint.returning, by_id, self.fallen)
        judgements = weigh(items, situation, self.policy.gates)
        return Eligible(self.checkpoint, self.policy, self.unknown, judgements, self.disputes)


@dataclass(frozen=True, slots=True)
class Eligible:
    """Every item with all that speaks against it, and the disputes that are open."""

    checkpoint: Checkpoint
    policy: Policy
    unknown: tuple[UnknownCurrent, ...]
    judgements: tuple[Judgement, ...]
    disputes: tuple[Dispute, ...] = ()

    @property
    def shared(self) -> tuple[Judgement, ...]:
        """The judgements about what is shared; experience is no part of a set."""
        return tuple(j for j in self.judgements if j.item.kind is not Kind.EXPERIENCE)

    def digests(self) -> dict[str, str]:
        """The digests of the shared items that may be acted on: what `expose` compares with."""
        return {j.item.id: j.item.digest() for j in self.shared if j.eligible}

    def next(self) -> Selected | Blocked:
        """Choose a set that is enough, or say what is missing."""
        shared, policy = self.shared, self.policy
        selection = select(
            shared,
            policy.budget,
            selector=policy.selector,
            unsafe_relevance=policy.unsafe_relevance,
        )
        if policy.suffices(selection.failures):
            return Selected(self, selection)
        return block(self, selection, shared)


@dataclass(frozen=True, slots=True)
class Selected:
    """A set that is enough, or that an unsafe policy takes for enough."""

    eligible: Eligible
    selection: Selection

    def next(self, signer: Signer) -> Sealed:
        """Bind the set to the return, sign it, and let experience back with its sources."""
        judgements = self.eligible.judgements
        left = {j.item.id: j.reasons for j in self.eligible.shared if j.reasons}
        left |= {name: (reason,) for name, reason in self.selection.left.items()}
        private = (j for j in judgements if j.item.kind is Kind.EXPERIENCE)
        return seal(self.eligible, self.selection, signer, left=left, private=private)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """The view, signed.

    Attributes:
        eligible: what it was chosen from.
        view: what is shown.
        signed: the same as it travels.
        experience: the private experience that comes back, by id.
        left_out: every other item, with all that speaks against it.
        failures: why the set is not enough: none, unless the policy shows incomplete views.
    """

    eligible: Eligible
    view: ReturnView
    signed: SignedView
    experience: tuple[WorkItem, ...]
    left_out: Mapping[str, tuple[Reason, ...]]
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """No view, and why.

    Attributes:
        eligible: what there was to choose from.
        outcome: whether the agent waits or starts with nothing inherited.
        failures: why the set is not enough.
        coverage: how far it reached.
        missing: the dependencies that it lacks, who needs them, who spoke about them last.
        unknown: the slots whose old value is dead and whose new one nobody knows.
    """

    eligible: Eligible
    outcome: Incomplete
    failures: tuple[Failure, ...]
    coverage: Coverage
    missing: tuple[Missing, ...]
    unknown: tuple[UnknownCurrent, ...]


def block(eligible: Eligible, selection: Selection, about: Iterable[Judgement]) -> Blocked:
    """Say what a set lacks.

    Args:
        eligible: what it was chosen from.
        selection: the set.
        about: the judgements of the shared items that support what is lacking, or of all.
    """
    return Blocked(
        eligible=eligible,
        outcome=eligible.policy.when_incomplete,
        failures=selection.failures,
        coverage=selection.coverage,
        missing=missing(selection.obligations, selection.supported, about),
        unknown=eligible.unknown,
    )


def seal(
    eligible: Eligible,
    selection: Selection,
    signer: Signer,
    *,
    left: dict[str, tuple[Reason, ...]],
    private: Iterable[Judgement],
) -> Sealed:
    """Bind a set to its return, sign it, and let experience back with its sources.

    Args:
        eligible: what it was chosen from.
        selection: the set.
        signer: signs.
        left: what speaks against each shared item that is not shown; the caller gives it away.
        private: the judgements of private experience, by id.
    """
    checkpoint, policy = eligible.checkpoint, eligible.policy
    items, coverage = selection.items, selection.coverage
    if selection.failures:  # a view reports what its own items add up to, and no more
        coverage = measure(obligations_in(items), selection.supported)
    view = ReturnView.of(
        items,
        coverage,
        returning=checkpoint.returning,
        checkpoint=checkpoint.digest(),
        expires=checkpoint.returning.at + policy.lifetime_us,
    )
    experience, withheld = _readmit(eligible, private, {item.id for item in view.items})
    left.update(withheld)
    return Sealed(
        eligible=eligible,
        view=view,
        signed=sign(view, signer),
        experience=experience,
        left_out=left,
        failures=selection.failures,
    )


_OF_SOURCES = frozenset(
    {
        Reason.DEPENDENCY_LAPSED,
        Reason.DEPENDENCY_UNKNOWN,
        Reason.PROVENANCE_UNBOUND,
        Reason.PROVENANCE_DRIFT,
        Reason.NO_SOURCE,
        Reason.SOURCE_NOT_SHOWN,
    }
)
"""What speaks against the sources of an experience, and not against the experience itself."""


def admit(
    checkpoint: Checkpoint,
    policy: Policy,
    *,
    scanned: Mapping[str, object],
    answers: Mapping[Pair, object],
    signer: Signer,
) -> Sealed | Blocked:
    """Run a whole cycle with answers that are there already.

    Raises:
        InvalidValue: the view holds something that has no canonical form.
    """
    state: _Open | Sealed | Blocked = Captured(checkpoint, policy)
    while not isinstance(state, Sealed | Blocked):
        state = _step(state, scanned, answers, signer)
    return state


_Open = Captured | Screened | Judged | Eligible | Selected
"""The states that lead on."""


def _step(
    state: _Open, scanned: Mapping[str, object], answers: Mapping[Pair, object], signer: Signer
) -> _Open | Sealed | Blocked:
    match state:
        case Captured() | Judged() | Eligible():
            return state.next()
        case Screened():
            return state.next(scanned, answers)
        case Selected():
            return state.next(signer)
    assert_never(state)


def _readmit(
    eligible: Eligible, private: Iterable[Judgement], shown: set[str]
) -> tuple[tuple[WorkItem, ...], dict[str, tuple[Reason, ...]]]:
    """The experience that comes back, and the rest with reasons.

    An experience is its owner's alone, and all its sources have to be in the view. A policy that
    does not bind it to its sources waives what speaks against them, and nothing else.
    """
    waived = _OF_SOURCES if eligible.policy.unsafe_unbound_experience else frozenset[Reason]()
    returned: list[WorkItem] = []
    withheld: dict[str, tuple[Reason, ...]] = {}
    principal = eligible.checkpoint.returning.who.principal
    for judgement in private:
        item = judgement.item
        reasons = list(judgement.reasons)
        if item.scope.principal != principal and Reason.AUTHORIZATION_DENIED not in reasons:
            reasons.append(Reason.AUTHORIZATION_DENIED)
        if not item.rests_on:
            reasons.append(Reason.NO_SOURCE)
        elif not shown.issuperset(item.rests_on):
            reasons.append(Reason.SOURCE_NOT_SHOWN)
        reasons = [reason for reason in reasons if reason not in waived]
        if reasons:
            withheld[item.id] = tuple(reasons)
        else:
            returned.append(item)
    return tuple(returned), withheld
