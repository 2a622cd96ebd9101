"""Obligations come from the items that open them, with the frontiers that tell their progress."""

from __future__ import annotations

from lapse.admission import Obligation, obligations_in
from lapse.ledger import Kind
from lapse.testing.workspace import statement

O = Kind.OBLIGATION  # noqa: E741 - the letter that the paper uses


def test_an_obligation_demands_what_any_of_its_items_demands() -> None:
    items = [
        statement("b", kind=O, required=("x", "y"), critical=("y",)),
        statement("a2", kind=O, obligation="a", required=("z",)),
        statement("a1", kind=O, obligation="a", required=("x",), critical=("x",)),
        statement("f", kind=Kind.FRONTIER, obligation="a"),
        statement("stray", kind=Kind.FRONTIER),
        statement("fact"),
    ]
    assert obligations_in(items) == (
        Obligation(
            name="a",
            opened_by=("a1", "a2"),
            frontiers=("f",),
            required=frozenset("xz"),
            critical=frozenset("x"),
        ),
        Obligation(
            name="b",
            opened_by=("b",),
            frontiers=(),
            required=frozenset("xy"),
            critical=frozenset("y"),
        ),
    )
