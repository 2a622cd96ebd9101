"""The contract engine: what a service tells about its rows, and what that means for fixes.

Pure: no I/O, no clock, no randomness.
"""

from lapse.contract.messages import (
    CacheHint,
    Envelope,
    RowVersion,
    Suggestion,
    TableChanges,
    TableVersion,
)
from lapse.contract.names import NAME_CHARACTERS, check_name, is_name

__all__ = [
    "NAME_CHARACTERS",
    "CacheHint",
    "Envelope",
    "RowVersion",
    "Suggestion",
    "TableChanges",
    "TableVersion",
    "check_name",
    "is_name",
]
