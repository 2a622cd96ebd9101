"""Files for one owner's eyes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapse.errors import InvalidValue, StoreCorrupt, StoreUnavailable
from lapse.signing import read_secret


def private(path: Path, content: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_secret_is_read_without_the_white_space_around_it(tmp_path: Path) -> None:
    assert read_secret(private(tmp_path / "s", b"  four words of it \n")) == "four words of it"


@pytest.mark.requirement("C-TRU-23")
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o620, 0o601])
def test_a_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(InvalidValue, match="chmod 600") as failure:
        read_secret(private(tmp_path / "s", b"four words of it", mode))
    assert "four" not in str(failure.value)


@pytest.mark.requirement("C-TRU-23")
def test_what_cannot_be_read_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(StoreCorrupt) as failure:
        read_secret(private(tmp_path / "s", b"hidden \xff"))
    assert "hidden" not in repr(failure.value)
    assert failure.value.__cause__ is None
    with pytest.raises(StoreUnavailable):
        read_secret(tmp_path / "none")
