"""An HTTP transport that remembers fixes; wraps another transport and never breaks its calls.

Every response passes through byte for byte. Its contract members are taken in when its body has
been read to the end, so the memory is durable before the caller has the answer; a body that cannot
hold them is not looked at, and the headers alone are taken in. The service is asked what changed
only when the response's own connection has been given back: a pool may have no other. Whatever
goes wrong on the way is counted and told to the memory's observers, and the wrapped call goes on.

Told to, it also merges fixes that hold into requests before they leave (`http_amending` says into
which, `lapse.contract.amending` says what), and never without a word in the ledger.

It is written for httpx2 and serves an httpx client as well, when given an httpx transport to wrap.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import httpx2

from lapse.contract import Declined
from lapse.errors import LapseError
from lapse.transports.digests import announce
from lapse.transports.exchange import (
    BODY_LIMIT,
    FORWARDED,
    REFUSED,
    UNAUTHENTICATED,
    answer_of,
    asked_of,
    carries_json,
    carries_mirrors,
    next_question,
    question_url,
    steps_of,
    unread,
)
from lapse.transports.http_amending import EXTENSION, Amending, applied_to
from lapse.transports.waiting import off_loop_async, said_async
from lapse.wire import LOCATION

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection

    from lapse.contract import Amendment, AmendmentRules, Envelope, Fix, Moved, TableChanges
    from lapse.ledger import JsonObject
    from lapse.runtime import Memory
    from lapse.transports.exchange import Asked, Naming, Steps
    from lapse.transports.http_amending import Amended, Ask, Consume
    from lapse.transports.request_schemas import RequestSchemas

__all__ = ["AsyncTransport"]

_PIECE = 64 * 1024
"""Bytes that are decoded at a time: a small body may have been a large one before it was packed."""

_EXTENSIONS = ("timeout", "sni_hostname")
"""What a question inherits of the call's extensions: how long to wait, and whom to expect."""


