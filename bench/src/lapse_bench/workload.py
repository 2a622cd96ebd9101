"""Who asks for what, and when: the request workload over a real history.

The rule never looks ahead:

1. Episodes are spread evenly over the time that the history covers.
2. Before an episode, everything that happened until then is applied; the subject is drawn from
   those that exist at that moment.
3. A subject's weight is ``1 / (u + 0.001)``, where `u` is the SHA-256 of its name as a fraction:
   about Zipf's law with exponent 1, and no subject's weight depends on which others exist.
4. The request comes from the template that the agent made when it first met the subject. It keeps
   that template for good; what it learns afterwards, it has to remember.
5. The seed decides the draws and nothing else.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from lapse_bench.traces.thinning import share_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lapse_bench.traces import History
    from lapse_bench.worlds import OrganicWorld

__all__ = ["Draws", "moments"]

_FLOOR = 0.001


def moments(history: History, episodes: int) -> Iterator[int]:
    """When each episode takes place, in microseconds since 1970."""
    span = history.until - history.since
    return (history.since + span * (2 * index + 1) // (2 * episodes) for index in range(episodes))


@dataclass(slots=True)
class _Weights:
    subjects: list[tuple[str, str]]
    running: list[float]


class Draws:
    """Draws what the next episode asks for.

    Args:
        world: what exists; its state at the moment of a draw is all that a draw sees.
        seed: decides the draws.
    """

    def __init__(self, world: OrganicWorld, *, seed: int) -> None:
        self._world = world
        self._random = random.Random(seed)
        self._templates: dict[tuple[str, str], dict[str, Any]] = {}
        self._known: dict[tuple[str, str], float] = {}
        self._weights: _Weights | None = None

    def moved(self) -> None:
        """The rows have moved: what exists is looked at anew."""
        self._weights = None

    def next(self) -> tuple[str, str, dict[str, Any]] | None:
        """Table, subject and the agent's own request for it; None while nothing exists."""
        if self._weights is None:
            self._weights = self._weigh()
        if not self._weights.subjects:
            return None
        (at,) = self._random.choices(self._weights.subjects, cum_weights=self._weights.running)
        if at not in self._templates:
            self._templates[at] = self._world.template(*at)
        table, subject = at
        return table, subject, dict(self._templates[at])

    def _weigh(self) -> _Weights:
        subjects = sorted(self._world.targets())
        for at in subjects:
            if at not in self._known:
                self._known[at] = 1 / (share_of(f"{at[0]} {at[1]}") + _FLOOR)
        return _Weights(subjects, list(accumulate(self._known[at] for at in subjects)))
