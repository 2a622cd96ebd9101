"""Every public name stands in the reference, and nothing stands there that is not.

A `::: module` on a page shows the module's `__all__`; a `::: module.Name` shows one name. Public
are the package, its rooms, and every module that the documentation or an example imports from.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import lapse

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
SHOWN = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
IMPORTED = re.compile(r"^(?:>>> )?\s*(?:from|import) (lapse(?:\.\w+)*)", re.MULTILINE)

NOT_FOR_IMPORT = frozenset({"lapse.cli", "lapse.transports"})
"""One is a command; the other has nothing but the doors inside."""


def shown() -> list[str]:
    """What the pages show, in order."""
    return [target for page in PAGES for target in SHOWN.findall(page.read_text(encoding="utf-8"))]


def doors() -> list[str]:
    """The modules that users import from."""
    rooms = {f"lapse.{m.name}" for m in pkgutil.iter_modules(lapse.__path__) if m.ispkg}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    named = {door for page in pages for door in IMPORTED.findall(page.read_text(encoding="utf-8"))}
    return sorted((rooms | named | {"lapse", "lapse.errors"}) - NOT_FOR_IMPORT)


def looked_up(target: str) -> object:
    """The module or the name that a page shows."""
    try:
        return importlib.import_module(target)
    except ModuleNotFoundError:
        door, _, name = target.rpartition(".")
        return getattr(importlib.import_module(door), name)


def missing(door: str, targets: list[str]) -> list[str]:
    """The names of a door that none of the targets shows, under whichever path."""
    objects = [looked_up(target) for target in targets]
    found = {id(one) for one in objects}
    for module in (one for one in objects if isinstance(one, ModuleType)):
        found |= {id(getattr(module, name)) for name in module.__all__}
    module = importlib.import_module(door)
    return [name for name in module.__all__ if id(getattr(module, name)) not in found]


@pytest.mark.parametrize("door", doors())
def test_every_public_name_is_in_the_reference(door: str) -> None:
    assert missing(door, shown()) == []


def test_what_is_missing_is_named() -> None:
    targets = ["lapse.open", "lapse.contract"]
    held = ["LapseError", "Record", "Scope", "Source", "Stamp", "Status"]
    assert missing("lapse", targets) == [*held, "sidecar", "trust", "workspace"]


def test_nothing_is_shown_twice() -> None:
    targets = shown()
    assert len(set(targets)) == len(targets)
    rooms = [target for target in targets if isinstance(looked_up(target), ModuleType)]
    inside = [target for target in targets if target.rpartition(".")[0] in rooms]
    assert [target for target in inside if target not in rooms] == []
