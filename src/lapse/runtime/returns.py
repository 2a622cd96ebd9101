"""The return of a member, from the moment it is back to a stored decision.

1. The member is `returning`, durably, under the id of the cycle. Whoever is killed from here on
   leaves it so; the same cycle goes on where it was, and another one takes over.
2. The departure is made again, the checkpoint taken, and the questions are answered. Meanwhile the
   ledger is free: if the workspace moved, the checkpoint is taken anew.
3. The member's step, the decision and the view's signature are one append. Nobody has seen
   anything before it is durable, and a cycle that was taken over writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass, fields, replace
from typing import TYPE_CHECKING, cast

from lapse.admission import (
    Budget,
    Captured,
    Incomplete,
    Presence,
    Returning,
    Screened,
    Sealed,
    Selected,
    difference,
    merge,
)
from lapse.errors import IllegalChange, InvalidValue, LedgerNotTrusted, StoreConflict
from lapse.ledger import Break, BreakKind, ChangeKind, Draft, Part, canonical, digest, writing
from lapse.runtime.decided import Basis, Decided, Spent
from lapse.runtime.departures import departure_of, state_at
from lapse.runtime.heard import NOTHING, Heard
from lapse.runtime.judging import Allowance
from lapse.runtime.workspace_forms import Departed
from lapse.runtime.workstate import Holding, Snapshot, Workstate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lapse.admission import Blocked, Member, Policy
    from lapse.ledger import Ids, Instant, Record, Scope, Signer, State, Verifier
    from lapse.runtime.judging import Judging, Looked

__all__ = ["Returns", "Taken", "in_place", "policy_digest", "stepping"]

_Parts = Mapping[object, object]

_MOST_ROUNDS = 8
"""How often a checkpoint is taken anew because the workspace moved while questions were answered;
each round asks only about what came since."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A checkpoint that was taken of a workspace, and what its history says.

    Attributes:
        snapshot: the workspace.
        left: the departure it starts from.
        screened: the cycle, before any question.
    """

    snapshot: Snapshot
    left: Departed
    screened: Screened


class Returns:
    """Runs the returns of one workspace. Safe to call from several threads."""

    __slots__ = (
        "_clock",
        "_ids",
        "_judging",
        "_policy",
        "_session",
        "_signer",
        "_verifier",
        "_workstate",
    )

    def __init__(
        self,
        held: Holding,
        *,
        policy: Policy,
        signer: Signer,
        verifier: Verifier,
        judging: Judging | None,
    ) -> None:
        self._session = held.session
        self._workstate = held.workstate
        self._clock = held.clock
        self._ids = held.ids
        self._policy = policy
        self._signer = signer
        self._verifier = verifier
        self._judging = judging

    # -- looking ahead -----------------------------------------------------------------------

    def screened(self, member: Scope, returning: Callable[[Snapshot], Returning]) -> Taken:
        """The checkpoint of a return into the workspace as it is now, after the explicit rules.

        Raises:
            InvalidValue: the member never left.
            LedgerNotTrusted: the ledger does not add up to what it left with.
        """
        with self._session.lock:
            state = self._session.catch_up()
            snapshot = self._workstate.at(state)
            left = self._departed(state, member)
            departure = departure_of(self._session.store, state, snapshot, left)
        delta = difference(departure, snapshot.items, epoch=snapshot.epoch)
        checkpoint = merge(departure, delta, returning(snapshot))
        return Taken(snapshot, left, Captured(checkpoint, self._policy).next())

    def look(
        self, screened: Screened, allowance: Allowance | None, before: Looked | None = None
    ) -> Looked | None:
        """Answer what a return leaves to be asked; None where nobody answers.

        Raises:
            StoreError: rulings could not be read or kept.
        """
        if self._judging is None:
            return None
        failed = None if before is None else before.failed
        return self._judging.look(screened, allowance=allowance, failed=failed)

    def look_ahead(self, member: Scope, allowance: Allowance | None) -> Looked | None:
        """Answer what the return of a member would ask now; None where nobody answers.

        Raises:
            InvalidValue: the member never left, or is here.
            StoreError: rulings could not be read or kept.
        """
        who = replace(member, purpose="-")  # no question depends on it
        taken = self.screened(member, _into("-", who, self._clock.now()))
        there = taken.snapshot.members.get(member)
        if there is not None and there.presence in (Presence.ACTIVE, Presence.ADMITTED):
            raise InvalidValue("identity", member, "scan while it is away; it is here")
        return self.look(taken.screened, allowance)

    # -- returning ---------------------------------------------------------------------------

    def run(
        self, who: Scope, cycle: str, workload: str, allowance: Allowance | None
    ) -> tuple[Decided, Sealed | Blocked, bool]:
        """Run a return to its end; one that ended already is taken again from the ledger.

        Returns:
            How it was decided, what came of it, and whether it was decided just now.

        Raises:
            InvalidValue: the member never left, or the cycle was decided under another policy.
            IllegalChange: the member is not away, or another cycle took over.
            StoreConflict: the workspace moved all the time; the member is still returning.
            StoreError: the step that failed was not taken.
        """
        done = self._begin(who, cycle)
        if done is not None:
            return done, self.again(done), False
        spent, heard, looked = Spent(), NOTHING, None
        for _ in range(_MOST_ROUNDS):
            at = self._clock.now()
            taken = self.screened(replace(who, purpose=None), _into(cycle, who, at))
            looked = self.look(taken.screened, allowance, looked)
            if looked is not None:
                spent, allowance = spent.and_then(looked), _less(allowance, looked)
                heard = Heard.of(taken.screened.scans, looked.scanned, looked.answers)
            else:
                heard = Heard.of(taken.screened.scans, {}, {})
            ended = self._decided(taken.screened, heard)
            basis = Basis(
                id=self._ids.new(),
                left_by=taken.left.id,
                after=taken.snapshot.head,
                policy=policy_digest(self._policy),
                heard=heard,
                spent=spent,
                workload=workload,
            )
            decided = Decided.of_cycle(ended, basis)
            kept = self._end(taken.snapshot, decided, at)
            if kept is not None:
                return (kept, ended, True) if kept is decided else (kept, self.again(kept), False)
        msg = f"the workspace moved {_MOST_ROUNDS} times while the return was decided; begin again"
        raise StoreConflict(msg)

    def again(self, decided: Decided) -> Sealed | Blocked:
        """A decision taken again from what the ledger held then, and from what was heard then.

        Raises:
            InvalidValue: it would not be the same: it was decided under another policy, or
                something that it was decided on was purged.
            LedgerNotTrusted: the ledger does not add up to what was decided on, or the view is not
                what was signed.
        """
        cycle, basis = decided.returning.cycle, decided.basis
        if basis.policy != policy_digest(self._policy):
            remedy = "open the workspace with the policy of that return, or ask for its view"
            raise InvalidValue("policy", basis.policy, remedy)
        with self._session.lock:
            state = self._session.catch_up()
            left = Departed.of(state.record(basis.left_by))
            store, now = self._session.store, self._workstate.at(state)
            departure = departure_of(store, state, now, left)
            then = state_at(store, basis.after)
        snapshot = Workstate(self._workstate.tenant).at(then)
        delta = difference(departure, snapshot.items, epoch=snapshot.epoch)
        checkpoint = merge(departure, delta, decided.returning)
        if checkpoint.digest() != decided.checkpoint:
            remedy = "what it was decided on was purged since; explain() says what is left of it"
            raise InvalidValue("cycle", cycle, remedy)
        ended = self._decided(Captured(checkpoint, self._policy).next(), basis.heard)
        if not isinstance(ended, Sealed):
            return ended
        signed = decided.view(snapshot.by_id.get)
        if signed is None or not self._verifier.verify(
            signed.key, signed.message, signed.signature
        ):
            detail = f"the view of cycle {cycle!r} is not what was signed"
            raise LedgerNotTrusted(Break(BreakKind.TAMPERED, basis.after.seq, detail))
        return replace(ended, signed=signed)

    def found(self, state: State, cycle: str) -> Decided | None:
        """The decision of a cycle; None where there is none."""
        held = state.in_slot("", Decided.slot(self._workstate.tenant, cycle))
        return Decided.of(held[-1]) if held else None

    def _decided(self, screened: Screened, heard: Heard) -> Sealed | Blocked:
        judged = screened.next(heard.scanned(screened.scans), heard.answered())
        chosen = judged.next().next()
        return chosen.next(self._signer) if isinstance(chosen, Selected) else chosen

    def _begin(self, who: Scope, cycle: str) -> Decided | None:
        """Put the member on its way back; gives the decision of a cycle that ended already."""
        identity = replace(who, purpose=None)

        def decide(state: State) -> tuple[Decided | None, Sequence[Draft]]:
            snapshot = self._workstate.at(state)
            done = self.found(state, cycle)
            if done is not None:
                if done.returning.who != who:
                    raise InvalidValue(
                        "cycle", cycle, "it belongs to another return; pass a new id"
                    )
                return done, ()
            member = snapshot.members.get(identity)
            if member is None:
                remedy = "let it depart first: what it knew is what its return is decided on"
                raise InvalidValue("identity", identity, remedy)
            if member.presence is Presence.RETURNING and member.cycle == cycle:
                return None, ()
            at = self._clock.now()
            step = member.begin_return(cycle=cycle, epoch=snapshot.epoch, at=at)
            return None, stepping(state, step, ids=self._ids, reason="begun")

        return self._session.write(decide)

    def _end(self, snapshot: Snapshot, decided: Decided, at: Instant) -> Decided | None:
        """Store the decision with the member's step.

        Returns:
            The decision that is stored, which may be one that another took of this very cycle; None
            when the workspace moved meanwhile, so that nothing was stored.
        """
        returning = decided.returning

        def decide(state: State) -> tuple[Decided | None, Sequence[Draft]]:
            done = self.found(state, returning.cycle)
            if done is not None:
                return done, ()
            now = self._workstate.at(state)
            member = now.members.get(replace(returning.who, purpose=None))
            if member is None or (member.presence, member.cycle) != (
                Presence.RETURNING,
                returning.cycle,
            ):
                msg = f"cycle {returning.cycle!r} was taken over by another return of this member"
                raise IllegalChange(msg)
            if now.epoch != snapshot.epoch or now.by_id != snapshot.by_id:
                return None, ()
            waits = decided.outcome is Incomplete.BLOCK
            step = (member.block if waits else member.admit)(epoch=now.epoch, at=at)
            reason = step.presence.value
            actor = str(returning.who.principal)
            salt = self._ids.new()
            record = decided.record()
            return decided, (
                *stepping(state, step, ids=self._ids, reason=reason),
                *writing(state, record, at=at, reason=reason, actor=actor, salt=salt),
            )

        return self._session.write(decide)

    def _departed(self, state: State, member: Scope) -> Departed:
        held = state.in_slot("", Departed.slot(member))
        if not held:
            remedy = "let it depart first: what it knew is what its return is decided on"
            raise InvalidValue("identity", member, remedy)
        return Departed.of(held[-1])


def policy_digest(policy: Policy) -> str:
    """SHA-256, in hex, of a policy; of its gates, and of what else is no value, the names count."""
    parts = {part.name: _plain(getattr(policy, part.name)) for part in fields(policy)}
    return digest(canonical(["lapse policy", 1, parts]))


def _plain(value: object) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(name): _plain(one) for name, one in cast("_Parts", value).items()}
        case set() | frozenset():
            return sorted(map(str, cast("Collection[object]", value)))
        case tuple() | list():
            return [_plain(one) for one in cast("Collection[object]", value)]
        case Budget():
            return [_plain(part) for part in astuple(value)]
        case _:
            return str(getattr(value, "name", type(value).__name__))


def stepping(state: State, member: Member, *, ids: Ids, reason: str) -> tuple[Draft, ...]:
    """A member's step: a version of its slot, in place of the one before."""
    who = str(member.identity.principal)
    return in_place(state, member.record(ids.new()), ids=ids, reason=reason, actor=who)


