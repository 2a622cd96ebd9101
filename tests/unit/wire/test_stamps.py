"""The signed stamp's bytes, checked against two libraries that nobody here wrote."""

# pyright: reportUnknownMemberType=false
# The libraries that play the other implementation say little about their types.

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures.algorithms import ED25519  # pyright: ignore[reportPrivateImportUsage]
from http_message_signatures.resolvers import HTTPSignatureKeyResolver
from http_message_signatures.signatures import HTTPMessageSigner, HTTPMessageVerifier
from joserfc import jws
from joserfc.jwk import OctKey, OKPKey

from lapse.contract import Statement, versions_root
from lapse.errors import InvalidValue
from lapse.ledger import canonical
from lapse.signing import HmacKeys
from lapse.signing.ed25519 import Ed25519Signer, verifies
from lapse.wire import (
    Reason,
    Signed,
    SignedAnswer,
    http_stamp,
    object_stamp,
    read_http_stamp,
    read_object_stamp,
    read_signed_answer,
    signed_answer,
)

SECOND = 1_000_000
SECRET = bytes(range(32))
SIGNER = Ed25519Signer("2026", SECRET)
SHARED = HmacKeys({"shared": b"s" * 32}, sign_with="shared")
SAID = Statement(
    issuer="https://api.example",
    audience="tenant é",
    root=versions_root({"codes": "1.0.0"}, None),
    content="0" * 64,
    epoch=1_764_500_000_123,
    issued_at=1_764_500_000 * SECOND,
    expires_at=1_764_500_300 * SECOND,
)
BARE = replace(SAID, audience="", content="")


