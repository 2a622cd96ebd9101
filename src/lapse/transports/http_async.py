"""An HTTP transport that remembers fixes; wraps another transport and never breaks its calls.

Every response passes through byte for byte. Its contract members are taken in when its body has been
read to the end, so the memory is durable before the caller has the answer. Whatever goes wrong on
the way is counted and told to the memory's observers, and the wrapped call goes on.

It is written for httpx2 and serves an httpx client as well, when given an httpx transport to wrap.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import httpx2

from lapse.errors import LapseError
from lapse.transports.exchange import (
    answer_of,
    asked_of,
    body_limit,
    carries_json,
    question_url,
    steps_of,
)
from lapse.transports.waiting import off_loop_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator

    from lapse.contract import Envelope, Moved, TableChanges
    from lapse.runtime import Memory
    from lapse.transports.exchange import Asked

__all__ = ["AsyncTransport"]

_FORWARDED = ("authorization", "cookie", "user-agent")
"""Request headers that go along when the same origin is asked what changed."""


class AsyncTransport(httpx2.AsyncBaseTransport):
    """Takes in what the services behind another transport say about the fixes they gave.

    Args:
        memory: where fixes are kept; it is not closed with the transport.
        wrapped: the transport that does the work; a plain one when left out.
        issuer: the name fixes are bound to; the origin of each request when left out.
        operation: names a request's operation; method and path when left out.
    """

    def __init__(
        self,
        memory: Memory,
        wrapped: httpx2.AsyncBaseTransport | None = None,
        *,
        issuer: str | None = None,
        operation: Callable[[httpx2.Request], str] | None = None,
    ) -> None:
        self._memory = memory
        self._wrapped = httpx2.AsyncHTTPTransport() if wrapped is None else wrapped
        self._issuer = issuer
        self._operation = operation

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request through the wrapped transport and take its response in."""
        response = await self._wrapped.handle_async_request(request)
        try:
            asked = asked_of(request, self._issuer, self._operation)
        except Exception as failure:  # noqa: BLE001 - a name could not be given; the call stands
            self._memory.failed("", failure)
            return response
        taking = _Taking(self._memory, self._wrapped, request, asked, response)
        if not carries_json(response):
            await taking.take(None)
            return response
        if response.is_stream_consumed:  # the wrapped transport has read it: an in-process one, or a cache
            await taking.take(response.content)
        else:
            response.stream = _tee(response.stream, taking, response.headers)
        return response

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._wrapped.aclose()


class _Taking:
    """Takes one response in, once."""

    def __init__(
        self,
        memory: Memory,
        wrapped: httpx2.AsyncBaseTransport,
        request: httpx2.Request,
        asked: Asked,
        response: httpx2.Response,
    ) -> None:
        self._memory = memory
        self._wrapped = wrapped
        self.request = request
        self._asked = asked
        self._headers = response.headers
        self._done = False

    async def take(self, body: bytes | None) -> None:
        """Take the response in; `body` without its codings, None when it was not read to the end."""
        if self._done:
            return
        self._done = True
        try:
            await self._take(body)
        except Exception as failure:  # noqa: BLE001 - the wrapped call stands, whatever happens here
            self._memory.failed(self._asked.issuer, failure)

    async def _take(self, body: bytes | None) -> None:
        envelope, steps = steps_of(self._memory, self._asked, self._headers.raw, body)
        if steps is None:
            return
        question = await off_loop_async(lambda: _step(steps, None))
        while question is not None:
            self._memory.count("questions")
            answer = await self._ask(envelope, question)
            question = await off_loop_async(lambda answer=answer: _step(steps, answer))

    async def _ask(self, envelope: Envelope, question: Moved) -> TableChanges | None:
        url = question_url(self._asked, envelope, question)
        if url is None:
            self._memory.refused(self._asked.issuer, "foreign_location")
            return None
        headers = {name: self.request.headers[name] for name in _FORWARDED if name in self.request.headers}
        ask = type(self.request)("GET", url, headers=headers, extensions=dict(self.request.extensions))
        try:
            response = await self._wrapped.handle_async_request(ask)
            try:
                body = await _bounded(response)
            finally:
                await response.aclose()
        except Exception as failure:  # noqa: BLE001 - the service cannot be asked now: stay in abeyance
            self._memory.failed(self._asked.issuer, failure)
            return None
        return answer_of(question, response.status_code, body)


def _step(steps: Generator[Moved, TableChanges | None, None], answer: TableChanges | None) -> Moved | None:
    try:
        return steps.send(answer)
    except StopIteration:
        return None


async def _bounded(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > body_limit():
            msg = f"the answer is longer than {body_limit()} bytes"
            raise LapseError(msg)
    return bytes(body)


def _tee(stream: Any, taking: _Taking, headers: httpx2.Headers) -> Any:  # noqa: ANN401 - httpx2's stream or httpx's
    """A tee that the client at hand takes for a stream of its own: httpx2 and httpx each check the type."""
    kind = sys.modules[type(taking.request).__module__.partition(".")[0]].AsyncByteStream
    return type("Tee", (_Tee, kind), {})(stream, taking, headers)


class _Tee:
    """Passes a body through and keeps a copy of it, up to the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, taking: _Taking, headers: httpx2.Headers) -> None:
        self._stream = stream
        self._taking = taking
        self._headers = headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The body's chunks as they come; after the last, the response is taken in."""
        kept: bytearray | None = bytearray()
        async for chunk in self._stream:
            if kept is not None:
                kept += chunk
                if len(kept) > body_limit():
                    kept = None
            yield chunk
        await self._taking.take(None if kept is None else self._decoded(bytes(kept)))

    async def aclose(self) -> None:
        """Close the body; one that was left early is taken in by its headers alone."""
        try:
            await self._stream.aclose()
        finally:
            await self._taking.take(None)

    def _decoded(self, raw: bytes) -> bytes | None:
        """The body with its content codings undone; None when that fails or passes the limit."""
        if "content-encoding" not in self._headers:
            return raw
        body = bytearray()
        whole = httpx2.Response(200, headers=self._headers.raw, stream=httpx2.ByteStream(raw))
        try:
            for chunk in whole.iter_bytes(64 * 1024):
                body += chunk
                if len(body) > body_limit():
                    return None
        except httpx2.DecodingError:  # the caller's own reading meets it too, and reports it
            return None
        return bytes(body)