def in_place(
    state: State, record: Record, *, ids: Ids, reason: str, actor: str
) -> tuple[Draft, ...]:
    """Write a record, and let it supersede what its slot holds."""
    at = record.valid.since
    drafts = writing(state, record, at=at, reason=reason, actor=actor, salt=ids.new())
    held = state.in_slot("", record.slot)
    if not held:
        return drafts
    parts = tuple(Part.of(one.id, {"by": record.id}, salt=ids.new()) for one in held)
    kind = ChangeKind.SUPERSEDED
    return (*drafts, Draft(kind=kind, at=at, reason="superseded", actor=actor, parts=parts))


def _into(cycle: str, who: Scope, at: Instant) -> Callable[[Snapshot], Returning]:
    return lambda snapshot: Returning(cycle=cycle, who=who, epoch=snapshot.epoch, at=at)


def _less(allowance: Allowance | None, looked: Looked) -> Allowance | None:
    """What is left of an allowance after a look."""
    if allowance is None:
        return None
    cost = looked.cost

    def rest(limit: int | None, used: int) -> int | None:
        return None if limit is None else max(0, limit - used)

    return Allowance(
        pairs=rest(allowance.pairs, looked.asked),
        calls=rest(allowance.calls, cost.calls),
        tokens=rest(allowance.tokens, cost.prompt + cost.completion),
    )
