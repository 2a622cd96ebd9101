"""Habits that a reader relies on, counted over the syntax tree of every module.

No mocks, no sleeping, no reading of clocks in tests; no module too long to hold in mind. Each scan
is shown here to catch what it looks for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MOCKING_MODULES = {"mock", "pytest_mock", "unittest.mock"}
MOCKING_NAMES = {
    "AsyncMock",
    "MagicMock",
    "Mock",
    "NonCallableMock",
    "PropertyMock",
    "create_autospec",
    "mocker",
}
REPLACING = {"delattr", "delitem", "setattr", "setitem"}  # of the monkeypatch fixture

SLEEPING = {"anyio.sleep", "asyncio.sleep", "time.sleep", "trio.sleep"}
CLOCKS = {
    "date.today",
    "datetime.now",
    "datetime.utcnow",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.process_time",
    "time.time",
    "time.time_ns",
}

LONGEST_MODULE = 400
LONGEST_FUNCTION = 60
# Names what is longer, with its length today. A line here may shrink or go; it may not grow.
LONG_MODULES: dict[str, int] = {}
LONG_FUNCTIONS: dict[str, int] = {}


def modules(*folders: str) -> list[Path]:
    """Every Python file below some folders of the repository."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name_of(node: ast.expr) -> str:
    """The dotted name that an expression spells, or nothing."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{name_of(value)}.{attribute}"
        case _:
            return ""


def mocks(tree: ast.Module) -> Iterator[int]:
    """Lines that import a mocking library, name a mock, or replace an attribute from outside."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = any(alias.name in MOCKING_MODULES for alias in names)
            case ast.ImportFrom(module=module, names=names):
                found = module in MOCKING_MODULES or any(
                    f"{module}.{alias.name}" in MOCKING_MODULES for alias in names
                )
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) if (
                name in MOCKING_NAMES
            ):
                found = True
            case ast.Attribute(value=value, attr=attribute):
                found = attribute in REPLACING and "monkeypatch" in name_of(value)
            case _:
                continue
        if found and hasattr(node, "lineno"):
            yield node.lineno


def waits(tree: ast.Module) -> Iterator[int]:
    """Lines that sleep, or read a clock. `sleep(0)` only lets others run, and is fine."""
    aliases = dict(imported_names(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = name_of(node.func)
        head, dot, rest = called.partition(".")
        called = aliases.get(head, head) + dot + rest
        if called in SLEEPING:
            match node.args:
                case [ast.Constant(value=0)]:
                    continue
                case _:
                    yield node.lineno
        elif any(called == clock or called.endswith(f".{clock}") for clock in CLOCKS):
            yield node.lineno


def imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What each imported name stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname, alias.name) for alias in node.names if alias.asname)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                (alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names
            )


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every function or method, with how many lines it has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def complaints(found: dict[str, int], limit: int, excused: dict[str, int]) -> list[str]:
    """Where the lengths found and the list of excuses do not agree."""
    over = {name: length for name, length in found.items() if length > limit}
    return [
        *(
            f"{name}: {length} lines, over {limit}"
            for name, length in over.items()
            if name not in excused
        ),
        *(
            f"{name}: {over[name]} lines, and the list excuses {length}: only downwards"
            for name, length in excused.items()
            if name in over and over[name] > length
        ),
        *(
            f"{name}: the list excuses {length} lines, now {over.get(name, 'fewer')}: lower it"
            for name, length in excused.items()
            if over.get(name, 0) < length
        ),
    ]


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def test_nothing_is_mocked() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in modules("src", "bench", "tests")
        for line in mocks(parsed(path))
    ]
    assert found == []


def test_tests_neither_sleep_nor_read_a_clock() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in modules("tests")
        for line in waits(parsed(path))
    ]
    assert found == []


def test_modules_fit_in_mind() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in modules("src", "bench/src")
    }
    assert lengths, "no module found: is the source tree where it should be?"
    assert complaints(lengths, LONGEST_MODULE, LONG_MODULES) == []


def test_functions_fit_on_a_screen() -> None:
    lengths: dict[str, int] = {}
    for path in modules("src", "bench/src"):
        for name, length in functions(parsed(path)):
            key = f"{path.relative_to(ROOT).as_posix()}:{name}"
            lengths[key] = max(length, lengths.get(key, 0))
    assert lengths, "no function found: is the source tree where it should be?"
    assert complaints(lengths, LONGEST_FUNCTION, LONG_FUNCTIONS) == []


@pytest.mark.parametrize(
    "source",
    [
        "import unittest.mock",
        "from unittest import mock",
        "from unittest.mock import patch",
        "import pytest_mock",
        "store = MagicMock()",
        "store = kit.AsyncMock()",
        "def test_store(mocker): ...",
        "monkeypatch.setattr(store, 'get', None)",
        "self.monkeypatch.setitem(sys.modules, 'x', None)",
    ],
)
def test_the_scan_for_mocks_sees(source: str) -> None:
    assert list(mocks(ast.parse(source))) == [1]


@pytest.mark.parametrize(
    "source", ["monkeypatch.chdir(path)", "store = FakeStore()", "setattr(record, 'x', 1)"]
)
def test_the_scan_for_mocks_allows(source: str) -> None:
    assert list(mocks(ast.parse(source))) == []


@pytest.mark.parametrize(
    "source",
    [
        "import time; time.sleep(1)",
        "from time import sleep; sleep(1)",
        "from time import sleep as nap; nap(0.1)",
        "import asyncio as aio; aio.sleep(1)",
        "import anyio; anyio.sleep(delay)",
        "import time; started = time.monotonic()",
        "from time import perf_counter; assert perf_counter() < 3",
        "import datetime; datetime.datetime.now()",
        "import datetime as dt; dt.datetime.now(dt.UTC)",
        "from datetime import date; date.today()",
    ],
)
def test_the_scan_for_waiting_sees(source: str) -> None:
    assert list(waits(ast.parse(source))) == [1]


@pytest.mark.parametrize(
    "source", ["import anyio; anyio.sleep(0)", "clock.now()", "clock.sleep(5)"]
)
def test_the_scan_for_waiting_allows(source: str) -> None:
    assert list(waits(ast.parse(source))) == []


def test_the_list_of_excuses_only_shrinks() -> None:
    assert complaints({"new": 11}, 10, {}) == ["new: 11 lines, over 10"]
    assert complaints({"old": 12}, 10, {"old": 12}) == []
    assert complaints({"old": 13}, 10, {"old": 12}) == [
        "old: 13 lines, and the list excuses 12: only downwards"
    ]
    assert complaints({"old": 11}, 10, {"old": 12}) == [
        "old: the list excuses 12 lines, now 11: lower it"
    ]
    assert complaints({"old": 9}, 10, {"old": 12}) == [
        "old: the list excuses 12 lines, now fewer: lower it"
    ]


def test_functions_are_measured_from_their_def_to_their_last_line() -> None:
    assert list(functions(ast.parse("@mark\ndef f():\n    a = 1\n    return a\n"))) == [("f", 3)]
