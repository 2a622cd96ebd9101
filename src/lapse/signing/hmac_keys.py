"""HMAC-SHA256: who can verify can also sign, so the key stays inside one trust domain."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from lapse.errors import InvalidValue

__all__ = ["HmacKeys"]

_SHORTEST_KEY_BYTES = 32
"""A key shorter than the digest is weaker than it (RFC 2104, section 3)."""


class HmacKeys:
    """Implements `lapse.ledger.Signer` and `lapse.ledger.Verifier`; immutable, safe to share.

    Args:
        keys: secrets by id, each of at least 32 random bytes.
        sign_with: the id of the key that signs; the others only verify.
    """

    __slots__ = ("_key", "_keys")

    algorithm = "hmac-sha256"
    """Its name in RFC 9421 (section 3.3.3)."""

    def __init__(self, keys: Mapping[str, bytes], *, sign_with: str) -> None:
        for name, secret in keys.items():
            if not name:
                raise InvalidValue("keys", name, "give every key an id")
            if len(secret) < _SHORTEST_KEY_BYTES:
                size = f"{len(secret)} bytes"
                raise InvalidValue(f"keys[{name!r}]", size, "pass 32 random bytes or more")
        if sign_with not in keys:
            raise InvalidValue(
                "sign_with", sign_with, f"pass one of {', '.join(keys) or 'no keys'}"
            )
        self._keys = {name: bytes(secret) for name, secret in keys.items()}
        self._key = sign_with

    @property
    def key(self) -> str:
        """The id of the key that signs."""
        return self._key

    def sign(self, message: bytes) -> bytes:
        """The signature: 32 bytes."""
        return hmac.digest(self._keys[self._key], message, hashlib.sha256)

    def verify(self, key: str, message: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's; compared in constant time."""
        secret = self._keys.get(key)
        if secret is None:
            return False
        return hmac.compare_digest(hmac.digest(secret, message, hashlib.sha256), signature)
