"""Puts the counting around an application, and `GET {location}/metrics` beside it.

It stands outside the contract's middleware, or outside a gateway. An application without it pays
nothing; with it, each exchange costs a digest and a look-up, and only requests of clients that were
given suggestions for the same operation are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lapse.server.digests import TOLD
from lapse.server.exchange import Answer, header, problem_answer, respond
from lapse.server.gateway_sent import is_json, sent_of
from lapse.server.metrics import Exchange, Metrics
from lapse.wire import Limits, Problem, read_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from lapse.contract import Suggestion
    from lapse.ledger import JsonObject
    from lapse.server.contract import Contract
    from lapse.server.exchange import ASGIApp, Message, Receive, Scope, Send

    Rendering = Callable[[Metrics, str], tuple[bytes, str]]

__all__ = ["Measured"]

_ERRORS: Final = 400


class Measured:
    """Wraps an application, whole.

    Args:
        app: the application, with the contract in it.
        contract: its contract.
        metrics: where it is counted.
        rendering: writes the counts for a scraper, given its Accept header; None: no endpoint.
        operation_of: names a request's operation; method and path when None.
        name_of: what the service calls a client, for the counts to be told apart by; None: nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        contract: Contract,
        metrics: Metrics,
        *,
        rendering: Rendering | None = None,
        operation_of: Callable[[Scope], str] | None = None,
        name_of: Callable[[Scope], str | None] | None = None,
    ) -> None:
        self._app = app
        self.metrics = metrics
        self._rendering = rendering
        self._operation_of = operation_of or _operation
        self._name_of = name_of
        self._location = contract.location
        self._limits = Limits(body_bytes=metrics.bounds.body_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"].removeprefix(scope.get("root_path", ""))
        if path == f"{self._location}/metrics" and self._rendering is not None:
            await respond(self._counts(scope, self._rendering), scope, send)
            return
        watch = _Watch(self.metrics.bounds.body_bytes)
        who = _who(scope)
        asked = path.removeprefix(f"{self._location}/") if self._contracts(path) else None
        operation = self._operation_of(scope)
        reloads = self.metrics.reloads
        if asked is None and self.metrics.concerns(who, operation):
            receive = watch.receiving(receive)
        token = TOLD.set(watch.told)
        try:
            await self._app(scope, receive, watch.sending(send))
        finally:
            TOLD.reset(token)
        if watch.status is None:
            return
        if asked is not None:
            tagged = header(scope, b"if-none-match") is not None
            self.metrics.asked(who, asked, status=watch.status, reloads=reloads, tagged=tagged)
            return
        request, texts = watch.members(scope)
        self.metrics.exchanged(
            Exchange(
                who=who,
                operation=operation,
                request=request,
                texts=texts,
                status=watch.status,
                reloads=reloads,
                suggestions=self._suggestions(watch),
                name=None if self._name_of is None else self._name_of(scope),
            )
        )

    def _contracts(self, path: str) -> bool:
        return path.startswith(f"{self._location}/") and path.rpartition("/")[2] in _ENDPOINTS

    def _counts(self, scope: Scope, rendering: Rendering) -> Answer:
        if scope["method"] not in ("GET", "HEAD"):
            problem = Problem(title="Method not allowed", status=405, detail="Use GET.")
            return problem_answer(problem).with_headers((b"allow", b"GET, HEAD"))
        body, kind = rendering(self.metrics, header(scope, b"accept") or "")
        lines = ((b"content-type", kind.encode()), (b"cache-control", b"no-store"))
        return Answer(200, lines, body)

    def _suggestions(self, watch: _Watch) -> tuple[Suggestion, ...]:
        if watch.refusal is None:
            return ()
        reading = read_response(watch.headers, bytes(watch.refusal), limits=self._limits)
        # Beside a digest a fix refers to what its client knows: here it is as it was meant.
        return tuple(
            next((told for told in watch.told if _is_same(told, said)), said)
            for said in reading.envelope.suggestions
        )


class _Watch:
    """Keeps a copy of what passes: a request if it is asked to, an answer if it is a refusal."""

    def __init__(self, limit: int) -> None:
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self.refusal: bytearray | None = None
        self.told: list[Suggestion] = []
        self._limit = limit
        self._request: bytearray | None = None
        self._whole = False

    def receiving(self, receive: Receive) -> Receive:
        self._request = bytearray()

        async def received() -> Message:
            message = await receive()
            kept = self._request
            if message["type"] == "http.request" and kept is not None:
                kept += message.get("body", b"")
                self._whole = not message.get("more_body", False)
                self._request = kept if len(kept) <= self._limit else None
            return message

        return received

    def sending(self, send: Send) -> Send:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._begin(message)
            elif self.refusal is not None:
                kept = self.refusal
                kept += message.get("body", b"")
                self.refusal = kept if len(kept) <= self._limit else None
            await send(message)

        return sent

    def _begin(self, message: Message) -> None:
        self.status = message["status"]
        if message["status"] >= _ERRORS:
            self.headers = list(message.get("headers", ()))
            lines = {name.lower(): value for name, value in self.headers}
            kind = lines.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if is_json(kind.decode("latin-1")) and b"content-encoding" not in lines:
                self.refusal = bytearray()

    def members(self, scope: Scope) -> tuple[JsonObject | None, bool]:
        if self._request is None or not (self._whole or not self._request):
            return None, False
        sent = sent_of(scope, bytes(self._request))
        if sent.body is not None:
            return sent.body, sent.form
        if sent.empty:
            return {name: values[-1] for name, values in sent.query.items()}, True
        return None, False


_ENDPOINTS: Final = frozenset({"versions", "changes", "graph", "reload", "reload-spec"})


def _is_same(told: Suggestion, said: Suggestion) -> bool:
    return told.type == said.type and told.parameters == said.parameters


def _operation(scope: Scope) -> str:
    return f"{scope['method']} {scope['path']}"


def _who(scope: Scope) -> bytes:
    """What tells this client from others: its credential, else its address and its user agent."""
    lines: dict[bytes, Any] = dict(scope["headers"])
    credential = lines.get(b"authorization")
    if credential is not None:
        return bytes(credential)
    client = scope.get("client")
    address = "" if client is None else str(client[0])
    return address.encode() + b"\0" + lines.get(b"user-agent", b"")
