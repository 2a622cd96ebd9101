"""`lapse` as a way to come back: the real cycle of `lapse.admission`, from claims to a signed view.

1. What was written becomes work state (`lapse_bench.returns.lapse_items`).
2. The explicit rules speak. Where writers of equal authority differ, the verifier is asked which
   side stands, and its ruling resolves the dispute as a decision of higher authority. Without a
   verifier, or when it cannot tell, both sides stay out.
3. What the history leaves to be asked goes to proposers and a verifier
   (`lapse.runtime.Judging`). Without them nobody looks, and only explicit changes count.
4. Gates, obligations, selection; the view is signed, opened again, and what it shows is admitted.

What the obligation requires is what the workload names (`ReturnEpisode.needs`), and nothing is
shown when some of that is missing. A workload that names nothing wants whatever is known on its
topic: then a blocked return is narrowed by what it says is missing, and asked once more. Narrowing
asks no model again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from lapse.admission import (
    Blocked,
    Budget,
    Captured,
    Decision,
    Policy,
    Question,
    Returning,
    ReturnView,
    Verdict,
    capture,
    difference,
    disputes_in,
    expose,
    merge,
    settlement,
)
from lapse.errors import LapseError, NoVerdict
from lapse.ledger import Status
from lapse.runtime import FREE, Cost, RulingsInMemory
from lapse.signing import HmacKeys
from lapse_bench.returns.episodes import UNLIMITED, Admission
from lapse_bench.returns.lapse_items import LOG, MEMBER, SETTLED, obligation, ranks_of, worked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lapse.admission import Checkpoint, Eligible, Pair, Screened, Sealed, WorkItem
    from lapse.runtime import Judging, PairJudge
    from lapse_bench.returns import episodes

__all__ = ["LAPSE", "LapseMethod", "Outcome", "screened"]

_KEYS: Final = HmacKeys(
    {"bench": hashlib.sha256(b"lapse-bench returns").digest()}, sign_with="bench"
)
"""Public on purpose: it shows what signing costs, and protects nothing here."""

_LONG: Final = 10**9
"""More items and characters than any episode has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One return in full.

    Attributes:
        view: what the agent is shown; None when the return was blocked.
        eligible: what it was chosen from, with the reasons against the rest.
        upheld: for a ruling's id, the claim that it upholds.
        cost: calls and tokens.
        asked: questions that went to the verifier.
    """

    view: ReturnView | None
    eligible: Eligible
    upheld: Mapping[str, str]
    cost: Cost
    asked: int

    def claims(self) -> frozenset[str]:
        """The ids of the claims that are shown."""
        if self.view is None:
            return frozenset()
        shown = (self.upheld.get(item.id, item.id) for item in self.view.items)
        return frozenset(shown) - {"obligation", "frontier"}


@dataclass(frozen=True, slots=True)
class LapseMethod:
    """The method.

    Attributes:
        name: what tables call it.
        judging: who answers what the history leaves to be asked; None: nobody looks.
        premises: whether declared premises count; without them only links do.
    """

    name: str = "lapse"
    judging: Judging | None = None
    premises: bool = True

    def admit(self, episode: episodes.ReturnEpisode, budget: episodes.Budget) -> Admission:
        """Which claims the signed view shows."""
        came = self.come_back(episode, budget)
        return Admission(items=came.claims(), calls=came.cost.calls, tokens=came.cost.tokens)

    def come_back(self, episode: episodes.ReturnEpisode, budget: episodes.Budget) -> Outcome:
        """Run a whole return."""
        inferring = self.judging is not None
        policy = _policy(episode, budget, inferring=inferring)
        items = worked(episode.written, premises=self.premises)
        known = {item.slot for item in items.values()}
        wants = known if episode.needs is None else set(episode.needs)
        opened = Captured(_checkpoint(episode, items, wants), policy).next()
        settled = _Settled()
        scanned: Mapping[str, object] = {}
        answers: Mapping[Pair, object] = {}
        cost, asked = FREE, 0
        if self.judging is not None:
            settled = _settle(opened, self.judging.verifier)
            if settled.rulings:
                items |= {ruling.id: ruling for ruling in settled.rulings}
                opened = Captured(_checkpoint(episode, items, wants), policy).next()
            # Nothing is kept from one return to the next: each is charged all that it asks.
            judging = replace(self.judging, rulings=RulingsInMemory())
            looked = judging.look(opened)
            scanned, answers = looked.scanned, looked.answers
            cost, asked = settled.cost + looked.cost, settled.asked + looked.asked
        eligible = opened.next(scanned, answers).next()
        state = eligible.next()
        if isinstance(state, Blocked) and episode.needs is None:
            narrowed = _checkpoint(
                episode, items, wants - {one.dependency for one in state.missing}
            )
            state = Captured(narrowed, policy).next().next(scanned, answers).next().next()
        view = None if isinstance(state, Blocked) else _shown(state.next(_KEYS))
        return Outcome(view=view, eligible=eligible, upheld=settled.upheld, cost=cost, asked=asked)


def screened(episode: episodes.ReturnEpisode) -> Screened:
    """What the explicit rules say about an episode, and what they leave to be asked."""
    items = worked(episode.written)
    wants = {item.slot for item in items.values()}
    policy = _policy(episode, UNLIMITED, inferring=True)
    return Captured(_checkpoint(episode, items, wants), policy).next()


def _policy(episode: episodes.ReturnEpisode, budget: episodes.Budget, *, inferring: bool) -> Policy:
    # The budget is one of claims; what is owed and how far it got come on top.
    owed, frontier = obligation(episode, ())
    items = _LONG if budget.items is None else budget.items + 2
    chars = _LONG if budget.characters is None else budget.characters
    return Policy(
        observers=frozenset({LOG}),
        ranks=ranks_of(episode),
        budget=Budget(items=items, chars=chars + len(owed.text) + len(frontier.text)),
        unsafe_without_inference=not inferring,
    )


def _checkpoint(
    episode: episodes.ReturnEpisode, items: Mapping[str, WorkItem], wants: Iterable[str]
) -> Checkpoint:
    """The state of the return: what stood at the departure, and what is otherwise since."""
    held = {claim.id for claim in episode.bank}
    # As they were then; what the log closed was active when the agent left.
    before = [items[name].with_status(Status.ACTIVE) for name in items if name in held]
    departure = capture(before, MEMBER, epoch=episode.departed, at=episode.departed)
    now = [*items.values(), *obligation(episode, wants)]
    back = Returning(
        cycle=episode.id,
        who=replace(MEMBER, purpose="task"),
        epoch=episode.returned,
        at=episode.returned,
    )
    return merge(departure, difference(departure, now, epoch=episode.returned), back)


@dataclass(frozen=True, slots=True)
class _Settled:
    """Disputes that a verifier decided: the rulings, and for each the item that it upholds."""

    rulings: tuple[WorkItem, ...] = ()
    upheld: Mapping[str, str] = field(default_factory=dict[str, str])
    cost: Cost = FREE
    asked: int = 0


def _settle(opened: Screened, verifier: PairJudge) -> _Settled:
    """Ask the verifier about each slot in which equals differ."""
    checkpoint, ranks = opened.checkpoint, opened.policy.ranks
    items = {item.id: item for item in checkpoint.items}
    at = checkpoint.returning.at
    settled = _Settled()
    for dispute in disputes_in(checkpoint.items, opened.history.fallen):
        sides = [items[name] for name in dispute.sides]
        winner, cost, asked = _winner(sides, verifier)
        rulings, upheld = settled.rulings, settled.upheld
        if winner is not None:
            ruling = settlement(
                sides,
                winner.id,
                Decision("verifier", SETTLED),
                ranks,
                item_id=f"ruling on {dispute.slot}",
                epoch=checkpoint.returning.epoch,
                at=at,
            )
            rulings, upheld = (*rulings, ruling), {**upheld, ruling.id: winner.id}
        settled = _Settled(rulings, upheld, settled.cost + cost, settled.asked + asked)
    return settled


def _winner(sides: Sequence[WorkItem], verifier: PairJudge) -> tuple[WorkItem | None, Cost, int]:
    """The side that stands, each text asked about once; None when the verifier cannot tell."""
    winner, cost, asked = sides[0], FREE, 0
    heard = {winner.text}
    for side in sides[1:]:
        if side.text in heard:
            continue
        heard.add(side.text)
        asked += 1
        try:
            opinion = verifier.verify(Question(winner, side))
        except NoVerdict as failure:
            spent = Cost(failure.calls, failure.prompt, failure.completion)
            return None, cost + spent, asked
        except LapseError:
            return None, cost, asked
        cost += opinion.cost
        if opinion.verdict is Verdict.UNSURE:
            return None, cost, asked
        if opinion.verdict is Verdict.INVALIDATES:
            winner = side
    return winner, cost, asked


def _shown(sealed: Sealed) -> ReturnView:
    """The view as the agent gets it: opened from its signed bytes.

    Raises:
        AssertionError: it was refused; a view that was just sealed never is.
    """
    eligible = sealed.eligible
    returning = eligible.checkpoint.returning
    view = expose(sealed.signed, _KEYS, returning, eligible.digests())
    assert isinstance(view, ReturnView), view  # noqa: S101 - a promise of the library, kept or not
    return view


LAPSE = LapseMethod()
"""Without a model: explicit changes alone."""
