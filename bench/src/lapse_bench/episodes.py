"""One episode: a planner, a client with a memory, and a service that refuses until all is right.

An episode ends when the service accepts, after five attempts, or when the service gives nothing to
go on. A planner that does not answer, or not with a request that can be sent, has used up an
attempt; the episode says why, and the run goes on. Whether a fix that was applied at once had
lapsed is the world's judgement; no part of it reaches the planner.

A service can only judge the request that it gets. Whether that still is what the task asked for is
looked at here: an accepted request that lost a member of the task's, or has another value where no
fix gave one, has *strayed*, and its task is not done.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lapse.errors import CallerError, LapseError, NoRequest, Refused
from lapse.judges import NO_TOKENS, Offer, Refusal, Tokens, taken_over
from lapse.transports.http import Amended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import httpx2

    from lapse.contract import Fix
    from lapse.judges import Move, Planner, Task
    from lapse.ledger import JsonObject
    from lapse.runtime import Memory

    Witness = Callable[[Memory, str, httpx2.Response, Sequence[Fix]], None]

__all__ = ["MOST_ATTEMPTS", "Agent", "Episode", "Witness", "nobody"]

MOST_ATTEMPTS: Final = 5

_REFUSED: Final = 422
_BROKEN: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """What became of one task.

    Attributes:
        attempts: how many there were.
        completed: whether the last one was accepted, and was what the task asked for.
        followed: how many remembered fixes went into the first attempt.
        stale: how many of those the service no longer accepted.
        tokens: what the planner read and wrote.
        failures: why there was no request to send, for each attempt without one.
        amended: how many fixes the transport merged into the first attempt.
        strayed: whether the service accepted something that the task did not ask for.
    """

    attempts: int
    completed: bool
    followed: int
    stale: int
    tokens: Tokens = NO_TOKENS
    failures: tuple[str, ...] = ()
    amended: int = 0
    strayed: bool = False

    @property
    def retries(self) -> int:
        """Attempts beyond the first."""
        return self.attempts - 1

    @property
    def first_try(self) -> bool:
        """Whether the first attempt was accepted."""
        return self.completed and self.attempts == 1


def nobody(memory: Memory, operation: str, response: httpx2.Response, fixes: Sequence[Fix]) -> None:
    """Nobody wants to know of a first attempt that was accepted."""
    del memory, operation, response, fixes


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Does tasks.

    Attributes:
        planner: writes the requests.
        memory: what is remembered.
        client: sends the requests; its transport fills the memory.
        issuer: whose fixes are asked for.
        accepted: told of a first attempt that was accepted with remembered fixes in it: memory,
            operation, response and fixes.
    """

    planner: Planner
    memory: Memory
    client: httpx2.Client
    issuer: str
    accepted: Witness = nobody
    briefs: bool = True

    def attempt(self, task: Task, *, holds: Callable[[Fix], bool]) -> Episode:
        """Do one task.

        Args:
            task: what to do.
            holds: the world's judgement of a fix as things stand now.

        Raises:
            Refused: the service failed instead of answering; a run must not count that as an
                episode.
            CallerError: the planner cannot be used for such tasks at all.
        """
        trying = _Trying(self, task, holds)
        while trying.attempts < MOST_ATTEMPTS and not trying.over:
            trying.once()
        return trying.episode()


