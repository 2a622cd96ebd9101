"""The planners that a benchmark is run with: by name, probed, and counted."""

from __future__ import annotations

import pytest

from lapse.errors import InvalidValue
from lapse.judges import SCRIPTED, Task, checked
from lapse_bench.planners import PLANNERS, counted, planner, probed, said_of

TASK = Task(operation="POST /v1/customers", request={"name": "Ada"})


def test_the_two_that_do_all_they_are_told_stand_for_the_bounds() -> None:
    assert {name: SCRIPTED[name] for name in ("oldest", "newest")} == PLANNERS


def test_an_unknown_planner_is_refused() -> None:
    with pytest.raises(InvalidValue, match="oldest, newest"):
        planner("gpt")


@pytest.mark.parametrize("name", ["oldest", "stand-in:gpt-5-mini"])
def test_a_result_says_who_was_asked_who_answered_and_how_tokens_were_counted(
    name: str,
) -> None:
    found, probe = probed(name)
    assert said_of(counted(found), probe) == {
        "asked": name,
        "answered": name,
        "stand_in": name != "oldest",
        "tokens": "o200k_base, as if a model had been asked",
    }
    assert checked(found) == probe


def test_tokens_are_counted_only_where_a_run_asks_for_it() -> None:
    assert planner("newest").first(TASK, ()).tokens.prompt == 0
    assert counted(planner("newest")).first(TASK, ()).tokens.prompt > 0
