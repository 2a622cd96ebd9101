"""A reverse proxy that gives an existing API the contract without touching it.

::

    gateway = Gateway(Path("openapi.json"), "https://api.internal", operator_token=token)
    serve_gateway(gateway, port=8422)                  # lapse.server.gateway_run

What the API's OpenAPI document demands of requests becomes reference tables. Every answer of the
upstream passes through, byte for byte, with the contract's header lines; a refusal of a request's
content (400 or 422) gets suggestions where the document determines what would have been right. A
new document is compared with the old one row by row: one reload for each table that changed.

It validates nothing itself. It never refuses what the upstream would take, and never says that a
request is right.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2

from lapse.contract import Level, Registry, Table, following_version
from lapse.errors import InvalidValue, StoreError
from lapse.server.contract import Contract
from lapse.server.describing import description, reload_answers
from lapse.server.digests import ASKING, asking
from lapse.server.endpoints import RELOAD_BYTES, Endpoints
from lapse.server.exchange import Disconnected, TooLarge, json_answer, read_body, respond
from lapse.server.gateway_forwarding import Copy, Forwarding, Upstream, passed_on
from lapse.server.gateway_refusals import Mended, decoded, mended
from lapse.server.gateway_relay import (
    Relay,
    held,
    problem,
    refuse_websocket,
    refused_upgrade,
    while_there,
)
from lapse.server.gateway_routes import Routes, RowIndex
from lapse.server.gateway_sent import sent_of
from lapse.server.openapi import Described, Grouping, read_openapi
from lapse.wire import JSON, reload_members

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from lapse.contract import Aliases, Reload
    from lapse.server.exchange import Answer, Message, Receive, Scope, Send
    from lapse.server.gateway_routes import Match
    from lapse.server.signing import Signing

    Reported = Callable[[str, Mended | None], None]

__all__ = ["Forwarding", "Gateway", "Mended"]

_REFUSALS: Final = frozenset({400, 422})
_RELOAD_SPEC: Final[dict[str, Any]] = {
    "summary": "Take a new OpenAPI document, or read the gateway's own file again",
    "requestBody": {"content": {"*/*": {"schema": {"type": "object"}}}},
    **reload_answers({JSON: {"schema": {"type": "object"}}}),
}
_SHORT: Final = 64 * 1024
"""A longer answer, or one of unknown length, is given up when its client goes away."""


class Gateway:
    """An ASGI application in front of another service.

    Args:
        document: the OpenAPI document, or the file that holds it.
        upstream: the service's URL.
        service: names the table, or begins the names of the tables; the document's title when None.
        grouping: how operations share tables.
        forwarding: how requests are carried.
        operator_token: the bearer token that reloads need; None: they are refused.
        location: the path under which the contract endpoints are; the upstream's own paths there
            are out of reach.
        level: the wire level. There are no rules here, so beyond 4 there is nothing to say.
        state_file: where versions, rows and the change log are kept over restarts; None: nowhere.
        reported: told of every refusal with what was found, and of every failure of the upstream.
        signing: signs what is said about the tables; None: nothing is signed.
        aliases: what tables and rows are called on the wire; None: by their names.

    Raises:
        InvalidValue: the document or another argument cannot be used.
        StoreError: the state file cannot be used.
    """

    def __init__(  # noqa: PLR0913 - options, each with a default and only by its name
        self,
        document: bytes | Path,
        upstream: str,
        *,
        service: str | None = None,
        grouping: Grouping = "service",
        forwarding: Forwarding | None = None,
        operator_token: str | None = None,
        location: str = "/contract",
        level: int = Level.L4,
        state_file: str | Path | None = None,
        reported: Reported | None = None,
        signing: Signing | None = None,
        aliases: Aliases | None = None,
    ) -> None:
        self.file = document if isinstance(document, Path) else None
        self._grouping: Grouping = grouping
        self._reloading = threading.Lock()
        text = _text(document) if isinstance(document, Path) else document
        described = read_openapi(text, service=service, grouping=grouping)
        # A later document with another title is still this service's.
        self._service = described.service
        self.contract = Contract(
            Registry.of(_tables(described)),
            level=level,
            operator_token=operator_token,
            location=location,
            state_file=state_file,
            signing=signing,
            aliases=aliases,
        )
        self.described = described
        self._routes = Routes(described)
        self._rows = RowIndex()
        self._forwarding = forwarding or Forwarding()
        self._upstream = Upstream(upstream, self._forwarding)
        self.reported = reported
        self._reload_path = f"{location}/reload-spec"
        own = description(
            self.contract, paths={self._reload_path: {"post": _RELOAD_SPEC}}, admin=False
        )
        self._endpoints = Endpoints(self.contract, described=own)
        # Beside its own location the gateway answers nothing: /admin may be the upstream's.
        self._paths = {p for p in self._endpoints.paths if p.startswith(f"{location}/")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        match scope["type"]:
            case "http":
                await self._serve(scope, receive, send)
            case "websocket":
                await refuse_websocket(scope, receive, send)
            case "lifespan":
                await self._live(receive, send)
            case _:
                pass

    def operation_of(self, scope: Scope) -> str:
        """What a request is for, with the document's template for its path where it has one."""
        match = self._match(scope)
        return f"{scope['method']} {scope['path']}" if match is None else match.operation.name

    def _match(self, scope: Scope) -> Match | None:
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        return self._routes.match(scope["method"], raw.decode("latin-1"))

    def reload(self, document: bytes | None = None) -> tuple[Reload, ...]:
        """Take a new document: one reload for each table that it changes, and no others.

        Args:
            document: the document; None: the file that the gateway was given is read again.

        Raises:
            InvalidValue: it cannot be read; nothing changed.
            StoreError: a reload could not be kept. The tables before it are reloaded, the others
                are not; the same document again does the rest.
        """
        if document is None:
            if self.file is None:
                remedy = "pass the document: this gateway was not started from a file"
                raise InvalidValue("document", document, remedy)
            document = _text(self.file)
        described = read_openapi(document, service=self._service, grouping=self._grouping)
        with self._reloading:
            done: list[Reload] = []
            gone = self.contract.registry.tables.keys() - described.tables.keys()
            changes: dict[str, Mapping[str, Any] | None] = {
                **described.tables,
                **dict.fromkeys(sorted(gone)),
            }
            for table, rows in changes.items():
                reload = self.contract.reload(table, rows)
                if reload.old_version != reload.new_version:
                    done.append(reload)
            self.described = described
            self._routes = Routes(described)
        return tuple(done)

    async def aclose(self) -> None:
        """Close the connections to the upstream."""
        await self._upstream.aclose()

    # -- serving -----------------------------------------------------------------------------

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if root := scope.get("root_path"):
            path = path.removeprefix(root)
        if path in self._paths:
            await self._endpoints(scope, receive, self._stamped(send, scope), path)
            return
        asked = asking(self.contract, scope)
        if asked is not None:
            receive = asked.hearing(receive, scope)
        token = ASKING.set(asked)
        try:
            if path == self._reload_path:
                answer: Answer | None = await self._reload_answer(scope, receive)
            else:
                answer = refused_upgrade(scope) or self._astray(scope)
                if answer is None:
                    answer = await self._forward(scope, receive, send)
        except Disconnected:
            return
        finally:
            ASKING.reset(token)
        if answer is not None:
            await respond(answer, scope, self._stamped(send, scope))

    def _stamped(self, send: Send, scope: Scope) -> Send:
        lines, asked = self.contract.lines, asking(self.contract, scope)

        async def stamped(message: Message) -> None:
            if message["type"] == "http.response.start":
                if asked is None:
                    message = {**message, "headers": [*message.get("headers", ()), *lines]}
                else:
                    message = asked.stamped(message, scope)
            await send(message)

        return stamped

    def _astray(self, scope: Scope) -> Answer | None:
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        if raw.startswith(b"/") and not self._upstream.leaves(raw):
            return None
        detail = "Ask for a path, from its first slash on, that does not lead upwards."
        return problem(scope, 400, "The path is not carried", detail)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> Answer | None:
        """Carry one exchange; returns the answer that is the gateway's own, if there is one."""
        copy = Copy(self._forwarding.request_bytes)
        try:
            response = await self._upstream.send(scope, receive, copy)
        except httpx2.PoolTimeout:
            return self._failed(scope, 503, "The gateway is busy", "no_connection")
        except httpx2.TimeoutException:
            return self._failed(scope, 504, "The upstream did not answer in time", "timed_out")
        except httpx2.TransportError:
            return self._failed(scope, 502, "The upstream cannot be reached", "unreachable")
        try:
            lines = passed_on(response.headers.raw)
            relay = Relay(scope, send, response.status_code, lines)
            if not any(name.startswith((b"contract-", b"lapse")) for name, _ in lines):
                # Else the upstream speaks the contract itself, and two maps would be none.
                relay.stamps, relay.asked = self.contract.lines, ASKING.get()
            return await self._carry(scope, receive, relay, response.aiter_raw(), copy)
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def _carry(
        self, scope: Scope, receive: Receive, relay: Relay, parts: AsyncIterator[bytes], copy: Copy
    ) -> Answer | None:
        if relay.status in _REFUSALS and relay.stamps and relay.may_be_mended:
            try:
                relay.before = await held(parts, self._forwarding.refusal_bytes)
            except httpx2.TimeoutException:
                return self._failed(scope, 504, "The upstream did not answer in time", "timed_out")
            except httpx2.TransportError:
                return self._failed(scope, 502, "The upstream broke off", "broke_off")
            found = self._mend(scope, copy, relay)
            if found.body is not None:
                await relay.whole(list(found.lines), found.body)
                return None
        if relay.length is not None and relay.length <= _SHORT:
            await self._stream(relay, parts)
        else:
            await while_there(self._stream(relay, parts), receive)
        return None

    async def _stream(self, relay: Relay, parts: AsyncIterator[bytes]) -> None:
        try:
            await relay.stream(parts)
        except httpx2.TransportError:
            # The status has gone out. An answer without its end is what the server makes of a
            # return, and what the client has to see.
            self._report("broke_off", None)

    def _failed(self, scope: Scope, status: int, title: str, kind: str) -> Answer:
        self._report(kind, None)
        return problem(scope, status, title, "The request may or may not have had its effect.")

    def _report(self, what: str, found: Mended | None) -> None:
        if self.reported is not None:
            self.reported(what, found)

    def _mend(self, scope: Scope, copy: Copy, relay: Relay) -> Mended:
        match = self._match(scope)
        found = Mended()
        limit = self._forwarding.refusal_bytes
        if match is not None and len(relay.before) <= limit:
            found = mended(
                self.contract,
                self._rows,
                match,
                sent_of(scope, copy.body),
                status=relay.status,
                lines=relay.lines,
                body=decoded(relay.lines, relay.before, limit),
            )
        self._report("refused", found)
        return found

    # -- reloading ---------------------------------------------------------------------------

    async def _reload_answer(self, scope: Scope, receive: Receive) -> Answer:
        if scope["method"] != "POST":
            refused = problem(scope, 405, "Method not allowed", "Use POST.")
            return refused.with_headers((b"allow", b"POST"))
        if (refusal := self._endpoints.unauthorized(scope)) is not None:
            return refusal
        try:
            body = await read_body(receive, scope, limit=RELOAD_BYTES)
        except TooLarge:
            detail = f"A document may have {RELOAD_BYTES} bytes."
            return problem(scope, 413, "The document is too large", detail)
        try:
            # In a thread: documents are large, and a state file has to reach the disk.
            done = await asyncio.to_thread(self.reload, body or None)
        except InvalidValue as failure:
            return problem(scope, 400, "The document cannot be read", f"{failure}.")
        except StoreError as failure:
            return problem(scope, 503, "The reload could not be kept", f"{failure}.")
        described = self.described
        result = {
            "title": described.title,
            "version": described.version,
            "reloads": [reload_members(reload) for reload in done],
            "unsaid": dict(described.unsaid),
        }
        return json_answer(result, (b"cache-control", b"no-store"))

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return


def _tables(described: Described) -> list[Table]:
    return [
        Table(name, rows, following_version(None, rows)) for name, rows in described.tables.items()
    ]


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as failure:
        remedy = f"name a readable file ({failure.strerror})"
        raise InvalidValue("openapi", str(path), remedy) from None
