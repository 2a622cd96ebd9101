"""State that survives a restart."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from lapse.contract import LogBounds, Registry, Rule, Table
from lapse.errors import (
    InvalidValue,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
)
from lapse.server import Contract
from lapse.server.state_file import as_store_error


def declared(code: str = "S", *more: Table, version: str = "1.0.0") -> Registry:
    return Registry.of(
        [
            Table("codes", {"growth": {"code": code}}, version),
            Table("promo", {"S": {}, "W": {}}, "1"),
            *more,
        ],
        [Rule("codes", "promo", "needs", "code")],
        bounds=LogBounds(reloads=5),
        secret="s",  # noqa: S106 - of a server that lives for one test
    )


@pytest.mark.requirement("C-RLD-08")
def test_a_restart_keeps_versions_rows_and_the_change_log(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    first = Contract(declared(), state_file=path)
    first.reload("codes", {"growth": {"code": "W"}, "new": {"code": "S"}})
    first.reload("plans", {"p": 1}, "7")
    second = Contract(declared(), state_file=path)
    assert second.registry == first.registry
    assert second.published.etag == first.published.etag
    assert second.changes_since("codes", "1.0.0") == first.changes_since("codes", "1.0.0")
    assert second.changes_since("codes", "1.0.0").downstream == (("promo", "S"),)
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.requirement("C-VER-04")
def test_a_restart_without_state_gives_no_known_version_to_other_rows() -> None:
    first, second = Contract(declared()), Contract(declared())
    one = first.reload("codes", {"growth": {"code": "W"}}).new_version
    other = second.reload("codes", {"growth": {"code": "X"}}).new_version
    assert one != other
    again = Contract(declared()).reload("codes", {"growth": {"code": "W"}}).new_version
    assert one == again


def test_an_edited_declaration_is_one_more_reload(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    Contract(declared(), state_file=path).reload("promo", {"S": {}}, "2")
    edited = Contract(declared("W", version="1.1.0"), state_file=path)
    assert edited.registry.table_versions == {"codes": "1.1.0", "promo": "2"}
    assert set(edited.changes_since("codes", "1.0.0").rows) == {"growth"}
    once_more = Contract(declared("X", version="1.1.0"), state_file=path)
    version = once_more.registry.tables["codes"].version
    assert version.startswith("1.1.1+")
    assert set(once_more.changes_since("codes", "1.0.0").rows) == {"growth"}
    back = Contract(declared("W", version="1.1.0"), state_file=path)
    assert back.registry.tables["codes"].version not in {"1.0.0", "1.1.0", version}


def test_a_table_that_is_declared_no_more_is_unloaded(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    plans = Table("plans", {"p": 1}, "1")
    contract = Contract(declared("S", plans), state_file=path)
    contract.reload("loaded-by-hand", {}, "1")
    after = Contract(declared(), state_file=path)
    assert set(after.registry.tables) == {"codes", "promo", "loaded-by-hand"}
    assert Contract(declared("S", plans), state_file=path).registry.tables["plans"].rows == {"p": 1}


def test_the_declared_rules_count(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    Contract(declared(), state_file=path).declare([])
    assert Contract(declared(), state_file=path).registry.rules == declared().rules


def test_what_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    contract = Contract(declared(), state_file=path)
    path.unlink()
    contract.reload("codes", {"growth": {"code": "S"}})
    assert not path.exists()


@pytest.mark.requirement("C-RLD-08")
def test_a_reload_that_cannot_be_kept_is_not_shown(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    contract = Contract(declared(), state_file=folder / "state.json")
    before = contract.published
    (folder / "state.json").unlink()
    folder.rmdir()
    with pytest.raises(StoreError):
        contract.reload("codes", {})
    with pytest.raises(StoreError):
        contract.declare([])
    assert contract.published is before


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(StoreError):
        Contract(declared(), state_file=path)
    path_2 = tmp_path / "other" / "state.json"
    with pytest.raises(StoreError, match="other"):
        Contract(declared(), state_file=path_2)
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


def written(path: Path) -> dict[str, Any]:
    Contract(declared(), state_file=path)
    return json.loads(path.read_bytes())


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"form": "another"}, StoreForeign),
        ({"version": 2}, StoreNewer),
        ({"tables": [["codes"]]}, StoreCorrupt),
        ({"tables": None}, StoreCorrupt),
        ({"tables": [["a:b", "1", {"k": 1}]]}, StoreCorrupt),
        ({"log": {"codes": [[1]]}}, StoreCorrupt),
        ({"declared": 3}, StoreCorrupt),
    ],
)
def test_a_file_that_is_not_ours_or_broken_is_refused(
    tmp_path: Path, change: dict[str, Any], error: type[StoreError]
) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps(written(path) | change))
    before = path.read_bytes()
    with pytest.raises(error):
        Contract(declared(), state_file=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 10_000])
def test_a_file_that_is_no_json_is_refused(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(body)
    with pytest.raises(StoreCorrupt):
        Contract(declared(), state_file=path)


@pytest.mark.parametrize("body", [b"[]", b"3", b"{}"])
def test_a_file_of_somebody_else_is_refused(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(body)
    with pytest.raises(StoreForeign):
        Contract(declared(), state_file=path)


def test_a_write_that_fails_takes_its_draft_away(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    contract = Contract(declared(), state_file=path)
    path.unlink()
    path.mkdir()  # a file cannot be renamed over it
    with pytest.raises(StoreError, match="state"):
        contract.reload("codes", {})
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (errno.ENOSPC, StoreFull),
        (errno.EDQUOT, StoreFull),
        (errno.EACCES, StoreReadOnly),
        (errno.EROFS, StoreReadOnly),
        (errno.EPERM, StoreReadOnly),
        (errno.EIO, StoreError),
    ],
)
def test_each_failure_of_the_disk_has_its_name(code: int, error: type[StoreError]) -> None:
    failure = as_store_error(OSError(code, "why"), Path("state.json"))
    assert type(failure) is error
    assert "state.json" in str(failure)


def test_rows_that_are_not_json_are_refused_before_anything_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    contract = Contract(declared(), state_file=path)
    before = path.read_bytes()
    with pytest.raises(InvalidValue):
        contract.reload("codes", {"k": object()})
    assert path.read_bytes() == before
