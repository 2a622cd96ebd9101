"""A workspace over HTTP, for agents in any language. Needs the extra `server`.

::

    app = workspace_application({None: workspace}, tokens)

============================================  ====================================================
``POST /workspace/items``                     write a statement
``POST /workspace/items/{item}/{verb}``       ``supersede``, ``revoke``, ``close``, ``dispute``,
                                              ``resolve``, ``restore``
``GET /workspace/items/{item}``               its story; for operators
``POST /workspace/depart``, ``/scan``         leave; look ahead
``POST /workspace/return``                    come back: a view, or what is missing for one
``GET /workspace/returns/{cycle}``            how a return ended
``GET /workspace/returns/{cycle}/view``       the view's bytes and their signature
``GET /workspace/returns/{cycle}/brief``      the view, worded for a model
``GET /workspace/returns/{cycle}/experience`` the experience that came back with it
``GET /workspace/me``, ``/status``            where the caller is; how all stands, for operators
``GET /workspace/openapi.json``               all this in OpenAPI 3.1
============================================  ====================================================

Who calls is read from the bearer token (C-WS-01) and from nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, cast

import http_sf

from lapse.errors import InvalidValue, LapseError, MissingExtra
from lapse.runtime import Workspace
from lapse.server.exchange import Disconnected, TooLarge, read_body
from lapse.server.workspace_asked import (
    ID_PATTERN,
    Ended,
    Leaving,
    Looking,
    Name,
    Resolved,
    Returned,
    Said,
    SaidAgain,
    SaidInstead,
)
from lapse.server.workspace_problems import STATUSES, answers, problem_body, problem_of
from lapse.server.workspace_seat import Seat
from lapse.server.workspace_standing import Items, StandingTold, StoryTold
from lapse.server.workspace_tokens import Tokens
from lapse.server.workspace_told import (
    Left,
    Membership,
    Notices,
    Outcome,
    Scanned,
    Written,
)
from lapse.wire import PROBLEM_JSON, Problem

try:
    from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
    from starlette.exceptions import HTTPException
except ImportError:  # pragma: no cover - the extra is there in the tests
    feature = "a workspace over HTTP"
    raise MissingExtra(feature, "server") from None

if TYPE_CHECKING:
    from lapse.server.exchange import ASGIApp, Message, Receive, Scope, Send

__all__ = ["BODY_BYTES", "SIGNATURE", "workspace_application"]

BODY_BYTES = 256 * 1024
"""The longest request taken in; the longest statement with all its lists needs a tenth of it."""

SIGNATURE = "View-Signature"
"""The field that carries a view's signature, as an RFC 9651 byte sequence with the key's id."""

_VIEW: dict[str, Any] = {
    "type": "object",
    "required": ["form", "version", "key", "returning", "checkpoint", "expires", "items"],
    "description": "RFC 8785 bytes: what the signature covers, behind a first line of its own.",
}


class _Unknown(Exception):
    """Nobody knows who calls."""


_BEARER = HTTPBearer(auto_error=False, scheme_name="member")


@dataclass(frozen=True, slots=True)
class _Seats:
    """The seats of whoever may call."""

    workspaces: Mapping[str | None, Workspace]
    tokens: Tokens
    turn: Lock

    def of(self, token: str) -> Seat:
        """The seat of a token's bearer."""
        grant = self.tokens.grant_of(token)
        if grant is None:
            raise _Unknown
        return Seat(self.workspaces[grant.tenant], grant, turn=self.turn)


def _seat(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
) -> Seat:
    if credentials is None:
        raise _Unknown
    seats: _Seats = request.app.state.seats
    return seats.of(credentials.credentials)


Caller = Annotated[Seat, Depends(_seat)]
Item = Annotated[str, Path(pattern=ID_PATTERN)]
Cycle = Annotated[str, Path(pattern=ID_PATTERN)]
Purpose = Annotated[Name, Query(description="The purpose that the return was for.")]
Task = Annotated[Name | None, Query(description="The task; left out: that of the token.")]

