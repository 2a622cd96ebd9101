"""`import lapse` costs little, and the rooms that every user needs ask for no extra.

What an import costs is told by what it loads: a set of modules is the same on every machine, a time
is not.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection

import pytest

# What the extras bring, and what only another distribution needs.
EXTRAS = {
    "bpe_openai",
    "cryptography",
    "fastapi",
    "httpx",
    "httpx2",
    "langchain_core",
    "langgraph",
    "lapse_bench",
    "matplotlib",
    "mcp",
    "opentelemetry",
    "plotext",
    "prometheus_client",
    "psycopg",
    "safetensors",
    "scipy",
    "starlette",
    "tokenizers",
    "uvicorn",
    "wordllama",
    "yaml",
}
# Base dependencies that only a store or the command line uses, and that are loaded when used.
LATER = {"apsw", "click", "rich", "typer"}

BASE_ROOMS = [
    "lapse.ledger",
    "lapse.contract",
    "lapse.wire",
    "lapse.storage",
    "lapse.judges",
    "lapse.runtime",
    "lapse.stores",
    "lapse.stores.markdown",
]

PROGRAM = """
import importlib, importlib.abc, json, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None

wanted, absent = json.loads(sys.argv[1])
sys.meta_path.insert(0, Absent())
before = set(sys.modules)
for name in wanted:
    importlib.import_module(name)
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def loaded(*wanted: str, without: Collection[str] = ()) -> set[str]:
    """The top-level packages that importing some modules loads, where others are not installed.

    Raises:
        AssertionError: an import failed; it carries what Python printed.
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, json.dumps([wanted, sorted(without)])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_importing_the_package_loads_no_server_driver_client_or_terminal() -> None:
    assert loaded("lapse") & (EXTRAS | LATER) == set()


@pytest.mark.parametrize("room", ["lapse", *BASE_ROOMS])
def test_a_base_room_works_where_no_extra_is_installed(room: str) -> None:
    assert "lapse" in loaded(room, without=EXTRAS)


def test_the_command_line_starts_where_no_extra_is_installed() -> None:
    assert "typer" in loaded("lapse.cli", without=EXTRAS)


def test_a_package_that_is_absent_cannot_be_imported_here() -> None:
    with pytest.raises(AssertionError, match="No module named 'fastapi'"):
        loaded("fastapi", without=EXTRAS)


def test_a_package_that_is_loaded_is_seen() -> None:
    assert "fastapi" in loaded("fastapi")


def test_judges_load_no_model_database_or_numbers_before_they_are_asked() -> None:
    assert loaded("lapse.judges") & (EXTRAS | LATER | {"numpy"}) == set()
