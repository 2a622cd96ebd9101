"""Whatever is done to the file is refused, each edit with its own reason."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lapse.ledger import BreakKind

MATRIX = Path(__file__).with_name("matrix.py")


@pytest.fixture(scope="module")
def matrix() -> dict[str, list[dict[str, Any]]]:
    done = subprocess.run(  # noqa: S603 - our own interpreter and words
        [sys.executable, str(MATRIX), "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return found


def test_every_edit_is_refused_on_reading_with_its_own_reason(
    matrix: dict[str, list[dict[str, Any]]],
) -> None:
    said = {row["edit"]: (row["at_rest"], row["running"]) for row in matrix["edits"]}
    wanted = {row["edit"]: (f"refused: {row['expected']}",) * 2 for row in matrix["edits"]}
    foreign = "another ledger's file in its place"
    # A running process knows its ledger: to it, another's file is ours with its entries gone.
    wanted[foreign] = ("refused: anchor_forged", "refused: removed")
    assert said == wanted


def test_every_reason_is_met(matrix: dict[str, list[dict[str, Any]]]) -> None:
    assert {row["expected"] for row in matrix["edits"]} == set(BreakKind)


def test_without_an_anchor_the_ledger_vouches_only_for_its_own_links(
    matrix: dict[str, list[dict[str, Any]]],
) -> None:
    accepted = {row["edit"] for row in matrix["edits"] if row["unanchored"] == "accepted"}
    assert accepted == {
        "an older copy of the file put back",
        "the ledger emptied, kept state too",
        "history rewritten, every link made anew",
        "an entry added at the end by all the rules",
        "another ledger's file in its place",
        "an anchor signed with another key",
        "an anchor without a signature",
        "an anchor edited under its signature",
        "another ledger's anchor",
        "the anchor deleted",
    }


def test_what_an_anchor_in_the_same_hands_cannot_tell(
    matrix: dict[str, list[dict[str, Any]]],
) -> None:
    (row,) = matrix["limits"]
    assert row["edit"] == "ledger and anchor put back together"
    assert (row["at_rest"], row["running"]) == ("accepted", "refused: rolled_back")
