"""Standard input, line by line, in a way that can be stopped.

The SDK reads it in a thread, which ends only when the host writes another line or goes away. A
proxy also has to end when the server behind it ends.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Self

import anyio

__all__ = ["Lines"]

_CHUNK_BYTES = 64 * 1024


class Lines:
    """The lines of a file descriptor, decoded as UTF-8. Single-owner.

    Args:
        descriptor: what to read; it is not closed here.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._ready: deque[str] = deque()
        self._rest: list[bytes] = []
        self._ended = False
        self._waiting: anyio.CancelScope | None = None

    def stop(self) -> None:
        """End as if the input had ended, after the lines that have been read."""
        self._ended = True
        if self._waiting is not None:
            self._waiting.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        """The next line, without its end."""
        while not self._ready:
            if self._ended:
                raise StopAsyncIteration
            await self._fill()
        return self._ready.popleft()

    async def _fill(self) -> None:
        with anyio.CancelScope() as self._waiting:
            try:
                await anyio.wait_readable(self._descriptor)
            except PermissionError:  # a plain file is always readable, and cannot be polled
                await anyio.lowlevel.checkpoint()
        stopped, self._waiting = self._waiting.cancelled_caught, None
        if stopped:
            return
        chunk = os.read(self._descriptor, _CHUNK_BYTES)
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._ready.append(self._decoded(line))
        if rest:
            self._rest.append(rest)
        if not chunk:
            self._ended = True
            if self._rest:
                self._ready.append(self._decoded(b""))

    def _decoded(self, tail: bytes) -> str:
        line = b"".join([*self._rest, tail])
        self._rest.clear()
        return line.decode("utf-8", "replace")