_WRITING = answers(400, 404, 409, 413, 422)
_READING = answers(404, 409, 422)
_router = APIRouter(prefix="/workspace")


# -- saying ------------------------------------------------------------------------------------


@_router.post("/items", status_code=201, responses=_WRITING)
def record(seat: Caller, said: Said) -> Written:
    """Write a statement."""
    return seat.record(said)


@_router.post("/items/{item}/supersede", status_code=201, responses=_WRITING)
def supersede(seat: Caller, item: Item, said: SaidInstead) -> Written:
    """Say something else in place of an item."""
    return seat.supersede(item, said)


@_router.post("/items/{item}/revoke", responses=_WRITING)
def revoke(seat: Caller, item: Item, said: Ended) -> Notices:
    """Say that an item was never true."""
    return seat.revoke(item, said)


@_router.post("/items/{item}/close", responses=_WRITING)
def close(seat: Caller, item: Item, said: Ended) -> Notices:
    """Say that an item was true and is over."""
    return seat.close(item, said)


@_router.post("/items/{item}/dispute", responses=_WRITING)
def dispute(seat: Caller, item: Item, said: Ended) -> Notices:
    """Say that an item is contradicted."""
    return seat.dispute(item, said)


@_router.post("/items/{item}/restore", responses=_WRITING)
def restore(seat: Caller, item: Item, said: SaidAgain) -> Written:
    """Let an item stand again, for a receipt of the caller."""
    return seat.restore(item, said)


@_router.post("/items/{item}/resolve", status_code=201, responses=_WRITING)
def resolve(seat: Caller, item: Item, said: Resolved) -> Written:
    """Let one side of a dispute hold, in a new item."""
    return seat.resolve(item, said)


# -- leaving and returning ---------------------------------------------------------------------


@_router.post("/depart", status_code=201, responses=_WRITING)
def depart(seat: Caller, leaving: Leaving) -> Left:
    """Leave: what the caller can see now is what its return is decided on."""
    return seat.depart(leaving)


@_router.post("/scan", responses=_WRITING)
def scan(seat: Caller, looking: Looking) -> Scanned:
    """Answer ahead what the caller's return would ask now."""
    return seat.scan(looking)


@_router.post("/return", responses=_WRITING)
def return_(seat: Caller, returned: Returned) -> Outcome:
    """Come back: decide what the caller may act on, or what is missing for that."""
    return seat.return_(returned)


@_router.get("/returns/{cycle}", responses=answers(404, 422))
def outcome(seat: Caller, cycle: Cycle) -> Outcome:
    """How a return ended."""
    return seat.outcome(cycle)


_SIGNED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The view, checked again.",
        "headers": {SIGNATURE: {"required": True, "schema": {"type": "string"}}},
        "content": {"application/json": {"schema": _VIEW}},
    }
}
_WORDS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The view, checked again, worded as evidence.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


@_router.get("/returns/{cycle}/view", response_class=Response, responses={**_READING, **_SIGNED})
def view(seat: Caller, cycle: Cycle, purpose: Purpose, task: Task = None) -> Response:
    """The view's bytes as they were signed, if nothing speaks against it now."""
    signed = seat.signed_view(cycle, purpose, task)
    mark = http_sf.ser((signed.signature, {"key": signed.key}))
    return Response(signed.body, media_type="application/json", headers={SIGNATURE: mark})


@_router.get("/returns/{cycle}/brief", response_class=Response, responses={**_READING, **_WORDS})
def brief(seat: Caller, cycle: Cycle, purpose: Purpose, task: Task = None) -> Response:
    """The view worded for a model, if nothing speaks against it now."""
    text = seat.brief(cycle, purpose, task)
    return Response(text, media_type="text/plain")


