"""Many events of one kind close together, told once now and at most once more.

::

    bursts = Bursts(deliver=send, later=lambda act: loop.call_later(0.1, act))
    bursts.add(["a"])                  # delivered at once
    bursts.add(["a"]); bursts.add(["b"])   # delivered together when the pause is over

The last event of a burst is never dropped: what arrives during the pause is delivered at its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Bursts"]


class Bursts:
    """Coalesces events by name. Single-owner: all calls come from one thread.

    Args:
        deliver: is given the names, in order, each once.
        later: calls a function after the pause.
    """

    def __init__(
        self,
        *,
        deliver: Callable[[tuple[str, ...]], None],
        later: Callable[[Callable[[], None]], object],
    ) -> None:
        self._deliver = deliver
        self._later = later
        self._waiting: dict[str, None] = {}
        self._paused = False

    def add(self, names: Iterable[str]) -> None:
        """Take events in."""
        self._waiting.update(dict.fromkeys(names))
        if self._waiting and not self._paused:
            self._flush()

    def _flush(self) -> None:
        names = tuple(self._waiting)
        self._waiting.clear()
        self._paused = True
        self._later(self._resume)
        self._deliver(names)

    def _resume(self) -> None:
        self._paused = False
        if self._waiting:
            self._flush()
