"""Where an asynchronous transport waits for a disk, and a synchronous one just does.

The two functions are twins by hand: the generator that writes `http_sync` refuses event loops.
"""

from __future__ import annotations

from inspect import isawaitable, iscoroutine
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["off_loop_async", "off_loop_sync", "said_async", "said_sync"]

T = TypeVar("T")


async def off_loop_async(work: Callable[[], T]) -> T:
    """Do blocking work in a worker thread; the event loop goes on."""
    return await anyio.to_thread.run_sync(work)


def off_loop_sync(work: Callable[[], T]) -> T:
    """Do blocking work here."""
    return work()


async def said_async(answer: bool | Awaitable[bool]) -> bool:  # noqa: FBT001 - it is the answer
    """A callback's answer, waited for if it has to be; only True is a yes."""
    said: object = await answer if isawaitable(answer) else answer
    return said is True


def said_sync(answer: bool | Awaitable[bool]) -> bool:  # noqa: FBT001 - it is the answer
    """A callback's answer; one that has to be waited for is none here."""
    if iscoroutine(answer):
        answer.close()
    return answer is True
