"""How much a reader takes in from a peer, and how it says what it left out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum

from lapse.errors import InvalidValue

__all__ = ["DEFAULT_LIMITS", "Limits", "Reason", "Refusal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on one message; what lies beyond is refused, never read in part.

    Attributes:
        body_bytes: the largest body that is looked at.
        field_bytes: the longest header field that is looked at.
        suggestions: how many suggestions of one response are read.
        depth: levels of nesting inside a contract member.
        values: how many JSON values one suggestion, or one list of changes, may hold.
    """

    body_bytes: int = 4 * 1024 * 1024
    field_bytes: int = 64 * 1024
    suggestions: int = 64
    depth: int = 32
    values: int = 20_000

    def __post_init__(self) -> None:
        """Refuse a bound that would let nothing through."""
        for bound in fields(self):
            value = getattr(self, bound.name)
            if type(value) is not int or value < 1:
                raise InvalidValue(bound.name, value, "pass a whole number of at least 1")


DEFAULT_LIMITS = Limits()


class Reason(StrEnum):
    """Why something a peer sent was not taken in; stable strings, for counters."""

    TOO_LARGE = "too_large"
    """The body or the header field is longer than the limit."""
    TOO_MANY = "too_many"
    """More suggestions, or more values in one, than the limit."""
    TOO_DEEP = "too_deep"
    NOT_UTF8 = "not_utf8"
    MALFORMED_JSON = "malformed_json"
    MALFORMED_FIELD = "malformed_field"
    """The header is not the structured field it should be (RFC 9651)."""
    DUPLICATE_KEY = "duplicate_key"
    """An object names a member twice: which one counts would be a guess."""
    BAD_NUMBER = "bad_number"
    """NaN, an infinity, or an integer that does not survive other languages (RFC 8785)."""
    LONE_SURROGATE = "lone_surrogate"
    WRONG_TYPE = "wrong_type"
    MISSING = "missing"
    UNKNOWN_VALUE = "unknown_value"
    BAD_NAME = "bad_name"
    """Empty, too long, or with control characters (C-ENV-09)."""
    DISAGREES = "disagrees"
    """Two places of one message say different things."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that was not taken in.

    Attributes:
        reason: why.
        where: the member or header, for people; a name from the peer is quoted and cut short.
    """

    reason: Reason
    where: str
