"""CUPMem: a current state that is kept as sessions are written, and consolidated by a model.

The write path as published (see `lapse_bench.returns.cupmem_steps`), for each session in order:

1. Chunks, and of the chunks that are no noise the deltas; each delta that passes its threshold
   updates its own bucket.
2. For each of them, three lanes look for entries that it breaks without naming them: its bucket,
   the buckets that it may affect, and everywhere (the four nearest by words). Each lane proposes at
   most three; merged, the two surest are judged.
3. Within the session the rulings are arbitrated: what the session itself states stands, and of
   several rulings on one entry the strongest counts. A newer entry is never taken down by an older
   delta.
4. What is taken down goes to the archive, linked to what did it (STALE_SUPPORT) and to what took
   its place (SUCCESSOR). A slot whose value is dead and whose new one nobody knows is marked
   UNKNOWN_CURRENT until something states it.

Of the read path a view needs the current entries alone: what is archived or unknown is not shown.
The verification of premises and the wording of answers belong to whoever answers, so they are left
out, and so are their calls. Published nearness is by an embedding (all-MiniLM-L6-v2); ours is by
shared words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final

from lapse.runtime import FREE, Cost
from lapse_bench.returns.cupmem_steps import (
    MOST_AFFECTED,
    MOST_CHUNKS,
    MOST_JUDGED,
    MOST_PROPOSED,
    RECALLED,
    STRONG,
    ChunkKind,
    Delta,
    Entry,
    Lane,
    Ruled,
    Ruling,
    Update,
)
from lapse_bench.returns.episodes import Admission, fitting

if TYPE_CHECKING:
    from lapse_bench.returns.cupmem_steps import Steps
    from lapse_bench.returns.episodes import Budget, Claim, ReturnEpisode

__all__ = ["Archived", "CupMem", "State", "consolidated"]

_READ: Final = frozenset({ChunkKind.EXPLICIT_STATE, ChunkKind.SUPPORT_EVIDENCE})
_STRENGTH: Final = (
    Ruling.NO_OP,
    Ruling.WEAK_CHALLENGE,
    Ruling.SET_UNKNOWN_CURRENT,
    Ruling.INDIRECT_INVALIDATE,
)
"""From the weakest to the strongest."""

_WORD: Final = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class Archived:
    """What is current no more.

    Attributes:
        entry: which.
        support: STALE_SUPPORT, the id of the claim that took it down.
        successor: SUCCESSOR, the id of the claim that took its place; empty where none did.
    """

    entry: Entry
    support: str
    successor: str = ""


@dataclass(slots=True)
class State:
    """What CUPMem keeps.

    Attributes:
        current: the entries by id, in the order of writing.
        archive: what was taken down, by id.
        unknown: the slots marked UNKNOWN_CURRENT, each with the claim that emptied it.
        challenged: entries that were challenged and stay, with the claims that did.
        cost: of all steps so far.
        calls: how often each step was asked.
    """

    current: dict[str, Entry] = field(default_factory=dict[str, Entry])
    archive: dict[str, Archived] = field(default_factory=dict[str, Archived])
    unknown: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    challenged: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    cost: Cost = FREE
    calls: dict[str, int] = field(default_factory=dict[str, int])

    def bucket(self, names: Iterable[str]) -> tuple[Entry, ...]:
        """The current entries of some buckets."""
        wanted = set(names)
        return tuple(one for one in self.current.values() if one.delta.bucket in wanted)

    def pay(self, step: str, cost: Cost) -> None:
        """Count a step."""
        self.cost += cost
        self.calls[step] = self.calls.get(step, 0) + 1

    def put(self, delta: Delta) -> None:
        """Make a delta current; its slot is known again."""
        self.current[delta.claim.id] = Entry(delta, delta.claim.at)
        self.unknown.pop(delta.claim.slot, None)

    def take_down(self, entry: Entry, by: Delta, *, successor: str = "") -> None:
        """Archive an entry."""
        self.current.pop(entry.id, None)
        self.archive[entry.id] = Archived(entry, by.claim.id, successor)


def consolidated(claims: Sequence[Claim], steps: Steps) -> State:
    """The state after every session, a session being the claims of one logical time.

    Raises:
        LapseError: a step failed.
    """
    state = State()
    for _, session in groupby(claims, key=lambda claim: claim.at):
        deltas = _deltas(tuple(session), steps, state)
        for delta in deltas:
            _update(delta, steps, state)
        rulings: dict[str, tuple[Ruled, Delta]] = {}
        for delta in deltas:
            _indirect(delta, steps, state, rulings)
        _arbitrate(rulings, {delta.claim.id for delta in deltas}, state)
    return state


def _deltas(session: tuple[Claim, ...], steps: Steps, state: State) -> list[Delta]:
    chunks, cost = steps.chunk(session)
    state.pay("chunk", cost)
    found: list[Delta] = []
    for chunk in chunks[:MOST_CHUNKS]:
        if chunk.kind not in _READ:
            continue
        deltas, cost = steps.extract(chunk)
        state.pay("extract", cost)
        found += (delta for delta in deltas if delta.written)
    return found


def _update(delta: Delta, steps: Steps, state: State) -> None:
    """Rule 1: what a delta does to its own bucket."""
    said, cost = steps.update(delta, state.bucket([delta.bucket]))
    state.pay("update", cost)
    there = state.current.get(said.entry)
    if there is not None and there.at > delta.claim.at:
        return
    states = delta.claim.does == "state"
    match said.update:
        case Update.NO_OP:
            return
        case Update.INDIRECT_INVALIDATE:
            if there is not None:
                state.take_down(there, delta)
                state.unknown[there.delta.claim.slot] = delta.claim.id
        case Update.REPLACE | Update.REFINE:
            if there is not None:
                state.take_down(there, delta, successor=delta.claim.id if states else "")
        case Update.ADD:
            pass
    if states:
        state.put(delta)


def _indirect(
    delta: Delta, steps: Steps, state: State, rulings: dict[str, tuple[Ruled, Delta]]
) -> None:
    """Rule 2: the lanes, and the judge of what they propose."""
    affected, cost = steps.bridge(delta)
    state.pay("bridge", cost)
    others = [name for name in affected[:MOST_AFFECTED] if name != delta.bucket]
    everywhere = [one for one in state.current.values() if _may_break(delta, one)]
    lanes = {
        Lane.DIRECT_BUCKET: _older(state.bucket([delta.bucket]), delta),
        Lane.AFFECTED_BUCKET: _older(state.bucket(others), delta),
        Lane.GLOBAL_RECALL: _nearest(delta, everywhere)[:RECALLED],
    }
    merged: dict[str, tuple[float, int]] = {}
    for lane, candidates in lanes.items():
        if not candidates:
            continue
        named, cost = steps.propose(lane, delta, candidates)
        state.pay("propose", cost)
        known = {one.id for one in candidates}
        kept = [one for one in named if one.entry in known][:MOST_PROPOSED]
        for place, one in enumerate(kept):
            rank = (-one.confidence, place)
            merged[one.entry] = min(rank, merged.get(one.entry, rank))
    best = sorted(merged, key=lambda name: (merged[name], name))[:MOST_JUDGED]
    for name in best:
        ruled, cost = steps.judge(delta, state.current[name])
        state.pay("judge", cost)
        before = rulings.get(name)
        if before is None or _strength(ruled) > _strength(before[0]):
            rulings[name] = ruled, delta


def _arbitrate(rulings: dict[str, tuple[Ruled, Delta]], stated: set[str], state: State) -> None:
    """Rule 3 and 4."""
    for name, (ruled, delta) in sorted(rulings.items()):
        entry = state.current.get(name)
        if entry is None or name in stated or ruled.ruling is Ruling.NO_OP:
            continue
        if ruled.ruling is Ruling.WEAK_CHALLENGE or ruled.confidence < STRONG:
            state.challenged.setdefault(name, []).append(delta.claim.id)
            continue
        state.take_down(entry, delta)
        if ruled.ruling is Ruling.SET_UNKNOWN_CURRENT:
            state.unknown[entry.delta.claim.slot] = delta.claim.id


def _strength(ruled: Ruled) -> tuple[int, float]:
    return _STRENGTH.index(ruled.ruling), ruled.confidence


def _may_break(delta: Delta, entry: Entry) -> bool:
    """A newer target is never invalidated by an older source, nor anything by itself."""
    return entry.at < delta.claim.at and entry.delta.claim.slot != delta.claim.slot


def _older(entries: Sequence[Entry], delta: Delta) -> tuple[Entry, ...]:
    return tuple(one for one in entries if _may_break(delta, one))


def _nearest(delta: Delta, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Those that share most words with a delta, then the latest, then by id."""
    words = _words(delta)

    def far(one: Entry) -> tuple[int, int, str]:
        return -len(words & _words(one.delta)), -one.at, one.id

    return tuple(sorted(entries, key=far))


def _words(delta: Delta) -> frozenset[str]:
    claim = delta.claim
    return frozenset(_WORD.findall((claim.text or f"{claim.entity} {claim.value}").casefold()))


@dataclass(frozen=True, slots=True)
class CupMem:
    """The method: the entries that are current.

    Attributes:
        steps: who answers the steps.
        name: what tables call it.
    """

    steps: Steps
    name: str = "cupmem"

    def admit(self, episode: ReturnEpisode, budget: Budget) -> Admission:
        """As many current entries as there is room for, the latest first.

        Raises:
            LapseError: a step failed.
        """
        state = consolidated(episode.written, self.steps)
        current = (entry.delta.claim for entry in state.current.values())
        cost = state.cost
        return Admission(
            items=fitting(current, budget),
            calls=cost.calls,
            tokens=cost.prompt + cost.completion,
        )
