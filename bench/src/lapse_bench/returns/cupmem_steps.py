"""CUPMem's steps as a port: what a model is asked at each of them, and what it may answer.

CUPMem (in the repository of STALE, arXiv 2605.06527) keeps a current state as sessions are written.
Ten buckets hold entries; every step but the bookkeeping asks a model:

| step | asked about | may answer |
| --- | --- | --- |
| chunk | a session | at most two chunks, each of a kind in `ChunkKind` |
| extract | a chunk | deltas: what it states, or what has to be so for it (`DeltaKind`) |
| update | a delta and the bucket's entries | one of `Update` and the entry that it is about |
| bridge | a delta | at most three buckets that it may affect |
| propose | a delta and a lane's candidates | at most three of them, with confidences |
| judge | a delta and one entry | one of `Ruling` with a confidence |

The names of its tracks and the words of its prompts are not in the source texts that we have; a
track is a text here, and a prompt is whatever an answerer makes of its arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapse.runtime import Cost
    from lapse_bench.returns.episodes import Claim

__all__ = [
    "BUCKETS",
    "EXPLICIT",
    "MEDIUM",
    "MOST_AFFECTED",
    "MOST_CHUNKS",
    "MOST_JUDGED",
    "MOST_PROPOSED",
    "RECALLED",
    "SALIENT",
    "STRONG",
    "Chunk",
    "ChunkKind",
    "Delta",
    "DeltaKind",
    "Entry",
    "Lane",
    "Proposed",
    "Ruled",
    "Ruling",
    "Steps",
    "Update",
    "Updated",
]

BUCKETS: Final = (
    "identity_and_background",
    "stable_preferences",
    "location_and_living",
    "weather_and_environment",
    "health_and_mobility",
    "work_and_schedule",
    "finance_and_resources",
    "family_and_caregiving",
    "routine_and_transport",
    "current_focus_and_goals",
)

MOST_CHUNKS: Final = 2
MOST_AFFECTED: Final = 3
MOST_PROPOSED: Final = 3
"""Of each lane."""
MOST_JUDGED: Final = 2
"""Proposals that are left after the lanes are merged."""
RECALLED: Final = 4
"""Candidates of the lane that looks everywhere."""

SALIENT: Final = 0.30
"""Below it a delta is not looked at."""
EXPLICIT: Final = 0.45
"""From here on an observed state is written."""
STRONG: Final = 0.55
"""From here on an entry is taken down."""
MEDIUM: Final = 0.60
"""From here on an inferred state is written."""


class ChunkKind(StrEnum):
    """What a chunk is good for; noise, and what lies in the past or the future, is not read on."""

    EXPLICIT_STATE = "explicit_state"
    SUPPORT_EVIDENCE = "support_evidence"
    TASK_NOISE = "task_noise"
    PAST_FUTURE = "past_future"


class DeltaKind(StrEnum):
    """Whether a state was said, or has to be so for what was said."""

    OBSERVED = "observed_state"
    INFERRED = "upstream_inferred_state"


class Update(StrEnum):
    """What a delta does to its own bucket."""

    ADD = "add"
    REFINE = "refine"
    REPLACE = "replace"
    INDIRECT_INVALIDATE = "indirect_invalidate"
    NO_OP = "no_op"


class Lane(StrEnum):
    """Where candidates for an indirect invalidation are looked for."""

    DIRECT_BUCKET = "direct_bucket"
    AFFECTED_BUCKET = "affected_bucket"
    GLOBAL_RECALL = "global_recall"


class Ruling(StrEnum):
    """What a delta does to an entry that it does not name."""

    INDIRECT_INVALIDATE = "indirect_invalidate"
    WEAK_CHALLENGE = "weak_challenge"
    SET_UNKNOWN_CURRENT = "set_unknown_current"
    NO_OP = "no_op"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a session."""

    kind: ChunkKind
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A change of state.

    Attributes:
        claim: the claim that it comes from; a withdrawal ends what stands in its slot.
        kind: said, or inferred.
        bucket: one of `BUCKETS`.
        track: which of the bucket's.
        salience: how much it matters, in [0, 1].
        confidence: how sure the extractor is, in [0, 1].
    """

    claim: Claim
    kind: DeltaKind = DeltaKind.OBSERVED
    bucket: str
    track: str
    salience: float = 1.0
    confidence: float = 1.0

    @property
    def written(self) -> bool:
        """Whether it passes the thresholds for its kind."""
        least = EXPLICIT if self.kind is DeltaKind.OBSERVED else MEDIUM
        return self.salience >= SALIENT and self.confidence >= least


@dataclass(frozen=True, slots=True)
class Entry:
    """What is current in a bucket.

    Attributes:
        delta: what it says.
        at: the logical time of the session that wrote it.
    """

    delta: Delta
    at: int

    @property
    def id(self) -> str:
        """The claim's."""
        return self.delta.claim.id


@dataclass(frozen=True, slots=True)
class Proposed:
    """An entry that a lane proposes, by id, and how sure it is."""

    entry: str
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class Updated:
    """An answer of the update judge; `entry` is the id of the entry that it is about."""

    update: Update
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Ruled:
    """An answer of the invalidation judge."""

    ruling: Ruling
    confidence: float = 1.0


class Steps(Protocol):
    """Who answers CUPMem's steps; each answer comes with what it cost.

    Called from one thread, in the order of sessions. It raises `LapseError` when it failed, and
    then the whole return has failed. What breaks the bounds of a step is cut to them.
    """

    def chunk(self, session: Sequence[Claim]) -> tuple[Sequence[Chunk], Cost]:
        """Divide a session."""
        ...

    def extract(self, chunk: Chunk) -> tuple[Sequence[Delta], Cost]:
        """What a chunk changes."""
        ...

    def update(self, delta: Delta, bucket: Sequence[Entry]) -> tuple[Updated, Cost]:
        """What a delta does to its own bucket."""
        ...

    def bridge(self, delta: Delta) -> tuple[Sequence[str], Cost]:
        """The buckets that a delta may affect, besides its own."""
        ...

    def propose(
        self, lane: Lane, delta: Delta, candidates: Sequence[Entry]
    ) -> tuple[Sequence[Proposed], Cost]:
        """The entries that a delta may break, the most plausible first."""
        ...

    def judge(self, delta: Delta, entry: Entry) -> tuple[Ruled, Cost]:
        """What a delta does to an entry."""
        ...
