"""A doubt is worth most where serving and not serving are equally good, and nothing at the ends."""

from __future__ import annotations

import numpy as np
import pytest

from lapse.errors import InvalidValue
from lapse.upkeep import Grounding, Stakes, doubt, noisy_value, partial_value, regret

STAKES = Stakes(0.508, 0.287)


def test_the_threshold_is_where_both_choices_are_equally_good() -> None:
    assert float(STAKES.threshold) == pytest.approx(0.639, abs=0.0005)
    assert STAKES.serves(np.array([0.63, 0.65])).tolist() == [True, False]


def test_where_nothing_is_at_stake_everything_is_served() -> None:
    nothing = Stakes(0.0, 0.0)
    assert float(nothing.threshold) == 1.0
    assert bool(nothing.serves(1.0))


def test_what_is_known_to_be_gone_is_worth_a_look_until_the_other_version_is_on_file() -> None:
    assert float(doubt(1.0, STAKES)) == 0.0
    assert float(regret(1.0, STAKES)) == 0.508
    assert float(regret(1.0, STAKES, on_file=1.0)) == 0.0
    assert float(regret(0.0, STAKES)) == 0.0


def test_a_perfect_look_takes_the_whole_doubt() -> None:
    value = noisy_value(0.3, STAKES, sensitivity=1.0, specificity=1.0)
    assert float(value) == pytest.approx(float(doubt(0.3, STAKES)))


def test_a_coin_is_worth_nothing() -> None:
    assert float(noisy_value(0.3, STAKES, sensitivity=0.5, specificity=0.5)) == pytest.approx(0.0)


def test_a_look_at_one_of_two_atoms_leaves_the_doubt_about_the_other() -> None:
    grounding = Grounding.of([[0, 1], [0], [1]])
    beliefs = np.array([0.2, 0.1])
    value = partial_value(grounding, beliefs, np.array([True, False]), STAKES)
    left = 0.8 * 0.1 * 0.287
    assert value.tolist() == pytest.approx([0.28 * 0.287 - left, 0.2 * 0.287, 0.0])


def test_negative_stakes_are_refused() -> None:
    with pytest.raises(InvalidValue, match="gain is -1"):
        Stakes(-1.0, 0.0)
    with pytest.raises(InvalidValue, match="loss is -1"):
        Stakes(0.0, -1.0)
