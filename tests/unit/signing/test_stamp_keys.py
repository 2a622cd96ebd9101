"""Keys in files, and what is known of issuers in a file."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from threading import Thread

import pytest

from lapse.contract import Known, SignedState, Statement
from lapse.errors import InvalidValue, LapseError, StoreCorrupt, StoreError, StoreUnavailable
from lapse.signing import HmacKeys
from lapse.signing.ed25519 import Ed25519Signer, Ed25519Verifier, new_secret, verifies
from lapse.signing.key_files import read_key_set, read_signer, write_key, write_key_set
from lapse.signing.trust_file import TrustFile

SECRET = bytes(range(32))

STATEMENT = Statement(
    issuer="https://api.example",
    audience="tenant",
    root="a" * 64,
    content="b" * 64,
    epoch=7,
    issued_at=1,
    expires_at=2,
)
KNOWN = Known(
    statement=STATEMENT,
    fresh_until=2,
    past=(SignedState(7, "a" * 64, "b" * 64, "m.s"),),
    keys={"2026": SECRET},
    reused_at=5,
    evidence=("one two",),
    quarantined=True,
)


def test_a_public_key_verifies_what_its_private_key_signed() -> None:
    signer = Ed25519Signer("k", new_secret())
    signature = signer.sign(b"message")
    assert verifies(signer.public, b"message", signature)
    assert not verifies(signer.public, b"messagf", signature)
    assert not verifies(b"short", b"message", signature)


@pytest.mark.requirement("C-TRU-23")
def test_a_key_is_written_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "stamp.key"
    made = write_key(path, "2026")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_signer(path).public == made.public
    assert read_signer(path).key == "2026"
    with pytest.raises(InvalidValue, match="does not exist"):
        write_key(path, "2026")
    path.chmod(0o644)
    with pytest.raises(InvalidValue, match="is '644'"):
        read_signer(path)


def test_a_key_set_is_what_clients_pin(tmp_path: Path) -> None:
    path = tmp_path / "stamp.keys"
    signer = write_key(tmp_path / "stamp.key", "2026", secret=SECRET)
    write_key_set(path, {signer.key: signer.public, "2027": b"n" * 32})
    keys = read_key_set(path)
    assert keys == {"2026": signer.public, "2027": b"n" * 32}
    pinned = Ed25519Verifier({"2026": keys["2026"]})
    assert pinned.verify("2026", b"message", signer.sign(b"message"))
    assert '"d"' not in path.read_text()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"keys": 5}', '{"keys": [5, {"kty": "RSA"}]}'])
def test_a_file_without_keys_is_said_to_be_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    path.chmod(0o600)
    for read in (read_signer, read_key_set):
        with pytest.raises(StoreCorrupt, match=r"write it anew|make one"):
            read(path)


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    absent = tmp_path / "absent" / "file"
    with pytest.raises(StoreUnavailable, match="absent"):
        read_signer(absent)
    with pytest.raises(StoreUnavailable, match="absent"):
        read_key_set(absent)
    with pytest.raises(StoreUnavailable, match="absent"):
        write_key(absent, "2026")
    with pytest.raises(StoreUnavailable, match="absent"):
        write_key_set(absent, {})


@pytest.mark.requirement("C-TRU-23")
def test_no_error_and_no_repr_repeats_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "stamp.key"
    write_key(path, "2026", secret=SECRET)
    private = json.loads(path.read_text())["d"]
    shown = [repr(read_signer(path)), repr(HmacKeys({"k": SECRET}, sign_with="k"))]
    for broken in (
        path.read_text()[:-5],  # cut off
        json.dumps({**json.loads(path.read_text()), "d": f"{private}AA"}),
        json.dumps({**json.loads(path.read_text()), "kid": ""}),
    ):
        path.write_text(broken)
        with pytest.raises(LapseError) as caught:
            read_signer(path)
        shown += [str(caught.value), repr(caught.value), repr(caught.value.__cause__)]
    assert [text for text in shown if private in text or repr(SECRET)[2:-1] in text] == []


# -- what is known of issuers ----------------------------------------------------------------------


@pytest.mark.requirement("C-TRU-14")
def test_what_is_known_outlives_the_process(tmp_path: Path) -> None:
    path = tmp_path / "memory.trust"
    assert TrustFile(path).known("https://api.example") is None
    told = TrustFile(path).update("https://api.example", lambda known: (KNOWN, known))
    assert told is None
    again = TrustFile(path)
    assert again.known("https://api.example") == KNOWN
    assert again.known("https://other.example") is None
    again.update("https://other.example", lambda _: (Known(), None))
    again.update("https://api.example", lambda _: (None, None))
    again.update("https://never.example", lambda _: (None, None))
    assert TrustFile(path).known("https://api.example") is None
    assert TrustFile(path).known("https://other.example") == Known()


def test_nothing_is_written_where_nothing_changed(tmp_path: Path) -> None:
    path = tmp_path / "memory.trust"
    kept = TrustFile(path)
    kept.update("a", lambda _: (KNOWN, None))
    before = path.stat()
    kept.update("a", lambda known: (known, None))
    assert path.stat().st_ino == before.st_ino


def test_a_decision_that_raises_changes_nothing(tmp_path: Path) -> None:
    kept = TrustFile(tmp_path / "memory.trust")
    kept.update("a", lambda _: (KNOWN, None))

    def decide(_: Known | None) -> tuple[Known | None, None]:
        raise ValueError("as it were")

    with pytest.raises(ValueError, match="as it were"):
        kept.update("a", decide)
    assert kept.known("a") == KNOWN


def test_many_hands_lose_no_word(tmp_path: Path) -> None:
    path = tmp_path / "memory.trust"

    def count(issuer: str) -> None:
        kept = TrustFile(path)  # as another process would
        for _ in range(10):
            kept.update("all", lambda k: (Known(fresh_until=(k.fresh_until if k else 0) + 1), None))
            kept.update(issuer, lambda _: (KNOWN, None))

    threads = [Thread(target=count, args=(f"issuer {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    known = TrustFile(path).known("all")
    assert known is not None
    assert known.fresh_until == 40


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"form": "lapse trust", "version": 2, "issuers": {}}',
        '{"form": "lapse trust", "version": 1, "issuers": {"a": 5}}',
        '{"form": "lapse trust", "version": 1, "issuers": {"a": {"statement": [1]}}}',
        '{"form": "other", "version": 1, "issuers": {}}',
    ],
)
@pytest.mark.requirement("C-TRU-14")
def test_a_file_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "memory.trust"
    path.write_text(text)
    kept = TrustFile(path)
    with pytest.raises(StoreCorrupt, match=r"memory.trust"):
        kept.known("a")
    with pytest.raises(StoreCorrupt, match=r"memory.trust"):
        kept.update("a", lambda _: (KNOWN, None))
    assert path.read_text() == text


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "memory.trust"
    folder.mkdir()
    with pytest.raises(StoreError, match=r"memory.trust"):
        TrustFile(folder).known("a")
    with pytest.raises(StoreUnavailable, match="absent"):
        TrustFile(tmp_path / "absent" / "x").update("a", lambda _: (KNOWN, None))
    (tmp_path / "x.new").mkdir()
    with pytest.raises(StoreError):
        TrustFile(tmp_path / "x").update("a", lambda _: (KNOWN, None))