@dataclass(slots=True)
class _Trying:
    """One task on its way."""

    agent: Agent
    task: Task
    holds: Callable[[Fix], bool]
    attempts: int = 0
    over: bool = False
    completed: bool = False
    tokens: Tokens = NO_TOKENS
    failures: list[str] = field(default_factory=list[str])
    _sent: dict[str, Any] | None = None
    _refusal: Refusal = field(default_factory=Refusal)
    _followed: int = 0
    _stale: int = 0
    _amended: int = 0
    _strayed: bool = False
    _settable: set[str] = field(default_factory=set[str])

    def once(self) -> None:
        """Have a request written, and send it."""
        self.attempts += 1
        try:
            move = self._move()
            body = _body(move.request)
        except CallerError:
            raise
        except LapseError as failure:
            self.failures.append(str(failure))
            if isinstance(failure, NoRequest):
                self.tokens += Tokens(failure.prompt, failure.completion, failure.memory)
            return
        self.tokens += move.tokens
        response = self._send(body)
        # What was sent counts, and not what was written: a transport may have merged fixes.
        made = response.extensions.get("lapse")
        merged = made.amendment.merged if isinstance(made, Amended) else ()
        self._sent = dict(made.amendment.after) if isinstance(made, Amended) else move.request
        if self.attempts == 1:
            self._amended = len(merged)
            known = {fix.id: fix for fix in (*move.followed, *merged)}
            self._note(taken_over(known.values(), self._sent), response)
        self._settable.update(name for fix in merged for name in fix.parameters)
        self._strayed = response.is_success and self._lost_its_way(self._sent)
        self.completed = response.is_success and not self._strayed
        offers = tuple(_offers(response))
        self._settable.update(name for offer in offers for name in offer.parameters)
        self.over = response.is_success or not offers
        if offers:
            said: dict[str, Any] = response.json()
            self._refusal = Refusal(
                title=str(said.get("title", "")),
                detail=str(said.get("detail", "")),
                offers=offers,
                attempt=self.attempts,
            )

    def episode(self) -> Episode:
        """What became of it."""
        return Episode(
            attempts=self.attempts,
            completed=self.completed,
            followed=self._followed,
            stale=self._stale,
            tokens=self.tokens,
            failures=tuple(self.failures),
            amended=self._amended,
            strayed=self._strayed,
        )

    def _lost_its_way(self, sent: JsonObject) -> bool:
        """Whether a request is no longer the task's, apart from what fixes may have set."""
        asked = self.task.request.items()
        return any(
            name not in sent or (sent[name] != value and name not in self._settable)
            for name, value in asked
        )

    def _move(self) -> Move:
        agent, task = self.agent, self.task
        if self._sent is None:
            remembered = agent.memory.fixes(task.operation, task.request, issuer=agent.issuer)
            fixes = remembered if agent.briefs else ()
            self._settable.update(name for fix in fixes for name in fix.parameters)
            return agent.planner.first(task, fixes)
        return agent.planner.again(task, self._sent, self._refusal)

    def _send(self, body: bytes) -> httpx2.Response:
        method, _, path = self.task.operation.partition(" ")
        response = self.agent.client.request(
            method, path, content=body, headers={"content-type": "application/json"}
        )
        if response.status_code >= _BROKEN:
            raise Refused(
                f"the service broke on {self.task.operation}: {response.text}",
                status=response.status_code,
            )
        return response

    def _note(self, followed: Sequence[Fix], response: httpx2.Response) -> None:
        self._followed = len(followed)
        self._stale = sum(not self.holds(fix) for fix in followed)
        if response.is_success and followed:
            self.agent.accepted(self.agent.memory, self.task.operation, response, followed)


def _body(request: dict[str, Any]) -> bytes:
    """A request as it is sent, in the form of the client's own JSON.

    Raises:
        NoRequest: it is not JSON; a planner is no more trusted than a service.
    """
    try:
        text = json.dumps(request, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
    except (TypeError, ValueError, RecursionError) as failure:
        raise NoRequest(f"it cannot be sent as JSON ({failure})") from None


def _offers(response: httpx2.Response) -> Iterator[Offer]:
    """Each suggestion in a refusal, in the service's order."""
    if response.status_code != _REFUSED:
        return
    # The transport has read and checked the same body; a planner is given what the service wrote.
    body: Any = response.json()
    offered: list[Any] = body.get("recovery_feedback", {}).get("suggestions", [])
    for suggestion in offered:
        yield Offer(str(suggestion["type"]), dict(suggestion["parameters"]))