def fields(lines: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {name.lower(): value for name, value in lines}


@pytest.mark.requirement("C-TRU-02")
def test_the_lines_as_they_are_printed() -> None:
    found = fields(http_stamp(BARE, SIGNER, offered={"2026": SIGNER.public}))
    root = b64encode(bytes.fromhex(SAID.root)).decode()
    public = b64encode(SIGNER.public).decode()
    assert found["contract-stamp"] == (
        f'iss="https://api.example", epoch=1764500000123, root=:{root}:, '
        f'keys=(:{public}:;id="2026")'
    )
    assert found["signature-input"] == (
        'contract=("contract-stamp");created=1764500000;expires=1764500300;'
        'keyid="2026";alg="ed25519";tag="lapse-contract"'
    )


@pytest.mark.parametrize("statement", [SAID, BARE])
@pytest.mark.parametrize("signer", [SIGNER, SHARED])
@pytest.mark.requirement("C-TRU-01", "C-TRU-02", "C-TRU-03")
def test_what_is_written_is_read_back_in_both_forms(
    statement: Statement, signer: Ed25519Signer | HmacKeys
) -> None:
    offered = {"2026": SIGNER.public, "2027": b"n" * 32}
    lines = http_stamp(statement, signer, offered=offered)
    assert all(value.isascii() and value.isprintable() for _, value in lines)
    over_json = json.loads(json.dumps(object_stamp(statement, signer, offered=offered)))
    for read in (read_http_stamp(lines), read_object_stamp(over_json)):
        assert isinstance(read, Signed)
        assert (read.statement, read.key, read.algorithm) == (
            statement,
            signer.key,
            signer.algorithm,
        )
        assert read.offered == offered
        assert signer.sign(read.message) == read.signature
        assert read.proof.count(".") == 1


# -- RFC 9421, against an independent implementation -----------------------------------------------


class Keys(HTTPSignatureKeyResolver):
    def resolve_public_key(self, key_id: str) -> Any:  # noqa: ARG002 - there is one key
        return Ed25519PrivateKey.from_private_bytes(SECRET).public_key()

    def resolve_private_key(self, key_id: str) -> Any:  # noqa: ARG002 - there is one key
        return Ed25519PrivateKey.from_private_bytes(SECRET)


class Timeless(HTTPMessageVerifier):
    max_clock_skew = timedelta(days=40_000)
    """It reads the machine's clock; what is checked here is the bytes."""


class Response:
    status_code = 200
    request = None

    def __init__(self, headers: dict[str, str]) -> None:
        self.headers = headers


@pytest.mark.requirement("C-TRU-02")
def test_another_implementation_of_rfc_9421_verifies_it() -> None:
    response = Response(fields(http_stamp(SAID, SIGNER)))
    verifier = Timeless(signature_algorithm=ED25519, key_resolver=Keys())
    (result,) = verifier.verify(
        response,
        max_age=None,
        expect_tag="lapse-contract",
        require_components=("contract-stamp",),
    )
    assert dict(result.parameters)["keyid"] == "2026"


@pytest.mark.requirement("C-TRU-02")
def test_what_another_implementation_signs_is_read_and_verifies() -> None:
    stamp = fields(http_stamp(SAID, SIGNER))["contract-stamp"]
    response = Response({"Contract-Stamp": stamp})
    HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=Keys()).sign(
        response,
        key_id="2026",
        created=datetime.fromtimestamp(SAID.issued_at // SECOND, UTC),
        expires=datetime.fromtimestamp(SAID.expires_at // SECOND, UTC),
        label="theirs",
        tag="lapse-contract",
        covered_component_ids=("contract-stamp",),
    )
    read = read_http_stamp(response.headers)
    assert isinstance(read, Signed)
    assert read.statement == SAID
    assert verifies(SIGNER.public, read.message, read.signature)


# -- RFC 7515 and 7797, against an independent implementation --------------------------------------


@pytest.mark.requirement("C-TRU-03")
def test_another_implementation_of_jws_verifies_it() -> None:
    keys: list[tuple[Any, Any, str]] = [
        (SIGNER, OKPKey.import_key(_jwk(SIGNER.public)), "Ed25519"),
        (SHARED, OctKey.import_key(b"s" * 32), "HS256"),
    ]
    for signer, key, algorithm in keys:
        value = object_stamp(SAID, signer)
        detached = value.pop("jws")
        payload = canonical(value)
        found = jws.deserialize_compact(detached, key, payload=payload, algorithms=[algorithm])
        assert found.payload == payload


@pytest.mark.requirement("C-TRU-03")
def test_what_another_implementation_of_jws_signs_is_read_and_verifies() -> None:
    value = object_stamp(SAID, SIGNER)
    del value["jws"]
    header = {"alg": "Ed25519", "kid": "2026", "b64": False, "crit": ["b64"]}
    key = OKPKey.import_key({**_jwk(SIGNER.public), "d": _text(SECRET)})
    whole = jws.serialize_compact(header, canonical(value), key, algorithms=["Ed25519"])
    head, _, rest = whole.partition(".")
    read = read_object_stamp({**value, "jws": f"{head}..{rest.rpartition('.')[2]}"})
    assert isinstance(read, Signed)
    assert verifies(SIGNER.public, read.message, read.signature)


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _jwk(public: bytes) -> dict[str, str | list[str]]:
    return {"kty": "OKP", "crv": "Ed25519", "x": _text(public)}


# -- what cannot be read ---------------------------------------------------------------------------

LINES = dict(http_stamp(SAID, SIGNER))


def edited(name: str, old: str, new: str) -> dict[str, str]:
    return {**LINES, name: LINES[name].replace(old, new)}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ({**LINES, "Contract-Stamp": "iss="}, Reason.MALFORMED_FIELD),
        ({**LINES, "Contract-Stamp": 'iss="x"'}, Reason.MALFORMED_FIELD),
        ({**LINES, "Contract-Stamp": "x" * 9_000}, Reason.TOO_LARGE),
        (edited("Contract-Stamp", "epoch=1764", "epoch=-1764"), Reason.MALFORMED_FIELD),
        (edited("Contract-Stamp", "epoch=1764500000123", "epoch=1.5"), Reason.MALFORMED_FIELD),
        (edited("Contract-Stamp", "root=:", "root=:AAAA"), Reason.MALFORMED_FIELD),
        (edited("Contract-Stamp", "https://api.example", ""), Reason.MALFORMED_FIELD),
        ({**LINES, "Signature-Input": ""}, Reason.MISSING),
        (edited("Signature-Input", "lapse-", "other-"), Reason.MISSING),
        (edited("Signature-Input", '("contract-stamp")', "()"), Reason.MISSING),
        (edited("Signature-Input", ";created=1764500000", ""), Reason.MALFORMED_FIELD),
        (edited("Signature-Input", "=1764500300", "=-1"), Reason.MALFORMED_FIELD),
        (edited("Signature-Input", '"2026"', '""'), Reason.MALFORMED_FIELD),
        ({**LINES, "Signature": ""}, Reason.MALFORMED_FIELD),
        ({**LINES, "Signature": 'contract="text"'}, Reason.MALFORMED_FIELD),
        ({**LINES, "Signature": "contract=:!:"}, Reason.MALFORMED_FIELD),
    ],
)
@pytest.mark.requirement("C-TRU-02")
def test_lines_that_cannot_be_read_are_said_to_be(lines: dict[str, str], reason: Reason) -> None:
    assert read_http_stamp(lines) is reason


def test_without_a_stamp_there_is_nothing_to_read() -> None:
    assert read_http_stamp({}) is None
    assert read_http_stamp({"Signature": "sig=:AAAA:"}) is None
    assert read_object_stamp(None) is None
    assert read_signed_answer({}) is None


