"""Ablations of admission: one mechanism out at a time, and all else the same."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from typer.testing import CliRunner

from lapse.admission import Policy
from lapse_bench.ablations.looking import judging, looked_at, relevance
from lapse_bench.ablations.memora import asked_of, memora_returns, memora_truth, owing
from lapse_bench.ablations.running import problems, run_ablations
from lapse_bench.ablations.stale import stale_returns, stale_truth
from lapse_bench.ablations.travel_returns import travel_returns, travel_truth
from lapse_bench.ablations.variants import VARIANTS, Return, Shown, shown_by
from lapse_bench.cli import app
from lapse_bench.provenance import Provenance
from lapse_bench.report.admission_printed import TABLES
from lapse_bench.workstate import statement

BY_NAME = {variant.name: variant for variant in VARIANTS}
SHORTER = "pickup-car-early-plain"
"""Its belief is shorter than the remark that breaks it, so it is the cheaper evidence."""

NOWHERE = Provenance(date="2026-12-01T00:00:00+00:00", commit=None, machine={})


@cache
def result(*names: str) -> dict[str, Any]:
    return run_ablations(names, seed=0, provenance=NOWHERE)


def rows(name: str, *columns: str, verifier: str = "honest") -> dict[str, tuple[Any, ...]]:
    told = result(name)["data"][name][verifier]
    return {variant: tuple(row[one] for one in columns) for variant, row in told.items()}


def shown(one: Return, variant: str, accuracy: float = 1.0) -> Shown:
    looked = looked_at(one.checkpoint, one.policy, judging(travel_truth, accuracy, 0))
    return shown_by(BY_NAME[variant], one, looked)


def test_a_variant_differs_from_the_whole_in_one_switch() -> None:
    one = next(travel_returns())
    fields = Policy.__dataclass_fields__
    whole = BY_NAME["full"].policy(one)
    assert whole == one.policy
    changed = {
        name: [f for f in fields if getattr(variant.policy(one), f) != getattr(whole, f)]
        for name, variant in BY_NAME.items()
    }
    assert changed == {
        "full": [],
        "no-inference": ["unsafe_without_inference"],
        "by-relevance": ["unsafe_relevance"],
        "incomplete-views": ["unsafe_incomplete_views"],
        "unbound-experience": ["unsafe_unbound_experience"],
    }
    assert list(BY_NAME) == list(TABLES["Table 15"])


def test_before_the_confirmation_only_what_lacks_a_mechanism_shows_anything() -> None:
    before, after = travel_returns()
    assert shown(before, "full") == Shown(None)
    lacking = shown(before, "incomplete-views")
    assert lacking.items == frozenset({"o_h", "f_h", "o_t", "f_t", "c", "h1", "t1"})
    assert lacking.incomplete
    stale = shown(before, "no-inference")
    assert stale.items is not None
    assert "p0" in stale.items
    assert not stale.incomplete
    assert stale.experience == frozenset({"e_c", "e_p0"})
    assert shown(after, "full").experience == frozenset({"e_c"})
    assert shown(after, "unbound-experience").experience == frozenset({"e_c", "e_h0", "e_p0"})


def test_on_the_travel_case_each_mechanism_out_shows_in_its_own_column() -> None:
    columns = ("via", "iir", "issued", "incomplete", "stale_in_experience")
    assert rows("travel", *columns) == {
        "full": (50.0, 100.0, 1, 0, 0),
        "no-inference": (100.0, 83.33, 2, 0, 1),
        "by-relevance": (50.0, 100.0, 1, 0, 0),
        "incomplete-views": (100.0, 100.0, 2, 1, 0),
        "unbound-experience": (50.0, 66.67, 1, 0, 1),
    }
    assert result("travel")["problems"] == []
    assert result("travel")["source"]["verdict"] == "needs a model"


def test_a_return_in_the_shape_of_stale_hangs_on_inference_and_on_bound_experience() -> None:
    one = next(one for one in stale_returns() if one.id == SHORTER)
    honest = looked_at(one.checkpoint, one.policy, judging(stale_truth, 1.0, 0))
    found = {name: shown_by(variant, one, honest) for name, variant in BY_NAME.items()}
    assert {name: view.states(one.needed["change"]) for name, view in found.items()} == {
        "full": True,
        "no-inference": False,  # the belief is shorter, and supports the same dependency
        "by-relevance": True,
        "incomplete-views": True,
        "unbound-experience": True,
    }
    assert {name: view.leaks(one.stale["belief"]) for name, view in found.items()} == {
        "full": False,
        "no-inference": True,
        "by-relevance": False,
        "incomplete-views": False,
        "unbound-experience": True,
    }


@pytest.mark.slow
def test_over_the_whole_set_in_the_shape_of_stale_each_mechanism_is_worth_something() -> None:
    columns = ("overall", "via", "iir", "ls", "blocked")
    assert rows("stale-shaped", *columns) == {
        "full": (100.0, 100.0, 100.0, 100.0, 0),
        "no-inference": (22.5, 22.5, 22.5, 22.5, 0),
        "by-relevance": (83.33, 75.0, 75.0, 75.0, 30),
        "incomplete-views": (100.0, 100.0, 100.0, 100.0, 0),
        "unbound-experience": (33.33, 100.0, 0.0, 0.0, 0),
    }
    noisy = rows("stale-shaped", "iir", "blocked", "incomplete", verifier="0.9 stand-in")
    assert noisy["full"] == (60.83, 46, 0)
    assert noisy["incomplete-views"] == (83.33, 0, 46)
    assert noisy["no-inference"][0] < noisy["by-relevance"][0] < noisy["full"][0]


@pytest.mark.slow
def test_on_memora_inference_and_bound_experience_keep_out_what_nobody_linked() -> None:
    assert rows("memora-return", "via", "iir", "stale_in_experience") == {
        "full": (100.0, 100.0, 0),
        "no-inference": (100.0, 70.89, 90),
        "by-relevance": (100.0, 100.0, 0),
        "incomplete-views": (100.0, 100.0, 0),
        "unbound-experience": (100.0, 35.97, 267),
    }


def test_a_blocked_return_to_memora_asks_again_for_less() -> None:
    one, named = next(memora_returns())
    truth = memora_truth(named)
    found, looked = owing(one, judging(lambda question: asked_of(truth, question), 1.0, 0))
    assert found.narrowed is not None
    full = shown_by(BY_NAME["full"], found, looked)
    assert full.items is not None
    assert not full.incomplete
    assert all(full.states(ids) for ids in found.needed.values())
    assert not any(full.leaks(ids) for ids in found.stale.values())
    lacking = shown_by(BY_NAME["incomplete-views"], found, looked)
    assert lacking.incomplete


def test_what_shares_no_word_with_a_workload_has_no_score() -> None:
    asked = statement("asked", "Where does the train leave?")
    there = [statement(f"s{place}", f"Remark number {place}") for place in range(6)]
    there.append(statement("t", "The train leaves at nine"))
    found = relevance(asked, there)
    assert set(found) == {"t"}
    assert relevance(asked, ()) == {}


def test_a_mechanism_that_is_worth_less_than_none_is_a_problem() -> None:
    def told(**changed: dict[str, Any]) -> list[str]:
        whole = {"iir": 90.0, "incomplete": 0}
        found = {"full": whole, "no-inference": whole | {"iir": 20.0}} | changed
        return list(problems({"travel": {"honest": found}}))

    assert told() == []
    assert told(**{"no-inference": {"iir": 95.0, "incomplete": 0}}) == [
        "travel: no-inference rejects more of what is invalid than the whole"
    ]
    assert told(full={"iir": 90.0, "incomplete": 2}) == [
        "travel: the whole shows 2 views that lack something"
    ]


def test_the_command_prints_json_and_refuses_a_set_that_it_does_not_know() -> None:
    asked = ["ablate", "admission", "--format", "json", "--data"]
    ran = CliRunner().invoke(app, [*asked, "travel"])
    assert ran.exit_code == 0
    told = json.loads(ran.stdout)
    assert told["data"] == result("travel")["data"]
    assert told["samples"]["travel"]["honest"]["full"][1][:2] == ["travel-after", 1]
    assert {"date", "commit", "machine", "config"} <= told.keys()
    assert "stale-shaped" in str(CliRunner().invoke(app, [*asked, "dreams"]).exception)
