"""HMAC keys in files: private, never written over, the first one signs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lapse.errors import InvalidValue, LapseError, StoreCorrupt, StoreUnavailable
from lapse.signing import read_hmac_keys, write_hmac_key


def test_a_key_that_was_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "view.key"
    written = write_hmac_key(path, "k1")
    read = read_hmac_keys(path)
    assert read.key == written.key == "k1"
    assert read.verify("k1", b"message", written.sign(b"message"))
    assert path.stat().st_mode & 0o777 == 0o600


def test_two_keys_are_never_alike_and_a_given_one_is_kept(tmp_path: Path) -> None:
    one, other = (write_hmac_key(tmp_path / name, "k") for name in ("a", "b"))
    assert one.sign(b"m") != other.sign(b"m")
    given = write_hmac_key(tmp_path / "c", "k", secret=b"s" * 32)
    assert given.sign(b"m") == read_hmac_keys(tmp_path / "c").sign(b"m")


def test_the_first_key_signs_and_the_others_verify(tmp_path: Path) -> None:
    old = write_hmac_key(tmp_path / "old", "old")
    new = write_hmac_key(tmp_path / "new", "new")
    listed = [json.loads((tmp_path / name).read_text())["keys"][0] for name in ("new", "old")]
    path = tmp_path / "both"
    path.touch(mode=0o600)
    path.write_text(json.dumps({"keys": [*listed, {"kty": "OKP", "kid": "other"}, 3]}))
    both = read_hmac_keys(path)
    assert both.sign(b"m") == new.sign(b"m")
    assert both.verify("old", b"m", old.sign(b"m"))


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "view.key"
    path.write_text("mine")
    with pytest.raises(InvalidValue, match="must not be written over"):
        write_hmac_key(path, "k")
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("no json, but a secret", StoreCorrupt),
        ("[" * 100_000, StoreCorrupt),
        ("[]", StoreCorrupt),
        ('{"keys": 3}', StoreCorrupt),
        ('{"keys": [{"kty": "oct", "k": "secret"}]}', StoreCorrupt),
        ('{"keys": [{"kty": "oct", "kid": "", "k": "secret"}]}', StoreCorrupt),
        ('{"keys": [{"kty": "oct", "kid": "k", "k": "c2VjcmV0"}]}', InvalidValue),
        ('{"keys": [{"kty": "oct", "kid": "k", "k": "secret!"}]}', InvalidValue),
    ],
)
def test_what_holds_no_key_is_refused_and_never_repeated(
    tmp_path: Path, content: str, error: type[LapseError]
) -> None:
    path = tmp_path / "view.key"
    path.touch(mode=0o600)
    path.write_text(content)
    with pytest.raises(error) as refused:
        read_hmac_keys(path)
    assert "secret" not in str(refused.value)


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "view.key"
    write_hmac_key(path, "k")
    path.chmod(0o640)
    with pytest.raises(InvalidValue, match="chmod 600"):
        read_hmac_keys(path)


def test_a_place_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        read_hmac_keys(tmp_path / "nothing")
    with pytest.raises(StoreUnavailable):
        write_hmac_key(tmp_path / "no folder" / "view.key", "k")
