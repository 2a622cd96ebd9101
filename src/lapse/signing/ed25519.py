"""Ed25519: whoever holds the public keys can verify, and cannot sign. Needs the extra `sign`."""

from __future__ import annotations

from collections.abc import Mapping

from lapse.errors import InvalidValue, MissingExtra

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )
except ImportError as missing:
    raise MissingExtra("Ed25519", "sign") from missing

__all__ = ["Ed25519Signer", "Ed25519Verifier", "new_secret", "verifies"]


def new_secret() -> bytes:
    """A new private key's 32 bytes, from the machine's randomness."""
    return Ed25519PrivateKey.generate().private_bytes_raw()


def verifies(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature is that of a public key; False also for what is no public key."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


class Ed25519Signer:
    """Implements `lapse.ledger.Signer`; immutable, safe to share.

    Args:
        key: the id under which verifiers know the public key.
        secret: the private key's 32 bytes (RFC 8032).
    """

    __slots__ = ("_key", "_private")

    algorithm = "ed25519"
    """Its name in RFC 9421 (section 3.3.6)."""

    def __init__(self, key: str, secret: bytes) -> None:
        if not key:
            raise InvalidValue("key", key, "give the key an id")
        try:
            self._private = Ed25519PrivateKey.from_private_bytes(secret)
        except ValueError:
            size = f"{len(secret)} bytes"
            raise InvalidValue("secret", size, "pass the private key's 32 bytes") from None
        self._key = key

    @property
    def key(self) -> str:
        """The id of the key."""
        return self._key

    @property
    def public(self) -> bytes:
        """The public key's 32 bytes, for the verifiers."""
        return self._private.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """The signature: 64 bytes."""
        return self._private.sign(message)


class Ed25519Verifier:
    """Implements `lapse.ledger.Verifier`; immutable, safe to share.

    Args:
        keys: the public keys' 32 bytes, by id.
    """

    __slots__ = ("_keys",)

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys: dict[str, Ed25519PublicKey] = {}
        for name, public in keys.items():
            if not name:
                raise InvalidValue("keys", name, "give every key an id")
            try:
                self._keys[name] = Ed25519PublicKey.from_public_bytes(public)
            except ValueError:
                size = f"{len(public)} bytes"
                remedy = "pass the public key's 32 bytes"
                raise InvalidValue(f"keys[{name!r}]", size, remedy) from None

    def verify(self, key: str, message: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's; False for a key that is not known."""
        public = self._keys.get(key)
        if public is None:
            return False
        try:
            public.verify(signature, message)
        except InvalidSignature:
            return False
        return True
