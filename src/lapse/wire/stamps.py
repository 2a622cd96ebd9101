"""The signed stamp in its header form; `stamps_objects` has the one for stdio and MCP.

Over HTTP it is an HTTP message signature (RFC 9421) over one field of the response, so that one
signature serves every response for as long as nothing moves:

::

    Contract-Stamp: iss="https://api.example", epoch=1764500000123, root=:…:, content=:…:
    Signature-Input: contract=("contract-stamp");created=1764500000;expires=1764500300;
        keyid="2026";alg="ed25519";tag="lapse-contract"
    Signature: contract=:…:

The root names all versions, so a body or a mirror with other versions does not fit it. Elsewhere
the statement is an object with a detached JWS (RFC 7515, appendix F; RFC 7797) over its RFC 8785
bytes. An answer to "what changed?" is signed in that form too, wherever it travels.

Which key verifies, and how, is decided by the key's id alone. The algorithm that a message names is
compared with the key's and chooses nothing: who could choose it could choose a weaker one.

Reading never raises. It gives None when there is nothing, and a `Reason` when it cannot be read.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

import http_sf
from http_sf import DisplayString

from lapse.contract import is_name
from lapse.wire.fields import lines
from lapse.wire.limits import Reason
from lapse.wire.stamps_parts import SECOND, Signed, check_signer, statement_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lapse.contract import Statement
    from lapse.wire.stamps_parts import StampSigner

__all__ = ["STAMP", "http_stamp", "read_http_stamp"]

STAMP: Final = "Contract-Stamp"
SIGNATURE_INPUT: Final = "Signature-Input"
SIGNATURE: Final = "Signature"
TAG: Final = "lapse-contract"
"""What the signature is for (RFC 9421, section 2.3); a message may carry others' signatures."""
_LABEL: Final = "contract"
_COMPONENT: Final = STAMP.lower()

_WANTED: Final = frozenset(name.lower().encode() for name in (STAMP, SIGNATURE_INPUT, SIGNATURE))
_LONGEST_FIELD: Final = 8 * 1024


def http_stamp(
    statement: Statement, signer: StampSigner, *, offered: Mapping[str, bytes] | None = None
) -> tuple[tuple[str, str], ...]:
    """The header lines of a signed statement.

    Args:
        statement: what to sign.
        signer: signs it.
        offered: public keys to name in it, by id.

    Raises:
        InvalidValue: the signer's algorithm has no name here.
    """
    check_signer(signer)
    members: dict[str, Any] = {
        "iss": _sf_text(statement.issuer),
        "epoch": statement.epoch,
        "root": bytes.fromhex(statement.root),
    }
    if statement.content:
        members["content"] = bytes.fromhex(statement.content)
    if statement.audience:
        members["aud"] = _sf_text(statement.audience)
    if offered:
        members["keys"] = [(public, {"id": _sf_text(name)}) for name, public in offered.items()], {}
    stamp = http_sf.ser(members)
    parameters: dict[str, Any] = {
        "created": statement.issued_at // SECOND,
        "expires": statement.expires_at // SECOND,
        "keyid": signer.key,
        "alg": signer.algorithm,
        "tag": TAG,
    }
    inner: Any = ([(_COMPONENT, {})], parameters)
    signature = signer.sign(_signature_base(stamp, inner))
    return (
        (STAMP, stamp),
        (SIGNATURE_INPUT, http_sf.ser({_LABEL: inner})),
        (SIGNATURE, http_sf.ser({_LABEL: signature})),
    )


def _signature_base(stamp: str, inner: Any) -> bytes:
    """What is signed (RFC 9421, section 2.5)."""
    parameters = http_sf.ser([inner])
    return f'"{_COMPONENT}": {stamp}\n"@signature-params": {parameters}'.encode("ascii")


def read_http_stamp(
    headers: Mapping[str, str] | Sequence[tuple[bytes | str, bytes | str]],
) -> Signed | Reason | None:
    """The signed statement of a response; None when it has none."""
    found = lines(headers, _WANTED)
    stamp = found.get(STAMP.lower().encode())
    if stamp is None:
        return None
    given = found.get(SIGNATURE_INPUT.lower().encode(), b"")
    signature = found.get(SIGNATURE.lower().encode(), b"")
    if max(map(len, (stamp, given, signature))) > _LONGEST_FIELD:
        return Reason.TOO_LARGE
    return _read_http(stamp, given, signature)


# A service repeats one stamp until something moves, and equal bytes mean an equal statement.
@lru_cache(maxsize=64)
def _read_http(stamp: bytes, given: bytes, signatures: bytes) -> Signed | Reason:
    try:
        members = cast("dict[str, Any]", http_sf.parse(stamp, tltype="dictionary"))
        inputs = cast("dict[str, Any]", http_sf.parse(given, tltype="dictionary"))
        made = cast("dict[str, Any]", http_sf.parse(signatures, tltype="dictionary"))
    except (http_sf.StructuredFieldError, ValueError):
        return Reason.MALFORMED_FIELD
    for label, inner in inputs.items():
        match inner:
            case ([(str(component), dict())], {"tag": str(tag)}) if (
                component == _COMPONENT and tag == TAG
            ):
                return _signed_http(stamp, members, inner, made.get(label))
            case _:
                continue  # somebody else's signature, for another purpose
    return Reason.MISSING


def _signed_http(stamp: bytes, members: dict[str, Any], inner: Any, made: Any) -> Signed | Reason:
    match inner[1], made:
        case (
            {"created": int(created), "expires": int(expires), "keyid": str(key), "alg": str(alg)},
            (bytes(signature), dict()),
        ):
            pass
        case _:
            return Reason.MALFORMED_FIELD
    statement = statement_of(
        issuer=_plain(members.get("iss")),
        audience=_plain(members.get("aud")) if "aud" in members else "",
        root=_hex(members.get("root")),
        content=_hex(members.get("content")) if "content" in members else "",
        epoch=_number(members.get("epoch")),
        times=(created, expires),
    )
    if statement is None or not is_name(key):
        return Reason.MALFORMED_FIELD
    return Signed(
        statement=statement,
        key=key,
        algorithm=alg,
        message=_signature_base(stamp.decode("ascii", "replace").strip(), inner),
        signature=signature,
        offered=_offered(members.get("keys")),
    )


def _offered(member: Any) -> dict[str, bytes]:
    listed = _item(member)
    found: dict[str, bytes] = {}
    for item in cast("list[Any]", listed) if isinstance(listed, list) else []:
        match item:
            case (bytes(public), {"id": (str() | DisplayString()) as name}) if is_name(str(name)):
                found[str(name)] = public
            case _:
                continue
    return found


def _sf_text(text: str) -> str | DisplayString:
    return text if text.isascii() and text.isprintable() else DisplayString(text)


def _item(member: Any) -> Any:
    """A member of a dictionary without its parameters."""
    return cast("tuple[Any, ...]", member)[0] if isinstance(member, tuple) else None


def _plain(member: Any) -> str | None:
    value = _item(member)
    return str(value) if isinstance(value, str | DisplayString) else None


def _hex(member: Any) -> str | None:
    value = _item(member)
    return value.hex() if isinstance(value, bytes) else None


def _number(member: Any) -> int | None:
    value = _item(member)
    return value if type(value) is int else None
