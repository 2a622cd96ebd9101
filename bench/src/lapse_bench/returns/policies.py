"""The simple ways to come back: no rule of theirs needs more than one look at each entry.

The source compares with these and names them only (arXiv 2609.33517, section 4.2); what `replay`
and `latest` do in full is written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lapse_bench.returns.episodes import Admission, fitting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lapse_bench.returns.episodes import Budget, Claim, ReturnEpisode

__all__ = ["LAST_WRITER_WINS", "REPLAY", "RESET", "RESTORE", "STATIC", "Policy"]


@dataclass(frozen=True, slots=True)
class Policy:
    """A method that picks claims by a rule and asks nobody.

    Attributes:
        name: what tables call it.
        picks: the claims to admit, before the budget; statements only.
    """

    name: str
    picks: Callable[[ReturnEpisode], Iterable[Claim]]

    def admit(self, episode: ReturnEpisode, budget: Budget) -> Admission:
        """As many of the picked claims as there is room for, the latest first."""
        return Admission(items=fitting(self.picks(episode), budget))


def _served(episode: ReturnEpisode) -> Iterable[Claim]:
    return (claim for claim in episode.written if claim.id in episode.store)


def _held(episode: ReturnEpisode) -> Iterable[Claim]:
    return episode.bank


def _nothing(_: ReturnEpisode) -> Iterable[Claim]:
    return ()


def _replayed(episode: ReturnEpisode) -> Iterable[Claim]:
    """The log played over the checkpoint: what an entry names is removed, slots are not looked at.

    A withdrawal names the slot that it empties.
    """
    there = {claim.id: claim for claim in episode.bank}
    for entry in episode.log:
        for named in entry.supersedes:
            there.pop(named, None)
        if entry.does == "withdraw":
            there = {name: claim for name, claim in there.items() if claim.slot != entry.slot}
        else:
            there[entry.id] = entry
    return there.values()


def _latest(episode: ReturnEpisode) -> Iterable[Claim]:
    """The last entry of each slot; nothing where that is a withdrawal, and no link is read."""
    last = {entry.slot: entry for entry in episode.written}
    return (entry for entry in last.values() if entry.does == "state")


STATIC = Policy("static", _served)
"""Everything that the store serves at the return, as its own writes left it."""

RESTORE = Policy("restore", _held)
"""What the agent held when it left; the absence did not happen."""

RESET = Policy("reset", _nothing)
"""Nothing: the agent begins anew."""

REPLAY = Policy("checkpoint-replay", _replayed)
"""What the agent held, with what the log says explicitly applied to it."""

LAST_WRITER_WINS = Policy("last-writer-wins", _latest)
"""The last entry of each slot, whoever wrote it."""
