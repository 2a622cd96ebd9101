"""The command and the demonstration, as a person and as a program would use them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from lapse_bench.cli import app
from lapse_bench.demo import fixes
from lapse_bench.demo.plot import plotted
from lapse_bench.traces import find, read


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from lapse_bench.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, check=False, cwd=cwd, text=True)  # noqa: S603


def test_payments_as_json_say_who_what_and_where(tmp_path: Path) -> None:
    out = tmp_path / "results" / "payments.json"
    done = run(
        *("run", "payments", "--arms", "A2D,A1", "--planner", "oldest"),
        *("--format", "json", "--out", str(out)),
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert json.loads(out.read_text(encoding="utf-8")) == result
    retries = {arm: scores["retries"] for arm, scores in result["arms"].items()}
    assert retries == {"A1": 14, "A2D": 7}
    assert result["planner"] == {
        "asked": "oldest",
        "answered": "oldest",
        "stand_in": False,
        "tokens": "o200k_base, as if a model had been asked",
    }
    assert {"date", "commit", "machine", "config", "world", "problems"} <= result.keys()


def test_organic_takes_any_file_of_the_form(tmp_path: Path) -> None:
    event = {
        "at": "2020-01-01T00:00:00Z",
        "commit": "c",
        "table": "php",
        "key": "7.1",
        "op": "added",
        "before": None,
        "after": {"latest": "7.1.1"},
    }
    later = {**event, "at": "2020-01-02T00:00:00Z", "key": "7.2"}
    (tmp_path / "mine.jsonl").write_text(f"{json.dumps(event)}\n{json.dumps(later)}\n", "utf-8")
    done = run(
        *("run", "organic", "--trace", "mine.jsonl", "--episodes", "5", "--format", "json"),
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["arms"]["A0"]["retries"] == 5
    assert result["arms"]["A2D"]["retries"] == 1
    assert result["trace"]["name"] == "mine"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "payments", "--arms", "A9"], "arms is 'A9': name some of A0, A1"),
        (["run", "payments", "--planner", "gpt"], "planner is 'gpt': name one of oldest, newest"),
        (["run", "recipes", "--planner", "openai:"], "planner is 'openai:': name the model"),
        (["run", "payments", "--planner", "openai:gpt-9"], "OPENAI_API_KEY is None: set it to"),
        (["run", "organic", "--trace", "nowhere"], "trace is 'nowhere': name one of twilio"),
        (["speed", "--only", "luck"], "only is 'luck': name some of validated_get"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    tmp_path: Path, arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = run(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {says}")
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def played() -> fixes.Played:
    found = find("endoflife", start=Path("/"), full=False)
    history = read(found.path, name=found.name)
    history = replace(history, events=history.events[:600])
    return fixes.play(Console(file=StringIO()), history, seed=1, episodes=40)


def test_the_demonstration_fits_eighty_columns_without_colour(played: fixes.Played) -> None:
    page = StringIO()
    fixes.tell(Console(file=page, width=80, no_color=True), played)
    text = page.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    for arm in ("A0", "A1", "A2", "A2D"):
        assert f" {arm} " in text
    for words in ("wrong, again", "right at once", "WHAT TO TRY NEXT", "lapse-bench run payments"):
        assert words in text


def test_the_demonstration_gives_the_numbers_behind_it(played: fixes.Played) -> None:
    result = json.loads(json.dumps(played.as_json(seed=1)))
    assert result["payments"]["A2D"]["retries"] == 7
    assert list(result["organic"]["arms"]) == ["A0", "A1", "A2", "A2D"]
    assert not played.starved


def test_the_commands_that_the_demonstration_names_exist(played: fixes.Played) -> None:
    page = StringIO()
    fixes.tell(Console(file=page, width=80), played)
    named = [line.split() for line in page.getvalue().splitlines() if "lapse-bench run" in line]
    assert len(named) == 3
    for words in named:
        asked = CliRunner().invoke(app, [*words[1:3], "--help"], env={"COLUMNS": "200"})
        assert asked.exit_code == 0
        options = [word for word in words if word.startswith("--")]
        assert options
        assert all(option in asked.output for option in options)


def test_lines_end_where_their_values_do() -> None:
    drawing = plotted({"up": ("u", [0, 1, 2]), "flat": ("f", [1, 1, 1])}, width=40, height=3)
    top, middle, bottom = drawing.splitlines()[:3]
    assert top.startswith(" 2|")
    assert top.endswith("u up 2")
    assert middle.endswith("f flat 1")
    assert bottom.startswith(" 0|u")