class AsyncTransport(httpx2.AsyncBaseTransport):
    """Takes in what the services behind another transport say about the fixes they gave.

    Args:
        memory: where fixes are kept; it is not closed with the transport.
        wrapped: the transport that does the work; a plain one when left out.
        issuer: the name fixes are bound to; the origin of each request when left out.
        operation: names a request's operation; method and path when left out.
        forwarded: the request headers that go along when the same origin is asked what changed;
            name the header that carries an API key here.
        consume: what happens with fixes that hold: ``brief`` leaves requests as they are, ``apply``
            merges fixes into them, ``ask`` merges them if the callback agrees.
        amendment: what may be merged; by default nothing sensitive.
        schemas: what requests may hold; into one without a schema nothing is merged.
        ask: asked before an amended request leaves; anything but True, and any error, is a no.

    Raises:
        InvalidValue: `consume` is unknown, or lacks `schemas` or `ask`.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own, and named
        self,
        memory: Memory,
        wrapped: httpx2.AsyncBaseTransport | None = None,
        *,
        issuer: str | None = None,
        operation: Naming | None = None,
        forwarded: Collection[str] = FORWARDED,
        consume: Consume = "brief",
        amendment: AmendmentRules | None = None,
        schemas: RequestSchemas | None = None,
        ask: Ask | None = None,
    ) -> None:
        self._memory = memory
        self._wrapped = httpx2.AsyncHTTPTransport() if wrapped is None else wrapped
        self._issuer = issuer
        self._operation = operation
        self._forwarded = tuple(forwarded)
        self._amending = Amending(consume, amendment, schemas, ask)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request through the wrapped transport and take its response in."""
        amended = await self._amended(request)
        sent = request if amended is None else amended.sent
        announce(self._memory, sent, self._issuer)
        response = await self._wrapped.handle_async_request(sent)
        try:
            if amended is not None:
                response.extensions = {**response.extensions, EXTENSION: amended}
            await self._take_in(request, response, amended)
        except Exception as failure:  # noqa: BLE001 - the call stands, whatever happens here
            self._memory.failed("" if self._issuer is None else self._issuer, failure)
        except BaseException:  # broken off: nobody will have this response to close it
            await response.aclose()
            raise
        return response

    async def _take_in(
        self, request: httpx2.Request, response: httpx2.Response, amended: Amended | None
    ) -> None:
        if response.status_code in REFUSED and self._amending.consume != "brief":
            self._amending.forget(asked_of(request, self._issuer, self._operation))
        has_body = carries_json(response)
        if not has_body and not carries_mirrors(response) and amended is None:
            return  # Level 0
        asked = asked_of(request, self._issuer, self._operation)
        if amended is not None:
            applied = tuple(fix.id for fix in amended.amendment.merged)
            asked = replace(asked, request=amended.sent, applied=applied)
        asked = replace(asked, status=response.status_code)
        taking = _Taking(self._memory, self._wrapped, asked, response, self._forwarded)
        if response.is_stream_consumed:  # read already: by an in-process transport, or a cache
            await taking.begin(response.content if has_body else None)
            await taking.finish()
            return
        if not has_body:
            await taking.begin(None)
        stream = cast("httpx2.AsyncByteStream", response.stream)
        response.stream = _tee_for(type(stream))(stream, taking, keeps=has_body)

    # -- amending ----------------------------------------------------------------------------

    async def _amended(self, request: httpx2.Request) -> Amended | None:
        """The request to send instead; None when it goes out as it is."""
        if self._amending.consume == "brief":
            return None
        try:
            asked = asked_of(request, self._issuer, self._operation)
            members = self._amending.readable(asked)
            if members is None:
                return None
            made = self._amending.sent_before(asked, members)
            if made is None:
                made = await self._made(asked, members)
                self._amending.remember(asked, made)
            return applied_to(asked, made) if made.merged else None
        except Exception as failure:  # noqa: BLE001 - the call goes out as its caller wrote it
            self._memory.failed("" if self._issuer is None else self._issuer, failure)
            return None

    async def _made(self, asked: Asked, members: JsonObject) -> Amendment:
        """What is merged, on record; nothing is where anything stands against it."""
        memory, amending = self._memory, self._amending
        fixes: tuple[Fix, ...] = ()
        try:
            fixes = await off_loop_async(
                lambda: memory.fixes(asked.operation, members, issuer=asked.issuer)
            )
        except LapseError as failure:  # nothing is known, and that is how this request goes out
            memory.failed(asked.issuer, failure)
        made = amending.decided(asked, members, fixes)
        if made.merged and applied_to(asked, made) is None:
            made = made.without(Declined.NOT_WRITABLE)
        if made.merged and amending.ask is not None and not await self._agreed(amending.ask, made):
            made = made.without(Declined.NOT_CONFIRMED)
        reason = "merged" if amending.ask is None else "agreed"
        return await off_loop_async(lambda: memory.applying.recorded(made, reason=reason))

    @staticmethod
    async def _agreed(ask: Ask, made: Amendment) -> bool:
        try:
            return await said_async(ask(deepcopy(made)))  # whoever edits it does not edit ours
        except Exception:  # noqa: BLE001 - who cannot say yes has not said it
            return False

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._wrapped.aclose()


