"""One episode: a planner, a client with a memory, and a service that refuses until all is right.

An episode ends when the service accepts, after five attempts, or when the service gives nothing to
go on. Whether a fix that was applied at once had lapsed is the world's judgement, taken before the
request is sent; no part of it reaches the planner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lapse.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import httpx2

    from lapse.contract import Fix
    from lapse.ledger import JsonObject
    from lapse.runtime import Memory
    from lapse_bench.planners import Planner

__all__ = ["MOST_ATTEMPTS", "Agent", "Episode"]

MOST_ATTEMPTS: Final = 5

_REFUSED: Final = 422
_BROKEN: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """What became of one task.

    Attributes:
        attempts: how many requests were sent.
        completed: whether the last one was accepted.
        followed: how many remembered fixes went into the first attempt.
        stale: how many of those the service no longer accepted.
    """

    attempts: int
    completed: bool
    followed: int
    stale: int

    @property
    def retries(self) -> int:
        """Attempts beyond the first."""
        return self.attempts - 1

    @property
    def first_try(self) -> bool:
        """Whether the first attempt was accepted."""
        return self.completed and self.attempts == 1


def _nobody(operation: str, response: httpx2.Response, fixes: Sequence[Fix]) -> None:
    """Nobody wants to know."""
    del operation, response, fixes


@dataclass(frozen=True, slots=True)
class Agent:
    """Does tasks.

    Attributes:
        planner: writes the requests.
        memory: what is remembered.
        client: sends the requests; its transport fills the memory.
        issuer: whose fixes are asked for.
        accepted: told of a first attempt that was accepted with remembered fixes in it: operation,
            response and fixes.
    """

    planner: Planner
    memory: Memory
    client: httpx2.Client
    issuer: str
    accepted: Callable[[str, httpx2.Response, Sequence[Fix]], None] = _nobody

    def attempt(
        self, operation: str, request: JsonObject, *, holds: Callable[[Fix], bool]
    ) -> Episode:
        """Do one task.

        Args:
            operation: method and path.
            request: what the task asks for, without any memory.
            holds: the world's judgement of a fix as things stand now.

        Raises:
            Refused: the service failed instead of answering; a run must not count that as an
                episode.
        """
        method, _, path = operation.partition(" ")
        move = self.planner.first(
            request, self.memory.fixes(operation, request, issuer=self.issuer)
        )
        stale = sum(not holds(fix) for fix in move.followed)
        followed = len(move.followed)
        for attempts in range(1, MOST_ATTEMPTS + 1):
            response = self.client.request(method, path, json=move.request)
            if response.status_code >= _BROKEN:
                raise Refused(
                    f"the service broke on {operation}: {response.text}",
                    status=response.status_code,
                )
            if response.is_success and attempts == 1 and move.followed:
                self.accepted(operation, response, move.followed)
            suggestions = list(_suggestions(response))
            if response.is_success or not suggestions:
                return Episode(
                    attempts=attempts, completed=response.is_success, followed=followed, stale=stale
                )
            move = self.planner.again(move.request, suggestions)
        return Episode(attempts=MOST_ATTEMPTS, completed=False, followed=followed, stale=stale)


def _suggestions(response: httpx2.Response) -> Iterator[dict[str, Any]]:
    """The parameters of each suggestion in a refusal, in the service's order."""
    if response.status_code != _REFUSED:
        return
    # The transport has read and checked the same body; a planner is given what the service wrote.
    body: Any = response.json()
    offered: list[Any] = body.get("recovery_feedback", {}).get("suggestions", [])
    for suggestion in offered:
        yield dict(suggestion["parameters"])
