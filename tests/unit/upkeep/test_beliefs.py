"""Beliefs relax, receipts reset them, and an item is as good as its atoms."""

from __future__ import annotations

import numpy as np
import pytest

from lapse.errors import InvalidValue
from lapse.upkeep import Grounding, Rates, reading, relaxed, until

A = Rates(0.006, 0.020)
B = Rates(0.002, 0.0025)


def test_the_printed_rates_give_the_printed_suspicions() -> None:
    assert float(A.total) == pytest.approx(0.026)
    assert float(A.suspicion) == pytest.approx(0.231, abs=0.0005)
    assert float(B.suspicion) == pytest.approx(0.444, abs=0.0005)


def test_what_never_changes_is_believed_as_it_was_seen() -> None:
    still = Rates(0.0, 0.0)
    assert float(still.suspicion) == 0.0
    assert relaxed(np.array([0.0, 1.0]), 1e9, still).tolist() == [0.0, 1.0]
    assert float(until(0.0, 0.5, still)) == np.inf


def test_in_a_world_that_never_comes_back_what_is_gone_stays_gone() -> None:
    gone = A.without_return()
    assert float(gone.suspicion) == 1.0
    assert float(relaxed(1.0, 5_000, gone)) == 1.0
    assert float(relaxed(1.0, 5_000, A)) == pytest.approx(float(A.suspicion))


def test_a_belief_that_lies_beyond_what_is_believed_in_the_end_is_never_reached() -> None:
    assert float(until(0.0, 0.3, A)) == np.inf
    assert float(until(1.0, 0.1, A)) == np.inf
    assert float(until(0.2, 0.1, A)) == np.inf
    assert float(until(0.25, 0.25, A)) == 0.0


def test_a_look_that_errs_moves_a_belief_less_than_one_that_does_not() -> None:
    sure = {"sensitivity": 1.0, "specificity": 1.0}
    rough = {"sensitivity": 0.8, "specificity": 0.9}
    assert float(reading(0.3, moved=True, **sure)) == 1.0
    assert float(reading(0.3, moved=False, **sure)) == 0.0
    assert float(reading(0.3, moved=True, **rough)) == pytest.approx(0.24 / 0.31)
    assert float(reading(0.3, moved=False, **rough)) == pytest.approx(0.06 / 0.69)


def test_what_could_not_have_been_read_teaches_nothing() -> None:
    assert float(reading(0.0, moved=True, sensitivity=1.0, specificity=1.0)) == 0.0


def test_an_item_holds_while_all_its_atoms_do() -> None:
    grounding = Grounding.of([[0], [1, 2], [2]])
    beliefs = np.array([0.1, 0.2, 0.5])
    assert grounding.stale(beliefs).tolist() == pytest.approx([0.1, 0.6, 0.5])
    first = np.array([True, True, False])
    assert grounding.stale(beliefs, first).tolist() == pytest.approx([0.1, 0.2, 0.0])
    assert grounding.sizes.tolist() == [1, 2, 1]
    some = np.array([2, 1, 0])
    assert grounding.sizes_of(some).tolist() == [1, 2, 1]
    assert grounding.only(some).stale(beliefs).tolist() == pytest.approx([0.5, 0.6, 0.1])
    assert Grounding.single(2).stale(beliefs).tolist() == pytest.approx([0.1, 0.2])
    assert Grounding.of([]).stale(beliefs).tolist() == []


def test_news_of_one_item_says_something_about_others_with_the_same_cause() -> None:
    shops = Grounding.of([[0, 2], [1, 2]])  # a price each, and the feed under both
    beliefs = np.array([0.05, 0.05, 0.2])
    before = shops.stale(beliefs)[1]
    gone, fine = beliefs.copy(), beliefs.copy()
    gone[[0, 2]] = shops.witnessed(0, beliefs, holds=False)
    fine[[0, 2]] = shops.witnessed(0, beliefs, holds=True)
    assert gone[2] == pytest.approx(0.2 / 0.24)
    assert shops.stale(gone)[1] > 0.8 > before > shops.stale(fine)[1]
    assert shops.witnessed(0, np.zeros(3), holds=False).tolist() == [1.0, 1.0]


def test_bad_input_is_named() -> None:
    with pytest.raises(InvalidValue, match="out is -1"):
        Rates(-1.0, 0.0)
    with pytest.raises(InvalidValue, match="back is nan"):
        Rates(0.0, np.nan)
    with pytest.raises(InvalidValue, match=r"seen is 1\.5"):
        relaxed(np.array([0.0, 1.5]), 1.0, A)
    with pytest.raises(InvalidValue, match="age is -1"):
        relaxed(0.0, -1.0, A)
    with pytest.raises(InvalidValue, match="at least one atom"):
        Grounding.of([[0], []])
    with pytest.raises(InvalidValue, match="begin at 0 and rise"):
        Grounding(np.array([0, 1]), np.array([0, 0]))
    with pytest.raises(InvalidValue, match="atoms is -1"):
        Grounding.of([[-1]])
