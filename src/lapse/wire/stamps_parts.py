"""What both forms of a signed stamp have in common."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from lapse.contract import Statement, is_name
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ALGORITHMS",
    "SECOND",
    "Signed",
    "StampSigner",
    "bytes64",
    "check_signer",
    "statement_of",
    "text64",
]

ALGORITHMS: Final[Mapping[str, str]] = {"ed25519": "Ed25519", "hmac-sha256": "HS256"}
"""The names of an algorithm in RFC 9421 (section 6.2) and in JOSE (RFC 9864; RFC 7518)."""

SECOND: Final = 1_000_000
"""Microseconds."""
_HEX_DIGITS: Final = 64
_LAST_SECOND: Final = 253_402_300_799
"""The end of the year 9999: what calendars and other languages can still write."""


class StampSigner(Protocol):
    """A `lapse.ledger.Signer` that says what it signs with."""

    @property
    def key(self) -> str:
        """The id of the key."""
        ...

    @property
    def algorithm(self) -> str:
        """The algorithm, as RFC 9421 names it (section 6.2): a key of `ALGORITHMS`."""
        ...

    def sign(self, message: bytes) -> bytes:
        """The signature."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A statement as it arrived; nobody has verified it yet.

    Attributes:
        statement: what it says.
        key: the id of the key that is said to have signed.
        algorithm: what it is said to be signed with, as RFC 9421 names it.
        message: the bytes that were signed.
        signature: the signature over them.
        offered: public keys that the statement itself names, by id: the signing one, for whoever
            meets the issuer for the first time, and the one that follows it.
    """

    statement: Statement
    key: str
    algorithm: str
    message: bytes
    signature: bytes
    offered: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def proof(self) -> str:
        """Message and signature as text, to be kept as evidence."""
        return f"{text64(self.message)}.{text64(self.signature)}"


def statement_of(
    *,
    issuer: str | None,
    audience: str | None,
    root: str | None,
    content: str | None,
    epoch: int | None,
    times: tuple[int | None, int | None],
) -> Statement | None:
    """The statement that these members make; None when they make none."""
    match (issuer, audience, root, content, epoch, *times):
        case (str(who), str(to), str(said), str(rows), int(number), int(issued), int(expires)):
            pass
        case _:
            return None
    if not is_name(who) or (to and not is_name(to)) or number < 0:
        return None
    if not _is_digest(said) or (rows and not _is_digest(rows)):
        return None
    if not (0 <= issued <= _LAST_SECOND and 0 <= expires <= _LAST_SECOND):
        return None
    return Statement(
        issuer=who,
        audience=to,
        root=said,
        content=rows,
        epoch=number,
        issued_at=issued * SECOND,
        expires_at=expires * SECOND,
    )


def _is_digest(text: str) -> bool:
    return len(text) == _HEX_DIGITS and all(c in "0123456789abcdef" for c in text)


def text64(data: bytes) -> str:
    """Base64url without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def bytes64(text: str) -> bytes | None:
    """What base64url without padding says, and nothing else: two texts are never one signature."""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return data if text64(data) == text else None


def check_signer(signer: StampSigner) -> None:
    """Refuse a signer whose algorithm has no name here.

    Raises:
        InvalidValue: as said.
    """
    if signer.algorithm not in ALGORITHMS:
        remedy = f"pass a signer of {' or '.join(ALGORITHMS)}"
        raise InvalidValue("algorithm", signer.algorithm, remedy)
