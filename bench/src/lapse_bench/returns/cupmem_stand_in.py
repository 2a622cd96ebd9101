"""A stand-in that answers CUPMem's steps: no model, and no measurement of one.

Sessions are taken as claims that are there already, so chunking and extraction are perfect, and to
do either on conversations needs a model; slots decide updates; and what breaks what is ruled by a
`PairJudge`: a stand-in that knows the answers and errs by a coin, or a model behind the same port
(`lapse.judges.judge_named`). What it shows is what the pipeline makes of such answers, and how many
calls it takes. A step's tokens are those of the claims that it is shown, without instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lapse.admission import Question, Verdict
from lapse.runtime import FREE, Cost
from lapse_bench.returns.cupmem import CupMem
from lapse_bench.returns.cupmem_steps import (
    BUCKETS,
    MOST_PROPOSED,
    Chunk,
    ChunkKind,
    Delta,
    Entry,
    Lane,
    Proposed,
    Ruled,
    Ruling,
    Update,
    Updated,
)
from lapse_bench.returns.lapse_items import worked
from lapse_bench.returns.stand_in import StandIn, tokens_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lapse.admission import WorkItem
    from lapse.runtime import PairJudge
    from lapse_bench.returns.episodes import Claim, ReturnEpisode

__all__ = ["ClaimSteps", "affected_by", "bucket_of", "cupmem_stand_in"]

_CUES: Final[dict[str, tuple[str, ...]]] = {
    "identity_and_background": ("my name", "born", "native"),
    "stable_preferences": ("prefer", "favourite", "favorite", "like", "love", "preference"),
    "location_and_living": ("live", "apartment", "house", "moved", "home", "garden"),
    "weather_and_environment": ("weather", "rain", "climate", "snow"),
    "health_and_mobility": ("doctor", "allergy", "knee", "diet", "health", "hospital"),
    "work_and_schedule": ("work", "job", "office", "shift", "meeting", "document"),
    "finance_and_resources": ("money", "rent", "salary", "price", "budget"),
    "family_and_caregiving": ("daughter", "son", "wife", "husband", "mother", "father", "dog"),
    "routine_and_transport": ("bus", "train", "bike", "car", "every", "calendar", "morning"),
}
"""Words that put a claim into a bucket, the first bucket that has one; else the last bucket."""

_RULINGS: Final = {
    Verdict.INVALIDATES: Ruling.SET_UNKNOWN_CURRENT,
    Verdict.STANDS: Ruling.NO_OP,
    Verdict.UNSURE: Ruling.WEAK_CHALLENGE,
}
"""A verdict says that the old value is dead, and not what is in its place."""


def bucket_of(claim: Claim) -> str:
    """The bucket of a claim, by words."""
    said = f"{claim.entity} {claim.attribute} {claim.text or claim.value}".casefold()
    return next((name for name, cues in _CUES.items() if any(c in said for c in cues)), BUCKETS[-1])


@dataclass(frozen=True, slots=True)
class ClaimSteps:
    """The answers.

    Attributes:
        verifier: rules on pairs.
        breaks: whether a pair is broken, for proposals that miss nothing; None: the latest entries
            are proposed.
        affects: the buckets that a claim affects; None: nobody knows, and no other is looked at.
    """

    verifier: PairJudge
    breaks: Callable[[Question], Verdict] | None = None
    affects: Callable[[Claim], Sequence[str]] | None = None

    def chunk(self, session: Sequence[Claim]) -> tuple[Sequence[Chunk], Cost]:
        """One chunk: claims are what is left of a session when the noise is gone."""
        return (Chunk(ChunkKind.EXPLICIT_STATE, tuple(session)),), _shown(session)

    def extract(self, chunk: Chunk) -> tuple[Sequence[Delta], Cost]:
        """One delta a claim."""
        deltas = [
            Delta(claim=claim, bucket=bucket_of(claim), track=claim.attribute)
            for claim in chunk.claims
        ]
        return deltas, _shown(chunk.claims)

    def update(self, delta: Delta, bucket: Sequence[Entry]) -> tuple[Updated, Cost]:
        """By slots and links: the same again is nothing, another value replaces."""
        claim = delta.claim
        cost = _shown([claim, *(one.delta.claim for one in bucket)])
        there = next(
            (
                one
                for one in reversed(bucket)
                if one.delta.claim.slot == claim.slot or one.id in claim.supersedes
            ),
            None,
        )
        if there is None:
            return Updated(Update.ADD if claim.does == "state" else Update.NO_OP), cost
        if claim.does == "state" and there.delta.claim.fact == claim.fact:
            return Updated(Update.NO_OP, there.id), cost
        return Updated(Update.REPLACE, there.id), cost

    def bridge(self, delta: Delta) -> tuple[Sequence[str], Cost]:
        """What is known to be affected."""
        known = () if self.affects is None else self.affects(delta.claim)
        return known, _shown([delta.claim])

    def propose(
        self, lane: Lane, delta: Delta, candidates: Sequence[Entry]
    ) -> tuple[Sequence[Proposed], Cost]:
        """What is broken, for sure, and then the latest, without being sure."""
        del lane
        cost = _shown([delta.claim, *(one.delta.claim for one in candidates)])
        if delta.claim.does != "state":
            return (), cost
        found: list[tuple[float, Entry]] = []
        for entry in candidates:
            breaks = self.breaks and self.breaks(_question(entry, delta))
            found.append((1.0 if breaks is Verdict.INVALIDATES else 0.0, entry))
        found.sort(key=lambda one: (-one[0], -one[1].at, one[1].id))
        return [Proposed(one.id, sure) for sure, one in found[:MOST_PROPOSED]], cost

    def judge(self, delta: Delta, entry: Entry) -> tuple[Ruled, Cost]:
        """What the verifier says.

        Raises:
            LapseError: it failed.
        """
        opinion = self.verifier.verify(_question(entry, delta))
        return Ruled(_RULINGS[opinion.verdict]), opinion.cost


def cupmem_stand_in(
    truth: Callable[[Question], Verdict],
    *,
    accuracy: float = 1.0,
    seed: int = 0,
    affects: Callable[[Claim], Sequence[str]] | None = None,
) -> CupMem:
    """CUPMem over claims, with proposals that miss nothing in a lane, and a ruling stand-in."""
    return CupMem(ClaimSteps(StandIn(truth, accuracy, seed), truth, affects))


def affected_by(
    episodes: Iterable[ReturnEpisode], truth: Callable[[Question], Verdict]
) -> Callable[[Claim], Sequence[str]]:
    """A bridge that knows the answers: the buckets of what a claim's words break, by its text."""
    found: dict[str, dict[str, None]] = {}
    for episode in episodes:
        items = worked(episode.written)
        told = {claim.id: claim for claim in episode.written}
        for later in episode.log:
            if later.does != "state":
                continue
            broken = (
                claim
                for claim in episode.written
                if claim.at < later.at
                and claim.does == "state"
                and truth(Question(items[claim.id], items[later.id])) is Verdict.INVALIDATES
            )
            names = dict.fromkeys(bucket_of(told[claim.id]) for claim in broken)
            found.setdefault(later.text, {}).update(names)
    return lambda claim: tuple(found.get(claim.text, ()))


def _question(entry: Entry, delta: Delta) -> Question:
    return Question(_item(entry.delta.claim), _item(delta.claim))


def _item(claim: Claim) -> WorkItem:
    return worked([claim])[claim.id]


def _shown(claims: Iterable[Claim]) -> Cost:
    read = sum(tokens_in(claim.text or claim.value) for claim in claims)
    return FREE + Cost(calls=1, prompt=read, completion=1)
