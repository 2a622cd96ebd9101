"""Files that are for one owner's eyes: read whole, refused when others may read them."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from lapse.errors import InvalidValue, StoreCorrupt, StoreError, StoreReadOnly, StoreUnavailable

__all__ = ["promised", "read_private", "read_secret"]

_OTHERS: Final = 0o077


def read_private(path: str | Path) -> bytes:
    """What a file holds that nobody but its owner may read.

    Raises:
        InvalidValue: others may read it.
        StoreError: it cannot be read. Its content is never repeated.
    """
    place = Path(path)
    try:
        descriptor = os.open(place, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode & 0o777
            content = file.read()
    except OSError as failure:
        raise promised(failure, place) from failure
    if mode & _OTHERS:
        raise InvalidValue(f"mode of {place}", f"{mode:03o}", "take others' rights: chmod 600")
    return content


def read_secret(path: str | Path) -> str:
    """A secret that is kept as text, without the white space around it.

    Raises:
        InvalidValue: others may read the file.
        StoreError: it cannot be read, or is no text. Its content is never repeated.
    """
    try:
        return read_private(path).decode("utf-8").strip()
    except UnicodeDecodeError:
        # `from None`: the failure carries the bytes.
        raise StoreCorrupt(f"{path} is not text; write a secret of letters into it") from None


def promised(failure: OSError, place: Path) -> StoreError:
    """What a failure of the file system means for whoever keeps something in a file."""
    if isinstance(failure, PermissionError) or failure.errno == errno.EROFS:
        return StoreReadOnly(f"{place} may not be read or written; change its mode or its place")
    return StoreUnavailable(f"{place} cannot be used ({failure.strerror}); check its directory")
