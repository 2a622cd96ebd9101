"""Which ledger a command is about, and what vouches for it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapse.assembly import open as open_memory
from lapse.assembly import open_store
from lapse.cli.output import errors_explained
from lapse.errors import InvalidValue, StoreUnavailable
from lapse.signing import HmacKeys
from lapse.storage import RandomIds
from lapse.storage.anchor import FileAnchor

if TYPE_CHECKING:
    from collections.abc import Generator

    from lapse.ledger import Store
    from lapse.runtime import Memory

__all__ = [
    "DEFAULT_STORE",
    "AnchorOption",
    "KeyOption",
    "StoreOption",
    "anchor_at",
    "memory_at",
    "shown",
    "store_at",
]

StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="LAPSE_STORE",
        help="The ledger: a file's path, sqlite:///PATH or postgresql://…",
        show_default=True,
    ),
]
AnchorOption = Annotated[
    Path | None,
    typer.Option(
        "--anchor",
        envvar="LAPSE_ANCHOR",
        help="The file that keeps the head of the chain outside the store; with it, a ledger that "
        "was altered or put back is refused.",
    ),
]
KeyOption = Annotated[
    Path | None,
    typer.Option(
        "--anchor-key",
        envvar="LAPSE_ANCHOR_KEY",
        help="A file of 32 or more random bytes that signs the anchor.",
    ),
]

DEFAULT_STORE = "lapse.db"
"""The ledger a command is about when none is named: a file in the working directory."""

_KEY_ID = "file"


def anchor_at(path: Path, key_file: Path | None) -> FileAnchor:
    """The anchor in a file, signed when there is a key.

    Raises:
        InvalidValue: the key file cannot be read or is too short.
    """
    if key_file is None:
        return FileAnchor(path)
    try:
        secret = key_file.read_bytes()
    except OSError as failure:
        raise InvalidValue(
            "--anchor-key", str(key_file), f"pass a file that can be read ({failure.strerror})"
        ) from None
    keys = HmacKeys({_KEY_ID: secret}, sign_with=_KEY_ID)
    return FileAnchor(path, signer=keys, verifier=keys)


def shown(url: str) -> str:
    """A ledger's URL as it may be printed: without the account, the password and the options."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme == "sqlite":
        return url
    place = rest.partition("?")[0].rpartition("@")[2]
    return f"{scheme}{separator}{place}"


@contextmanager
def store_at(url: str) -> Generator[Store]:
    """An existing ledger, unchecked: for verifying and exporting."""
    with errors_explained():
        path = Path(url.removeprefix("sqlite:///"))
        if "://" not in url.removeprefix("sqlite:///") and not path.exists():
            raise StoreUnavailable(f"there is no ledger at {path}; name another with --store")
        store = open_store(url, ids=RandomIds())
        try:
            yield store
        finally:
            store.close()


@contextmanager
def memory_at(url: str, anchor: Path | None, key_file: Path | None) -> Generator[Memory]:
    """An existing ledger as a memory, checked against its anchor when one is named."""
    with store_at(url):
        pass
    with errors_explained():
        vouching = None if anchor is None else anchor_at(anchor, key_file)
        with open_memory(url, anchor=vouching) as memory:
            yield memory
