"""Facts about the distributions that are written down twice, and must agree; and their news."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "uv.lock"
NAME = re.compile(r"[A-Za-z0-9._-]+")
HOSTS = {"files.pythonhosted.org", "pypi.org"}


def table(path: Path) -> dict[str, Any]:
    """A TOML file."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


LIBRARY = table(ROOT / "pyproject.toml")
BENCH = table(ROOT / "bench" / "pyproject.toml")


def names(requirements: list[str]) -> set[str]:
    """The normalised names of the distributions in a list of requirements."""
    return {
        re.sub(r"[-_.]+", "-", match[0]).lower()
        for requirement in requirements
        if (match := NAME.match(requirement))
    }


def declared() -> Iterator[str]:
    """Every distribution that the two projects ask for, in whatever way."""
    for project in (LIBRARY["project"], BENCH["project"]):
        yield from names(project["dependencies"])
        for extra in project.get("optional-dependencies", {}).values():
            yield from names(extra)
    for group in LIBRARY["dependency-groups"].values():
        yield from names(group)


def test_library_and_bench_carry_one_version() -> None:
    assert LIBRARY["project"]["version"] == BENCH["project"]["version"]


def test_the_front_page_travels_with_the_library() -> None:
    assert LIBRARY["project"].get("readme", "none") == (
        "README.md" if (ROOT / "README.md").exists() else "none"
    )


def test_all_is_every_extra_but_the_demonstration_and_what_needs_a_compiler() -> None:
    extras = LIBRARY["project"]["optional-dependencies"]
    [everything] = extras["all"]
    assert sorted(set(extras) - {"all", "demo", "local"}) == everything[len("lapse[") : -1].split(
        ","
    )


def test_the_library_asks_for_no_tool() -> None:
    tools = names([item for group in LIBRARY["dependency-groups"].values() for item in group])
    assert names(LIBRARY["project"]["dependencies"]) & tools == set()


def test_lint_and_types_are_pinned() -> None:
    pins = [item for item in LIBRARY["dependency-groups"]["dev"] if "==" in item]
    assert names(pins) == {"basedpyright", "ruff"}


def test_the_lock_holds_everything_that_is_declared() -> None:
    locked = {package["name"] for package in table(LOCK)["package"]}
    assert sorted(set(declared()) - locked) == [], "run: make lock"


def test_the_lock_knows_only_the_public_index() -> None:
    hosts = set(re.findall(r"[a-z]+://([^/\"]+)", LOCK.read_text(encoding="utf-8")))
    assert hosts == HOSTS


@pytest.mark.parametrize("requirement", ["PyYAML>=6", "pyyaml", "py_yaml[x]>1", "Py.YAML==6"])
def test_names_are_compared_as_an_index_compares_them(requirement: str) -> None:
    assert names([requirement]) <= {"pyyaml", "py-yaml"}


def unfinished(fragment: str) -> list[str]:
    """The lines of a news fragment that are not whole sentences; an empty fragment has one."""
    return [line for line in fragment.strip().split("\n") if not line.endswith((".", ".)"))]


def test_news_consists_of_sentences() -> None:
    assert {
        path.name: lines
        for path in ROOT.glob("changelog.d/+*.md")
        if (lines := unfinished(path.read_text(encoding="utf-8")))
    } == {}


def test_an_empty_or_unfinished_fragment_is_seen() -> None:
    assert unfinished("\n") == [""]
    assert unfinished("It works.\nfix thing\n") == ["fix thing"]
