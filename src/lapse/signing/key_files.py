"""Ed25519 keys in files, as JSON Web Keys (RFC 7517, RFC 8037). Needs the extra `sign`.

A key file holds one private key and belongs to one server; it is made unreadable for others, and
refused if it is not. A key set holds public keys and is what clients pin; it may be handed around.

::

    write_key("stamp.key", "2026")                      # once, on the server
    signer = read_signer("stamp.key")
    write_key_set("stamp.keys", {signer.key: signer.public})
    verifier = Ed25519Verifier(read_key_set("stamp.keys"))   # on every client
"""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.errors import InvalidValue, StoreCorrupt
from lapse.signing.ed25519 import Ed25519Signer, new_secret
from lapse.signing.private_files import promised, read_private

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["read_key_set", "read_signer", "write_key", "write_key_set"]

_PRIVATE: Final = 0o600
_KEY_BYTES: Final = 32


def write_key(path: str | Path, key: str, *, secret: bytes | None = None) -> Ed25519Signer:
    """Make a key file; an existing file is left alone.

    Args:
        path: the file.
        key: the key's id.
        secret: the private key's 32 bytes; new ones when left out.

    Raises:
        InvalidValue: there is a file already, or id or secret cannot be used.
        StoreError: it could not be written.
    """
    made = new_secret() if secret is None else secret
    signer = Ed25519Signer(key, made)
    jwk = {**_public_jwk(key, signer.public), "d": _text(made)}
    try:
        # Exclusive, and private from its first byte on.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(jwk, indent=1).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        remedy = "name a file that does not exist: a key that is in use must not be written over"
        raise InvalidValue("path", str(path), remedy) from None
    except OSError as failure:
        raise promised(failure, Path(path)) from failure
    return signer


def read_signer(path: str | Path) -> Ed25519Signer:
    """The signer that a key file holds.

    Raises:
        InvalidValue: others than the owner may read it.
        StoreError: it cannot be read, or holds no private key. Its content is never repeated.
    """
    place = Path(path)
    text = read_private(place)
    match _parsed(text, place):
        case {"kty": "OKP", "crv": "Ed25519", "kid": str(key), "d": str(secret)} if key:
            decoded = _bytes(secret)
        case _:
            decoded = None
            key = ""
    if decoded is None:
        raise StoreCorrupt(f"{place} holds no private Ed25519 key as JWK; make one with write_key")
    return Ed25519Signer(key, decoded)


def write_key_set(path: str | Path, keys: Mapping[str, bytes]) -> None:
    """Write public keys for clients to pin; an existing file is replaced whole.

    Raises:
        StoreError: it could not be written.
    """
    place = Path(path)
    body = {"keys": [_public_jwk(key, public) for key, public in keys.items()]}
    beside = place.with_name(f"{place.name}.new")
    try:
        beside.write_bytes(json.dumps(body, indent=1).encode() + b"\n")
        beside.replace(place)
    except OSError as failure:
        raise promised(failure, place) from failure


def read_key_set(path: str | Path) -> dict[str, bytes]:
    """The public keys of a key set, by id; keys of other kinds are passed over.

    Raises:
        StoreError: it cannot be read, is no key set, or holds no Ed25519 key.
    """
    place = Path(path)
    try:
        text = place.read_bytes()
    except OSError as failure:
        raise promised(failure, place) from failure
    listed = _parsed(text, place).get("keys")
    found: dict[str, bytes] = {}
    for jwk in cast("list[object]", listed) if isinstance(listed, list) else []:
        match jwk:
            case {"kty": "OKP", "crv": "Ed25519", "kid": str(key), "x": str(public)} if key:
                decoded = _bytes(public)
                if decoded is not None:
                    found[key] = decoded
            case _:
                continue
    if not found:
        raise StoreCorrupt(f"{place} holds no public Ed25519 key as JWK; write it anew")
    return found


def _public_jwk(key: str, public: bytes) -> dict[str, str]:
    return {"kty": "OKP", "crv": "Ed25519", "kid": key, "x": _text(public)}


def _parsed(text: bytes, place: Path) -> dict[str, Any]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    # `from None`, and no word of the content: it may be a private key with a typing error.
    raise StoreCorrupt(f"{place} is not JSON; write it anew") from None


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _bytes(text: str) -> bytes | None:
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return data if len(data) == _KEY_BYTES else None
