"""The signed stamp as a JSON object, and signed answers: a detached JWS over RFC 8785 bytes.

RFC 7515, appendix F, with the payload as it is (RFC 7797). Reading never raises.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from lapse.contract import is_name
from lapse.errors import InvalidValue
from lapse.ledger import canonical
from lapse.wire.limits import Reason
from lapse.wire.stamps_parts import (
    ALGORITHMS,
    SECOND,
    Signed,
    bytes64,
    check_signer,
    statement_of,
    text64,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapse.contract import Statement
    from lapse.wire.stamps_parts import StampSigner

__all__ = [
    "ANSWER",
    "SignedAnswer",
    "object_stamp",
    "read_object_stamp",
    "read_signed_answer",
    "signed_answer",
]

ANSWER: Final = "signed"
"""The member of an answer that holds who signed it."""


def object_stamp(
    statement: Statement, signer: StampSigner, *, offered: Mapping[str, bytes] | None = None
) -> dict[str, Any]:
    """A signed statement as a JSON object: its members, and a detached JWS over them.

    Raises:
        InvalidValue: the signer's algorithm has no name here.
    """
    members: dict[str, Any] = {
        "issuer": statement.issuer,
        "epoch": statement.epoch,
        "root": statement.root,
        "issued_at": statement.issued_at // SECOND,
        "expires_at": statement.expires_at // SECOND,
    }
    if statement.content:
        members["content"] = statement.content
    if statement.audience:
        members["audience"] = statement.audience
    if offered:
        members["keys"] = {name: text64(public) for name, public in offered.items()}
    return {**members, "jws": _detached(canonical(members), signer)}


def read_object_stamp(value: object) -> Signed | Reason | None:
    """The signed statement that an object holds; None when there is no object."""
    if value is None:
        return None
    if not isinstance(value, dict):
        return Reason.WRONG_TYPE
    members = dict(cast("dict[str, Any]", value))
    jws = members.pop("jws", None)
    statement = statement_of(
        issuer=_str(members.get("issuer")),
        audience=_str(members.get("audience", "")),
        root=_str(members.get("root")),
        content=_str(members.get("content", "")),
        epoch=_int(members.get("epoch")),
        times=(_int(members.get("issued_at")), _int(members.get("expires_at"))),
    )
    if statement is None or not isinstance(jws, str):
        return Reason.WRONG_TYPE
    opened = _opened(members, jws)
    if isinstance(opened, Reason):
        return opened
    key, algorithm, message, signature = opened
    return Signed(
        statement=statement,
        key=key,
        algorithm=algorithm,
        message=message,
        signature=signature,
        offered=_offered_members(members.get("keys")),
    )


def _offered_members(value: object) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    if isinstance(value, dict):
        for name, text in cast("dict[str, Any]", value).items():
            public = bytes64(text) if isinstance(text, str) else None
            if public is not None and is_name(name):
                found[name] = public
    return found


def signed_answer(
    answer: Mapping[str, Any], statement: Statement, signer: StampSigner
) -> dict[str, Any]:
    """The answer to a question, with who gives it in which epoch, signed as a whole.

    Raises:
        InvalidValue: the signer's algorithm has no name here.
    """
    who = {"issuer": statement.issuer, "audience": statement.audience, "epoch": statement.epoch}
    jws = _detached(canonical({**answer, ANSWER: who}), signer)
    return {**answer, ANSWER: {**who, "jws": jws}}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedAnswer:
    """Who is said to have signed an answer; nobody has verified it yet.

    Attributes:
        issuer: who gives it.
        audience: to whom.
        epoch: of which state it speaks.
        key: the id of the key that is said to have signed.
        algorithm: what it is said to be signed with, as RFC 9421 names it.
        message: the bytes that were signed.
        signature: the signature over them.
    """

    issuer: str
    audience: str
    epoch: int
    key: str
    algorithm: str
    message: bytes
    signature: bytes


def read_signed_answer(answer: Mapping[str, Any]) -> SignedAnswer | Reason | None:
    """Who signed an answer; None when nobody did."""
    match answer.get(ANSWER):
        case None:
            return None
        case {
            "issuer": str(issuer),
            "audience": str(audience),
            "epoch": int(epoch),
            "jws": str(jws),
        }:
            who = {"issuer": issuer, "audience": audience, "epoch": epoch}
        case _:
            return Reason.WRONG_TYPE
    opened = _opened({**answer, ANSWER: who}, jws)
    if isinstance(opened, Reason):
        return opened
    key, algorithm, message, signature = opened
    return SignedAnswer(
        issuer=issuer,
        audience=audience,
        epoch=epoch,
        key=key,
        algorithm=algorithm,
        message=message,
        signature=signature,
    )


def _detached(payload: bytes, signer: StampSigner) -> str:
    check_signer(signer)
    header = {
        "alg": ALGORITHMS[signer.algorithm],
        "b64": False,
        "crit": ["b64"],
        "kid": signer.key,
    }
    protected = text64(canonical(header))
    signature = signer.sign(protected.encode() + b"." + payload)
    return f"{protected}..{text64(signature)}"


def _opened(members: Mapping[str, Any], jws: str) -> tuple[str, str, bytes, bytes] | Reason:
    """Key id, algorithm, signed bytes and signature of a detached JWS over these members."""
    protected, _, rest = jws.partition(".")
    payload, _, made = rest.partition(".")
    head, signature = bytes64(protected), bytes64(made)
    if payload or head is None or signature is None:
        return Reason.MALFORMED_JSON
    try:
        header: object = json.loads(head)
        signed = canonical(dict(members))
    except (ValueError, RecursionError, InvalidValue):
        return Reason.MALFORMED_JSON
    match header:
        # Whatever else is critical is not understood here (RFC 7515, section 4.1.11).
        case {"alg": str(alg), "b64": False, "crit": ["b64"], "kid": str(key)} if is_name(key):
            names = {jose: name for name, jose in ALGORITHMS.items()}
            message = protected.encode() + b"." + signed
            return key, names.get(alg, alg), message, signature
        case _:
            return Reason.WRONG_TYPE


def _str(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _int(value: object) -> int | None:
    return value if type(value) is int else None
