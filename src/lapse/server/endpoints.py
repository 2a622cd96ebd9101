"""The contract endpoints, as an ASGI application of their own.

============================================  ====================================================
``GET {location}/versions``                   table and rule versions, with a strong entity tag
``GET {location}/changes?table=T&since=V``    what changed in a table since a version
``GET {location}/graph``, ``/admin/graph``    the knowledge graph (Level 5)
``GET {location}/openapi.json``               what these endpoints take and give, in OpenAPI 3.1
``POST {location}/reload``,                   new rows for a table; needs the operator's token
``/admin/reload-table``
============================================  ====================================================
"""

from __future__ import annotations

import asyncio
import hmac
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from lapse.contract import Level, is_name
from lapse.errors import InvalidValue, MalformedMessage, StoreError
from lapse.server.describing import description
from lapse.server.exchange import (
    Answer,
    Disconnected,
    TooLarge,
    header,
    json_answer,
    problem_answer,
    read_body,
    respond,
)
from lapse.wire import (
    Limits,
    Problem,
    ReloadRequest,
    read_reload_request,
    reload_members,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from lapse.server.contract import Contract, Published
    from lapse.server.exchange import Receive, Scope, Send

    Handler = Callable[[Scope, Receive], Awaitable[Answer]]

__all__ = ["RELOAD_BYTES", "Endpoints"]

RELOAD_BYTES: Final = 32 * 1024 * 1024
"""The longest reload taken in; at 200 bytes a row that is 160,000 rows."""

_VALUES = 10_000_000
_NO_CACHE = (b"cache-control", b"no-cache")
_NO_STORE = (b"cache-control", b"no-store")


class Endpoints:
    """The endpoints of one contract. `paths` are the paths it answers.

    Args:
        contract: the contract.
        reload_bytes: the longest reload taken in.
        described: the OpenAPI document to offer; one of these endpoints alone when None.
    """

    def __init__(
        self,
        contract: Contract,
        *,
        reload_bytes: int = RELOAD_BYTES,
        described: Mapping[str, Any] | None = None,
    ) -> None:
        self._contract = contract
        self._description = write(described or description(contract))
        self._limits = Limits(body_bytes=reload_bytes, values=_VALUES)
        reload: dict[str, Handler] = {"POST": self._reload}
        graph: dict[str, Handler] = {"GET": self._graph}
        at = contract.location
        self._routes: dict[str, dict[str, Handler]] = {
            f"{at}/versions": {"GET": self._versions},
            f"{at}/changes": {"GET": self._changes},
            f"{at}/graph": graph,
            f"{at}/openapi.json": {"GET": self._openapi},
            f"{at}/reload": reload,
            "/admin/graph": graph,
            "/admin/reload-table": reload,
        }
        self.paths = frozenset(self._routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        """Answer a request for one of `paths`; to a client that went away, nothing."""
        methods, method = self._routes[path], scope["method"]
        allowed = ", ".join([*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"])
        handler = methods.get("GET" if method == "HEAD" else method)
        try:
            if handler is not None:
                answer = await handler(scope, receive)
            elif method == "OPTIONS":
                answer = Answer(204, ((b"allow", allowed.encode()),))
            else:
                refused = _problem(405, "Method not allowed", f"Use {allowed}.", scope)
                answer = refused.with_headers((b"allow", allowed.encode()))
        except Disconnected:
            return
        await respond(answer, scope, send)

    async def _versions(self, scope: Scope, _: Receive) -> Answer:
        if self._contract.emission.level < Level.L1:
            return _not_offered(scope)
        published = self._contract.published
        headers = ((b"etag", published.etag.encode()), _NO_CACHE)
        if _matches(header(scope, b"if-none-match"), {published.etag}, weakly=True):
            return Answer(304, headers)
        return Answer(
            200, ((b"content-type", b"application/json"), *headers), published.versions_body
        )

    async def _changes(self, scope: Scope, _: Receive) -> Answer:
        if self._contract.emission.level < Level.L1:
            return _not_offered(scope)
        try:
            query = parse_qs(
                scope.get("query_string", b"").decode("ascii"),
                keep_blank_values=True,
                strict_parsing=True,
                errors="strict",
                max_num_fields=10,
            )
        except ValueError:
            query = {}
        match query:
            case {"table": [table], "since": [since]} if is_name(table) and is_name(since):
                return json_answer(self._contract.changes_members(table, since), _NO_STORE)
            case _:
                detail = "Ask with ?table=TABLE&since=VERSION, each once and percent-encoded."
                return _problem(400, "The question cannot be read", detail, scope)

    async def _graph(self, scope: Scope, _: Receive) -> Answer:
        if self._contract.emission.level < Level.L5:
            return _not_offered(scope)
        return json_answer(self._contract.graph_members(), _NO_CACHE)

    async def _openapi(self, _: Scope, __: Receive) -> Answer:
        return Answer(200, ((b"content-type", b"application/json"), _NO_CACHE), self._description)

    async def _reload(self, scope: Scope, receive: Receive) -> Answer:
        if (refusal := self.unauthorized(scope)) is not None:
            return refusal
        try:
            body = await read_body(receive, scope, limit=self._limits.body_bytes)
            asked = read_reload_request(body, limits=self._limits)
        except TooLarge:
            detail = f"A reload may have {self._limits.body_bytes} bytes."
            return _problem(413, "The reload is too large", detail, scope)
        except MalformedMessage as failure:
            return _problem(400, "The reload cannot be read", f"{failure}.", scope)
        # In a thread: a big table takes a while to compare, and a state file has to reach the disk.
        return await asyncio.to_thread(self._reloaded, asked, scope)

    def _reloaded(self, asked: ReloadRequest, scope: Scope) -> Answer:
        expected = header(scope, b"if-match")
        try:
            done = self._contract.reload_if(
                lambda published: _expected(expected, published, asked.table),
                asked.table,
                asked.rows,
                asked.version,
            )
        except InvalidValue as failure:
            return _problem(400, "The reload is not possible", f"{failure}.", scope)
        except StoreError as failure:
            return _problem(503, "The reload could not be kept", f"{failure}.", scope)
        if done is None:
            detail = "The table has moved since If-Match was read. Look at it again, then decide."
            return _problem(412, "Somebody else reloaded first", detail, scope)
        return json_answer(reload_members(done), _NO_STORE)

    def unauthorized(self, scope: Scope) -> Answer | None:
        """The refusal of a request that does not carry the operator's token; None if it does."""
        token = self._contract.operator_token
        if token is None:
            detail = "This server was started without an operator token."
            return _problem(403, "Reloads are switched off", detail, scope)
        scheme, _, given = (header(scope, b"authorization") or "").partition(" ")
        # Compared whatever the scheme was, and in constant time: neither says how close it came.
        known = hmac.compare_digest(given.strip().encode("latin-1"), token.encode())
        if scheme.lower() == "bearer" and known:
            return None
        detail = "Send the operator's token as Authorization: Bearer TOKEN."
        refused = _problem(401, "The operator's token is needed", detail, scope)
        return refused.with_headers((b"www-authenticate", b'Bearer realm="lapse contract"'))


def _expected(field: str | None, published: Published, table: str) -> bool:
    """Whether If-Match, if there is one, names the versions or the table's version as they are."""
    if field is None:
        return True
    held = published.registry.tables.get(table)
    if field.strip() == "*":
        return held is not None
    tags = {published.etag} if held is None else {published.etag, f'"{held.version}"'}
    return _matches(field, tags, weakly=False)


def _matches(field: str | None, tags: set[str], *, weakly: bool) -> bool:
    """Whether If-Match or If-None-Match names one of the tags (RFC 9110, section 8.8.3.2)."""
    if field is None:
        return False
    if field.strip() == "*":
        return True
    given = [tag.strip() for tag in field.split(",")]
    return any((tag.removeprefix("W/") if weakly else tag) in tags for tag in given)


def _not_offered(scope: Scope) -> Answer:
    detail = "This server speaks a lower level of the contract."
    return _problem(404, "Not offered", detail, scope)


def _problem(status: int, title: str, detail: str, scope: Scope) -> Answer:
    problem = Problem(title=title, status=status, detail=detail)
    return problem_answer(problem, accept=header(scope, b"accept"))
