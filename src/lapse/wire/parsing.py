"""JSON from a peer who may be careless or hostile.

Python's parser takes the last of two equal member names, and NaN, and half a surrogate pair. Here
each of those is found, and found in the place where it stands, so that a slip in the service's own
data does not cost the contract members beside it.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, cast

from lapse.wire.limits import Reason

if TYPE_CHECKING:
    from lapse.wire.limits import Limits

__all__ = ["Doubled", "doubled", "flaw", "parse", "write"]

_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps (RFC 8785, section 3.2.2.3)."""


class Doubled(dict[str, Any]):
    """An object some of whose members were named twice; `names` says which."""

    __slots__ = ("names",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.names = frozenset(name for name, _ in pairs if name in seen or seen.add(name))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else Doubled(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def parse(body: bytes, limits: Limits) -> Any:
    """The JSON value of a body, or the `Reason` why there is none."""
    if len(body) > limits.body_bytes:
        return Reason.TOO_LARGE
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Reason.NOT_UTF8
    try:
        return _DECODER.decode(text)
    except ValueError:
        return Reason.MALFORMED_JSON
    except RecursionError:
        return Reason.TOO_DEEP


def doubled(members: dict[str, Any]) -> frozenset[str]:
    """The member names that an object gives twice."""
    return members.names if isinstance(members, Doubled) else frozenset()


def flaw(value: object, limits: Limits) -> Reason | None:
    """What keeps a parsed value from being taken in; None when nothing does. Iterative."""
    level: list[object] = [value]
    count = 0
    for _ in range(limits.depth):
        below: list[object] = []
        count += len(level)
        if count > limits.values:
            return Reason.TOO_MANY
        for item in level:
            if isinstance(item, dict):
                if isinstance(item, Doubled):
                    return Reason.DUPLICATE_KEY
                members = cast("dict[str, Any]", item)
                below.extend(members)
                below.extend(members.values())
            elif isinstance(item, list):
                below.extend(cast("list[Any]", item))
            elif (found := _scalar_flaw(item)) is not None:
                return found
        if not below:
            return None
        level = below
    return Reason.TOO_DEEP


def _scalar_flaw(item: object) -> Reason | None:
    match item:
        case str():
            try:
                item.encode()
            except UnicodeEncodeError:
                return Reason.LONE_SURROGATE
        case float():
            return None if math.isfinite(item) else Reason.BAD_NUMBER
        case int():
            return None if abs(item) <= _SAFE_INTEGER else Reason.BAD_NUMBER
        case _:
            pass
    return None


def write(value: object) -> bytes:
    """Compact JSON: what a byte count of the contract's cost is about."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
