"""`lapse preflight`, as a person and a program use it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lapse.cli.main import app

RUN = CliRunner()


def run(*words: str) -> Result:
    return RUN.invoke(app, ["preflight", *words])


def measured(*words: str, code: int = 0) -> Any:
    result = run(*words, "--format", "json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_a_planner_that_follows_is_to_be_told() -> None:
    found = measured("--planner", "newest", "--per-type", "20")
    assert found["planner"] == {"name": "newest", "asked": "newest", "answered": "newest"}
    assert {one["type"]: one["compliance"] for one in found["factors"]} == {
        "add_a_field": 1.0,
        "rewrite_a_value": 1.0,
        "conditional_rewrite": 1.0,
        "control": 1.0,
    }
    assert {one.get("advice") for one in found["factors"]} == {"brief", None}
    assert len(found["trials"]) == 80
    assert found["settings"]["seed"] == 0


def test_a_planner_that_adds_no_field_is_told_apart_by_the_exit_code() -> None:
    found = measured("--planner", "conservative", "--validity", "0.8", code=1)
    adding, rewriting, *_ = found["factors"]
    assert (adding["saving"], adding["saving_applied"], adding["advice"]) == (0.0, 0.8, "apply")
    assert (rewriting["saving"], rewriting["advice"]) == (0.8, "brief")


def test_a_bound_of_zero_is_never_missed() -> None:
    assert run("--planner", "conservative", "--per-type", "2", "--bound", "0").exit_code == 0


def test_only_the_types_that_matter_are_tried() -> None:
    found = measured(
        "--planner", "conservative", "--per-type", "9", "--types", "rewrite_a_value, control"
    )
    assert [one["type"] for one in found["factors"]] == ["rewrite_a_value", "control"]


def test_people_read_a_table_and_a_sentence_per_type_and_progress_stands_aside() -> None:
    result = run("--planner", "conservative", "--per-type", "5")
    assert result.exit_code == 1
    assert "add_a_field: apply: it does not take these over" in result.stdout
    assert "0% to 43%" in result.stdout
    assert "Tokens" not in result.stdout
    assert "20/20 control: applied" in result.stderr
    assert "20/20" not in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--planner", "nobody"], "planner is 'nobody'"),
        (["--planner", "newest", "--types", "add"], "types is 'add'"),
        (["--planner", "newest", "--types", ","], "at least one type"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(words: list[str], said: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_service_without_a_key_is_not_asked() -> None:
    result = RUN.invoke(
        app, ["preflight", "--planner", "openai", "--model", "m"], env={"OPENAI_API_KEY": None}
    )
    assert result.exit_code == 2
    assert "key" in result.stderr
