"""Time and names under a test's control."""

from __future__ import annotations

from lapse.errors import InvalidValue
from lapse.ledger import Instant

__all__ = ["ManualClock", "SequenceIds"]


class ManualClock:
    """Implements `lapse.ledger.Clock`; time stands still until it is moved.

    Args:
        at: where it starts, in microseconds since 1970-01-01T00:00:00Z.
    """

    __slots__ = ("_at",)

    def __init__(self, at: Instant = 0) -> None:
        self._at = at

    def now(self) -> Instant:
        """Where it was moved to last."""
        return self._at

    def advance(self, *, seconds: int = 0, microseconds: int = 0) -> Instant:
        """Move it forward, and give the instant it shows then.

        Raises:
            InvalidValue: it would go back; `jump` does that.
        """
        step = seconds * 1_000_000 + microseconds
        if step < 0:
            raise InvalidValue(
                "seconds", seconds, "pass a step forward, or set the clock with jump()"
            )
        self._at += step
        return self._at

    def jump(self, at: Instant) -> None:
        """Set it to any instant, an earlier one too: wall clocks do that."""
        self._at = at


class SequenceIds:
    """Implements `lapse.ledger.Ids`: prefix and a count, the same in every run.

    Args:
        prefix: sets the ids of one maker apart from another's.
    """

    __slots__ = ("_count", "_prefix")

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self._count = 0

    def new(self) -> str:
        """The next id: ``id-1``, then ``id-2``, and so on."""
        self._count += 1
        return f"{self._prefix}-{self._count}"
