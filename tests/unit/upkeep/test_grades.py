"""The cheapest look that suffices."""

from __future__ import annotations

import math

import pytest

from lapse.errors import InvalidValue
from lapse.upkeep import DEFER, Grade, Look, Stakes, choose

STAKES = Stakes(0.508, 0.287)
ROUGH = Look.proxy(1.0, sensitivity=0.9, specificity=0.95)
SURE = Look.direct(5.0)


@pytest.mark.parametrize(
    ("stale", "uses", "wage", "grade"),
    [
        (0.0, 5.0, 0.0, Grade.DEFER),  # no doubt
        (0.4, 0.0, 0.04, Grade.DEFER),  # no use
        (0.4, 5.0, math.inf, Grade.DEFER),  # no price would do
        (0.4, 5.0, 0.0, Grade.DIRECT),  # for free one looks closely
        (0.4, 5.0, 0.02, Grade.DIRECT),  # what the rough look leaves is worth four actions more
        (0.4, 1.0, 0.04, Grade.PROXY),  # it is not, for one use
        (0.4, 1.0, 0.2, Grade.DEFER),  # nor is the rough look, at this wage
    ],
)
def test_a_look_is_as_close_as_its_last_action_is_worth(
    stale: float, uses: float, wage: float, grade: Grade
) -> None:
    assert choose(stale, STAKES, [SURE, ROUGH], uses=uses, wage=wage).grade is grade


def test_without_another_way_one_waits() -> None:
    assert choose(0.4, STAKES, [], uses=5.0, wage=0.0) is DEFER
    assert choose(0.4, STAKES, [DEFER], uses=5.0, wage=math.inf) is DEFER


def test_bad_input_is_named() -> None:
    with pytest.raises(InvalidValue, match="cost is 0"):
        Look.direct(0.0)
    with pytest.raises(InvalidValue, match="sensitivity is 2"):
        Look.proxy(1.0, sensitivity=2.0, specificity=0.5)
    with pytest.raises(InvalidValue, match="wage is -1"):
        choose(0.4, STAKES, [], uses=1.0, wage=-1.0)
