"""Each import contract catches the import it exists to forbid.

A contract that never fails may be kept, or may be asleep. So the source tree is copied, one
forbidden import is planted, and the tool must name the contract that this import breaks.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]
PURE = ("ledger", "contract", "admission", "upkeep")

STACK = "Rooms stack; neighbours never meet"
PURITY = "Decisions do no I/O"
PORTS = "Stores, brokers and signers arrive through ports"
FACADE = "Nothing inside imports the public facade"
PUBLIC = "The bench uses public names only"
BENCH = "Only the command line knows the bench"
CYCLES = "No cycles between siblings, at any depth"


@dataclass(frozen=True)
class Planted:
    """A forbidden import: the contract it breaks, the module it is written to, and its line."""

    contract: str
    module: str
    line: str
    also: tuple[str, ...] = ()  # modules that must exist for the line to mean something


VIOLATIONS = [
    Planted(STACK, "lapse.ledger.planted", "import lapse.runtime", ("lapse.runtime",)),
    Planted(STACK, "lapse.contract.planted", "import lapse.admission", ("lapse.admission",)),
    Planted(STACK, "lapse.transports.planted", "import lapse.server", ("lapse.server",)),
    Planted(STACK, "lapse.server.planted", "import lapse.transports", ("lapse.transports",)),
    Planted(STACK, "lapse.stores.planted", "def f():\n    import lapse.agents", ("lapse.agents",)),
    Planted(STACK, "lapse.testing.planted", "import lapse.assembly", ("lapse.assembly",)),
    Planted(STACK, "lapse.assembly", "import lapse.cli", ("lapse.cli",)),
    Planted(STACK, "lapse.undeclared", "import lapse.errors"),
    *(Planted(PURITY, f"lapse.{room}.planted", "import time") for room in PURE),
    *(Planted(PURITY, f"lapse.{room}.planted", "def f():\n    import sqlite3") for room in PURE),
    *(Planted(PURITY, f"lapse.{room}", "from os import environ") for room in PURE),
    Planted(PURITY, "lapse.errors", "import logging"),
    *(
        Planted(
            f"{room} is entered by its front door",
            "lapse.runtime.planted",
            f"import lapse.{room}.inner",
            (f"lapse.{room}.inner",),
        )
        for room in PURE
    ),
    Planted(
        "ledger is entered by its front door",
        "lapse_bench.planted",
        "from lapse.ledger import inner",
        ("lapse.ledger.inner",),
    ),
    *(
        Planted(PORTS, "lapse.runtime.planted", f"import lapse.{room}", (f"lapse.{room}",))
        for room in ("storage", "fanout", "signing")
    ),
    Planted(PORTS, "lapse.server.planted", "import lapse.storage", ("lapse.storage",)),
    Planted(FACADE, "lapse.runtime.planted", "import lapse"),
    Planted(FACADE, "lapse.cli.planted", "from lapse import open", ("lapse.cli",)),
    Planted(PUBLIC, "lapse_bench.planted", "import lapse.runtime.inner", ("lapse.runtime.inner",)),
    Planted(BENCH, "lapse.runtime.planted", "import lapse_bench"),
    Planted(CYCLES, "lapse.runtime.a.x", "import lapse.runtime.b.x", ("lapse.runtime.b.y",)),
]
OTHER_HALF = {
    "lapse.runtime.b.x": "import lapse.runtime.a.y",
    "lapse.runtime.a.y": "",
    "lapse.runtime.b.y": "",
}


def write(tree: Path, module: str, line: str) -> None:
    """Put a line at the end of a module, making the module and its packages where they lack."""
    *packages, name = module.split(".")
    folder = tree
    for package in packages:
        folder /= package
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
    path = folder / name / "__init__.py" if (folder / name).is_dir() else folder / f"{name}.py"
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(f"{known}\n{line}\n", encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of both packages beside the configuration, free to be spoilt."""
    for package in ("src/lapse", "bench/src/lapse_bench"):
        shutil.copytree(
            ROOT / package,
            tmp_path / Path(package).name,
            ignore=shutil.ignore_patterns("__pycache__", "*.json", "*.gz", "*.csv"),
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def broken(tree: Path) -> set[str]:
    """The names of the contracts that the tool finds broken in a tree.

    Raises:
        AssertionError: the tool could not do its work.
    """
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},  # before the installed packages
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    assert "Contracts: " in output, output
    found = set(re.findall(r"^(.+) BROKEN(?: \(\d+ ignored imports?\))?$", output, re.MULTILINE))
    assert (done.returncode == 0) == (not found), output
    return found


def test_the_tree_as_it_is_keeps_every_contract(tree: Path) -> None:
    assert broken(tree) == set()


@pytest.mark.parametrize(
    "planted",
    VIOLATIONS,
    ids=lambda planted: f"{planted.module}-{planted.line.split()[-1]}-{planted.contract}",
)
def test_a_planted_import_is_caught(planted: Planted, tree: Path) -> None:
    for module in planted.also:
        write(tree, module, "")
    if planted.contract == CYCLES:
        for module, line in OTHER_HALF.items():
            write(tree, module, line)
    write(tree, planted.module, planted.line)
    assert planted.contract in broken(tree)


def test_a_documented_door_inside_a_room_stays_open_to_the_bench(tree: Path) -> None:
    write(tree, "lapse.transports.http", "")
    write(tree, "lapse_bench.planted", "import lapse.transports.http")
    assert PUBLIC not in broken(tree)


def test_every_contract_has_a_planted_import() -> None:
    assert {planted.contract for planted in VIOLATIONS} == {
        contract["name"] for contract in CONFIGURATION["contracts"]
    }
