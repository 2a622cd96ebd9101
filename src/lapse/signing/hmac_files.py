"""HMAC keys in a file, as a JSON Web Key set (RFC 7517) of octet sequences (RFC 7518, 6.4).

The file is for one owner's eyes: it is made unreadable for others, and refused if it is not. Its
first key signs; the others only verify what they signed before. To rotate, put the new key first.
"""

from __future__ import annotations

import json
import os
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from typing import Final, cast

from lapse.errors import InvalidValue, StoreCorrupt
from lapse.signing.hmac_keys import HmacKeys
from lapse.signing.private_files import promised, read_private

__all__ = ["read_hmac_keys", "write_hmac_key"]

_PRIVATE: Final = 0o600
_KEY_BYTES: Final = 32


def write_hmac_key(path: str | Path, key: str, *, secret: bytes | None = None) -> HmacKeys:
    """Make a file with one key; an existing file is left alone.

    Args:
        path: the file.
        key: the key's id.
        secret: at least 32 random bytes; new ones when left out.

    Raises:
        InvalidValue: there is a file already, or id or secret cannot be used.
        StoreError: it could not be written.
    """
    made = secrets.token_bytes(_KEY_BYTES) if secret is None else secret
    keys = HmacKeys({key: made}, sign_with=key)
    text = urlsafe_b64encode(made).rstrip(b"=").decode("ascii")
    body = {"keys": [{"kty": "oct", "kid": key, "k": text}]}
    try:
        # Exclusive, and private from its first byte on.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(body, indent=1).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        remedy = "name a file that does not exist: a key that is in use must not be written over"
        raise InvalidValue("path", str(path), remedy) from None
    except OSError as failure:
        raise promised(failure, Path(path)) from failure
    return keys


def read_hmac_keys(path: str | Path) -> HmacKeys:
    """The keys that a file holds.

    Raises:
        InvalidValue: others than the owner may read it, or a key is too short.
        StoreError: it cannot be read, or holds no octet key. Its content is never repeated.
    """
    place = Path(path)
    text = read_private(place)
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    listed = cast("dict[str, object]", value).get("keys") if isinstance(value, dict) else None
    found: dict[str, bytes] = {}
    for jwk in cast("list[object]", listed) if isinstance(listed, list) else []:
        match jwk:
            case {"kty": "oct", "kid": str(key), "k": str(secret)} if key:
                found[key] = _bytes(secret)
            case _:
                continue
    if not found:
        # `from None`, and no word of the content: it may be a key with a typing error.
        msg = f"{place} holds no octet key in a JWK set; make one with write_hmac_key"
        raise StoreCorrupt(msg) from None
    return HmacKeys(found, sign_with=next(iter(found)))


def _bytes(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""
