"""Killed anywhere, nothing acknowledged is lost and no half decision is left."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LEDGER = ("write", "purge", "migration", "anchored write")
WORKSPACE = ("record", "depart", "return")

MATRIX = Path(__file__).with_name("matrix.py")

POINTS = {
    "write": {
        "append: begun",
        "append: change without state",
        "append: written, not committed",
        "append: committed",
    },
    "purge": {
        "append: begun",
        "append: change without state",
        "purge: one change erased",
        "append: written, not committed",
        "append: committed",
    },
    "migration": {
        "migrate: begun",
        "migrate: one statement done",
        "migrate: written, not committed",
        "migrate: committed",
        "append: begun",
        "append: change without state",
        "append: written, not committed",
        "append: committed",
    },
}


def rows(*options: str) -> list[dict[str, Any]]:
    """What the matrix prints; it fails when a promise was broken, and says which."""
    done = subprocess.run(  # noqa: S603 - our own interpreter and words
        [sys.executable, str(MATRIX), "--format", "json", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def points(found: list[dict[str, Any]]) -> dict[str, set[str]]:
    """The points at which each scenario was killed."""
    scenarios = {row["scenario"] for row in found}
    return {name: {r["point"] for r in found if r["scenario"] == name} for name in scenarios}


def check_workspace(found: list[dict[str, Any]]) -> None:
    """Whatever was under way is there whole or not at all, and whole once it was committed."""
    check(found)
    assert points(found) == dict.fromkeys(WORKSPACE, POINTS["write"])
    early = [row for row in found if row["point"] != "append: committed"]
    assert {row["outcome"] for row in early} == {"absent"}


def check(found: list[dict[str, Any]]) -> None:
    assert [row for row in found if row["outcome"] not in ("absent", "whole")] == []
    whole = {row["point"] for row in found if row["outcome"] == "whole"}
    assert "append: committed" in whole
    assert not whole & {"append: begun", "append: change without state", "purge: one change erased"}


def test_a_sqlite_file_survives_every_kill() -> None:
    found = rows("--only", *LEDGER)
    check(found)
    passed = points(found)
    emptied = {"purge: log not emptied", "purge: log emptied"}
    anchor = {"anchor: written, not in place", "anchor: in place"}
    assert passed == POINTS | {
        "purge": POINTS["purge"] | emptied,
        "anchored write": POINTS["write"] | anchor,
    }


@pytest.mark.postgres
def test_a_postgres_schema_survives_every_kill(postgres_url: str) -> None:
    found = rows("--postgres", postgres_url, "--only", *LEDGER)
    check(found)
    passed = points(found)
    assert passed == POINTS


def test_a_workspace_survives_a_kill_at_every_point() -> None:
    check_workspace(rows("--first", "--only", *WORKSPACE))


@pytest.mark.slow
def test_a_workspace_survives_every_kill() -> None:
    found = rows("--only", *WORKSPACE)
    check_workspace(found)
    ended = [row["outcome"] for row in found if row["scenario"] == "return"]
    assert {"absent", "whole"} == set(ended)


@pytest.mark.slow
@pytest.mark.postgres
def test_a_workspace_in_postgres_survives_every_kill(postgres_url: str) -> None:
    check_workspace(rows("--postgres", postgres_url, "--only", *WORKSPACE))