class _Taking:
    """Takes one response in, once: what it says by itself, and then what has to be asked."""

    def __init__(
        self,
        memory: Memory,
        wrapped: httpx2.AsyncBaseTransport,
        asked: Asked,
        response: httpx2.Response,
        forwarded: tuple[str, ...],
    ) -> None:
        self._memory = memory
        self._wrapped = wrapped
        self._asked = asked
        self._headers = response.headers
        self._has_body = carries_json(response)
        self._forwarded = forwarded
        self._begun = False
        self._open: tuple[Envelope, Steps, Moved] | None = None

    async def begin(self, body: bytes | None, *, coded: bool = False, missed: str = "") -> None:
        """Take in what the response says by itself; what moved is held back from here on.

        Args:
            body: the body; None when it was not kept, or not read to the end.
            coded: whether its content codings are still to be undone.
            missed: why a whole body is not there.
        """
        if self._begun:
            return
        self._begun = True
        try:
            if missed:
                self._memory.refused(self._asked.issuer, missed, "body")
            if coded and body is not None:
                body = self._decoded(body)
            missing = self._has_body and body is None
            asked = unread(self._asked) if missing else self._asked
            envelope, steps = steps_of(self._memory, asked, self._headers.raw, body)
            if steps is not None:
                await self._step(envelope, steps, None)
        except Exception as failure:  # noqa: BLE001 - the wrapped call stands, whatever happens here
            self._memory.failed(self._asked.issuer, failure)

    async def finish(self) -> None:
        """Ask what the response left open."""
        try:
            while self._open is not None:
                (envelope, steps, question), self._open = self._open, None
                self._memory.count("questions")
                answer = await self._ask(envelope, question)
                await self._step(envelope, steps, answer)
        except Exception as failure:  # noqa: BLE001 - the wrapped call stands, whatever happens here
            self._memory.failed(self._asked.issuer, failure)

    async def _step(self, envelope: Envelope, steps: Steps, answer: TableChanges | None) -> None:
        question = await off_loop_async(lambda: next_question(steps, answer))
        self._open = None if question is None else (envelope, steps, question)

    async def _ask(self, envelope: Envelope, question: Moved) -> TableChanges | None:
        url = question_url(self._asked, envelope, question)
        if url is None:
            self._memory.refused(self._asked.issuer, "foreign_location", LOCATION)
            return None
        request = self._asked.request
        headers = {n: request.headers[n] for n in self._forwarded if n in request.headers}
        extensions = {n: request.extensions[n] for n in _EXTENSIONS if n in request.extensions}
        try:
            ask = type(request)("GET", url, headers=headers, extensions=extensions)
            response = await self._wrapped.handle_async_request(ask)
            try:
                body = await _bounded(response)
            finally:
                await response.aclose()
        except Exception as failure:  # noqa: BLE001 - it cannot be asked now: stay in abeyance
            self._memory.failed(self._asked.issuer, failure)
            return None
        status = response.status_code
        if status == UNAUTHENTICATED:  # most likely a header that `forwarded` does not name
            self._memory.refused(self._asked.issuer, "unauthenticated", "changes")
        if not self._memory.guard.vouches(self._asked.issuer, question, status, body):
            return None
        return answer_of(question, status, body)

    def _decoded(self, raw: bytes) -> bytes | None:
        """The body with its content codings undone; None when that fails or passes the limit."""
        if "content-encoding" not in self._headers:
            return raw
        body = bytearray()
        whole = httpx2.Response(200, headers=self._headers.raw, stream=httpx2.ByteStream(raw))
        try:
            for chunk in whole.iter_bytes(_PIECE):
                body += chunk
                if len(body) > BODY_LIMIT:
                    self._memory.refused(self._asked.issuer, "too_large", "body")
                    return None
        except httpx2.DecodingError:  # the caller's own reading meets it too, and reports it
            self._memory.refused(self._asked.issuer, "undecodable", "body")
            return None
        return bytes(body)


async def _bounded(response: httpx2.Response) -> bytes:
    body = bytearray()
    chunks: Any = response.aiter_bytes()  # a generator, annotated as less in one of the twins
    try:
        async for chunk in chunks:
            body += chunk
            if len(body) > BODY_LIMIT:
                msg = f"the answer is longer than {BODY_LIMIT} bytes"
                raise LapseError(msg)
    finally:
        await chunks.aclose()
    return bytes(body)


class _Tee:
    """Passes a body through, and keeps a copy of it up to the limit if it may hold members."""

    def __init__(self, stream: httpx2.AsyncByteStream, taking: _Taking, *, keeps: bool) -> None:
        self._stream = stream
        self._taking = taking
        self._keeps = keeps
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The body's chunks as they come; after the last, the response is taken in."""
        kept = bytearray() if self._keeps else None
        missed = ""
        async for chunk in self._stream:
            if kept is not None:
                kept += chunk
                if len(kept) > BODY_LIMIT:
                    kept, missed = None, "too_large"
            yield chunk
        try:
            await self._give_back()
        finally:
            body = None if kept is None else bytes(kept)
            await self._taking.begin(body, coded=True, missed=missed)
            await self._taking.finish()

    async def aclose(self) -> None:
        """Close the body; one that was left early is taken in by its headers alone."""
        try:
            await self._give_back()
        finally:
            await self._taking.begin(None)
            await self._taking.finish()

    async def _give_back(self) -> None:
        # First of all: a question may have to wait for this very connection.
        if not self._closed:
            self._closed = True
            await self._stream.aclose()


@lru_cache
def _tee_for(stream: type[httpx2.AsyncByteStream]) -> Callable[..., httpx2.AsyncByteStream]:
    """A tee that the client at hand takes for its own stream: httpx2 and httpx each check that."""
    kinds = [kind for kind in stream.__mro__ if kind.__name__ == "AsyncByteStream"]
    tee = type("Tee", (_Tee, *kinds), {})
    return cast("Callable[..., httpx2.AsyncByteStream]", tee)
