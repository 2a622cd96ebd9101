"""Where an asynchronous transport waits for a disk, and a synchronous one just does.

The two functions are twins by hand: the generator that writes `http_sync` refuses event loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["off_loop_async", "off_loop_sync"]

T = TypeVar("T")


async def off_loop_async(work: Callable[[], T]) -> T:
    """Do blocking work in a worker thread; the event loop goes on."""
    return await anyio.to_thread.run_sync(work)


def off_loop_sync(work: Callable[[], T]) -> T:
    """Do blocking work here."""
    return work()