def test_a_key_that_cannot_be_read_is_not_offered() -> None:
    stamp = LINES["Contract-Stamp"]
    for keys in ('keys="x"', "keys=(:AAAA:)", 'keys=("x";id="k")', 'keys=(:AAAA:;id="")'):
        read = read_http_stamp({**LINES, "Contract-Stamp": f"{stamp}, {keys}"})
        assert isinstance(read, Signed)
        assert read.offered == {}
    for keys in ("x", {"k": "!"}, {"k": 5}, {"": "AAAA"}):
        read = read_object_stamp({**object_stamp(SAID, SIGNER), "keys": keys})
        assert isinstance(read, Signed)
        assert read.offered == {}


OBJECT = object_stamp(SAID, SIGNER)
PROTECTED = OBJECT["jws"].partition(".")[0]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("text", Reason.WRONG_TYPE),
        ({}, Reason.WRONG_TYPE),
        ({**OBJECT, "jws": 5}, Reason.WRONG_TYPE),
        ({**OBJECT, "epoch": True}, Reason.WRONG_TYPE),
        ({**OBJECT, "root": "x"}, Reason.WRONG_TYPE),
        ({**OBJECT, "content": "x"}, Reason.WRONG_TYPE),
        ({**OBJECT, "audience": "\n"}, Reason.WRONG_TYPE),
        ({**OBJECT, "issued_at": 10**12}, Reason.WRONG_TYPE),
        ({**OBJECT, "jws": ""}, Reason.MALFORMED_JSON),
        ({**OBJECT, "jws": f"{PROTECTED}.AAAA.AAAA"}, Reason.MALFORMED_JSON),
        ({**OBJECT, "jws": f"{PROTECTED}..!"}, Reason.MALFORMED_JSON),
        ({**OBJECT, "jws": f"{PROTECTED}..AAAB="}, Reason.MALFORMED_JSON),
        ({**OBJECT, "jws": "AAAA..AAAA"}, Reason.MALFORMED_JSON),
        ({**OBJECT, "jws": f"{_text(b'[]')}..AAAA"}, Reason.WRONG_TYPE),
        ({**OBJECT, "jws": f"{_text(b'{}')}..AAAA"}, Reason.WRONG_TYPE),
        ({**OBJECT, "more": float("nan")}, Reason.MALFORMED_JSON),
    ],
)
@pytest.mark.requirement("C-TRU-03")
def test_objects_that_cannot_be_read_are_said_to_be(value: object, reason: Reason) -> None:
    assert read_object_stamp(value) is reason


def test_two_texts_are_never_one_signature() -> None:
    signature = OBJECT["jws"].rpartition(".")[2]
    twin = signature[:-1] + chr(ord(signature[-1]) + 1)
    assert read_object_stamp({**OBJECT, "jws": f"{PROTECTED}..{twin}"}) is Reason.MALFORMED_JSON


def test_an_unknown_algorithm_keeps_its_name_and_verifies_nothing() -> None:
    header = _text(b'{"alg":"none","b64":false,"crit":["b64"],"kid":"2026"}')
    read = read_object_stamp({**OBJECT, "jws": f"{header}.."})
    assert isinstance(read, Signed)
    assert (read.algorithm, read.signature) == ("none", b"")


# -- answers ---------------------------------------------------------------------------------------

ANSWER = {"table": "codes", "since": "1", "version": "2", "complete": True, "rows": {"k": None}}


@pytest.mark.requirement("C-TRU-16")
def test_an_answer_is_signed_whole() -> None:
    signed = json.loads(json.dumps(signed_answer(ANSWER, SAID, SIGNER)))
    assert {name: signed[name] for name in ANSWER} == ANSWER
    read = read_signed_answer(signed)
    assert isinstance(read, SignedAnswer)
    assert (read.issuer, read.audience, read.epoch) == (SAID.issuer, SAID.audience, SAID.epoch)
    assert (read.key, read.algorithm) == ("2026", "ed25519")
    assert verifies(SIGNER.public, read.message, read.signature)
    changes: list[dict[str, Any]] = [
        {"rows": {}},
        {"rows": {"j": None}},
        {"complete": False},
        {"since": "0"},
    ]
    for change in changes:
        other = read_signed_answer({**signed, **change})
        assert isinstance(other, SignedAnswer)
        assert not verifies(SIGNER.public, other.message, other.signature)


@pytest.mark.requirement("C-TRU-16")
def test_an_answer_whose_signature_cannot_be_read() -> None:
    assert read_signed_answer({**ANSWER, "signed": "x"}) is Reason.WRONG_TYPE
    who: dict[str, Any] = {"issuer": "i", "audience": "", "epoch": 1, "jws": "x"}
    assert read_signed_answer({**ANSWER, "signed": who}) is Reason.MALFORMED_JSON


def test_a_signer_whose_algorithm_has_no_name_is_refused() -> None:
    class Strange:
        key = "k"
        algorithm = "rot13"

        def sign(self, message: bytes) -> bytes:
            return message

    for write in (http_stamp, object_stamp):
        with pytest.raises(InvalidValue, match="ed25519 or hmac-sha256"):
            write(SAID, Strange())
