"""A write stream that says when everything given to it has been taken.

When the server goes, its host is still owed the answers to its open requests. A dispatcher that is
stopped gives up what it is writing, so whoever stops it has to wait until nothing is being written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import anyio

if TYPE_CHECKING:
    from types import TracebackType

    from mcp.shared._stream_protocols import WriteStream
    from mcp.shared.message import SessionMessage

__all__ = ["Draining"]


class Draining:
    """Passes messages on, and counts those that are on their way.

    Args:
        inner: the stream that takes them.
    """

    def __init__(self, inner: WriteStream[SessionMessage]) -> None:
        self._inner = inner
        self._sending = 0
        self._idle = anyio.Event()

    async def send(self, item: SessionMessage, /) -> None:
        """Pass a message on."""
        self._sending += 1
        try:
            await self._inner.send(item)
        finally:
            self._sending -= 1
            if not self._sending:
                self._idle.set()

    async def drained(self) -> None:
        """Wait until no message is on its way."""
        while self._sending:
            self._idle = anyio.Event()
            await self._idle.wait()

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)
