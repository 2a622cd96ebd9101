"""The errors: one tree, and messages that name the field, the value and the remedy."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lapse import errors
from lapse.errors import (
    InvalidValue,
    LapseError,
    LedgerNotTrusted,
    MalformedMessage,
    MissingExtra,
    NoRequest,
    PeerError,
    Refused,
    UnknownRecord,
)
from lapse.ledger import Break, BreakKind


def test_the_tree_is_the_one_that_is_drawn() -> None:
    drawn = dict[str, str]()
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"    ([│ ]*)(?:[├└]── )?(\w+)(  .*)?$", line):
            depth = len(line[4:]) - len(line[4:].lstrip("│├└─ "))
            del above[depth // 4 :]
            if above:
                drawn[found[2]] = above[-1]
            above.append(found[2])
    built = {
        name: base.__name__
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, LapseError) and kind is not LapseError
        for base in kind.__bases__
        if issubclass(base, LapseError)
    }
    assert drawn == built
    assert set(built) | {"LapseError", "Finding"} == set(errors.__all__)


@pytest.mark.parametrize(
    ("error", "also", "text"),
    [
        (InvalidValue("at", -1, "pass 0 or more"), ValueError, "at is -1: pass 0 or more"),
        (UnknownRecord("no record 'r1'; list them"), KeyError, "no record 'r1'; list them"),
        (
            MissingExtra("the PostgreSQL store", "postgres"),
            ImportError,
            "the PostgreSQL store needs the extra 'postgres': pip install 'lapse[postgres]'",
        ),
        (
            LedgerNotTrusted(Break(BreakKind.TAMPERED, 3, "its content was edited")),
            LapseError,
            "tampered at change 3: its content was edited",
        ),
    ],
)
def test_errors_say_what_to_do(error: Exception, also: type[Exception], text: str) -> None:
    assert isinstance(error, LapseError)
    assert isinstance(error, also)
    assert str(error) == text


def test_a_long_value_is_not_repeated() -> None:
    error = InvalidValue("content", "secret " * 100, "pass less")
    assert len(str(error)) < 120
    assert str(error).endswith("…: pass less")
    assert error.value == "secret " * 100


def test_what_a_model_wrote_in_vain_is_still_paid_for() -> None:
    error = NoRequest("it is cut off", prompt=9, completion=3, memory=2)
    assert str(error) == "the model wrote no request: it is cut off"
    assert (error.reason, error.prompt, error.completion, error.memory) == (
        "it is cut off",
        9,
        3,
        2,
    )


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (PeerError("x"), 502),
        (MalformedMessage("x"), 400),
        (NoRequest("x"), 502),
        (Refused("x", status=409), 409),
    ],
)
def test_a_peers_error_has_a_status(error: Any, status: int) -> None:
    assert isinstance(error, PeerError)
    assert error.status == status
