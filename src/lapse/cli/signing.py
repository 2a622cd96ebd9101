"""The options that let a server sign what it says, and say other names for its tables."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from lapse.errors import InvalidValue, MissingExtra

if TYPE_CHECKING:
    from lapse.contract import Aliases
    from lapse.server import Signing

__all__ = ["Alias", "Epoch", "Issuer", "Sign", "aliases_of", "signing_of"]

Sign = Annotated[
    Path | None,
    typer.Option(
        "--sign", help="Sign what is said about the tables, with the Ed25519 key in this file."
    ),
]
Issuer = Annotated[
    str | None,
    typer.Option(
        "--issuer",
        help="With --sign: the origin by which clients call; the address listened on otherwise.",
    ),
]
Epoch = Annotated[
    Path | None,
    typer.Option(
        "--epoch",
        help="With --sign: what keeps the epoch over restarts; KEYFILE.epoch otherwise.",
    ),
]
Alias = Annotated[
    Path | None,
    typer.Option(
        "--alias",
        help="Say keyed digests for the names of tables and rows; the secret is in this file.",
    ),
]


def signing_of(
    key: Path | None, *, issuer: str | None, epoch: Path | None, host: str, port: int
) -> Signing | None:
    """What signs; None where nothing is to be signed.

    Raises:
        InvalidValue: there is nothing to sign with, others may read the key, or nobody can know
            by which origin clients call.
        MissingExtra: the extra `sign` is not installed.
        StoreError: the key or the epoch cannot be read.
    """
    if key is None:
        for name, value in (("--issuer", issuer), ("--epoch", epoch)):
            if value is not None:
                raise InvalidValue(name, str(value), "give the key with --sign, or leave this out")
        return None
    try:
        from lapse.signing.key_files import read_signer
    except ImportError as missing:
        raise MissingExtra("--sign", "sign") from missing
    from lapse.server import Signing
    from lapse.storage import SystemClock

    return Signing(
        read_signer(key),
        issuer=_origin(issuer) if issuer is not None else _address(host, port),
        clock=SystemClock(),
        epoch_file=key.with_name(f"{key.name}.epoch") if epoch is None else epoch,
    )


def aliases_of(secret: Path | None) -> Aliases | None:
    """What tables and rows are called; None where they have their names.

    Raises:
        InvalidValue: the secret is too short, or others may read it.
        StoreError: it cannot be read.
    """
    if secret is None:
        return None
    from lapse.contract import Aliases
    from lapse.signing import read_secret

    return Aliases(secret=read_secret(secret))


def _origin(issuer: str) -> str:
    """An issuer as clients compare it: an origin, and nothing behind it."""
    parts = urlsplit(issuer)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise InvalidValue("--issuer", issuer, "write an origin, such as https://api.example")
    if parts.path.strip("/") or parts.query or parts.fragment:
        remedy = "leave out what follows the host: clients compare origins"
        raise InvalidValue("--issuer", issuer, remedy)
    return f"{parts.scheme}://{parts.netloc}"


def _address(host: str, port: int) -> str:
    try:
        anywhere = ip_address(host).is_unspecified
    except ValueError:
        anywhere = False
    if port == 0 or anywhere:
        remedy = "name the origin by which clients call, such as https://api.example"
        raise InvalidValue("--issuer", None, f"{remedy}: it does not follow from the address")
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
