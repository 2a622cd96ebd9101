"""Verdicts are values: equal when they say the same, each with a reason code that logs rely on."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from lapse.contract import Moved, Reason, Restamp, Suspend
from lapse.ledger import Source

MOVED = Moved(Source.table("i", "t"), "1", "2")


def test_reason_codes_are_stable() -> None:
    assert sorted(Reason) == [
        "applied",
        "applied_and_refused",
        "awaiting_diff",
        "confirmed",
        "dependency_evicted",
        "downstream",
        "late",
        "learned",
        "log_too_short",
        "newer_answer",
        "no_dependency",
        "no_memory",
        "no_situation",
        "not_cacheable",
        "not_json",
        "row_moved",
        "row_unchanged",
        "row_unknown",
        "rules_moved",
        "rules_not_watched",
        "said_again",
        "table_gained",
        "table_gone",
        "table_lost",
        "table_moved",
        "unconfirmed",
        "unknown_version",
    ]


def test_verdicts_that_say_the_same_are_equal_and_cannot_be_changed() -> None:
    assert Suspend(MOVED, 3) == Suspend(Moved(Source.table("i", "t"), "1", "2"), 3)
    assert Suspend(MOVED, 3).reason is Reason.AWAITING_DIFF
    assert Restamp(MOVED, 3).reason is Reason.ROW_UNCHANGED
    with pytest.raises(FrozenInstanceError):
        MOVED.now = "3"  # type: ignore[misc]
