"""The machine's own clock and randomness, as the ledger's ports ask for them."""

from __future__ import annotations

import time
import uuid

from lapse.ledger import Instant

__all__ = ["RandomIds", "SystemClock"]

_NANOSECONDS_IN_A_MICROSECOND = 1_000


class SystemClock:
    """Tells the machine's wall-clock time; it may jump when somebody sets the clock."""

    __slots__ = ()

    def now(self) -> Instant:
        """Microseconds since 1970-01-01T00:00:00Z."""
        return time.time_ns() // _NANOSECONDS_IN_A_MICROSECOND


class RandomIds:
    """Makes ids from the machine's randomness: 122 bits, 32 hexadecimal characters."""

    __slots__ = ()

    def new(self) -> str:
        """An id or a salt that nobody else makes up."""
        return uuid.uuid4().hex
