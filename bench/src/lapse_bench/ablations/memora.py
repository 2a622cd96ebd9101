"""Memora's returns, where updates do not name what they replace, with private experience.

The agent owes whatever is on its topic, and asks again for less when it is told what is missing. It
learned something from each statement that it held when it left. There is no budget.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lapse.admission import (
    Budget,
    Policy,
    Returning,
    Verdict,
    WorkItem,
    capture,
    difference,
    merge,
)
from lapse.ledger import Kind, Outcome, Receipt, Scope, Source, Stamp, Status
from lapse_bench.ablations.looking import looked_at, relevance
from lapse_bench.ablations.variants import Return
from lapse_bench.returns.lapse_items import LOG, MEMBER, obligation, ranks_of, worked
from lapse_bench.returns.memora import episodes_of, read_memora

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lapse.admission import Checkpoint, Question
    from lapse.runtime import Judging, Looked
    from lapse_bench.returns.episodes import Claim, Fact, ReturnEpisode
    from lapse_bench.returns.memora import MemoraEpisode

__all__ = ["MemoraReturn", "memora_returns", "memora_truth", "owing"]

_LONG: Final = 10**9
"""More items and characters than any return has."""


class MemoraReturn:
    """One return, whatever is owed.

    Attributes:
        episode: the data's.
        items: its work state, by id.
    """

    __slots__ = ("episode", "items")

    def __init__(self, episode: MemoraEpisode) -> None:
        """Take an episode whose updates name nothing."""
        self.episode = episode
        self.items = worked(episode.episode.written)

    @property
    def policy(self) -> Policy:
        """The whole of admission, without a budget."""
        return Policy(
            observers=frozenset({LOG}),
            ranks=ranks_of(self.episode.episode),
            budget=Budget(items=_LONG, chars=_LONG),
        )

    def checkpoint(self, wants: Iterable[str]) -> Checkpoint:
        """The state, where this is owed."""
        episode = self.episode.episode
        held = {claim.id for claim in episode.bank}
        before = [
            self.items[name].with_status(Status.ACTIVE) for name in self.items if name in held
        ]
        learned = [_learned(item) for item in before]
        departure = capture(
            [*before, *learned], MEMBER, epoch=episode.departed, at=episode.departed
        )
        now = [*self.items.values(), *learned, *obligation(episode, wants)]
        back = Returning(
            cycle=episode.id,
            who=replace(MEMBER, purpose="task"),
            epoch=episode.returned,
            at=episode.returned,
        )
        return merge(departure, difference(departure, now, epoch=episode.returned), back)

    @property
    def slots(self) -> frozenset[str]:
        """What may be owed at all."""
        return frozenset(item.slot for item in self.items.values())


def memora_returns() -> Iterator[tuple[MemoraReturn, ReturnEpisode]]:
    """Each return as the methods see it, and the same one where updates name what they replace."""
    memora = read_memora()
    named = episodes_of(memora, links="named")
    for one, other in zip(episodes_of(memora, links="unnamed"), named, strict=True):
        yield MemoraReturn(one), other.episode


def memora_truth(named: ReturnEpisode) -> dict[tuple[str, str], Verdict]:
    """The pairs of claims that the data link: what an honest verifier sees without the link."""
    return {
        (older, claim.id): Verdict.INVALIDATES
        for claim in named.written
        for older in claim.supersedes
    }


def owing(one: MemoraReturn, by: Judging) -> tuple[Return, Looked]:
    """The return to whatever is on its topic, and the answers about it."""
    policy, wants = one.policy, one.slots
    checkpoint = one.checkpoint(wants)
    episode, answers = one.episode.episode, one.episode.answers
    asked = obligation(episode, wants)[0]
    found = Return(
        id=episode.id,
        block=str(one.episode.departure),
        checkpoint=checkpoint,
        policy=policy,
        relevance=relevance(asked, one.items.values()),
        needed=_stating(episode.written, answers.valid),
        stale=_stating(episode.written, answers.stale, learned=True),
        narrowed=lambda missing: one.checkpoint(wants - missing),
    )
    return found, looked_at(checkpoint, policy, by)


def asked_of(truth: Mapping[tuple[str, str], Verdict], question: Question) -> Verdict:
    """What is so about a pair; whatever the data do not link stands."""
    return truth.get((question.older.id, question.later.id), Verdict.STANDS)


def _stating(
    claims: Iterable[Claim], facts: Iterable[Fact], *, learned: bool = False
) -> dict[str, frozenset[str]]:
    """The ids of the items that state each fact, and of the experience that was learned from it."""
    found: dict[Fact, set[str]] = {fact: set() for fact in facts}
    for claim in claims:
        if claim.does == "state" and claim.fact in found:
            found[claim.fact] |= {claim.id, f"learned/{claim.id}"} if learned else {claim.id}
    return {" / ".join(fact): frozenset(ids) for fact, ids in sorted(found.items())}


def _learned(item: WorkItem) -> WorkItem:
    """What the agent made of a statement while it was there."""
    source = Source.record(item.id)
    receipt = Receipt(
        observer=LOG,
        source=source,
        at=item.epochs.since,
        digest=item.digest(),
        outcome=Outcome.CONFIRMS,
    )
    return WorkItem(
        id=f"learned/{item.id}",
        kind=Kind.EXPERIENCE,
        slot=f"learned/{item.slot}",
        text=f"I remember: {item.text}"[:4096],
        writer="returning agent",
        scope=Scope(principal=MEMBER.principal),
        epochs=item.epochs,
        valid=item.valid,
        stamps=(Stamp(source, item.digest()),),
        receipts=(receipt,),
    )
