"""From what a user types to a planner, or to a sentence that says what to type."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from lapse.errors import InvalidValue
from lapse.judges import (
    PLANNER_NAMES,
    SCRIPTED,
    STAND_INS,
    PlannerSettings,
    StandIn,
    checked,
    planner_named,
)


@pytest.mark.parametrize("name", [*SCRIPTED, *STAND_INS])
def test_what_needs_no_model_is_there_by_its_name(name: str) -> None:
    assert name in PLANNER_NAMES
    assert checked(planner_named(name)).asked == name


def test_a_stand_in_draws_by_the_seed_that_is_given() -> None:
    planner = planner_named("stand-in:gpt-5-mini", PlannerSettings(seed=9))
    assert isinstance(planner, StandIn)
    assert planner.seed == 9


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gpt", r"name one of oldest, newest, conservative.* or stand-in: and one of claude-haiku"),
        ("", "name one of oldest"),
        ("stand-in:gpt-9", "name one of oldest"),
        ("local:small", "name one of oldest"),
        ("openai:", "name the model that is asked for, as openai:MODEL"),
        ("openai:gpt-5-mini", "key is None: give the key of the service behind openai:gpt-5-mini"),
        ("anthropic:claude-haiku-4-5", "give the key of the service"),
    ],
)
def test_what_cannot_be_asked_says_what_can(name: str, says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        planner_named(name)


def test_a_key_is_in_no_representation() -> None:
    assert "hush" not in repr(PlannerSettings(key=SecretStr("hush")))
