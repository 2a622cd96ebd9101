"""Bytes and digests.

Two forms, for two needs. What is *stored* is encoded once and digested as the bytes that were
written, so checking a chain never has to agree on how to write JSON. What is *recomputed elsewhere*
(a rules fingerprint, a row version) uses RFC 8785, which every language can reproduce.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import rfc8785

from lapse.errors import InvalidValue

__all__ = ["JsonObject", "canonical", "decode", "digest", "encode"]

JsonObject = Mapping[str, Any]
"""A JSON object: string keys; values are None, bool, int, float, str, lists and objects."""


def encode(value: object) -> bytes:
    """A JSON value as the bytes to store.

    Raises:
        InvalidValue: it holds something JSON cannot carry (NaN, a lone surrogate, any other Python
            object, or itself).
    """
    try:
        text = json.dumps(
            value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )
        return text.encode()
    except (TypeError, ValueError, RecursionError) as failure:
        raise InvalidValue("value", value, f"pass plain JSON ({failure})") from None


def decode(body: bytes) -> Any:
    """Read what `encode` wrote.

    Raises:
        InvalidValue: the bytes are not UTF-8 JSON.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as failure:
        raise InvalidValue(
            "body", body, f"store the bytes that encode() gave ({failure})"
        ) from None


def digest(body: bytes, *, salt: str = "") -> str:
    """SHA-256 in hex. A salt keeps a short body from being guessed once both are purged."""
    return hashlib.sha256(salt.encode() + b"\0" + body if salt else body).hexdigest()


def canonical(value: object) -> bytes:
    """The RFC 8785 bytes of a JSON value.

    Raises:
        InvalidValue: it has no canonical form (NaN, an integer beyond ±(2^53 - 1), a lone
            surrogate, a non-string key, any other Python object).
    """
    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]  # it checks the type itself
    except (rfc8785.CanonicalizationError, RecursionError) as failure:
        raise InvalidValue("value", value, f"pass plain JSON ({failure})") from None