@_router.get("/returns/{cycle}/experience", responses=_READING)
def experience(seat: Caller, cycle: Cycle, purpose: Purpose, task: Task = None) -> Items:
    """The caller's own experience that came back with the view."""
    return seat.experience(cycle, purpose, task)


# -- telling -----------------------------------------------------------------------------------


@_router.get("/items/{item}", responses=answers(404, 422))
def story(seat: Caller, item: Item) -> StoryTold:
    """What became of an item; for operators."""
    return seat.story(item)


@_router.get("/me", responses=answers(404, 422))
def me(seat: Caller, task: Task = None) -> Membership:
    """Where the caller is."""
    return seat.me(task)


@_router.get("/status", responses=answers())
def status(seat: Caller) -> StandingTold:
    """How the workspace stands; for operators."""
    return seat.status()


def workspace_application(workspaces: Mapping[str | None, Workspace], tokens: Tokens) -> ASGIApp:
    """An ASGI application over the workspaces of some tenants.

    Args:
        workspaces: by tenant.
        tokens: who may call, in which of them.

    Raises:
        InvalidValue: a token is for a tenant that is not there.
    """
    for grant in tokens:
        if grant.tenant not in workspaces:
            raise InvalidValue("tenant", grant.tenant, "open the workspace of every token's tenant")
    app = FastAPI(
        title="Workspace",
        version="1",
        openapi_url="/workspace/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.seats = _Seats(workspaces, tokens, Lock())
    app.include_router(_router)
    app.add_exception_handler(LapseError, _explained)
    app.add_exception_handler(_Unknown, _unauthorized)
    app.add_exception_handler(RequestValidationError, _unfit)
    app.add_exception_handler(HTTPException, _unread)
    return _Bounded(cast("ASGIApp", app), BODY_BYTES)


# -- refusals ----------------------------------------------------------------------------------


def _response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        problem_body(problem),
        problem.status,
        media_type=PROBLEM_JSON,
        headers=headers,
    )


async def _explained(_: Request, failure: Exception) -> Response:
    return _response(problem_of(cast("LapseError", failure)))


async def _unauthorized(_: Request, __: Exception) -> Response:
    problem = Problem(title="Who calls is not known", status=401, detail=STATUSES[401])
    return _response(problem, {"WWW-Authenticate": 'Bearer realm="lapse workspace"'})


async def _unfit(_: Request, failure: Exception) -> Response:
    errors = cast("RequestValidationError", failure).errors()
    if any(error["type"] == "json_invalid" for error in errors):
        return _response(Problem(title="This is not JSON", status=400, detail=STATUSES[400]))
    # Neither input nor context: they repeat what the client sent.
    told = [{"loc": list(e["loc"]), "msg": e["msg"], "type": e["type"]} for e in errors]
    problem = Problem(
        title="The request does not have the described shape",
        status=422,
        detail="What does not fit is listed in errors.",
        more={"errors": told},
    )
    return _response(problem)


async def _unread(_: Request, failure: Exception) -> Response:
    found = cast("HTTPException", failure)
    detail = {404: "No endpoint has this path.", 405: "Allow says which methods there are."}.get(
        found.status_code, STATUSES.get(found.status_code, "Ask otherwise.")
    )
    problem = Problem(title=str(found.detail), status=found.status_code, detail=detail)
    return _response(problem, found.headers)


class _Bounded:
    """Reads a request's body first, no more than is taken in, and lets nobody keep the answer."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await read_body(receive, scope, limit=self._limit)
        except Disconnected:
            return
        except TooLarge:
            detail = f"A request may have {self._limit} bytes."
            refused = _response(Problem(title=STATUSES[413], status=413, detail=detail))
            await refused(scope, receive, _unkept(send))
            return
        told = False

        async def again() -> Message:
            nonlocal told
            if told:
                return await receive()
            told = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, again, _unkept(send))


def _unkept(send: Send) -> Send:
    """Sends every answer as one that no cache may keep (C-WS-03)."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"cache-control", b"no-store")]
        await send(message)

    return sent
